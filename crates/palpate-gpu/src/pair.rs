//! Two shapes in many poses, as the CPU tells them: either may give the points, results are in A's frame, any number of poses.

use crate::batch::{BatchParams, GpuBatch, Job, Lists};
use crate::device::GpuError;
use crate::field::GpuField;
use crate::shell::GpuShell;
use glam::{DVec3, Vec3};
use palpate::contact::Contact;
use palpate::force::PoseSummary;
use palpate::math::{Pose, Wrench};
use palpate::shape::Shape;

/// Points in all poses of one submission. Fewer: waits show. More: a weak device may take longer than its driver allows.
const POINTS: usize = 1 << 28;
/// The same where contacts are kept: there is room for four million of them.
const LISTED: usize = 1 << 25;
/// Most poses of one submission: 16 MiB of answers and more of sums.
const POSES: usize = 1 << 16;

/// Two shapes, and what of them is on the device.
#[derive(Clone, Copy, Debug)]
pub struct PairJob<'a> {
    /// A.
    pub a: &'a Shape,
    /// Whether A gives the points and B the field.
    pub swapped: bool,
    /// Of A; of B if `swapped`.
    pub field: &'a GpuField,
    /// Of B; of A if `swapped`.
    pub shell: &'a GpuShell,
}

/// What many poses of a pair come to. A's frame.
#[derive(Clone, Debug, Default)]
pub struct PairFound {
    /// Of each pose; contact points are relative to `origin`.
    pub poses: Vec<PoseSummary>,
    /// The contacts of all poses one after the other, in the order of the points, where [`Lists::Full`] was asked for.
    pub contacts: Vec<Contact>,
    /// What points are relative to [m].
    pub origin: DVec3,
}

impl GpuBatch {
    /// Contacts of a pair in each of many poses `a_from_b`, as [`palpate::force::summary_batch`] finds them on the CPU.
    ///
    /// Poses go in pieces, as many as the device can hold; lists are never cut short, and `params.room` is not used. Accuracy as
    /// [`GpuBatch::contacts`].
    pub fn pair(
        &mut self,
        job: &PairJob<'_>,
        poses: &[Pose],
        params: &BatchParams,
    ) -> Result<PairFound, GpuError> {
        let origin = if job.swapped { job.a.tree().origin() } else { job.field.lattice.origin };
        let mut out = PairFound { poses: Vec::with_capacity(poses.len()), contacts: Vec::new(), origin };
        let full = params.lists == Lists::Full;
        let points = if full { LISTED } else { POINTS };
        let most = (points / job.shell.len().max(1)).clamp(1, POSES);
        for piece in poses.chunks(most) {
            self.piece(job, piece, params, &mut out)?;
        }
        Ok(out)
    }

    /// Asks for some poses at once; for half as many where their contacts, or their sums, have no room.
    fn piece(
        &mut self,
        job: &PairJob<'_>,
        poses: &[Pose],
        params: &BatchParams,
        out: &mut PairFound,
    ) -> Result<(), GpuError> {
        let inverse: Vec<Pose> =
            if job.swapped { poses.iter().map(Pose::inverse).collect() } else { Vec::new() };
        let asked = if job.swapped { &inverse } else { poses };
        let jobs = [Job { field: job.field, shell: job.shell, poses: asked, motions: &[] }];
        let room = (poses.len() == 1).then(|| job.shell.len());
        let found = match self.contacts(&jobs, &BatchParams { room, ..*params }) {
            Err(GpuError::TooLarge { .. }) if poses.len() > 1 => return self.halves(job, poses, params, out),
            found => found?.pop().unwrap_or_default(),
        };
        let first = out.contacts.len();
        if params.lists == Lists::Full {
            let list = &mut out.contacts;
            let left_out = self.read_lists(|_, pose, mut c| {
                turn_back(&mut c, job, &poses[pose]);
                list.push(c);
            })?;
            if left_out > 0 && poses.len() > 1 {
                out.contacts.truncate(first);
                return self.halves(job, poses, params, out);
            }
        }
        for (mut summary, pose) in found.into_iter().zip(poses) {
            summary.origin = out.origin;
            if let Some(c) = &mut summary.deepest {
                turn_back(c, job, pose);
            }
            if job.swapped {
                // It was on A, about A's origin, in B's frame.
                let w = summary.force.wrench;
                let w = Wrench { force: -(pose.rotation * w.force), torque: -(pose.rotation * w.torque) };
                summary.force.wrench = w.about(pose.translation);
            }
            out.poses.push(summary);
        }
        Ok(())
    }

    fn halves(
        &mut self,
        job: &PairJob<'_>,
        poses: &[Pose],
        params: &BatchParams,
        out: &mut PairFound,
    ) -> Result<(), GpuError> {
        let (first, second) = poses.split_at(poses.len() / 2);
        self.piece(job, first, params, out)?;
        self.piece(job, second, params, out)
    }
}

/// A contact found in B's frame with A's points, in A's frame.
fn turn_back(c: &mut Contact, job: &PairJob<'_>, a_from_b: &Pose) {
    let (tree, id) = (job.a.tree(), c.id as usize);
    if !job.swapped || id >= tree.len() {
        return;
    }
    c.point = tree.local(id).to_array();
    c.normal = (-a_from_b.vector(Vec3::from_array(c.normal).as_dvec3())).as_vec3().to_array();
    c.shell_normal = tree.normal(id).to_array();
}
