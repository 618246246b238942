// What touching is like, what a device is up to, and how the loop fares.

import type { Link, Now, SceneInfo, State } from "./link";

const $ = <T extends HTMLElement = HTMLElement>(id: string): T => document.getElementById(id) as T;

/** A device that is not there yet is told of only after this time [ms]: most are at once. */
const SOON = 700;

export class Feel {
  /** Whether a device moves the tool of this scene. */
  led = false;
  private since = 0;
  private name: string | null = null;

  constructor(private link: Link) {
    const friction = $<HTMLInputElement>("friction");
    friction.oninput = () => this.text();
    friction.onchange = () => this.say();
    document.querySelectorAll<HTMLInputElement>("input[name=feel]").forEach((radio) => (radio.onchange = () => this.say()));
  }

  private say(): void {
    const mode = document.querySelector<HTMLInputElement>("input[name=feel]:checked")?.value ?? "held";
    this.link.say({ type: "feel", mode, friction: Number($<HTMLInputElement>("friction").value) });
  }

  private text(): void {
    $("friction-text").textContent = Number($<HTMLInputElement>("friction").value).toFixed(2);
  }

  /** As the server has it: another page may have chosen. */
  state(state: State): void {
    this.name = state.device;
    const radio = document.querySelector<HTMLInputElement>(`input[name=feel][value=${state.feel.mode}]`);
    if (radio) radio.checked = true;
    $<HTMLInputElement>("friction").value = String(state.feel.friction);
    this.text();
  }

  enter(scene: SceneInfo): void {
    this.led = scene.device !== null;
    this.since = performance.now();
    $("lost").hidden = true;
    $("drag").hidden = this.led;
    $("keys").hidden = this.led;
    $("keys-led").hidden = !this.led;
    $("device").hidden = this.name === null;
    if (this.led) this.tell("here");
    else $("device").textContent = `${capital(this.name ?? "")} rests in this scene: it is for two rigid shapes. Drag the tool.`;
  }

  /** What the device does. */
  private tell(state: string): void {
    const does = state === "here" ? "moves the tool" : state === "lost" ? "does not answer" : "is being opened";
    const words = `${capital(this.name ?? "")} ${does}. Drag to turn the view.`;
    if ($("device").textContent !== words) $("device").textContent = words;
  }

  show(now: Now): void {
    $("feel").hidden = $("energy").hidden = !now.rig && !now.device;
    const { rig, device } = now;
    const rows: [string, string, boolean][] = [["rate", now.rate ? `${now.rate.toFixed(0)} Hz` : "–", now.rate > 0 && now.rate < 900]];
    if (rig || device) rows.push(["longest tick", rig ? `${rig.worst.toFixed(0)} µs` : "–", false]);
    rows.push(["missed by us", `${device && !rig ? "–" : (rig?.by_us ?? now.missed)}`, (rig?.by_us ?? 0) > 0]);
    if (rig || device) rows.push(["missed by the machine", `${rig?.by_machine ?? "–"}`, false]);
    if (device) rows.push(["bad readings", `${rig?.bad ?? "–"}`, (rig?.bad ?? 0) > 0], ["force cut by the watch", `${rig?.trips ?? "–"}`, (rig?.trips ?? 0) > 0]);
    const text = JSON.stringify(rows);
    if (text !== $("health").dataset.text) {
      $("health").dataset.text = text;
      $("health").replaceChildren(
        ...rows.map(([name, value, bad]) => {
          const row = document.createElement("div");
          const [term, of] = [document.createElement("dt"), document.createElement("dd")];
          [term.textContent, of.textContent] = [name, value];
          of.classList.toggle("late", bad);
          row.append(term, of);
          return row;
        }),
      );
    }
    if (device?.state === "here") this.since = performance.now();
    const lost = device?.state === "lost";
    const opening = device?.state === "opening" && performance.now() - this.since > SOON;
    const words = lost ? `No device: ${device.words ?? ""}. There is no force; it comes back by itself when it answers.` : opening ? `Waiting for ${this.name ?? "the device"}. There is no force.` : "";
    $("lost").hidden = !words;
    if (device) this.tell(lost ? "lost" : opening ? "opening" : "here");
    if (words && $("lost").textContent !== words) $("lost").textContent = words;
  }
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
