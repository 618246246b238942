//! Parallel loops whose results do not depend on the number of threads.
//!
//! Without the `rayon` feature every loop runs in order on the calling thread.

/// Runs `work` on a pool of `threads` threads; 0 means the current rayon pool.
///
/// Falls back to the current pool when the system refuses to start threads.
pub fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    #[cfg(feature = "rayon")]
    if threads > 0
        && let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build()
    {
        return pool.install(work);
    }
    #[cfg(not(feature = "rayon"))]
    let _ = threads;
    work()
}

/// Number of threads loops run on at this point.
pub fn threads() -> usize {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    1
}

/// `(0..n).map(f)` collected in index order.
pub fn map<T: Send>(n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        (0..n).into_par_iter().map(f).collect()
    }
    #[cfg(not(feature = "rayon"))]
    (0..n).map(f).collect()
}

/// Calls `f(index, chunk)` for each chunk of `size` elements (the last may be shorter).
pub fn chunks_mut<T: Send>(items: &mut [T], size: usize, f: impl Fn(usize, &mut [T]) + Sync + Send) {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        items.par_chunks_mut(size.max(1)).enumerate().for_each(|(i, c)| f(i, c));
    }
    #[cfg(not(feature = "rayon"))]
    items.chunks_mut(size.max(1)).enumerate().for_each(|(i, c)| f(i, c));
}

/// Calls `f(index, chunk of a, chunk of b)` for the chunks of two slices, of `size_a` and `size_b` elements, side by side.
pub fn zip_chunks_mut<A: Send, B: Send>(
    a: &mut [A],
    size_a: usize,
    b: &mut [B],
    size_b: usize,
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync + Send,
) {
    let (size_a, size_b) = (size_a.max(1), size_b.max(1));
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        let chunks = a.par_chunks_mut(size_a).zip(b.par_chunks_mut(size_b));
        chunks.enumerate().for_each(|(i, (a, b))| f(i, a, b));
    }
    #[cfg(not(feature = "rayon"))]
    a.chunks_mut(size_a).zip(b.chunks_mut(size_b)).enumerate().for_each(|(i, (a, b))| f(i, a, b));
}

/// Sorts by a total order; equal elements must be indistinguishable, so the result is the same for any thread count.
pub fn sort_unstable<T: Ord + Send>(items: &mut [T]) {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        items.par_sort_unstable();
    }
    #[cfg(not(feature = "rayon"))]
    items.sort_unstable();
}

/// Runs both closures, possibly at once.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    #[cfg(feature = "rayon")]
    return rayon::join(a, b);
    #[cfg(not(feature = "rayon"))]
    (a(), b())
}
