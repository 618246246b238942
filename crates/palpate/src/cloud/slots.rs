//! Positions and their ids, leaf by leaf, in one piece of memory.

use super::node::Leaf;
use crate::simd::{self, LANES};

/// What is where nothing is: as far as can be, so that it is never near.
const NOTHING: [f32; 3] = [f32::INFINITY; 3];

/// Room is given out in multiples of this many slots, once points come and go.
const GRAIN: usize = 4;

/// Positions, relative to the cloud's origin [m], and ids. Slots that nothing uses are infinitely far.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// Longer by a vector, so that any eight can be read at once.
    positions: Vec<[f32; 3]>,
    ids: Vec<u32>,
    /// Where room for a multiple of [`GRAIN`] slots is free.
    free: Vec<Vec<u32>>,
}

impl Slots {
    pub(super) fn new(mut positions: Vec<[f32; 3]>, ids: Vec<u32>) -> Self {
        positions.extend([NOTHING; LANES]);
        Self { positions, ids, free: Vec::new() }
    }

    pub(super) fn position(&self, slot: u32) -> [f32; 3] {
        self.positions[slot as usize]
    }

    pub(super) fn id(&self, slot: u32) -> u32 {
        self.ids[slot as usize]
    }

    pub(super) fn set_id(&mut self, slot: u32, id: u32) {
        self.ids[slot as usize] = id;
    }

    /// Number of slots.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The eight positions from `slot` on, three numbers each; those after the last leaf are infinite.
    #[inline(always)]
    pub(super) fn eight(&self, slot: usize) -> &[f32; 3 * LANES] {
        let eight = self.positions[slot..].first_chunk::<LANES>();
        bytemuck::cast_ref(eight.unwrap_or(&[NOTHING; LANES]))
    }

    /// Asks for the points of a leaf.
    #[inline(always)]
    pub(super) fn prefetch(&self, leaf: &Leaf) {
        simd::prefetch(&self.positions, leaf.start as usize);
        simd::prefetch(&self.positions, leaf.start as usize + usize::from(leaf.len));
    }

    pub(super) fn set(&mut self, slot: u32, position: [f32; 3], id: u32) {
        self.positions[slot as usize] = position;
        self.ids[slot as usize] = id;
    }

    pub(super) fn clear(&mut self, slot: u32) {
        self.positions[slot as usize] = NOTHING;
    }

    pub(super) fn reserve(&mut self, more: usize) {
        touch(&mut self.positions, more, NOTHING);
        touch(&mut self.ids, more, 0);
    }

    /// Room for at least `n` slots: where, and for how many.
    pub(super) fn take(&mut self, n: usize) -> (u32, usize) {
        let grains = n.div_ceil(GRAIN);
        let room = grains * GRAIN;
        if let Some(start) = self.free.get_mut(grains).and_then(Vec::pop) {
            return (start, room);
        }
        let start = self.ids.len();
        self.ids.resize(start + room, 0);
        self.positions.resize(start + room + LANES, NOTHING);
        (start as u32, room)
    }

    /// Gives room back; nothing may be in it.
    pub(super) fn give(&mut self, start: u32, room: usize) {
        // Of the room of a build, which has any size, less than a grain may be lost.
        let grains = room / GRAIN;
        if grains == 0 {
            return;
        }
        if self.free.len() <= grains {
            self.free.resize_with(grains + 1, Vec::new);
        }
        self.free[grains].push(start);
    }

    /// Memory [bytes].
    pub(super) fn bytes(&self) -> usize {
        16 * self.ids.len() + 12 * LANES + 4 * self.free.iter().map(Vec::len).sum::<usize>()
    }
}

/// Makes room for more elements and writes to it once, so that the system gives the memory now and not when it is needed.
pub(super) fn touch<T: Copy>(list: &mut Vec<T>, more: usize, value: T) {
    let len = list.len();
    list.resize(len + more, value);
    list.truncate(len);
}
