//! Memory that is either owned or part of a mapped file, read as one slice without asking which.
//!
//! This file, `simd.rs` and `simd/wide.rs` are the only ones with unsafe code.
#![expect(unsafe_code, reason = "maps files and keeps slices of shared memory beside their owner")]

use bytemuck::{AnyBitPattern, NoUninit};
use std::fmt;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

/// The bytes of a file: mapped, or read into memory. Start on an 8-byte boundary and never change.
pub(crate) enum Bytes {
    #[cfg(feature = "mmap")]
    Mapped(memmap2::Mmap),
    Memory {
        /// Words, so that the start is aligned; the last may be partly used.
        words: Vec<u64>,
        len: usize,
    },
}

impl Bytes {
    /// The file at `path`: mapped with the `mmap` feature, read otherwise.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        #[cfg(feature = "mmap")]
        {
            // SAFETY: the mapping is read-only, and nothing in this process writes to an asset in place: a new one is
            // renamed over it, which leaves the old content mapped. That other programs must not write or truncate
            // the file while it is open is stated at `Asset::open`; the file's content is only ever read as plain
            // numbers, every one of which was checked, so a change could give wrong distances but the lengths that
            // bound every access are kept in memory.
            let map = unsafe { memmap2::MmapOptions::new().populate().map(&file)? };
            // Populated at once, because the checks read all of it: a fault every 64 KiB would take as long as they do.
            // An empty file maps to a dangling but aligned address; any other to the start of a page.
            Ok(Self::Mapped(map))
        }
        #[cfg(not(feature = "mmap"))]
        {
            let mut file = file;
            let mut all = Vec::new();
            io::Read::read_to_end(&mut file, &mut all)?;
            Ok(Self::copy(&all))
        }
    }

    /// A copy of `bytes`.
    pub(crate) fn copy(bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self::Memory { words, len: bytes.len() }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            #[cfg(feature = "mmap")]
            Self::Mapped(map) => map,
            Self::Memory { words, len } => &bytemuck::cast_slice::<u64, u8>(words)[..*len],
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

/// Smallest memory for which large pages are asked [bytes]: two of them.
const LARGE: usize = 4 << 20;

/// Asks the system to back all of `vector`'s memory, used or not yet, with large pages: hundreds of times fewer faults when it
/// is first written, and fewer misses when it is read in no order. A wish only, and only known to Linux.
pub(crate) fn prefer_large_pages<T>(vector: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let bytes = vector.capacity() * size_of::<T>();
        if bytes < LARGE {
            return;
        }
        let start = vector.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        if let Some(len) = bytes.checked_sub(skip) {
            // SAFETY: the range starts and ends inside the vector's own allocation, and the advice changes how that
            // memory is paged, never what it holds. A refusal is no fault.
            unsafe { libc::madvise(start.add(skip).cast(), len, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (vector, LARGE);
}

/// Up to `N` values, last in, first out, in memory that is not written before it is used.
pub(crate) struct Stack<T, const N: usize> {
    /// The first `len` are values: unsafe code relies on it.
    items: [MaybeUninit<T>; N],
    len: usize,
}

impl<T: Copy, const N: usize> Stack<T, N> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { items: [const { MaybeUninit::uninit() }; N], len: 0 }
    }

    /// Puts a value on top; drops it when there is no room.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        if let Some(place) = self.items.get_mut(self.len) {
            place.write(value);
            self.len += 1;
        }
    }

    /// Takes the top one.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let top = self.len.checked_sub(1)?;
        self.len = top;
        // SAFETY: places below the old length are in the array, and values; `T` is `Copy`, so that taking one out leaves nothing to drop.
        Some(unsafe { self.items.get_unchecked(top).assume_init() })
    }
}

/// A slice of numbers that owns a vector, or keeps the file alive that it lies in. Cloning shares the memory.
///
/// Reading takes no branch: the slice is kept beside its owner.
pub(crate) struct Store<T> {
    start: *const T,
    len: usize,
    /// Never read; keeps what `start` points to alive.
    _owner: Owner<T>,
}

#[derive(Clone)]
enum Owner<T> {
    Vector { _keep: Arc<Vec<T>> },
    File { _keep: Arc<Bytes> },
}

impl<T: AnyBitPattern + NoUninit> Store<T> {
    /// The numbers in `range` of `bytes`; none when the range is not inside, not aligned or not a whole number of them.
    pub(crate) fn in_file(bytes: &Arc<Bytes>, range: Range<usize>) -> Option<Self> {
        let slice: &[T] = bytemuck::try_cast_slice(bytes.get(range)?).ok()?;
        Some(Self {
            start: slice.as_ptr(),
            len: slice.len(),
            _owner: Owner::File { _keep: Arc::clone(bytes) },
        })
    }
}

impl<T> From<Vec<T>> for Store<T> {
    fn from(vector: Vec<T>) -> Self {
        let keep = Arc::new(vector);
        Self { start: keep.as_ptr(), len: keep.len(), _owner: Owner::Vector { _keep: keep } }
    }
}

impl<T> Deref for Store<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `start` and `len` come from a slice of the vector or the bytes that `_owner` keeps alive behind an
        // `Arc`. Neither is ever handed out mutably, so the memory does not move or change while `self` lives.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        let owner = match &self._owner {
            Owner::Vector { _keep } => Owner::Vector { _keep: Arc::clone(_keep) },
            Owner::File { _keep } => Owner::File { _keep: Arc::clone(_keep) },
        };
        Self { start: self.start, len: self.len, _owner: owner }
    }
}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self._owner {
            Owner::Vector { .. } => "memory",
            Owner::File { .. } => "a file",
        };
        write!(f, "{} values in {place}", self.len)
    }
}

// SAFETY: a `Store` gives shared access to a slice only, like `Arc<Vec<T>>`, which is Send and Sync under this bound.
unsafe impl<T: Send + Sync> Send for Store<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Store<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_outlive_what_they_came_from() {
        let owned: Store<i16> = vec![1, -2, 3].into();
        let moved = owned.clone();
        drop(owned);
        assert_eq!(*moved, [1, -2, 3]);
        let bytes = Arc::new(Bytes::copy(bytemuck::cast_slice(&[1.5f32, -2.5, 7.0, 0.0, 9.0])));
        let part: Store<f32> = Store::in_file(&bytes, 4..12).unwrap();
        drop(bytes);
        assert_eq!(*part.clone(), [-2.5, 7.0]);
        assert!(Store::<f32>::from(Vec::new()).is_empty());
    }

    #[test]
    fn ranges_that_do_not_fit_are_refused() {
        let bytes = Arc::new(Bytes::copy(&[0; 21]));
        assert_eq!(bytes.len(), 21);
        for range in [1..5, 0..7, 0..24, 40..44] {
            assert!(Store::<u32>::in_file(&bytes, range.clone()).is_none(), "{range:?}");
        }
        assert!(Store::<u32>::in_file(&bytes, 8..8).is_some_and(|s| s.is_empty()));
    }
}
