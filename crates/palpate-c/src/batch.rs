//! The same question for many poses, on several threads.

use crate::border::{In, List, Out, Room, export};
use crate::error::{Failure, Status};
use crate::handle::{self, BatchHandle, ShapeHandle};
use crate::query::{DistanceValue, QueryParamsValue, params_of};
use crate::values::{ContactsView, PoseValue, threads};
use palpate::math::Pose;
use palpate::par::with_threads;
use palpate::query::{contacts_batch, distance_batch, intersects_batch};

/// The poses; those that are not finite have their documented answers, and the first of them is named in the end.
fn poses_of(poses: List<'_, PoseValue>, count: usize) -> Result<(Vec<Pose>, Option<usize>), Failure> {
    let poses: Vec<Pose> = poses.get(count, "poses")?.iter().map(PoseValue::pose).collect();
    let bad = poses.iter().position(|p| !p.is_finite());
    Ok((poses, bad))
}

fn answered(bad: Option<usize>) -> Result<(), Failure> {
    match bad {
        Some(i) => {
            Err(Failure::new(Status::NonFinite, format!("pose {i} is not finite; the others are answered")))
        }
        None => Ok(()),
    }
}

export! {
    /// Whether the shapes meet, for each pose.
    fn palp_batch_intersects(
        a: ShapeHandle,
        b: ShapeHandle,
        poses: List<'_, PoseValue>,
        count: usize,
        thread_count: u32,
        intersects: Room<'_, i32>,
    ) {
        let (poses, bad) = poses_of(poses, count)?;
        let (threads, mut out) = (threads(thread_count)?, intersects.writer(count, "intersects")?);
        let (a, b) = (handle::cloned(a, "a")?, handle::cloned(b, "b")?);
        let results = with_threads(threads, || intersects_batch(&a, &b, &poses));
        results.into_iter().for_each(|r| out.push(r.into()));
        answered(bad)
    }

    /// Signed distances, for each pose.
    fn palp_batch_distance(
        a: ShapeHandle,
        b: ShapeHandle,
        poses: List<'_, PoseValue>,
        count: usize,
        thread_count: u32,
        distances: Room<'_, DistanceValue>,
    ) {
        let (poses, bad) = poses_of(poses, count)?;
        let (threads, mut out) = (threads(thread_count)?, distances.writer(count, "distances")?);
        let (a, b) = (handle::cloned(a, "a")?, handle::cloned(b, "b")?);
        let results = with_threads(threads, || distance_batch(&a, &b, &poses));
        results.into_iter().for_each(|r| out.push(r.into()));
        answered(bad)
    }

    /// All contacts, for each pose.
    fn palp_batch_contacts(
        a: ShapeHandle,
        b: ShapeHandle,
        poses: List<'_, PoseValue>,
        count: usize,
        params: In<'_, QueryParamsValue>,
        thread_count: u32,
        batch: Out<'_, BatchHandle>,
    ) {
        let mut out = batch.ready("batch")?;
        let (poses, bad) = poses_of(poses, count)?;
        let (threads, params) = (threads(thread_count)?, params_of(params)?);
        let (a, b) = (handle::cloned(a, "a")?, handle::cloned(b, "b")?);
        out.put(handle::insert(with_threads(threads, || contacts_batch(&a, &b, &poses, &params)))?);
        answered(bad)
    }

    /// How many poses a batch has.
    fn palp_batch_get_count(batch: BatchHandle, count: Out<'_, usize>) {
        let mut out = count.ready("count")?;
        out.put(handle::with(batch, "batch", |b| Ok(b.len()))?);
        Ok(())
    }

    /// The contacts of one pose.
    fn palp_batch_get_contacts(batch: BatchHandle, index: usize, contacts: Out<'_, ContactsView>) {
        let mut out = contacts.ready("contacts")?;
        handle::with(batch, "batch", |b| match b.get(index) {
            Some(contacts) => {
                out.put(ContactsView::new(contacts, false));
                Ok(())
            }
            None => Err(Failure::argument(format!("index is {index} but the batch has {} poses", b.len()))),
        })
    }

    /// Frees a batch, and the contacts it showed.
    fn palp_batch_free(batch: BatchHandle) {
        handle::free(batch, "batch")
    }
}
