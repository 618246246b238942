//! The two kernels of a walk: balls of nodes that may hold contacts, and points that are.
//!
//! Up to eight vectors of eight go through at once. Each kernel exists once for each way values are stored, and its scalar twin
//! gives the same bits.

use super::frame::{Frame, apply, turn};
use super::reach::Reach;
use super::walk::{Run, join};
use crate::contact::Contact;
pub(crate) use crate::field::read::BLOCKS;
use crate::field::read::{self, Group, Stored, View};
use crate::simd::{LANES, Lanes, dispatch};
use crate::tree::{Level, Tree};

/// Blocks of a group: where each begins, and a bit for each lane that counts.
pub(crate) type Blocks = [(u32, u32); BLOCKS];

/// Points that can become contacts: those of a tree, or those that represent the nodes of a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Points<'a> {
    pub(crate) position: &'a [Vec<f32>; 3],
    normal: &'a [Vec<f32>; 3],
    area: &'a [f32],
    /// Their indices; none: their places.
    ids: Option<&'a [u32]>,
}

impl<'a> Points<'a> {
    pub(crate) fn of_tree(t: &'a Tree) -> Self {
        Self { position: &t.position, normal: &t.normal, area: &t.area, ids: None }
    }
    pub(crate) fn of_level(l: &'a Level) -> Self {
        Self { position: &l.position, normal: &l.normal, area: &l.area, ids: Some(&l.parent) }
    }
}

/// Which nodes are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prune<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) level: &'a Level,
    pub(crate) reach: Reach,
    /// Without SIMD.
    pub(crate) scalar: bool,
}

/// Which points are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) points: Points<'a>,
    /// [m]
    pub(crate) margin: f32,
    /// Without SIMD.
    pub(crate) scalar: bool,
}

/// Stored values that the kernels can read.
pub(crate) trait Sampled: Stored {
    /// Adds the children of those nodes of the first `n` blocks whose balls may reach below the margin.
    fn prune(
        view: &View<'_, Self>,
        group: &mut Group<'_, Self>,
        job: &Prune<'_>,
        blocks: &Blocks,
        n: usize,
        out: &mut Vec<Run>,
    );
    /// Adds those points of the first `n` blocks that are at most the margin away, in order.
    fn touch(
        view: &View<'_, Self>,
        group: &mut Group<'_, Self>,
        job: &Touch<'_>,
        blocks: &Blocks,
        n: usize,
        out: &mut Vec<Contact>,
    );
}

macro_rules! sampled {
    ($t:ty, $prune:ident, $prune_plain:ident, $prune_kernel:ident, $touch:ident, $touch_plain:ident, $touch_kernel:ident) => {
        dispatch! {
            fn $prune / $prune_plain = $prune_kernel(view: &View<'_, $t>, group: &mut Group<'_, $t>,
                job: &Prune<'_>, blocks: &Blocks, n: usize, out: &mut Vec<Run>)
        }
        dispatch! {
            fn $touch / $touch_plain = $touch_kernel(view: &View<'_, $t>, group: &mut Group<'_, $t>,
                job: &Touch<'_>, blocks: &Blocks, n: usize, out: &mut Vec<Contact>)
        }
        #[inline(always)]
        fn $prune_kernel<L: Lanes>(
            view: &View<'_, $t>,
            group: &mut Group<'_, $t>,
            job: &Prune<'_>,
            blocks: &Blocks,
            n: usize,
            out: &mut Vec<Run>,
        ) {
            prune_group::<L, $t>(view, group, job, blocks, n, out);
        }
        #[inline(always)]
        fn $touch_kernel<L: Lanes>(
            view: &View<'_, $t>,
            group: &mut Group<'_, $t>,
            job: &Touch<'_>,
            blocks: &Blocks,
            n: usize,
            out: &mut Vec<Contact>,
        ) {
            touch_group::<L, $t>(view, group, job, blocks, n, out);
        }
        impl Sampled for $t {
            fn prune(
                view: &View<'_, Self>,
                group: &mut Group<'_, Self>,
                job: &Prune<'_>,
                blocks: &Blocks,
                n: usize,
                out: &mut Vec<Run>,
            ) {
                if job.scalar {
                    $prune_plain(view, group, job, blocks, n, out);
                } else {
                    $prune(view, group, job, blocks, n, out);
                }
            }
            fn touch(
                view: &View<'_, Self>,
                group: &mut Group<'_, Self>,
                job: &Touch<'_>,
                blocks: &Blocks,
                n: usize,
                out: &mut Vec<Contact>,
            ) {
                if job.scalar {
                    $touch_plain(view, group, job, blocks, n, out);
                } else {
                    $touch(view, group, job, blocks, n, out);
                }
            }
        }
    };
}
sampled!(
    f32,
    prune_float,
    prune_float_plain,
    prune_float_kernel,
    touch_float,
    touch_float_plain,
    touch_float_kernel
);
sampled!(
    i16,
    prune_scaled,
    prune_scaled_plain,
    prune_scaled_kernel,
    touch_scaled,
    touch_scaled_plain,
    touch_scaled_kernel
);

#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
fn prune_group<L: Lanes, T: Stored>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    job: &Prune<'_>,
    blocks: &Blocks,
    n: usize,
    out: &mut Vec<Run>,
) {
    let n = n.min(BLOCKS);
    let level = job.level;
    let outside = load_group::<L, T>(view, group, job.frame, &level.centre, blocks, n);
    for i in 0..n {
        let (at, live) = blocks[i];
        let d = read::distance::<L, T>(view, group, i, outside);
        let limit = job.reach.limit(lanes_at::<L>(&level.radius, at));
        let mut bits = L::bits(limit.ge(d)) & live;
        while bits != 0 {
            let node = at as usize + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if let [from, to, ..] = level.first[node..] {
                join(out, from, to);
            }
        }
    }
}

/// Puts points `at` of each block into the group and finds the nodes around them.
#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
fn load_group<L: Lanes, T: Stored>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    frame: &Frame,
    points: &[Vec<f32>; 3],
    blocks: &Blocks,
    n: usize,
) -> bool {
    let m = &frame.lanes::<L>();
    for i in 0..n {
        group.put::<L>(i, apply(m, lanes_of::<L>(points, blocks[i].0)));
    }
    read::resolve::<L, T>(view, group, n)
}

/// A bit for each of the first `count` lanes.
#[inline(always)]
pub(crate) fn live(count: u32) -> u32 {
    if count >= LANES as u32 { 0xff } else { (1 << count) - 1 }
}

/// Eight numbers from `at` on; arrays are longer by a vector.
#[inline(always)]
pub(crate) fn lanes_at<L: Lanes>(v: &[f32], at: u32) -> L {
    L::load(v[at as usize..].first_chunk().unwrap_or(&[0.0; LANES]))
}

#[inline(always)]
pub(crate) fn lanes_of<L: Lanes>(v: &[Vec<f32>; 3], at: u32) -> [L; 3] {
    [lanes_at(&v[0], at), lanes_at(&v[1], at), lanes_at(&v[2], at)]
}

#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
fn touch_group<L: Lanes, T: Stored>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    job: &Touch<'_>,
    blocks: &Blocks,
    n: usize,
    out: &mut Vec<Contact>,
) {
    let n = n.min(BLOCKS);
    let outside = load_group::<L, T>(view, group, job.frame, job.points.position, blocks, n);
    for i in 0..n {
        let (at, live) = blocks[i];
        let around = read::around::<L, T>(group, i);
        let d = around.distance(view, group, i, outside);
        let bits = L::bits(L::splat(job.margin).ge(d)) & live;
        if bits != 0 {
            emit::<L, T>(group, job.frame, &job.points, i, at, d, &around, bits, out);
        }
    }
}

/// Adds the contacts of block `i` whose bits are set.
#[expect(clippy::too_many_arguments, reason = "part of a kernel")]
#[inline(always)]
fn emit<L: Lanes, T: Stored>(
    group: &Group<'_, T>,
    frame: &Frame,
    points: &Points<'_>,
    i: usize,
    at: u32,
    d: L,
    around: &read::Around<L>,
    mut bits: u32,
    out: &mut Vec<Contact>,
) {
    let p = read::point::<L, T>(group, i);
    let own = turn(&frame.turn::<L>(), lanes_of::<L>(points.normal, at));
    let g = around.gradient();
    // Where the field is flat, on a medial axis, the point's own normal says where outside is.
    let (zero, tiny) = (L::splat(0.0), L::splat(1e-30));
    let square = g[0].mul(g[0]).add(g[1].mul(g[1])).add(g[2].mul(g[2]));
    let flat = tiny.ge(square);
    let inverse = L::splat(1.0).div(square.max(tiny).sqrt());
    let cell = L::splat(frame.cell);
    let normal = [
        L::select(flat, zero.sub(own[0]), g[0].mul(inverse)),
        L::select(flat, zero.sub(own[1]), g[1].mul(inverse)),
        L::select(flat, zero.sub(own[2]), g[2].mul(inverse)),
    ];
    let mut fours = [[[0.0; 4]; LANES]; 3];
    L::store_fours([p[0].mul(cell), p[1].mul(cell), p[2].mul(cell), d], &mut fours[0]);
    let id = L::from_int_bits(L::int_add(L::ints(at as i32), L::load_ints(&[0, 1, 2, 3, 4, 5, 6, 7])));
    L::store_fours([normal[0], normal[1], normal[2], id], &mut fours[1]);
    L::store_fours([own[0], own[1], own[2], lanes_at(points.area, at)], &mut fours[2]);
    while bits != 0 {
        let l = bits.trailing_zeros() as usize;
        bits &= bits - 1;
        let [a, b, c] = [&fours[0][l], &fours[1][l], &fours[2][l]];
        out.push(Contact {
            point: [a[0], a[1], a[2]],
            distance: a[3],
            normal: [b[0], b[1], b[2]],
            id: points.ids.map_or(b[3].to_bits(), |ids| ids[at as usize + l]),
            shell_normal: [c[0], c[1], c[2]],
            area: c[3],
        });
    }
}
