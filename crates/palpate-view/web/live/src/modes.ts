// Ways to look into a shape: voxels, layers, slices of the field, points, balls, segments.

import {
  BoxGeometry, CircleGeometry, ClampToEdgeWrapping, Color, DataTexture, DoubleSide, EdgesGeometry, FloatType,
  InstancedMesh, LineBasicMaterial, LineSegments, Material, Matrix4, Mesh, MeshBasicMaterial, MeshLambertMaterial, NearestFilter,
  Object3D, PlaneGeometry, Quaternion, RedFormat, ShaderMaterial, SphereGeometry, Vector3,
} from "three";
import type { BodyInfo, Link, SceneInfo } from "./link";
import { COLOURS, dispose, type Drawn, type View } from "./view";
import { length } from "./plots";

export type Tuned = "level" | "cut" | null;

export interface Mode {
  id: string;
  title: string;
  /** What is asked of the server; none: only the mesh. */
  what: string | null;
  tuned: Tuned;
  /** What becomes of the mesh. */
  mesh: "solid" | "glass" | "gone";
}

export const MODES: Mode[] = [
  { id: "mesh", title: "Mesh", what: null, tuned: null, mesh: "solid" },
  { id: "voxels", title: "Surface voxels", what: "voxels", tuned: null, mesh: "gone" },
  { id: "layers", title: "Voxel layers", what: "layers", tuned: "cut", mesh: "gone" },
  { id: "slice", title: "Field slice", what: "slice", tuned: "cut", mesh: "glass" },
  { id: "points", title: "Points by level", what: "points", tuned: "level", mesh: "glass" },
  { id: "balls", title: "Spheres by level", what: "balls", tuned: "level", mesh: "glass" },
  { id: "segments", title: "Segments", what: "segments", tuned: null, mesh: "gone" },
  { id: "nodes", title: "Nodes of the query", what: null, tuned: "level", mesh: "glass" },
];

/** Outside blue, on the surface pale, inside red; layers −3 to 3. */
const LAYER_COLOURS = ["#7f0f1c", "#b9332f", "#e4714f", "#f3ead8", "#8fb8de", "#4b86c6", "#1f4f96"];

export interface Choice {
  mode: Mode;
  /** Which bodies; none: all. */
  of: number | null;
  level: number;
  axis: number;
  at: number;
}

/** Puts what a mode shows into the bodies' groups; words for the legend, and colours. */
export async function show(view: View, link: Link, info: SceneInfo, choice: Choice): Promise<[string | null, string][]> {
  const legend: [string | null, string][] = [];
  const shapes = info.bodies.map((b, i) => [b, i] as const).filter(([b]) => b.kind === "shape");
  const chosen = shapes.filter(([, i]) => choice.of === null || choice.of === i).map(([, i]) => i);
  const wanted = choice.mode.what;
  const got = await Promise.all(
    chosen.map((i) => (wanted ? link.body(info.generation, i, wanted, { level: choice.level, axis: choice.axis, at: choice.at }) : null)),
  );
  if (view.info !== info) return legend;
  view.bodies.forEach((drawn, i) => {
    dispose(drawn.extra);
    drawn.extra.clear();
    surface(drawn, chosen.includes(i) ? choice.mode.mesh : "solid", i === info.tool);
  });
  chosen.forEach((i, k) => {
    const answer = got[k];
    const drawn = view.bodies[i];
    if (!answer || !drawn) return;
    const { head, buffer, at } = answer;
    const values = new Float32Array(buffer, at);
    const make: Record<string, () => Object3D> = {
      voxels: () => voxels(values, head, drawn, view.scale),
      slice: () => slice(values, head, view.scale),
      points: () => surfels(values, head, drawn, view.scale),
      balls: () => balls(values, head, drawn, view.scale),
    };
    const object = make[head.type]?.();
    if (object) drawn.extra.add(object);
    legend.push([null, words(info.bodies[i], head)]);
  });
  if (choice.mode.id === "layers") {
    LAYER_COLOURS.forEach((c, k) => k % 3 === 0 && legend.push([c, ["3 layers inside", "", "", "surface", "", "", "3 layers outside"][k]]));
  } else if (choice.mode.id === "slice") {
    legend.push(["#c8452f", "inside"], ["#f6f1e4", "surface"], ["#3f7cc2", "outside"]);
  } else if (choice.mode.id === "nodes") {
    legend.push(["#e2341d", "reaches the other shape: what is below it was looked at"], ["#3c7bd9", "tested, and left"]);
  }
  view.dirty = true;
  return legend;
}

function words(body: BodyInfo, head: any): string {
  const count = (n: number) => n.toLocaleString("en");
  switch (head.type) {
    case "voxels":
      return `${body.name}: ${count(head.surface)} surface voxels of ${length(head.voxel)}`;
    case "slice":
      return `${body.name}: ${"xyz"[head.axis]} = ${length(head.along)}, a line every ${length(contour(head))}`;
    case "points":
      return head.segments ? `${body.name}: ${head.segments} segments` : `${body.name}: ${count(head.count)} of ${count(head.of)} points`;
    default:
      return `${body.name}: ${count(head.count)} spheres`;
  }
}

function surface(drawn: Drawn, how: "solid" | "glass" | "gone", tool: boolean): void {
  if (!(drawn.surface instanceof Mesh)) return;
  const material = drawn.surface.material as Material;
  drawn.surface.visible = how !== "gone";
  material.transparent = how === "glass" || tool;
  material.opacity = how === "glass" ? 0.16 : 1;
  material.depthWrite = how !== "glass";
  material.needsUpdate = true;
  drawn.surface.renderOrder = how === "glass" ? 5 : tool ? 11 : 0;
}

function voxels(values: Float32Array, head: any, drawn: Drawn, scale: number): Object3D {
  const edge = head.voxel * scale * 0.94;
  const out = new InstancedMesh(new BoxGeometry(edge, edge, edge), new MeshLambertMaterial({ color: "#ffffff" }), head.count);
  const m = new Matrix4();
  const layers = LAYER_COLOURS.map((c) => new Color(c));
  for (let i = 0; i < head.count; i++) {
    const [x, y, z, layer] = values.subarray(4 * i, 4 * i + 4);
    out.setMatrixAt(i, m.makeTranslation(x * scale, y * scale, z * scale));
    out.setColorAt(i, head.layers ? layers[Math.max(0, Math.min(6, layer + 3))] : drawn.colour);
  }
  out.frustumCulled = false;
  return out;
}

/** Steps of the lines of a slice: about twelve across it. */
function contour(head: any): number {
  const size = Math.max(...head.max.map((v: number, i: number) => v - head.min[i])) / 24;
  const ten = 10 ** Math.floor(Math.log10(size));
  return [1, 2, 5, 10].map((k) => k * ten).find((v) => v >= size) ?? size;
}

function slice(values: Float32Array, head: any, scale: number): Object3D {
  const { nu, nv, axis, along, min, max } = head;
  const texture = new DataTexture(new Float32Array(values), nu, nv, RedFormat, FloatType);
  texture.magFilter = texture.minFilter = NearestFilter;
  texture.wrapS = texture.wrapT = ClampToEdgeWrapping;
  texture.needsUpdate = true;
  const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
  const [eu, ev] = [(max[u] - min[u]) * scale, (max[v] - min[v]) * scale];
  const material = new ShaderMaterial({
    side: DoubleSide,
    uniforms: {
      values: { value: texture },
      size: { value: [nu, nv] },
      step: { value: contour(head) },
      most: { value: Math.max(...max.map((w: number, i: number) => w - min[i])) / 5 },
    },
    vertexShader: "varying vec2 at; void main() { at = uv; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }",
    // Trilinear fields are bilinear on a slice; float textures need not be filterable, so it is done here.
    fragmentShader: `
      varying vec2 at; uniform sampler2D values; uniform vec2 size; uniform float step; uniform float most;
      float node(vec2 p) { return texture2D(values, (p + 0.5) / size).r; }
      float line(float x) { float w = fwidth(x); return 1.0 - smoothstep(0.6 * w, 1.6 * w, abs(fract(x + 0.5) - 0.5)); }
      void main() {
        vec2 p = at * (size - 1.0); vec2 b = min(floor(p), size - 2.0); vec2 f = p - b;
        float d = mix(mix(node(b), node(b + vec2(1, 0)), f.x), mix(node(b + vec2(0, 1)), node(b + vec2(1, 1)), f.x), f.y);
        float t = clamp(abs(d) / most, 0.0, 1.0);
        vec3 c = d < 0.0 ? mix(vec3(0.96, 0.86, 0.76), vec3(0.60, 0.10, 0.10), sqrt(t)) : mix(vec3(0.91, 0.94, 0.97), vec3(0.12, 0.33, 0.62), sqrt(t));
        c = mix(c, c * 0.72, 0.8 * line(d / step));
        float w = fwidth(d); c = mix(c, vec3(0.08), 1.0 - smoothstep(1.0 * w, 2.2 * w, abs(d)));
        gl_FragColor = vec4(c, 1.0);
      }`,
  });
  const plane = new Mesh(new PlaneGeometry(eu, ev), material);
  // The plane's x and y become the axes u and v of the body.
  const x = new Vector3().setComponent(u, 1);
  const y = new Vector3().setComponent(v, 1);
  plane.quaternion.setFromRotationMatrix(new Matrix4().makeBasis(x, y, new Vector3().crossVectors(x, y)));
  plane.position.setComponent(u, ((min[u] + max[u]) / 2) * scale);
  plane.position.setComponent(v, ((min[v] + max[v]) / 2) * scale);
  plane.position.setComponent(axis, along * scale);
  plane.add(new LineSegments(new EdgesGeometry(plane.geometry), new LineBasicMaterial({ color: "#6b7686" })));
  return plane;
}

/** Discs on the surface, as large as the surface they stand for. */
function surfels(values: Float32Array, head: any, drawn: Drawn, scale: number): Object3D {
  const material = new MeshLambertMaterial({ color: "#ffffff", side: DoubleSide });
  const out = new InstancedMesh(new CircleGeometry(1, head.count > 8000 ? 6 : 14), material, head.count);
  const [m, q, s, p, n] = [new Matrix4(), new Quaternion(), new Vector3(), new Vector3(), new Vector3()];
  const z = new Vector3(0, 0, 1);
  const shades = head.segments ? palette(head.segments) : [drawn.colour];
  // Points of a level are drawn apart, segments without gaps.
  const wide = head.segments ? 1.35 : head.count === head.of ? 0.8 : 0.5;
  for (let i = 0; i < head.count; i++) {
    const [px, py, pz, nx, ny, nz, r, number] = values.subarray(8 * i, 8 * i + 8);
    q.setFromUnitVectors(z, n.set(nx, ny, nz).normalize());
    const radius = Math.max(r * scale * wide, 1e-4);
    out.setMatrixAt(i, m.compose(p.set(px * scale + 0.002 * nx, py * scale + 0.002 * ny, pz * scale + 0.002 * nz), q, s.set(radius, radius, radius)));
    out.setColorAt(i, shades[number % shades.length]);
  }
  out.frustumCulled = false;
  return out;
}

function balls(values: Float32Array, head: any, drawn: Drawn, scale: number): Object3D {
  const material = new MeshBasicMaterial({ color: drawn.colour, transparent: true, opacity: head.count > 200 ? 0.22 : 0.3, depthWrite: false });
  const many = head.count > 1500;
  const out = new InstancedMesh(new SphereGeometry(1, many ? 10 : 24, many ? 7 : 16), material, head.count);
  const m = new Matrix4();
  for (let i = 0; i < head.count; i++) {
    const [x, y, z, r] = values.subarray(4 * i, 4 * i + 4);
    const s = Math.max(r * scale, 1e-4);
    out.setMatrixAt(i, m.makeScale(s, s, s).setPosition(x * scale, y * scale, z * scale));
    out.setColorAt(i, new Color().setHSL((0.07 + 0.61803 * i) % 1, 0.45, 0.55));
  }
  out.frustumCulled = false;
  out.renderOrder = 6;
  return out;
}

/** Colours that differ from their neighbours. */
function palette(count: number): Color[] {
  return Array.from({ length: Math.max(1, count) }, (_, i) =>
    i < COLOURS.length ? new Color(COLOURS[i]) : new Color().setHSL((0.11 + 0.61803 * i) % 1, 0.42, 0.5 + 0.14 * (i % 3) - 0.1),
  );
}
