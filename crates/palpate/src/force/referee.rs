//! Scenes and a slow, plain force law in f64 that tests compare with.

use super::{Direction, ForceParams, Law, Twist};
use crate::contact::{Contact, Contacts};
use crate::field::Source;
use crate::field::source::random::Random;
use crate::math::{Pose, Wrench};
use glam::{DQuat, DVec3, Vec3};
use std::collections::BTreeMap;

/// A point of a surface: where, outward normal, area.
pub(super) type Patch = (DVec3, DVec3, f64);

/// `n` points spread evenly over a sphere at the origin.
pub(super) fn sphere(radius: f64, n: usize) -> Vec<Patch> {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let area = 4.0 * std::f64::consts::PI * radius * radius / n as f64;
    let point = |i: usize| {
        let z = 1.0 - (2 * i + 1) as f64 / n as f64;
        let (sin, cos) = (golden * i as f64).sin_cos();
        let flat = (1.0 - z * z).sqrt();
        DVec3::new(flat * cos, flat * sin, z)
    };
    (0..n).map(|i| (point(i) * radius, point(i), area)).collect()
}

/// `nx` × `ny` points of a rectangle of the plane `z = 0`, centred at the origin.
pub(super) fn grid(x: f64, y: f64, nx: usize, ny: usize, normal: DVec3) -> Vec<Patch> {
    let at = |i: usize, n: usize, length: f64| ((i as f64 + 0.5) / n as f64 - 0.5) * length;
    let area = x * y / (nx * ny) as f64;
    let cells = (0..ny).flat_map(|j| (0..nx).map(move |i| (i, j)));
    cells.map(|(i, j)| (DVec3::new(at(i, nx, x), at(j, ny, y), 0.0), normal, area)).collect()
}

/// Contacts of B's points in A's field.
pub(super) fn contacts(field_a: &impl Source, points_b: &[Patch], a_from_b: &Pose, margin: f64) -> Contacts {
    collect(points_b, margin, false, |p, n| {
        let p_a = a_from_b.point(p);
        let s = field_a.sample(p_a);
        (p_a, s.distance, s.gradient, a_from_b.vector(n))
    })
}

/// Contacts of A's points in B's field.
pub(super) fn swapped(field_b: &impl Source, points_a: &[Patch], a_from_b: &Pose, margin: f64) -> Contacts {
    collect(points_a, margin, true, |p, n| {
        let s = field_b.sample(a_from_b.inverse().point(p));
        (p, s.distance, -a_from_b.vector(s.gradient), n)
    })
}

fn collect(
    points: &[Patch],
    margin: f64,
    swapped: bool,
    of: impl Fn(DVec3, DVec3) -> (DVec3, f64, DVec3, DVec3),
) -> Contacts {
    let origin = DVec3::new(0.01, -0.02, 0.03);
    let mut list = Vec::new();
    for (id, &(p, n, area)) in points.iter().enumerate() {
        let (p_a, distance, normal, shell_normal) = of(p, n);
        if distance <= margin {
            list.push(Contact {
                point: (p_a - origin).as_vec3().to_array(),
                distance: distance as f32,
                normal: normal.as_vec3().to_array(),
                id: id as u32,
                shell_normal: shell_normal.as_vec3().to_array(),
                area: area as f32,
            });
        }
    }
    Contacts { origin, swapped, list }
}

/// Contacts of no shape at all; about three quarters have depth.
pub(super) fn random(seed: u64, n: usize, swapped: bool) -> Contacts {
    let mut random = Random(seed);
    let list = (0..n)
        .map(|i| Contact {
            point: random.point(0.1).as_vec3().to_array(),
            distance: random.range(-3e-3, 1e-3) as f32,
            normal: random.direction().as_vec3().to_array(),
            id: 3 * i as u32 + (random.bits() % 3) as u32,
            shell_normal: random.direction().as_vec3().to_array(),
            area: random.range(1e-7, 1e-5) as f32,
        })
        .collect();
    Contacts { origin: random.point(1.0), swapped, list }
}

/// A contact in f64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    pub(super) id: u32,
    pub(super) x: DVec3,
    pub(super) distance: f64,
    pub(super) normal: DVec3,
    pub(super) shell: DVec3,
    pub(super) area: f64,
}

pub(super) fn exact(contacts: &Contacts) -> Vec<Exact> {
    let v = |a: [f32; 3]| Vec3::from_array(a).as_dvec3();
    let one = |c: &Contact| Exact {
        id: c.id,
        x: contacts.position(c),
        distance: c.distance.into(),
        normal: v(c.normal),
        shell: v(c.shell_normal),
        area: c.area.into(),
    };
    contacts.list.iter().map(one).collect()
}

/// The frozen contacts after a small motion of B, both fields being plane around each contact.
pub(super) fn moved(from: &[Exact], swapped: bool, a_from_b: &Pose, small: &Twist) -> (Vec<Exact>, Pose) {
    let turn = DQuat::from_scaled_axis(small.angular);
    let origin = a_from_b.translation + small.linear;
    let pose = Pose::new(turn * a_from_b.rotation, origin);
    let with_b = |x: DVec3| origin + turn * (x - a_from_b.translation);
    let one = |c: &Exact| {
        let away = with_b(c.x) - c.x;
        if swapped {
            let normal = turn * c.normal;
            Exact { normal, distance: c.distance + normal.dot(away), ..*c }
        } else {
            let distance = c.distance + c.normal.dot(away);
            Exact { x: with_b(c.x), distance, shell: turn * c.shell, ..*c }
        }
    };
    (from.iter().map(one).collect(), pose)
}

/// What friction remembers: anchors in the frame of the shape that did not give the points, and who slides.
pub(super) type Anchors = BTreeMap<u32, (DVec3, bool)>;

/// What the referee finds.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) wrench: Wrench,
    /// Sums of lengths: of forces, and of forces times arms from `about`.
    pub(super) force_scale: f64,
    pub(super) torque_scale: f64,
    pub(super) area: f64,
    pub(super) used: usize,
    pub(super) sliding: usize,
    /// Contacts that damping would have made pull.
    pub(super) clamped: usize,
    /// Largest friction over normal force.
    pub(super) steepest: f64,
    /// How near the nearest contact is to the edge between sticking and sliding, as a share.
    pub(super) edge: f64,
}

/// The force law, one contact after the other. `anchors` of none: friction by speed. `frozen`: who sticks is taken from the
/// anchors, which stay as they are.
pub(super) fn force(
    list: &[Exact],
    swapped: bool,
    params: &ForceParams,
    a_from_b: &Pose,
    motion: &Twist,
    mut anchors: Option<&mut Anchors>,
    frozen: bool,
) -> Found {
    let f = params.friction;
    let (mut found, mut next) = (Found { edge: 1.0, ..Found::default() }, Anchors::new());
    let b_from_a = a_from_b.inverse();
    for c in list.iter().filter(|c| c.distance < 0.0) {
        let r = c.x - a_from_b.translation;
        let u = match (params.direction, swapped) {
            (Direction::Field, _) => c.normal,
            (Direction::Shell, false) => -c.shell,
            (Direction::Shell, true) => c.shell,
        };
        let v = motion.linear + motion.angular.cross(r);
        let raw = params.stiffness * -c.distance - params.damping * u.dot(v);
        let p = raw.max(0.0);
        found.clamped += usize::from(raw < 0.0);
        let across = |w: DVec3| w - u * u.dot(w);
        let mut t = DVec3::ZERO;
        if let Some(anchors) = anchors.as_deref_mut() {
            let known = anchors.get(&c.id).copied();
            let here = if swapped { b_from_a.point(c.x) } else { c.x };
            let (anchor, slid) = known.unwrap_or((here, false));
            let anchor_a = if swapped { a_from_b.point(anchor) } else { anchor };
            let sign = if swapped { -1.0 } else { 1.0 };
            let s = across(c.x - anchor_a) * sign;
            let k = params.stiffness * f.stiffness_ratio;
            let q = s * k + across(v) * f.damping;
            let mu = if slid { f.dynamic_coefficient } else { f.static_coefficient };
            let slides = if frozen { slid } else { q.length() > mu * p };
            found.edge =
                found.edge.min((q.length() - mu * p).abs() / (mu * p).max(1e-3 * params.stiffness * 1e-3));
            let most = f.dynamic_coefficient * p;
            t = if slides { -q * (most / q.length()) } else { -q };
            let mut kept = anchor;
            if slides || known.is_none() {
                let s = if s.length() * k > most { s * (most / (k * s.length())) } else { s };
                let at = c.x - s * sign;
                kept = if swapped { b_from_a.point(at) } else { at };
            }
            next.insert(c.id, (kept, slides));
            found.sliding += usize::from(slides);
        } else if f.dynamic_coefficient > 0.0 {
            let speed = across(v);
            t = -speed * (f.dynamic_coefficient * p / speed.length().max(f.creep));
            found.sliding += usize::from(speed.length() >= f.creep);
        }
        if p > 0.0 {
            found.steepest = found.steepest.max(t.length() / p);
        }
        let force = (u * p + t) * c.area;
        found.wrench = found.wrench + Wrench { force, torque: r.cross(force) };
        found.force_scale += force.length();
        // Torques are first summed about the contacts' origin, at most 0.2 m away.
        found.torque_scale += force.length() * (r.length() + 0.2);
        found.area += c.area;
        found.used += 1;
    }
    if let (Some(anchors), false) = (anchors, frozen) {
        *anchors = next;
    }
    if params.law == Law::Averaged && found.area > 0.0 {
        found.wrench = found.wrench * (1.0 / found.area);
        found.force_scale /= found.area;
        found.torque_scale /= found.area;
    }
    found
}
