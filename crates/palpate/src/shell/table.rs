//! Cells of a sparse grid, numbered in the order they are first met, and a set of points that keep their distance.

use glam::Vec3;

/// Bits of one coordinate of a key.
const BITS: u32 = 21;
/// The largest coordinate of a cell.
pub(super) const LARGEST: i64 = (1 << BITS) - 1;

/// The key of a cell; coordinates from 0 to [`LARGEST`].
#[inline(always)]
pub(super) fn pack(cell: [i64; 3]) -> u64 {
    (cell[2] as u64) << (2 * BITS) | (cell[1] as u64) << BITS | cell[0] as u64
}

/// The cell of a key.
#[inline(always)]
pub(super) fn unpack(key: u64) -> [i64; 3] {
    let mask = LARGEST as u64;
    [(key & mask) as i64, (key >> BITS & mask) as i64, (key >> (2 * BITS) & mask) as i64]
}

/// Numbers for keys, in the order they are first seen. Open addressing.
#[derive(Clone, Debug)]
pub(super) struct KeyTable {
    /// Number + 1, 0 if free.
    slots: Vec<u32>,
    keys: Vec<u64>,
    shift: u32,
}

impl KeyTable {
    pub(super) fn with_capacity(n: usize) -> Self {
        let bits = (2 * n.max(8)).next_power_of_two().trailing_zeros();
        Self { slots: vec![0; 1 << bits], keys: Vec::with_capacity(n), shift: 64 - bits }
    }

    pub(super) fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = self.place(key);
        loop {
            match self.slots[at] {
                0 => return None,
                n if self.keys[n as usize - 1] == key => return Some(n - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The number of `key`, a new one if it was not seen before.
    #[inline]
    pub(super) fn insert(&mut self, key: u64) -> u32 {
        if 2 * (self.keys.len() + 1) > self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = self.place(key);
        loop {
            match self.slots[at] {
                0 => {
                    self.keys.push(key);
                    self.slots[at] = self.keys.len() as u32;
                    return self.keys.len() as u32 - 1;
                }
                n if self.keys[n as usize - 1] == key => return n - 1,
                _ => at = (at + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let size = 2 * self.slots.len();
        self.shift -= 1;
        self.slots.clear();
        self.slots.resize(size, 0);
        for i in 0..self.keys.len() {
            let mut at = self.place(self.keys[i]);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = i as u32 + 1;
        }
    }
}

/// Where the cells of sparse grids are: the corner of cell 0 and the edge of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    pub(super) low: Vec3,
    pub(super) inverse: f32,
}

impl Cells {
    /// The cell that holds `p`; those beyond the ends belong to the last.
    #[inline(always)]
    pub(super) fn of(&self, p: Vec3) -> [i64; 3] {
        // Casts hold to the range of the integer and take NaN to 0.
        let u = (p - self.low) * self.inverse;
        [clamped(u.x), clamped(u.y), clamped(u.z)]
    }
}

// A function: `map` on arrays stays a call.
#[inline(always)]
fn clamped(x: f32) -> i64 {
    i64::from(x as i32).clamp(0, LARGEST)
}

/// Points no two of which are nearer than a distance, one taken after the other.
#[derive(Debug)]
pub(super) struct Apart {
    cells: Cells,
    limit_sq: f32,
    table: KeyTable,
    /// First point of each cell, and the next of each point; `NONE` ends.
    heads: Vec<u32>,
    points: Vec<(Vec3, u32)>,
}

const NONE: u32 = u32::MAX;

impl Apart {
    /// Cells have an edge of at least the distance.
    pub(super) fn new(cells: Cells, limit_sq: f32) -> Self {
        Self { cells, limit_sq, table: KeyTable::with_capacity(64), heads: Vec::new(), points: Vec::new() }
    }

    /// Takes `p` unless a point taken before is too near; whether it was.
    pub(super) fn take(&mut self, p: Vec3) -> bool {
        let cell = self.cells.of(p);
        for k in (cell[2] - 1).max(0)..=(cell[2] + 1).min(LARGEST) {
            for j in (cell[1] - 1).max(0)..=(cell[1] + 1).min(LARGEST) {
                for i in (cell[0] - 1).max(0)..=(cell[0] + 1).min(LARGEST) {
                    let Some(c) = self.table.get(pack([i, j, k])) else { continue };
                    let mut at = self.heads[c as usize];
                    while at != NONE {
                        let (q, next) = self.points[at as usize];
                        if p.distance_squared(q) < self.limit_sq {
                            return false;
                        }
                        at = next;
                    }
                }
            }
        }
        let c = self.table.insert(pack(cell)) as usize;
        if c == self.heads.len() {
            self.heads.push(NONE);
        }
        self.points.push((p, self.heads[c]));
        self.heads[c] = self.points.len() as u32 - 1;
        true
    }
}
