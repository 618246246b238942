//! The own nodes of every brick: exact ones from the band, the others by spreading what the band's edge knows.

use super::brick::{Band, NODES, Refined, SIDE, corners_of, own as place_in_brick};
use super::bvh::Bvh;
use super::lattice::Lattice;
use super::row_search::closest_of_row;
use super::scan::{BRICK, EMPTY, OWNED, on_face, unpack};
use super::sign::APART;
use super::spread::{FULL, Work, place, place_of, relax, relax_tracked, spread_sides};
use super::surface::{Surface, closest_point};
use crate::par;
use crate::progress::Progress;
use crate::simd::{LANES, Lanes, dispatch};
use glam::{DVec3, Vec3};

/// Mean edge above which whole triangles are measured instead of points [voxels]. Below it, a triangle is hardly larger
/// than the error of the point.
const COARSE_EDGE: f64 = 6.0;
/// A node nearer than this may have the surface in the half voxel around it, √3/2 with rounding [voxels].
const TOUCHES: f32 = 0.867;

/// How much nearer than its value the surface may be to a node outside the band that is said to be exact [voxels]. More: looser
/// bounds, and hardly less time (0.3: a fifth). Less: blocks of triangles that touch the ball around a node are measured in vain.
const GIVE: f32 = 0.1;

/// What is known of a brick beside its values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Info {
    /// Largest possible excess of a distance outside the band over the true one [voxels].
    pub(crate) excess: f32,
    /// Whether two neighbouring own nodes are on opposite sides with nothing between them.
    pub(crate) opposed: bool,
    /// Which of its 4³ blocks of own nodes (bit 0: x, 1: y, 2: z in the upper half) have one at the surface.
    pub(crate) near: u8,
    /// Own nodes inside, on the lowest and the highest layer along each axis: bit 8·j + i of a layer, i along the first
    /// of the other two axes.
    pub(crate) faces: [[u64; 2]; 3],
}

impl Info {
    /// Of a brick with these own nodes, exact ones.
    pub(crate) fn of(values: &[f32]) -> Self {
        look(values)
    }
}

/// What all bricks share.
struct Shared<'a> {
    surface: &'a Surface,
    half_width: f32,
    /// Distance of each own node to each corner of its cell [voxels].
    reach: Vec<[f32; OWNED]>,
    /// Measure whole triangles.
    coarse: bool,
    /// Where to look for the closest triangles of nodes outside the band, if those are wanted.
    exact: Option<&'a Bvh>,
}

/// Packed nodes of a brick and of its upper neighbours, bit 0 of the index for x + 1, and so on.
struct Owners<'a>([Option<&'a [u64; OWNED]>; 8]);

impl Owners<'_> {
    /// The packed node x y z, each from 0 to 8.
    #[inline(always)]
    fn node(&self, x: usize, y: usize, z: usize) -> u64 {
        let owner = self.0[(x >> 3 | (y >> 3) << 1 | (z >> 3) << 2) & 7];
        owner.map_or(EMPTY, |nodes| nodes[(z & 7) << 6 | (y & 7) << 3 | (x & 7)])
    }
}

/// Fills the own nodes of every refined brick [voxels]: `values` holds [`NODES`] for each. `triangles`, as long or empty,
/// takes the closest triangles, near ones outside the band. With `exact` nodes outside the band are exact too, up to [`GIVE`].
#[expect(clippy::too_many_arguments, reason = "a step between two stages")]
pub(crate) fn fill(
    band: &Band,
    refined: &Refined,
    surface: &Surface,
    exact: Option<&Bvh>,
    corners: &[f32],
    lattice: &Lattice,
    half_width: f32,
    values: &mut [f32],
    triangles: &mut [u32],
    progress: &dyn Progress,
) -> Vec<Info> {
    progress.stage("bricks", refined.cells.len() as u64);
    let coarse = mean_edge(surface) > COARSE_EDGE;
    let shared = Shared { surface, half_width, reach: reach(), coarse, exact };
    let one = |b: usize, values: &mut [f32], triangles: &mut [u32]| {
        let cell = refined.cells[b].map(|v| v as usize);
        fill_one(band, cell, &corners_of(corners, lattice, cell), &shared, values, triangles)
    };
    if !triangles.is_empty() {
        // Once for the triangles alone: rarely wanted, so not worth a second kind of loop.
        par::chunks_mut(triangles, NODES, |b, out| {
            one(b, &mut [0.0; NODES], out);
        });
    }
    let mut infos = vec![Info::default(); refined.cells.len()];
    par::zip_chunks_mut(values, NODES, &mut infos, 1, |b, out, info| {
        info[0] = one(b, out, &mut []);
        progress.advance(1);
    });
    infos
}

/// Mean edge of up to a few thousand triangles, evenly taken [voxels].
fn mean_edge(surface: &Surface) -> f64 {
    let step = surface.triangles.len().div_ceil(4096).max(1);
    let (mut sum, mut count) = (0.0, 0usize);
    for t in (0..surface.triangles.len()).step_by(step) {
        let [a, b, c] = surface.corners_of(t);
        sum += (b - a).length() + (c - b).length() + (a - c).length();
        count += 3;
    }
    sum / count.max(1) as f64
}

fn reach() -> Vec<[f32; OWNED]> {
    (0..8usize)
        .map(|o| {
            core::array::from_fn(|at| {
                let gap = |i: usize| {
                    let c = at >> (3 * i) & 7;
                    (if o >> i & 1 == 0 { c } else { BRICK - c }) as f32
                };
                (gap(0) * gap(0) + gap(1) * gap(1) + gap(2) * gap(2)).sqrt()
            })
        })
        .collect()
}

#[inline(never)]
fn fill_one(
    band: &Band,
    cell: [usize; 3],
    corners: &[f32; 8],
    shared: &Shared<'_>,
    values: &mut [f32],
    triangles: &mut [u32],
) -> Info {
    let owners = Owners(core::array::from_fn(|o| {
        band.owned([cell[0] + (o & 1), cell[1] + (o >> 1 & 1), cell[2] + (o >> 2)])
    }));
    // Rows of the closed brick, one bit a node: in the band; and negative.
    let mut known = [0u16; SIDE * SIDE];
    let mut negative = [0u16; SIDE * SIDE];
    let mut all = 0;
    if let Some(own) = owners.0[0] {
        all = 0xFF;
        for (row, nodes) in own.as_chunks::<BRICK>().0.iter().enumerate() {
            let at = (row >> 3) * SIDE + (row & 7);
            if let Some(out) = row_mut(values, at * SIDE) {
                for (v, &node) in out.iter_mut().zip(nodes) {
                    *v = f32::from_bits((node >> 32) as u32 | (node as u32) << 31);
                }
            }
            (known[at], negative[at]) = bits(nodes);
            all &= known[at];
        }
        if !triangles.is_empty() {
            for n in 0..OWNED {
                triangles[place_in_brick(n)] = unpack(own[n]).1;
            }
        }
    }
    let mut excess = 0.0;
    if all != 0xFF {
        // On the upper faces what the neighbours know, as seeds.
        for i in 0..BRICK {
            for (owner, row, from) in
                [(4, BRICK * SIDE + i, i * BRICK), (2, i * SIDE + BRICK, i * BRICK * BRICK)]
            {
                if let Some(nodes) = owners.0[owner].and_then(|o| o[from..].first_chunk()) {
                    (known[row], negative[row]) = bits(nodes);
                }
            }
        }
        if let Some(nodes) = owners.0[6].and_then(|o| o.first_chunk()) {
            (known[SIDE * SIDE - 1], negative[SIDE * SIDE - 1]) = bits(nodes);
        }
        for (row, (known, negative)) in known.iter_mut().zip(&mut negative).enumerate() {
            let node = owners.node(BRICK, row % SIDE, row / SIDE);
            *known |= u16::from(node != EMPTY) << BRICK;
            *negative |= u16::from(node != EMPTY && node & 1 == 1) << BRICK;
        }
        let mut work = Work::new();
        (work.known, work.negative) = (known, negative);
        work.freeze();
        let origin = DVec3::from_array(cell.map(|c| (c * BRICK) as f64));
        seed(&owners, origin, shared.surface, &mut work);
        spread_sides(&mut work);
        let track = shared.coarse || !triangles.is_empty();
        if track {
            relax_tracked(&mut work);
        } else {
            relax(&mut work);
        }
        write(&work, values);
        if track {
            refine(&owners, origin, shared, &work, values, triangles);
        }
        if let Some(bvh) = shared.exact {
            search(bvh, origin, &known, values);
            // With the rounding of the search.
            excess = GIVE + 1e-3;
        } else {
            excess = bound(values, corners, &shared.reach, shared.half_width);
        }
    }
    Info { excess, ..Info::of(values) }
}

/// Makes the nodes that are not in the band exact, up to [`GIVE`].
fn search(bvh: &Bvh, origin: DVec3, known: &[u16; SIDE * SIDE], values: &mut [f32]) {
    for n in 0..BRICK * BRICK {
        let (y, z) = (n & 7, n >> 3);
        let known = known[z * SIDE + y];
        let Some(row) = row_mut(values, (z * SIDE + y) * SIDE) else { return };
        if known & 0xFF == 0xFF {
            continue;
        }
        // Nodes of the band are not searched for.
        let mut best: [f32; LANES] =
            core::array::from_fn(|x| if known >> x & 1 == 1 { -1.0 } else { row[x] * row[x] });
        let at = [origin.x as f32, origin.y as f32 + y as f32, origin.z as f32 + z as f32];
        closest_of_row(bvh, at, GIVE, &mut best);
        for (x, d) in row.iter_mut().enumerate() {
            if best[x] >= 0.0 {
                *d = d.abs().min(best[x].sqrt()).copysign(*d);
            }
        }
    }
}

/// One bit for each of eight packed nodes: whether it is in the band, and whether it is negative.
#[inline(always)]
fn bits(nodes: &[u64; BRICK]) -> (u16, u16) {
    let (mut known, mut negative) = (0, 0);
    for (x, &node) in nodes.iter().enumerate() {
        known |= u16::from(node != EMPTY) << x;
        negative |= (node as u16 & 1) << x;
    }
    (known, negative & known)
}

/// Looks up the triangle of each point, and measures it whole where triangles are large.
fn refine(
    owners: &Owners<'_>,
    origin: DVec3,
    shared: &Shared<'_>,
    work: &Work,
    values: &mut [f32],
    triangles: &mut [u32],
) {
    for n in 0..OWNED {
        let (x, y, z) = (n & 7, n >> 3 & 7, n >> 6);
        let source = work.source[place(x, y, z)];
        if owners.node(x, y, z) != EMPTY || source < 0.0 {
            continue;
        }
        let [sx, sy, sz] = place_of(source as usize);
        let (_, t) = unpack(owners.node(sx, sy, sz));
        let at = (z * SIDE + y) * SIDE + x;
        if shared.coarse {
            let p = origin + DVec3::new(x as f64, y as f64, z as f64);
            let q = closest_point(shared.surface.corners_of(t as usize), p).0;
            let d = values[at];
            values[at] = d.abs().min((q - p).length() as f32).copysign(d);
        }
        if let Some(to) = triangles.get_mut(at) {
            *to = t;
        }
    }
}

/// Gives the band's edge its closest points, and freezes the band.
fn seed(owners: &Owners<'_>, origin: DVec3, surface: &Surface, work: &mut Work) {
    for z in 0..SIDE {
        for y in 0..SIDE {
            let row = z * SIDE + y;
            let known = work.known[row];
            // Rows around; outside the brick everything counts as known.
            let beside = |inside: bool, row: usize| if inside { work.known[row] } else { FULL };
            let around = beside(y > 0, row.wrapping_sub(1))
                & beside(y < BRICK, row + 1)
                & beside(z > 0, row.wrapping_sub(SIDE))
                & beside(z < BRICK, row + SIDE)
                & (known << 1 | 1)
                & (known >> 1 | 1 << BRICK);
            let mut edge = known & !around & FULL;
            while edge != 0 {
                let x = edge.trailing_zeros() as usize;
                edge &= edge - 1;
                let node = owners.node(x, y, z);
                let (d, t) = unpack(node);
                let local = Vec3::new(x as f32, y as f32, z as f32);
                // Over a face the way to it is its normal; else the triangle must be asked.
                let q = if on_face(node) {
                    local - d * surface.normals[t as usize].as_vec3()
                } else {
                    let p = origin + local.as_dvec3();
                    (closest_point(surface.corners_of(t as usize), p).0 - origin).as_vec3()
                };
                work.seed(x, y, z, q);
            }
        }
    }
}

/// Eight nodes of a row.
#[inline(always)]
fn row(values: &[f32], at: usize) -> &[f32; LANES] {
    values.get(at..).and_then(|v| v.first_chunk()).unwrap_or(&[0.0; LANES])
}

#[inline(always)]
fn row_mut(values: &mut [f32], at: usize) -> Option<&mut [f32; LANES]> {
    values.get_mut(at..)?.first_chunk_mut()
}

dispatch! {
    fn write / write_plain = write_kernel(work: &Work, values: &mut [f32])
}

/// Writes the distances of nodes outside the band, with their sides.
#[inline(always)]
fn write_kernel<L: Lanes>(work: &Work, values: &mut [f32]) {
    let zero = L::splat(0.0);
    for z in 0..BRICK {
        for y in 0..BRICK {
            let Some(lanes) = row_mut(values, (z * SIDE + y) * SIDE) else { return };
            let best = L::load(work.best_of(y, z));
            let negative = work.negative[z * SIDE + y];
            let mut side = [1.0f32; LANES];
            for (x, s) in side.iter_mut().enumerate() {
                *s = if negative >> x & 1 == 1 { -1.0 } else { 1.0 };
            }
            let d = best.sqrt().mul(L::load(&side));
            L::select(best.lt(zero), L::load(lanes), d).store(lanes);
        }
    }
}

dispatch! {
    fn bound / bound_plain =
        bound_kernel(values: &mut [f32], corners: &[f32; 8], reach: &[[f32; OWNED]], half_width: f32) -> f32
}

/// Lowers distances outside the band to what the exact corners allow; returns the largest possible excess.
#[inline(always)]
fn bound_kernel<L: Lanes>(
    values: &mut [f32],
    corners: &[f32; 8],
    reach: &[[f32; OWNED]],
    half_width: f32,
) -> f32 {
    let zero = L::splat(0.0);
    let limit = L::splat(half_width);
    let mut excess = zero;
    for n in 0..BRICK * BRICK {
        let Some(lanes) = row_mut(values, ((n >> 3) * SIDE + (n & 7)) * SIDE) else { break };
        let d = L::load(lanes);
        let size = d.abs();
        // Band nodes are exact: neither lowered nor counted.
        let outside = limit.lt(size);
        if L::bits(outside) == 0 {
            continue;
        }
        let (mut low, mut high) = (limit, L::splat(f32::INFINITY));
        for (c, reach) in corners.iter().zip(reach) {
            let r = L::load(row(reach, n * LANES));
            let c = L::splat(c.abs());
            low = low.max(c.sub(r));
            high = high.min(c.add(r));
        }
        let lowered = L::select(outside, size.min(high), size);
        excess = excess.max(L::select(outside, lowered.sub(low), zero));
        L::select(d.lt(zero), zero.sub(lowered), lowered).store(lanes);
    }
    let mut lanes = [0.0; LANES];
    excess.store(&mut lanes);
    lanes.into_iter().fold(0.0, f32::max)
}

dispatch! {
    fn look / look_plain = look_kernel(values: &[f32]) -> Info
}

#[inline(always)]
fn look_kernel<L: Lanes>(values: &[f32]) -> Info {
    let (zero, touches, apart) = (L::splat(0.0), L::splat(TOUCHES), L::splat(APART));
    let (mut near, mut opposed) = (0, 0);
    let mut faces = [[0u64; 2]; 3];
    for z in 0..BRICK {
        for y in 0..BRICK {
            let at = (z * SIDE + y) * SIDE;
            let here = L::load(row(values, at));
            let (size, inside) = (here.abs(), L::bits(here.lt(zero)));
            let close = L::bits(touches.ge(size));
            let halves = u8::from(close & 0xF != 0) | u8::from(close & 0xF0 != 0) << 1;
            near |= halves << (2 * (y >> 2) + 4 * (z >> 2));
            faces[0][0] |= u64::from(inside & 1) << (8 * z + y);
            faces[0][1] |= u64::from(inside >> 7 & 1) << (8 * z + y);
            if y % (BRICK - 1) == 0 {
                faces[1][y / (BRICK - 1)] |= u64::from(inside) << (8 * z);
            }
            if z % (BRICK - 1) == 0 {
                faces[2][z / (BRICK - 1)] |= u64::from(inside) << (8 * y);
            }
            // The last lane along x, and the last rows, have their successors in other bricks.
            let next = [
                (1, 0x7F),
                (SIDE, if y + 1 < BRICK { 0xFF } else { 0 }),
                (SIDE * SIDE, if z + 1 < BRICK { 0xFF } else { 0 }),
            ];
            for (step, lanes) in next {
                if lanes != 0 {
                    let next = L::load(row(values, at + step));
                    let free = L::bits(apart.lt(size.add(next.abs())));
                    opposed |= (inside ^ L::bits(next.lt(zero))) & free & lanes;
                }
            }
        }
    }
    Info { excess: 0.0, opposed: opposed != 0, near, faces }
}
