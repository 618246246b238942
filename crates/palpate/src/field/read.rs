//! Distances of many points at once, eight to a vector.
//!
//! Points go through in groups, in passes: the cells of all, what the directory says of them, where the nodes around each
//! point are, and the values there. So no step waits for the one before, and the nodes of a whole group are asked for
//! before the first is used: for points in no order they are in a near cache only by chance.

use super::Lattice;
use super::brick::SIDE;
use super::scan::BRICK;
use crate::simd::{LANES, Lanes, Places, Vectors, dispatch};
use glam::Vec3;

/// Blocks of eight points in a group. More: nodes asked for early leave the first-level cache before they are used (16: a
/// tenth slower). Fewer: less is under way at once, and the ends of loops cost more (4: a twentieth slower).
pub(crate) const BLOCKS: usize = 8;

/// What the kernel reads.
pub(crate) struct View<'a, T> {
    directory: &'a [i32],
    values: &'a [T],
    /// For each cell how steep the field is in it and in all cells around it, outside and in the band [1]; empty: nothing is known.
    pub(super) steepness: &'a [f32],
    /// Metres per stored unit: in bricks, and in the background.
    pub(super) scale: [f32; 2],
    voxel: f32,
    cells: [i32; 3],
    /// A hair less than the box along each axis [cells].
    inside: [f32; 3],
}

impl<'a, T> View<'a, T> {
    pub(crate) fn new(lattice: &Lattice, directory: &'a [i32], values: &'a [T], scale: f32) -> Self {
        Self::with_scales(lattice, directory, values, [scale; 2])
    }

    pub(crate) fn with_scales(l: &Lattice, directory: &'a [i32], values: &'a [T], scale: [f32; 2]) -> Self {
        Self::of(l.voxel as f32, l.cells.map(|c| c as i32), directory, values, scale)
    }

    fn of(voxel: f32, cells: [i32; 3], directory: &'a [i32], values: &'a [T], scale: [f32; 2]) -> Self {
        let inside = cells.map(|c| (c as f32).next_down());
        Self { directory, values, steepness: &[], scale, voxel, cells, inside }
    }
}

/// The cells that eight points are in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<L: Lanes> {
    /// What the directory says.
    pub(super) entry: L::Ints,
    /// Where it says that the cell is not refined.
    pub(super) coarse: L::Mask,
    /// The node of the brick below each point, along each axis.
    pub(super) node: [L; 3],
}

/// How the values of nodes lie in memory.
pub(crate) trait Layout: Copy {
    /// Where the nodes around the points of a group are.
    type Rows<'a>: Copy
    where
        Self: 'a;

    /// The first places; none if there are not enough values.
    fn rows(values: &[Self]) -> Option<Self::Rows<'_>>;
    /// Remembers what the background needs of the cells of block `i`: their places in the directory, and along y and z.
    fn corners<L: Lanes>(view: &View<'_, Self>, group: &mut Group<'_, Self>, i: usize, cells: [L::Ints; 3]);
    /// Sets the nodes around the points of block `i`, from the cells they are in.
    fn locate<L: Lanes>(view: &View<'_, Self>, group: &mut Group<'_, Self>, i: usize, cells: &Cells<L>);
    /// Asks for the nodes of block `i`.
    fn prefetch(group: &Group<'_, Self>, i: usize);
    /// What is around the points of a block, in stored units.
    type Around<L: Lanes>: Copy;
    /// What is around the points of block `i`.
    fn around<L: Lanes>(group: &Group<'_, Self>, i: usize) -> Self::Around<L>;
    /// The values at the points, from their places between the nodes.
    fn value<L: Lanes>(around: &Self::Around<L>, place: [L; 3]) -> L;
    /// The gradients at the points, of any positive length.
    fn gradient<L: Lanes>(around: &Self::Around<L>, place: [L; 3]) -> [L; 3];
    /// Metres from stored units, for block `i`.
    fn metres_of<L: Lanes>(view: &View<'_, Self>, group: &Group<'_, Self>, i: usize, v: L) -> L;
    /// How steep the field is within a cell's edge of the points of block `i`, outside and in the band [1]; infinite: nothing is known.
    fn steepness<L: Lanes>(view: &View<'_, Self>, group: &Group<'_, Self>, i: usize) -> L;
}

/// Stored values a kernel can read in pairs.
pub(crate) trait Stored: Copy {
    /// The values of a row of nodes, and of the next along x.
    fn pairs<L: Lanes, const N: usize>(rows: &Places<'_, Self, N, 2>, row: usize) -> (L, L);
    /// Metres from stored units.
    fn metres<L: Lanes>(v: L, scale: f32) -> L;
}

impl Stored for f32 {
    #[inline(always)]
    fn pairs<L: Lanes, const N: usize>(rows: &Places<'_, Self, N, 2>, row: usize) -> (L, L) {
        L::pairs(rows, row)
    }
    #[inline(always)]
    fn metres<L: Lanes>(v: L, _: f32) -> L {
        v
    }
}

impl Stored for i16 {
    #[inline(always)]
    fn pairs<L: Lanes, const N: usize>(rows: &Places<'_, Self, N, 2>, row: usize) -> (L, L) {
        L::pairs_i16(rows, row)
    }
    #[inline(always)]
    fn metres<L: Lanes>(v: L, scale: f32) -> L {
        v.mul(L::splat(scale))
    }
}

/// Nodes one by one, x fastest: the background's corners, then brick after brick.
impl<T: Stored> Layout for T {
    type Rows<'a>
        = Places<'a, T, { 4 * BLOCKS }, 2>
    where
        T: 'a;

    fn rows(values: &[Self]) -> Option<Self::Rows<'_>> {
        Places::new(values)
    }

    #[inline(always)]
    fn corners<L: Lanes>(view: &View<'_, Self>, group: &mut Group<'_, Self>, i: usize, cells: [L::Ints; 3]) {
        // The corner grid has one node more than cells along each axis.
        let ([nx, ny, _], [index, y, z]) = (view.cells, cells);
        let corner = L::int_add(L::int_add(index, y), L::int_mul(z, L::ints(nx + ny + 1)));
        L::store_ints(corner, &mut group.corner.0[i]);
    }

    #[inline(always)]
    fn locate<L: Lanes>(view: &View<'_, Self>, group: &mut Group<'_, Self>, i: usize, cells: &Cells<L>) {
        let ([nx, ny, _], [x, y, z], coarse) = (view.cells, cells.node, cells.coarse);
        // Exact in f32: at most 728.
        let at = x.add(y.mul(L::splat(SIDE as f32))).add(z.mul(L::splat((SIDE * SIDE) as f32)));
        let fine_base = L::int_add(cells.entry, at.to_ints());
        let base = L::int_select(coarse, L::load_ints(&group.corner.0[i]), fine_base);
        let step_y = L::int_select(coarse, L::ints(nx + 1), L::ints(SIDE as i32));
        let step_z = L::int_select(coarse, L::ints((nx + 1) * (ny + 1)), L::ints((SIDE * SIDE) as i32));
        let upper = L::int_add(base, step_z);
        let rows = [base, L::int_add(base, step_y), upper, L::int_add(upper, step_y)];
        L::set_places(&mut group.rows, 4 * i, rows);
    }

    #[inline(always)]
    fn prefetch(group: &Group<'_, Self>, i: usize) {
        // Point by point: the rows of one are mostly in one page.
        for lane in 0..LANES {
            group.rows.prefetch(4 * i, lane);
            group.rows.prefetch(4 * i + 2, lane);
            if size_of::<T>() > 2 {
                // Mostly in the cache lines above otherwise.
                group.rows.prefetch(4 * i + 1, lane);
                group.rows.prefetch(4 * i + 3, lane);
            }
        }
    }

    /// Lower and upper x of four rows: lower and upper y at the lower z, then at the upper z.
    type Around<L: Lanes> = [(L, L); 4];

    #[inline(always)]
    fn around<L: Lanes>(group: &Group<'_, Self>, i: usize) -> [(L, L); 4] {
        [
            T::pairs(&group.rows, 4 * i),
            T::pairs(&group.rows, 4 * i + 1),
            T::pairs(&group.rows, 4 * i + 2),
            T::pairs(&group.rows, 4 * i + 3),
        ]
    }

    #[inline(always)]
    fn value<L: Lanes>(rows: &[(L, L); 4], [x, y, z]: [L; 3]) -> L {
        let [a, b, c, d] = at_x(rows, x);
        lerp(lerp(a, b, y), lerp(c, d, y), z)
    }

    #[inline(always)]
    fn gradient<L: Lanes>(r: &[(L, L); 4], [x, y, z]: [L; 3]) -> [L; 3] {
        let [a, b, c, d] = at_x(r, x);
        let low = lerp(r[0].1.sub(r[0].0), r[1].1.sub(r[1].0), y);
        let high = lerp(r[2].1.sub(r[2].0), r[3].1.sub(r[3].0), y);
        [lerp(low, high, z), lerp(b.sub(a), d.sub(c), z), lerp(c.sub(a), d.sub(b), y)]
    }

    #[inline(always)]
    fn metres_of<L: Lanes>(view: &View<'_, Self>, _: &Group<'_, Self>, _: usize, v: L) -> L {
        T::metres(v, view.scale[0])
    }

    #[inline(always)]
    fn steepness<L: Lanes>(_: &View<'_, Self>, _: &Group<'_, Self>, _: usize) -> L {
        L::splat(f32::INFINITY)
    }
}

dispatch! {
    pub(super) fn float / float_plain = float_kernel(view: &View<'_, f32>, points: &[Vec3], out: &mut [f32])
}
dispatch! {
    pub(super) fn scaled / scaled_plain = scaled_kernel(view: &View<'_, i16>, points: &[Vec3], out: &mut [f32])
}

#[inline(always)]
fn float_kernel<L: Lanes>(view: &View<'_, f32>, points: &[Vec3], out: &mut [f32]) {
    read::<L, f32>(view, points, out);
}

#[inline(always)]
fn scaled_kernel<L: Lanes>(view: &View<'_, i16>, points: &[Vec3], out: &mut [f32]) {
    read::<L, i16>(view, points, out);
}

/// A group of points between the passes, in blocks of eight.
pub(crate) struct Group<'a, T: Layout + 'a> {
    /// Where the points are, from the lattice's origin along each axis [cells]: what the passes start from.
    point: [Vectors<f32, BLOCKS>; 3],
    /// The cell of each point, in the directory.
    cell: Places<'a, i32, BLOCKS, 1>,
    /// What the directory says of it.
    pub(super) entry: Vectors<i32, BLOCKS>,
    /// Its lowest corner in the background.
    corner: Vectors<i32, BLOCKS>,
    /// Place in it along each axis [cells].
    local: [Vectors<f32, BLOCKS>; 3],
    /// Place between the nodes along each axis [1]. Not stored over `local`: the compiler would make that a masked store,
    /// which takes dozens of cycles on some processors.
    fraction: [Vectors<f32, BLOCKS>; 3],
    /// The nodes around each point.
    pub(super) rows: T::Rows<'a>,
}

impl<'a, T: Layout> Group<'a, T> {
    /// Room for a group; none for a field without nodes.
    pub(crate) fn new(view: &View<'a, T>) -> Option<Self> {
        let (cell, rows) = (Places::new(view.directory)?, T::rows(view.values)?);
        let (ints, floats) = (Vectors([[0; LANES]; BLOCKS]), [Vectors([[0.0; LANES]; BLOCKS]); 3]);
        Some(Self { point: floats, cell, entry: ints, corner: ints, local: floats, fraction: floats, rows })
    }

    /// Sets the points of block `i`, from the lattice's origin [cells].
    #[inline(always)]
    pub(crate) fn put<L: Lanes>(&mut self, i: usize, p: [L; 3]) {
        let [x, y, z] = &mut self.point;
        p[0].store(&mut x.0[i]);
        p[1].store(&mut y.0[i]);
        p[2].store(&mut z.0[i]);
    }

    /// What a table has for the cells of block `i`; infinity beyond its end.
    #[inline(always)]
    pub(super) fn of_cells<L: Lanes>(&self, i: usize, table: &[f32]) -> L {
        let cells = self.cell.row(i);
        let mut out = [f32::INFINITY; LANES];
        for lane in 0..LANES {
            if let Some(v) = table.get(cells[lane] as u32 as usize) {
                out[lane] = *v;
            }
        }
        L::load(&out)
    }
}

#[inline(always)]
pub(super) fn read<L: Lanes, T: Layout>(view: &View<'_, T>, points: &[Vec3], out: &mut [f32]) {
    let n = points.len().min(out.len());
    let (points, out) = (&points[..n], &mut out[..n]);
    let Some(mut group) = Group::new(view) else { return out.fill(f32::NAN) };
    let (blocks, rest) = bytemuck::cast_slice::<Vec3, f32>(points).as_chunks::<{ 3 * LANES }>();
    let (outs, rest_out) = out.as_chunks_mut::<LANES>();
    let mut at = 0;
    while at < blocks.len() {
        let end = blocks.len().min(at + BLOCKS);
        read_group::<L, T>(view, &blocks[at..end], &mut outs[at..end], &mut group);
        at = end;
    }
    if !rest.is_empty() {
        let mut padded = [0.0; 3 * LANES];
        padded[..rest.len()].copy_from_slice(rest);
        let mut result = [[0.0; LANES]];
        read_group::<L, T>(view, &[padded], &mut result, &mut group);
        rest_out.copy_from_slice(&result[0][..rest_out.len()]);
    }
}

/// Distances of a group of points.
#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
fn read_group<L: Lanes, T: Layout>(
    view: &View<'_, T>,
    points: &[[f32; 3 * LANES]],
    out: &mut [[f32; LANES]],
    group: &mut Group<'_, T>,
) {
    let n = points.len().min(out.len()).min(BLOCKS);
    let (points, out) = (&points[..n], &mut out[..n]);
    let cells = L::splat(1.0 / (BRICK as f32 * view.voxel));
    for i in 0..n {
        let p = L::load_points(&points[i]);
        group.put(i, [p[0].mul(cells), p[1].mul(cells), p[2].mul(cells)]);
    }
    let outside = resolve::<L, T>(view, group, n);
    if scattered(view, points) {
        prefetch(group, n);
    }
    for i in 0..n {
        distance::<L, T>(view, group, i, outside).store(&mut out[i]);
    }
}

/// Finds the nodes around the first `n` blocks of points. Returns whether some point is not strictly inside the box.
#[inline(always)]
pub(crate) fn resolve<L: Lanes, T: Layout>(view: &View<'_, T>, group: &mut Group<'_, T>, n: usize) -> bool {
    let mut outside = 0;
    for i in 0..n {
        outside |= find::<L, T>(view, group, i);
    }
    for i in 0..n {
        locate::<L, T>(view, group, i);
    }
    outside != 0
}

/// Asks for the nodes of the first `n` blocks.
#[inline(always)]
fn prefetch<T: Layout>(group: &Group<'_, T>, n: usize) {
    for i in 0..n {
        T::prefetch(group, i);
    }
}

/// Distances of block `i` [m]; `outside` says whether some point may be outside the box.
#[inline(always)]
pub(crate) fn distance<L: Lanes, T: Layout>(
    view: &View<'_, T>,
    group: &Group<'_, T>,
    i: usize,
    outside: bool,
) -> L {
    around::<L, T>(group, i).distance(view, group, i, outside)
}

/// How steep the field is within a cell's edge of the points of block `i`, outside and in the band [1]; infinite: nothing is known.
#[inline(always)]
pub(crate) fn steepness<L: Lanes, T: Layout>(view: &View<'_, T>, group: &Group<'_, T>, i: usize) -> L {
    T::steepness(view, group, i)
}

/// What is around the points of a block, and where the points are between the nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<L: Lanes, T: Layout> {
    values: T::Around<L>,
    place: [L; 3],
}

/// What is around the points of block `i`.
#[inline(always)]
pub(crate) fn around<L: Lanes, T: Layout>(group: &Group<'_, T>, i: usize) -> Around<L, T> {
    let f = &group.fraction;
    Around {
        values: T::around(group, i),
        place: [L::load(&f[0].0[i]), L::load(&f[1].0[i]), L::load(&f[2].0[i])],
    }
}

impl<L: Lanes, T: Layout> Around<L, T> {
    /// Distances [m]; `outside` says whether some point may be outside the box.
    #[inline(always)]
    pub(crate) fn distance(&self, view: &View<'_, T>, group: &Group<'_, T>, i: usize, outside: bool) -> L {
        let d = T::metres_of(view, group, i, T::value(&self.values, self.place));
        if outside { extend::<L, T>(view, group, i, d) } else { d }
    }

    /// The direction in which the distance grows fastest, not unit.
    #[inline(always)]
    pub(crate) fn gradient(&self) -> [L; 3] {
        T::gradient(&self.values, self.place)
    }
}

/// The values on the four rows at the points' x.
#[inline(always)]
fn at_x<L: Lanes>(r: &[(L, L); 4], x: L) -> [L; 4] {
    [lerp(r[0].0, r[0].1, x), lerp(r[1].0, r[1].1, x), lerp(r[2].0, r[2].1, x), lerp(r[3].0, r[3].1, x)]
}

/// Whether the points seem to be in no order, judged by the first and last of eight. Asking for the nodes of those in
/// order would only cost time, a tenth.
#[inline(always)]
fn scattered<T>(view: &View<'_, T>, points: &[[f32; 3 * LANES]]) -> bool {
    let Some(p) = points.first() else { return false };
    let [x, y, z] = [p[0] - p[21], p[1] - p[22], p[2] - p[23]];
    x.abs() + y.abs() + z.abs() > (4 * BRICK) as f32 * view.voxel
}

/// The cell of each point. Returns a bit for each lane that is not strictly inside the box.
#[inline(always)]
fn find<L: Lanes, T: Layout>(view: &View<'_, T>, group: &mut Group<'_, T>, i: usize) -> u32 {
    let p = point::<L, T>(group, i);
    let [x, y, z] = [axis(view, p[0], 0), axis(view, p[1], 1), axis(view, p[2], 2)];
    x.0.sub(x.1).store(&mut group.local[0].0[i]);
    y.0.sub(y.1).store(&mut group.local[1].0[i]);
    z.0.sub(z.1).store(&mut group.local[2].0[i]);
    let [nx, ny, _] = view.cells;
    let (cx, cy, cz) = (x.1.to_ints(), y.1.to_ints(), z.1.to_ints());
    let index = L::int_add(cx, L::int_mul(L::ints(nx), L::int_add(cy, L::int_mul(L::ints(ny), cz))));
    L::set_places(&mut group.cell, i, [index]);
    T::corners::<L>(view, group, i, [index, cy, cz]);
    L::bits(L::or(L::or(x.2, y.2), z.2))
}

/// The nodes around each point.
#[inline(always)]
fn locate<L: Lanes, T: Layout>(view: &View<'_, T>, group: &mut Group<'_, T>, i: usize) {
    let entry = L::elements(&group.cell, i);
    L::store_ints(entry, &mut group.entry.0[i]);
    let coarse = L::int_negative(entry);
    let node: [L; 3] =
        [brick_node(group, 0, i, coarse), brick_node(group, 1, i, coarse), brick_node(group, 2, i, coarse)];
    T::locate(view, group, i, &Cells { entry, coarse, node });
}

/// Where the points of block `i` are [cells].
#[inline(always)]
pub(crate) fn point<L: Lanes, T: Layout>(group: &Group<'_, T>, i: usize) -> [L; 3] {
    let [x, y, z] = &group.point;
    [L::load(&x.0[i]), L::load(&y.0[i]), L::load(&z.0[i])]
}

/// Coordinates along one axis held to the box, the whole part of them [cells], and where they had to be held.
#[inline(always)]
fn axis<L: Lanes, T>(view: &View<'_, T>, u: L, axis: usize) -> (L, L, L::Mask) {
    // To less than the box: then whole cells are below `cells` and nodes of a brick below 8. NaN becomes 0.
    let held = u.max(L::splat(0.0)).min(L::splat(view.inside[axis]));
    (held, held.floor(), u.ne(held))
}

/// The node of a brick below each point, along one axis; sets the place between nodes.
#[inline(always)]
fn brick_node<L: Lanes, T: Layout>(group: &mut Group<'_, T>, axis: usize, i: usize, coarse: L::Mask) -> L {
    let in_cell = L::load(&group.local[axis].0[i]);
    let in_brick = in_cell.mul(L::splat(BRICK as f32));
    let node = in_brick.floor();
    L::select(coarse, in_cell, in_brick.sub(node)).store(&mut group.fraction[axis].0[i]);
    node
}

/// Distances of block `i` from the values `d` at the box. See the head of `sample.rs`.
#[inline(always)]
fn extend<L: Lanes, T: Layout>(view: &View<'_, T>, group: &Group<'_, T>, i: usize, d: L) -> L {
    let p = point::<L, T>(group, i);
    let zero = L::splat(0.0);
    let mut outside = zero;
    for (u, cells) in [(p[0], view.cells[0]), (p[1], view.cells[1]), (p[2], view.cells[2])] {
        // NaN becomes 0 here and stays in `outside`.
        let inside = u.max(zero).min(L::splat(cells as f32));
        let away = u.sub(inside);
        outside = outside.add(away.mul(away));
    }
    let cell = L::splat(BRICK as f32 * view.voxel);
    let beyond = outside.mul(cell.mul(cell)).add(d.mul(d)).sqrt();
    L::select(zero.ge(outside), d, beyond)
}

// Functions, not closures: a closure would not inherit the caller's target features.

#[inline(always)]
fn lerp<L: Lanes>(a: L, b: L, k: L) -> L {
    k.mul_add(b.sub(a), a)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
