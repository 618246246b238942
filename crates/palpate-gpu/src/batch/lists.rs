//! The lists of a whole batch, read back at once.

use super::{BatchParams, GpuBatch, Job, Lists, PARTIAL};
use crate::device::GpuError;
use palpate::contact::Contact;

/// Bytes before the first entry of a list, and of an entry.
const HEAD: u64 = 16;
const ENTRY: u64 = 48;

/// Where the parts of a batch are in what was copied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copied {
    partials: u64,
    entries: u64,
}

impl Copied {
    pub(crate) fn bytes(&self) -> u64 {
        self.partials + HEAD + ENTRY * self.entries
    }
}

impl GpuBatch {
    /// The contacts that [`Lists::Full`] kept for every pose of the last batch: job, pose, contact, in the order of the jobs, the
    /// poses and the points. A's frame, relative to `PoseSummary::origin`. How many were left out for want of room.
    ///
    /// Two round trips: how many there are, then all of them.
    pub fn read_lists(&self, mut visit: impl FnMut(usize, usize, Contact)) -> Result<usize, GpuError> {
        if self.last.is_empty() || self.lists != Lists::Full {
            return Ok(0);
        }
        let partials = self.partial_bytes();
        let count: u32 = self.read(&self.list, 0, HEAD, |view| bytemuck::pod_read_unaligned(&view[..4]))?;
        let sums = self.read(&self.partials, 0, partials, <[u8]>::to_vec)?;
        let there = (count as usize).min(self.room);
        self.read(&self.list, 0, HEAD + ENTRY * there as u64, |list| self.walk(&sums, list, &mut visit))?;
        Ok(count as usize - there)
    }

    /// Encodes contacts with lists that have room for `room` entries.
    pub(crate) fn encode_lists(
        &mut self,
        jobs: &[Job<'_>],
        margin: f64,
        room: u64,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), GpuError> {
        let (lists, room) = (Lists::Full, Some(room as usize));
        let params = BatchParams { margin, lists, room, ..BatchParams::default() };
        self.encode(jobs, &params, false, encoder)?;
        Ok(())
    }

    /// What is to be copied of the batch that was encoded last: its first `entries` contacts.
    pub(crate) fn copied(&self, entries: u64) -> Copied {
        Copied { partials: self.partial_bytes(), entries: entries.min(self.room as u64) }
    }

    /// Copies it to a buffer.
    pub(crate) fn copy(&self, what: Copied, encoder: &mut wgpu::CommandEncoder, to: &wgpu::Buffer, at: u64) {
        encoder.copy_buffer_to_buffer(&self.partials, 0, to, at, what.partials);
        let list = HEAD + ENTRY * what.entries;
        encoder.copy_buffer_to_buffer(&self.list, 0, to, at + what.partials, list);
    }

    /// How many contacts there are in a copy; all are told if they were copied.
    pub(crate) fn tell(
        &self,
        what: Copied,
        view: &[u8],
        mut visit: impl FnMut(usize, usize, Contact),
    ) -> u64 {
        let (sums, list) = view.split_at(what.partials as usize);
        let count: u32 = bytemuck::pod_read_unaligned(&list[..4]);
        if u64::from(count) <= what.entries {
            self.walk(sums, list, &mut visit);
        }
        count.into()
    }

    fn partial_bytes(&self) -> u64 {
        self.last.iter().map(|k| PARTIAL * k.poses as u64 * u64::from(k.chunks)).sum()
    }

    fn walk(&self, sums: &[u8], list: &[u8], visit: &mut impl FnMut(usize, usize, Contact)) {
        let entries = &list[HEAD as usize..];
        for (job, kept) in self.last.iter().enumerate() {
            let chunks = kept.chunks as usize;
            for place in 0..kept.poses * chunks {
                let at = PARTIAL as usize * (kept.first as usize + place) + 48;
                let [_, _, base, count]: [u32; 4] = bytemuck::pod_read_unaligned(&sums[at..at + 16]);
                let (first, size) = (base as usize, ENTRY as usize);
                let last = (first + count as usize).min(entries.len() / size);
                if first < last {
                    for entry in entries[first * size..last * size].chunks_exact(size) {
                        visit(job, place / chunks, bytemuck::pod_read_unaligned(entry));
                    }
                }
            }
        }
    }
}
