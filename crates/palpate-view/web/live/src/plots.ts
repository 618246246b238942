// Small plots of the last ten seconds, drawn by hand.

const SECONDS = 10;

export class Plot {
  private times: number[] = [];
  private values: number[] = [];
  private drawn = 0;

  /** `least`: the smallest top of the scale. */
  constructor(private canvas: HTMLCanvasElement, private out: HTMLElement, private least: number, private text: (v: number) => string, private fixed = false) {}

  add(time: number, value: number): void {
    // A scene that began anew.
    if (this.times.length && time < this.times[this.times.length - 1]) this.clear();
    this.times.push(time);
    this.values.push(value);
    while (this.times.length && this.times[0] < time - SECONDS) {
      this.times.shift();
      this.values.shift();
    }
    this.out.textContent = this.text(value);
  }

  clear(): void {
    this.times = [];
    this.values = [];
  }

  get most(): number {
    return this.values.reduce((a, b) => Math.max(a, b), 0);
  }

  /** The largest but for two in a hundred: one late tick does not flatten the rest. */
  private get usual(): number {
    if (!this.values.length) return 0;
    const sorted = [...this.values].sort((a, b) => a - b);
    return sorted[Math.floor(0.98 * (sorted.length - 1))];
  }

  draw(now: number): void {
    // Twenty times a second is enough for the eye.
    if (now - this.drawn < 50) return;
    this.drawn = now;
    const c = this.canvas;
    const ratio = Math.min(2, devicePixelRatio || 1);
    const [w, h] = [Math.round(c.clientWidth * ratio), Math.round(c.clientHeight * ratio)];
    if (!w || !h) return;
    if (c.width !== w || c.height !== h) [c.width, c.height] = [w, h];
    const g = c.getContext("2d");
    if (!g) return;
    const style = getComputedStyle(c);
    const colour = (name: string) => style.getPropertyValue(name);
    const top = this.fixed ? this.least : nice(Math.max(this.least, this.usual * 1.08));
    const x = (t: number) => w * (1 - (this.times[this.times.length - 1] - t) / SECONDS);
    const y = (v: number) => h - 2 * ratio - (h - 6 * ratio) * Math.min(1.04, v / top);
    g.clearRect(0, 0, w, h);
    g.strokeStyle = colour("--line");
    g.lineWidth = ratio;
    g.beginPath();
    for (const v of [0, top / 2, top]) {
      const at = Math.round(y(v)) + 0.5;
      g.moveTo(0, at);
      g.lineTo(w, at);
    }
    g.stroke();
    g.fillStyle = colour("--dim");
    g.font = `${10 * ratio}px system-ui, sans-serif`;
    g.textBaseline = "top";
    g.fillText(this.text(top), 2 * ratio, y(top) + 2 * ratio);
    if (this.times.length < 2) return;
    g.beginPath();
    this.times.forEach((t, i) => g.lineTo(x(t), y(Math.max(0, this.values[i]))));
    g.strokeStyle = colour("--blue");
    g.lineWidth = 1.6 * ratio;
    g.lineJoin = "round";
    g.stroke();
    g.lineTo(w, y(0));
    g.lineTo(x(this.times[0]), y(0));
    g.fillStyle = colour("--area");
    g.fill();
  }
}

/** The next 1, 2 or 5 with zeros. */
function nice(v: number): number {
  const ten = 10 ** Math.floor(Math.log10(v));
  for (const m of [1, 2, 5, 10]) if (v <= m * ten * 1.0001) return m * ten;
  return v;
}

/** A length as people read it. */
export function length(m: number): string {
  const a = Math.abs(m);
  if (a === 0) return "0 mm";
  if (a < 1e-5) return `${(m * 1e6).toFixed(1)} µm`;
  if (a < 1e-3) return `${(m * 1e6).toFixed(0)} µm`;
  if (a < 0.1) return `${(m * 1e3).toFixed(a < 0.01 ? 2 : 1)} mm`;
  return a < 10 ? `${m.toFixed(3)} m` : `${m.toPrecision(4)} m`;
}

export function newtons(n: number): string {
  return `${n.toFixed(2)} N`;
}
