//! Contacts of many poses, one after the other in one list.

use super::{Query, QueryParams};
use crate::contact::Contact;
use crate::math::Pose;
use crate::par;
use crate::shape::Shape;
use crate::store::prefer_large_pages;
use bytemuck::allocation::try_zeroed_vec;
use glam::DVec3;

/// Poses that a worker asks before its contacts are moved to the list. More: they leave the cache before. Fewer: threads wait for each other.
const PIECE: usize = 8;
/// Workers for each thread: the last of them waits for little, as work is dealt out in more pieces than there are threads.
const WORKERS: usize = 8;
/// How much longer the list is made than the poses so far let expect. The rest of it is never touched.
const SLACK: f64 = 1.25;

/// What many poses come to, and all their contacts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed<R> {
    /// What was answered of each pose.
    pub answers: Vec<R>,
    /// Where the contacts of each pose begin, and the end of the last: one more than there are poses.
    pub offsets: Vec<usize>,
    /// The contacts of all poses.
    pub contacts: Vec<Contact>,
}

/// There were more contacts than the caller, or the memory, has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the first {poses} poses have {contacts} contacts; there is room for {most}")]
pub struct TooManyContacts {
    /// Poses that were asked.
    pub poses: usize,
    /// Their contacts.
    pub contacts: usize,
    /// How many there may be.
    pub most: usize,
}

/// Asks `f` about each pose, as [`super::batch`] does; contacts that it adds to its list are put one after the other, in the order of `poses`.
///
/// `f` must not depend on what was asked before, nor on what its list has. Memory: the list, and for each thread a few poses' contacts.
///
/// # Errors
/// As soon as there are more than `most` contacts, or memory for them is refused.
pub fn batch_listed<R: Send>(
    poses: &[Pose],
    most: usize,
    f: impl Fn(&mut Query, &Pose, &mut Vec<Contact>) -> R + Sync + Send,
) -> Result<Listed<R>, TooManyContacts> {
    let workers = (par::threads() * WORKERS).min(poses.len().div_ceil(PIECE));
    let mut workers: Vec<Worker<R>> = (0..workers).map(|_| Worker::new()).collect();
    let mut answers = Vec::with_capacity(poses.len());
    let mut offsets = Vec::with_capacity(poses.len() + 1);
    offsets.push(0);
    let mut list = List::default();
    for wave in poses.chunks((workers.len() * PIECE).max(1)) {
        par::chunks_mut(&mut workers, 1, |i, worker| {
            worker[0].ask(wave.chunks(PIECE).nth(i).unwrap_or_default(), &f);
        });
        for worker in &mut workers {
            answers.append(&mut worker.answers);
            offsets.extend(worker.ends.iter().map(|end| list.len + end));
            list.len += worker.contacts.len();
        }
        list.make_room(most, answers.len(), poses.len())?;
        list.take(workers.iter().map(|w| w.contacts.as_slice()));
    }
    Ok(Listed { answers, offsets, contacts: list.finish() })
}

/// [`Query::contacts`] for each pose; the answer of each is what its points are relative to, in A's frame \[m\].
///
/// # Errors
/// As [`batch_listed`].
pub fn contacts_listed(
    a: &Shape,
    b: &Shape,
    poses: &[Pose],
    params: &QueryParams,
    most: usize,
) -> Result<Listed<DVec3>, TooManyContacts> {
    batch_listed(poses, most, |query, pose, list| {
        let contacts = query.contacts(a, b, pose, params);
        list.extend_from_slice(&contacts.list);
        contacts.origin
    })
}

/// Who asks a few poses, with memory that is kept from one wave of them to the next.
struct Worker<R> {
    query: Query,
    contacts: Vec<Contact>,
    /// Of each pose the number of contacts up to its end.
    ends: Vec<usize>,
    answers: Vec<R>,
}

impl<R> Worker<R> {
    fn new() -> Self {
        Self { query: Query::new(), contacts: Vec::new(), ends: Vec::new(), answers: Vec::new() }
    }

    fn ask(&mut self, poses: &[Pose], f: impl Fn(&mut Query, &Pose, &mut Vec<Contact>) -> R) {
        self.contacts.clear();
        self.ends.clear();
        for pose in poses {
            self.answers.push(f(&mut self.query, pose, &mut self.contacts));
            self.ends.push(self.contacts.len());
        }
    }
}

/// A list that is longer than what is in it: the end is memory that nobody has touched yet.
#[derive(Default)]
struct List {
    all: Vec<Contact>,
    /// How many there are, those that are about to be taken among them.
    len: usize,
    /// How many were taken.
    taken: usize,
}

impl List {
    /// Room for `len` contacts, which `done` of `poses` have, and for as many as the others may have.
    fn make_room(&mut self, most: usize, done: usize, poses: usize) -> Result<(), TooManyContacts> {
        let refused = TooManyContacts { poses: done, contacts: self.len, most };
        if self.len > most {
            return Err(refused);
        }
        if self.len <= self.all.len() {
            return Ok(());
        }
        // At the end exactly what there is.
        let expected =
            if done == poses { 0.0 } else { SLACK * self.len as f64 * (poses as f64 / done as f64) };
        let ahead = (expected as usize).clamp(self.len, most);
        let mut all: Vec<Contact> =
            try_zeroed_vec(ahead).or_else(|()| try_zeroed_vec(self.len)).map_err(|()| refused)?;
        prefer_large_pages(&mut all);
        all[..self.taken].copy_from_slice(&self.all[..self.taken]);
        self.all = all;
        Ok(())
    }

    /// Copies what workers have to the end.
    fn take<'a>(&mut self, pieces: impl Iterator<Item = &'a [Contact]>) {
        let mut rest = &mut self.all[self.taken..self.len];
        let mut copies: Vec<(&[Contact], &mut [Contact])> = Vec::new();
        for from in pieces {
            let (to, after) = rest.split_at_mut(from.len());
            copies.push((from, to));
            rest = after;
        }
        par::chunks_mut(&mut copies, 1, |_, copy| copy[0].1.copy_from_slice(copy[0].0));
        self.taken = self.len;
    }

    fn finish(mut self) -> Vec<Contact> {
        self.all.truncate(self.len);
        // In place: the end was never touched.
        self.all.shrink_to_fit();
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::super::contacts_batch;
    use super::*;
    use crate::mesh::{Mesh, RepairParams, samples};
    use crate::shape::ShapeParams;
    use glam::DQuat;

    fn torus() -> Shape {
        let mesh = Mesh::new(samples::torus(1.0, 0.35, 48, 24), &RepairParams::default()).unwrap();
        let voxel = mesh.aabb().extent().max_element() / 48.0;
        Shape::build(mesh, voxel, &ShapeParams::default()).unwrap()
    }

    /// Poses from coincident to apart; the first `empty` touch nothing, so that what is expected of the rest is too little.
    fn poses(shape: &Shape, empty: usize, n: usize) -> Vec<Pose> {
        let size = shape.aabb().extent().max_element();
        let at = |i: usize| {
            let far = if i < empty { 3.0 } else { (i % 7) as f64 / 9.0 };
            Pose::new(DQuat::from_rotation_z(0.1 * i as f64), DVec3::X * far * size)
        };
        (0..n).map(at).collect()
    }

    #[test]
    fn lists_are_those_of_each_pose_on_any_number_of_threads() {
        let shape = torus();
        for (empty, n) in [(0, 0), (0, 1), (0, 9), (40, 700), (200, 260)] {
            let poses = poses(&shape, empty, n);
            let single = contacts_batch(&shape, &shape, &poses, &QueryParams::default());
            let touching = single.iter().filter(|c| !c.list.is_empty()).count();
            assert!(touching * 2 >= n - empty, "{touching} of {n} touch");
            for threads in [1, 2, 5] {
                let listed = par::with_threads(threads, || {
                    contacts_listed(&shape, &shape, &poses, &QueryParams::default(), usize::MAX)
                });
                let listed = listed.unwrap();
                assert_eq!((listed.answers.len(), listed.offsets.len()), (n, n + 1));
                assert_eq!(listed.offsets.last(), Some(&listed.contacts.len()));
                for (i, one) in single.iter().enumerate() {
                    let own = &listed.contacts[listed.offsets[i]..listed.offsets[i + 1]];
                    assert_eq!((own, listed.answers[i]), (one.list.as_slice(), one.origin));
                }
            }
        }
    }

    #[test]
    fn more_contacts_than_there_may_be_are_refused_soon() {
        let shape = torus();
        let poses = vec![Pose::IDENTITY; 500];
        let ask = |most| {
            par::with_threads(1, || contacts_listed(&shape, &shape, &poses, &QueryParams::default(), most))
        };
        let all = ask(usize::MAX).unwrap().contacts.len();
        assert_eq!(ask(all).unwrap().contacts.len(), all);
        assert!(ask(all - 1).is_err());
        let refused = ask(all / 4).unwrap_err();
        assert!(refused.contacts > all / 4 && refused.poses < 300, "{refused}");
    }
}
