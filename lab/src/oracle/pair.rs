//! The referee for two meshes: distance with its points, crossing and containment, in f64, by branch and bound.

use super::boxes::{Below, Boxes, Motion};
use super::tree::same_position;
use super::tri_tri::{common_point, meet, nearest};
use super::{Oracle, OracleError};
use glam::DVec3;
use palpate::math::Pose;
use palpate::mesh::RawMesh;
use rayon::prelude::*;

/// Exact answers about two triangle meshes under a relative pose. Frame A in all results [m].
///
/// Mesh B is moved to A's frame point by point, rounded to f64 (1e-16 of its size and distance). For the moved mesh,
/// crossing is decided without rounding and distances are exact to rounding.
#[derive(Debug)]
pub struct PairOracle {
    a: Side,
    b: Side,
}

#[derive(Debug)]
struct Side {
    mesh: Oracle,
    boxes: Boxes,
    /// One vertex of every connected part: where nothing crosses, a part is wholly inside or outside.
    parts: Vec<DVec3>,
}

/// How far apart two surfaces are, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    /// Distance of the surfaces, not signed; 0 where they share a point [m].
    pub distance: f64,
    /// The point of A that has it, in A's frame [m].
    pub point_a: DVec3,
    /// The point of B that has it, in A's frame [m].
    pub point_b: DVec3,
    /// A triangle of A that holds `point_a`.
    pub triangle_a: u32,
    /// A triangle of B that holds `point_b`.
    pub triangle_b: u32,
}

/// How two solids lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They share no point.
    Apart,
    /// Their surfaces share a point.
    Crossing,
    /// The surfaces share none, but B or a part of it is inside A.
    BInA,
    /// The surfaces share none, but A or a part of it is inside B.
    AInB,
}

impl PairOracle {
    /// Copies the meshes and builds two trees over each: about 2 microseconds and 300 bytes per triangle.
    pub fn new(a: &RawMesh, b: &RawMesh) -> Result<Self, OracleError> {
        Ok(Self::of(Oracle::new(&a.positions, &a.triangles)?, Oracle::new(&b.positions, &b.triangles)?))
    }

    /// The pair of two single referees.
    pub fn of(a: Oracle, b: Oracle) -> Self {
        Self { a: Side::new(a), b: Side::new(b) }
    }

    /// The referee of A alone.
    pub fn a(&self) -> &Oracle {
        &self.a.mesh
    }

    /// The referee of B alone.
    pub fn b(&self) -> &Oracle {
        &self.b.mesh
    }

    /// The distance of the surfaces and a pair of points that has it. Containment does not count: a part inside the other
    /// has a positive distance to its surface. A pose that is not finite gives NaN.
    ///
    /// Exact to rounding. Cost: milliseconds for 70,000 triangles each.
    pub fn distance(&self, a_from_b: &Pose) -> Separation {
        if !a_from_b.is_finite() {
            return Separation { distance: f64::NAN, ..NOTHING };
        }
        let motion = Motion::new(a_from_b);
        if let Some((triangle_a, triangle_b)) = self.first_crossing(&motion) {
            let (a, b) = self.triangles(&motion, triangle_a, triangle_b);
            let point = common_point(a, b);
            return Separation { distance: 0.0, point_a: point, point_b: point, triangle_a, triangle_b };
        }
        let mut best = NOTHING;
        let mut best_sq = f64::INFINITY;
        let gap_sq = |a: usize, b: usize| motion.gap_sq(self.a.boxes.node(a), self.b.boxes.node(b));
        let mut open = vec![(gap_sq(0, 0), 0, 0)];
        while let Some((lower_sq, a, b)) = open.pop() {
            if lower_sq >= best_sq {
                continue;
            }
            match self.split(a, b) {
                Step::Leaves(triangle_a, triangle_b) => {
                    let (a, b) = self.triangles(&motion, triangle_a, triangle_b);
                    let (distance_sq, point_a, point_b) = nearest(a, b);
                    if distance_sq < best_sq {
                        best_sq = distance_sq;
                        let distance = (point_a - point_b).length();
                        best = Separation { distance, point_a, point_b, triangle_a, triangle_b };
                    }
                }
                // The nearer pair is looked at first, so that it can rule out the other.
                Step::Pairs(pairs) => {
                    let [first, second] = pairs.map(|(a, b)| (gap_sq(a, b), a, b));
                    open.extend(if first.0 <= second.0 { [second, first] } else { [first, second] });
                }
            }
        }
        best
    }

    /// [`PairOracle::distance`] by a loop over all pairs of triangles: the referee's own referee.
    pub fn distance_brute(&self, a_from_b: &Pose) -> f64 {
        let motion = Motion::new(a_from_b);
        self.all_pairs().fold(f64::INFINITY, |best, (a, b)| {
            let (a, b) = self.triangles(&motion, a, b);
            best.min(if meet(a, b) { 0.0 } else { nearest(a, b).0.sqrt() })
        })
    }

    /// Whether the closed solids share a point: surfaces that cross or touch, or a part inside the other (winding number at
    /// least 1/2, so an open mesh should be capped). A pose that is not finite gives no.
    ///
    /// Cost: well below a millisecond where surfaces cross; else that and a winding number per part.
    pub fn intersects(&self, a_from_b: &Pose) -> bool {
        self.relation(a_from_b) != Relation::Apart
    }

    /// What [`PairOracle::intersects`] answers, and why.
    pub fn relation(&self, a_from_b: &Pose) -> Relation {
        if !a_from_b.is_finite() {
            return Relation::Apart;
        }
        let motion = Motion::new(a_from_b);
        let b_from_a = a_from_b.inverse();
        if self.first_crossing(&motion).is_some() {
            Relation::Crossing
        } else if self.b.parts.iter().any(|&p| self.a.holds(motion.point(p))) {
            Relation::BInA
        } else if self.a.parts.iter().any(|&p| self.b.holds(b_from_a.point(p))) {
            Relation::AInB
        } else {
            Relation::Apart
        }
    }

    /// Every pair of triangles (of A, of B) that share a point, sorted. Containment gives none.
    pub fn crossings(&self, a_from_b: &Pose) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        if a_from_b.is_finite() {
            self.visit_crossings(&Motion::new(a_from_b), |a, b| {
                found.push((a, b));
                true
            });
        }
        found.sort_unstable();
        found
    }

    /// [`PairOracle::crossings`] by a loop over all pairs of triangles.
    pub fn crossings_brute(&self, a_from_b: &Pose) -> Vec<(u32, u32)> {
        let motion = Motion::new(a_from_b);
        let met = |&(a, b): &(u32, u32)| {
            let (a, b) = self.triangles(&motion, a, b);
            meet(a, b)
        };
        self.all_pairs().filter(met).collect()
    }

    /// [`PairOracle::distance`] of every pose, in parallel, in the order given.
    pub fn distance_batch(&self, a_from_b: &[Pose]) -> Vec<Separation> {
        a_from_b.par_iter().map(|pose| self.distance(pose)).collect()
    }

    /// [`PairOracle::relation`] of every pose, in parallel, in the order given.
    pub fn relation_batch(&self, a_from_b: &[Pose]) -> Vec<Relation> {
        a_from_b.par_iter().map(|pose| self.relation(pose)).collect()
    }

    fn all_pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let (n, m) = (self.a.mesh.triangle_count() as u32, self.b.mesh.triangle_count() as u32);
        (0..n).flat_map(move |a| (0..m).map(move |b| (a, b)))
    }

    /// Both triangles in A's frame.
    fn triangles(&self, motion: &Motion, a: u32, b: u32) -> ([DVec3; 3], [DVec3; 3]) {
        (self.a.mesh.corners(a as usize), self.b.mesh.corners(b as usize).map(|p| motion.point(p)))
    }

    fn first_crossing(&self, motion: &Motion) -> Option<(u32, u32)> {
        let mut found = None;
        self.visit_crossings(motion, |a, b| {
            found = Some((a, b));
            false
        });
        found
    }

    /// Calls `visit` with every pair of triangles that meet until it says no more.
    fn visit_crossings(&self, motion: &Motion, mut visit: impl FnMut(u32, u32) -> bool) {
        let mut open = vec![(0, 0)];
        while let Some((a, b)) = open.pop() {
            if motion.gap_sq(self.a.boxes.node(a), self.b.boxes.node(b)) > 0.0 {
                continue;
            }
            match self.split(a, b) {
                Step::Leaves(a, b) => {
                    let (in_a, in_b) = self.triangles(motion, a, b);
                    if meet(in_a, in_b) && !visit(a, b) {
                        return;
                    }
                }
                Step::Pairs(pairs) => open.extend(pairs),
            }
        }
    }

    /// The larger box is split.
    fn split(&self, a: usize, b: usize) -> Step {
        let size = |side: &Side, n: usize| side.boxes.node(n).half.max_element();
        match (self.a.boxes.below(a), self.b.boxes.below(b)) {
            (Below::Triangle(t), Below::Triangle(u)) => Step::Leaves(t, u),
            (Below::Triangle(_), Below::Children(children)) => Step::Pairs(children.map(|c| (a, c))),
            (Below::Children(_), Below::Children(children)) if size(&self.a, a) < size(&self.b, b) => {
                Step::Pairs(children.map(|c| (a, c)))
            }
            (Below::Children(children), _) => Step::Pairs(children.map(|c| (c, b))),
        }
    }
}

enum Step {
    Leaves(u32, u32),
    Pairs([(usize, usize); 2]),
}

const NOTHING: Separation = Separation {
    distance: f64::INFINITY,
    point_a: DVec3::NAN,
    point_b: DVec3::NAN,
    triangle_a: 0,
    triangle_b: 0,
};

impl Side {
    fn new(mesh: Oracle) -> Self {
        let boxes = Boxes::build(mesh.triangle_count(), |t| mesh.corners(t));
        let parts = parts(&mesh);
        Self { mesh, boxes, parts }
    }

    fn holds(&self, p: DVec3) -> bool {
        let (low, high) = self.mesh.extent();
        p.cmpge(low).all() && p.cmple(high).all() && self.mesh.winding(p) >= 0.5
    }
}

/// One vertex of each set of triangles that hang together; vertices at one position count as one.
fn parts(mesh: &Oracle) -> Vec<DVec3> {
    let mut parent = same_position(&mesh.positions);
    fn root(parent: &mut [u32], mut v: u32) -> u32 {
        while parent[v as usize] != v {
            let next = parent[parent[v as usize] as usize];
            (parent[v as usize], v) = (next, next);
        }
        v
    }
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| root(&mut parent, v));
        let least = a.min(b).min(c);
        [a, b, c].into_iter().for_each(|v| parent[v as usize] = least);
    }
    let mut roots: Vec<u32> = mesh.triangles.iter().map(|t| root(&mut parent, t[0])).collect();
    roots.sort_unstable();
    roots.dedup();
    // The lowest vertex of a set is its root, and a triangle or its twin at the same position uses it.
    roots.into_iter().map(|v| mesh.positions[v as usize]).collect()
}

#[cfg(test)]
#[path = "pair_tests.rs"]
mod tests;
