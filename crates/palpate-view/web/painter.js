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

  const scan = probe ? scans(compile) : null;
  const parts = meta.parts.map(p => {
    if (soft) return moving(p);
    if (p.points) return scan.part(p);
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
  } else if (ground.kind === 'sheet') {
    base = sheet(ground);
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

  const AZ = .55 + (probe ? probe.quarters * Math.PI / 2 : 0), EL = probe ? .5 : ground.kind === 'sheet' ? .62 : .36;
  const camera = { az: AZ, el: EL, distance: 1, target: home };
  const LENS = 1 / Math.tan(.5 * .62);
  const axes = () => {
    const c = Math.cos(camera.el);
    const back = add(mul(add(mul(FRONT, Math.cos(camera.az)), mul(RIGHT, Math.sin(camera.az))), c), mul(UP, Math.sin(camera.el)));
    const right = unitOf(cross(UP, back));
    return { back, right, up: cross(back, right) };
  };
  // As near as possible with everything in sight, in the middle of the screen.
  const fit = () => {
    Object.assign(camera, { az: AZ, el: EL, target: home });
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
  const zoom = f => { camera.distance = Math.min(Math.max(camera.distance * f, largest * (probe ? .02 : .05)), span * 60); };
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
    if (ground.kind === 'sheet') base.set(state.time);
    const centres = bodies.map((b, i) => moved(matrices[i], parts[b.part].centre));
    const shown = bodies.map((_, i) => i).filter(i => state.shown[i]);
    let eyeAt = camera.target;
    const followed = probe ? [1] : shown;
    if (state.follow && followed.length) {
      let mean = [0, 0, 0];
      for (const i of followed) mean = add(mean, mul(centres[i], 1 / followed.length));
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
    const cast = (m, model) => { if (!m.n) return; gl.uniformMatrix4fv(depth.at.model, false, model); gl.bindVertexArray(m.vao); gl.drawElements(gl.TRIANGLES, m.n, gl.UNSIGNED_INT, 0); };
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
      if (!m.n) return;
      gl.uniformMatrix4fv(solid.at.model, false, model);
      gl.uniform3fv(solid.at.colour, colour); gl.uniform1f(solid.at.own, m.own);
      gl.bindVertexArray(m.vao); gl.drawElements(gl.TRIANGLES, m.n, gl.UNSIGNED_INT, 0);
    };
    for (const i of shown) paint(parts[bodies[i].part], matrices[i], tints[i]);
    if (soft) {
      const coloured = () => { for (const i of shown) for (const m of parts[bodies[i].part].over) if (m.n && state.coloured[m.kind]) paint(m, IDENTITY, m.colour); };
      gl.depthFunc(gl.LEQUAL);
      coloured();
      gl.depthFunc(gl.LESS);
      // Faint through what hides them.
      gl.enable(gl.BLEND); gl.blendColor(0, 0, 0, .2); gl.blendFunc(gl.CONSTANT_ALPHA, gl.ONE_MINUS_CONSTANT_ALPHA);
      gl.disable(gl.DEPTH_TEST);
      coloured();
      gl.enable(gl.DEPTH_TEST); gl.disable(gl.BLEND);
    }
    if (probe) {
      const pixels = LENS * canvas.height / 2;
      if (state.shown[0]) scan.points(parts[0], matrices[0], view, eye, pixels, scale);
      if (state.path) scan.path(view, now, scale);
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
      gl.uniform1f(marks.at.px, (soft ? 2.8 : 4.6) * scale); gl.uniform1f(marks.at.reach, (soft ? .1 : probe ? .3 : .24) * largest); gl.uniform1f(marks.at.most, most);
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

