//! Building a field: from a mesh, or from anything that knows its own distance.
//!
//! Based on: Sagardia, Stouraitis, Lopes e Silva, 2014, section 2.1.1 [sagardia14]; Morvan, Reimers, Samset, 2008,
//! section 3.1 [morvan08].
//! Differs: distances are to the mesh itself, not to marked voxels, and exact in the band; the grid is sparse.

use super::assemble::{Distances, Triangles, assemble};
use super::background::{Background, Far};
use super::brick::{Band, NODES, Refined, corners_of, own};
use super::bvh::Bvh;
use super::dipoles::Dipoles;
use super::encode::{Encoding, Values};
use super::exact::Exact;
use super::fill::{Info, fill};
use super::scan::{BRICK, NONE, OWNED, Slab, Vertices, unpack};
use super::sign::{self, Closure, SignMethod};
use super::surface::Surface;
use super::{Field, FieldError, FieldParams, FieldReport, Lattice, Source};
use crate::math::Aabb;
use crate::mesh::{Closed, Hole, HoleOutcome, Mesh};
use crate::par;
use crate::progress::{Progress, Silent};
use crate::store::prefer_large_pages;
use core::sync::atomic::{AtomicU32, Ordering};
use glam::DVec3;

/// Brick layers scanned together where there are enough for all threads. Fewer: features that reach several slabs are
/// set up more often. More: coarser progress.
const SLAB_LAYERS: usize = 16;
/// How much farther than the band nodes are exact [voxels]. With the diagonal of a voxel, √3, no sample of the band would
/// touch another node; a little less saves bricks, and such a node has a weight below [`FAR_WEIGHT`].
pub(super) const EXACT_MARGIN: f64 = 1.38;
/// Largest weight, over all nodes together, of nodes farther than [`EXACT_MARGIN`] from a sample: 0.0083 where three
/// coordinates are equal, a = 1.38/√3 and (1 − a)³.
pub(super) const FAR_WEIGHT: f64 = 0.01;
/// Half the diagonal of a unit cube: what trilinear interpolation of a 1-Lipschitz function can miss.
pub(super) const HALF_DIAGONAL: f64 = 0.866_025_403_784_438_6;

impl Field {
    /// The signed distance field of `mesh` with voxels of edge `voxel` [m].
    ///
    /// Nodes within `params.band` voxels (plus a voxel's diagonal) of the surface hold the exact distance to the closest
    /// triangle, rounded to f32. Time grows with the number of triangles and the surface in voxels, not the volume.
    ///
    /// ```
    /// use palpate::field::{Encoding, Field, FieldParams, SignMethod};
    /// use palpate::mesh::{Mesh, RepairParams, samples};
    ///
    /// // A cube without its lid: the hole is capped, reported, and the inside is still the inside.
    /// let open = samples::by_name("cube-missing-face").ok_or("no such sample")?;
    /// let mesh = Mesh::new(open, &RepairParams::default())?;
    /// let params = FieldParams { encoding: Encoding::Scaled { precision: None }, ..Default::default() };
    /// let field = Field::build(&mesh, mesh.report().suggested_voxel, &params)?;
    ///
    /// assert_eq!(field.report().caps(), 1);
    /// assert_eq!(field.report().sign_method, SignMethod::Pseudonormal);
    /// assert!(field.sample(mesh.aabb().centre()).distance < 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build(mesh: &Mesh, voxel: f64, params: &FieldParams) -> Result<Self, FieldError> {
        Self::build_with(mesh, voxel, params, &Silent)
    }

    /// As [`Field::build`], reporting progress; stops with [`FieldError::Cancelled`] when asked to.
    pub fn build_with(
        mesh: &Mesh,
        voxel: f64,
        params: &FieldParams,
        progress: &dyn Progress,
    ) -> Result<Self, FieldError> {
        params.check()?;
        let lattice = Lattice::around(mesh.aabb(), voxel, params.padding)?;
        check_memory(mesh, &lattice, params)?;
        par::with_threads(params.threads, || from_mesh(mesh, lattice, params, progress)).map(|(f, ..)| f)
    }

    /// As [`Field::build_with`], keeping the tree over the triangles that the build made, for exact closest points.
    pub fn build_with_exact(
        mesh: &Mesh,
        voxel: f64,
        params: &FieldParams,
        progress: &dyn Progress,
    ) -> Result<(Self, Exact), FieldError> {
        params.check()?;
        let lattice = Lattice::around(mesh.aabb(), voxel, params.padding)?;
        check_memory(mesh, &lattice, params)?;
        par::with_threads(params.threads, || {
            let (field, surface, bvh) = from_mesh(mesh, lattice, params, progress)?;
            Ok((field, Exact::new(surface, bvh, lattice.origin, lattice.voxel)))
        })
    }

    /// The field of a source that knows its own distance (see [`super::analytic`]), over the box `aabb` [m].
    ///
    /// Every node of a brick is exact. Time grows with the surface in voxels.
    pub fn from_source(
        source: &dyn Source,
        aabb: Aabb,
        voxel: f64,
        params: &FieldParams,
    ) -> Result<Self, FieldError> {
        params.check()?;
        let lattice = Lattice::around(aabb, voxel, params.padding)?;
        par::with_threads(params.threads, || from_source(source, aabb, lattice, params))
    }
}

fn from_mesh(
    mesh: &Mesh,
    lattice: Lattice,
    params: &FieldParams,
    progress: &dyn Progress,
) -> Result<(Field, Surface, Bvh), FieldError> {
    let stop = || if progress.cancelled() { Err(FieldError::Cancelled) } else { Ok(()) };
    progress.stage("surface", 0);
    let (surface, closure, surface_box) = prepare(mesh, &lattice, params);
    stop()?;
    progress.stage("tree", 0);
    let half_width = params.band + EXACT_MARGIN;
    let (bvh, vertices) = par::join(|| Bvh::build(&surface), || Vertices::find(&surface, half_width));
    stop()?;

    let band = scan(&surface, &bvh, &vertices, &lattice, half_width, progress);
    stop()?;
    let refined = Refined::find(&band, &lattice);
    check_index(&refined, &lattice)?;
    let known = |n| band.corner(n);
    let (background, mut corners) = Background::near(&surface, &bvh, &lattice, &refined, known, progress);
    stop()?;
    let bricks = refined.cells.len();
    let mut values = vec![0.0f32; corners.len() + bricks * NODES];
    prefer_large_pages(&mut values);
    let nodes = &mut values[corners.len()..];
    let mut triangles = vec![NONE; if params.keep_triangles { bricks * NODES } else { 0 }];
    let half_width = half_width as f32;
    let exact = params.exact_bricks.then_some(&bvh);
    let mut infos = fill(
        &band,
        &refined,
        &surface,
        exact,
        &corners,
        &lattice,
        half_width,
        nodes,
        &mut triangles,
        progress,
    );
    stop()?;

    let excess = f64::from(infos.iter().fold(0.0f32, |m, i| m.max(i.excess)));
    let touched = || touched(&refined, &infos, &lattice);
    let far = background.far(&surface, &bvh, params.exact_background, touched, &mut corners);

    progress.stage("sign", 0);
    let dipoles = Dipoles::build(&bvh, surface.faces());
    let (method, confidence) =
        sign::choose(params.sign, &surface, &closure, &dipoles, &lattice, &corners, &far);
    let inside = |p: DVec3| dipoles.winding(p) > 0.5;
    let repaired = apply_sign(method, &mut corners, &far, nodes, &mut infos, &refined, &lattice, inside);
    stop()?;

    // Outside the surface's box everything is outside.
    let border = |n: [usize; 3]| {
        let c = n.map(|v| v / BRICK);
        let at = (n[2] & 7) << 6 | (n[1] & 7) << 3 | (n[0] & 7);
        band.owned(c).map(|nodes| unpack(nodes[at])).filter(|n| n.0.is_finite())
    };
    if params.keep_triangles {
        let rest = Triangles { border: |n| border(n).map(|n| n.1) };
        assemble(&mut triangles, &refined, &rest, |brick| {
            let known = brick.iter_mut().filter(|t| **t != NONE);
            known.for_each(|t| *t = surface.original[*t as usize]);
        });
    }
    let report = |values: &Values, lipschitz: f64| {
        // f32 coordinates in the search, f32 values.
        let rounding =
            1e-4 + f64::from(f32::EPSILON) * 4.0 * f64::from(*lattice.dims().iter().max().unwrap_or(&1));
        // Between background nodes, exact or propagated; and in bricks outside the band.
        let inexact = (HALF_DIAGONAL * BRICK as f64).max(excess);
        let behind = HALF_DIAGONAL * BRICK as f64 + f64::from(far.excess);
        let most = [f64::from(far.excess), excess].map(|e| (e + rounding) * lattice.voxel + values.error());
        let far = behind.max(HALF_DIAGONAL + excess) + rounding;
        let fine = HALF_DIAGONAL + rounding + FAR_WEIGHT * inexact;
        FieldReport {
            sign_method: method,
            sign_confidence: confidence,
            sign_repaired: repaired,
            holes: closure.holes.clone(),
            bricks: refined.cells.len(),
            bytes: 0,
            band: params.band * lattice.voxel,
            error_bound_band: fine * lattice.voxel + values.error(),
            error_bound_far: far * lattice.voxel + values.error(),
            excess_background: most[0],
            excess_bricks: most[1],
            lipschitz,
            surface: surface_box,
        }
    };
    let border = |n| border(n).map(|n| n.0.abs());
    let field = finish(&lattice, &refined, values, triangles, &corners, border, params, report, progress)?;
    Ok((field, surface, bvh))
}

/// The mesh in grid coordinates, its holes capped; how closed it is; the box of the surface [m].
pub(super) fn prepare(mesh: &Mesh, lattice: &Lattice, params: &FieldParams) -> (Surface, Closure, Aabb) {
    let open = Closed::default();
    let closed = if params.cap_holes { mesh.closed() } else { &open };
    let caps = &closed.caps;
    let count = mesh.positions().len();
    let mut positions = vec![DVec3::ZERO; count + caps.positions.len()];
    let scale = 1.0 / lattice.voxel;
    par::chunks_mut(&mut positions, 8192, |chunk, out| {
        for (i, p) in out.iter_mut().enumerate() {
            let at = chunk * 8192 + i;
            let from = if at < count { mesh.positions()[at] } else { caps.positions[at - count] };
            *p = (from - lattice.origin) * scale;
        }
    });
    let aabb = caps.positions.iter().fold(mesh.aabb(), |b, p| b.grow(*p));
    let (labels, lone) = lone_sheets(mesh, &caps.holes);
    let (triangles, topology) = if caps.triangles.is_empty() {
        (mesh.triangles(), mesh.topology())
    } else {
        (&closed.triangles[..], &closed.topology)
    };
    let closure = Closure::of(topology, caps.holes.clone(), mesh.report().components);
    let mut surface = Surface::new(&positions, triangles, topology);
    if lone.contains(&true) {
        surface.mark_sheets(|t| labels.get(t).is_some_and(|l| lone[*l as usize]));
    }
    (surface, closure, aabb)
}

/// The component of each triangle, and which components are sheets apart from every solid: those have no say in what is
/// inside. A sheet whose box meets a solid's, such as a lid on its pot, helps to enclose. Empty without sheets.
fn lone_sheets(mesh: &Mesh, holes: &[Hole]) -> (Vec<u32>, Vec<bool>) {
    let sheets: Vec<u32> =
        holes.iter().filter(|h| h.outcome == HoleOutcome::Sheet).map(|h| h.component).collect();
    if sheets.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let (labels, count) = mesh.topology().components();
    let mut boxes = vec![Aabb::EMPTY; count];
    for (t, l) in labels.iter().enumerate() {
        boxes[*l as usize] = mesh.corners(t).into_iter().fold(boxes[*l as usize], Aabb::grow);
    }
    let is_sheet = |c: usize| sheets.contains(&(c as u32));
    let meets_solid = |c: usize| (0..count).any(|o| !is_sheet(o) && boxes[o].overlaps(boxes[c]));
    let lone = (0..count).map(|c| is_sheet(c) && !meets_solid(c)).collect();
    (labels, lone)
}

/// Scans all slabs of the grid.
fn scan(
    surface: &Surface,
    bvh: &Bvh,
    vertices: &Vertices,
    lattice: &Lattice,
    half_width: f64,
    progress: &dyn Progress,
) -> Band {
    let cells = lattice.cells.map(|c| c as usize + 1);
    let weights = bvh.layers(cells[2], BRICK as f32);
    let cuts = cut(&weights, par::threads());
    let bricks = bricks_met(surface.area(), half_width) * 1.2 / weights.iter().sum::<usize>().max(1) as f64;
    progress.stage("band", cuts.len() as u64);
    let slabs = par::map(cuts.len(), |s| {
        let weight: usize = weights[cuts[s].clone()].iter().sum();
        let mut slab = Slab::new([cells[0], cells[1]], cuts[s].clone(), half_width);
        slab.reserve((bricks * weight as f64) as usize);
        if !progress.cancelled() {
            slab.scan(surface, bvh, vertices);
        }
        progress.advance(1);
        slab
    });
    let places = cuts.iter().enumerate().flat_map(|(s, c)| (0..c.len()).map(move |l| [s as u32, l as u32]));
    Band { slabs, layers: places.collect(), cells }
}

/// Layers cut into slabs of about equal weight, one for each thread, more where layers are many. What is found does not
/// depend on the cuts.
fn cut(weights: &[usize], threads: usize) -> Vec<core::ops::Range<usize>> {
    let parts = threads.max(weights.len().div_ceil(SLAB_LAYERS)).min(weights.len()).max(1);
    let total: usize = weights.iter().sum();
    let mut out = Vec::with_capacity(parts);
    let (mut start, mut sum) = (0, 0);
    for (layer, weight) in weights.iter().enumerate() {
        sum += weight;
        // Half a layer's weight decides on which side of a cut it is better placed.
        let due = (2 * sum + weights.get(layer + 1).unwrap_or(&0)) * parts >= 2 * total * (out.len() + 1);
        if layer + 1 == weights.len() || (due && out.len() + 1 < parts) {
            out.push(start..layer + 1);
            start = layer + 1;
        }
    }
    out
}

/// Which 4³ blocks of nodes may hold the surface, two to a cell along each axis, x fastest.
fn touched(refined: &Refined, infos: &[Info], lattice: &Lattice) -> Vec<bool> {
    let [bx, by, bz] = lattice.cells.map(|c| 2 * c as usize);
    let mut out = vec![false; bx * by * bz];
    for (cell, info) in refined.cells.iter().zip(infos) {
        // The nodes on the upper border of the grid belong to no cell, but padding keeps the surface away from them.
        for n in (0..8).filter(|n| info.near >> n & 1 == 1) {
            let b: [usize; 3] = core::array::from_fn(|i| 2 * cell[i] as usize + (n >> i & 1));
            out[(b[2] * by + b[1]) * bx + b[0]] = true;
        }
    }
    out
}

/// Gives corners and bricks the side the method says. Returns in how many bricks the method had to be overruled.
#[expect(clippy::too_many_arguments, reason = "a step between two stages")]
fn apply_sign(
    method: SignMethod,
    corners: &mut [f32],
    far: &Far,
    values: &mut [f32],
    infos: &mut [Info],
    refined: &Refined,
    lattice: &Lattice,
    inside: impl Fn(DVec3) -> bool + Sync + Send,
) -> usize {
    match method {
        SignMethod::Analytic => {}
        SignMethod::Pseudonormal => {
            return sign::repair(values, infos, refined, corners, far, lattice, inside);
        }
        SignMethod::Unsigned => {
            corners.iter_mut().chain(values).for_each(|d| *d = d.abs());
        }
        SignMethod::Winding => {
            sign::sign_all(values, refined, corners, lattice, &inside);
        }
    }
    0
}

/// Assembles, measures and encodes the values: `values` has room for the corners, then each brick with its own nodes set.
#[expect(clippy::too_many_arguments, reason = "the last step takes what all earlier ones made")]
fn finish(
    lattice: &Lattice,
    refined: &Refined,
    mut values: Vec<f32>,
    closest: Vec<u32>,
    corners: &[f32],
    border: impl Fn([usize; 3]) -> Option<f32> + Sync + Send,
    params: &FieldParams,
    report: impl Fn(&Values, f64) -> FieldReport,
    progress: &dyn Progress,
) -> Result<Field, FieldError> {
    progress.stage("assemble", 0);
    let voxel = lattice.voxel as f32;
    let (head, tail) = values.split_at_mut(corners.len());
    for (v, c) in head.iter_mut().zip(corners) {
        *v = c * voxel;
    }
    // Steepest brick so far, as its bits: non-negative floats sort like integers.
    let steepest = AtomicU32::new(0);
    assemble(tail, refined, &Distances { corners, lattice, border }, |brick| {
        let slope = super::lipschitz::of_brick(brick, super::lipschitz::ALL);
        steepest.fetch_max(slope.to_bits(), Ordering::Relaxed);
        brick.iter_mut().for_each(|v| *v *= voxel);
    });
    let lipschitz =
        f64::from(f32::from_bits(steepest.into_inner()).max(background_slope(corners, lattice, refined)));
    let directory = refined
        .brick
        .iter()
        .map(|&b| if b == NONE { -1 } else { (corners.len() + b as usize * NODES) as i32 });
    let directory: Vec<i32> = directory.collect();
    let values = Values::encode(values, params.encoding, lattice.voxel)?;
    let mut report = report(&values, lipschitz * (1.0 + 1e-5));
    if params.encoding != Encoding::Float {
        // Rounding both ends of an edge the wrong way.
        report.lipschitz += 2.0 * values.error() / lattice.voxel * 3f64.sqrt();
    }
    report.bytes = values.bytes() + 4 * directory.len() + 4 * closest.len();
    Ok(Field { lattice: *lattice, directory: directory.into(), values, closest: closest.into(), report })
}

/// The largest gradient any background cell without a brick can have.
fn background_slope(corners: &[f32], lattice: &Lattice, refined: &Refined) -> f32 {
    let [cx, cy, cz] = lattice.cells.map(|c| c as usize);
    let layers = par::map(cz, |k| {
        let mut most = 0.0f32;
        for j in 0..cy {
            for i in 0..cx {
                if refined.brick[(k * cy + j) * cx + i] == NONE {
                    most = most.max(super::lipschitz::of_cell(&corners_of(corners, lattice, [i, j, k])));
                }
            }
        }
        most
    });
    layers.into_iter().fold(0.0f32, f32::max) / BRICK as f32
}

/// Refuses a grid whose values cannot be indexed with 31 bits.
fn check_index(refined: &Refined, lattice: &Lattice) -> Result<(), FieldError> {
    let count = lattice.corner_count() + refined.cells.len() * NODES;
    if count > i32::MAX as usize {
        let suggested = lattice.voxel * (count as f64 / f64::from(i32::MAX)).sqrt() * 1.1;
        return Err(FieldError::TooManyVoxels { voxel: lattice.voxel, voxels: count as f64, suggested });
    }
    Ok(())
}

/// Bricks that a plane of this area [voxels²] meets with its band, on average over directions.
fn bricks_met(area: f64, half_width: f64) -> f64 {
    area * (2.0 * half_width + 1.5 * BRICK as f64) / OWNED as f64
}

/// Refuses a field that would surely be larger than allowed, before any work is done.
fn check_memory(mesh: &Mesh, lattice: &Lattice, params: &FieldParams) -> Result<(), FieldError> {
    if params.max_memory.is_none() {
        return Ok(());
    }
    check_area(area(mesh), lattice, params)
}

/// Area of all triangles [m²].
pub(super) fn area(mesh: &Mesh) -> f64 {
    let area = |t: usize| {
        let [a, b, c] = mesh.corners(t);
        0.5 * (b - a).cross(c - a).length()
    };
    (0..mesh.triangles().len()).map(area).sum()
}

/// As [`check_memory`], of a mesh of this area [m²].
pub(super) fn check_area(area: f64, lattice: &Lattice, params: &FieldParams) -> Result<(), FieldError> {
    let Some(allowed) = params.max_memory else { return Ok(()) };
    let value = if params.encoding == Encoding::Float { 4.0 } else { 2.0 };
    let node = value + if params.keep_triangles { 4.0 } else { 0.0 };
    let met = bricks_met(area / (lattice.voxel * lattice.voxel), params.band + EXACT_MARGIN);
    let bricks = met.min(lattice.cell_count() as f64);
    let needed = bricks * NODES as f64 * node
        + lattice.corner_count() as f64 * 4.0
        + lattice.cell_count() as f64 * 4.0;
    if needed > allowed as f64 {
        let suggested = lattice.voxel * (needed / allowed as f64).sqrt() * 1.1;
        return Err(FieldError::TooMuchMemory {
            voxel: lattice.voxel,
            needed: needed as u64,
            allowed,
            suggested,
        });
    }
    Ok(())
}

fn from_source(
    source: &dyn Source,
    aabb: Aabb,
    lattice: Lattice,
    params: &FieldParams,
) -> Result<Field, FieldError> {
    let position = |n: [usize; 3]| lattice.origin + DVec3::from_array(n.map(|v| v as f64)) * lattice.voxel;
    let at = |n: [usize; 3]| (source.distance(position(n)) / lattice.voxel) as f32;
    let [nx, ny, nz] = lattice.corners();
    let corners = par::map(nx * ny * nz, |i| at([i % nx, i / nx % ny, i / nx / ny].map(|v| v * BRICK)));
    let half_width = (params.band + EXACT_MARGIN) as f32;
    // A cell is refined when its middle is near enough that a node may be in the band.
    let [cx, cy, _] = lattice.cells.map(|c| c as usize);
    let reach = half_width + (HALF_DIAGONAL * BRICK as f64) as f32;
    let near = par::map(lattice.cell_count(), |i| {
        at([i % cx, i / cx % cy, i / cx / cy].map(|v| v * BRICK + BRICK / 2)).abs() <= reach
    });
    let refined = Refined::from_marks(&near, &lattice);
    check_index(&refined, &lattice)?;
    let mut values = vec![0.0f32; corners.len() + refined.cells.len() * NODES];
    par::chunks_mut(&mut values[corners.len()..], NODES, |b, brick| {
        let cell = refined.cells[b].map(|v| v as usize * BRICK);
        for n in 0..OWNED {
            brick[own(n)] = at([cell[0] + (n & 7), cell[1] + (n >> 3 & 7), cell[2] + (n >> 6)]);
        }
    });
    let report = |values: &Values, lipschitz: f64| FieldReport {
        sign_method: SignMethod::Analytic,
        sign_confidence: 1.0,
        sign_repaired: 0,
        holes: Vec::new(),
        bricks: refined.cells.len(),
        bytes: 0,
        band: params.band * lattice.voxel,
        error_bound_band: (HALF_DIAGONAL * (1.0 + FAR_WEIGHT * BRICK as f64) + 1e-4) * lattice.voxel
            + values.error(),
        error_bound_far: (HALF_DIAGONAL * BRICK as f64 + 1e-4) * lattice.voxel + values.error(),
        excess_background: 1e-4 * lattice.voxel + values.error(),
        excess_bricks: 1e-4 * lattice.voxel + values.error(),
        lipschitz,
        surface: aabb,
    };
    let border = |n: [usize; 3]| Some(at(n));
    finish(&lattice, &refined, values, Vec::new(), &corners, border, params, report, &Silent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::samples;

    #[test]
    fn cuts_cover_all_layers_in_about_equal_parts() {
        assert_eq!(cut(&[1; 8], 2), [0..4, 4..8]);
        assert_eq!(cut(&[0, 0, 9, 1, 1, 1, 1, 1], 2), [0..3, 3..8]);
        assert_eq!(cut(&[5], 4).len(), 1);
        assert_eq!(cut(&[0; 3], 2).last().map(|c| c.end), Some(3));
        for threads in 1..9 {
            for layers in 1..70 {
                let weights: Vec<usize> = (0..layers).map(|l| l * 7 % 11).collect();
                let cuts = cut(&weights, threads);
                assert!(cuts.iter().all(|c| !c.is_empty()) && cuts[0].start == 0);
                assert!(cuts.windows(2).all(|w| w[0].end == w[1].start));
                assert_eq!(cuts[cuts.len() - 1].end, layers);
            }
        }
    }

    /// Every node of the band holds the distance that a search of the whole surface finds, and no other node holds one.
    #[test]
    fn the_scan_misses_no_node_of_the_band() {
        let shapes = [
            ("bumpy sphere", samples::bumpy_sphere(0.05, 0.008, 6, 4, 1)),
            ("fine bumpy sphere", samples::bumpy_sphere(0.05, 0.01, 9, 6, 7)),
            ("gear", samples::gear(12, 0.003, 0.01, 4)),
            ("bolt", samples::bolt(12)),
            ("open cube", samples::cube_missing_face(0.05)),
            ("sheet", samples::sheet(20)),
        ];
        for (name, raw) in shapes {
            let mesh = Mesh::new(raw, &Default::default()).unwrap();
            let voxel = mesh.aabb().extent().max_element() / 41.3;
            let params = FieldParams::default();
            let lattice = Lattice::around(mesh.aabb(), voxel, params.padding).unwrap();
            let (surface, ..) = prepare(&mesh, &lattice, &params);
            let bvh = Bvh::build(&surface);
            let half_width = 4.3;
            let vertices = Vertices::find(&surface, half_width);
            let band = scan(&surface, &bvh, &vertices, &lattice, half_width, &Silent);
            let (mut inside, mut guess) = (0, 0);
            for n in 0..band.cells.iter().product::<usize>() * OWNED {
                let (c, at) = (n / OWNED, n % OWNED);
                let cell =
                    [c % band.cells[0], c / band.cells[0] % band.cells[1], c / band.cells[0] / band.cells[1]];
                let node = [0, 1, 2].map(|i| (cell[i] * BRICK + (at >> (3 * i) & 7)) as f64);
                let (t, exact) = bvh.closest(&surface, DVec3::from_array(node), guess);
                guess = t;
                let found = band.owned(cell).map_or(f32::INFINITY, |nodes| unpack(nodes[at]).0.abs());
                if exact < half_width - 1e-4 || found.is_finite() {
                    inside += 1;
                    assert!(
                        (f64::from(found) - exact).abs() < 2e-4,
                        "{name} {node:?}: {found}, truly {exact}"
                    );
                }
            }
            assert!(inside > 5000, "{name}: only {inside} nodes in the band");
        }
    }
}
