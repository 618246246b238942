//! Which side is inside: the choice of method, and the check of one method by another.
//!
//! Closed manifold surfaces take the side of the closest feature's pseudonormal, which the scan gives for free. It is
//! compared with the winding number at many background nodes; where the two disagree (several or nested parts,
//! self-intersections), or where the surface is not closed, the winding number decides: once for every connected
//! set of nodes that the surface cannot separate, so that no decision hangs on one ray or one noisy point.

use super::background::Far;
use super::brick::{NODES, Refined, SIDE, own};
use super::dipoles::Dipoles;
use super::fill::Info;
use super::lattice::Lattice;
use super::scan::{BRICK, OWNED};
use super::surface::Surface;
use crate::mesh::{Hole, HoleOutcome, Topology};
use crate::par;
use glam::DVec3;

/// Background nodes at which the pseudonormal is checked [1]. More finds smaller faults and costs about 5 µs each.
const CHECKS: usize = 256;
/// Winding numbers this near to 1/2 decide nothing.
const UNDECIDED: f64 = 0.2;

/// Two nodes one spacing apart are connected when their distances add up to more than this many spacings: their balls of
/// free space overlap by more than rounding.
const CONNECTED: f32 = 1.0001;

/// Two neighbours of opposite sign whose distances add up to more than this many spacings contradict each other.
pub(crate) const APART: f32 = 1.001;

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

/// How closed a surface is, its caps included.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    /// No boundary and no non-manifold edge.
    pub(crate) closed: bool,
    /// Every component is an open sheet.
    pub(crate) sheets_only: bool,
    /// More than one component: one may lie in the other, or cross it.
    pub(crate) several: bool,
    pub(crate) holes: Vec<Hole>,
}

impl Closure {
    /// Of a surface of `components` parts and its neighbours, in any order of triangles.
    pub(crate) fn of(topology: &Topology, holes: Vec<Hole>, components: usize) -> Self {
        let closed = topology.boundary_edges() == 0 && topology.nonmanifold_edges() == 0;
        let open: std::collections::BTreeSet<u32> =
            holes.iter().filter(|h| h.outcome == HoleOutcome::Sheet).map(|h| h.component).collect();
        let sheets_only = open.len() == components && holes.iter().all(|h| h.outcome == HoleOutcome::Sheet);
        Self { closed, sheets_only, several: components > 1, holes }
    }
}

/// The method for a surface, and the share of checks that agree with it.
pub(crate) fn choose(
    choice: SignChoice,
    surface: &Surface,
    closure: &Closure,
    dipoles: &Dipoles<'_>,
    lattice: &Lattice,
    background: &[f32],
    far: &Far,
) -> (SignMethod, f64) {
    let checks = check_points(background, far);
    let windings = par::map(checks.len(), |i| dipoles.winding(corner_position(lattice, checks[i])));
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
        SignChoice::Auto if closure.sheets_only => (SignMethod::Unsigned, 1.0),
        SignChoice::Auto
            if closure.closed && agreeing == checks.len() && !(closure.several && parts_overlap(surface)) =>
        {
            (SignMethod::Pseudonormal, 1.0)
        }
        SignChoice::Auto => (SignMethod::Winding, share(decided)),
    }
}

/// Exact background nodes to check: up to half of them inside, the rest outside, evenly spread, none at the surface. Far
/// ones have the sides of these.
fn check_points(background: &[f32], far: &Far) -> Vec<usize> {
    let mut out = Vec::with_capacity(CHECKS);
    for inside in [true, false] {
        let side: Vec<usize> = (0..background.len())
            .filter(|&i| far.is_exact(i) && (background[i] < 0.0) == inside && background[i].abs() > 0.5)
            .collect();
        let step = side.len().div_ceil(CHECKS / 2).max(1);
        out.extend(side.into_iter().step_by(step));
    }
    out
}

/// Whether two components' boxes overlap: then one may lie in the other, or cross it.
pub(crate) fn parts_overlap(surface: &Surface) -> bool {
    let mut parent: Vec<u32> = (0..surface.triangles.len() as u32).collect();
    for (t, n) in surface.neighbours.iter().enumerate() {
        for &other in n.iter().filter(|o| **o < Topology::NONMANIFOLD) {
            let (a, b) = (root(&mut parent, t as u32), root(&mut parent, other));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut boxes = std::collections::BTreeMap::new();
    for t in 0..surface.triangles.len() {
        let entry = boxes.entry(root(&mut parent, t as u32)).or_insert(crate::math::Aabb::EMPTY);
        *entry = surface.corners_of(t).into_iter().fold(*entry, crate::math::Aabb::grow);
    }
    // Sweep along x; many parts, few overlaps.
    let mut boxes: Vec<_> = boxes.into_values().collect();
    boxes.sort_by(|a, b| a.min.x.total_cmp(&b.min.x));
    boxes
        .iter()
        .enumerate()
        .any(|(i, a)| boxes[i + 1..].iter().take_while(|b| b.min.x <= a.max.x).any(|b| a.overlaps(*b)))
}

/// The smallest member of i's set; shortens the way for the next.
fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        parent[i as usize] = parent[parent[i as usize] as usize];
        i = parent[i as usize];
    }
    i
}

/// Position of background node `at` [voxels].
fn corner_position(lattice: &Lattice, at: usize) -> DVec3 {
    let [nx, ny, _] = lattice.corners();
    DVec3::new((at % nx) as f64, (at / nx % ny) as f64, (at / nx / ny) as f64) * BRICK as f64
}

/// Gives every node the side that the winding number says, once for each set of nodes that free space connects, across
/// bricks and background: where the winding number is undecided, neighbours still agree.
pub(crate) fn sign_all(
    values: &mut [f32],
    refined: &Refined,
    background: &mut [f32],
    lattice: &Lattice,
    inside: impl Fn(DVec3) -> bool + Sync + Send,
) {
    let [nx, ny, _] = lattice.corners();
    let coarse = label(background, BRICK as f32, [1, nx, nx * ny], |at, axis| match axis {
        0 => (at % nx) + 1 < nx,
        1 => (at / nx % ny) + 1 < ny,
        _ => at + nx * ny < background.len(),
    });
    let bricks = refined.cells.len();
    let brick = |values: &[f32], b: usize| own_nodes(&values[b * NODES..(b + 1) * NODES]);
    let fine: Vec<Vec<u32>> = par::map(bricks, |b| label_brick(&brick(values, b)));
    // One number for each node of the background, then OWNED for each brick: roots of local sets stand for them.
    let first = background.len();
    let number = |b: usize, at: usize| (first + b * OWNED + fine[b][at] as usize) as u32;
    let mut parent: Vec<u32> = (0..(first + bricks * OWNED) as u32).collect();
    let join = |parent: &mut [u32], a: u32, b: u32| {
        let (a, b) = (root(parent, a), root(parent, b));
        parent[a.max(b) as usize] = a.min(b);
    };
    for b in 0..bricks {
        let d = brick(values, b);
        let c = refined.cells[b].map(|v| v as usize);
        let corner = (c[2] * ny + c[1]) * nx + c[0];
        join(&mut parent, coarse[corner], number(b, 0));
        for axis in 0..3 {
            let across = (BRICK - 1) << (3 * axis);
            let next = corner + [1, nx, nx * ny][axis];
            if d[across].abs() + background[next].abs() > CONNECTED {
                join(&mut parent, coarse[next], number(b, across));
            }
            let Some(other) = refined.neighbour(b, axis, 1) else { continue };
            for at in face(axis) {
                if d[at + across].abs() + values[other * NODES + own(at)].abs() > CONNECTED {
                    join(&mut parent, number(b, at + across), number(other, at));
                }
            }
        }
    }
    // The node of each set that is farthest from the surface: there the winding number is clearest.
    let mut best: std::collections::BTreeMap<u32, (f32, DVec3)> = std::collections::BTreeMap::new();
    let mut offer = |set: u32, d: f32, p: DVec3| {
        let entry = best.entry(set).or_insert((-1.0, p));
        if d.abs() > entry.0 {
            *entry = (d.abs(), p);
        }
    };
    for (at, d) in background.iter().enumerate() {
        offer(root(&mut parent, coarse[at]), *d, corner_position(lattice, at));
    }
    for b in 0..bricks {
        for (at, d) in brick(values, b).iter().enumerate() {
            offer(root(&mut parent, number(b, at)), *d, refined.origin(b) + local(at));
        }
    }
    let (sets, heads): (Vec<u32>, Vec<DVec3>) = best.into_iter().map(|(set, (_, p))| (set, p)).unzip();
    let sides = par::map(heads.len(), |i| inside(heads[i]));
    let mut is_inside = vec![false; parent.len()];
    for (set, side) in sets.into_iter().zip(sides) {
        is_inside[set as usize] = side;
    }
    for i in 0..parent.len() as u32 {
        is_inside[i as usize] = is_inside[root(&mut parent, i) as usize];
    }
    for (d, set) in background.iter_mut().zip(&coarse) {
        *d = if is_inside[*set as usize] { -d.abs() } else { d.abs() };
    }
    par::chunks_mut(values, NODES, |b, brick| {
        for at in 0..OWNED {
            let d = &mut brick[own(at)];
            *d = if is_inside[number(b, at) as usize] { -d.abs() } else { d.abs() };
        }
    });
}

/// Own nodes of a brick on its lower face across `axis`.
fn face(axis: usize) -> impl Iterator<Item = usize> {
    let (row, column) = [(BRICK, BRICK * BRICK), (1, BRICK * BRICK), (1, BRICK)][axis];
    (0..BRICK * BRICK).map(move |i| (i % BRICK) * row + (i / BRICK) * column)
}

/// Coordinates of own node `at` in its brick.
fn local(at: usize) -> DVec3 {
    DVec3::new((at & 7) as f64, (at >> 3 & 7) as f64, (at >> 6) as f64)
}

/// A brick's own nodes alone.
fn own_nodes(brick: &[f32]) -> [f32; OWNED] {
    core::array::from_fn(|at| brick[own(at)])
}

/// Connected sets of a brick's own nodes.
fn label_brick(distance: &[f32; OWNED]) -> Vec<u32> {
    label(distance, 1.0, [1, BRICK, BRICK * BRICK], |at, axis| (at >> (3 * axis) & 7) + 1 < BRICK)
}

/// Gives each own node of a brick at `origin` [voxels] the side its winding number says.
fn sign_brick(brick: &mut [f32], origin: DVec3, inside: impl Fn(DVec3) -> bool) {
    let mut distance = own_nodes(brick);
    let labels = label_brick(&distance);
    let heads = heads(&distance, &labels);
    let side: Vec<bool> = heads.iter().map(|&h| inside(origin + local(h))).collect();
    apply(&mut distance, &labels, &heads, &side);
    for (at, d) in distance.into_iter().enumerate() {
        brick[own(at)] = d;
    }
}

/// Finds bricks and background nodes whose sides contradict each other (two neighbours of opposite sign with free space
/// between them: the pseudonormal failed at a fold or a self-intersection), and lets the winding number decide there,
/// until nothing contradicts. Returns how many bricks were decided anew.
pub(crate) fn repair(
    values: &mut [f32],
    infos: &mut [Info],
    refined: &Refined,
    background: &mut [f32],
    far: &Far,
    lattice: &Lattice,
    inside: impl Fn(DVec3) -> bool + Sync + Send,
) -> usize {
    // The exact nodes among themselves first: a wrong one must not decide for all that hang on it.
    repair_background(background, lattice, |n| far.is_exact(n), &inside);
    far.sign(background);
    repair_background(background, lattice, |_| true, &inside);
    let mut settled = vec![false; infos.len()];
    let mut faulty = par::map(infos.len(), |b| faults(values, infos, refined, background, lattice, b));
    loop {
        let dirty = par::map(infos.len(), |b| {
            let below = |axis: usize| {
                refined.neighbour(b, axis, -1).is_some_and(|other| faulty[other] >> (axis + 1) & 1 == 1)
            };
            !settled[b] && (faulty[b] != 0 || below(0) || below(1) || below(2))
        });
        if !dirty.contains(&true) {
            return settled.iter().filter(|s| **s).count();
        }
        par::zip_chunks_mut(values, NODES, infos, 1, |b, brick, info| {
            if dirty[b] {
                sign_brick(brick, refined.origin(b), &inside);
                info[0] = Info { excess: info[0].excess, ..Info::of(brick) };
            }
        });
        settled.iter_mut().zip(&dirty).for_each(|(s, d)| *s |= d);
        // Only these, and those that compare themselves with them, can have changed.
        for b in (0..dirty.len()).filter(|b| dirty[*b]) {
            let below = (0..3).filter_map(|axis| refined.neighbour(b, axis, -1));
            for b in below.chain([b]) {
                faulty[b] = faults(values, infos, refined, background, lattice, b);
            }
        }
    }
}

/// Whether two values `spacing` apart have opposite signs although the surface cannot be between them.
#[inline(always)]
fn opposed(a: f32, b: f32, spacing: f32) -> bool {
    (a < 0.0) != (b < 0.0) && a.abs() + b.abs() > spacing * APART
}

fn repair_background(
    background: &mut [f32],
    lattice: &Lattice,
    counts: impl Fn(usize) -> bool + Sync + Send,
    inside: impl Fn(DVec3) -> bool + Sync + Send,
) {
    let [nx, ny, nz] = lattice.corners();
    let mut settled = vec![false; background.len()];
    loop {
        let shared: &[f32] = background;
        let layers = par::map(nz, |k| {
            let mut dirty = Vec::new();
            for (axis, step) in [1, nx, nx * ny].into_iter().enumerate() {
                let (rows, columns) = (ny - usize::from(axis == 1), nx - usize::from(axis == 0));
                if axis == 2 && k + 1 == nz {
                    continue;
                }
                for j in 0..rows {
                    let row = (k * ny + j) * nx;
                    for at in row..row + columns {
                        let apart = opposed(shared[at], shared[at + step], BRICK as f32);
                        if apart && counts(at) && counts(at + step) {
                            dirty.extend([at, at + step].into_iter().filter(|n| !settled[*n]));
                        }
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
        let side = par::map(dirty.len(), |i| inside(corner_position(lattice, dirty[i])));
        for (at, s) in dirty.into_iter().zip(side) {
            background[at] = if s { -background[at].abs() } else { background[at].abs() };
            settled[at] = true;
        }
    }
}

/// Contradictions of brick `b`: bit 0 with itself or the corner it owns, bits 1 to 3 with its upper neighbour along
/// x, y and z.
#[inline(never)]
fn faults(
    values: &[f32],
    infos: &[Info],
    refined: &Refined,
    background: &[f32],
    lattice: &Lattice,
    b: usize,
) -> u8 {
    let info = &infos[b];
    let d = &values[b * NODES..(b + 1) * NODES];
    let [nx, ny, _] = lattice.corners();
    let c = refined.cells[b].map(|v| v as usize);
    let at_corner = (background[(c[2] * ny + c[1]) * nx + c[0]] < 0.0) != (d[0] < 0.0);
    let mut faults = u8::from(at_corner || info.opposed);
    for axis in 0..3 {
        let Some(other) = refined.neighbour(b, axis, 1) else { continue };
        // Pairs on opposite sides are few: only where the surface crosses the face.
        let mut pairs = info.faces[axis][1] ^ infos[other].faces[axis][0];
        let other = &values[other * NODES..(other + 1) * NODES];
        let last = (BRICK - 1) * [1, SIDE, SIDE * SIDE][axis];
        let (step, row) = [(SIDE, SIDE * SIDE), (1, SIDE * SIDE), (1, SIDE)][axis];
        while pairs != 0 {
            let n = pairs.trailing_zeros() as usize;
            pairs &= pairs - 1;
            let at = (n & 7) * step + (n >> 3) * row;
            faults |= u8::from(opposed(d[at + last], other[at], 1.0)) << (axis + 1);
        }
    }
    faults
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
    let limit = spacing * CONNECTED;
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
