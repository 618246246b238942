// Plays a recording: WebGL2, no library, no network. The page holds the words as JSON and the numbers as base64. Bodies have poses;
// or, where the words have `soft`, each frame has its own vertices, and triangles of it are coloured; where they have `probe`, the
// first body is a scan, a part of points, and the second a probe with its path. A ground of kind `sheet` has heights for each frame.
// One script in five files, in this order: recording.js, meshes.js, scans.js, painter.js, player.js.
(() => {
'use strict';
const $ = id => document.getElementById(id);
const meta = JSON.parse($('meta').textContent);
const text = atob($('data').textContent.trim());
const bytes = new Uint8Array(text.length);
for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
const array = (Type, at, n) => new Type(bytes.buffer, at, n);

// ---- numbers for people
const unit = (x, units) => {
  if (!x) return '0 ' + units[0][1];
  const u = units.find(u => Math.abs(x) >= u[0]) || units[units.length - 1];
  return +(x / u[0]).toPrecision(3) + ' ' + u[1];
};
const LENGTHS = [[1, 'm'], [1e-3, 'mm'], [1e-6, 'µm'], [1e-9, 'nm']];
const FORMATS = {
  length: x => unit(x, LENGTHS),
  energy: x => unit(x, [[1, 'J'], [1e-3, 'mJ'], [1e-6, 'µJ'], [1e-9, 'nJ']]),
  speed: x => unit(x, LENGTHS.map(([f, n]) => [f, n + '/s'])),
  force: x => unit(x, [[1, 'N'], [1e-3, 'mN'], [1e-6, 'µN']]),
  count: x => Math.round(x).toLocaleString('en'),
  time: x => unit(x * 1e-6, [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']]),
};

// ---- vectors and matrices, column-major
const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const mul = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unitOf = a => { const l = Math.hypot(a[0], a[1], a[2]); return l > 0 ? mul(a, 1 / l) : [0, 0, 1]; };
const times = (a, b) => {
  const o = new Float32Array(16);
  for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) {
    let s = 0;
    for (let k = 0; k < 4; k++) s += a[k * 4 + r] * b[c * 4 + k];
    o[c * 4 + r] = s;
  }
  return o;
};
const looking = (eye, right, up, back) => new Float32Array([
  right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
  -dot(right, eye), -dot(up, eye), -dot(back, eye), 1]);
const perspective = (f, aspect, near, far) => new Float32Array([
  f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0]);
const parallel = (half, near, far) => new Float32Array([
  1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, 2 / (near - far), 0, 0, 0, (far + near) / (near - far), 1]);
const posed = (p, q) => {
  const [x, y, z, w] = q;
  return new Float32Array([
    1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0,
    2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0,
    2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0, p[0], p[1], p[2], 1]);
};
const IDENTITY = posed([0, 0, 0], [0, 0, 0, 1]);
const moved = (m, p) => [0, 1, 2].map(i => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i]);

// ---- the recording
const frames = meta.frames, bodies = meta.bodies, count = bodies.length;
const at = array(Float32Array, meta.times, frames);
const soft = meta.soft, probe = meta.probe;
const places = soft ? null : array(Float32Array, meta.places, frames * count * 3);
const turns = soft ? null : array(Int16Array, meta.turns, frames * count * 4);
// Which list belongs to which frame.
const lists = ([first, list]) => {
  const begin = array(Uint32Array, first, frames + 1), all = array(Uint32Array, list, begin[frames]);
  return f => all.subarray(begin[f], begin[f + 1]);
};
const steps = soft || probe ? array(Uint32Array, (soft || probe).steps, frames) : null;
const touching = array(Uint32Array, meta.contacts, frames);
const first = array(Uint32Array, meta.marks.first, frames + 1);
const markPlaces = array(Uint16Array, meta.marks.places, first[frames] * 3);
const markNormals = array(Int8Array, meta.marks.normals, first[frames] * 3);
const markDepths = array(Float32Array, meta.marks.depths, first[frames]);
const seconds = frames ? at[frames - 1] : 0;
const start = frames ? at[0] : 0;

const frameAt = t => {
  let low = 0, high = frames - 1;
  while (low < high) { const m = (low + high + 1) >> 1; if (at[m] <= t) low = m; else high = m - 1; }
  return low;
};
// The pose of a body at a time between two frames: straight in place, evenly in rotation.
const matrices = bodies.map(() => IDENTITY);
const pose = t => {
  if (soft) return;
  const i = frameAt(t), j = Math.min(i + 1, frames - 1);
  const s = j > i && at[j] > at[i] ? Math.min(Math.max((t - at[i]) / (at[j] - at[i]), 0), 1) : 0;
  for (let b = 0; b < count; b++) {
    const u = (i * count + b), v = (j * count + b), p = [], q = [];
    for (let k = 0; k < 3; k++) p.push(places[u * 3 + k] * (1 - s) + places[v * 3 + k] * s);
    let same = 0;
    for (let k = 0; k < 4; k++) same += turns[u * 4 + k] * turns[v * 4 + k];
    for (let k = 0; k < 4; k++) q.push(turns[u * 4 + k] * (1 - s) + (same < 0 ? -s : s) * turns[v * 4 + k]);
    const l = Math.hypot(...q) || 1;
    matrices[b] = posed(p, q.map(x => x / l));
  }
};

// ---- directions: up is given, the rest follows
const UP = unitOf(meta.up);
const facing = Math.abs(UP[1]) > 0.9 ? [0, 0, 1] : Math.abs(UP[0]) > 0.9 ? [0, 0, -1] : [0, -1, 0];
const FRONT = unitOf(sub(facing, mul(UP, dot(facing, UP))));
const RIGHT = cross(UP, FRONT);
const LIGHT = unitOf(add(add(UP, mul(RIGHT, -0.55)), mul(FRONT, 0.42)));

// ---- state
const state = { time: start, playing: false, speed: 1, contacts: true, path: true, coloured: [true, true], follow: false, shown: bodies.map(() => true) };
const canvas = $('view');
const gl = canvas.getContext('webgl2', { antialias: true, alpha: false });
let draw = () => {};
let dirty = false;
// Share of the screen's pixels along each axis that are drawn: lowered while frames come slower than wanted, whole again at rest.
let quality = 1, slow = 0, sharpen = 0;
const wake = () => { if (!dirty) { dirty = true; requestAnimationFrame(tick); } };

