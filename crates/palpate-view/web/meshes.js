// ---- meshes as they are drawn
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
  const over = [['own', soft.own, 1], ['hits', soft.hot, 0]].map(([name, colour, kind]) => ({
    kind,
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
// A sheet whose heights change from frame to frame: a grid, between two frames in the middle of both.
const sheet = g => {
  const [nx, ny] = g.counts, n = nx * ny, all = array(Uint16Array, g.heights, frames * n), rise = (g.range[1] - g.range[0]) / 65535;
  const u = mul(g.edges[0], 1 / (nx - 1)), v = mul(g.edges[1], 1 / (ny - 1));
  const order = new Uint32Array((nx - 1) * (ny - 1) * 6), data = new Float32Array(n * 6), heights = new Float32Array(n);
  for (let j = 0, k = 0; j < ny - 1; j++) for (let i = 0; i < nx - 1; i++, k += 6) {
    const a = j * nx + i;
    order.set([a, a + 1, a + nx + 1, a, a + nx + 1, a + nx], k);
  }
  const buffer = gl.createBuffer(), vao = vertices(buffer, null);
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
  gl.bindVertexArray(null);
  const ends = [[0, 0], [1, 0], [0, 1], [1, 1]].flatMap(([a, b]) => g.range.map(h =>
    add(add(g.corner, mul(UP, h)), add(mul(g.edges[0], a), mul(g.edges[1], b)))));
  const low = [0, 1, 2].map(k => Math.min(...ends.map(p => p[k]))), high = [0, 1, 2].map(k => Math.max(...ends.map(p => p[k])));
  const part = { vao, n: order.length, own: 0, low, high, centre: mul(add(low, high), .5), radius: Math.hypot(...sub(high, low)) / 2, time: -1 };
  part.set = t => {
    if (t === part.time) return;
    part.time = t;
    const i = frameAt(t), j = Math.min(i + 1, frames - 1), s = at[j] > at[i] ? Math.min(Math.max((t - at[i]) / (at[j] - at[i]), 0), 1) : 0;
    for (let k = 0; k < n; k++) heights[k] = g.range[0] + rise * (all[i * n + k] * (1 - s) + all[j * n + k] * s);
    for (let y = 0; y < ny; y++) for (let x = 0; x < nx; x++) {
      const k = y * nx + x, h = heights[k];
      const l = x ? k - 1 : k, r = x < nx - 1 ? k + 1 : k, d = y ? k - nx : k, w = y < ny - 1 ? k + nx : k;
      const hu = (heights[r] - heights[l]) / (r - l), hv = (heights[w] - heights[d]) / ((w - d) / nx);
      for (let c = 0; c < 3; c++) data[6 * k + c] = g.corner[c] + u[c] * x + v[c] * y + UP[c] * h;
      const a = [u[0] + UP[0] * hu, u[1] + UP[1] * hu, u[2] + UP[2] * hu], b = [v[0] + UP[0] * hv, v[1] + UP[1] * hv, v[2] + UP[2] * hv];
      data.set(unitOf(cross(a, b)), 6 * k + 3);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
  };
  return part;
};

