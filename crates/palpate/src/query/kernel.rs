//! The two kernels of a walk: balls of nodes that may hold contacts, and points that are.
//!
//! Up to eight vectors of eight go through at once. Each kernel exists once for each way values are stored, and its scalar twin
//! gives the same bits.

use super::frame::{Frame, apply, turn};
use super::reach::Reach;
use super::walk::{Run, join};
use crate::contact::Contact;
use crate::field::packed::Quad;
pub(crate) use crate::field::read::BLOCKS;
use crate::field::read::{self, Group, Layout, View};
use crate::simd::{Columns, LANES, Lanes, dispatch};
use crate::tree::{Level, Tree};

/// A node is inside as a whole, as far as it matters, if the distance at its centre is at most this many radii: then its points are
/// tested without the nodes between.
const WHOLE: f32 = -0.5;

/// Blocks of a group: where each begins, and a bit for each lane that counts.
pub(crate) type Blocks = [(u32, u32); BLOCKS];

/// Points that can become contacts: those of a tree, or those that represent the nodes of a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Points<'a> {
    position: Columns<'a, 3>,
    /// Outward normal and area.
    surface: Columns<'a, 4>,
    /// Their indices; none: their places.
    ids: Option<&'a [u32]>,
}

impl<'a> Points<'a> {
    /// None without points.
    pub(crate) fn of_tree(t: &'a Tree) -> Option<Self> {
        Self::new(&t.position, &t.normal, &t.area, None)
    }
    pub(crate) fn of_level(l: &'a Level) -> Option<Self> {
        Self::new(&l.position, &l.normal, &l.area, Some(&l.ids))
    }

    fn new(
        [x, y, z]: &'a [Vec<f32>; 3],
        [u, v, w]: &'a [Vec<f32>; 3],
        area: &'a [f32],
        ids: Option<&'a [u32]>,
    ) -> Option<Self> {
        Some(Self { position: Columns::new([x, y, z])?, surface: Columns::new([u, v, w, area])?, ids })
    }

    /// Where eight points from `at` on are.
    #[inline(always)]
    pub(crate) fn position<L: Lanes>(&self, at: u32) -> [L; 3] {
        self.position.eight(at)
    }

    /// Their outward normals and areas.
    #[inline(always)]
    pub(crate) fn surface<L: Lanes>(&self, at: u32) -> [L; 4] {
        self.surface.eight(at)
    }

    /// Their indices.
    #[inline(always)]
    pub(crate) fn ids<L: Lanes>(&self, at: u32) -> L::Ints {
        match self.ids {
            None => L::int_add(L::ints(at as i32), L::load_ints(&[0, 1, 2, 3, 4, 5, 6, 7])),
            Some(ids) => {
                L::load_ints(bytemuck::cast_ref(ids[at as usize..].first_chunk().unwrap_or(&[0u32; LANES])))
            }
        }
    }
}

/// Which nodes are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prune<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) level: &'a Level,
    /// Centres and radii of its balls.
    pub(crate) balls: Columns<'a, 4>,
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
pub(crate) trait Sampled: Layout {
    /// Adds the children of those nodes of the first `n` blocks whose balls may reach below the margin; the points, to `whole`, of
    /// those that seem to be wholly inside.
    fn prune(
        view: &View<'_, Self>,
        group: &mut Group<'_, Self>,
        job: &Prune<'_>,
        blocks: &Blocks,
        n: usize,
        out: &mut Vec<Run>,
        whole: Option<&mut Vec<Run>>,
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
                job: &Prune<'_>, blocks: &Blocks, n: usize, out: &mut Vec<Run>, whole: Option<&mut Vec<Run>>)
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
            whole: Option<&mut Vec<Run>>,
        ) {
            prune_group::<L, $t>(view, group, job, blocks, n, out, whole);
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
                whole: Option<&mut Vec<Run>>,
            ) {
                if job.scalar {
                    $prune_plain(view, group, job, blocks, n, out, whole);
                } else {
                    $prune(view, group, job, blocks, n, out, whole);
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
sampled!(
    Quad,
    prune_packed,
    prune_packed_plain,
    prune_packed_kernel,
    touch_packed,
    touch_packed_plain,
    touch_packed_kernel
);

#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
fn prune_group<L: Lanes, T: Layout>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    job: &Prune<'_>,
    blocks: &Blocks,
    n: usize,
    out: &mut Vec<Run>,
    mut whole: Option<&mut Vec<Run>>,
) {
    let n = n.min(BLOCKS);
    let level = job.level;
    let m = &job.frame.lanes::<L>();
    for i in 0..n {
        let [x, y, z, _] = job.balls.eight::<L>(blocks[i].0);
        group.put::<L>(i, apply(m, [x, y, z]));
    }
    let outside = read::resolve::<L, T>(view, group, n);
    for i in 0..n {
        let (at, live) = blocks[i];
        let d = read::distance::<L, T>(view, group, i, outside);
        let radius = job.balls.eight::<L>(at)[3];
        let steepness = read::steepness::<L, T>(view, group, i);
        let mut bits = L::bits(job.reach.limit(radius, steepness).ge(d)) & live;
        if let Some(whole) = &mut whole {
            let inside = L::bits(radius.mul(L::splat(WHOLE)).ge(d)) & bits;
            bits &= !inside;
            add(&level.points, at, inside, whole);
        }
        add(&level.first, at, bits, out);
    }
}

/// Adds what the nodes whose bits are set have, from `first` of a node to that of the next: one run for neighbours.
#[inline(always)]
fn add(first: &[u32], at: u32, mut bits: u32, out: &mut Vec<Run>) {
    while bits != 0 {
        let lane = bits.trailing_zeros();
        let end = lane + (bits >> lane).trailing_ones();
        bits &= u32::MAX << end;
        let (from, to) = (first.get((at + lane) as usize), first.get((at + end) as usize));
        if let (Some(from), Some(to)) = (from, to) {
            join(out, *from, *to);
        }
    }
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
fn touch_group<L: Lanes, T: Layout>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    job: &Touch<'_>,
    blocks: &Blocks,
    n: usize,
    out: &mut Vec<Contact>,
) {
    let n = n.min(BLOCKS);
    let m = &job.frame.lanes::<L>();
    for i in 0..n {
        group.put::<L>(i, apply(m, job.points.position.eight::<L>(blocks[i].0)));
    }
    let outside = read::resolve::<L, T>(view, group, n);
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
fn emit<L: Lanes, T: Layout>(
    group: &Group<'_, T>,
    frame: &Frame,
    points: &Points<'_>,
    i: usize,
    at: u32,
    d: L,
    around: &read::Around<L, T>,
    bits: u32,
    out: &mut Vec<Contact>,
) {
    let [x, y, z] = around.gradient();
    let tiny = L::splat(1e-30);
    let square = x.mul_add(x, y.mul_add(y, z.mul(z)));
    let flat = L::bits(tiny.ge(square)) & bits;
    let inverse = L::splat(1.0).div(square.max(tiny).sqrt());
    let id = L::from_int_bits(points.ids::<L>(at));
    let (cell, p) = (L::splat(frame.cell), read::point::<L, T>(group, i));
    let [u, v, w, area] = points.surface.eight::<L>(at);
    let own = turn(&frame.turn::<L>(), [u, v, w]);
    let from = out.len();
    L::append(
        &[
            [p[0].mul(cell), p[1].mul(cell), p[2].mul(cell), d],
            [x.mul(inverse), y.mul(inverse), z.mul(inverse), id],
            [own[0], own[1], own[2], area],
        ],
        bits,
        out,
    );
    if flat != 0 {
        flip(&mut out[from..], bits, flat);
    }
}

/// Where the field is flat, on a medial axis, the point's own normal says where outside is.
#[cold]
fn flip(contacts: &mut [Contact], bits: u32, flat: u32) {
    let lanes = (0..LANES).filter(|lane| bits >> lane & 1 == 1);
    for (contact, lane) in contacts.iter_mut().zip(lanes) {
        if flat >> lane & 1 == 1 {
            contact.normal = contact.shell_normal.map(|n| 0.0 - n);
        }
    }
}
