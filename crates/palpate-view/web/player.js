// Plays a recording: WebGL2, no library, no network. The page holds the words as JSON and the numbers as base64. Bodies have poses;
// or, where the words have `soft`, each frame has its own vertices, and triangles of it are coloured.
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
const soft = meta.soft;
const places = soft ? null : array(Float32Array, meta.places, frames * count * 3);
const turns = soft ? null : array(Int16Array, meta.turns, frames * count * 4);
// Which list belongs to which frame.
const lists = ([first, list]) => {
  const begin = array(Uint32Array, first, frames + 1), all = array(Uint32Array, list, begin[frames]);
  return f => all.subarray(begin[f], begin[f + 1]);
};
const steps = soft ? array(Uint32Array, soft.steps, frames) : null;
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
const state = { time: start, playing: false, speed: 1, contacts: true, coloured: true, follow: false, shown: bodies.map(() => true) };
const canvas = $('view');
const gl = canvas.getContext('webgl2', { antialias: true, alpha: false });
let draw = () => {};
let dirty = false;
// Share of the screen's pixels along each axis that are drawn: lowered while frames come slower than wanted, whole again at rest.
let quality = 1, slow = 0, sharpen = 0;
const wake = () => { if (!dirty) { dirty = true; requestAnimationFrame(tick); } };

// ---- drawing
if (!gl || !frames) {
  canvas.remove();
  $('note').hidden = false;
} else {
  $('still').remove();
  draw = painter();
}

function painter() {
  const compile = (vertex, fragment) => {
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, '#version 300 es\nprecision highp float;precision highp int;precision highp sampler2DShadow;\n' + source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(program));
    const at = {};
    const n = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS);
    for (let i = 0; i < n; i++) {
      const u = gl.getActiveUniform(program, i);
      at[u.name] = gl.getUniformLocation(program, u.name);
    }
    return { program, at };
  };
  const SHADOW = `
    uniform sampler2DShadow shadow; uniform mat4 toLight; uniform float texel;
    const vec2 TAPS[12] = vec2[12](vec2(-.33,-.73),vec2(.77,-.24),vec2(.29,.53),vec2(-.70,.11),vec2(-.18,.96),vec2(.53,-.81),
      vec2(-.91,-.41),vec2(.94,.31),vec2(.06,-.21),vec2(-.55,.68),vec2(.67,.74),vec2(-.05,.28));
    float lit(vec3 p) {
      vec3 s = (toLight * vec4(p, 1.)).xyz * .5 + .5;
      if (any(lessThan(s.xy, vec2(0.))) || any(greaterThan(s.xy, vec2(1.)))) return 1.;
      float sum = 0.;
      for (int i = 0; i < 12; i++) sum += texture(shadow, vec3(s.xy + TAPS[i] * texel * 4.2, min(s.z, 1.)));
      return sum / 12.;
    }`;
  const solid = compile(`
    layout(location=0) in vec3 p; layout(location=1) in vec3 n; layout(location=2) in vec3 c;
    uniform mat4 model, view; out vec3 at, normal, tint;
    void main() { vec4 w = model * vec4(p, 1.); at = w.xyz; normal = mat3(model) * n; tint = c; gl_Position = view * w; }`, SHADOW + `
    in vec3 at, normal, tint; uniform vec3 colour, light, up, eye; uniform float own; out vec4 result;
    void main() {
      vec3 n = normalize(normal), v = normalize(eye - at);
      if (dot(n, v) < -.15) n = -n;
      vec3 base = pow(mix(colour, tint, own), vec3(2.2));
      float k = max(dot(n, light), 0.);
      float s = k > 0. ? lit(at) : 0.;
      float sky = .5 + .5 * dot(n, up);
      vec3 ambient = mix(vec3(.19,.17,.16), vec3(.40,.44,.50), sky);
      float fill = .22 * max(dot(n, v), 0.);
      float gloss = pow(max(dot(n, normalize(light + v)), 0.), 36.) * .22 * s * k;
      float rim = pow(1. - max(dot(n, v), 0.), 4.) * .10 * sky;
      vec3 c = base * (ambient + fill + k * s * vec3(1.02,.98,.92) * .95) + gloss + rim;
      c = c / (1. + .18 * c);
      result = vec4(pow(c, vec3(1. / 2.2)), 1.);
    }`);
  const depth = compile(`
    layout(location=0) in vec3 p; uniform mat4 model, view; void main() { gl_Position = view * model * vec4(p, 1.); }`,
    'void main() {}');
  const floor = compile(`
    uniform mat4 view; uniform vec3 centre, a, b; out vec2 uv; out vec3 at;
    void main() {
      uv = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2. - 1.;
      at = centre + a * uv.x + b * uv.y; gl_Position = view * vec4(at, 1.);
    }`, SHADOW + `
    in vec2 uv; in vec3 at; uniform vec3 back, base, grid, ea, eb, home; uniform float cell, below, size; out vec4 result;
    float lines(vec2 q, float step) {
      vec2 s = q / step, w = max(fwidth(s), 1e-6), d = abs(fract(s - .5) - .5) / w;
      // Lines closer than a few pixels fade instead of flickering.
      return (1. - min(min(d.x, d.y), 1.)) * clamp(.5 / max(w.x, w.y) - .8, 0., 1.);
    }
    void main() {
      float fade = 1. - smoothstep(.30, 1., length(uv));
      vec2 q = vec2(dot(at - home, ea), dot(at - home, eb));
      vec3 c = mix(base, grid, max(.42 * lines(q, cell), .85 * lines(q, cell * 5.)));
      c *= mix(.66, 1., lit(at));
      result = vec4(c, fade * below);
    }`);
  const marks = compile(`
    layout(location=0) in vec3 p; layout(location=1) in vec3 n; layout(location=2) in float d;
    uniform mat4 view; uniform vec2 screen; uniform float px, reach, most; uniform int stick; out vec2 uv; out float deep;
    void main() {
      uv = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2. - 1.;
      deep = clamp(d / most, 0., 1.);
      vec4 a = view * vec4(p, 1.), b = view * vec4(p + n * reach, 1.);
      vec2 along = (b.xy / b.w - a.xy / a.w) * screen;
      along = length(along) > 1e-3 ? normalize(along) : vec2(0., 1.);
      vec4 o = stick == 1 ? (uv.y > 0. ? b : a) : a;
      vec2 off = stick == 1 ? vec2(-along.y, along.x) * uv.x * px * .22 * (uv.y > 0. ? .5 : 1.) : uv * px;
      o.xy += off / screen * 2. * o.w;
      gl_Position = o;
    }`, `
    in vec2 uv; in float deep; uniform float alpha; uniform int stick; out vec4 result;
    void main() {
      vec3 c = mix(vec3(1., .72, .16), vec3(.90, .16, .14), sqrt(deep));
      float a = 1.;
      if (stick == 0) {
        float r = length(uv), w = fwidth(r);
        a = 1. - smoothstep(1. - w, 1., r);
        c = mix(c, vec3(1.), smoothstep(.62 - w, .62 + w, r) * .9);
      }
      result = vec4(c, a * alpha);
    }`);

  const lines = compile(`
    layout(location=0) in vec3 p; layout(location=1) in vec3 q; uniform mat4 view; uniform vec2 screen; uniform float px; out float across;
    void main() {
      vec2 uv = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2. - 1.;
      vec4 a = view * vec4(p, 1.), b = view * vec4(q, 1.);
      vec2 along = (b.xy / b.w - a.xy / a.w) * screen;
      along = length(along) > 1e-3 ? normalize(along) : vec2(1., 0.);
      // A little longer, so that ends join, and nearer, so that the surfaces that meet there do not hide half of it.
      vec4 o = uv.y > 0. ? b : a;
      o.xy += (vec2(-along.y, along.x) * uv.x + along * uv.y * .4) * px / screen * 2. * o.w;
      o.z -= 2e-4 * o.w;
      across = uv.x;
      gl_Position = o;
    }`, `
    in float across; uniform vec4 colour; out vec4 result;
    void main() { result = vec4(colour.rgb, colour.a * (1. - smoothstep(.6, 1., abs(across)))); }`);

  // Vertices are split where faces meet at more than 42 degrees, so that edges stay sharp: which vertex each corner that is drawn
  // comes from, the faces that give it its normal, and the normal.
  const corners = (positions, triangles) => {
    const nt = triangles.length / 3, nv = positions.length / 3, face = new Float32Array(nt * 3);
    const start = new Uint32Array(nv + 1);
    for (let t = 0; t < nt; t++) {
      const [a, b, c] = [0, 1, 2].map(k => { const v = triangles[3 * t + k]; start[v + 1]++; return positions.subarray(3 * v, 3 * v + 3); });
      face.set(cross(sub(b, a), sub(c, a)), 3 * t);
    }
    for (let v = 0; v < nv; v++) start[v + 1] += start[v];
    const next = start.slice(), around = new Uint32Array(nt * 3);
    for (let i = 0; i < nt * 3; i++) around[next[triangles[i]]++] = i / 3 | 0;
    // A corner with nearly the normal of another at the same vertex is the same corner.
    const source = [], normals = [], faces = [], ends = [0], order = new Uint32Array(nt * 3), made = new Map();
    for (let i = 0; i < nt * 3; i++) {
      const v = triangles[i], t = i / 3 | 0, f = face.subarray(3 * t, 3 * t + 3), l = Math.hypot(f[0], f[1], f[2]) || 1, near = [];
      let n = [0, 0, 0];
      for (let k = start[v]; k < start[v + 1] && start[v + 1] - start[v] < 96; k++) {
        const g = face.subarray(3 * around[k], 3 * around[k] + 3);
        if (dot(f, g) >= 0.743 * l * Math.hypot(g[0], g[1], g[2])) { n = add(n, g); near.push(around[k]); }
      }
      if (!dot(n, n)) { n = f; near.splice(0, near.length, t); }
      n = unitOf(n);
      if (!made.has(v)) made.set(v, []);
      const same = made.get(v).find(([m]) => dot(m, n) > .9995);
      if (same) { order[i] = same[1]; continue; }
      order[i] = source.length;
      made.get(v).push([n, order[i]]);
      source.push(v);
      normals.push(n);
      for (const g of near) faces.push(g);
      ends.push(faces.length);
    }
    return { order, source, normals, faces, ends };
  };
  // Positions and normals in one buffer, beside it which corners are drawn.
  const vertices = (buffer, data, usage) => {
    const vao = gl.createVertexArray();
    gl.bindVertexArray(vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    if (data) gl.bufferData(gl.ARRAY_BUFFER, data, usage);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 24, 0);
    gl.enableVertexAttribArray(1); gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 24, 12);
    return vao;
  };
  const mesh = (positions, triangles, colours) => {
    const nt = triangles.length / 3, { order, source, normals } = corners(positions, triangles), out = [], tint = [];
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    source.forEach((v, i) => {
      for (let k = 0; k < 3; k++) {
        const x = positions[3 * v + k];
        out.push(x);
        tint.push(colours ? colours[3 * v + k] : 0);
        low[k] = Math.min(low[k], x);
        high[k] = Math.max(high[k], x);
      }
      out.push(...normals[i]);
      tint.push(0);
    });
    const vao = vertices(gl.createBuffer(), new Float32Array(out), gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Uint8Array(tint), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(2); gl.vertexAttribPointer(2, 3, gl.UNSIGNED_BYTE, true, 4, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    const centre = nt ? mul(add(low, high), .5) : [0, 0, 0];
    return { vao, n: nt * 3, own: colours ? 1 : 0, low, high, centre, positions, radius: nt ? Math.hypot(...sub(high, low)) / 2 : 0 };
  };
  // A mesh whose vertices are elsewhere in each frame. No frame lies between two: what is drawn is what was decided.
  const moving = p => {
    const all = array(Uint16Array, p.moving, frames * p.vertices * 3), triangles = array(p.wide ? Uint32Array : Uint16Array, p.indices, p.triangles * 3);
    const positions = new Float32Array(p.vertices * 3), face = new Float32Array(p.triangles * 3);
    const place = f => {
      const from = f * p.vertices * 3;
      for (let i = 0; i < positions.length; i += 3) for (let k = 0; k < 3; k++) positions[i + k] = soft.min[k] + soft.size[k] * all[from + i + k] / 65535;
    };
    place(0);
    const { order, source, faces, ends } = corners(positions, triangles), data = new Float32Array(source.length * 6);
    const buffer = gl.createBuffer(), index = vao => { const b = gl.createBuffer(); gl.bindVertexArray(vao); gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, b); return vao; };
    const part = { positions, own: 0, n: 0, centre: [0, 0, 0], radius: 0, frame: -1, vao: index(vertices(buffer, null)) };
    // Triangles that meet others, and those of one mesh that meet themselves, over the rest.
    const over = [['hits', soft.hot], ['own', soft.own]].map(([name, colour]) => ({
      lists: lists(p[name]), colour: colour.map(x => x / 255), own: 0, n: 0, vao: index(vertices(buffer, null)),
    }));
    const switched = lists(p.switched), off = new Uint8Array(p.triangles);
    const draws = (m, list) => {
      const out = new Uint32Array(list.length * 3);
      list.forEach((t, i) => { for (let k = 0; k < 3; k++) out[3 * i + k] = order[3 * t + k]; });
      gl.bindVertexArray(m.vao);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, out, gl.DYNAMIC_DRAW);
      m.n = out.length;
    };
    const everything = Array.from({ length: p.triangles }, (_, t) => t);
    part.over = over;
    part.set = f => {
      if (f === part.frame) return;
      place(f);
      for (let t = 0; t < p.triangles; t++) {
        const a = 3 * triangles[3 * t], b = 3 * triangles[3 * t + 1], c = 3 * triangles[3 * t + 2];
        const x = positions[b] - positions[a], y = positions[b + 1] - positions[a + 1], z = positions[b + 2] - positions[a + 2];
        const u = positions[c] - positions[a], v = positions[c + 1] - positions[a + 1], w = positions[c + 2] - positions[a + 2];
        face[3 * t] = y * w - z * v; face[3 * t + 1] = z * u - x * w; face[3 * t + 2] = x * v - y * u;
      }
      const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
      for (let i = 0; i < source.length; i++) {
        let x = 0, y = 0, z = 0;
        for (let k = ends[i]; k < ends[i + 1]; k++) { const g = 3 * faces[k]; x += face[g]; y += face[g + 1]; z += face[g + 2]; }
        const l = 1 / (Math.hypot(x, y, z) || 1);
        for (let k = 0; k < 3; k++) {
          const at = positions[3 * source[i] + k];
          data[6 * i + k] = at;
          if (at < low[k]) low[k] = at;
          if (at > high[k]) high[k] = at;
        }
        data[6 * i + 3] = x * l; data[6 * i + 4] = y * l; data[6 * i + 5] = z * l;
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
      // What was switched an odd number of times is off.
      let changed = part.frame < 0;
      const [from, to] = f > part.frame ? [part.frame + 1, f] : [f + 1, part.frame];
      for (let g = from; g <= to; g++) for (const t of switched(g)) { off[t] ^= 1; changed = true; }
      if (changed) draws(part, everything.filter(t => !off[t]));
      for (const m of over) draws(m, m.lists(f));
      part.centre = source.length ? mul(add(low, high), .5) : [0, 0, 0];
      part.radius = source.length ? Math.hypot(...sub(high, low)) / 2 : 0;
      part.frame = f;
    };
    part.set(0);
    return part;
  };
  const parts = meta.parts.map(p => {
    if (soft) return moving(p);
    const q = array(Uint16Array, p.positions, p.vertices * 3), positions = new Float32Array(p.vertices * 3);
    for (let i = 0; i < q.length; i++) positions[i] = p.min[i % 3] + p.size[i % 3] * q[i] / 65535;
    const triangles = array(p.wide ? Uint32Array : Uint16Array, p.indices, p.triangles * 3);
    return mesh(positions, triangles, p.colours < 0 ? null : array(Uint8Array, p.colours, p.vertices * 3));
  });
  const ground = meta.ground;
  let base = null, baseAt = IDENTITY;
  if (ground.kind === 'box') {
    const c = [], t = [];
    for (let i = 0; i < 8; i++) c.push(...[0, 1, 2].map(k => (i >> k & 1 ? ground.max : ground.min)[k]));
    for (const [a, b, d, e] of [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]) t.push(a, b, d, a, d, e);
    base = mesh(new Float32Array(c), new Uint32Array(t), null);
  } else if (ground.kind === 'part') {
    base = parts[ground.part];
    baseAt = posed(ground.at, ground.turn);
  }

  // What the default view frames: points of the bodies along the whole motion, and a ground that is not much larger.
  const outer = part => {
    const found = [];
    for (let d = 0; d < 27; d++) {
      const way = [d % 3 - 1, (d / 3 | 0) % 3 - 1, (d / 9 | 0) - 1];
      let best = -Infinity, at = part.centre;
      for (let i = 0; i < part.positions.length; i += 3) {
        const p = part.positions.subarray(i, i + 3), s = dot(p, way);
        if (s > best) { best = s; at = [p[0], p[1], p[2]]; }
      }
      found.push(at);
    }
    return found;
  };
  let outers = parts.map(outer);
  const cloud = [];
  const skip = Math.max(1, Math.ceil(soft ? frames / 12 : frames * count * 27 / 60000));
  for (let f = 0; f < frames; f += skip) {
    pose(at[f]);
    if (soft) { parts.forEach(p => p.set(f)); outers = parts.map(outer); }
    bodies.forEach((b, i) => { for (const p of outers[b.part]) cloud.push(moved(matrices[i], p)); });
  }
  if (!cloud.length) cloud.push([0, 0, 0]);
  let low = [0, 1, 2].map(k => cloud.reduce((m, p) => Math.min(m, p[k]), Infinity));
  let high = [0, 1, 2].map(k => cloud.reduce((m, p) => Math.max(m, p[k]), -Infinity));
  if (base && base.n && 2 * base.radius < 1.6 * Math.hypot(...sub(high, low))) {
    for (let i = 0; i < 8; i++) {
      const p = moved(baseAt, [0, 1, 2].map(k => (i >> k & 1 ? base.high : base.low)[k]));
      cloud.push(p);
      low = low.map((x, k) => Math.min(x, p[k]));
      high = high.map((x, k) => Math.max(x, p[k]));
    }
  }
  const home = mul(add(low, high), .5), span = Math.max(Math.hypot(...sub(high, low)) / 2, 1e-9);
  const largest = Math.max(...bodies.map(b => parts[b.part].radius), 1e-9);
  const nice = x => { const p = 10 ** Math.floor(Math.log10(x)), m = x / p; return (m < 2 ? 1 : m < 5 ? 2 : 5) * p; };
  const cell = nice(span / 6);
  $('scale').textContent = ground.kind === 'plane' ? 'grid ' + FORMATS.length(cell) : '';

  const camera = { az: .55, el: .36, distance: 1, target: home };
  const LENS = 1 / Math.tan(.5 * .62);
  const axes = () => {
    const c = Math.cos(camera.el);
    const back = add(mul(add(mul(FRONT, Math.cos(camera.az)), mul(RIGHT, Math.sin(camera.az))), c), mul(UP, Math.sin(camera.el)));
    const right = unitOf(cross(UP, back));
    return { back, right, up: cross(back, right) };
  };
  // As near as possible with everything in sight, in the middle of the screen.
  const fit = () => {
    Object.assign(camera, { az: .55, el: .36, target: home });
    const { back, right, up } = axes(), aspect = canvas.clientWidth / Math.max(canvas.clientHeight, 1);
    for (let round = 0; round < 4; round++) {
      let need = largest, box = [Infinity, -Infinity, Infinity, -Infinity];
      const at = cloud.map(p => { const q = sub(p, camera.target); return [dot(q, right), dot(q, up), dot(q, back)]; });
      for (const [x, y, z] of at) need = Math.max(need, z + LENS * 1.1 * Math.max(Math.abs(x) / aspect, Math.abs(y)));
      camera.distance = need;
      for (const [x, y, z] of at) {
        const w = need / Math.max(need - z, 1e-9 * need);
        box = [Math.min(box[0], x * w), Math.max(box[1], x * w), Math.min(box[2], y * w), Math.max(box[3], y * w)];
      }
      if (round < 3) camera.target = add(camera.target, add(mul(right, (box[0] + box[1]) / 2), mul(up, (box[2] + box[3]) / 2)));
    }
  };

  // ---- the map of shadows
  const SIDE = 2048;
  const map = gl.createTexture(), target = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, map);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SIDE, SIDE);
  for (const [name, value] of [[gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
    [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    [gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL]]) gl.texParameteri(gl.TEXTURE_2D, name, value);
  gl.bindFramebuffer(gl.FRAMEBUFFER, target);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, map, 0);
  gl.drawBuffers([gl.NONE]);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  const side = unitOf(cross(UP, LIGHT)), over = cross(LIGHT, side);

  // ---- contacts, one instance each
  const markVao = gl.createVertexArray(), markBuffer = gl.createBuffer();
  gl.bindVertexArray(markVao);
  gl.bindBuffer(gl.ARRAY_BUFFER, markBuffer);
  [[0, 3, 0], [1, 3, 12], [2, 1, 24]].forEach(([i, n, offset]) => {
    gl.enableVertexAttribArray(i); gl.vertexAttribPointer(i, n, gl.FLOAT, false, 28, offset); gl.vertexAttribDivisor(i, 1);
  });
  gl.bindVertexArray(null);
  const empty = gl.createVertexArray();
  // Where triangles meet: segments, one instance each.
  const cuts = soft ? array(Uint32Array, soft.segments.first, frames + 1) : null;
  const cutEnds = soft ? array(Uint16Array, soft.segments.ends, cuts[frames] * 6) : null;
  const cutVao = gl.createVertexArray(), cutBuffer = gl.createBuffer();
  gl.bindVertexArray(cutVao);
  gl.bindBuffer(gl.ARRAY_BUFFER, cutBuffer);
  [0, 1].forEach(i => { gl.enableVertexAttribArray(i); gl.vertexAttribPointer(i, 3, gl.FLOAT, false, 24, 12 * i); gl.vertexAttribDivisor(i, 1); });
  gl.bindVertexArray(null);
  let most = 1e-12;
  for (const d of markDepths) most = Math.max(most, d);

  const style = name => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255);
  };
  let colours = {};
  const restyle = () => { colours = { stage: style('--stage'), floor: style('--floor'), grid: style('--grid'), cut: style('--cut') }; wake(); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle);
  restyle();

  const resize = () => {
    const scale = Math.min(devicePixelRatio || 1, 2) * quality;
    const w = Math.max(1, Math.round(canvas.clientWidth * scale)), h = Math.max(1, Math.round(canvas.clientHeight * scale));
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    return scale;
  };
  new ResizeObserver(wake).observe(canvas);
  fit();
  let touched = false;
  addEventListener('resize', () => { if (!touched) fit(); wake(); });

  // ---- the hand on the view
  const fingers = new Map();
  const orbit = (dx, dy) => {
    camera.az -= dx * .0075;
    camera.el = Math.min(1.55, Math.max(-.35, camera.el + dy * .0075));
  };
  const pan = (dx, dy) => {
    const { right, up } = axes(), k = 2 * camera.distance / LENS / Math.max(canvas.clientHeight, 1);
    camera.target = add(camera.target, add(mul(right, -dx * k), mul(up, dy * k)));
  };
  const zoom = f => { camera.distance = Math.min(Math.max(camera.distance * f, largest * .05), span * 60); };
  canvas.addEventListener('pointerdown', e => { canvas.setPointerCapture(e.pointerId); fingers.set(e.pointerId, [e.clientX, e.clientY]); });
  for (const name of ['pointerup', 'pointercancel']) canvas.addEventListener(name, e => fingers.delete(e.pointerId));
  canvas.addEventListener('pointermove', e => {
    const before = fingers.get(e.pointerId);
    if (!before) return;
    const now = [e.clientX, e.clientY], dx = now[0] - before[0], dy = now[1] - before[1];
    touched = true;
    if (fingers.size === 1) {
      if (e.shiftKey || e.buttons & 6) pan(dx, dy); else orbit(dx, dy);
    } else if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== e.pointerId)[1];
      const span = p => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      zoom(span(before) / span(now));
      pan(dx / 2, dy / 2);
    }
    fingers.set(e.pointerId, now);
    wake();
  });
  canvas.addEventListener('wheel', e => {
    e.preventDefault();
    touched = true;
    zoom(Math.exp(Math.min(Math.max(e.deltaY * (e.deltaMode ? 16 : 1), -200), 200) * .0012));
    wake();
  }, { passive: false });
  canvas.addEventListener('contextmenu', e => e.preventDefault());
  const again = () => { touched = false; fit(); wake(); };
  canvas.addEventListener('dblclick', again);
  $('reset').addEventListener('click', again);
  canvas.addEventListener('webglcontextlost', e => e.preventDefault());
  canvas.addEventListener('webglcontextrestored', () => { draw = painter(); wake(); });

  const hex = c => c.map(x => x / 255);
  const tints = bodies.map(b => hex(b.colour));
  return () => {
    const scale = resize();
    pose(state.time);
    const now = frameAt(state.time + 1e-9);
    if (soft) for (const p of parts) p.set(now);
    const centres = bodies.map((b, i) => moved(matrices[i], parts[b.part].centre));
    const shown = bodies.map((_, i) => i).filter(i => state.shown[i]);
    let eyeAt = camera.target;
    if (state.follow && shown.length) {
      let mean = [0, 0, 0];
      for (const i of shown) mean = add(mean, mul(centres[i], 1 / shown.length));
      eyeAt = add(mean, sub(camera.target, home));
    }
    const { back, right, up } = axes(), eye = add(eyeAt, mul(back, camera.distance));
    const far = camera.distance + 40 * span, near = Math.max(camera.distance - 3 * span, far * 2e-4);
    const view = times(perspective(LENS, canvas.width / canvas.height, near, far), looking(eye, right, up, back));

    // Shadows: the map covers what casts them, no more; its texels stay in place while it moves.
    let lo = [Infinity, Infinity], hi = [-Infinity, -Infinity];
    for (const i of shown) {
      const r = parts[bodies[i].part].radius, p = [dot(centres[i], side), dot(centres[i], over)];
      for (const k of [0, 1]) { lo[k] = Math.min(lo[k], p[k] - r); hi[k] = Math.max(hi[k], p[k] + r); }
    }
    if (!shown.length) { lo = [0, 0]; hi = [1, 1]; }
    const wide = Math.max(hi[0] - lo[0], hi[1] - lo[1], 1e-9) * .52;
    const half = Math.pow(1.3, Math.ceil(Math.log(wide) / Math.log(1.3)));
    const grain = 2 * half / SIDE;
    const [u, v] = [0, 1].map(k => Math.round((lo[k] + hi[k]) / 2 / grain) * grain);
    const sun = add(add(mul(side, u), mul(over, v)), mul(LIGHT, dot(home, LIGHT)));
    const toLight = times(parallel(half, -6 * span, 6 * span), looking(sun, side, over, LIGHT));
    gl.bindFramebuffer(gl.FRAMEBUFFER, target);
    gl.viewport(0, 0, SIDE, SIDE);
    gl.enable(gl.DEPTH_TEST); gl.depthMask(true); gl.depthFunc(gl.LESS); gl.disable(gl.BLEND);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.POLYGON_OFFSET_FILL); gl.polygonOffset(2.5, 6);
    gl.useProgram(depth.program);
    gl.uniformMatrix4fv(depth.at.view, false, toLight);
    const cast = (m, model) => { gl.uniformMatrix4fv(depth.at.model, false, model); gl.bindVertexArray(m.vao); gl.drawElements(gl.TRIANGLES, m.n, gl.UNSIGNED_INT, 0); };
    for (const i of shown) cast(parts[bodies[i].part], matrices[i]);
    if (base) cast(base, baseAt);
    gl.disable(gl.POLYGON_OFFSET_FILL);

    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...colours.stage, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const shaded = p => {
      gl.useProgram(p.program);
      gl.activeTexture(gl.TEXTURE0); gl.bindTexture(gl.TEXTURE_2D, map);
      gl.uniform1i(p.at.shadow, 0); gl.uniformMatrix4fv(p.at.toLight, false, toLight); gl.uniform1f(p.at.texel, 1 / SIDE);
      gl.uniformMatrix4fv(p.at.view, false, view);
    };
    shaded(solid);
    gl.uniform3fv(solid.at.light, LIGHT); gl.uniform3fv(solid.at.up, UP); gl.uniform3fv(solid.at.eye, eye);
    const paint = (m, model, colour) => {
      gl.uniformMatrix4fv(solid.at.model, false, model);
      gl.uniform3fv(solid.at.colour, colour); gl.uniform1f(solid.at.own, m.own);
      gl.bindVertexArray(m.vao); gl.drawElements(gl.TRIANGLES, m.n, gl.UNSIGNED_INT, 0);
    };
    for (const i of shown) paint(parts[bodies[i].part], matrices[i], tints[i]);
    if (soft && state.coloured) {
      const coloured = () => { for (const i of shown) for (const m of parts[bodies[i].part].over) if (m.n) paint(m, IDENTITY, m.colour); };
      gl.depthFunc(gl.LEQUAL);
      coloured();
      gl.depthFunc(gl.LESS);
      // Faint through what hides them.
      gl.enable(gl.BLEND); gl.blendColor(0, 0, 0, .2); gl.blendFunc(gl.CONSTANT_ALPHA, gl.ONE_MINUS_CONSTANT_ALPHA);
      gl.disable(gl.DEPTH_TEST);
      coloured();
      gl.enable(gl.DEPTH_TEST); gl.disable(gl.BLEND);
    }
    if (base) paint(base, baseAt, mul(add(colours.floor, colours.grid), .5));

    gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    if (ground.kind === 'plane') {
      const n = ground.normal, a = unitOf(Math.abs(dot(RIGHT, n)) < .9 ? cross(n, cross(RIGHT, n)) : cross(n, cross(FRONT, n))), b = cross(n, a);
      const above = dot(sub(eye, ground.point), n), middle = sub(home, mul(n, dot(sub(home, ground.point), n)));
      const size = 7 * span;
      shaded(floor);
      gl.uniform3fv(floor.at.centre, middle); gl.uniform3fv(floor.at.home, ground.point);
      gl.uniform3fv(floor.at.a, mul(a, size)); gl.uniform3fv(floor.at.b, mul(b, size));
      gl.uniform3fv(floor.at.ea, a); gl.uniform3fv(floor.at.eb, b);
      gl.uniform3fv(floor.at.base, colours.floor); gl.uniform3fv(floor.at.grid, colours.grid);
      gl.uniform1f(floor.at.cell, cell); gl.uniform1f(floor.at.below, above > 0 ? 1 : .3);
      gl.bindVertexArray(empty);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
    if (state.contacts && soft) {
      const n = cuts[now + 1] - cuts[now], data = new Float32Array(n * 6), from = 6 * cuts[now];
      for (let k = 0; k < data.length; k++) data[k] = soft.min[k % 3] + soft.size[k % 3] * cutEnds[from + k] / 65535;
      gl.useProgram(lines.program);
      gl.bindVertexArray(cutVao);
      gl.bindBuffer(gl.ARRAY_BUFFER, cutBuffer);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
      gl.uniformMatrix4fv(lines.at.view, false, view);
      gl.uniform2f(lines.at.screen, canvas.width, canvas.height);
      gl.uniform1f(lines.at.px, 1.5 * scale);
      gl.depthMask(false);
      for (const [test, alpha] of [[false, .3], [true, 1]]) {
        if (test) gl.enable(gl.DEPTH_TEST); else gl.disable(gl.DEPTH_TEST);
        gl.uniform4f(lines.at.colour, ...colours.cut, alpha);
        if (n) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, n);
      }
      gl.depthMask(true); gl.enable(gl.DEPTH_TEST);
    }
    if (state.contacts) {
      const f = now, n = first[f + 1] - first[f], data = new Float32Array(n * 7);
      for (let k = 0; k < n; k++) {
        const m = first[f] + k;
        for (let c = 0; c < 3; c++) {
          data[7 * k + c] = meta.marks.min[c] + meta.marks.size[c] * markPlaces[3 * m + c] / 65535;
          data[7 * k + 3 + c] = markNormals[3 * m + c] / 127;
        }
        data[7 * k + 6] = markDepths[m];
      }
      gl.useProgram(marks.program);
      gl.bindVertexArray(markVao);
      gl.bindBuffer(gl.ARRAY_BUFFER, markBuffer);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
      gl.uniformMatrix4fv(marks.at.view, false, view);
      gl.uniform2f(marks.at.screen, canvas.width, canvas.height);
      gl.uniform1f(marks.at.px, (soft ? 2.8 : 4.6) * scale); gl.uniform1f(marks.at.reach, (soft ? .1 : .24) * largest); gl.uniform1f(marks.at.most, most);
      gl.depthMask(false);
      // Faint where something hides them, full where not.
      for (const [test, alpha] of [[false, .45], [true, 1]]) {
        if (test) gl.enable(gl.DEPTH_TEST); else gl.disable(gl.DEPTH_TEST);
        gl.uniform1f(marks.at.alpha, alpha);
        for (const stick of [1, 0]) {
          gl.uniform1i(marks.at.stick, stick);
          if (n) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, n);
        }
      }
      gl.depthMask(true); gl.enable(gl.DEPTH_TEST);
    }
    gl.bindVertexArray(null);
  };
}

// ---- charts
const cursors = [];
const when = f => !frames ? '' : soft ? 'step ' + steps[f].toLocaleString('en') : +at[f].toFixed(2) + ' s';
for (const chart of meta.charts) {
  const values = array(Float32Array, chart.at, frames), format = FORMATS[chart.format];
  const box = document.createElement('div');
  box.className = 'chart';
  box.innerHTML = '<h3><span></span><output></output></h3><svg role="img"></svg>';
  box.querySelector('span').textContent = chart.name;
  $('charts').append(box);
  const svg = box.querySelector('svg'), out = box.querySelector('output');
  svg.setAttribute('aria-label', chart.name + ' over time');
  let top = 0;
  for (const v of values) top = Math.max(top, v);
  const LEFT = 4, RIGHT_ = 6, TOP = 16, FOOT = 76;
  let line = null, dot_ = null, width = 300;
  const x = t => LEFT + (width - LEFT - RIGHT_) * (seconds > start ? (t - start) / (seconds - start) : 0);
  const y = v => FOOT - (FOOT - TOP) * (top > 0 ? Math.max(v, 0) / top : 0);
  const build = () => {
    width = Math.max(svg.clientWidth, 60);
    svg.setAttribute('viewBox', `0 0 ${width} 96`);
    // At most two points a pixel: the least and the most of each.
    const bin = Math.max(1, Math.floor(frames / width)), points = [];
    for (let i = 0; i < frames; i += bin) {
      let a = i, b = i;
      for (let j = i; j < Math.min(i + bin, frames); j++) { if (values[j] < values[a]) a = j; if (values[j] > values[b]) b = j; }
      for (const j of a < b ? [a, b] : a > b ? [b, a] : [a]) points.push(x(at[j]).toFixed(1) + ' ' + y(values[j]).toFixed(1));
    }
    const path = 'M' + points.join('L');
    svg.innerHTML = `<line class="rule" x1="${LEFT}" x2="${width - RIGHT_}" y1="${FOOT}" y2="${FOOT}"/>
      <line class="rule" x1="${LEFT}" x2="${width - RIGHT_}" y1="${TOP}" y2="${TOP}"/>
      <path class="area" d="${path}L${x(seconds)} ${FOOT}L${LEFT} ${FOOT}Z"/><path class="line" d="${path}"/>
      <text x="${LEFT}" y="${TOP - 4}">${format(top)}</text><text x="${LEFT}" y="${FOOT + 14}">${when(0)}</text>
      <text x="${width - RIGHT_}" y="${FOOT + 14}" text-anchor="end">${when(frames - 1)}</text>
      <line class="now" y1="${TOP - 6}" y2="${FOOT}"/><circle r="3.4"/>`;
    line = svg.querySelector('.now');
    dot_ = svg.querySelector('circle');
  };
  const show = f => {
    out.textContent = format(values[f]);
    if (!line) return;
    const px = x(Math.min(Math.max(state.time, start), seconds)).toFixed(1);
    line.setAttribute('x1', px); line.setAttribute('x2', px);
    dot_.setAttribute('cx', px); dot_.setAttribute('cy', y(values[f]).toFixed(1));
  };
  cursors.push(show);
  new ResizeObserver(() => { build(); wake(); }).observe(svg);
  const drag = e => {
    const r = svg.getBoundingClientRect();
    seek(start + (seconds - start) * (e.clientX - r.left - LEFT) / Math.max(r.width - LEFT - RIGHT_, 1));
  };
  box.addEventListener('pointerdown', e => { box.setPointerCapture(e.pointerId); halt(); drag(e); });
  box.addEventListener('pointermove', e => { if (box.hasPointerCapture(e.pointerId)) drag(e); });
}

// ---- bodies
bodies.forEach((body, i) => {
  const item = document.createElement('li');
  item.innerHTML = '<label><input type="checkbox" checked><i></i><span class="name"></span></label>';
  item.querySelector('i').style.background = `rgb(${body.colour})`;
  item.querySelector('.name').textContent = body.name;
  item.querySelector('input').addEventListener('change', e => { state.shown[i] = e.target.checked; wake(); });
  $('bodies').append(item);
});

if (soft) {
  // What the colours say, and whether they are shown.
  const item = document.createElement('li');
  item.innerHTML = '<label><input type="checkbox" checked><i></i><span class="name"></span></label>';
  item.querySelector('i').style.background = `rgb(${soft.hot})`;
  item.querySelector('.name').textContent = soft.words;
  item.querySelector('input').addEventListener('change', e => { state.coloured = e.target.checked; wake(); });
  $('bodies').append(item);
}

// ---- time
const slider = $('slider');
slider.min = start; slider.max = seconds; slider.step = 'any';
const ICONS = { play: 'M4 2l12 7-12 7z', pause: 'M3 2h4v14H3zM11 2h4v14h-4z' };
function label() {
  $('play').querySelector('path').setAttribute('d', state.playing ? ICONS.pause : ICONS.play);
  $('play').setAttribute('aria-label', state.playing ? 'Pause' : 'Play');
}
function seek(t) { state.time = Math.min(Math.max(t, start), seconds); wake(); }
function halt() { state.playing = false; label(); wake(); }
let last = 0;
function play() {
  if (state.playing) return halt();
  if (state.time >= seconds - 1e-6) state.time = start;
  state.playing = frames > 1;
  last = 0;
  label();
  wake();
}
function step(by) {
  halt();
  const f = frameAt(state.time + 1e-6);
  seek(at[Math.min(Math.max(f + by, 0), frames - 1)]);
}
function tick(now) {
  dirty = false;
  if (state.playing) {
    // A pause of the browser is no jump of the motion.
    if (last) state.time += Math.min((now - last) / 1000, .25) * state.speed;
    slow = last && now - last > 55 ? slow + 1 : 0;
    if (slow > 3 && quality > .5) { quality = Math.max(.5, quality * .75); slow = 0; }
    last = now;
    if (state.time >= seconds) { state.time = seconds; state.playing = false; label(); }
  }
  draw();
  const f = frameAt(state.time + 1e-9);
  slider.value = state.time;
  $('clock').textContent = soft ? when(f) : state.time.toFixed(2) + ' s';
  $('touch').textContent = (touching[f] || 0).toLocaleString('en') + (soft ? ' pair' : ' contact') + (touching[f] === 1 ? '' : 's');
  cursors.forEach(show => show(f));
  clearTimeout(sharpen);
  if (state.playing) wake();
  else if (quality < 1) sharpen = setTimeout(() => { quality = 1; wake(); }, 400);
}
slider.addEventListener('input', () => { halt(); seek(+slider.value); });
$('play').addEventListener('click', play);
$('back').addEventListener('click', () => step(-1));
$('ahead').addEventListener('click', () => step(1));
$('speed').addEventListener('change', e => { state.speed = +e.target.value; });
$('contacts').addEventListener('change', e => { state.contacts = e.target.checked; wake(); });
$('follow').addEventListener('change', e => { state.follow = e.target.checked; wake(); });
addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  const rates = [...$('speed').options].map(o => +o.value);
  const faster = by => { const i = Math.min(Math.max(rates.indexOf(state.speed) + by, 0), rates.length - 1); state.speed = rates[i]; $('speed').selectedIndex = i; };
  const keys = {
    ' ': play, ArrowLeft: () => step(e.shiftKey ? -10 : -1), ArrowRight: () => step(e.shiftKey ? 10 : 1),
    ArrowUp: () => faster(1), ArrowDown: () => faster(-1), Home: () => seek(start), End: () => seek(seconds),
    c: () => $('contacts').click(), f: () => $('follow').click(), r: () => $('reset').click(),
  };
  const act = keys[e.key];
  if (!act || (e.key === ' ' && e.target.tagName === 'BUTTON')) return;
  e.preventDefault();
  act();
});
window.player = { state, coloured: f => soft ? meta.parts.map(p => lists(p.hits)(f).length) : [], frames, seconds, seek, play, halt, draw: () => draw() };
label();
wake();
if (gl && frames > 1 && !matchMedia('(prefers-reduced-motion: reduce)').matches) play();
})();
