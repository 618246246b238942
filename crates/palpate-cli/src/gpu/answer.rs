//! What the device found about a pose, as the CPU would tell it.

use crate::ask::{Answer, List, Question};
use crate::pair::Pair;
use glam::{DVec3, Vec3};
use palpate::contact::{Contact, Contacts};
use palpate::force::PoseSummary;
use palpate::query::{Distance, Roles};
use palpate::{Pose, Query, Shape, Wrench};

/// Rounding of coordinates on the device, of the size of what is there [1].
const ROUNDING: f64 = 1e-6;

/// The contacts of a direction. In the frame of the shape that has the field.
#[derive(Debug)]
pub(super) struct Direction {
    /// Whether A gave the points and B the field.
    pub(super) swapped: bool,
    pub(super) summary: PoseSummary,
    /// Where they were kept.
    pub(super) list: Option<Vec<Contact>>,
}

/// All about a pose.
#[derive(Debug)]
pub(super) struct Found {
    /// The nearest of B's points in A's field, and of A's in B's.
    pub(super) nearest: [PoseSummary; 2],
    pub(super) directions: Vec<Direction>,
    /// For the nearest points and for contacts [µs].
    pub(super) micros: [f64; 2],
}

impl Found {
    /// The same keys and meanings as the CPU's.
    pub(super) fn answer(&self, pair: &Pair, query: &mut Query, pose: &Pose, question: &Question) -> Answer {
        let distance = self.distance(&pair.a.shape, &pair.b.shape, pose);
        let mut answer = Answer::new(question, distance, self.micros[0]);
        answer.micros_contacts = self.micros[1];
        answer.micros = self.micros[0] + self.micros[1];
        let roles = |d: &Direction| if d.swapped { Roles::PointsOfA } else { Roles::PointsOfB };
        let directions: Vec<Roles> = self.directions.iter().map(roles).collect();
        answer.chosen = question.choice.map(|by| pair.nothing_chosen(by, question, &directions));
        let share = if question.both { 0.5 } else { 1.0 };
        for direction in &self.directions {
            if let Some(sum) = &mut answer.force {
                *sum = *sum + direction.wrench(pose) * share;
            }
            let Some(all) = direction.contacts(pose) else {
                let s = &direction.summary;
                answer.contact_count += s.contacts;
                answer.contact_area += share * s.force.area;
                let deepest = s.deepest.map_or(f64::INFINITY, |c| c.distance.into());
                let (count, of_a) = (s.contacts, direction.swapped);
                answer.lists.push(List { count, deepest, of_a, spent: None, kept: None });
                continue;
            };
            let before = answer.contact_area;
            answer.add(&all, None, share);
            let kept = match &mut answer.chosen {
                Some(chosen) => {
                    let out = chosen.of(&all);
                    chosen.add(&out, pose, question, share);
                    out
                }
                None => all,
            };
            if let Some(list) = answer.lists.last_mut() {
                // Those beyond the list's room count too.
                answer.contact_count += direction.summary.contacts - list.count;
                if direction.summary.contacts > list.count {
                    let deepest = direction.summary.deepest.map_or(f64::INFINITY, |c| c.distance.into());
                    list.deepest = list.deepest.min(deepest);
                    answer.contact_area = before + share * direction.summary.force.area;
                }
                list.count = direction.summary.contacts;
                list.kept = question.keep_contacts.then_some(kept);
            }
        }
        answer.intersects = distance.overlaps() || answer.lists.iter().any(|l| l.deepest < 0.0);
        pair.ask_penetration(query, pose, question, &mut answer);
        answer
    }

    /// Between the point that the device chose and the surface itself; how much less it may be follows from the least value of
    /// the field and from how far surfaces are from points.
    fn distance(&self, a: &Shape, b: &Shape, pose: &Pose) -> Distance {
        let mut best = Distance {
            distance: f64::INFINITY,
            bound: f64::INFINITY,
            witness_a: DVec3::NAN,
            witness_b: DVec3::NAN,
        };
        // The true distance is not below this, as long as nothing is inside.
        let (mut lower, mut inside) = (f64::NEG_INFINITY, false);
        for (nearest, swapped) in self.nearest.iter().zip([false, true]) {
            let (field, points, from) = if swapped { (b, a, pose.inverse()) } else { (a, b, *pose) };
            let Some(contact) = nearest.deepest else { continue };
            let value = f64::from(contact.distance);
            let (radius, report) = (points.tree().shell_report().radius, field.field().report());
            let reach = from.translation.length() + points.aabb().extent().length();
            let banded = value.abs() + report.error_bound_band <= report.band;
            let error =
                ROUNDING * reach + if banded { report.error_bound_band } else { report.error_bound_far };
            lower = lower.max(value - error - radius);
            let within = value < 0.0;
            // One that is outside says nothing once another is inside.
            if inside && !within {
                continue;
            }
            let p = from.point(points.tree().position(contact.id as usize));
            let q = field.exact().closest(p, None);
            let distance = if within { -q.distance } else { q.distance };
            if distance < best.distance || within && !inside {
                let (witness_a, witness_b) =
                    if swapped { (pose.point(p), pose.point(q.point)) } else { (q.point, p) };
                best = Distance { distance, bound: radius + 2.0 * error, witness_a, witness_b };
            }
            inside |= within;
        }
        if !inside && best.distance.is_finite() {
            best.bound = (best.distance - lower).max(0.0);
        }
        best
    }
}

impl Direction {
    /// On B about its origin, in A's frame.
    fn wrench(&self, pose: &Pose) -> Wrench {
        let w = self.summary.force.wrench;
        if !self.swapped {
            return w;
        }
        // It was on A, about A's origin, in B's frame.
        Wrench { force: -(pose.rotation * w.force), torque: -(pose.rotation * w.torque) }
            .about(pose.translation)
    }

    /// In A's frame.
    fn contacts(&self, pose: &Pose) -> Option<Contacts> {
        let list = self.list.as_ref()?;
        let origin = self.summary.origin;
        if !self.swapped {
            return Some(Contacts { origin, swapped: false, list: list.clone() });
        }
        let rotation = pose.rotation.as_quat();
        let turn = |v: [f32; 3]| rotation * Vec3::from_array(v);
        let one = |c: &Contact| Contact {
            point: turn(c.point).to_array(),
            // The field is B's: its gradient goes from B to A.
            normal: (-turn(c.normal)).to_array(),
            shell_normal: turn(c.shell_normal).to_array(),
            ..*c
        };
        Some(Contacts { origin: pose.point(origin), swapped: true, list: list.iter().map(one).collect() })
    }
}
