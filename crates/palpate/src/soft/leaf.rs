//! Eight triangles against eight: which pairs may meet.
//!
//! Boxes first; then on which side of each other's planes they are, eight at a time, with a bound on what rounding can do. What is left
//! is few more than what does meet.

use super::SoftMesh;
use super::project::Triangle;
use super::refit::{Boxes, NONE, NOTHING};
use crate::simd::{LANES, Lanes, dispatch};
use glam::Vec4;

/// Rounding of one operation, and a little more [1].
const ROUNDING: f32 = 0.75 * f32::EPSILON;

/// Eight triangles in columns.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(super) struct Eight {
    /// By corner and axis [m].
    corners: [[[f32; LANES]; 3]; 3],
    /// Two edges' cross product, the sum of its parts' sizes, and how far each part can be off [m²].
    normal: [[f32; LANES]; 3],
    size: [f32; LANES],
    doubt: [f32; LANES],
    boxes: Boxes,
    all: [Vec4; 2],
    /// The numbers of their corners, where these are known.
    vertices: [[i32; LANES]; 3],
    /// Their numbers; [`NONE`] for none, with an empty box.
    pub(super) ids: [u32; LANES],
}

impl Eight {
    pub(super) const EMPTY: Self = Self {
        corners: [[[0.0; LANES]; 3]; 3],
        normal: [[0.0; LANES]; 3],
        size: [0.0; LANES],
        doubt: [0.0; LANES],
        boxes: Boxes::EMPTY,
        all: NOTHING,
        vertices: [[-1; LANES]; 3],
        ids: [NONE; LANES],
    };

    /// Up to eight triangles of a mesh, moved by `shift`; those that do not take part are left out. `slack`: how far a corner can be off
    /// along an axis [m].
    pub(super) fn new(mesh: &SoftMesh, triangles: &[u32], shift: Vec4, slack: f32) -> Self {
        let mut eight = Self::EMPTY;
        eight.set(mesh, triangles, shift, slack);
        eight
    }

    /// Becomes [`Eight::new`].
    pub(super) fn set(&mut self, mesh: &SoftMesh, triangles: &[u32], shift: Vec4, slack: f32) {
        let packed = mesh.packed();
        let mut corners = [[[0.0; 4]; 3]; LANES];
        self.ids = [NONE; LANES];
        self.vertices = [[-1; LANES]; 3];
        for (lane, id) in triangles.iter().take(LANES).enumerate() {
            let (Some(t), Some(true)) = (mesh.triangles().get(*id as usize), mesh.usable().get(*id as usize))
            else {
                continue;
            };
            let at = |i: usize| packed.get(t[i] as usize).copied().unwrap_or(Vec4::ZERO) + shift;
            corners[lane] = [at(0).to_array(), at(1).to_array(), at(2).to_array()];
            self.ids[lane] = *id;
            self.vertices.iter_mut().zip(t).for_each(|(to, v)| to[lane] = *v as i32);
        }
        columns(self, &corners, slack);
    }

    /// Becomes up to eight triangles of a list.
    pub(super) fn set_list(&mut self, triangles: &[Triangle], slack: f32) {
        let mut corners = [[[0.0; 4]; 3]; LANES];
        self.ids = [NONE; LANES];
        for (lane, t) in triangles.iter().take(LANES).enumerate() {
            corners[lane] = *t.raw();
            self.ids[lane] = t.id();
        }
        columns(self, &corners, slack);
    }

    pub(super) fn boxes(&self) -> &Boxes {
        &self.boxes
    }

    #[inline(always)]
    fn corner(&self, i: usize, lane: usize) -> [f32; 3] {
        let c = &self.corners[i];
        [c[0][lane], c[1][lane], c[2][lane]]
    }
}

dispatch! {
    /// Sets all but the numbers, which say which of the triangles there are. The fourth place of corners is not looked at.
    fn columns / columns_plain = columns_kernel(eight: &mut Eight, corners: &[[[f32; 4]; 3]; LANES], slack: f32)
}

#[expect(clippy::needless_range_loop, reason = "iterators stay calls in functions with target features")]
#[inline(always)]
fn columns_kernel<L: Lanes>(eight: &mut Eight, corners: &[[[f32; 4]; 3]; LANES], slack: f32) {
    let mut there = [0.0; LANES];
    for lane in 0..LANES {
        there[lane] = if eight.ids[lane] == NONE { 0.0 } else { 1.0 };
    }
    let there = L::load(&there).ne(L::splat(0.0));
    let [a, b, c] = [L::load_quads(corners, 0), L::load_quads(corners, 1), L::load_quads(corners, 2)];
    let (none, zero) = (L::splat(f32::INFINITY), L::splat(0.0));
    let (mut u, mut v) = ([zero; 3], [zero; 3]);
    let mut longest = zero;
    let mut all = [[f32::INFINITY; 4], [f32::NEG_INFINITY; 4]];
    for axis in 0..3 {
        a[axis].store(&mut eight.corners[0][axis]);
        b[axis].store(&mut eight.corners[1][axis]);
        c[axis].store(&mut eight.corners[2][axis]);
        (u[axis], v[axis]) = (b[axis].sub(a[axis]), c[axis].sub(a[axis]));
        longest = longest.max(u[axis].abs()).max(v[axis].abs());
        let low = L::select(there, a[axis].min(b[axis]).min(c[axis]), none);
        let high = L::select(there, a[axis].max(b[axis]).max(c[axis]), zero.sub(none));
        low.store(&mut eight.boxes.low[axis]);
        high.store(&mut eight.boxes.high[axis]);
        for lane in 0..LANES {
            all[0][axis] = eight.boxes.low[axis][lane].min(all[0][axis]);
            all[1][axis] = eight.boxes.high[axis][lane].max(all[1][axis]);
        }
    }
    eight.all = [Vec4::from_array(all[0]), Vec4::from_array(all[1])];
    let mut size = zero;
    for axis in 0..3 {
        let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
        let part = u[i].mul(v[j]).sub(u[j].mul(v[i]));
        part.store(&mut eight.normal[axis]);
        size = size.add(part.abs());
    }
    size.store(&mut eight.size);
    // Each factor is off by two corners and its own rounding.
    let off = L::splat(2.0 * slack).add(longest.mul(L::splat(ROUNDING)));
    let each = off.mul(L::splat(4.0)).add(longest.mul(L::splat(4.0 * ROUNDING)));
    each.mul(longest).add(off.mul(off).mul(L::splat(2.0))).store(&mut eight.doubt);
}

/// Which pairs of two eights to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// All.
    All,
    /// Of two eights of one mesh: those that share a corner always meet, and are left out.
    Others,
    /// Of one eight with itself: the same, each pair once.
    Own,
}

dispatch! {
    /// Adds the pairs of two eights that may meet. `slack`: how far a corner of either can be off along an axis [m].
    pub(super) fn candidates / candidates_plain =
        candidates_kernel(a: &Eight, b: &Eight, slack: f32, which: Which, out: &mut Vec<[u32; 2]>)
}

#[inline(always)]
fn candidates_kernel<L: Lanes>(a: &Eight, b: &Eight, slack: f32, which: Which, out: &mut Vec<[u32; 2]>) {
    let grown = Vec4::splat(2.0 * slack);
    let around = |[low, high]: [Vec4; 2]| [low - grown, high + grown];
    let within = b.boxes.meet::<L>(around(a.all));
    let mut lanes = if within == 0 { 0 } else { a.boxes.meet::<L>(around(b.all)) };
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        lanes &= lanes - 1;
        let mut others = b.boxes.meet::<L>(around(a.boxes.get(lane))) & within;
        if which == Which::Own {
            others &= u32::MAX << lane << 1;
        }
        if which != Which::All && others != 0 {
            others &= !shared::<L>(a, lane, b);
        }
        if others != 0 {
            others &= !apart::<L>(a, lane, b, slack);
        }
        while others != 0 {
            let other = others.trailing_zeros() as usize;
            others &= others - 1;
            out.push([a.ids[lane], b.ids[other]]);
        }
    }
}

/// Which of B's triangles have a corner of one of A's.
#[inline(always)]
fn shared<L: Lanes>(a: &Eight, lane: usize, b: &Eight) -> u32 {
    let mut shared = 0;
    for i in 0..3 {
        let corner = a.vertices[i][lane];
        for j in 0..3 {
            shared |= L::bits(L::int_eq(L::ints(corner), L::load_ints(&b.vertices[j])));
        }
    }
    // Of lists the numbers are not known.
    if a.vertices[0][lane] < 0 { 0 } else { shared }
}

/// Which of B's triangles are certainly on one side of the plane of one of A's, or have it on one side of theirs.
#[inline(always)]
fn apart<L: Lanes>(a: &Eight, lane: usize, b: &Eight, slack: f32) -> u32 {
    let load = |v: &[[f32; LANES]; 3]| [L::load(&v[0]), L::load(&v[1]), L::load(&v[2])];
    let one = |v: [f32; 3]| [L::splat(v[0]), L::splat(v[1]), L::splat(v[2])];
    let of_b = [load(&b.corners[0]), load(&b.corners[1]), load(&b.corners[2])];
    let of_a = [one(a.corner(0, lane)), one(a.corner(1, lane)), one(a.corner(2, lane))];
    let n = [L::splat(a.normal[0][lane]), L::splat(a.normal[1][lane]), L::splat(a.normal[2][lane])];
    let over = side::<L>(of_a[0], n, L::splat(a.size[lane]), L::splat(a.doubt[lane]), &of_b, slack);
    let n = load(&b.normal);
    let under = side::<L>(of_b[0], n, L::load(&b.size), L::load(&b.doubt), &of_a, slack);
    over | under
}

/// Where three corners are certainly on one side of a plane through a point.
#[expect(clippy::needless_range_loop, reason = "iterators stay calls in functions with target features")]
#[inline(always)]
fn side<L: Lanes>(p: [L; 3], n: [L; 3], size: L, doubt: L, corners: &[[L; 3]; 3], slack: f32) -> u32 {
    let mut low = L::splat(f32::INFINITY);
    let mut high = L::splat(f32::NEG_INFINITY);
    let mut far = L::splat(0.0);
    for i in 0..3 {
        let w = [corners[i][0].sub(p[0]), corners[i][1].sub(p[1]), corners[i][2].sub(p[2])];
        let s = n[0].mul(w[0]).add(n[1].mul(w[1])).add(n[2].mul(w[2]));
        (low, high) = (s.min(low), s.max(high));
        far = w[0].abs().max(w[1].abs()).max(w[2].abs()).max(far);
    }
    // The way there is off by two corners and its rounding, the normal by its doubt; then the sum's rounding.
    let off = L::splat(2.0 * slack).add(far.mul(L::splat(ROUNDING)));
    let room = size.mul(off).add(far.add(off).mul(doubt).mul(L::splat(3.0)));
    let room = room.add(size.mul(far).mul(L::splat(4.0 * ROUNDING))).mul(L::splat(1.01));
    let out = L::or(room.lt(low), high.lt(L::splat(0.0).sub(room)));
    L::bits(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::source::random::Random;
    use crate::soft::triangles_meet;
    use glam::DVec3;

    /// The twin gives the same, and whatever meets is among it; much that does not is not.
    #[test]
    fn candidates_hold_all_that_meet() {
        let mut r = Random(17);
        let (mut asked, mut found, mut met) = (0, 0, 0);
        for case in 0..2000 {
            let size = [1.0, 0.3, 1e-6][case % 3];
            let mut meshes = [(); 2].map(|()| {
                let positions: Vec<DVec3> = (0..8)
                    .flat_map(|_| {
                        let at = r.point(1.0);
                        [0, 1, 2].map(|_| at + r.point(size))
                    })
                    .collect();
                let triangles = (0..8).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
                SoftMesh::new(positions, triangles).unwrap()
            });
            if case % 5 == 0 {
                // Two that touch at a corner.
                let corner = meshes[1].positions()[4];
                meshes[0].deform(|i, p| if i == 7 { corner } else { p });
            }
            let [a, b] = &meshes;
            let (shift, slack) = crate::soft::pairs::between(a, b);
            let all: Vec<u32> = (0..8).collect();
            let (x, y) = (Eight::new(a, &all, shift, slack), Eight::new(b, &all, Vec4::ZERO, slack));
            let (mut wide, mut plain) = (Vec::new(), Vec::new());
            candidates(&x, &y, slack, Which::All, &mut wide);
            candidates_plain(&x, &y, slack, Which::All, &mut plain);
            assert_eq!(wide, plain);
            for (i, j) in (0..64).map(|k| (k / 8, k % 8)) {
                if triangles_meet(&a.corners(i).unwrap(), &b.corners(j).unwrap()) {
                    assert!(wide.contains(&[i, j]), "case {case}");
                    met += 1;
                }
            }
            asked += 64;
            found += wide.len();
        }
        println!("{asked} asked, {found} found, {met} met");
        assert!(
            met > 1000 && found < asked / 4 && found < 4 * met,
            "{asked} asked, {found} found, {met} met"
        );
    }
}
