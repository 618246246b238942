//! Which side is inside: the choice of method, and the check of one method by another.
//!
//! Closed manifold surfaces take the side of the closest feature's pseudonormal, which the scan gives for free. It is
//! compared with the winding number at many background nodes; where the two disagree (overlapping or nested parts,
//! self-intersections), or where the surface is not closed, the winding number decides: once for every connected
//! set of nodes that the surface cannot separate, so that no decision hangs on one ray or one noisy point.

use super::brick::{Filled, Refined};
use super::bvh::{Bvh, Dipoles};
use super::lattice::Lattice;
use super::scan::{BRICK, OWNED};
use super::surface::Surface;
use crate::mesh::{Hole, HoleOutcome};
use crate::par;
use glam::DVec3;

/// Background nodes at which the pseudonormal is checked [1]. More finds smaller faults and costs about 5 µs each.
const CHECKS: usize = 512;
/// Winding numbers this near to 1/2 decide nothing.
const UNDECIDED: f64 = 0.2;

/// What the caller asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignChoice {
    /// The best method for this mesh, checked.
    #[default]
    Auto,
    /// The pseudonormal of the closest feature, whatever the mesh.
    Pseudonormal,
    /// The generalised winding number.
    Winding,
    /// No inside: distances are positive everywhere.
    Unsigned,
}

/// What was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignMethod {
    /// Pseudonormal of the closest feature of a closed manifold surface.
    Pseudonormal,
    /// Generalised winding number above 1/2.
    Winding,
    /// The surface encloses nothing.
    Unsigned,
    /// The sign of an analytic source.
    Analytic,
}

impl SignMethod {
    /// Name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pseudonormal => "pseudonormal",
            Self::Winding => "winding",
            Self::Unsigned => "unsigned",
            Self::Analytic => "analytic",
        }
    }
}

/// The method for a surface, and the share of checks that agree with it.
pub(crate) fn choose(
    choice: SignChoice,
    surface: &Surface,
    holes: &[Hole],
    dipoles: &Dipoles,
    bvh: &Bvh,
    lattice: &Lattice,
    background: &[f32],
) -> (SignMethod, f64) {
    let closed = surface.topology.boundary_edges() == 0 && surface.topology.nonmanifold_edges() == 0;
    let sheets_only = !holes.is_empty() && holes.iter().all(|h| h.outcome == HoleOutcome::Sheet) && {
        let (label, count) = surface.topology.components();
        let mut open = vec![false; count];
        for (t, n) in surface.topology.neighbours.iter().enumerate() {
            open[label[t] as usize] |= n.contains(&crate::mesh::Topology::BOUNDARY);
        }
        open.iter().all(|o| *o)
    };
    let checks = check_points(background);
    let windings = par::map(checks.len(), |i| dipoles.winding(bvh, surface, corner(lattice, checks[i])));
    let decided = windings.iter().filter(|w| (*w - w.round()).abs() < UNDECIDED).count();
    let agreeing = checks
        .iter()
        .zip(&windings)
        .filter(|(c, w)| (**w - 0.5).abs() <= UNDECIDED || (background[**c] < 0.0) == (**w > 0.5))
        .count();
    let share = |n: usize| if checks.is_empty() { 1.0 } else { n as f64 / checks.len() as f64 };
    match choice {
        SignChoice::Unsigned => (SignMethod::Unsigned, 1.0),
        SignChoice::Pseudonormal => (SignMethod::Pseudonormal, share(agreeing)),
        SignChoice::Winding => (SignMethod::Winding, share(decided)),
        SignChoice::Auto if sheets_only => (SignMethod::Unsigned, 1.0),
        SignChoice::Auto if closed && agreeing == checks.len() && !parts_overlap(surface) => {
            (SignMethod::Pseudonormal, 1.0)
        }
        SignChoice::Auto => (SignMethod::Winding, share(decided)),
    }
}

/// Background nodes to check: up to half of them inside, the rest outside, evenly spread, none at the surface.
fn check_points(background: &[f32]) -> Vec<usize> {
    let mut out = Vec::with_capacity(CHECKS);
    for inside in [true, false] {
        let mut side: Vec<usize> = (0..background.len())
            .filter(|&i| (background[i] < 0.0) == inside && background[i].abs() > 0.5)
            .collect();
        // Outside, near nodes say most: the far ones are all alike.
        if !inside {
            side.retain(|&i| background[i] < 4.0 * BRICK as f32);
        }
        let step = side.len().div_ceil(CHECKS / 2).max(1);
        out.extend(side.into_iter().step_by(step));
    }
    out
}

/// Whether two components' boxes overlap: then one may lie in the other, or cross it.
fn parts_overlap(surface: &Surface) -> bool {
    let (label, count) = surface.topology.components();
    if count < 2 {
        return false;
    }
    let mut boxes = vec![crate::math::Aabb::EMPTY; count];
    for (t, &l) in label.iter().enumerate() {
        for p in surface.corners_of(t) {
            boxes[l as usize] = boxes[l as usize].grow(p);
        }
    }
    // Sweep along x; many parts, few overlaps.
    boxes.sort_by(|a, b| a.min.x.total_cmp(&b.min.x));
    boxes
        .iter()
        .enumerate()
        .any(|(i, a)| boxes[i + 1..].iter().take_while(|b| b.min.x <= a.max.x).any(|b| a.overlaps(*b)))
}

/// Position of background node `at` [voxels].
fn corner(lattice: &Lattice, at: usize) -> DVec3 {
    let [nx, ny, _] = lattice.corners();
    DVec3::new((at % nx) as f64, (at / nx % ny) as f64, (at / nx / ny) as f64) * BRICK as f64
}

/// Gives each background node the side its winding number says.
pub(crate) fn sign_background(
    background: &mut [f32],
    lattice: &Lattice,
    inside: impl Fn(DVec3) -> bool + Sync + Send,
) {
    let [nx, ny, _] = lattice.corners();
    let labels = label(background, BRICK as f32, [1, nx, nx * ny], |at, axis| match axis {
        0 => (at % nx) + 1 < nx,
        1 => (at / nx % ny) + 1 < ny,
        _ => at + nx * ny < background.len(),
    });
    let heads = heads(background, &labels);
    let side = par::map(heads.len(), |i| inside(corner(lattice, heads[i])));
    apply(background, &labels, &heads, &side);
}

/// Gives each own node of a brick at `origin` [voxels] the side its winding number says.
pub(crate) fn sign_brick(distance: &mut [f32; OWNED], origin: DVec3, inside: impl Fn(DVec3) -> bool) {
    let labels =
        label(distance, 1.0, [1, BRICK, BRICK * BRICK], |at, axis| (at >> (3 * axis) & 7) + 1 < BRICK);
    let heads = heads(distance, &labels);
    let position = |at: usize| origin + DVec3::new((at & 7) as f64, (at >> 3 & 7) as f64, (at >> 6) as f64);
    let side: Vec<bool> = heads.iter().map(|&h| inside(position(h))).collect();
    apply(distance, &labels, &heads, &side);
}

/// Finds bricks and background nodes whose sides contradict each other (two neighbours of opposite sign with free space
/// between them: the pseudonormal failed at a fold or a self-intersection), and lets the winding number decide there,
/// until nothing contradicts. Returns how many bricks were decided anew.
pub(crate) fn repair(
    filled: &mut [Filled],
    refined: &Refined,
    background: &mut [f32],
    lattice: &Lattice,
    inside: impl Fn(DVec3) -> bool + Sync + Send,
) -> usize {
    repair_background(background, lattice, &inside);
    let mut settled = vec![false; filled.len()];
    loop {
        let shared: &[Filled] = filled;
        let dirty =
            par::map(shared.len(), |b| !settled[b] && contradicts(shared, refined, background, lattice, b));
        if !dirty.contains(&true) {
            return settled.iter().filter(|s| **s).count();
        }
        par::chunks_mut(filled, 1, |b, f| {
            if dirty[b] {
                sign_brick(&mut f[0].distance, refined.origin(b), &inside);
            }
        });
        settled.iter_mut().zip(&dirty).for_each(|(s, d)| *s |= d);
    }
}

/// Whether two values `spacing` apart have opposite signs although the surface cannot be between them.
#[inline(always)]
fn opposed(a: f32, b: f32, spacing: f32) -> bool {
    (a < 0.0) != (b < 0.0) && a.abs() + b.abs() > spacing * 1.001
}

fn repair_background(
    background: &mut [f32],
    lattice: &Lattice,
    inside: impl Fn(DVec3) -> bool + Sync + Send,
) {
    let [nx, ny, nz] = lattice.corners();
    let mut settled = vec![false; background.len()];
    loop {
        let shared: &[f32] = background;
        let layers = par::map(nz, |k| {
            let mut dirty = Vec::new();
            for at in k * nx * ny..(k + 1) * nx * ny {
                let pairs = [
                    (at % nx + 1 < nx).then_some(at + 1),
                    (at / nx % ny + 1 < ny).then_some(at + nx),
                    (k + 1 < nz).then_some(at + nx * ny),
                ];
                for other in pairs.into_iter().flatten() {
                    if opposed(shared[at], shared[other], BRICK as f32) {
                        dirty.extend([at, other].into_iter().filter(|n| !settled[*n]));
                    }
                }
            }
            dirty
        });
        let mut dirty = layers.concat();
        if dirty.is_empty() {
            return;
        }
        dirty.sort_unstable();
        dirty.dedup();
        let side = par::map(dirty.len(), |i| inside(corner(lattice, dirty[i])));
        for (at, s) in dirty.into_iter().zip(side) {
            background[at] = if s { -background[at].abs() } else { background[at].abs() };
            settled[at] = true;
        }
    }
}

/// Whether the signs of brick `b` contradict each other, the corner it owns, or an upper or lower neighbour.
fn contradicts(
    filled: &[Filled],
    refined: &Refined,
    background: &[f32],
    lattice: &Lattice,
    b: usize,
) -> bool {
    let d = &filled[b].distance;
    let [nx, ny, _] = lattice.corners();
    let c = refined.cells[b].map(|v| v as usize);
    if (background[(c[2] * ny + c[1]) * nx + c[0]] < 0.0) != (d[0] < 0.0) {
        return true;
    }
    // One sign throughout, as in most bricks off the surface, needs no look at pairs.
    let negative = d.iter().filter(|v| **v < 0.0).count();
    if negative != 0 && negative != OWNED {
        for (axis, step) in [(0, 1), (1, BRICK), (2, BRICK * BRICK)] {
            for at in 0..OWNED - step {
                if (at >> (3 * axis) & 7) + 1 < BRICK && opposed(d[at], d[at + step], 1.0) {
                    return true;
                }
            }
        }
    }
    (0..3).any(|axis| {
        let step = 1 << (3 * axis);
        [1i64, -1].into_iter().any(|way| {
            let Some(other) = refined.neighbour(b, axis, way) else { return false };
            let e = &filled[other].distance;
            // Last layer of the lower brick against the first of the upper one.
            (0..OWNED).filter(|at| at >> (3 * axis) & 7 == 0).any(|at| {
                let last = at + (BRICK - 1) * step;
                if way > 0 { opposed(d[last], e[at], 1.0) } else { opposed(e[last], d[at], 1.0) }
            })
        })
    })
}

/// The smallest node of each node's connected set: neighbours `spacing` apart are connected when their balls of free
/// space meet, so that the surface cannot pass between them.
fn label(
    distance: &[f32],
    spacing: f32,
    steps: [usize; 3],
    has_next: impl Fn(usize, usize) -> bool,
) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..distance.len() as u32).collect();
    fn root(parent: &mut [u32], mut i: u32) -> u32 {
        while parent[i as usize] != i {
            parent[i as usize] = parent[parent[i as usize] as usize];
            i = parent[i as usize];
        }
        i
    }
    // Balls must overlap by more than rounding.
    let limit = spacing * 1.0001;
    for at in 0..distance.len() {
        for (axis, step) in steps.into_iter().enumerate() {
            if has_next(at, axis) && distance[at].abs() + distance[at + step].abs() > limit {
                let (a, b) = (root(&mut parent, at as u32), root(&mut parent, (at + step) as u32));
                parent[a.max(b) as usize] = a.min(b);
            }
        }
    }
    for i in 0..parent.len() as u32 {
        parent[i as usize] = root(&mut parent, i);
    }
    parent
}

/// For each connected set the node farthest from the surface: where the winding number is clearest.
fn heads(distance: &[f32], labels: &[u32]) -> Vec<usize> {
    let mut best: Vec<u32> = vec![u32::MAX; distance.len()];
    for (at, &l) in labels.iter().enumerate() {
        let b = &mut best[l as usize];
        if *b == u32::MAX || distance[at].abs() > distance[*b as usize].abs() {
            *b = at as u32;
        }
    }
    best.into_iter().filter(|b| *b != u32::MAX).map(|b| b as usize).collect()
}

fn apply(distance: &mut [f32], labels: &[u32], heads: &[usize], side: &[bool]) {
    let mut inside = vec![false; distance.len()];
    for (h, s) in heads.iter().zip(side) {
        inside[labels[*h] as usize] = *s;
    }
    for (d, l) in distance.iter_mut().zip(labels) {
        *d = if inside[*l as usize] { -d.abs() } else { d.abs() };
    }
}
