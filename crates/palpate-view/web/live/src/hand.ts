// The hand: mouse, finger and keys move the target of the tool. Poses are of the tool's frame; turns are about its middle.

import { Plane, Quaternion, Raycaster, Vector2, Vector3 } from "three";
import type { Link, SceneInfo } from "./link";
import type { View } from "./view";

export type Drag = "move" | "turn" | "look";

/** Turn of the tool for a drag across the whole view [rad]. */
const TURN = 3.2;
/** Speed of keys: of the scene's size in a second [1/s]; turns [rad/s]. */
const KEY_SPEED = 0.22;
const KEY_TURN = 1.3;
/** Share of that with Shift. */
const FINE = 0.15;

const MOVES: Record<string, [number, number, number]> = {
  ArrowLeft: [-1, 0, 0],
  ArrowRight: [1, 0, 0],
  ArrowUp: [0, 1, 0],
  ArrowDown: [0, -1, 0],
  PageUp: [0, 0, -1],
  PageDown: [0, 0, 1],
};
const TURNS: Record<string, [number, number, number]> = {
  i: [-1, 0, 0],
  k: [1, 0, 0],
  j: [0, 0, 1],
  l: [0, 0, -1],
};
/** Turns about what is up in the scene, such as a bolt. */
const TWISTS: Record<string, number> = { u: 1, o: -1 };

export class Hand {
  drag: Drag = "move";
  /** Where the hand is: middle of the tool in metres, and how it is turned. */
  centre = new Vector3();
  rotation = new Quaternion();
  /** Whether something else moves the hand, such as a replay. */
  guided = false;
  /** Whether the hand holds the tool. */
  gripping = false;
  /** Whether a device moves the tool: the hand is where its handle is, and mouse and keys only look. */
  led = false;
  onreset: () => void = () => {};
  private local = new Vector3();
  private info: SceneInfo | null = null;
  private tool: number[] | null = null;
  private keys = new Set<string>();
  private fine = false;
  private held: { id: number; turn: boolean; plane: Plane; grab: Vector3; start: Vector3; last: Vector2; depth: number } | null = null;
  private sent = 0;

  constructor(private view: View, private link: Link) {
    const c = view.canvas;
    // Before the camera's own listeners, which are made anew with each scene: in the capture phase of the parent.
    c.parentElement?.addEventListener("pointerdown", (e) => e.target === c && this.down(e), true);
    c.addEventListener("pointermove", (e) => this.move(e));
    for (const type of ["pointerup", "pointercancel"] as const) c.addEventListener(type, (e) => this.up(e));
    c.parentElement?.addEventListener("wheel", (e) => e.target === c && this.wheel(e), { capture: true, passive: false });
    c.addEventListener("keydown", (e) => this.key(e));
    c.addEventListener("keyup", (e) => this.keys.delete(e.key.length === 1 ? e.key.toLowerCase() : e.key));
    c.addEventListener("blur", () => this.keys.clear());
    setInterval(() => this.tick(0.012), 12);
  }

  enter(info: SceneInfo): void {
    this.info = info;
    this.held = null;
    this.guided = this.gripping = false;
    this.led = info.device !== null;
    const tool = info.tool === null ? null : info.bodies[info.tool];
    this.local.set(0, 0, 0);
    if (tool) this.local.set((tool.min[0] + tool.max[0]) / 2, (tool.min[1] + tool.max[1]) / 2, (tool.min[2] + tool.max[2]) / 2);
    this.set(info.hand);
    this.tool = info.hand;
  }

  /** The tool is here now: a hand that holds nothing stays with it, that of a device is at `target`. */
  follow(pose: number[], target: number[]): void {
    this.tool = pose;
    if (this.led) this.set(target);
    else if (!this.gripping && !this.guided) this.set(pose);
  }

  set(p: number[]): void {
    this.rotation.set(p[3], p[4], p[5], p[6]);
    this.centre.copy(this.local).applyQuaternion(this.rotation).add(new Vector3(p[0], p[1], p[2]));
  }

  get pose(): number[] {
    const t = this.local.clone().applyQuaternion(this.rotation).negate().add(this.centre);
    const r = this.rotation;
    return [t.x, t.y, t.z, r.x, r.y, r.z, r.w];
  }

  get holding(): boolean {
    return this.held !== null;
  }

  /** The hand goes to where the tool is: nothing pulls any more. */
  letGo(): void {
    if (this.tool) this.set(this.tool);
    this.gripping = false;
    this.send(true);
  }

  send(now = false): void {
    const time = performance.now();
    if (!this.info || this.info.tool === null || this.led || (!now && time - this.sent < 7)) return;
    this.sent = time;
    this.link.say({ type: "target", generation: this.info.generation, pose: this.pose, held: this.gripping || this.guided });
  }

  private ray(e: { clientX: number; clientY: number }): Raycaster {
    const box = this.view.canvas.getBoundingClientRect();
    const at = new Vector2(((e.clientX - box.left) / box.width) * 2 - 1, 1 - ((e.clientY - box.top) / box.height) * 2);
    const ray = new Raycaster();
    ray.setFromCamera(at, this.view.camera);
    return ray;
  }

  private down(e: PointerEvent): void {
    this.view.controls.enabled = true;
    if (this.drag === "look" || e.button !== 0 || this.held || !e.isPrimary || this.guided || this.led) return;
    const index = this.info?.tool ?? null;
    const drawn = index === null ? null : this.view.bodies[index];
    if (!drawn?.surface) return;
    const ray = this.ray(e);
    const surfaces = this.view.bodies.map((b) => b.surface).filter((s) => s !== null && s.visible);
    // A tool that is shown as something else is still there.
    if (!drawn.surface.visible) surfaces.push(drawn.surface);
    const hit = ray.intersectObjects([...surfaces, drawn.ghost?.visible ? drawn.ghost : null].filter((o) => o !== null), false)[0];
    if (!hit || (hit.object !== drawn.surface && hit.object !== drawn.ghost)) return;
    this.view.controls.enabled = false;
    this.view.canvas.setPointerCapture(e.pointerId);
    this.view.canvas.classList.add("holding");
    const away = this.view.camera.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(away, hit.point);
    const turn = (this.drag === "turn") !== e.shiftKey;
    this.gripping = true;
    this.held = { id: e.pointerId, turn, plane, grab: hit.point.clone(), start: this.centre.clone(), last: new Vector2(e.clientX, e.clientY), depth: 0 };
  }

  private move(e: PointerEvent): void {
    const held = this.held;
    if (!held || e.pointerId !== held.id) return;
    if (held.turn) {
      const box = this.view.canvas.getBoundingClientRect();
      const [dx, dy] = [(e.clientX - held.last.x) / box.width, (e.clientY - held.last.y) / box.height];
      held.last.set(e.clientX, e.clientY);
      this.turn(new Vector3(dy, dx, 0).applyQuaternion(this.view.camera.quaternion).multiplyScalar(TURN));
    } else {
      held.last.set(e.clientX, e.clientY);
      this.place(e);
    }
    this.send();
  }

  private place(e: { clientX: number; clientY: number }): void {
    const held = this.held;
    if (!held) return;
    const at = this.ray(e).ray.intersectPlane(held.plane, new Vector3());
    if (!at) return;
    const away = this.view.camera.getWorldDirection(new Vector3()).multiplyScalar(held.depth);
    this.centre.copy(at.sub(held.grab).divideScalar(this.view.scale).add(held.start)).add(away);
  }

  private up(e: PointerEvent): void {
    if (this.held?.id !== e.pointerId) return;
    this.held = null;
    this.view.canvas.classList.remove("holding");
    this.view.controls.enabled = true;
    this.letGo();
  }

  private wheel(e: WheelEvent): void {
    if (!this.held || this.held.turn) return;
    e.preventDefault();
    e.stopPropagation();
    this.held.depth += (e.deltaY > 0 ? -1 : 1) * (0.02 / this.view.scale);
    this.place({ clientX: this.held.last.x, clientY: this.held.last.y });
    this.send(true);
  }

  private key(e: KeyboardEvent): void {
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    this.fine = e.shiftKey;
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (key === "r") this.onreset();
    else if (this.led) return;
    else if (key === "Escape") this.letGo();
    else if (MOVES[key] || TURNS[key] || TWISTS[key]) this.keys.add(key);
    else return;
    e.preventDefault();
  }

  /** Keys that are held go on moving the hand. */
  private tick(seconds: number): void {
    if (!this.keys.size || this.guided || !this.info) return;
    const speed = this.fine ? FINE : 1;
    this.gripping = true;
    const camera = this.view.camera.quaternion;
    for (const key of this.keys) {
      if (MOVES[key]) this.centre.add(new Vector3(...MOVES[key]).applyQuaternion(camera).multiplyScalar((speed * seconds * KEY_SPEED * 2) / this.view.scale));
      else if (TURNS[key]) this.turn(new Vector3(...TURNS[key]).applyQuaternion(camera).multiplyScalar(speed * seconds * KEY_TURN));
      else if (TWISTS[key]) this.turn(new Vector3(...this.info.up).multiplyScalar(TWISTS[key] * speed * seconds * KEY_TURN));
    }
    this.send();
  }

  /** Turns the tool about its middle; axis times angle in the world. */
  private turn(by: Vector3): void {
    const angle = by.length();
    if (angle === 0) return;
    const axis = by.divideScalar(angle);
    this.rotation.premultiply(new Quaternion().setFromAxisAngle(axis, angle)).normalize();
  }
}
