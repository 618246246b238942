//! What is looked at: parts and where they are.

use glam::DVec3;
use palpate::asset::cache_key;
use palpate::math::Aabb;
use palpate::mesh::{Mesh, MeshError, RawMesh, RepairParams};
use palpate::query::Motion;
use palpate::{Pose, par};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A mesh, in its own frame, and a hash of its content.
#[derive(Clone, Debug)]
pub struct Part {
    /// The file's name, or the mesh's.
    pub name: String,
    /// The triangles [m].
    pub mesh: Arc<Mesh>,
    /// Of positions and triangles as read: equal for equal parts, whatever their names.
    pub key: u128,
    /// What was read, where the mesh is not just that.
    raw: Option<Arc<RawMesh>>,
    /// For each connected piece the vertices that are farthest along the axes, both ways.
    pub(crate) extremes: Vec<[DVec3; 6]>,
}

impl Part {
    /// A part of triangles in metres.
    ///
    /// # Errors
    /// When they are no mesh: see [`Mesh::new`].
    pub fn new(name: &str, raw: RawMesh) -> Result<Self, MeshError> {
        let key = content_key(&raw);
        let mesh = Mesh::new(raw.clone(), &RepairParams::default())?;
        let same = |a: &DVec3, b: &DVec3| a.to_array().map(f64::to_bits) == b.to_array().map(f64::to_bits);
        let unchanged = mesh.triangles() == raw.triangles
            && mesh.positions().len() == raw.positions.len()
            && mesh.positions().iter().zip(&raw.positions).all(|(a, b)| same(a, b));
        let raw = (!unchanged).then(|| Arc::new(raw));
        let (label, count) = mesh.topology().components();
        let (far, near) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let mut extremes = vec![[far, near, far, near, far, near]; count];
        for (t, piece) in mesh.triangles().iter().zip(label) {
            let best = &mut extremes[piece as usize];
            for p in t.iter().map(|v| mesh.positions()[*v as usize]) {
                for axis in 0..3 {
                    if p[axis] < best[2 * axis][axis] {
                        best[2 * axis] = p;
                    }
                    if p[axis] > best[2 * axis + 1][axis] {
                        best[2 * axis + 1] = p;
                    }
                }
            }
        }
        Ok(Self { name: name.to_owned(), mesh: Arc::new(mesh), key, raw, extremes })
    }

    /// Positions [m] and triangles as they were given to [`Part::new`], which makes the same part of them again, to the last bit.
    pub fn raw(&self) -> (&[DVec3], &[[u32; 3]]) {
        match &self.raw {
            Some(raw) => (&raw.positions, &raw.triangles),
            None => (self.mesh.positions(), self.mesh.triangles()),
        }
    }
}

fn content_key(raw: &RawMesh) -> u128 {
    let mut bytes = Vec::with_capacity(24 * raw.positions.len() + 12 * raw.triangles.len());
    for p in &raw.positions {
        p.to_array().iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
    }
    for t in &raw.triangles {
        t.iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
    }
    cache_key(&bytes, &format!("part {}", raw.positions.len()))
}

/// A part at its place in the assembly.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Unique in its job.
    pub name: String,
    /// Which part.
    pub part: usize,
    /// Where it is, `w_from_part`; at time 0 if it moves.
    pub pose: Pose,
    /// Where it is at time 1, if it moves: its origin goes straight, and it turns the shortest way, both with constant speed.
    pub to: Option<Pose>,
}

impl Instance {
    /// `w_from_part` at a time, 0 to 1.
    pub fn at(&self, time: f64) -> Pose {
        match &self.to {
            Some(to) if time > 0.0 => Motion::between(&self.pose, to).at(time),
            _ => self.pose,
        }
    }
}

/// A part that could not be used; the others are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file's name, or the mesh's.
    pub part: String,
    /// What is wrong with it.
    pub problem: String,
}

/// An assembly to look at.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The distinct meshes.
    pub parts: Vec<Part>,
    /// Where they are, each name once.
    pub instances: Vec<Instance>,
    /// What could not be read.
    pub failures: Vec<Failure>,
}

impl Job {
    /// The part of an instance.
    pub fn part_of(&self, instance: usize) -> &Part {
        &self.parts[self.instances[instance].part]
    }

    /// A box, in the assembly's frame, that holds an instance at a time [m].
    pub fn aabb_at(&self, instance: usize, time: f64) -> Aabb {
        let (mesh, pose) = (&self.part_of(instance).mesh, self.instances[instance].at(time));
        Aabb::of_points(mesh.positions().iter().map(|p| pose.point(*p)))
    }

    /// Boxes of all instances at time 0 [m].
    pub fn aabbs(&self) -> Vec<Aabb> {
        par::map(self.instances.len(), |i| self.aabb_at(i, 0.0))
    }
}

/// Puts a job together: parts of equal content are kept once, instances get names of their own.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    job: Job,
    by_key: BTreeMap<u128, usize>,
}

impl From<Job> for Builder {
    /// A job to which more is added.
    fn from(job: Job) -> Self {
        let by_key = job.parts.iter().enumerate().map(|(i, p)| (p.key, i)).collect();
        Self { job, by_key }
    }
}

impl Builder {
    /// The number of a part, which is that of an equal one if there was one before.
    pub fn part(&mut self, part: Part) -> usize {
        let at = *self.by_key.entry(part.key).or_insert(self.job.parts.len());
        if at == self.job.parts.len() {
            self.job.parts.push(part);
        }
        at
    }

    /// Notes a part that cannot be used.
    pub fn fail(&mut self, part: &str, problem: String) {
        self.job.failures.push(Failure { part: part.to_owned(), problem });
    }

    /// Puts a part at a place, `w_from_part`; the number of the instance. None, and nothing is done, for a part that
    /// [`Builder::part`] did not give.
    pub fn place(&mut self, name: &str, part: usize, pose: Pose, to: Option<Pose>) -> Option<usize> {
        self.job.parts.get(part)?;
        self.job.instances.push(Instance { name: name.to_owned(), part, pose, to });
        Some(self.job.instances.len() - 1)
    }

    /// The job; names that come again get a number.
    pub fn finish(mut self) -> Job {
        let mut known = BTreeSet::new();
        for instance in &mut self.job.instances {
            let first = instance.name.clone();
            let mut n = 1;
            while !known.insert(instance.name.clone()) {
                n += 1;
                instance.name = format!("{first} #{n}");
            }
        }
        self.job
    }
}
