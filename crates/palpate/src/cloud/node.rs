//! Nodes and leaves of the octree, and the memory they lie in.
//!
//! A node is one cache line: for each of its octants a box around the points there, in 256 steps of the node's edge, rounded
//! outward. So a search learns from one line how near the points of eight octants can be.

use super::grid::Place;

/// Steps of a node's edge that boxes are told in [log2].
const STEPS: u32 = 8;

/// One octant in eight octants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct Node {
    /// For each axis and octant: the step in which the lowest coordinate of its points is.
    pub(super) low: [[u8; 8]; 3],
    /// The step in which the highest is.
    pub(super) high: [[u8; 8]; 3],
    /// Octants that are nodes, one bit each.
    pub(super) inner: u8,
    /// Octants that are leaves.
    pub(super) leaf: u8,
    /// Where the nodes of its octants are, in the order of octants.
    pub(super) first_inner: u32,
    /// Where the leaves are.
    pub(super) first_leaf: u32,
}

/// The points of one octant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Leaf {
    /// The first one's slot.
    pub(super) start: u32,
    /// How many.
    pub(super) len: u16,
    /// Slots that belong to the leaf.
    pub(super) room: u16,
}

/// Where the points of something are [units], both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) low: Place,
    pub(super) high: Place,
}

impl Span {
    pub(super) const EMPTY: Self = Self { low: [i64::MAX; 3], high: [i64::MIN; 3] };

    pub(super) fn add(&mut self, place: Place) {
        self.join(Self { low: place, high: place });
    }

    pub(super) fn join(&mut self, o: Self) {
        self.low = [0, 1, 2].map(|a| self.low[a].min(o.low[a]));
        self.high = [0, 1, 2].map(|a| self.high[a].max(o.high[a]));
    }
}

/// The step of a node's edge in which the lower end of something is that begins `offset` units from the node's corner.
fn low_step(offset: i64, log: u32) -> u8 {
    (if log >= STEPS { offset >> (log - STEPS) } else { offset << (STEPS - log) }) as u8
}

/// The step in which the upper end is of something that ends with the unit at `offset`.
fn high_step(offset: i64, log: u32) -> u8 {
    (if log >= STEPS { offset >> (log - STEPS) } else { ((offset + 1) << (STEPS - log)) - 1 }) as u8
}

/// Where a step begins [units].
fn units(steps: i64, log: u32) -> i64 {
    if log >= STEPS { steps << (log - STEPS) } else { steps >> (STEPS - log) }
}

/// A step of a node with edge `log` [m]: a part of a unit for the smallest nodes.
pub(super) fn step(log: u32, unit: f64) -> f32 {
    (unit * (1u64 << log) as f64 / (1u64 << STEPS) as f64) as f32
}

impl Node {
    /// Which octants have points.
    pub(super) fn used(&self) -> u8 {
        self.inner | self.leaf
    }

    /// Where the node of an octant is, which is one.
    pub(super) fn inner_at(&self, octant: usize) -> usize {
        self.first_inner as usize + rank(self.inner, octant)
    }

    /// Where the leaf of an octant is, which is one.
    pub(super) fn leaf_at(&self, octant: usize) -> usize {
        self.first_leaf as usize + rank(self.leaf, octant)
    }

    /// Sets the box of an octant; the node has the edge `log` and the lowest corner `corner`.
    #[expect(clippy::needless_range_loop, reason = "an axis indexes five arrays")]
    pub(super) fn set_span(&mut self, octant: usize, span: Span, corner: Place, log: u32) {
        for a in 0..3 {
            self.low[a][octant] = low_step(span.low[a] - corner[a], log);
            self.high[a][octant] = high_step(span.high[a] - corner[a], log);
        }
    }

    /// Makes the box of an octant, which has points, hold `place` too.
    pub(super) fn widen(&mut self, octant: usize, place: Place, corner: Place, log: u32) {
        for a in 0..3 {
            let at = place[a] - corner[a];
            self.low[a][octant] = self.low[a][octant].min(low_step(at, log));
            self.high[a][octant] = self.high[a][octant].max(high_step(at, log));
        }
    }

    /// What the boxes of all octants say about where the points are: rounded outward to steps. Rounded to the larger steps of the node
    /// above, it is the same as the box of the points themselves.
    #[expect(clippy::needless_range_loop, reason = "an axis indexes five arrays")]
    pub(super) fn span(&self, corner: Place, log: u32) -> Span {
        let mut all = Span::EMPTY;
        for o in bits(self.used()) {
            for a in 0..3 {
                all.low[a] = all.low[a].min(corner[a] + units(i64::from(self.low[a][o]), log));
                all.high[a] = all.high[a].max(corner[a] + units(i64::from(self.high[a][o]) + 1, log) - 1);
            }
        }
        all
    }
}

/// How many bits below `octant` are set.
pub(super) fn rank(mask: u8, octant: usize) -> usize {
    (u32::from(mask) & ((1 << octant) - 1)).count_ones() as usize
}

/// The set bits in ascending order.
pub(super) fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |o| mask >> o & 1 == 1)
}

/// Runs of one to eight entries of a vector that are in use, and those that were given back.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    free: [Vec<u32>; 9],
}

impl Runs {
    /// A run of `n` entries, with anything in them.
    pub(super) fn take<T: Clone + Default>(&mut self, pool: &mut Vec<T>, n: usize) -> u32 {
        if n == 0 {
            return 0;
        }
        self.free[n].pop().unwrap_or_else(|| {
            let start = pool.len();
            pool.resize(start + n, T::default());
            start as u32
        })
    }

    pub(super) fn give(&mut self, start: u32, n: usize) {
        if n > 0 {
            self.free[n].push(start);
        }
    }

    /// Memory of the lists [bytes].
    pub(super) fn bytes(&self) -> usize {
        4 * self.free.iter().map(Vec::len).sum::<usize>()
    }
}

/// Puts `value` into the run `first`, at the octant's place among those of `mask`; gives the new run.
pub(super) fn put<T: Copy + Default>(
    pool: &mut Vec<T>,
    runs: &mut Runs,
    (first, mask): (u32, u8),
    octant: usize,
    value: T,
) -> u32 {
    let (n, at) = (mask.count_ones() as usize, rank(mask, octant));
    let new = runs.take(pool, n + 1);
    let (from, to) = (first as usize, new as usize);
    pool.copy_within(from..from + at, to);
    pool[to + at] = value;
    pool.copy_within(from + at..from + n, to + at + 1);
    runs.give(first, n);
    new
}

/// Takes the octant's entry out of the run `first` of `mask`, which has it; gives the new run.
pub(super) fn cut<T: Copy + Default>(
    pool: &mut Vec<T>,
    runs: &mut Runs,
    (first, mask): (u32, u8),
    octant: usize,
) -> u32 {
    let (n, at) = (mask.count_ones() as usize, rank(mask, octant));
    let new = runs.take(pool, n - 1);
    let (from, to) = (first as usize, new as usize);
    pool.copy_within(from..from + at, to);
    pool.copy_within(from + at + 1..from + n, to + at);
    runs.give(first, n);
    new
}
