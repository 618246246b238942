// ---- scans: points that are lit, and the path of the probe over them
const scans = compile => {
  const dots = compile(`
    layout(location=0) in vec3 p; layout(location=1) in vec3 n; layout(location=2) in vec3 c;
    uniform mat4 model, view; uniform float px, least; out vec3 at, normal, tint;
    void main() {
      vec4 w = model * vec4(p, 1.);
      at = w.xyz; normal = mat3(model) * n; tint = c;
      gl_Position = view * w;
      gl_PointSize = clamp(px / gl_Position.w, least, 60.);
    }`, `
    in vec3 at, normal, tint; uniform vec3 light, up, eye; out vec4 result;
    void main() {
      vec2 q = gl_PointCoord * 2. - 1.;
      if (dot(q, q) > 1.) discard;
      vec3 base = pow(tint, vec3(2.2)), v = normalize(eye - at);
      float l = length(normal), k = .7, sky = .7;
      if (l > .1) {
        // A point has two sides: the one that is seen is lit.
        vec3 n = normal / l * (dot(normal, v) < 0. ? -1. : 1.);
        k = max(dot(n, light), 0.);
        sky = .5 + .5 * dot(n, up);
      }
      vec3 c = base * (mix(vec3(.19,.17,.16), vec3(.42,.45,.50), sky) + .12 + k * vec3(.97,.93,.87) * .95);
      result = vec4(pow(c / (1. + .18 * c), vec3(1. / 2.2)), 1.);
    }`);
  const trail = compile(`
    layout(location=0) in vec3 p; layout(location=1) in vec3 q; layout(location=2) in vec3 c;
    uniform mat4 view; uniform vec2 screen; uniform float px; uniform int now; out float across, gone; out vec3 tint;
    void main() {
      vec2 uv = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2. - 1.;
      vec4 a = view * vec4(p, 1.), b = view * vec4(q, 1.);
      vec2 along = (b.xy / b.w - a.xy / a.w) * screen;
      along = length(along) > 1e-3 ? normalize(along) : vec2(1., 0.);
      vec4 o = uv.y > 0. ? b : a;
      gone = gl_InstanceID < now ? 1. : 0.;
      o.xy += (vec2(-along.y, along.x) * uv.x + along * uv.y * .4) * px * (.55 + .45 * gone) / screen * 2. * o.w;
      across = uv.x; tint = c;
      gl_Position = o;
    }`, `
    in float across, gone; in vec3 tint; uniform float alpha; out vec4 result;
    void main() { result = vec4(tint, alpha * mix(.35, 1., gone) * (1. - smoothstep(.6, 1., abs(across)))); }`);
  const buffer = (data, list) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    for (const [i, type, unit, stride, offset, each] of list) {
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, 3, type, unit, stride, offset);
      gl.vertexAttribDivisor(i, each);
    }
  };
  const part = p => {
    const q = array(Uint16Array, p.positions, p.vertices * 3), positions = new Float32Array(p.vertices * 3);
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < q.length; i++) {
      const k = i % 3, x = p.min[k] + p.size[k] * q[i] / 65535;
      positions[i] = x;
      if (x < low[k]) low[k] = x;
      if (x > high[k]) high[k] = x;
    }
    const vao = gl.createVertexArray();
    gl.bindVertexArray(vao);
    buffer(positions, [[0, gl.FLOAT, false, 12, 0, 0]]);
    buffer(array(Int8Array, p.normals, p.vertices * 4), [[1, gl.BYTE, true, 4, 0, 0]]);
    buffer(array(Uint8Array, p.colours, p.vertices * 4), [[2, gl.UNSIGNED_BYTE, true, 4, 0, 0]]);
    gl.bindVertexArray(null);
    const some = p.vertices > 0;
    return {
      vao, n: 0, points: p.vertices, spacing: p.spacing, own: 0, low, high, positions,
      centre: some ? mul(add(low, high), .5) : [0, 0, 0], radius: some ? Math.hypot(...sub(high, low)) / 2 : 0,
    };
  };
  const points = (m, model, view, eye, pixels, scale) => {
    gl.useProgram(dots.program);
    gl.uniformMatrix4fv(dots.at.model, false, model);
    gl.uniformMatrix4fv(dots.at.view, false, view);
    gl.uniform3fv(dots.at.light, LIGHT); gl.uniform3fv(dots.at.up, UP); gl.uniform3fv(dots.at.eye, eye);
    gl.uniform1f(dots.at.px, 1.25 * m.spacing * pixels); gl.uniform1f(dots.at.least, 1.6 * scale);
    gl.bindVertexArray(m.vao);
    gl.drawArrays(gl.POINTS, 0, m.points);
  };
  // Each piece goes from one place to the next of the same list.
  const way = probe.path, pieces = Math.max(way.n - 1, 0), reached = array(Uint32Array, way.at, frames);
  const wayVao = gl.createVertexArray();
  gl.bindVertexArray(wayVao);
  buffer(array(Float32Array, way.places, way.n * 3), [[0, gl.FLOAT, false, 12, 0, 1], [1, gl.FLOAT, false, 12, 12, 1]]);
  buffer(array(Uint8Array, way.colours, way.n * 4), [[2, gl.UNSIGNED_BYTE, true, 4, 4, 1]]);
  gl.bindVertexArray(null);
  const path = (view, f, scale) => {
    if (!pieces) return;
    gl.useProgram(trail.program);
    gl.bindVertexArray(wayVao);
    gl.uniformMatrix4fv(trail.at.view, false, view);
    gl.uniform2f(trail.at.screen, canvas.width, canvas.height);
    gl.uniform1f(trail.at.px, 1.5 * scale); gl.uniform1i(trail.at.now, reached[f]);
    gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    // Under the surface it is fainter, not gone: that is where it is felt.
    for (const [test, alpha] of [[false, .5], [true, 1]]) {
      if (test) gl.enable(gl.DEPTH_TEST); else gl.disable(gl.DEPTH_TEST);
      gl.uniform1f(trail.at.alpha, alpha);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, pieces);
    }
    gl.depthMask(true); gl.enable(gl.DEPTH_TEST); gl.disable(gl.BLEND);
    gl.bindVertexArray(null);
  };
  return { part, points, path };
};

