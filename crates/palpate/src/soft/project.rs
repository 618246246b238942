//! Vertices and triangles along a direction, eight at a time.

use crate::simd::{LANES, Lanes, dispatch};
use bytemuck::{Pod, Zeroable};
use glam::{Vec3, Vec4, Vec4Swizzles};

/// A triangle of a list: three corners, and its number in the bits of the first one's fourth place.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Triangle {
    corners: [[f32; 4]; 3],
}

impl Triangle {
    #[inline(always)]
    pub(super) fn new([a, b, c]: [Vec4; 3], id: u32) -> Self {
        let (a, b, c) = (a.to_array(), b.to_array(), c.to_array());
        Self { corners: [[a[0], a[1], a[2], f32::from_bits(id)], b, c] }
    }

    /// Corners, with the number in the first one's fourth place.
    #[inline(always)]
    pub(super) fn raw(&self) -> &[[f32; 4]; 3] {
        &self.corners
    }

    pub(super) fn id(&self) -> u32 {
        self.corners[0][3].to_bits()
    }

    /// 0 in the fourth place.
    #[inline(always)]
    pub(super) fn corners(&self) -> [Vec4; 3] {
        let at = |c: &[f32; 4]| Vec4::new(c[0], c[1], c[2], 0.0);
        [at(&self.corners[0]), at(&self.corners[1]), at(&self.corners[2])]
    }

    /// The corner that is farthest along a direction.
    pub(super) fn support(&self, direction: Vec3) -> Vec3 {
        let [a, b, c] = self.corners();
        let farther = |p: Vec4, q: Vec4| if q.xyz().dot(direction) > p.xyz().dot(direction) { q } else { p };
        farther(farther(a, b), c).xyz()
    }
}

/// The smallest and the largest of projections, and whose they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) low: f32,
    pub(super) high: f32,
    pub(super) lowest: u32,
    pub(super) highest: u32,
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
    *extent = ends_of::<L>([low, high], [lowest, highest], vertices.len());
}

/// The extent of triangles along a direction, and which of them end it; infinite the other way round without any.
pub(super) fn extent(triangles: &[Triangle], direction: Vec3) -> Extent {
    let mut extent = Extent { low: f32::INFINITY, high: f32::NEG_INFINITY, lowest: 0, highest: 0 };
    extent_lanes(triangles, direction.to_array(), &mut extent);
    extent
}

dispatch! {
    fn extent_lanes / extent_plain = extent_kernel(triangles: &[Triangle], direction: [f32; 3], extent: &mut Extent)
}

/// The lowest and the highest corner of eight triangles.
#[inline(always)]
fn reach<L: Lanes>(eight: &[[[f32; 4]; 3]; LANES], d: [L; 3]) -> [L; 2] {
    let mut ends = [L::splat(0.0); 2];
    for corner in 0..3 {
        let [x, y, z, _] = L::load_quads::<3>(eight, corner);
        let s = d[0].mul(x).add(d[1].mul(y)).add(d[2].mul(z));
        ends = if corner == 0 { [s, s] } else { [s.min(ends[0]), s.max(ends[1])] };
    }
    ends
}

/// Eight triangles from a place on; beyond the last, that.
#[inline(always)]
fn eight_from(triangles: &[Triangle], from: usize, last: &mut [Triangle; LANES]) {
    let end = triangles.len() - 1;
    for i in 0..LANES {
        last[i] = triangles[if from + i < end { from + i } else { end }];
    }
}

#[inline(always)]
fn extent_kernel<L: Lanes>(triangles: &[Triangle], direction: [f32; 3], extent: &mut Extent) {
    if triangles.is_empty() {
        return;
    }
    let d = [L::splat(direction[0]), L::splat(direction[1]), L::splat(direction[2])];
    let (eights, rest) = triangles.as_chunks::<LANES>();
    let mut last = [Triangle::zeroed(); LANES];
    if !rest.is_empty() {
        eight_from(triangles, eights.len() * LANES, &mut last);
    }
    let count = eights.len() + if rest.is_empty() { 0 } else { 1 };
    let (mut low, mut high) = (L::splat(f32::INFINITY), L::splat(f32::NEG_INFINITY));
    let (mut lowest, mut highest) = (L::ints(0), L::ints(0));
    let mut at = L::load_ints(&[0, 1, 2, 3, 4, 5, 6, 7]);
    for i in 0..count {
        let eight = if i < eights.len() { &eights[i] } else { &last };
        let [l, h] = reach::<L>(bytemuck::cast_ref(eight), d);
        let (less, more) = (l.lt(low), high.lt(h));
        (low, lowest) = (L::select(less, l, low), L::int_select(less, at, lowest));
        (high, highest) = (L::select(more, h, high), L::int_select(more, at, highest));
        at = L::int_add(at, L::ints(LANES as i32));
    }
    *extent = ends_of::<L>([low, high], [lowest, highest], triangles.len());
}

/// The extent of all lanes: of several that end it the first.
#[inline(always)]
fn ends_of<L: Lanes>([low, high]: [L; 2], [lowest, highest]: [L::Ints; 2], len: usize) -> Extent {
    let mut extent = Extent { low: f32::INFINITY, high: f32::NEG_INFINITY, lowest: 0, highest: 0 };
    let (mut lows, mut highs) = ([0.0; LANES], [0.0; LANES]);
    let (mut low_at, mut high_at) = ([0; LANES], [0; LANES]);
    low.store(&mut lows);
    high.store(&mut highs);
    L::store_ints(lowest, &mut low_at);
    L::store_ints(highest, &mut high_at);
    let end = len.saturating_sub(1) as i32;
    for i in 0..LANES {
        // Copies of the last one are the last one.
        let l = (if low_at[i] < end { low_at[i] } else { end }) as u32;
        let h = (if high_at[i] < end { high_at[i] } else { end }) as u32;
        if lows[i] < extent.low || (lows[i] == extent.low && l < extent.lowest) {
            (extent.low, extent.lowest) = (lows[i], l);
        }
        if highs[i] > extent.high || (highs[i] == extent.high && h < extent.highest) {
            (extent.high, extent.highest) = (highs[i], h);
        }
    }
    extent
}

/// Adds the triangles that reach at least as far along a direction as `from`.
pub(super) fn beyond(triangles: &[Triangle], direction: Vec3, from: f32, out: &mut Vec<Triangle>) {
    if !triangles.is_empty() {
        out.reserve(triangles.len() + LANES);
        beyond_lanes(triangles, direction.to_array(), from, out);
    }
}

dispatch! {
    fn beyond_lanes / beyond_plain =
        beyond_kernel(triangles: &[Triangle], direction: [f32; 3], from: f32, out: &mut Vec<Triangle>)
}

#[inline(always)]
fn beyond_kernel<L: Lanes>(triangles: &[Triangle], direction: [f32; 3], from: f32, out: &mut Vec<Triangle>) {
    let d = [L::splat(direction[0]), L::splat(direction[1]), L::splat(direction[2])];
    let (eights, rest) = triangles.as_chunks::<LANES>();
    let mut last = [Triangle::zeroed(); LANES];
    if !rest.is_empty() {
        eight_from(triangles, eights.len() * LANES, &mut last);
    }
    let count = eights.len() + if rest.is_empty() { 0 } else { 1 };
    let from = L::splat(from);
    for i in 0..count {
        let (eight, live) =
            if i < eights.len() { (&eights[i], u32::MAX) } else { (&last, !(u32::MAX << rest.len())) };
        let eight: &[[[f32; 4]; 3]; LANES] = bytemuck::cast_ref(eight);
        let [_, high] = reach::<L>(eight, d);
        let bits = L::bits(high.ge(from)) & live & 0xff;
        if bits != 0 {
            let parts =
                [L::load_quads::<3>(eight, 0), L::load_quads::<3>(eight, 1), L::load_quads::<3>(eight, 2)];
            L::append(&parts, bits, out);
        }
    }
}

/// Adds triangles to `low` where three times their middle is before a place along a direction, else to `high`.
pub(super) fn part_at(
    triangles: &[Triangle],
    direction: Vec3,
    place: f32,
    low: &mut Vec<Triangle>,
    high: &mut Vec<Triangle>,
) {
    if !triangles.is_empty() {
        low.reserve(triangles.len() + LANES);
        high.reserve(triangles.len() + LANES);
        part_lanes(triangles, direction.to_array(), place, low, high);
    }
}

dispatch! {
    fn part_lanes / part_plain = part_kernel(
        triangles: &[Triangle],
        direction: [f32; 3],
        place: f32,
        low: &mut Vec<Triangle>,
        high: &mut Vec<Triangle>,
    )
}

#[inline(always)]
fn part_kernel<L: Lanes>(
    triangles: &[Triangle],
    direction: [f32; 3],
    place: f32,
    low: &mut Vec<Triangle>,
    high: &mut Vec<Triangle>,
) {
    let d = [L::splat(direction[0]), L::splat(direction[1]), L::splat(direction[2])];
    let (eights, rest) = triangles.as_chunks::<LANES>();
    let mut last = [Triangle::zeroed(); LANES];
    if !rest.is_empty() {
        eight_from(triangles, eights.len() * LANES, &mut last);
    }
    let count = eights.len() + if rest.is_empty() { 0 } else { 1 };
    let place = L::splat(place);
    for i in 0..count {
        let (eight, live) =
            if i < eights.len() { (&eights[i], 0xff) } else { (&last, 0xff & !(u32::MAX << rest.len())) };
        let eight: &[[[f32; 4]; 3]; LANES] = bytemuck::cast_ref(eight);
        let parts =
            [L::load_quads::<3>(eight, 0), L::load_quads::<3>(eight, 1), L::load_quads::<3>(eight, 2)];
        let mut s = L::splat(0.0);
        for axis in 0..3 {
            s = s.add(d[axis].mul(parts[0][axis].add(parts[1][axis]).add(parts[2][axis])));
        }
        let before = L::bits(s.lt(place)) & live;
        let after = live & !before;
        if before != 0 {
            L::append(&parts, before, low);
        }
        if after != 0 {
            L::append(&parts, after, high);
        }
    }
}

/// The middle of the box of triangles; the origin without any.
pub(super) fn middle(triangles: &[Triangle]) -> Vec3 {
    let [low, high] = bounds(triangles);
    let middle = (0.5 * (low + high)).xyz();
    if middle.is_finite() { middle } else { Vec3::ZERO }
}

/// The box of triangles.
pub(super) fn bounds(triangles: &[Triangle]) -> [Vec4; 2] {
    let mut all = [Vec4::INFINITY, Vec4::NEG_INFINITY];
    for t in triangles {
        let [a, b, c] = t.corners();
        all = [all[0].min(a).min(b).min(c), all[1].max(a).max(b).max(c)];
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::source::random::Random;

    /// Lists of any length: the lanes' twins give the same bits, and both what each triangle alone says.
    #[test]
    fn twins_agree() {
        let mut r = Random(13);
        for len in (0..40).chain([127, 500]) {
            let mut corner = || r.point(1.0).as_vec3().extend(0.0);
            let list: Vec<Triangle> =
                (0..len).map(|i| Triangle::new([corner(), corner(), corner()], i)).collect();
            let d = r.direction().as_vec3();
            let (mut x, mut y) = (extent(&list, d), extent(&[], d));
            extent_plain(&list, d.to_array(), &mut y);
            assert_eq!((x.low, x.high, x.lowest, x.highest), (y.low, y.high, y.lowest, y.highest));
            if len > 0 {
                let end = list[x.highest as usize].support(d).dot(d);
                assert!((end - x.high).abs() < 1e-6);
            }
            let ids = |l: &[Triangle]| l.iter().map(Triangle::id).collect::<Vec<_>>();
            let mut lists: [Vec<Triangle>; 6] = Default::default();
            let [a, b, low, high, low_too, high_too] = &mut lists;
            beyond(&list, d, 0.1, a);
            part_at(&list, d, 0.1, low, high);
            if len > 0 {
                beyond_plain(&list, d.to_array(), 0.1, b);
                part_plain(&list, d.to_array(), 0.1, low_too, high_too);
            }
            assert_eq!(ids(a), ids(b));
            assert_eq!((ids(low), ids(high)), (ids(low_too), ids(high_too)));
            assert_eq!(low.len() + high.len(), len as usize);
            let reaches = |t: &&Triangle| t.support(d).dot(d) >= 0.1;
            assert!(list.iter().filter(reaches).count().abs_diff(a.len()) <= 1);
            let vertices: Vec<Vec4> = list.iter().map(|t| t.corners()[0]).collect();
            let (mut dots, mut plain) = (Vec::new(), vec![0.0; vertices.len().next_multiple_of(LANES)]);
            x = project(&vertices, d, &mut dots);
            y = extent(&[], d);
            project_plain(bytemuck::cast_slice(&vertices), d.to_array(), &mut plain, &mut y);
            assert_eq!(dots, plain[..vertices.len()]);
            assert_eq!((x.low, x.high, x.lowest, x.highest), (y.low, y.high, y.lowest, y.highest));
        }
    }
}
