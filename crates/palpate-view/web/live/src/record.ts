// The hand's motion, kept and played again.

import type { Hand } from "./hand";

/** Time between samples [ms]. */
const EVERY = 16;
/** Longest motion [samples]: ten minutes. */
const MOST = 37500;

export type Sample = [number, number, number, number, number, number, number, number];

export class Recorder {
  samples: Sample[] = [];
  scene = "";
  onchange: () => void = () => {};
  private since = 0;
  private timer = 0;
  private what: "record" | "replay" | null = null;

  constructor(private hand: Hand) {}

  get state(): "record" | "replay" | null {
    return this.what;
  }

  get seconds(): number {
    return this.samples.length ? this.samples[this.samples.length - 1][0] : 0;
  }

  record(scene: string): void {
    this.stop();
    this.samples = [];
    this.scene = scene;
    this.begin("record", () => {
      if (this.samples.length >= MOST) return this.stop();
      this.samples.push([(performance.now() - this.since) / 1000, ...this.hand.pose] as Sample);
      if (this.samples.length % 8 === 0) this.onchange();
    });
  }

  replay(): void {
    this.stop();
    if (!this.samples.length) return;
    let next = 0;
    this.hand.guided = true;
    this.begin("replay", () => {
      const time = (performance.now() - this.since) / 1000;
      while (next < this.samples.length && this.samples[next][0] <= time) next += 1;
      const [, ...pose] = this.samples[Math.max(0, next - 1)];
      this.hand.set(pose);
      this.hand.send(true);
      if (next >= this.samples.length) this.stop();
    });
  }

  stop(): void {
    clearInterval(this.timer);
    const was = this.what;
    this.what = null;
    this.hand.guided = false;
    if (was) this.onchange();
  }

  private begin(what: "record" | "replay", step: () => void): void {
    this.what = what;
    this.since = performance.now();
    this.timer = window.setInterval(step, EVERY);
    this.onchange();
  }

  text(): string {
    return JSON.stringify({ palpate: "hand", version: 1, scene: this.scene, unit: "s m x y z w", samples: this.samples });
  }

  /** Words when it is no motion. */
  read(text: string): string | null {
    try {
      const value = JSON.parse(text);
      const good = (s: unknown): s is Sample => Array.isArray(s) && s.length === 8 && s.every((v) => typeof v === "number" && Number.isFinite(v));
      if (value.palpate !== "hand" || !Array.isArray(value.samples) || value.samples.length > MOST || !value.samples.every(good)) {
        return "this is no motion of a hand that was saved here";
      }
      this.stop();
      this.samples = value.samples;
      this.scene = String(value.scene ?? "");
      this.onchange();
      return null;
    } catch {
      return "the file is not JSON";
    }
  }
}
