//! Bullet with palpate's contacts, in the program `palpate-bullet`: it is sent the scene as files, told to step,
//! and tells what came of it.

use crate::{Mark, Options, Scene, SimError, Simulation, State, Step};
use glam::{DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::manifold::{Choice, Collider};
use palpate::{Pose, Wrench};
use std::fmt::Write as _;
use std::io::{BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Orders, as the program knows them.
const STEP: f64 = 0.0;
const PUSH: f64 = 1.0;
const PLACE: f64 = 2.0;

/// Where the program is: what PALPATE_BULLET names, or beside this program, or in the target folder it was built from.
pub fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("PALPATE_BULLET") {
        return Some(PathBuf::from(named)).filter(|p| p.is_file());
    }
    let own = std::env::current_exe().ok()?;
    let folders = own.ancestors().skip(1).take(4);
    folders.flat_map(|f| [f.join("palpate-bullet"), f.join("bullet/palpate-bullet")]).find(|p| p.is_file())
}

/// A folder that goes with its handle.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) struct Bullet {
    child: Child,
    orders: ChildStdin,
    out: BufReader<ChildStdout>,
    /// Orders that go out with the next step.
    waiting: Vec<u8>,
    /// Which bodies forces move.
    moving: Vec<bool>,
    states: Vec<State>,
    marks: Vec<Mark>,
    _folder: Folder,
}

impl Bullet {
    pub(crate) fn new(scene: &Scene, options: &Options) -> Result<Self, SimError> {
        let program = program().ok_or(SimError::NoBullet)?;
        let folder = Folder(unique_folder()?);
        let file = folder.0.join("scene.txt");
        std::fs::write(&file, written(scene, options, &folder.0)?)?;
        let mut command = Command::new(program);
        command.arg("scene").arg("--file").arg(&file).args(["--stream", "1", "--listen", "1"]);
        match options.choice {
            None => {}
            Some(Choice::Regular) => _ = command.args(["--choice", "regular"]),
            Some(Choice::Segmented(l)) => {
                _ = command.args(["--choice", "segmented", "--level", &l.to_string()])
            }
            Some(Choice::Patches(n)) => {
                _ = command.args(["--choice", "patches", "--manifolds", &n.to_string()])
            }
        }
        if options.both {
            command.args(["--both", "1"]);
        }
        if options.load > 0.0 {
            command.args(["--pressed", "1"]);
        }
        if options.iterations > 0 {
            command.args(["--iterations", &options.iterations.to_string()]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(orders), Some(out)) = (child.stdin.take(), child.stdout.take()) else {
            let _ = child.kill();
            return Err(SimError::Bullet("no pipe".into()));
        };
        let states = scene.bodies.iter().map(|b| State { pose: b.pose, ..State::default() }).collect();
        let mut bullet = Self {
            child,
            orders,
            out: BufReader::new(out),
            waiting: Vec::new(),
            moving: scene.bodies.iter().map(|b| b.mass().is_some()).collect(),
            states,
            marks: Vec::new(),
            _folder: folder,
        };
        // Once the scene is built, so that the first step takes no longer than others.
        let told = bullet.number()?;
        if told != scene.bodies.len() as f64 {
            return Err(SimError::Bullet(format!("it tells of {told} bodies, not {}", scene.bodies.len())));
        }
        Ok(bullet)
    }

    /// Keeps an order for the next step: what, which body, and numbers.
    fn order(&mut self, what: f64, body: usize, numbers: &[f64]) -> bool {
        let moves = self.moving.get(body).copied().unwrap_or_default();
        if moves {
            for value in [what, body as f64].iter().chain(numbers) {
                self.waiting.extend_from_slice(&value.to_le_bytes());
            }
        }
        moves
    }

    fn ended(&mut self) -> SimError {
        let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
        SimError::Bullet(format!("it ended early ({status}); its message is above"))
    }

    fn number(&mut self) -> Result<f64, SimError> {
        let mut bytes = [0; 8];
        if self.out.read_exact(&mut bytes).is_err() {
            return Err(self.ended());
        }
        Ok(f64::from_le_bytes(bytes))
    }

    fn three(&mut self) -> Result<DVec3, SimError> {
        Ok(DVec3::new(self.number()?, self.number()?, self.number()?))
    }
}

impl Drop for Bullet {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn unique_folder() -> std::io::Result<PathBuf> {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let n = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("palpate-bullet-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The scene as the program reads it; shapes go beside it as `.palp` files, one for each different shape.
fn written(scene: &Scene, options: &Options, folder: &Path) -> Result<String, SimError> {
    let g = scene.gravity;
    // Steps are taken until nobody asks for more; the program counts them in 32 bits.
    let (rate, seconds) = (options.rate, 2e9 / options.rate);
    let mut text = format!("gravity {} {} {}\nrate {rate}\nseconds {seconds}\n", g.x, g.y, g.z);
    let mut shapes: Vec<(*const palpate::Mesh, PathBuf)> = Vec::new();
    for (index, b) in scene.bodies.iter().enumerate() {
        let refuse = |reason: String| SimError::Body { index, name: b.name.clone(), reason };
        let mut pose = b.pose;
        _ = writeln!(text, "body body{index}");
        match &b.collider {
            Collider::Shape(shape) => {
                let key: *const palpate::Mesh = shape.mesh();
                let known = shapes.iter().find(|(k, _)| *k == key).map(|(_, p)| p.clone());
                let file = match known {
                    Some(file) => file,
                    None => {
                        let file =
                            folder.join(format!("{index}.{}", if options.hulls { "obj" } else { "palp" }));
                        if options.hulls {
                            std::fs::write(&file, obj(shape.mesh()))?;
                        } else {
                            shape.write(&file, 0).map_err(|e| SimError::Asset(e.to_string()))?;
                        }
                        shapes.push((key, file.clone()));
                        file
                    }
                };
                let kind = if options.hulls { "hull" } else { "palp" };
                _ = writeln!(text, "kind {kind}\nmesh {}", file.display());
            }
            Collider::Solid(solid) => {
                let (words, inside) =
                    formula(solid).ok_or_else(|| refuse("this solid has no twin in Bullet".into()))?;
                pose = pose * inside;
                _ = writeln!(text, "kind {words}");
            }
        }
        let (p, q) = (pose.translation, pose.rotation);
        _ = writeln!(text, "pose {} {} {} {} {} {} {}", p.x, p.y, p.z, q.x, q.y, q.z, q.w);
        _ = writeln!(text, "mass {}", b.mass().map_or(0.0, |m| m.0));
        // Bullet multiplies the two of a pair.
        _ = writeln!(text, "friction {}\nrestitution {}", b.friction.sqrt(), b.restitution);
        _ = writeln!(text, "velocity {} {} {}", b.linear.x, b.linear.y, b.linear.z);
        _ = writeln!(text, "spin {} {} {}", b.angular.x, b.angular.y, b.angular.z);
    }
    Ok(text)
}

/// A mesh as the program reads it: it takes the mass from it, which for an open mesh is not quite ours.
fn obj(mesh: &palpate::Mesh) -> String {
    let mut text = String::new();
    for p in mesh.positions() {
        _ = writeln!(text, "v {} {} {}", p.x, p.y, p.z);
    }
    for [a, b, c] in mesh.triangles().iter().map(|t| t.map(|v| v + 1)) {
        _ = writeln!(text, "f {a} {b} {c}");
    }
    text
}

/// A solid as the program names it, and its place in the body's frame.
fn formula(solid: &Analytic) -> Option<(String, Pose)> {
    Some(match solid {
        Analytic::HalfSpace { normal, offset, .. } => {
            (format!("plane {} {} {} {offset}", normal.x, normal.y, normal.z), Pose::IDENTITY)
        }
        Analytic::Box { centre, half_extents: h, .. } => {
            (format!("box {} {} {}", h.x, h.y, h.z), Pose::from_translation(*centre))
        }
        Analytic::Sphere { centre, radius, .. } => {
            (format!("sphere {radius}"), Pose::from_translation(*centre))
        }
        Analytic::Transform { rotation, translation, shape, .. } => {
            let (words, pose) = formula(shape)?;
            (words, Pose { rotation: *rotation, translation: *translation } * pose)
        }
        _ => return None,
    })
}

impl Simulation for Bullet {
    /// Sends the orders that wait, and one to step. Reads: step and narrow phase [µs], deepest [m]; position, rotation (x y z w), velocity and spin of each body; the number of
    /// contacts, and point, normal, depth and bodies of each. All as little-endian f64.
    fn step(&mut self) -> Result<Step, SimError> {
        self.waiting.extend_from_slice(&STEP.to_le_bytes());
        let sent = self.orders.write_all(&self.waiting).and_then(|()| self.orders.flush());
        self.waiting.clear();
        if sent.is_err() {
            return Err(self.ended());
        }
        let mut step = Step {
            step_us: self.number()?,
            narrow_us: Some(self.number()?),
            deepest: self.number()?,
            lost: 0,
        };
        for i in 0..self.states.len() {
            let p = self.three()?;
            let q = DQuat::from_xyzw(self.number()?, self.number()?, self.number()?, self.number()?);
            self.states[i] = State { pose: Pose::new(q, p), linear: self.three()?, angular: self.three()? };
            step.lost += usize::from(!self.states[i].pose.is_finite());
        }
        let count = self.number()?;
        if !(0.0..1e7).contains(&count) {
            return Err(SimError::Bullet(format!("{count} contacts in a step")));
        }
        self.marks.clear();
        for _ in 0..count as usize {
            let (point, normal, depth) = (self.three()?, self.three()?, self.number()?);
            let bodies = [self.number()? as usize, self.number()? as usize];
            // Those before touch are for the solver.
            if depth > 0.0 {
                self.marks.push(Mark { point, normal, depth, bodies });
            }
        }
        Ok(step)
    }

    fn push(&mut self, body: usize, wrench: &Wrench) -> bool {
        let finite = wrench.force.is_finite() && wrench.torque.is_finite();
        let w = if finite { *wrench } else { Wrench::ZERO };
        self.order(PUSH, body, &[w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z])
    }

    fn place(&mut self, body: usize, pose: &Pose) -> bool {
        let (p, q) = (pose.translation, pose.rotation);
        let placed = pose.is_finite() && self.order(PLACE, body, &[p.x, p.y, p.z, q.x, q.y, q.z, q.w]);
        if placed {
            self.states[body] = State { pose: *pose, ..State::default() };
        }
        placed
    }

    fn state(&self, body: usize) -> State {
        self.states.get(body).copied().unwrap_or_default()
    }

    fn marks(&self, marks: &mut Vec<Mark>) {
        marks.extend_from_slice(&self.marks);
    }
}
