//! A triangle list whose vertices move freely.

use super::SoftError;
use super::refit::{Fitting, Tree};
use crate::math::Aabb;
use crate::mesh::Mesh;
use crate::par;
use glam::{DVec3, Vec4};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Coordinates beyond this are no places [m]: what searches make of them must stay numbers.
const FARTHEST: f64 = 1e30;
/// How far from the origin of its numbers a mesh may drift before they are made anew [half its size].
const DRIFT: f32 = 4.0;

/// Vertices that are packed by one task.
const CHUNK: usize = 8192;

/// What a triangle is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    On,
    Off,
    Removed,
}

/// Triangles and where their vertices are now, in a frame that all meshes share [m].
///
/// Vertices move as they like between questions, triangles are switched, added and removed; nothing has to be told besides. A
/// vertex without a place (NaN, infinite or beyond 1e30 m) takes its triangles out until it has one again. Triangles may be
/// degenerate, double and open, and their numbers stay.
#[derive(Debug)]
pub struct SoftMesh {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    states: Vec<State>,
    /// Switched on, and all vertices have a place.
    usable: Vec<bool>,
    /// Numbers of triangles that were removed.
    free: Vec<u32>,
    /// Vertices without a place.
    lost: Vec<u32>,
    /// Positions relative to `origin`, 0 in the fourth place; those of lost vertices are where they were.
    packed: Vec<Vec4>,
    origin: DVec3,
    low: Vec4,
    high: Vec4,
    /// How far rounding can have moved a packed position along an axis [m].
    slack: f32,
    id: u64,
    shape: u64,
    motion: u64,
    /// None while a question has it, to fit it.
    tree: Mutex<Option<Arc<Tree>>>,
}

/// What has changed since another question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Version {
    /// Of the mesh: each has its own.
    pub(super) id: u64,
    /// Changes with the list of triangles.
    pub(super) shape: u64,
    /// Changes with the vertices.
    pub(super) motion: u64,
}

impl SoftMesh {
    /// A mesh of these vertices [m] and triangles; an index beyond the vertices is an error.
    pub fn new(positions: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Self, SoftError> {
        if positions.len() > i32::MAX as usize || triangles.len() > i32::MAX as usize {
            return Err(SoftError::TooMany);
        }
        check(&triangles, positions.len())?;
        Ok(Self::unchecked(positions, triangles))
    }

    fn unchecked(positions: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut mesh = Self {
            packed: vec![Vec4::ZERO; positions.len()],
            states: vec![State::On; triangles.len()],
            usable: vec![true; triangles.len()],
            positions,
            triangles,
            free: Vec::new(),
            lost: Vec::new(),
            origin: DVec3::ZERO,
            low: Vec4::ZERO,
            high: Vec4::ZERO,
            slack: 0.0,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            shape: 0,
            motion: 0,
            tree: Mutex::default(),
        };
        mesh.pack();
        mesh
    }

    /// The vertices and triangles of a mesh, in its frame.
    pub fn from_mesh(mesh: &Mesh) -> Self {
        // The indices of a mesh are within its vertices.
        Self::unchecked(mesh.positions().to_vec(), mesh.triangles().to_vec())
    }

    /// Where the vertices are [m], as they were given.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// The triangles by their numbers, also those that are switched off or removed.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The corners of a triangle [m]; none for a number beyond the last.
    pub fn corners(&self, triangle: u32) -> Option<[DVec3; 3]> {
        let t = self.triangles.get(triangle as usize)?;
        let at = |i: usize| self.positions.get(t[i] as usize).copied();
        Some([at(0)?, at(1)?, at(2)?])
    }

    /// Whether a triangle takes part: switched on, not removed, and all its vertices have a place.
    pub fn takes_part(&self, triangle: u32) -> bool {
        self.usable.get(triangle as usize) == Some(&true)
    }

    /// Vertices that have no place: not finite, or beyond 1e30 m.
    pub fn lost_vertices(&self) -> usize {
        self.lost.len()
    }

    /// The box of the vertices that have a place [m]; empty without any.
    pub fn aabb(&self) -> Aabb {
        let mut aabb = Aabb::EMPTY;
        let places = self.positions.iter().filter(|p| is_place(**p));
        places.for_each(|p| aabb = aabb.grow(*p));
        aabb
    }

    /// Moves the vertices [m]. Another number of them is an error, and moves none.
    ///
    /// About 3 ns a vertex. Nothing else has to be done after a change of any size.
    pub fn set_positions(&mut self, positions: &[DVec3]) -> Result<(), SoftError> {
        if positions.len() != self.positions.len() {
            return Err(SoftError::Length { has: self.positions.len(), given: positions.len() });
        }
        if positions.len() > 2 * CHUNK && par::threads() > 1 {
            par::chunks_mut(&mut self.positions, CHUNK, |c, to| {
                to.copy_from_slice(&positions[c * CHUNK..][..to.len()]);
            });
        } else {
            self.positions.copy_from_slice(positions);
        }
        self.pack();
        Ok(())
    }

    /// Moves each vertex to where `place` says, from its number and where it is [m].
    pub fn deform(&mut self, mut place: impl FnMut(usize, DVec3) -> DVec3) {
        for (i, p) in self.positions.iter_mut().enumerate() {
            *p = place(i, *p);
        }
        self.pack();
    }

    /// Adds vertices [m]; the number of the first.
    pub fn add_vertices(&mut self, positions: &[DVec3]) -> Result<u32, SoftError> {
        let first = self.positions.len();
        if first + positions.len() > i32::MAX as usize {
            return Err(SoftError::TooMany);
        }
        self.positions.extend_from_slice(positions);
        self.packed.resize(self.positions.len(), Vec4::ZERO);
        self.pack();
        Ok(first as u32)
    }

    /// Adds a triangle, switched on; its number, which may be that of one that was removed.
    pub fn add_triangle(&mut self, triangle: [u32; 3]) -> Result<u32, SoftError> {
        check(&[triangle], self.positions.len())?;
        if self.triangles.len() >= i32::MAX as usize {
            return Err(SoftError::TooMany);
        }
        let number = self.free.pop().unwrap_or(self.triangles.len() as u32);
        let i = number as usize;
        if i == self.triangles.len() {
            self.triangles.push(triangle);
            self.states.push(State::On);
            self.usable.push(true);
        } else {
            (self.triangles[i], self.states[i]) = (triangle, State::On);
        }
        self.usable[i] = self.may_use(i);
        self.shape += 1;
        Ok(number)
    }

    /// Removes a triangle: a later one may get its number.
    pub fn remove_triangle(&mut self, triangle: u32) -> Result<(), SoftError> {
        let i = self.known(triangle)?;
        (self.states[i], self.usable[i]) = (State::Removed, false);
        self.free.push(triangle);
        Ok(())
    }

    /// Switches a triangle on or off.
    pub fn set_enabled(&mut self, triangle: u32, enabled: bool) -> Result<(), SoftError> {
        let i = self.known(triangle)?;
        self.states[i] = if enabled { State::On } else { State::Off };
        self.usable[i] = self.may_use(i);
        Ok(())
    }

    /// The place of a triangle that was not removed.
    fn known(&self, triangle: u32) -> Result<usize, SoftError> {
        let i = triangle as usize;
        match self.states.get(i) {
            Some(State::On | State::Off) => Ok(i),
            _ => Err(SoftError::NoTriangle { triangle, count: self.triangles.len() }),
        }
    }

    fn may_use(&self, i: usize) -> bool {
        let lost = |v: &u32| self.lost.binary_search(v).is_ok();
        self.states[i] == State::On && (self.lost.is_empty() || !self.triangles[i].iter().any(lost))
    }

    /// Makes the numbers that searches use of the positions.
    fn pack(&mut self) {
        self.motion += 1;
        let before = !self.lost.is_empty();
        self.lost.clear();
        self.pack_about(self.origin);
        let far = self.low.abs().max(self.high.abs()).max_element();
        let size = (self.high - self.low).max_element() * 0.5;
        if far > DRIFT * size {
            let middle = (self.low + self.high) * 0.5;
            self.lost.clear();
            self.pack_about(self.origin + middle.truncate().as_dvec3());
        }
        let far = self.low.abs().max(self.high.abs()).max_element();
        // Half a unit in the last place, and what the difference lost.
        self.slack = far * f32::EPSILON;
        if before || !self.lost.is_empty() {
            for i in 0..self.triangles.len() {
                self.usable[i] = self.may_use(i);
            }
        }
    }

    fn pack_about(&mut self, origin: DVec3) {
        self.origin = origin;
        let pack = |from: &[DVec3], to: &mut [Vec4]| {
            let (mut low, mut high) = (Vec4::INFINITY, Vec4::NEG_INFINITY);
            let mut lost = false;
            for (p, packed) in from.iter().zip(to) {
                // Written out: what is not a number is not less than the farthest either.
                let place = p.x.abs() <= FARTHEST && p.y.abs() <= FARTHEST && p.z.abs() <= FARTHEST;
                if place {
                    let d = (*p - origin).as_vec3().extend(0.0);
                    *packed = d;
                    (low, high) = (low.min(d), high.max(d));
                }
                lost |= !place;
            }
            (low, high, lost)
        };
        let positions = &self.positions;
        let (mut low, mut high, lost) = if positions.len() > 2 * CHUNK && par::threads() > 1 {
            let mut parts =
                vec![(Vec4::INFINITY, Vec4::NEG_INFINITY, false); positions.len().div_ceil(CHUNK)];
            par::zip_chunks_mut(&mut self.packed, CHUNK, &mut parts, 1, |c, to, part| {
                part[0] = pack(&positions[c * CHUNK..][..to.len()], to);
            });
            let join = |x: (Vec4, Vec4, bool), y: (Vec4, Vec4, bool)| (x.0.min(y.0), x.1.max(y.1), x.2 | y.2);
            parts.into_iter().reduce(join).unwrap_or_default()
        } else {
            pack(positions, &mut self.packed)
        };
        if lost {
            let all = (0..).zip(&self.positions);
            self.lost.extend(all.filter(|(_, p)| !is_place(**p)).map(|(i, _): (u32, _)| i));
        }
        if low.x > high.x {
            (low, high) = (Vec4::ZERO, Vec4::ZERO);
        }
        (self.low, self.high) = (low, high);
    }

    pub(super) fn packed(&self) -> &[Vec4] {
        &self.packed
    }

    pub(super) fn origin(&self) -> DVec3 {
        self.origin
    }

    /// The box of the packed positions.
    pub(super) fn bounds(&self) -> [Vec4; 2] {
        [self.low, self.high]
    }

    pub(super) fn slack(&self) -> f32 {
        self.slack
    }

    pub(super) fn usable(&self) -> &[bool] {
        &self.usable
    }

    pub(super) fn version(&self) -> Version {
        Version { id: self.id, shape: self.shape, motion: self.motion }
    }

    /// The tree, fitted to where the vertices are, and what that took. Nothing is locked while it is fitted or used: a thread that asks while
    /// another one fits it makes one of its own.
    pub(super) fn tree(&self) -> (Arc<Tree>, Fitting) {
        let kept = {
            let mut slot = self.slot();
            match &*slot {
                Some(tree) if tree.fits(self) => return (Arc::clone(tree), Fitting::default()),
                _ => slot.take(),
            }
        };
        let mut tree = kept.unwrap_or_default();
        if Arc::get_mut(&mut tree).is_none() {
            tree = Arc::default();
        }
        let fitting = Arc::get_mut(&mut tree).map(|t| t.update(self)).unwrap_or_default();
        *self.slot() = Some(Arc::clone(&tree));
        (tree, fitting)
    }

    /// Whether there is a tree of the triangles as they are now.
    pub(super) fn has_tree(&self) -> bool {
        self.slot().as_ref().is_some_and(|t| t.is_of(self))
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Tree>>> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SoftMesh {
    /// Nothing.
    fn default() -> Self {
        Self::unchecked(Vec::new(), Vec::new())
    }
}

impl Clone for SoftMesh {
    fn clone(&self) -> Self {
        let mut out = Self::unchecked(self.positions.clone(), self.triangles.clone());
        out.states.clone_from(&self.states);
        out.usable.clone_from(&self.usable);
        out.free.clone_from(&self.free);
        out
    }
}

pub(super) fn is_place(p: DVec3) -> bool {
    // Not so either: no number.
    p.abs().max_element() <= FARTHEST && !p.is_nan()
}

fn check(triangles: &[[u32; 3]], vertices: usize) -> Result<(), SoftError> {
    let wrong = |t: &[u32; 3]| t.iter().any(|v| *v as usize >= vertices);
    match triangles.iter().position(wrong) {
        Some(triangle) => Err(SoftError::Index { triangle, vertices }),
        None => Ok(()),
    }
}
