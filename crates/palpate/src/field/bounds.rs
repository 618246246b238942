//! The kernel of `far.rs`: a sample and a certified lower bound of the distance, eight points at once.

use super::Field;
use super::brick::SIDE;
use super::build::EXACT_MARGIN;
use super::far::{FarGrid, GRIDS};
use super::read::Stored;
use super::scan::BRICK;
use crate::simd::{LANES, Lanes, Places, dispatch};
use glam::Vec3;

/// The part of the box that surfaces are taken to be in, where one of two bounds is chosen, as a share of its edges.
const INNER: f32 = 0.7;
/// Farthest coordinate the kernel tells apart [voxels]: its square is finite. What is farther is still farther.
const FARTHEST: f32 = 1e15;
/// Relative rounding of a sum of squares in f32, of all steps together.
const ROUNDING: f32 = 4e-6;

/// A grid as the kernel reads it.
#[derive(Clone, Copy, Debug)]
struct GridView {
    low: [f32; 3],
    step: f32,
    nodes: [i32; 3],
    first: i32,
}

/// What the kernel reads: made once for many points.
#[derive(Debug)]
pub(crate) struct Bounds<'a, T> {
    directory: &'a [i32],
    values: &'a [T],
    seams: &'a [f32],
    squared: &'a [f32],
    grids: [GridView; GRIDS.len()],
    /// Voxels, and metres, in a stored unit.
    unit: f32,
    scale: f32,
    voxel: f32,
    cells: [i32; 3],
    /// Excess of exact nodes, of the background's, and of the bricks' [voxels].
    exact: f32,
    background: f32,
    bricks: f32,
    /// Nearer than this, all nodes around a point are exact [voxels].
    band: f32,
    /// Rounding of coordinates [voxels].
    rounding: f32,
}

impl<'a, T> Bounds<'a, T> {
    pub(crate) fn new(field: &'a Field, far: &'a FarGrid, values: &'a [T], scale: f32) -> Self {
        let (l, r) = (&field.lattice, &field.report);
        let [nx, ny, nz] = l.cells;
        let most = f64::from(nx.max(ny).max(nz)) * BRICK as f64;
        let rounding = 1e-4 + 1e-6 * most;
        let none = GridView { low: [0.0; 3], step: 1.0, nodes: [0; 3], first: 0 };
        let mut grids = [none; GRIDS.len()];
        for (to, g) in grids.iter_mut().zip(&far.grids) {
            *to = GridView {
                low: g.low.as_vec3().to_array(),
                step: g.step as f32,
                nodes: [g.nodes[0] as i32, g.nodes[1] as i32, g.nodes[2] as i32],
                first: g.first as i32,
            };
        }
        let up = |v: f64| ((v / l.voxel) as f32).next_up();
        Self {
            directory: &field.directory,
            values,
            seams: &far.seams,
            squared: &far.squared,
            grids,
            unit: (f64::from(scale) / l.voxel) as f32,
            scale,
            voxel: l.voxel as f32,
            cells: [nx as i32, ny as i32, nz as i32],
            exact: up(2e-4 * l.voxel + field.values.error()) + rounding as f32,
            background: up(r.excess_background),
            bricks: up(r.excess_bricks),
            band: (r.band / l.voxel - (3f64.sqrt() - EXACT_MARGIN) - 1e-3) as f32,
            rounding: rounding as f32,
        }
    }

    /// How far places are from the inner part of the field's box [cells]: about as far as from the surface, seen from afar.
    #[inline(always)]
    pub(crate) fn to_inner<L: Lanes>(&self, c: [L; 3]) -> L {
        let [x, y, z] = self.cells;
        let (x, y, z) = (beyond_inner(c[0], x), beyond_inner(c[1], y), beyond_inner(c[2], z));
        square(x).add(square(y)).add(square(z)).sqrt()
    }
}

/// How far a coordinate is outside the inner part of a length.
#[inline(always)]
fn beyond_inner<L: Lanes>(c: L, length: i32) -> L {
    let half = 0.5 * length as f32;
    c.sub(L::splat(half)).abs().sub(L::splat(INNER * half)).max(L::splat(0.0))
}

dispatch! {
    pub(super) fn many_float / many_float_plain =
        float_kernel(view: &Bounds<'_, f32>, points: &[Vec3], f: &mut [f32], lower: &mut [f32])
}
dispatch! {
    pub(super) fn many_scaled / many_scaled_plain =
        scaled_kernel(view: &Bounds<'_, i16>, points: &[Vec3], f: &mut [f32], lower: &mut [f32])
}

#[inline(always)]
fn float_kernel<L: Lanes>(view: &Bounds<'_, f32>, points: &[Vec3], f: &mut [f32], lower: &mut [f32]) {
    many::<L, f32>(view, points, f, lower);
}

#[inline(always)]
fn scaled_kernel<L: Lanes>(view: &Bounds<'_, i16>, points: &[Vec3], f: &mut [f32], lower: &mut [f32]) {
    many::<L, i16>(view, points, f, lower);
}

#[inline(always)]
fn many<L: Lanes, T: Stored>(view: &Bounds<'_, T>, points: &[Vec3], f: &mut [f32], lower: &mut [f32]) {
    let n = points.len().min(f.len()).min(lower.len());
    let (blocks, rest) = bytemuck::cast_slice::<Vec3, f32>(&points[..n]).as_chunks::<{ 3 * LANES }>();
    let mut at = 0;
    while at < blocks.len() {
        let (value, bound) = lower_bounds::<L, T>(view, L::load_points(&blocks[at]));
        let place = at * LANES;
        if let Some(out) = f[place..].first_chunk_mut() {
            value.store(out);
        }
        if let Some(out) = lower[place..].first_chunk_mut() {
            bound.store(out);
        }
        at += 1;
    }
    if !rest.is_empty() {
        let mut padded = [0.0; 3 * LANES];
        padded[..rest.len()].copy_from_slice(rest);
        let (value, bound) = lower_bounds::<L, T>(view, L::load_points(&padded));
        let (mut a, mut b) = ([0.0; LANES], [0.0; LANES]);
        value.store(&mut a);
        bound.store(&mut b);
        let place = blocks.len() * LANES;
        f[place..n].copy_from_slice(&a[..n - place]);
        lower[place..n].copy_from_slice(&b[..n - place]);
    }
}

/// The field's value and the lower bound of the true distance of eight points, relative to the lattice's origin [m].
#[inline(always)]
fn lower_bounds<L: Lanes, T: Stored>(view: &Bounds<'_, T>, p: [L; 3]) -> (L, L) {
    let inverse = L::splat(1.0 / view.voxel);
    anywhere(view, [p[0].mul(inverse), p[1].mul(inverse), p[2].mul(inverse)])
}

/// [`lower_bounds`] of points in voxels.
#[inline(always)]
fn anywhere<L: Lanes, T: Stored>(view: &Bounds<'_, T>, u: [L; 3]) -> (L, L) {
    let (zero, nan) = (L::splat(0.0), L::splat(f32::NAN));
    let held = [hold(view, u[0], 0), hold(view, u[1], 1), hold(view, u[2], 2)];
    let away = [u[0].sub(held[0]), u[1].sub(held[1]), u[2].sub(held[2])];
    let (f, lower) = inside::<L, T>(view, held);
    let odd = L::or(L::or(away[0].ne(zero), away[1].ne(zero)), away[2].ne(zero));
    if L::bits(odd) == 0 {
        return (f, finish(view, lower));
    }
    // Far coordinates are held where their squares are finite; NaN goes there too.
    let away = [limited(away[0]), limited(away[1]), limited(away[2])];
    let beyond = square(away[0]).add(square(away[1])).add(square(away[2]));
    let near = beyond.add(square(lower)).mul(L::splat(1.0 - ROUNDING)).sqrt();
    let lower = L::select(odd, near.max(outside(view, u)), lower);
    let voxel = L::splat(view.voxel);
    let f = L::select(odd, beyond.mul(voxel.mul(voxel)).add(square(f)).sqrt(), f);
    let bad = L::or(L::or(u[0].ne(u[0]), u[1].ne(u[1])), u[2].ne(u[2]));
    (L::select(bad, nan, f), L::select(bad, zero, finish(view, lower)))
}

/// An estimate of the distance of eight points, unsigned, and a lower bound of it [m]; points relative to the lattice's origin [cells].
/// As [`lower_bounds`] outside the box, in less time.
#[inline(always)]
pub(crate) fn estimates<L: Lanes, T: Stored>(view: &Bounds<'_, T>, c: [L; 3]) -> (L, L) {
    let eight = L::splat(BRICK as f32);
    let u = [c[0].mul(eight), c[1].mul(eight), c[2].mul(eight)];
    let low = u[0].min(u[1]).min(u[2]);
    let [x, y, z] = view.cells;
    let high = u[0].sub(edge(x)).max(u[1].sub(edge(y))).max(u[2].sub(edge(z)));
    // Outside along some axis.
    if L::bits(L::or(low.lt(L::splat(0.0)), high.ge(L::splat(0.0)))) == 0xff {
        let far = outside(view, u);
        if L::bits(far.lt(L::splat(f32::MIN_POSITIVE))) == 0 {
            let lower = finish(view, far);
            return (lower, lower);
        }
    }
    let (f, lower) = anywhere::<L, T>(view, u);
    (f.abs().max(lower), lower)
}

#[inline(always)]
fn edge<L: Lanes>(cells: i32) -> L {
    L::splat((cells * BRICK as i32) as f32)
}

/// Metres from voxels, less the rounding of coordinates.
#[inline(always)]
fn finish<L: Lanes, T>(view: &Bounds<'_, T>, lower: L) -> L {
    let lower = lower.mul(L::splat(1.0 - ROUNDING)).sub(L::splat(view.rounding)).max(L::splat(0.0));
    lower.mul(L::splat(view.voxel))
}

/// A coordinate held to the box [voxels]; NaN becomes 0.
#[inline(always)]
fn hold<L: Lanes, T>(view: &Bounds<'_, T>, u: L, axis: usize) -> L {
    u.max(L::splat(0.0)).min(L::splat(((view.cells[axis] * BRICK as i32) as f32).next_down()))
}

#[inline(always)]
fn limited<L: Lanes>(v: L) -> L {
    v.max(L::splat(-FARTHEST)).min(L::splat(FARTHEST))
}

#[inline(always)]
fn square<L: Lanes>(v: L) -> L {
    v.mul(v)
}

/// t·(1 − t).
#[inline(always)]
fn spread<L: Lanes>(t: L) -> L {
    t.sub(t.mul(t))
}

/// The root of `m`² less `a`², where `m` may be too large by `e`.
#[inline(always)]
fn less<L: Lanes>(m: L, e: L, a: L) -> L {
    let zero = L::splat(0.0);
    square(m.sub(e).max(zero)).mul(L::splat(1.0 - ROUNDING)).sub(a).max(zero).sqrt()
}

/// Value [m] and lower bound [voxels] of points in the box [voxels].
#[inline(always)]
fn inside<L: Lanes, T: Stored>(view: &Bounds<'_, T>, u: [L; 3]) -> (L, L) {
    let zero = L::splat(0.0);
    let (Some(mut cell), Some(mut rows)) =
        (Places::<_, 1, 1>::new(view.directory), Places::<_, 4, 2>::new(view.values))
    else {
        return (L::splat(f32::NAN), zero);
    };
    let eighth = L::splat(1.0 / BRICK as f32);
    let c = [u[0].mul(eighth), u[1].mul(eighth), u[2].mul(eighth)];
    let whole = [c[0].floor(), c[1].floor(), c[2].floor()];
    let t = [c[0].sub(whole[0]), c[1].sub(whole[1]), c[2].sub(whole[2])];
    let [nx, ny, _] = view.cells;
    let (cx, cy, cz) = (whole[0].to_ints(), whole[1].to_ints(), whole[2].to_ints());
    let index = L::int_add(cx, L::int_mul(L::ints(nx), L::int_add(cy, L::int_mul(L::ints(ny), cz))));
    L::set_places(&mut cell, 0, [index]);
    let mut entry = [0; LANES];
    for (lane, entry) in entry.iter_mut().enumerate() {
        *entry = cell.get(0, lane);
    }
    let entry = L::load_ints(&entry);
    let coarse = L::int_negative(entry);
    let corner = L::int_add(L::int_add(index, cy), L::int_mul(cz, L::ints(nx + ny + 1)));
    let eight = L::splat(BRICK as f32);
    let b = [t[0].mul(eight), t[1].mul(eight), t[2].mul(eight)];
    let node = [b[0].floor(), b[1].floor(), b[2].floor()];
    let k = [
        L::select(coarse, t[0], b[0].sub(node[0])),
        L::select(coarse, t[1], b[1].sub(node[1])),
        L::select(coarse, t[2], b[2].sub(node[2])),
    ];
    let at = node[0].add(node[1].mul(L::splat(SIDE as f32))).add(node[2].mul(L::splat((SIDE * SIDE) as f32)));
    let base = L::int_select(coarse, corner, L::int_add(entry, at.to_ints()));
    let (row, layer) = (nx + 1, (nx + 1) * (ny + 1));
    let step_y = L::int_select(coarse, L::ints(row), L::ints(SIDE as i32));
    let step_z = L::int_select(coarse, L::ints(layer), L::ints((SIDE * SIDE) as i32));
    set_rows::<L, T>(&mut rows, base, step_y, step_z);
    let v = eight_values::<L, T>(&rows);
    let f = trilinear(v, k).mul(L::splat(view.scale));
    let unit = L::splat(view.unit);
    let size = trilinear(squares(v), k).mul(L::splat(1.0 - ROUNDING)).sqrt().mul(unit);
    let own = spread(k[0]).add(spread(k[1])).add(spread(k[2]));
    let wide = L::splat((BRICK * BRICK) as f32).mul(L::splat(1.0 + ROUNDING));
    // Between background nodes.
    let a = own.mul(wide);
    let far = less(size, L::splat(view.background), a);
    if L::bits(coarse) == 0xFF {
        return (f, far);
    }
    // In bricks: near the surface, between exact nodes.
    let near = less(size, L::splat(view.exact), own).min(L::splat(view.band));
    let rest = if view.bricks < 0.5 {
        let seam = seam(view, index, t, b);
        less(size, L::splat(view.bricks), own.add(seam.mul(wide)))
    } else {
        // Their own nodes say little; the corners of the cell, which are exact, say more.
        set_rows::<L, T>(&mut rows, corner, L::ints(row), L::ints(layer));
        let size = trilinear(squares(eight_values::<L, T>(&rows)), t);
        let size = size.mul(L::splat(1.0 - ROUNDING)).sqrt().mul(unit);
        let own = spread(t[0]).add(spread(t[1])).add(spread(t[2]));
        less(size, L::splat(view.exact), own.mul(wide))
    };
    (f, L::select(coarse, far, near.max(rest)))
}

/// What nodes on interpolating faces add to the mean square, in units of the background's squared spacing: `t` is the place
/// in the cell, `b` the same in voxels.
#[inline(always)]
fn seam<L: Lanes, T>(view: &Bounds<'_, T>, cell: L::Ints, t: [L; 3], b: [L; 3]) -> L {
    let mut mask = [63.0; LANES];
    if let Some(mut places) = Places::<_, 1, 1>::new(view.seams) {
        L::set_places(&mut places, 0, [cell]);
        for (lane, mask) in mask.iter_mut().enumerate() {
            *mask = places.get(0, lane);
        }
    }
    let mut mask = L::load(&mask);
    let (zero, one, half) = (L::splat(0.0), L::splat(1.0), L::splat(0.5));
    let last = L::splat((BRICK - 1) as f32);
    let s = [spread(t[0]), spread(t[1]), spread(t[2])];
    let mut sum = zero;
    for axis in 0..3 {
        let across = s[(axis + 1) % 3].add(s[(axis + 2) % 3]);
        for weight in [one.sub(b[axis]).max(zero), b[axis].sub(last).max(zero)] {
            // The lowest bit, then the next.
            let rest = mask.mul(half).floor();
            let bit = mask.sub(rest).sub(rest);
            mask = rest;
            sum = sum.add(bit.mul(weight).mul(across));
        }
    }
    sum
}

/// Lower bound outside the box, from the nested grids [voxels]; 0 beyond the last.
#[inline(always)]
fn outside<L: Lanes, T>(view: &Bounds<'_, T>, u: [L; 3]) -> L {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let Some(mut rows) = Places::<_, 4, 2>::new(view.squared) else { return zero };
    let (mut t, mut step, mut found) = ([zero; 3], zero, zero);
    let (mut base, mut row, mut layer) = (L::ints(0), L::ints(0), L::ints(0));
    // The finest that has the point; neighbours have the same, usually.
    let mut i = 0;
    while i < GRIDS.len() {
        let g = &view.grids[i];
        i += 1;
        let inverse = L::splat(1.0 / g.step);
        let at = [
            u[0].sub(L::splat(g.low[0])).mul(inverse),
            u[1].sub(L::splat(g.low[1])).mul(inverse),
            u[2].sub(L::splat(g.low[2])).mul(inverse),
        ];
        let here =
            L::and(L::and(within(at[0], g.nodes[0]), within(at[1], g.nodes[1])), within(at[2], g.nodes[2]));
        let here = L::and(here, found.lt(one));
        if L::bits(here) == 0 {
            continue;
        }
        let n = [at[0].floor(), at[1].floor(), at[2].floor()];
        let [nx, ny, _] = g.nodes;
        let place = L::int_add(
            n[0].to_ints(),
            L::int_mul(L::ints(nx), L::int_add(n[1].to_ints(), L::int_mul(L::ints(ny), n[2].to_ints()))),
        );
        base = L::int_select(here, L::int_add(place, L::ints(g.first)), base);
        row = L::int_select(here, L::ints(nx), row);
        layer = L::int_select(here, L::ints(nx * ny), layer);
        t = [
            L::select(here, at[0].sub(n[0]), t[0]),
            L::select(here, at[1].sub(n[1]), t[1]),
            L::select(here, at[2].sub(n[2]), t[2]),
        ];
        step = L::select(here, L::splat(g.step), step);
        found = L::select(here, one, found);
        if L::bits(found.lt(one)) == 0 {
            break;
        }
    }
    set_rows::<L, f32>(&mut rows, base, row, layer);
    let mean = trilinear(eight_values::<L, f32>(&rows), t).mul(L::splat(1.0 - ROUNDING));
    let own = spread(t[0]).add(spread(t[1])).add(spread(t[2]));
    let a = own.mul(square(step)).mul(L::splat(1.0 + ROUNDING));
    mean.sub(a).max(zero).sqrt().mul(found)
}

/// Whether a coordinate is between the first and the last node.
#[inline(always)]
fn within<L: Lanes>(at: L, nodes: i32) -> L::Mask {
    L::and(at.ge(L::splat(0.0)), at.lt(L::splat((nodes - 1) as f32)))
}

/// The four rows of two nodes around each point.
#[inline(always)]
fn set_rows<L: Lanes, T: Copy>(
    rows: &mut Places<'_, T, 4, 2>,
    base: L::Ints,
    step_y: L::Ints,
    step_z: L::Ints,
) {
    let upper = L::int_add(base, step_z);
    L::set_places(rows, 0, [base, L::int_add(base, step_y), upper, L::int_add(upper, step_y)]);
}

#[inline(always)]
fn eight_values<L: Lanes, T: Stored>(rows: &Places<'_, T, 4, 2>) -> [L; 8] {
    let (a, b) = T::pairs(rows, 0);
    let (c, d) = T::pairs(rows, 1);
    let (e, f) = T::pairs(rows, 2);
    let (g, h) = T::pairs(rows, 3);
    [a, b, c, d, e, f, g, h]
}

#[inline(always)]
fn squares<L: Lanes>(v: [L; 8]) -> [L; 8] {
    let [a, b, c, d, e, f, g, h] = v;
    [square(a), square(b), square(c), square(d), square(e), square(f), square(g), square(h)]
}

#[inline(always)]
fn trilinear<L: Lanes>(v: [L; 8], t: [L; 3]) -> L {
    let low = lerp(lerp(v[0], v[1], t[0]), lerp(v[2], v[3], t[0]), t[1]);
    let high = lerp(lerp(v[4], v[5], t[0]), lerp(v[6], v[7], t[0]), t[1]);
    lerp(low, high, t[2])
}

#[inline(always)]
fn lerp<L: Lanes>(a: L, b: L, k: L) -> L {
    a.add(k.mul(b.sub(a)))
}
