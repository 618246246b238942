//! GJK with cut: lists of triangles that shrink to where they can meet.
//!
//! Based on: Hatab, Kheddar, 2006, GJK for deformable object collision detection, algorithms 3.1, 4.1, 4.2 and 5.1 [hatab06].
//! Differs: the direction is updated by line 15 of algorithm 4.2 alone (line 10 updates it too), and the search ends where support
//! vertices coincide; the second list is cut by what lies after, not before; both lists are split before it is decided which to check;
//! cuts are widened by what rounding can do, so that no pair that touches is lost; leaves have eight triangles, compared at once. Only
//! vertices that remaining triangles use are looked at.

use super::SoftMesh;
use super::leaf::{Eight, Which, candidates};
use super::pairs::Stats;
use super::split::split;
use crate::simd::{LANES, Lanes, dispatch};
use glam::{Vec3, Vec4, Vec4Swizzles};

/// Cuts along one direction after another, at most. More: lists that do not shrink are looked at again and again.
const CUTS: usize = 6;
/// Lists are split at most so often: halves of what can be numbered are empty long before.
const DEPTH: usize = 64;

/// A part of the lists: ranges of vertices and of triangles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pub(super) vertices: [usize; 2],
    pub(super) triangles: [usize; 2],
}

impl Part {
    pub(super) fn len(&self) -> usize {
        self.triangles[1] - self.triangles[0]
    }
}

/// Lists of vertices and triangles, used like a stack.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Packed positions, those of A moved to B's.
    pub(super) vertices: Vec<Vec4>,
    /// Three places among the part's vertices, and the triangle's number.
    pub(super) triangles: Vec<[u32; 4]>,
    /// New places of a part's vertices.
    map: Vec<u32>,
    /// Keys that a split sorts by.
    pub(super) keys: Vec<(f32, u32)>,
    pub(super) sorted: Vec<(f32, u32)>,
}

/// No new place.
const NONE: u32 = u32::MAX;

impl Lists {
    /// Adds triangles, with the vertices they use, as a part of its own; from a list of `count` vertices.
    pub(super) fn add(
        &mut self,
        count: usize,
        at: impl Fn(&[Vec4], usize) -> Vec4,
        mut next: impl FnMut(&[[u32; 4]]) -> Option<[u32; 4]>,
    ) -> Part {
        let start = [self.vertices.len(), self.triangles.len()];
        self.map.clear();
        self.map.resize(count, NONE);
        while let Some([a, b, c, id]) = next(&self.triangles) {
            let mut place = |v: u32| {
                let Some(new) = self.map.get_mut(v as usize) else { return 0 };
                if *new == NONE {
                    *new = (self.vertices.len() - start[0]) as u32;
                    let p = at(&self.vertices, v as usize);
                    self.vertices.push(p);
                }
                *new
            };
            let corners = [place(a), place(b), place(c)];
            self.triangles.push([corners[0], corners[1], corners[2], id]);
        }
        Part { vertices: [start[0], self.vertices.len()], triangles: [start[1], self.triangles.len()] }
    }

    /// Those triangles of a part for which `keep` holds, as a part of its own.
    pub(super) fn keep(&mut self, part: &Part, mut keep: impl FnMut(usize, [u32; 4]) -> bool) -> Part {
        let [mut i, end] = part.triangles;
        let first = part.vertices[0];
        let count = part.vertices[1] - first;
        self.add(
            count,
            |all, v| all[first + v],
            |all| {
                while i < end {
                    let t = all[i];
                    i += 1;
                    if keep(i - 1, t) {
                        return Some(t);
                    }
                }
                None
            },
        )
    }

    pub(super) fn truncate(&mut self, to: [usize; 2]) {
        self.vertices.truncate(to[0]);
        self.triangles.truncate(to[1]);
    }

    pub(super) fn lengths(&self) -> [usize; 2] {
        [self.vertices.len(), self.triangles.len()]
    }
}

/// The memory of a search by cuts.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    lists: Lists,
    /// Of the vertices along a direction.
    dots: [Vec<f32>; 2],
}

/// What a search by cuts is about.
pub(super) struct Search<'a> {
    pub(super) a: &'a SoftMesh,
    pub(super) b: &'a SoftMesh,
    /// From A's packed positions to B's, and how far off a corner can be along an axis [m].
    pub(super) shift: Vec4,
    pub(super) slack: f32,
    /// The largest coordinate there is [m].
    pub(super) far: f32,
    /// Triangles of a leaf, at most.
    pub(super) leaf: usize,
    /// A list is cut where the part of its extent that overlaps is at most this [1].
    pub(super) threshold: f32,
    /// Whether it is one mesh.
    pub(super) own: bool,
}

impl Search<'_> {
    /// How far a projection along a unit direction can be off [m].
    fn doubt(&self) -> f32 {
        // Two corners along three axes, and the rounding of products and sums.
        4.0 * self.slack + 8.0 * f32::EPSILON * self.far
    }
}

/// What the first look at two lists says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Look {
    /// A direction along which they are apart.
    Apart(Vec3),
    /// Vertices of each that are not before, or after, all of the other along the first direction.
    Overlap([usize; 2]),
}

/// The smallest and the largest of projections, and whose they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) low: f32,
    pub(super) high: f32,
    pub(super) lowest: u32,
    pub(super) highest: u32,
}

impl Cutter {
    /// A few steps of GJK on all vertices, without cuts: whether a direction parts the hulls.
    pub(super) fn look(&mut self, search: &Search<'_>, steps: usize, stats: &mut Stats) -> Look {
        let [a, b] = [search.a.packed(), search.b.packed()];
        let Some(mut direction) = first_direction(search) else { return Look::Apart(Vec3::X) };
        let mut least: Option<[usize; 2]> = None;
        for _ in 0..steps {
            let by = search.shift.xyz().dot(direction);
            let of_a = project(a, direction, &mut self.dots[0]);
            let of_b = project(b, direction, &mut self.dots[1]);
            stats.projected += a.len() + b.len();
            if of_a.high + by < of_b.low - search.doubt() {
                return Look::Apart(direction);
            }
            let after = count_above(&self.dots[0], of_b.low - by - search.doubt());
            let before = self.dots[1].len() - count_above(&self.dots[1], of_a.high + by + search.doubt());
            if least.is_none_or(|[x, y]| after + before < x + y) {
                least = Some([after, before]);
            }
            let (p, q) = (a.get(of_a.highest as usize), b.get(of_b.lowest as usize));
            let (Some(p), Some(q)) = (p, q) else { break };
            let Some(next) = reflected(direction, (*p + search.shift).xyz(), q.xyz()) else { break };
            direction = next;
        }
        Look::Overlap(least.unwrap_or([a.len(), b.len()]))
    }

    /// Every pair of triangles that may meet.
    pub(super) fn run(&mut self, search: &Search<'_>, out: &mut Vec<[u32; 2]>, stats: &mut Stats) {
        self.lists.truncate([0, 0]);
        if search.own {
            let all = self.whole(search.a, Vec4::ZERO);
            self.own(search, all, 0, out, stats);
            return;
        }
        let Some(direction) = first_direction(search) else { return };
        let Some((a, b)) = self.first_cut(search, direction, stats) else { return };
        self.check(search, [a, b], direction, 0, out, stats);
    }

    /// All of a mesh's triangles that take part.
    fn whole(&mut self, mesh: &SoftMesh, shift: Vec4) -> Part {
        let (packed, usable) = (mesh.packed(), mesh.usable());
        let mut triangles = (0..).zip(mesh.triangles()).filter(|(i, _)| usable[*i as usize]);
        let at = |_: &[Vec4], v: usize| packed[v] + shift;
        let next = |_: &[[u32; 4]]| triangles.next().map(|(i, t): (u32, &[u32; 3])| [t[0], t[1], t[2], i]);
        self.lists.add(packed.len(), at, next)
    }

    /// The first cut, from the meshes themselves; none if it leaves nothing.
    fn first_cut(&mut self, search: &Search<'_>, direction: Vec3, stats: &mut Stats) -> Option<(Part, Part)> {
        let (a, b) = (search.a, search.b);
        let by = search.shift.xyz().dot(direction);
        let of_a = project(a.packed(), direction, &mut self.dots[0]);
        let of_b = project(b.packed(), direction, &mut self.dots[1]);
        stats.projected += a.packed().len() + b.packed().len();
        stats.cut += a.triangles().len() + b.triangles().len();
        let from = if cuts(search, &of_a, of_b.low - by, of_a.high) { of_b.low - by } else { of_a.low };
        let to = if cuts(search, &of_b, of_b.low, of_a.high + by) { of_a.high + by } else { of_b.high };
        let (from, to) = (from - search.doubt(), to + search.doubt());
        let [dots_a, dots_b] = [&self.dots[0], &self.dots[1]];
        let kept = |mesh: &SoftMesh, lists: &mut Lists, shift: Vec4, keep: &dyn Fn(&[u32; 3]) -> bool| {
            let (packed, usable) = (mesh.packed(), mesh.usable());
            let mut all = (0..).zip(mesh.triangles());
            let at = |_: &[Vec4], v: usize| packed[v] + shift;
            let next = |_: &[[u32; 4]]| {
                all.find(|(i, t): &(u32, &[u32; 3])| usable[*i as usize] && keep(t))
                    .map(|(i, t)| [t[0], t[1], t[2], i])
            };
            lists.add(packed.len(), at, next)
        };
        let most = |t: &[u32; 3]| {
            let d = |v: u32| dots_a[v as usize];
            d(t[0]).max(d(t[1])).max(d(t[2])) >= from
        };
        let least = |t: &[u32; 3]| {
            let d = |v: u32| dots_b[v as usize];
            d(t[0]).min(d(t[1])).min(d(t[2])) <= to
        };
        let part_a = kept(a, &mut self.lists, search.shift, &most);
        if part_a.len() == 0 {
            return None;
        }
        let part_b = kept(b, &mut self.lists, Vec4::ZERO, &least);
        (part_b.len() > 0).then_some((part_a, part_b))
    }

    /// Cuts two parts along directions until they do not shrink, then splits them and checks the halves.
    fn check(
        &mut self,
        search: &Search<'_>,
        [mut a, mut b]: [Part; 2],
        mut direction: Vec3,
        depth: usize,
        out: &mut Vec<[u32; 2]>,
        stats: &mut Stats,
    ) {
        let top = self.lists.lengths();
        let doubt = search.doubt();
        for _ in 0..CUTS {
            if a.len() <= search.leaf && b.len() <= search.leaf {
                break;
            }
            let of_a =
                project(&self.lists.vertices[a.vertices[0]..a.vertices[1]], direction, &mut self.dots[0]);
            let of_b =
                project(&self.lists.vertices[b.vertices[0]..b.vertices[1]], direction, &mut self.dots[1]);
            stats.projected += self.dots[0].len() + self.dots[1].len();
            if of_a.high < of_b.low - doubt {
                self.lists.truncate(top);
                return;
            }
            let before = [a.len(), b.len()];
            let p = self.lists.vertices[a.vertices[0] + of_a.highest as usize].xyz();
            let q = self.lists.vertices[b.vertices[0] + of_b.lowest as usize].xyz();
            if cuts(search, &of_a, of_b.low, of_a.high) && of_a.low < of_b.low - doubt {
                let (from, dots) = (of_b.low - doubt, &self.dots[0]);
                a = self.lists.keep(&a, |_, t| {
                    let d = |i: usize| dots[t[i] as usize];
                    d(0).max(d(1)).max(d(2)) >= from
                });
                stats.cut += before[0];
            }
            if cuts(search, &of_b, of_b.low, of_a.high) && of_b.high > of_a.high + doubt {
                let (to, dots) = (of_a.high + doubt, &self.dots[1]);
                b = self.lists.keep(&b, |_, t| {
                    let d = |i: usize| dots[t[i] as usize];
                    d(0).min(d(1)).min(d(2)) <= to
                });
                stats.cut += before[1];
            }
            if a.len() == 0 || b.len() == 0 {
                self.lists.truncate(top);
                return;
            }
            if a.len() == before[0] && b.len() == before[1] {
                break;
            }
            let Some(next) = reflected(direction, p, q) else { break };
            direction = next;
        }
        self.halves(search, [a, b], direction, depth, out, stats);
        self.lists.truncate(top);
    }

    /// Splits what is larger than a leaf, and checks each piece of one with each of the other.
    fn halves(
        &mut self,
        search: &Search<'_>,
        parts: [Part; 2],
        direction: Vec3,
        depth: usize,
        out: &mut Vec<[u32; 2]>,
        stats: &mut Stats,
    ) {
        if parts.iter().all(|p| p.len() <= search.leaf) || depth >= DEPTH {
            self.leaves(search, parts, out, stats);
            return;
        }
        let pieces = parts.map(|part| {
            let whole = part.len() <= search.leaf;
            stats.cut += if whole { 0 } else { part.len() };
            if whole { [part, Part::default()] } else { split(&mut self.lists, &part, direction) }
        });
        for b in pieces[1] {
            for a in pieces[0] {
                if a.len() > 0 && b.len() > 0 {
                    let between = self.middle(&b) - self.middle(&a);
                    let direction = between.try_normalize().unwrap_or(direction);
                    self.check(search, [a, b], direction, depth + 1, out, stats);
                }
            }
        }
    }

    /// The middle of the box of a part.
    fn middle(&self, part: &Part) -> Vec3 {
        let own = &self.lists.vertices[part.vertices[0]..part.vertices[1]];
        let (low, high) = own
            .iter()
            .fold((Vec4::INFINITY, Vec4::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
        (0.5 * (low + high)).xyz()
    }

    /// Every triangle of one part with every one of the other, eight by eight.
    fn leaves(&mut self, search: &Search<'_>, parts: [Part; 2], out: &mut Vec<[u32; 2]>, stats: &mut Stats) {
        let [a, b] = parts.map(|p| p.triangles);
        let mut ids = [0; LANES];
        let mut eight = |lists: &Lists, from: usize, to: usize, mesh: &SoftMesh, shift: Vec4| {
            let some = &lists.triangles[from..to.min(from + LANES)];
            for (id, t) in ids.iter_mut().zip(some) {
                *id = t[3];
            }
            Eight::new(mesh, &ids[..some.len()], shift, search.slack)
        };
        for i in (a[0]..a[1]).step_by(LANES) {
            let of_a = eight(&self.lists, i, a[1], search.a, search.shift);
            for j in (b[0]..b[1]).step_by(LANES) {
                let of_b = eight(&self.lists, j, b[1], search.b, Vec4::ZERO);
                candidates(&of_a, &of_b, search.slack, Which::All, out);
                stats.leaves += 1;
            }
        }
    }

    /// Pairs within one part.
    fn own(
        &mut self,
        search: &Search<'_>,
        part: Part,
        depth: usize,
        out: &mut Vec<[u32; 2]>,
        stats: &mut Stats,
    ) {
        if part.len() <= search.leaf.min(LANES) || depth >= DEPTH {
            let ids: Vec<u32> =
                self.lists.triangles[part.triangles[0]..part.triangles[1]].iter().map(|t| t[3]).collect();
            for (i, first) in ids.chunks(LANES).enumerate() {
                let a = Eight::new(search.a, first, Vec4::ZERO, search.slack);
                candidates(&a, &a, search.slack, Which::Own, out);
                for second in ids.chunks(LANES).skip(i + 1) {
                    let b = Eight::new(search.a, second, Vec4::ZERO, search.slack);
                    candidates(&a, &b, search.slack, Which::All, out);
                    stats.leaves += 1;
                }
                stats.leaves += 1;
            }
            return;
        }
        let top = self.lists.lengths();
        stats.cut += part.len();
        let [a, b] = split(&mut self.lists, &part, Vec3::ZERO);
        self.own(search, a, depth + 1, out, stats);
        self.own(search, b, depth + 1, out, stats);
        if a.len() > 0 && b.len() > 0 {
            let between = self.middle(&b) - self.middle(&a);
            let direction = between.try_normalize().unwrap_or(Vec3::X);
            self.check(search, [a, b], direction, depth + 1, out, stats);
        }
        self.lists.truncate(top);
    }
}

/// Whether a list is worth a cut: by how much of its extent is between where the other begins and where it ends.
fn cuts(search: &Search<'_>, own: &Extent, from: f32, to: f32) -> bool {
    search.threshold >= 1.0 || to - from <= search.threshold * (own.high - own.low)
}

/// From the middle of one to that of the other; none if one is empty.
fn first_direction(search: &Search<'_>) -> Option<Vec3> {
    if search.a.packed().is_empty() || search.b.packed().is_empty() {
        return None;
    }
    let middle = |m: &SoftMesh| m.bounds()[0] + m.bounds()[1];
    let between = 0.5 * (middle(search.b) - middle(search.a)) - search.shift;
    Some(between.xyz().try_normalize().unwrap_or(Vec3::X))
}

/// Line 15 of algorithm 4.2: the direction mirrored at the plane across the way between the support vertices; none where they coincide,
/// or where it would not change.
fn reflected(direction: Vec3, p: Vec3, q: Vec3) -> Option<Vec3> {
    let way = (p - q).try_normalize()?;
    let next = (direction - way * (2.0 * way.dot(direction))).try_normalize()?;
    (next.dot(direction) < 0.999_999).then_some(next)
}

/// Projections of vertices along a direction, and their extent; infinite the other way round without vertices.
pub(super) fn project(vertices: &[Vec4], direction: Vec3, dots: &mut Vec<f32>) -> Extent {
    dots.clear();
    dots.resize(vertices.len().next_multiple_of(LANES), 0.0);
    let mut extent = Extent { low: f32::INFINITY, high: f32::NEG_INFINITY, lowest: 0, highest: 0 };
    project_lanes(bytemuck::cast_slice(vertices), direction.to_array(), dots, &mut extent);
    dots.truncate(vertices.len());
    extent
}

dispatch! {
    fn project_lanes / project_plain =
        project_kernel(vertices: &[[f32; 4]], direction: [f32; 3], dots: &mut [f32], extent: &mut Extent)
}

#[inline(always)]
fn project_kernel<L: Lanes>(
    vertices: &[[f32; 4]],
    direction: [f32; 3],
    dots: &mut [f32],
    extent: &mut Extent,
) {
    let d = [L::splat(direction[0]), L::splat(direction[1]), L::splat(direction[2])];
    let (eights, rest) = vertices.as_chunks::<LANES>();
    let (dots, _) = dots.as_chunks_mut::<LANES>();
    let mut last = [[0.0; 4]; LANES];
    if let Some(end) = rest.last() {
        for i in 0..LANES {
            last[i] = if i < rest.len() { rest[i] } else { *end };
        }
    }
    let count = eights.len() + usize::from(!rest.is_empty());
    let (mut low, mut high) = (L::splat(f32::INFINITY), L::splat(f32::NEG_INFINITY));
    let (mut lowest, mut highest) = (L::ints(0), L::ints(0));
    let mut at = L::load_ints(&[0, 1, 2, 3, 4, 5, 6, 7]);
    for i in 0..count {
        let eight = if i < eights.len() { &eights[i] } else { &last };
        let [x, y, z, _] = L::load_quads::<1>(bytemuck::cast_ref(eight), 0);
        let s = d[0].mul(x).add(d[1].mul(y)).add(d[2].mul(z));
        s.store(&mut dots[i]);
        let (less, more) = (s.lt(low), high.lt(s));
        (low, lowest) = (L::select(less, s, low), L::int_select(less, at, lowest));
        (high, highest) = (L::select(more, s, high), L::int_select(more, at, highest));
        at = L::int_add(at, L::ints(LANES as i32));
    }
    let (mut lows, mut highs) = ([0.0; LANES], [0.0; LANES]);
    let (mut low_at, mut high_at) = ([0; LANES], [0; LANES]);
    low.store(&mut lows);
    high.store(&mut highs);
    L::store_ints(lowest, &mut low_at);
    L::store_ints(highest, &mut high_at);
    let end = vertices.len().saturating_sub(1) as i32;
    for i in 0..LANES {
        // Copies of the last vertex are the last vertex.
        let (l, h) = (low_at[i].min(end) as u32, high_at[i].min(end) as u32);
        if lows[i] < extent.low || (lows[i] == extent.low && l < extent.lowest) {
            (extent.low, extent.lowest) = (lows[i], l);
        }
        if highs[i] > extent.high || (highs[i] == extent.high && h < extent.highest) {
            (extent.high, extent.highest) = (highs[i], h);
        }
    }
}

/// How many projections are at least `from`.
fn count_above(dots: &[f32], from: f32) -> usize {
    dots.iter().map(|d| usize::from(*d >= from)).sum()
}
