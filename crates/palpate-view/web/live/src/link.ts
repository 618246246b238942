// The server: news and snapshots by a socket, geometry by requests. Numbers are little-endian, behind a small JSON head.

export interface BodyInfo {
  name: string;
  kind: "shape" | "points" | "soft" | "mesh";
  pose: number[];
  min: number[];
  max: number[];
  triangles?: number;
  voxel?: number;
  dims?: number[];
  points?: number;
  levels?: number[];
  /** The level that queries begin with. */
  start?: number;
  segments?: number;
  bytes?: number;
}

export interface SceneInfo {
  generation: number;
  id: string;
  title: string;
  words: string;
  bodies: BodyInfo[];
  tool: number | null;
  hand: number[];
  up: number[];
  /** What moves the tool instead of the page's hand. */
  device: string | null;
  min: number[];
  max: number[];
}

export interface State {
  scene: SceneInfo | null;
  building: { title: string; stage: string; part: number | null } | null;
  error: string | null;
  scenes: { id: string; title: string }[];
  feel: { mode: string; friction: number };
  device: string | null;
}

export interface Now {
  n: number;
  generation: number;
  time: number;
  bodies: number[][];
  target: number[];
  centre: number[];
  force: number[];
  torque: number[];
  contacts: number;
  marks: number;
  nodes: number;
  visited: number;
  deformed: [number, number][];
  most: { force: number; torque: number; depth: number; micros: number };
  rate: number;
  missed: number;
  work: number;
  /** How the haptic loop fares; energy in J, the longest tick in µs. */
  rig: { energy: number; share: number; by_us: number; by_machine: number; bad: number; trips: number; worst: number } | null;
  device: { state: "opening" | "here" | "lost"; words?: string } | null;
}

/** A snapshot with its numbers: contacts of 7, nodes of 6 (centre, radius, colliding, body), vertices of bodies that deform. */
export interface Snapshot {
  now: Now;
  marks: Float32Array;
  nodes: Float32Array;
  deformed: { body: number; positions: Float32Array }[];
}

/** A head and what follows it. */
export function open(buffer: ArrayBuffer): { head: any; at: number } {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { head, at: 4 + length };
}

function snapshot(buffer: ArrayBuffer): Snapshot {
  const { head, at } = open(buffer);
  const now = head as Now;
  const marks = new Float32Array(buffer, at, 7 * now.marks);
  const nodes = new Float32Array(buffer, at + 28 * now.marks, 6 * now.nodes);
  let next = at + 28 * now.marks + 24 * now.nodes;
  const deformed = now.deformed.map(([body, length]) => {
    const positions = new Float32Array(buffer, next, length);
    next += 4 * length;
    return { body, positions };
  });
  return { now, marks, nodes, deformed };
}

export class Link {
  onstate: (state: State) => void = () => {};
  onnow: (snapshot: Snapshot) => void = () => {};
  onlink: (open: boolean) => void = () => {};
  messages = 0;
  private socket: WebSocket | null = null;
  private wait = 250;

  constructor() {
    this.connect();
    setInterval(() => this.say({ type: "here" }), 20000);
  }

  get open(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  say(message: object): void {
    if (this.open) this.socket?.send(JSON.stringify(message));
  }

  private connect(): void {
    const socket = new WebSocket(`ws://${location.host}/socket`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.wait = 250;
      this.onlink(true);
    };
    socket.onmessage = (event) => {
      this.messages += 1;
      if (typeof event.data === "string") {
        const said = JSON.parse(event.data);
        if (said.type === "state") this.onstate(said as State);
      } else {
        const shot = snapshot(event.data);
        // The next one is sent only after this word: a slow page gets fewer, never old ones.
        this.say({ type: "seen", n: shot.now.n });
        this.onnow(shot);
      }
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.onlink(false);
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(4000, this.wait * 2);
    };
  }

  /** What is inside a body; null where it has no such thing, or the scene is gone. */
  async body(generation: number, index: number, what: string, how: Record<string, number> = {}): Promise<{ head: any; at: number; buffer: ArrayBuffer } | null> {
    const query = new URLSearchParams(Object.entries(how).map(([k, v]) => [k, String(v)]));
    const answer = await fetch(`/body/${generation}/${index}/${what}?${query}`);
    if (!answer.ok) return null;
    const buffer = await answer.arrayBuffer();
    return { ...open(buffer), buffer };
  }

  /** Sends a file to be built; words when it is refused. */
  async file(file: File, unit: string): Promise<string | null> {
    try {
      const answer = await fetch(`/file?name=${encodeURIComponent(file.name)}&unit=${encodeURIComponent(unit)}`, { method: "POST", body: file });
      return answer.ok ? null : (await answer.text()).trim();
    } catch {
      return "the file could not be sent: it may be too large";
    }
  }
}
