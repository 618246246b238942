//! Vertices grouped by the hash of their place, filled by counting sort.

/// Vertices grouped by hash.
pub(super) struct Table {
    /// Start of each bucket, and the end of the last.
    start: Vec<u32>,
    /// Low half of the hash << 32 | vertex, ascending within a bucket.
    entries: Vec<u64>,
    shift: u32,
}

impl Table {
    /// Groups pairs of a vertex and its hash. Linear time.
    pub(super) fn build(items: Vec<(u32, u64)>) -> Self {
        // Two to four entries a bucket: the starts of a million vertices fit the second-level cache.
        let bits = (items.len() / 2).next_power_of_two().trailing_zeros().max(1);
        let shift = 64 - bits;
        let mut start = vec![0_u32; (1 << bits) + 1];
        for &(_, h) in &items {
            start[(h >> shift) as usize] += 1;
        }
        let mut sum = 0;
        for s in &mut start {
            sum += *s;
            *s = sum;
        }
        // Filled from each bucket's end, so that the ends become the starts.
        let mut entries = vec![0_u64; items.len()];
        for &(v, h) in items.iter().rev() {
            let s = &mut start[(h >> shift) as usize];
            *s -= 1;
            entries[*s as usize] = h << 32 | u64::from(v);
        }
        for b in start.windows(2) {
            let bucket = &mut entries[b[0] as usize..b[1] as usize];
            if bucket.len() > 1 {
                bucket.sort_unstable();
            }
        }
        Self { start, entries, shift }
    }

    /// Calls `f` with each run of two or more entries of one hash until it returns false; whether it never did.
    pub(super) fn each_run(&self, mut f: impl FnMut(&[u64]) -> bool) -> bool {
        for b in self.start.windows(2) {
            if b[1] - b[0] > 1 {
                let bucket = &self.entries[b[0] as usize..b[1] as usize];
                for run in bucket.chunk_by(|a, b| a >> 32 == b >> 32) {
                    if run.len() > 1 && !f(run) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The entries of a hash.
    pub(super) fn run(&self, h: u64) -> &[u64] {
        let b = (h >> self.shift) as usize;
        let bucket = &self.entries[self.start[b] as usize..self.start[b + 1] as usize];
        let tag = h & 0xffff_ffff;
        let from = bucket.partition_point(|e| e >> 32 < tag);
        let to = bucket.partition_point(|e| e >> 32 <= tag);
        &bucket[from..to]
    }
}

/// Mixes three words; every input bit reaches the high and the low half.
pub(super) fn hash(words: [u64; 3]) -> u64 {
    // Odd constants from the golden ratio and the roots of 2 and 3; a multiply carries upward, the fold brings it down.
    const K: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xb504_f333_f9de_6485, 0xbb67_ae85_84ca_a73b];
    let mut h = 0_u64;
    for (w, k) in words.into_iter().zip(K) {
        let product = u128::from(h ^ w ^ k) * u128::from(k);
        h = (product as u64) ^ (product >> 64) as u64;
    }
    let product = u128::from(h) * u128::from(K[0]);
    (product as u64) ^ (product >> 64) as u64
}
