// What is drawn: bodies, the hand, contacts, arrows. Metres of the world are scaled so that the scene is about one unit large.

import {
  BufferAttribute, BufferGeometry, Color, ConeGeometry, CylinderGeometry, DirectionalLight, Group, HemisphereLight,
  InstancedMesh, LineBasicMaterial, LineSegments, Material, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, Object3D,
  PerspectiveCamera, Points, PointsMaterial, Scene, SphereGeometry, TorusGeometry, Vector3, WebGLRenderer, DoubleSide,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { toCreasedNormals } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { Link, SceneInfo, Snapshot } from "./link";

const MOST_MARKS = 400;
const MOST_NODES = 4000;
/** Sharper edges than this are drawn sharp [rad]. */
const CREASE = 0.6;
/** Meshes with more triangles are drawn smooth: sharp ones take three vertices each. */
const MOST_CREASED = 250000;
/** Share of the view that a scene fills [1]. */
const FILLED = 0.86;
/** Force whose arrow is as long as half the scene [N]. */
const LONG_FORCE = 10;

export const COLOURS = ["#7d97b8", "#e08a3c", "#6ba86b", "#b77fb5", "#c9b458", "#5fa9b0", "#c96a6a", "#8a8f98"];
const HAND = "#2f7bff";

/** A body as it is drawn. */
export interface Drawn {
  group: Group;
  surface: Mesh | Points | null;
  extra: Group;
  colour: Color;
  ghost: Mesh | null;
}

export function pose(object: Object3D, p: number[], scale: number): void {
  object.position.set(p[0] * scale, p[1] * scale, p[2] * scale);
  object.quaternion.set(p[3], p[4], p[5], p[6]);
}

export class View {
  renderer: WebGLRenderer;
  scene = new Scene();
  camera = new PerspectiveCamera(38, 1, 0.01, 50);
  controls: OrbitControls;
  /** Units of the view for a metre. */
  scale = 1;
  info: SceneInfo | null = null;
  bodies: Drawn[] = [];
  dirty = true;
  frames = 0;
  private world = new Group();
  private marks: InstancedMesh;
  private normals: LineSegments;
  /** Nodes that reach the other shape, and those that do not. */
  private hits: InstancedMesh;
  private misses: InstancedMesh;
  private force = arrow("#d6312b");
  private torque = ring("#8e44c9");
  private spring: LineSegments;
  private light = new DirectionalLight(0xffffff, 2.1);
  private toolSize = 0.3;

  constructor(public canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.setClearColor(0x000000, 0);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener("change", () => (this.dirty = true));
    this.scene.add(new HemisphereLight(0xffffff, 0x7a8494, 1.5), this.camera, this.world);
    this.light.position.set(-0.6, 0.9, 0.8);
    this.camera.add(this.light);
    this.marks = new InstancedMesh(new SphereGeometry(1, 12, 8), new MeshBasicMaterial({ color: "#ff2d1a", depthTest: false, transparent: true, opacity: 0.9 }), MOST_MARKS);
    this.marks.renderOrder = 20;
    this.normals = lines("#b3160a", 2 * MOST_MARKS, 19);
    this.spring = lines(HAND, 2, 18);
    const node = (color: string, opacity: number, order: number) => {
      const out = new InstancedMesh(new SphereGeometry(1, 14, 10), new MeshBasicMaterial({ color, transparent: true, opacity, depthWrite: false, depthTest: false }), MOST_NODES);
      out.renderOrder = order;
      return out;
    };
    this.misses = node("#3c7bd9", 0.12, 12);
    this.hits = node("#e2341d", 0.4, 13);
    for (const o of [this.marks, this.normals, this.spring, this.hits, this.misses]) {
      o.frustumCulled = false;
      o.visible = false;
      this.world.add(o);
    }
    this.world.add(this.force, this.torque);
    this.force.visible = this.torque.visible = false;
    // A browser may take the graphics card away and give it back; three makes everything anew.
    canvas.addEventListener("webglcontextrestored", () => (this.dirty = true));
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  resize(): void {
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!w || !h) return;
    this.renderer.setPixelRatio(Math.min(2, devicePixelRatio || 1));
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
    this.dirty = true;
  }

  /** A new scene: its bodies are fetched. */
  async enter(info: SceneInfo, link: Link): Promise<void> {
    this.info = info;
    for (const b of this.bodies) {
      this.world.remove(b.group);
      if (b.ghost) this.world.remove(b.ghost);
      dispose(b.group);
    }
    this.bodies = [];
    const size = Math.hypot(...info.max.map((v, i) => v - info.min[i])) || 1;
    this.scale = 2 / size;
    this.marks.count = this.hits.count = this.misses.count = 0;
    this.force.visible = this.torque.visible = this.spring.visible = false;
    const all = await Promise.all(info.bodies.map((_, i) => link.body(info.generation, i, "mesh")));
    // Another scene may have come meanwhile.
    if (this.info !== info) return;
    info.bodies.forEach((body, i) => {
      const colour = new Color(COLOURS[i % COLOURS.length]);
      const drawn: Drawn = { group: new Group(), surface: null, extra: new Group(), colour, ghost: null };
      const got = all[i];
      if (got && got.head.type === "mesh") {
        let geometry = new BufferGeometry();
        const positions = new Float32Array(got.buffer, got.at, 3 * got.head.vertices).map((v) => v * this.scale);
        geometry.setAttribute("position", new BufferAttribute(positions, 3));
        geometry.setIndex(new BufferAttribute(new Uint32Array(got.buffer, got.at + 12 * got.head.vertices, 3 * got.head.triangles), 1));
        if (body.kind !== "soft" && got.head.triangles < MOST_CREASED) geometry = toCreasedNormals(geometry, CREASE);
        else geometry.computeVertexNormals();
        const material = new MeshStandardMaterial({ color: colour, roughness: 0.55, metalness: 0.08, side: DoubleSide });
        drawn.surface = new Mesh(geometry, material);
        if (i === info.tool) {
          drawn.ghost = new Mesh(geometry, new MeshBasicMaterial({ color: HAND, transparent: true, opacity: 0.3, depthTest: false, depthWrite: false }));
          drawn.ghost.renderOrder = 10;
          // Drawn after the hand, which is seen through everything but the tool.
          drawn.surface.renderOrder = 11;
          material.transparent = true;
          drawn.ghost.visible = false;
          this.world.add(drawn.ghost);
        }
      } else if (got && got.head.type === "cloud") {
        const geometry = new BufferGeometry();
        const positions = new Float32Array(got.buffer, got.at, 3 * got.head.points).map((v) => v * this.scale);
        geometry.setAttribute("position", new BufferAttribute(positions, 3));
        geometry.setAttribute("color", new BufferAttribute(heights(positions, info.up, colour), 3));
        drawn.surface = new Points(geometry, new PointsMaterial({ vertexColors: true, size: 1.1 * got.head.spacing * this.scale, sizeAttenuation: true }));
      }
      if (drawn.surface) drawn.group.add(drawn.surface);
      drawn.group.add(drawn.extra);
      pose(drawn.group, body.pose, this.scale);
      this.world.add(drawn.group);
      this.bodies.push(drawn);
    });
    const tool = info.tool === null ? null : info.bodies[info.tool];
    this.toolSize = tool ? (Math.hypot(...tool.max.map((v, i) => v - tool.min[i])) / 2) * this.scale : 0.3;
    this.frame();
  }

  /** Looks at everything. */
  frame(): void {
    if (!this.info) return;
    const { min, max, up } = this.info;
    const centre = new Vector3(...min.map((v, i) => ((v + max[i]) / 2) * this.scale));
    this.camera.up.set(up[0], up[1], up[2]);
    // From the front, a little from the right and above.
    const side = new Vector3(up[1] || up[2] ? 1 : 0, up[0], 0);
    const front = new Vector3().crossVectors(side, this.camera.up).normalize();
    const from = front.multiplyScalar(0.85).addScaledVector(side, 0.5).addScaledVector(this.camera.up, 0.42).normalize();
    this.camera.position.copy(centre).addScaledVector(from, this.fitting(centre, from));
    this.controls.target.copy(centre);
    // Three keeps what is up from when the controls were made.
    this.controls.dispose();
    const controls = new OrbitControls(this.camera, this.canvas);
    controls.target.copy(centre);
    controls.enableDamping = false;
    controls.minDistance = 0.1;
    controls.maxDistance = 20;
    controls.addEventListener("change", () => (this.dirty = true));
    this.controls = controls;
    controls.update();
    this.dirty = true;
  }

  /** How far away everything is in the picture, seen along `from`. */
  private fitting(centre: Vector3, from: Vector3): number {
    const right = new Vector3().crossVectors(this.camera.up, from).normalize();
    const up = new Vector3().crossVectors(from, right);
    const tall = Math.tan((this.camera.fov * Math.PI) / 360) * FILLED;
    let far = 0.5;
    this.info?.bodies.forEach((b, i) => {
      const group = this.bodies[i]?.group;
      for (let k = 0; group && k < 8; k++) {
        const corner = new Vector3(...[0, 1, 2].map((a) => (k & (1 << a) ? b.max[a] : b.min[a]) * this.scale));
        corner.applyQuaternion(group.quaternion).add(group.position).sub(centre);
        const needed = Math.max(Math.abs(corner.dot(up)) / tall, Math.abs(corner.dot(right)) / (tall * this.camera.aspect));
        far = Math.max(far, corner.dot(from) + needed);
      }
    });
    return far;
  }

  /** Everything as a snapshot says. */
  show(shot: Snapshot, wants: { contacts: boolean; force: boolean; hand: boolean; nodes: { of: number | null } | null }): void {
    const { now } = shot;
    if (!this.info || now.generation !== this.info.generation || !this.bodies.length) return;
    now.bodies.forEach((p, i) => this.bodies[i] && pose(this.bodies[i].group, p, this.scale));
    for (const d of shot.deformed) this.deform(d.body, d.positions);
    const m = new Matrix4();
    // Many become small, so that they are told apart.
    const size = now.marks > 60 ? 0.007 : 0.013;
    this.marks.visible = this.normals.visible = wants.contacts && now.marks > 0;
    if (this.marks.visible) {
      const ends = this.normals.geometry.getAttribute("position") as BufferAttribute;
      for (let i = 0; i < now.marks && i < MOST_MARKS; i++) {
        const [x, y, z, nx, ny, nz] = shot.marks.subarray(7 * i, 7 * i + 6);
        const [px, py, pz] = [x * this.scale, y * this.scale, z * this.scale];
        this.marks.setMatrixAt(i, m.makeScale(size, size, size).setPosition(px, py, pz));
        ends.setXYZ(2 * i, px, py, pz);
        ends.setXYZ(2 * i + 1, px + 0.11 * nx, py + 0.11 * ny, pz + 0.11 * nz);
      }
      this.marks.count = Math.min(now.marks, MOST_MARKS);
      this.marks.instanceMatrix.needsUpdate = ends.needsUpdate = true;
      this.normals.geometry.setDrawRange(0, 2 * this.marks.count);
    }
    this.hits.visible = this.misses.visible = wants.nodes !== null && now.nodes > 0;
    if (this.hits.visible) {
      this.hits.count = this.misses.count = 0;
      for (let i = 0; i < Math.min(now.nodes, MOST_NODES); i++) {
        const [x, y, z, r, colliding, body] = shot.nodes.subarray(6 * i, 6 * i + 6);
        if (wants.nodes && wants.nodes.of !== null && wants.nodes.of !== body) continue;
        const s = Math.max(r * this.scale, 1e-4);
        const of = colliding ? this.hits : this.misses;
        of.setMatrixAt(of.count++, m.makeScale(s, s, s).setPosition(x * this.scale, y * this.scale, z * this.scale));
      }
      this.hits.instanceMatrix.needsUpdate = this.misses.instanceMatrix.needsUpdate = true;
    }
    const centre = new Vector3(...now.centre).multiplyScalar(this.scale);
    this.arrows(now.force, now.torque, centre, wants.force);
    const tool = this.info.tool === null ? null : this.bodies[this.info.tool];
    if (tool?.ghost && this.info.tool !== null) {
      const info = this.info.bodies[this.info.tool];
      pose(tool.ghost, now.target, this.scale);
      const local = new Vector3(...info.min.map((v, i) => ((v + info.max[i]) / 2) * this.scale));
      const held = local.clone().applyQuaternion(tool.ghost.quaternion).add(tool.ghost.position);
      const turned = tool.group.quaternion.angleTo(tool.ghost.quaternion);
      const apart = held.distanceTo(centre) > 0.004 || turned > 0.01;
      tool.ghost.visible = this.spring.visible = wants.hand && apart;
      const ends = this.spring.geometry.getAttribute("position") as BufferAttribute;
      ends.setXYZ(0, centre.x, centre.y, centre.z);
      ends.setXYZ(1, held.x, held.y, held.z);
      ends.needsUpdate = true;
    }
    this.dirty = true;
  }

  private arrows(force: number[], torque: number[], centre: Vector3, wanted: boolean): void {
    const f = new Vector3(...force);
    const long = Math.min(1.1, Math.sqrt(f.length() / LONG_FORCE));
    this.force.visible = wanted && long > 0.02;
    if (this.force.visible) {
      this.force.position.copy(centre);
      this.force.quaternion.setFromUnitVectors(new Vector3(0, 1, 0), f.normalize());
      (this.force.children[0] as Mesh).scale.set(1, long, 1);
      this.force.children[1].position.y = long;
    }
    const t = new Vector3(...torque);
    const turn = t.length() * this.scale;
    this.torque.visible = wanted && turn > 0.04;
    if (this.torque.visible) {
      this.torque.position.copy(centre);
      this.torque.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), t.normalize());
      this.torque.scale.setScalar(this.toolSize * (0.4 + 0.5 * Math.min(1, Math.sqrt(turn / 3))));
    }
  }

  private deform(body: number, positions: Float32Array): void {
    const surface = this.bodies[body]?.surface;
    if (!(surface instanceof Mesh)) return;
    const attribute = surface.geometry.getAttribute("position") as BufferAttribute;
    if (attribute.array.length !== positions.length) return;
    const to = attribute.array as Float32Array;
    for (let i = 0; i < to.length; i++) to[i] = positions[i] * this.scale;
    attribute.needsUpdate = true;
    surface.geometry.computeVertexNormals();
    surface.geometry.boundingSphere = null;
  }

  draw(): void {
    if (!this.dirty) return;
    this.dirty = false;
    this.frames += 1;
    this.renderer.render(this.scene, this.camera);
  }

  /** A picture of what is seen, on the page's own ground. */
  picture(caption: string): HTMLCanvasElement {
    this.renderer.render(this.scene, this.camera);
    const out = document.createElement("canvas");
    [out.width, out.height] = [this.canvas.width, this.canvas.height];
    const g = out.getContext("2d")!;
    const style = getComputedStyle(document.documentElement);
    const ground = g.createLinearGradient(0, 0, 0, out.height);
    ground.addColorStop(0, style.getPropertyValue("--stage-top"));
    ground.addColorStop(1, style.getPropertyValue("--stage-low"));
    g.fillStyle = ground;
    g.fillRect(0, 0, out.width, out.height);
    g.drawImage(this.canvas, 0, 0);
    const ratio = out.width / (this.canvas.clientWidth || out.width);
    g.fillStyle = style.getPropertyValue("--ink");
    g.font = `${15 * ratio}px system-ui, sans-serif`;
    caption.split("\n").forEach((line, i) => g.fillText(line, 16 * ratio, (28 + 20 * i) * ratio));
    return out;
  }
}

/** Colours of points that have no light of their own: by height, so that their form is seen. */
function heights(positions: Float32Array, up: number[], colour: Color): Float32Array {
  const out = new Float32Array(positions.length);
  const at = (i: number) => positions[i] * up[0] + positions[i + 1] * up[1] + positions[i + 2] * up[2];
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < positions.length; i += 3) [low, high] = [Math.min(low, at(i)), Math.max(high, at(i))];
  const [dark, light, c] = [colour.clone().multiplyScalar(0.35), colour.clone().lerp(new Color("#ffe9c0"), 0.55), new Color()];
  for (let i = 0; i < positions.length; i += 3) c.lerpColors(dark, light, (at(i) - low) / (high - low || 1)).toArray(out, i);
  return out;
}

/** An arrow along y, one unit long, seen through everything. */
function arrow(colour: string): Group {
  const material = new MeshBasicMaterial({ color: colour, depthTest: false, transparent: true, opacity: 0.95 });
  const shaft = new Mesh(new CylinderGeometry(0.016, 0.016, 1, 14).translate(0, 0.5, 0), material);
  const head = new Mesh(new ConeGeometry(0.05, 0.13, 18).translate(0, 0.04, 0), material);
  const out = new Group().add(shaft, head);
  shaft.renderOrder = head.renderOrder = 22;
  return out;
}

/** Three quarters of a ring about z, with a head. */
function ring(colour: string): Group {
  const material = new MeshBasicMaterial({ color: colour, depthTest: false, transparent: true, opacity: 0.85, side: DoubleSide });
  const arc = new Mesh(new TorusGeometry(1, 0.032, 10, 48, Math.PI * 1.5), material);
  const head = new Mesh(new ConeGeometry(0.1, 0.25, 16), material);
  // At the end of the arc, which is at −y, going towards +x.
  head.position.set(0.06, -1, 0);
  head.quaternion.setFromUnitVectors(new Vector3(0, 1, 0), new Vector3(1, 0, 0));
  arc.renderOrder = head.renderOrder = 21;
  return new Group().add(arc, head);
}

function lines(colour: string, count: number, order: number): LineSegments {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(3 * count), 3));
  const out = new LineSegments(geometry, new LineBasicMaterial({ color: colour, depthTest: false, transparent: true, opacity: 0.85 }));
  out.renderOrder = order;
  return out;
}

/** Frees what a group holds on the graphics card. */
export function dispose(group: Object3D): void {
  group.traverse((o) => {
    const m = o as Mesh;
    m.geometry?.dispose();
    for (const material of [m.material].flat()) (material as Material | undefined)?.dispose();
  });
}

