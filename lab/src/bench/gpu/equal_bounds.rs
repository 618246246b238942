//! How far two answers about one pose may be apart.
//!
//! Two samplings of one mesh at spacing s: every part has its centroid within r = 2/3 s of all its points. Over r the field changes by at
//! most `change`: r times its Lipschitz constant, or r and twice its error there, whichever is less. With m = change + e, where e is what
//! reading the field adds:
//!
//! - A part is counted wrongly only where the field changes its sign in it, hence only if |f| ≤ m at its centroid. U(m) is the area
//!   of such parts, told by the referee. The other sampling's parts with |f| ≤ m lie in parts of the referee with |f| ≤ 3 m.
//!   Areas differ by at most U(m) + U(3 m): the border of the contact times about 5 s.
//! - In those parts depths are at most 2 m off. In the others the centroid takes care of what is linear: what is left is r times how much
//!   the gradient turns, for each sampling, and the direction of the push turns by as much. `turn` is looked at in six places around
//!   each of the referee's samples, 2 r away. Forces differ by at most k Σ area (2 m at the border, 2 r turn + depth turn + e
//!   elsewhere) over all parts with f ≤ 3 m; torques by that times the lever, and by the force times r.
//! - Those are sums of thousands of errors of either sign. What sampling does by itself is independent from part to part: a sum of
//!   such errors of at most x is within 5 √Σ x², but for one in a million. That is what is allowed; what reading adds, and what
//!   interpolated directions are off, has a sign of its own, and is summed up as it is.
//! - The least value of samples is above the mesh's least by at most `change`: distances differ by at most that, and e on either side.
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
use palpate::soft::{FieldContacts, FieldSummary};
use palpate_gpu::Interpolation;

/// The share of spacing that a part's points are from its centroid at most [1].
const REACH: f64 = 2.0 / 3.0;
/// Weights of texture filters have 8 bits: 1/256 along each of three axes [1].
const FILTER: f64 = 3.0 / 256.0;
/// Sums of many numbers in f32, relative to the sum of their sizes [1].
const SUMS: f64 = 1e-5;

/// Deviations that a sum of independent errors may be off [1].
const INDEPENDENT: f64 = 5.0;

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

/// How much the field changes over `r` near a value [m].
fn change(field: &Field, value: f64, r: f64) -> f64 {
    let report = field.report();
    let banded = value.abs() + r + report.error_bound_band <= report.band;
    let error = if banded { report.error_bound_band } else { report.error_bound_far };
    (r * report.lipschitz.max(1.0)).min(r + 2.0 * error)
}

/// The margin within which the referee must tell its samples for [`sampled`] [m].
pub(super) fn margin(field: &Field, spacing: f64, e: f64) -> f64 {
    3.0 * (change(field, 0.0, REACH * spacing) + e)
}

/// Of two samplings at this spacing. `found` is what the referee has within [`margin`], `stiffness` that of the integrated law.
pub(super) fn sampled(
    model: &Model,
    found: &FieldContacts,
    pose: &Pose,
    spacing: f64,
    interpolation: Interpolation,
    e: f64,
    stiffness: f64,
) -> Bounds {
    let r = REACH * spacing;
    let nearest = found.deepest.map_or(0.0, |d| d.distance);
    let mut out = Bounds { distance: change(&model.field, nearest, r) + 2.0 * e, ..Bounds::default() };
    // Directions that are interpolated between nodes, instead of differences of distances, are those of a voxel around.
    let directions = interpolation == Interpolation::Directions;
    let terms = Terms {
        m: change(&model.field, 0.0, r) + e,
        e,
        r,
        around: 2.0 * r + if directions { 1.75 * model.field.lattice().voxel } else { 0.0 },
        turned: if directions { 2.0 * FILTER } else { 0.0 },
        own: directions,
        stiffness,
    };
    bound(&mut out, &model.field, &found.contacts, pose, &terms);
    out
}

/// Of the same points on both sides. `contacts` are the CPU's within three times `e`.
pub(super) fn same_points(field: &Field, contacts: &Contacts, pose: &Pose, e: f64, stiffness: f64) -> Bounds {
    let mut out = Bounds { distance: e, ..Bounds::default() };
    // Differences of nodes make the gradient: eight of them are off.
    let turned = 8.0 * e / field.lattice().voxel;
    bound(&mut out, field, contacts, pose, &Terms { m: e, e, r: e, around: e, turned, own: true, stiffness });
    out.contacts = contacts.list.iter().filter(|c| f64::from(c.distance).abs() <= e).count();
    out
}

/// What the CPU's packed field rounds: four numbers of 16 bits that span the largest value [m].
pub(super) fn packing(field: &Field) -> f64 {
    let most = field.decoded().iter().map(|v| v.abs()).fold(0.0, f32::max);
    8.0 * f64::from(most) / 32767.0
}

/// The numbers of the formulas above [m], and `turned`, what a direction is off besides [1].
struct Terms {
    m: f64,
    e: f64,
    r: f64,
    around: f64,
    turned: f64,
    /// Whether the turning of the gradient has a sign of its own.
    own: bool,
    stiffness: f64,
}

/// Area, force and torque, from the samples of the referee.
fn bound(out: &mut Bounds, field: &Field, contacts: &Contacts, pose: &Pose, t: &Terms) {
    // With a sign of their own: area, force, torque. And squares of those without.
    let (mut sums, mut squares) = ([0.0f64; 3], [0.0f64; 3]);
    let mut add = |what: usize, own: f64, any: f64| {
        sums[what] += own;
        squares[what] += any * any;
    };
    for c in &contacts.list {
        let (f, area) = (f64::from(c.distance), f64::from(c.area));
        let size = f.abs();
        match size {
            // Nobody can tell.
            s if s <= t.e => add(0, 2.0 * area, 0.0),
            s if s <= t.m => add(0, SUMS * area, 2.0 * area),
            s if s <= 3.0 * t.m => add(0, SUMS * area, area),
            _ => add(0, SUMS * area, 0.0),
        }
        if f > 3.0 * t.m {
            continue;
        }
        let (depth, p) = ((-f).max(0.0), contacts.position(c));
        let turn = turn(field, p, t.around).min(2.0);
        let border = size <= 3.0 * t.m;
        let (own_turn, any_turn) = if t.own { (t.turned + turn, 0.0) } else { (t.turned, turn) };
        let own = area * (t.e * if border { 2.0 } else { 1.0 } + depth * (own_turn + SUMS));
        let depths = if border { 2.0 * (t.m - t.e) } else { 2.0 * t.r * any_turn };
        let any = area * (depths + depth * any_turn);
        let lever = (p - pose.translation).length();
        add(1, own, any);
        add(2, own * lever, any * lever + area * (depth + depths) * t.r);
    }
    let [area, force, torque] = [0, 1, 2].map(|i| sums[i] + INDEPENDENT * squares[i].sqrt());
    (out.area, out.force, out.torque) = (area, t.stiffness * force, t.stiffness * torque);
}

/// How much the gradient changes within `r`, in length or in direction [1].
fn turn(field: &Field, p: DVec3, r: f64) -> f64 {
    let here = field.sample(p).gradient;
    let axes = [DVec3::X, DVec3::Y, DVec3::Z];
    let around = axes.iter().flat_map(|a| [p + *a * r, p - *a * r]);
    let apart = |q: DVec3| {
        let there = field.sample(q).gradient;
        (there - here).length().max((there.normalize_or_zero() - here.normalize_or_zero()).length())
    };
    around.map(apart).fold(0.0, f64::max)
}
