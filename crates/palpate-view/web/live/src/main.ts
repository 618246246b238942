// The page: what its controls do.

import { Feel } from "./feel";
import { Hand, type Drag } from "./hand";
import { Link, type SceneInfo, type Snapshot, type State } from "./link";
import { MODES, show, type Choice } from "./modes";
import { length, newtons, Plot } from "./plots";
import { Recorder } from "./record";
import { View } from "./view";

const $ = <T extends HTMLElement = HTMLElement>(id: string): T => document.getElementById(id) as T;
const pick = (id: string) => $<HTMLSelectElement>(id);
const field = (id: string) => $<HTMLInputElement>(id);

function fail(words: string): void {
  $("error-text").textContent = words;
  $("error").hidden = false;
}

function start(): void {
  // A token in the address is a cookie by now: it need not stay in the history.
  if (location.search) history.replaceState(null, "", location.pathname);
  let view: View;
  try {
    view = new View($<HTMLCanvasElement>("view"));
  } catch {
    fail("This browser has no WebGL2, which the view needs.");
    return;
  }
  const link = new Link();
  const hand = new Hand(view, link);
  const recorder = new Recorder(hand);
  const feel = new Feel(link);
  const plot = (name: string, least: number, text: (v: number) => string, fixed = false) => new Plot($<HTMLCanvasElement>(`plot-${name}`), $(`out-${name}`), least, text, fixed);
  const plots = {
    force: plot("force", 1, newtons),
    depth: plot("depth", 1e-3, length),
    micros: plot("micros", 50, (v) => `${v.toFixed(0)} µs`),
    energy: plot("energy", 1e-3, (v) => `${(1e3 * v).toFixed(2).replace(/^-(0\.00)$/, "$1")} mJ`),
    rate: plot("rate", 1500, (v) => `${v.toFixed(0)} Hz`, true),
  };
  let info: SceneInfo | null = null;
  let last: Snapshot | null = null;
  let scenes = "";
  const choice: Choice = { mode: MODES[0], of: null, level: 2, axis: 1, at: 0.5 };
  let asked = 0;
  let drawn: Promise<void> = Promise.resolve();

  // ---- what the server says ----

  link.onlink = (open) => {
    $("link").textContent = open ? "connected" : "the server is gone; trying again";
    $("link").classList.toggle("lost", !open);
    if (open) nodes();
  };
  link.onstate = (state: State) => {
    const list = JSON.stringify(state.scenes);
    if (list !== scenes) {
      scenes = list;
      pick("scene").replaceChildren(...state.scenes.map((s) => new Option(s.title, s.id)));
    }
    feel.state(state);
    $("building").hidden = !state.building;
    if (state.building) {
      $("building-title").textContent = `Building ${state.building.title}`;
      $("building-stage").textContent = state.building.stage;
      const bar = $<HTMLProgressElement>("building-bar");
      if (state.building.part === null) bar.removeAttribute("value");
      else bar.value = state.building.part;
    }
    if (state.error) fail(state.error);
    else if (state.building) $("error").hidden = true;
    if (state.scene && state.scene.generation !== info?.generation) drawn = enter(state.scene);
  };
  link.onnow = (shot) => {
    if (shot.now.generation !== info?.generation) return;
    last = shot;
    const { now } = shot;
    if (info.tool !== null) hand.follow(now.bodies[info.tool], now.target);
    feel.show(now);
    if (now.rig) plots.energy.add(now.time, now.rig.energy);
    plots.force.add(now.time, now.most.force);
    plots.depth.add(now.time, now.most.depth);
    plots.micros.add(now.time, now.most.micros);
    if (now.rate) plots.rate.add(now.time, now.rate);
    view.show(shot, {
      contacts: field("show-contacts").checked,
      force: field("show-force").checked,
      hand: field("show-hand").checked,
      nodes: choice.mode.id === "nodes" ? { of: choice.of } : null,
    });
    if (choice.mode.id === "nodes") counts(shot);
  };

  async function enter(scene: SceneInfo): Promise<void> {
    info = scene;
    recorder.stop();
    hand.enter(scene);
    feel.enter(scene);
    recorder.onchange();
    Object.values(plots).forEach((p) => p.clear());
    $("title").textContent = scene.title;
    $("words").textContent = scene.words;
    document.title = `palpate: ${scene.title}`;
    if ([...pick("scene").options].some((o) => o.value === scene.id)) pick("scene").value = scene.id;
    else pick("scene").selectedIndex = -1;
    facts(scene);
    const shapes = scene.bodies.map((b, i) => [b, i] as const).filter(([b]) => b.kind === "shape");
    pick("of").replaceChildren(new Option("all", ""), ...shapes.map(([b, i]) => new Option(b.name, String(i))));
    choice.of = null;
    // Scenes without shapes have nothing to look into.
    const pair = scene.bodies.length === 2 && shapes.length === 2;
    for (const option of pick("mode").options) option.disabled = option.value !== "mesh" && (!shapes.length || (option.value === "nodes" && !pair));
    if (pick("mode").selectedOptions[0]?.disabled) choose("mesh");
    pick("of").disabled = !shapes.length;
    await view.enter(scene, link);
    tune();
    await redraw();
  }

  function facts(scene: SceneInfo): void {
    const count = (n: number | undefined) => (n ?? 0).toLocaleString("en");
    $("facts").replaceChildren(
      ...scene.bodies.map((b) => {
        const row = document.createElement("div");
        const size = b.max.map((v, i) => length(v - b.min[i])).join(" × ");
        const more = b.kind === "shape" ? `, ${count(b.triangles)} triangles, voxel ${length(b.voxel ?? 0)}, ${count(b.points)} points, ${((b.bytes ?? 0) / 1e6).toFixed(1)} MB` : "";
        const [term, text] = [document.createElement("dt"), document.createElement("dd")];
        [term.textContent, text.textContent] = [b.name, size + more];
        row.append(term, text);
        return row;
      }),
    );
  }

  // ---- ways to look ----

  function levels(): number[] {
    const shapes = info?.bodies.filter((b) => b.kind === "shape") ?? [];
    return shapes.filter((b) => choice.of === null || info?.bodies[choice.of] === b).map((b) => b.levels?.length ?? 1);
  }

  /** The first level that queries look at: those above tell little. */
  function first(): number {
    if (choice.mode.id !== "nodes") return 0;
    const shapes = info?.bodies.filter((b) => b.kind === "shape") ?? [];
    return Math.min(...shapes.filter((b) => choice.of === null || info?.bodies[choice.of] === b).map((b) => b.start ?? 0));
  }

  /** How many nodes are shown, of how many. */
  function counts(shot: Snapshot): void {
    const line = document.getElementById("legend-counts");
    if (!line) return;
    let [tested, near] = [0, 0];
    for (let i = 0; i < shot.now.nodes; i++) {
      if (choice.of !== null && shot.nodes[6 * i + 5] !== choice.of) continue;
      tested += 1;
      near += shot.nodes[6 * i + 4];
    }
    const words = `level ${choice.level}: ${tested.toLocaleString("en")} nodes tested, ${near.toLocaleString("en")} reach the other shape`;
    if (line.textContent !== words) line.textContent = words;
  }

  function tune(): void {
    const { tuned, id } = choice.mode;
    $("tune").hidden = tuned === null;
    $("tune-two").hidden = tuned !== "cut";
    const range = field("tune-value");
    if (tuned === "level") {
      const most = Math.max(1, ...levels()) - (id === "points" ? 0 : 1);
      $("tune-name").textContent = "Level of the tree";
      [range.min, range.max, range.step] = [String(first()), String(most), "1"];
      choice.level = Math.max(first(), Math.min(choice.level, most));
      range.value = String(choice.level);
      $("tune-text").textContent = choice.level === 0 ? "root" : choice.level >= Math.max(...levels()) ? "all points" : `level ${choice.level}`;
    } else if (tuned === "cut") {
      $("tune-name").textContent = "Cut";
      [range.min, range.max, range.step] = ["0", "1", "0.02"];
      range.value = String(choice.at);
      $("tune-text").textContent = `${(choice.at * 100).toFixed(0)} %`;
    }
  }

  function nodes(): void {
    link.say({ type: "nodes", level: choice.mode.id === "nodes" ? choice.level : null });
  }

  async function redraw(): Promise<void> {
    if (!info) return;
    const mine = ++asked;
    nodes();
    const legend = await show(view, link, info, { ...choice });
    if (mine !== asked) return;
    $("legend").hidden = !legend.length;
    $("legend").replaceChildren(
      ...legend.map(([colour, words]) => {
        const line = document.createElement("span");
        if (colour) line.appendChild(document.createElement("i")).style.background = colour;
        line.append(words);
        return line;
      }),
    );
    if (choice.mode.id === "nodes") $("legend").appendChild(document.createElement("span")).id = "legend-counts";
  }

  function choose(id: string): void {
    choice.mode = MODES.find((m) => m.id === id) ?? MODES[0];
    pick("mode").value = choice.mode.id;
    tune();
  }

  pick("mode").replaceChildren(...MODES.map((m) => new Option(m.title, m.id)));
  pick("mode").onchange = () => {
    choose(pick("mode").value);
    drawn = redraw();
  };
  pick("of").onchange = () => {
    choice.of = pick("of").value === "" ? null : Number(pick("of").value);
    tune();
    drawn = redraw();
  };
  pick("axis").onchange = () => {
    choice.axis = Number(pick("axis").value);
    drawn = redraw();
  };
  field("tune-value").oninput = () => {
    const value = Number(field("tune-value").value);
    if (choice.mode.tuned === "cut") choice.at = value;
    else choice.level = value;
    tune();
    drawn = redraw();
  };

  // ---- controls ----

  pick("scene").onchange = () => link.say({ type: "scene", id: pick("scene").value });
  document.querySelectorAll<HTMLInputElement>("input[name=drag]").forEach((radio) => {
    radio.onchange = () => (hand.drag = radio.value as Drag);
  });
  const reset = () => {
    recorder.stop();
    if (info) hand.set(info.hand);
    hand.gripping = false;
    link.say({ type: "reset" });
  };
  hand.onreset = reset;
  $("reset").onclick = reset;
  $("frame").onclick = () => view.frame();
  $("error-close").onclick = () => ($("error").hidden = true);
  for (const id of ["show-contacts", "show-force", "show-hand"]) field(id).onchange = () => last && link.onnow(last);

  const send = async (file: File | undefined) => {
    if (!file) return;
    $("error").hidden = true;
    const words = await link.file(file, pick("unit").value);
    if (words) fail(words);
  };
  $("open").onclick = () => field("file").click();
  field("file").onchange = () => {
    void send(field("file").files?.[0]);
    field("file").value = "";
  };
  addEventListener("dragover", (e) => {
    e.preventDefault();
    $("drop").hidden = !e.dataTransfer?.types.includes("Files");
  });
  addEventListener("dragleave", (e) => {
    if (!e.relatedTarget) $("drop").hidden = true;
  });
  addEventListener("drop", (e) => {
    e.preventDefault();
    $("drop").hidden = true;
    void send(e.dataTransfer?.files[0]);
  });

  const keep = (blob: Blob, name: string) => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(blob);
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
  };
  recorder.onchange = () => {
    const { state, seconds } = recorder;
    $("record").setAttribute("aria-pressed", String(state === "record"));
    $("record").textContent = state === "record" ? "Stop" : "Record";
    $("replay").setAttribute("aria-pressed", String(state === "replay"));
    $("replay").textContent = state === "replay" ? "Stop" : "Replay";
    const none = !recorder.samples.length || state === "record";
    $<HTMLButtonElement>("save").disabled = none;
    $<HTMLButtonElement>("replay").disabled = none || hand.led;
    $("record-text").textContent = recorder.samples.length ? `${seconds.toFixed(1)} s of the hand's motion` : "";
  };
  $("record").onclick = () => (recorder.state === "record" ? recorder.stop() : recorder.record(info?.id ?? ""));
  $("replay").onclick = () => (recorder.state === "replay" ? recorder.stop() : recorder.replay());
  $("save").onclick = () => keep(new Blob([recorder.text()], { type: "application/json" }), `palpate-${recorder.scene || "hand"}.json`);
  $("load").onclick = () => field("load-file").click();
  field("load-file").onchange = async () => {
    const file = field("load-file").files?.[0];
    field("load-file").value = "";
    const words = file ? recorder.read(await file.text()) : null;
    if (words) fail(words);
  };
  $("picture").onclick = () => {
    const caption = `${info?.title ?? ""}\n${$("hud").textContent}`;
    view.picture(caption).toBlob((blob) => blob && keep(blob, `palpate-${info?.id ?? "view"}.png`));
  };

  // ---- every frame ----

  let [counted, frames, messages] = [performance.now(), 0, 0];
  const rates = { frames: 0, messages: 0 };
  const each = (time: number) => {
    requestAnimationFrame(each);
    view.draw();
    Object.values(plots).forEach((p) => p.draw(time));
    if (last && info) {
      const { now } = last;
      const torque = Math.hypot(...now.torque) * 1000;
      const nodesText = now.visited ? `, ${now.visited.toLocaleString("en")} nodes visited` : "";
      $("hud").textContent =
        `${now.contacts.toLocaleString("en")} contact${now.contacts === 1 ? "" : "s"}${nodesText}\n` +
        (now.most.force > 0.005 ? `force ${newtons(now.most.force)}, torque ${torque.toFixed(0)} N mm` : "free");
    }
    if (time - counted > 1000) {
      const seconds = (time - counted) / 1000;
      rates.frames = (view.frames - frames) / seconds;
      rates.messages = (link.messages - messages) / seconds;
      [counted, frames, messages] = [time, view.frames, link.messages];
      $("rates").textContent = `This page drew ${rates.frames.toFixed(0)} frames and took ${rates.messages.toFixed(0)} messages in the last second.`;
    }
  };
  requestAnimationFrame(each);

  // For tests, and for the console.
  Object.assign(window, {
    palpate: {
      view,
      hand,
      feel,
      plots,
      rates,
      recorder,
      get info() {
        return info;
      },
      get last() {
        return last;
      },
      /** Ends when everything that was asked for is drawn. */
      settled: async () => {
        await drawn;
        view.dirty = true;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      },
      /** The view's pixels, small: for comparisons. */
      look: (w = 160, h = 100) => {
        view.renderer.render(view.scene, view.camera);
        const c = document.createElement("canvas");
        [c.width, c.height] = [w, h];
        const g = c.getContext("2d")!;
        g.drawImage(view.canvas, 0, 0, w, h);
        return Array.from(g.getImageData(0, 0, w, h).data);
      },
    },
  });
}

start();
