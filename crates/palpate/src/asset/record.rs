//! Reports as bytes: numbers one after the other, little-endian, in the order of their fields.

use super::error::Problem;
use crate::field::{Encoding, FieldReport, Lattice, SignMethod};
use crate::math::Aabb;
use crate::mesh::{Hole, HoleOutcome, MeshReport};
use crate::shell::ShellReport;
use glam::DVec3;

/// What the section of the field says, besides its big arrays.
#[derive(Clone, Debug)]
pub(super) struct FieldRecord {
    pub(super) lattice: Lattice,
    pub(super) encoding: Encoding,
    /// Metres per stored unit; 1 for f32 [m].
    pub(super) step: f32,
    pub(super) report: FieldReport,
}

/// No precision was stated.
const NO_PRECISION: u64 = u64::MAX;

/// Collects numbers.
#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn count(&mut self, n: usize) {
        self.whole(n as u64);
    }
    fn whole(&mut self, n: u64) {
        self.0.extend(n.to_le_bytes());
    }
    fn real(&mut self, x: f64) {
        self.0.extend(x.to_le_bytes());
    }
    fn point(&mut self, p: DVec3) {
        p.to_array().into_iter().for_each(|x| self.real(x));
    }
    fn aabb(&mut self, b: Aabb) {
        self.point(b.min);
        self.point(b.max);
    }
}

/// Takes numbers from a section, each one checked.
struct In<'a> {
    section: [u8; 8],
    bytes: &'a [u8],
}

impl In<'_> {
    fn wrong<T>(&self, text: String) -> Result<T, Problem> {
        Err(Problem::new(&self.section, text))
    }

    fn whole(&mut self, what: &str) -> Result<u64, Problem> {
        match self.bytes.split_first_chunk::<8>() {
            Some((number, rest)) => {
                self.bytes = rest;
                Ok(u64::from_le_bytes(*number))
            }
            None => self.wrong(format!("ends before its {what}")),
        }
    }

    fn count(&mut self, what: &str) -> Result<usize, Problem> {
        let n = self.whole(what)?;
        // Far above any count, and small enough that no arithmetic on counts overflows.
        match usize::try_from(n) {
            Ok(count) if n <= 1 << 40 => Ok(count),
            _ => self.wrong(format!("has {n} as {what}")),
        }
    }

    fn real(&mut self, what: &str) -> Result<f64, Problem> {
        let x = f64::from_bits(self.whole(what)?);
        if x.is_finite() { Ok(x) } else { self.wrong(format!("has {x} as {what}")) }
    }

    /// A number from 0 up.
    fn size(&mut self, what: &str) -> Result<f64, Problem> {
        let x = self.real(what)?;
        if x >= 0.0 { Ok(x) } else { self.wrong(format!("has {x} as {what}")) }
    }

    fn point(&mut self, what: &str) -> Result<DVec3, Problem> {
        Ok(DVec3::new(self.real(what)?, self.real(what)?, self.real(what)?))
    }

    fn aabb(&mut self, what: &str) -> Result<Aabb, Problem> {
        let aabb = Aabb { min: self.point(what)?, max: self.point(what)? };
        if aabb.min.cmple(aabb.max).all() {
            Ok(aabb)
        } else {
            self.wrong(format!("has a {what} from {} to {}", aabb.min, aabb.max))
        }
    }

    fn end(&self) -> Result<(), Problem> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        self.wrong(format!("has {} bytes more than its numbers", self.bytes.len()))
    }
}

/// A mesh's report and what its coordinates are relative to.
pub(super) fn write_mesh(r: &MeshReport, origin: DVec3) -> Vec<u8> {
    let mut out = Out::default();
    out.point(origin);
    [r.vertices, r.triangles, r.welded_vertices, r.degenerate, r.duplicate_faces, r.stitched_edges]
        .into_iter()
        .for_each(|n| out.count(n));
    [r.flipped_faces, r.boundary_edges, r.nonmanifold_edges, r.components, r.closed_components]
        .into_iter()
        .for_each(|n| out.count(n));
    out.count(usize::from(r.watertight));
    out.count(r.holes);
    out.real(r.volume);
    out.real(r.area);
    out.aabb(r.aabb);
    [r.mean_edge, r.min_edge, r.max_edge, r.suggested_voxel].into_iter().for_each(|x| out.real(x));
    out.0
}

pub(super) fn read_mesh(section: [u8; 8], bytes: &[u8]) -> Result<(MeshReport, DVec3), Problem> {
    let mut from = In { section, bytes };
    let origin = from.point("origin")?;
    let report = MeshReport {
        vertices: from.count("number of vertices")?,
        triangles: from.count("number of triangles")?,
        welded_vertices: from.count("number of welded vertices")?,
        degenerate: from.count("number of flat triangles")?,
        duplicate_faces: from.count("number of doubled faces")?,
        stitched_edges: from.count("number of stitched edges")?,
        flipped_faces: from.count("number of flipped faces")?,
        boundary_edges: from.count("number of boundary edges")?,
        nonmanifold_edges: from.count("number of non-manifold edges")?,
        components: from.count("number of parts")?,
        closed_components: from.count("number of closed parts")?,
        watertight: match from.whole("closedness")? {
            0 => false,
            1 => true,
            n => return from.wrong(format!("has {n} as closedness")),
        },
        holes: from.count("number of holes")?,
        volume: from.real("volume")?,
        area: from.size("area")?,
        aabb: from.aabb("box")?,
        mean_edge: from.size("mean edge")?,
        min_edge: from.size("shortest edge")?,
        max_edge: from.size("longest edge")?,
        suggested_voxel: from.size("suggested voxel")?,
    };
    from.end()?;
    Ok((report, origin))
}

/// A shell's report and what its positions are relative to.
pub(super) fn write_shell(r: &ShellReport, origin: DVec3) -> Vec<u8> {
    let mut out = Out::default();
    out.point(origin);
    [r.spacing, r.radius, r.area].into_iter().for_each(|x| out.real(x));
    [r.entries, r.points, r.feature_points, r.recovered, r.filled].into_iter().for_each(|n| out.count(n));
    out.real(r.voxel);
    [r.surface_voxels, r.interior_projections, r.boundary_projections, r.recovered_projections]
        .into_iter()
        .for_each(|n| out.count(n));
    out.0
}

pub(super) fn read_shell(section: [u8; 8], bytes: &[u8]) -> Result<(ShellReport, DVec3), Problem> {
    let mut from = In { section, bytes };
    let origin = from.point("origin")?;
    let report = ShellReport {
        spacing: from.size("spacing")?,
        radius: from.size("radius")?,
        area: from.size("area")?,
        entries: from.count("number of entries")?,
        points: from.count("number of points")?,
        feature_points: from.count("number of points on edges")?,
        recovered: from.count("number of recovered points")?,
        filled: from.count("number of filled points")?,
        voxel: from.size("voxel")?,
        surface_voxels: from.count("number of surface voxels")?,
        interior_projections: from.count("number of projections")?,
        boundary_projections: from.count("number of projections")?,
        recovered_projections: from.count("number of projections")?,
    };
    from.end()?;
    Ok((report, origin))
}

pub(super) fn write_field(lattice: &Lattice, encoding: Encoding, step: f32, r: &FieldReport) -> Vec<u8> {
    let mut out = Out::default();
    out.point(lattice.origin);
    out.real(lattice.voxel);
    lattice.cells.into_iter().for_each(|c| out.whole(u64::from(c)));
    let (kind, precision) = match encoding {
        Encoding::Float => (0, NO_PRECISION),
        Encoding::Scaled { precision } => (1, precision.map_or(NO_PRECISION, u64::from)),
        Encoding::Layered => (2, NO_PRECISION),
    };
    out.whole(kind);
    out.whole(precision);
    out.real(f64::from(step));
    out.whole(match r.sign_method {
        SignMethod::Pseudonormal => 0,
        SignMethod::Winding => 1,
        SignMethod::Unsigned => 2,
        SignMethod::Analytic => 3,
    });
    out.real(r.sign_confidence);
    out.count(r.sign_repaired);
    [r.band, r.error_bound_band, r.error_bound_far, r.lipschitz].into_iter().for_each(|x| out.real(x));
    out.aabb(r.surface);
    out.count(r.holes.len());
    for hole in &r.holes {
        out.count(hole.edges);
        out.point(hole.centre);
        out.real(hole.area);
        out.real(hole.perimeter);
        out.whole(u64::from(hole.component));
        out.whole(match hole.outcome {
            HoleOutcome::Capped => 0,
            HoleOutcome::Sheet => 1,
            HoleOutcome::Unclosable => 2,
        });
    }
    out.real(r.excess_background);
    out.real(r.excess_bricks);
    out.0
}

/// The record; `bricks` and `bytes` of its report are 0 and follow from the arrays.
pub(super) fn read_field(section: [u8; 8], bytes: &[u8]) -> Result<FieldRecord, Problem> {
    let mut from = In { section, bytes };
    let lattice = read_lattice(&mut from)?;
    let (kind, precision) = (from.whole("encoding")?, from.whole("precision")?);
    let encoding = match (kind, u32::try_from(precision)) {
        (0, _) if precision == NO_PRECISION => Encoding::Float,
        (1, _) if precision == NO_PRECISION => Encoding::Scaled { precision: None },
        (1, Ok(p)) => Encoding::Scaled { precision: Some(p) },
        (2, _) if precision == NO_PRECISION => Encoding::Layered,
        _ => return from.wrong(format!("has encoding {kind} with precision {precision}")),
    };
    let step = from.real("step")? as f32;
    if !(step > 0.0 && step.is_finite()) {
        return from.wrong(format!("has {step} as step"));
    }
    let sign_method = match from.whole("sign method")? {
        0 => SignMethod::Pseudonormal,
        1 => SignMethod::Winding,
        2 => SignMethod::Unsigned,
        3 => SignMethod::Analytic,
        n => return from.wrong(format!("has {n} as sign method")),
    };
    let mut report = FieldReport {
        sign_method,
        sign_confidence: from.size("sign confidence")?,
        sign_repaired: from.count("number of repaired bricks")?,
        holes: Vec::new(),
        bricks: 0,
        bytes: 0,
        band: from.size("band")?,
        error_bound_band: from.size("error bound")?,
        error_bound_far: from.size("error bound")?,
        excess_background: 0.0,
        excess_bricks: 0.0,
        lipschitz: from.size("Lipschitz constant")?,
        surface: from.aabb("box")?,
    };
    if report.sign_confidence > 1.0 {
        return from.wrong(format!("has {} as sign confidence", report.sign_confidence));
    }
    // No capacity from the stated count: a lie ends at the last byte.
    for _ in 0..from.count("number of holes")? {
        report.holes.push(read_hole(&mut from)?);
    }
    // Files written before these were measured end here.
    if from.bytes.is_empty() {
        (report.excess_background, report.excess_bricks) = (report.error_bound_far, report.error_bound_far);
    } else {
        (report.excess_background, report.excess_bricks) = (from.size("excess")?, from.size("excess")?);
    }
    from.end()?;
    Ok(FieldRecord { lattice, encoding, step, report })
}

fn read_lattice(from: &mut In<'_>) -> Result<Lattice, Problem> {
    let origin = from.point("origin")?;
    let voxel = from.size("voxel")?;
    let mut cells = [0; 3];
    for c in &mut cells {
        let n = from.whole("number of cells")?;
        match u32::try_from(n) {
            // Eight voxels a cell must still fit 31 bits.
            Ok(n) if (1..1 << 28).contains(&n) => *c = n,
            _ => return from.wrong(format!("has {n} cells along an axis")),
        }
    }
    let total: f64 = cells.iter().map(|c| f64::from(*c)).product();
    let lattice = Lattice { origin, voxel, cells };
    let aabb = lattice.aabb();
    if !(voxel > 0.0 && total <= crate::field::lattice::MAX_CELLS && aabb.max.is_finite()) {
        return from.wrong(format!("has a grid of {cells:?} cells of 8 voxels of {voxel} m at {origin}"));
    }
    Ok(lattice)
}

fn read_hole(from: &mut In<'_>) -> Result<Hole, Problem> {
    Ok(Hole {
        edges: from.count("number of edges of a hole")?,
        centre: from.point("centre of a hole")?,
        area: from.size("area of a hole")?,
        perimeter: from.size("length of a hole")?,
        component: match from.whole("part of a hole")? {
            n if n <= u64::from(u32::MAX) => n as u32,
            n => return from.wrong(format!("has {n} as part of a hole")),
        },
        outcome: match from.whole("outcome of a hole")? {
            0 => HoleOutcome::Capped,
            1 => HoleOutcome::Sheet,
            2 => HoleOutcome::Unclosable,
            n => return from.wrong(format!("has {n} as outcome of a hole")),
        },
    })
}
