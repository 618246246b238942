//! How far two answers about one pose may be apart.
//!
//! Two samplings of one mesh at spacing s: every part has its centroid within 2/3 s of all its points, and the field changes by at most
//! L (its Lipschitz constant) a metre. With m = 2/3 s L + e, where e is what reading the field adds:
//!
//! - A part is counted wrongly only where the field changes its sign in it, hence only if |f| ≤ m at its centroid. U(m) is the area
//!   of such parts, told by the referee. The other sampling's parts with |f| ≤ m lie in parts of the referee with |f| ≤ 3 m.
//!   Areas differ by at most U(m) + U(3 m): the border of the contact times about 5 s.
//! - A point's depth differs by at most 2 m from the one its part has in either sampling, and the direction by how much the field's
//!   gradient turns within 4/3 s, `turn`, looked at in six places around each of the referee's samples.
//!   Forces differ by at most k Σ area (2 m + depth turn) over all parts with f ≤ 3 m; torques by that times the lever, and by
//!   the force times 4/3 s.
//! - The least value of samples is above the mesh's least by at most 2/3 s L: distances differ by at most m + e.
//!
//! What reading adds, e: rounding of coordinates in f32, 8 ε of how large they are; for textures 3/256 of the largest difference of
//! neighbouring nodes, as weights have 8 bits along each axis: at most 3/256 L voxels.
//!
//! Drawing (raster) weighs a pixel with the normal of the one triangle at its centre, 1 to √3: of triangles smaller than a pixel one
//! stands for all, so that a pixel's area is off by up to 0.73 of itself, one way or the other. Over N pixels that comes to 0.73 / √N
//! of the area; four times as much is allowed.
//!
//! The same points on both sides (batch): s = 0, and e is rounding and what the CPU's packed field rounds, two units of 16 bits of the
//! largest value for each of value and three differences.

use super::scene::Model;
use glam::DVec3;
use palpate::contact::Contacts;
use palpate::field::Field;
use palpate::math::Pose;
use palpate::soft::FieldSummary;
use palpate_gpu::Interpolation;

/// The share of spacing that a part's points are from its centroid at most [1].
const REACH: f64 = 2.0 / 3.0;
/// Weights of texture filters have 8 bits: 1/256 along each of three axes [1].
const FILTER: f64 = 3.0 / 256.0;
/// Sums of many numbers in f32, relative to the sum of their sizes [1].
const SUMS: f64 = 1e-5;

/// Bounds of what two answers about a pose may differ by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// [m]
    pub(super) distance: f64,
    /// [m²]
    pub(super) area: f64,
    /// [N]
    pub(super) force: f64,
    /// [N m]
    pub(super) torque: f64,
    /// Contacts that may be on either side.
    pub(super) contacts: usize,
}

/// How much the area of a pixel may be off [1], and how many deviations are allowed.
const PIXEL: f64 = 4.0 * 0.73;

impl Bounds {
    /// With what pixels of this edge add, for levers of this length [m].
    pub(super) fn drawn(self, theirs: &FieldSummary, pixel: f64, lever: f64) -> Self {
        let area = theirs.force.area;
        let share = if area > 0.0 { (PIXEL * pixel / area.sqrt()).min(0.73) } else { 0.0 };
        let force = share * theirs.force.normal_force;
        Self {
            area: self.area + share * area,
            force: self.force + force,
            torque: self.torque + force * lever,
            ..self
        }
    }
}

/// What reading a field adds to a distance [m].
pub(super) fn reading(field: &Field, interpolation: Interpolation, pose: &Pose, size: f64) -> f64 {
    let (voxel, steep) = (field.lattice().voxel, field.report().lipschitz.max(1.0));
    let origin = (pose.translation - field.lattice().origin).length() + size;
    let rounding =
        8.0 * f64::from(f32::EPSILON) * (origin + field.lattice().aabb().extent().length()) * steep;
    let filter = if interpolation == Interpolation::Shader { 0.0 } else { FILTER * steep * voxel };
    rounding + filter
}

/// The margin within which the referee must tell its samples for [`sampled`] [m].
pub(super) fn margin(field: &Field, spacing: f64, e: f64) -> f64 {
    3.0 * (REACH * spacing * field.report().lipschitz.max(1.0) + e)
}

/// Of two samplings at this spacing. `contacts` are the referee's within [`margin`], `stiffness` that of the integrated law.
pub(super) fn sampled(
    model: &Model,
    contacts: &Contacts,
    pose: &Pose,
    spacing: f64,
    interpolation: Interpolation,
    e: f64,
    stiffness: f64,
) -> Bounds {
    let steep = model.field.report().lipschitz.max(1.0);
    let m = REACH * spacing * steep + e;
    // Directions that are interpolated between nodes, instead of differences of distances, are those of a voxel around.
    let wide =
        if interpolation == Interpolation::Directions { 1.75 * model.field.lattice().voxel } else { 0.0 };
    let filter = if interpolation == Interpolation::Directions { 2.0 * FILTER } else { 0.0 };
    let mut out = Bounds { distance: m + e, ..Bounds::default() };
    bound(&mut out, &model.field, contacts, pose, m, 2.0 * REACH * spacing + wide, filter, stiffness);
    out
}

/// Of the same points on both sides. `contacts` are the CPU's within three times `e`.
pub(super) fn same_points(field: &Field, contacts: &Contacts, pose: &Pose, e: f64, stiffness: f64) -> Bounds {
    let mut out = Bounds { distance: e, ..Bounds::default() };
    // Differences of nodes make the gradient: eight of them are off.
    let turned = 8.0 * e / field.lattice().voxel;
    bound(&mut out, field, contacts, pose, e, e, turned, stiffness);
    out.contacts = contacts.list.iter().filter(|c| f64::from(c.distance).abs() <= e).count();
    out
}

/// What the CPU's packed field rounds: four numbers of 16 bits that span the largest value [m].
pub(super) fn packing(field: &Field) -> f64 {
    let most = field.decoded().iter().map(|v| v.abs()).fold(0.0, f32::max);
    8.0 * f64::from(most) / 32767.0
}

/// Area, force and torque, from the samples of the referee.
#[expect(clippy::too_many_arguments, reason = "the numbers of one formula")]
fn bound(
    out: &mut Bounds,
    field: &Field,
    contacts: &Contacts,
    pose: &Pose,
    m: f64,
    around: f64,
    turned: f64,
    stiffness: f64,
) {
    let (mut pushed, mut lifted) = (0.0, 0.0);
    for c in &contacts.list {
        let (f, area) = (f64::from(c.distance), f64::from(c.area));
        let size = f.abs();
        out.area += if size <= m {
            2.0 * area
        } else if size <= 3.0 * m {
            area
        } else {
            0.0
        };
        if f > 3.0 * m {
            continue;
        }
        let (depth, p) = ((-f).max(0.0), contacts.position(c));
        let turn = (turned + turn(field, p, around)).min(2.0);
        let lever = (p - pose.translation).length();
        let off = area * (2.0 * m + depth * turn + SUMS * depth);
        pushed += off;
        lifted += off * lever + area * (depth + 2.0 * m) * around;
    }
    out.area += SUMS * contacts.list.iter().map(|c| f64::from(c.area)).sum::<f64>();
    (out.force, out.torque) = (stiffness * pushed, stiffness * lifted);
}

/// How much the unit gradient changes within `r` [1].
fn turn(field: &Field, p: DVec3, r: f64) -> f64 {
    let here = field.sample(p).gradient.normalize_or_zero();
    let axes = [DVec3::X, DVec3::Y, DVec3::Z];
    let around = axes.iter().flat_map(|a| [p + *a * r, p - *a * r]);
    around.map(|q| (field.sample(q).gradient.normalize_or_zero() - here).length()).fold(0.0, f64::max)
}
