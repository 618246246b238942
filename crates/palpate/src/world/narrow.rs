//! Who finds contacts: the pairs of a part of a step, all at once.

use super::BodyId;
use crate::contact::Contacts;
use crate::manifold::Collider;
use crate::math::Pose;
use crate::par;
use crate::query::{Query, QueryParams};

/// Two near bodies, and where they are likely to be at the end of a part of a step.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// A and B.
    pub bodies: [BodyId; 2],
    /// What they are made of.
    pub colliders: [&'a Collider; 2],
    /// A from B, there.
    pub a_from_b: Pose,
    /// Points at most this far outside count [m].
    pub margin: f64,
    /// Points of both are wanted; else of the one with fewer.
    pub both: bool,
}

/// The contacts of a pair, as [`Query::both`](crate::query::Query::both) has them. Its memory is used again.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// B's points in A, then A's points in B; in A's frame, in the order of their ids. Without `both`, one of them, first.
    pub contacts: [Contacts; 2],
    /// Points of both were asked: each has half of its force.
    pub both: bool,
}

impl Found {
    /// Forgets all contacts, and keeps their memory.
    pub fn clear(&mut self) {
        self.both = false;
        for contacts in &mut self.contacts {
            contacts.list.clear();
        }
    }

    fn copy(&mut self, side: usize, from: &Contacts) {
        let to = &mut self.contacts[side];
        (to.origin, to.swapped) = (from.origin, from.swapped);
        to.list.extend_from_slice(&from.list);
    }
}

/// Why contacts were not found.
pub type NarrowError = Box<dyn core::error::Error + Send + Sync>;

/// Finds the contacts of all near pairs of a part of a step: see [`World::step_with`](super::World::step_with).
pub trait Narrow {
    /// Sets `found` for each pair of `asked`; it comes with what it had in an earlier part, of whatever pair. `ahead` is the time from
    /// the beginning of the step to the end of the part [s]: for what moves by itself.
    ///
    /// # Errors
    /// Then the step ends, and bodies are where they were.
    fn find(&mut self, ahead: f64, asked: &[Asked<'_>], found: &mut [Found]) -> Result<(), NarrowError>;
}

/// On the CPU, as [`World::step`](super::World::step) does: same bits. For comparison, and for pairs that others do not know.
#[derive(Debug, Default)]
pub struct CpuNarrow {
    queries: Vec<(Query, usize)>,
}

impl Narrow for CpuNarrow {
    fn find(&mut self, _: f64, asked: &[Asked<'_>], found: &mut [Found]) -> Result<(), NarrowError> {
        if self.queries.len() < asked.len() {
            self.queries.resize_with(asked.len(), Default::default);
        }
        par::chunks_mut(&mut self.queries[..asked.len()], 1, |i, queries| {
            for ((query, sides), a) in queries.iter_mut().zip(&asked[i..]) {
                *sides = search(query, a.colliders, &a.a_from_b, a.margin, a.both);
            }
        });
        for ((query, sides), found) in self.queries.iter().zip(found) {
            found.clear();
            found.both = *sides == 2;
            for (side, contacts) in query.last_both().into_iter().enumerate().take(*sides) {
                found.copy(side, contacts);
            }
        }
        Ok(())
    }
}

/// Finds the contacts of one direction, or of both where told so; in how many. Solids by formula have no points.
pub(super) fn search(
    query: &mut Query,
    [a, b]: [&Collider; 2],
    a_from_b: &Pose,
    margin: f64,
    both: bool,
) -> usize {
    use Collider::{Shape, Solid};
    match (a, b) {
        (Shape(a), Shape(b)) => {
            let params = QueryParams { margin, ..Default::default() };
            if both {
                query.both(a, b, a_from_b, &params);
                return 2;
            }
            query.contacts(a, b, a_from_b, &params);
        }
        (Solid(a), Shape(b)) => _ = query.solid(a, b, a_from_b, margin),
        (Shape(a), Solid(b)) => {
            query.solid(b, a, &a_from_b.inverse(), margin);
            query.turn_back(a, a_from_b);
        }
        (Solid(_), Solid(_)) => return 0,
    }
    1
}
