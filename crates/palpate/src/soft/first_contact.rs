//! When two meshes first touch while every vertex goes straight from where it is to where it will be.
//!
//! Based on: bergen97 for the boxes, here of whole motions; `continuous.rs` for vertices with faces and edges with edges.
//! Differs: a vertex with a face, and an edge with an edge, is asked about once, however many triangles share them; meshes that meet at the
//! start are told by the exact test of triangles, which also sees what has gone through.

use super::continuous::{ContinuousParams, Impact, edge_edge, vertex_face};
use super::mesh::is_place;
use super::pairs::between;
use super::refit::{Tree, Walk, join, walk};
use super::{Soft, SoftError, SoftMesh, SoftParams};
use crate::par;
use glam::{DVec3, Vec4};

/// What touches first.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// Triangles of A and B that meet at the start.
    Triangles([u32; 2]),
    /// A vertex of A and a triangle of B.
    VertexFace([u32; 2]),
    /// A triangle of A and a vertex of B.
    FaceVertex([u32; 2]),
    /// Two edges, by their vertices, the smaller number first: one of A, and one of B.
    Edges([u32; 2], [u32; 2]),
}

/// The first contact of two meshes on their way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstContact {
    /// A lower bound of the time of the first contact, 0 to 1: there is none before [1].
    pub time: f64,
    /// Where, in the frame of the meshes, at that time [m].
    pub point: DVec3,
    /// What touches: of several at one time the first by kind and number.
    pub touch: Touch,
    /// Whether what touches is certain to. If not, a search came to its end, and there may be no contact: see [`Impact::exact`].
    pub exact: bool,
}

/// Memory of searches along motions.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    trees: [Tree; 2],
    /// Where the vertices of each mesh will be, as packed positions; not finite for those without a place.
    ends: [Vec<Vec4>; 2],
    stack: Vec<[u32; 4]>,
    leaves: Vec<[u32; 2]>,
    /// What may touch, each once.
    touches: Vec<Touch>,
}

impl Soft {
    /// When two meshes first touch while each vertex goes straight and evenly to its place in `a_end` and `b_end` [m]; none: they do not.
    ///
    /// Conservative: a contact is never missed, however far and fast it goes, and meshes that go through each other between two steps are
    /// told. One that meets the other now has time 0. Of triangles that take part, and whose vertices have a place at the end too. As
    /// many places as vertices are needed. About 10 ns a triangle, and 0.2 µs for each vertex and face, or edge and edge, whose ways
    /// are near each other.
    ///
    /// ```
    /// use glam::DVec3;
    /// use palpate::mesh::samples;
    /// use palpate::soft::{Soft, SoftMesh};
    ///
    /// let ball = samples::sphere(1.0, 3);
    /// let a = SoftMesh::new(ball.positions.clone(), ball.triangles.clone())?;
    /// let b = SoftMesh::new(ball.positions.iter().map(|p| *p + DVec3::X * 4.0).collect(), ball.triangles)?;
    /// // B flies to the other side of A, past it in one step.
    /// let end: Vec<DVec3> = b.positions().iter().map(|p| *p - DVec3::X * 8.0).collect();
    /// let hit = Soft::new().first_contact(&a, a.positions(), &b, &end, &Default::default())?.ok_or("nothing")?;
    /// assert!((hit.time - 0.25).abs() < 0.01 && (hit.point.x - 1.0).abs() < 0.05);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first_contact(
        &mut self,
        a: &SoftMesh,
        a_end: &[DVec3],
        b: &SoftMesh,
        b_end: &[DVec3],
        params: &ContinuousParams,
    ) -> Result<Option<FirstContact>, SoftError> {
        check(a, a_end)?;
        check(b, b_end)?;
        Ok(self.first(a, a_end, b, b_end, false, params))
    }

    /// When a mesh first touches itself on its way to `end` [m]: as [`Soft::first_contact`], of what has no vertex in common.
    pub fn own_first_contact(
        &mut self,
        mesh: &SoftMesh,
        end: &[DVec3],
        params: &ContinuousParams,
    ) -> Result<Option<FirstContact>, SoftError> {
        check(mesh, end)?;
        Ok(self.first(mesh, end, mesh, end, true, params))
    }

    fn first(
        &mut self,
        a: &SoftMesh,
        a_end: &[DVec3],
        b: &SoftMesh,
        b_end: &[DVec3],
        own: bool,
        params: &ContinuousParams,
    ) -> Option<FirstContact> {
        let ways = [Way { mesh: a, end: a_end }, Way { mesh: b, end: b_end }];
        let start = SoftParams::default();
        let met = if own { self.own_pairs(a, &start) } else { self.pairs(a, b, &start) };
        let moves = |[x, y]: &&[u32; 2]| ways[0].takes_part(*x) && ways[1].takes_part(*y);
        if let Some([x, y]) = met.list.iter().find(moves).copied() {
            let point = a.corners(x).zip(b.corners(y)).and_then(|(s, t)| super::meeting(&s, &t));
            let point = point.and_then(|m| m.points().first().copied()).or(a.corners(x).map(|s| s[0]))?;
            return Some(FirstContact { time: 0.0, point, touch: Touch::Triangles([x, y]), exact: true });
        }
        let separation = params.separation.max(0.0);
        self.sweep.collect(&ways, own, separation);
        let touches = &self.sweep.touches;
        let asked = par::map(touches.len(), |i| ask(&ways, touches[i], params));
        let hits = asked.into_iter().zip(touches).filter_map(|(hit, touch)| hit.map(|h| (h, *touch)));
        let first = hits.reduce(|x, y| if (y.0.time, y.1) < (x.0.time, x.1) { y } else { x });
        first.map(|(hit, touch)| FirstContact {
            time: hit.time,
            point: place(&ways, touch, &hit),
            touch,
            exact: hit.exact,
        })
    }
}

fn check(mesh: &SoftMesh, end: &[DVec3]) -> Result<(), SoftError> {
    let has = mesh.positions().len();
    if end.len() == has { Ok(()) } else { Err(SoftError::Length { has, given: end.len() }) }
}

/// A mesh and where its vertices go.
#[derive(Clone, Copy)]
struct Way<'a> {
    mesh: &'a SoftMesh,
    end: &'a [DVec3],
}

impl Way<'_> {
    fn vertex(&self, v: u32) -> Option<[DVec3; 2]> {
        Some([*self.mesh.positions().get(v as usize)?, *self.end.get(v as usize)?])
    }

    fn triangle(&self, t: u32) -> Option<[u32; 3]> {
        self.mesh.triangles().get(t as usize).copied()
    }

    /// Whether a triangle takes part, and its vertices have a place at the end.
    fn takes_part(&self, t: u32) -> bool {
        let ends = |v: &u32| self.end.get(*v as usize).is_some_and(|p| is_place(*p));
        self.mesh.takes_part(t) && self.triangle(t).is_some_and(|t| t.iter().all(ends))
    }

    /// Where the vertices will be, relative to the mesh's origin [m].
    fn pack(&self, out: &mut Vec<Vec4>) {
        let origin = self.mesh.origin();
        out.clear();
        out.extend(
            self.end.iter().map(
                |p| {
                    if is_place(*p) { (*p - origin).as_vec3().extend(0.0) } else { Vec4::NAN }
                },
            ),
        );
    }
}

/// The box of a way, grown by what rounding can have done to its end, also once it is moved by `shift`; none if it leads to no place. Of
/// each vertex for itself: one that flies off does not make the others' boxes large.
fn way_box(start: Vec4, end: Vec4, shift: f32) -> Option<[Vec4; 2]> {
    let grown = Vec4::splat(4.0 * f32::EPSILON * (end.abs().max_element() + shift));
    Some([start.min(end) - grown, start.max(end) + grown]).filter(|_| end.is_finite())
}

impl Sweep {
    /// Sets `touches` to all that may touch: the boxes of their ways meet.
    fn collect(&mut self, ways: &[Way<'_>; 2], own: bool, separation: f64) {
        let Self { trees, ends, stack, leaves, touches } = self;
        let [a, b] = ways.map(|w| w.mesh);
        touches.clear();
        leaves.clear();
        stack.clear();
        let (shift, slack) = between(a, b);
        let far = shift.abs().max_element();
        for (i, way) in ways.iter().enumerate().take(if own { 1 } else { 2 }) {
            way.pack(&mut ends[i]);
            let (start, end) = (way.mesh.packed(), &ends[i]);
            trees[i].sweep(way.mesh, |v| way_box(*start.get(v)?, *end.get(v)?, far));
        }
        let [one, other] = &*trees;
        let other = if own { one } else { other };
        let slack = 2.0 * slack + (separation as f32) * (1.0 + 16.0 * f32::EPSILON);
        let (Some([ka, i]), Some([kb, j])) = (one.root(), other.root()) else { return };
        stack.push([ka, i, kb, j]);
        walk(&mut Walk { a: one, b: other, shift, slack, own, until: usize::MAX, stack, leaves, visits: 0 });
        // Of triangles whose own boxes meet.
        let boxes = |way: usize, t: u32, by: Vec4| {
            let (start, end) = (ways[way].mesh.packed(), &ends[if own { 0 } else { way }]);
            let all = ways[way].triangle(t)?.map(|v| v as usize);
            let at = |v: usize| way_box(*start.get(v)?, *end.get(v)?, far);
            let [low, high] = join(join(at(all[0])?, at(all[1])?), at(all[2])?);
            Some([low + by, high + by])
        };
        let grown = Vec4::splat(slack);
        for [i, j] in leaves.iter() {
            for x in one.leaf(*i as usize).iter().filter(|x| ways[0].takes_part(**x)) {
                let Some([low, high]) = boxes(0, *x, shift) else { continue };
                let (low, high) = (low - grown, high + grown);
                for y in other.leaf(*j as usize).iter().filter(|y| ways[1].takes_part(**y)) {
                    if own && (x == y || (i == j && y < x)) {
                        continue;
                    }
                    let meets = boxes(1, *y, Vec4::ZERO)
                        .is_some_and(|[l, h]| low.cmple(h).all() && l.cmple(high).all());
                    if meets {
                        add(ways, *x, *y, own, touches);
                    }
                }
            }
        }
        par::sort_unstable(touches);
        touches.dedup();
    }
}

/// Adds what can touch of two triangles: 6 times a vertex and a face, 9 times two edges; of one mesh without those that share a vertex.
fn add(ways: &[Way<'_>; 2], x: u32, y: u32, own: bool, out: &mut Vec<Touch>) {
    let (Some(s), Some(t)) = (ways[0].triangle(x), ways[1].triangle(y)) else { return };
    out.extend(s.iter().filter(|v| !own || !t.contains(v)).map(|v| Touch::VertexFace([*v, y])));
    let of_b = t.iter().filter(|v| !own || !s.contains(v));
    // Of one mesh there is one kind only.
    out.extend(of_b.map(|v| if own { Touch::VertexFace([*v, x]) } else { Touch::FaceVertex([x, *v]) }));
    for i in 0..3 {
        let e = sorted([s[i], s[(i + 1) % 3]]);
        for j in 0..3 {
            let f = sorted([t[j], t[(j + 1) % 3]]);
            if own && e.iter().any(|v| f.contains(v)) {
                continue;
            }
            out.push(if own && f < e { Touch::Edges(f, e) } else { Touch::Edges(e, f) });
        }
    }
}

fn sorted([a, b]: [u32; 2]) -> [u32; 2] {
    if b < a { [b, a] } else { [a, b] }
}

/// Places at the start and at the end of what may touch: a vertex and a face, or the ends of two edges.
fn places(ways: &[Way<'_>; 2], touch: Touch) -> Option<[[DVec3; 4]; 2]> {
    let [a, b] = ways;
    let of = |v: [Option<[DVec3; 2]>; 4]| {
        let [p, q, r, s] = [v[0]?, v[1]?, v[2]?, v[3]?];
        Some([[p[0], q[0], r[0], s[0]], [p[1], q[1], r[1], s[1]]])
    };
    match touch {
        Touch::Triangles(_) => None,
        Touch::VertexFace([v, t]) => {
            let t = b.triangle(t)?;
            of([a.vertex(v), b.vertex(t[0]), b.vertex(t[1]), b.vertex(t[2])])
        }
        Touch::FaceVertex([t, v]) => {
            let t = a.triangle(t)?;
            of([b.vertex(v), a.vertex(t[0]), a.vertex(t[1]), a.vertex(t[2])])
        }
        Touch::Edges(e, f) => of([a.vertex(e[0]), a.vertex(e[1]), b.vertex(f[0]), b.vertex(f[1])]),
    }
}

fn ask(ways: &[Way<'_>; 2], touch: Touch, params: &ContinuousParams) -> Option<Impact> {
    let [start, end] = places(ways, touch)?;
    match touch {
        Touch::Edges(..) => edge_edge(&start, &end, params),
        _ => vertex_face(&start, &end, params),
    }
}

/// Where something touches, on the first of the two: the vertex, or a place on the first edge.
fn place(ways: &[Way<'_>; 2], touch: Touch, hit: &Impact) -> DVec3 {
    let Some([start, end]) = places(ways, touch) else { return DVec3::ZERO };
    let at = |i: usize| start[i] + (end[i] - start[i]) * hit.time;
    match touch {
        Touch::Edges(..) => at(0) + (at(1) - at(0)) * hit.coordinates[0],
        _ => at(0),
    }
}

#[cfg(test)]
#[path = "first_contact_tests.rs"]
mod tests;
