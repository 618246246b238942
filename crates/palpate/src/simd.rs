//! Eight-lane arithmetic with a scalar twin, and the run-time choice between them.
//!
//! Kernels are written once, generic over [`Lanes`], marked `#[inline(always)]` and instantiated twice: with
//! [`Plain`] (arrays, compiled for the baseline of the target) and, behind [`avx2`], with `Avx2` inside a function
//! that enables the feature. Only `mul_add` fuses a multiplication with an addition, in both, so both give the same bits.
//!
//! This file, `simd/wide.rs` and `store.rs` are the only ones with unsafe code.
#![expect(unsafe_code, reason = "intrinsics and unchecked reads live here, and only here")]

use bytemuck::Pod;

/// Number of lanes of every kernel.
pub(crate) const LANES: usize = 8;

/// Eight `f32` values and the operations kernels need.
pub(crate) trait Lanes: Copy {
    /// The comparison result of each lane.
    type Mask: Copy;
    /// Eight `i32` values.
    type Ints: Copy;
    /// Eight `f64` values that lanes are added to.
    type Sum: Copy;

    fn splat(v: f32) -> Self;
    fn load(v: &[f32; LANES]) -> Self;
    /// Whole numbers from 0 to 255.
    fn from_bytes(v: &[u8; LANES]) -> Self;
    /// Eight points, x y z of each in turn, as one vector for each axis.
    fn load_points(v: &[f32; 3 * LANES]) -> [Self; 3];
    /// Part `part` of eight records of `M` parts with four numbers each, as one vector for each number.
    fn load_quads<const M: usize>(v: &[[[f32; 4]; M]; LANES], part: usize) -> [Self; 4];
    fn store(self, out: &mut [f32; LANES]);
    /// Adds a record for each lane whose bit is set, in order: its values of `parts`, one after another.
    ///
    /// A record has exactly the size of its values. May write to, but not beyond, the room for eight more records.
    fn append<R: Pod, const M: usize>(parts: &[[Self; 4]; M], bits: u32, out: &mut Vec<R>);
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
    /// `self` times `a`, plus `b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// `self` where it is smaller, else `o` (also where either is NaN).
    fn min(self, o: Self) -> Self;
    /// `self` where it is larger, else `o` (also where either is NaN).
    fn max(self, o: Self) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn floor(self) -> Self;
    /// `self < o`, false for NaN.
    fn lt(self, o: Self) -> Self::Mask;
    /// `self >= o`, false for NaN.
    fn ge(self, o: Self) -> Self::Mask;
    /// `self != o`, true for NaN.
    fn ne(self, o: Self) -> Self::Mask;
    /// `self` where the mask is set, else `other`.
    fn select(mask: Self::Mask, on: Self, off: Self) -> Self;
    /// One bit per lane, lane 0 lowest.
    fn bits(mask: Self::Mask) -> u32;
    /// Every lane moved up by N lanes, those of `below` in the first N; N is at most the number of lanes.
    fn up<const N: usize>(self, below: Self) -> Self;
    /// Every lane moved down by N lanes, those of `above` in the last N.
    fn down<const N: usize>(self, above: Self) -> Self;
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn or(a: Self::Mask, b: Self::Mask) -> Self::Mask;

    fn zero_sum() -> Self::Sum;
    /// Each lane widened, then added to the sum's.
    fn add_to(self, sum: Self::Sum) -> Self::Sum;
    fn store_sum(sum: Self::Sum, out: &mut [f64; LANES]);

    /// Truncates toward zero; lanes outside i32 are unspecified but not undefined.
    fn to_ints(self) -> Self::Ints;
    fn ints(v: i32) -> Self::Ints;
    /// The same bits, taken for `f32`.
    fn from_int_bits(v: Self::Ints) -> Self;
    fn load_ints(v: &[i32; LANES]) -> Self::Ints;
    fn store_ints(v: Self::Ints, out: &mut [i32; LANES]);
    fn int_add(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    fn int_mul(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    fn int_and(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    fn int_select(mask: Self::Mask, on: Self::Ints, off: Self::Ints) -> Self::Ints;
    fn int_eq(a: Self::Ints, b: Self::Ints) -> Self::Mask;
    /// Lanes that are negative.
    fn int_negative(a: Self::Ints) -> Self::Mask;
    fn int_or(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    /// The smallest lane.
    fn int_least(a: Self::Ints) -> i32;
    /// The same bits, taken for integers.
    fn int_bits(self) -> Self::Ints;
    /// Sets `M` rows of places from row `start` on; an index that is outside, or too near to the end, becomes 0.
    fn set_places<T: Copy, const N: usize, const SPAN: usize, const M: usize>(
        places: &mut Places<'_, T, N, SPAN>,
        start: usize,
        index: [Self::Ints; M],
    );
    /// The elements at row `row` of places.
    fn elements<const N: usize>(places: &Places<'_, i32, N, 1>, row: usize) -> Self::Ints;
    /// The values at row `row` of places and the ones after them.
    fn pairs<const N: usize>(places: &Places<'_, f32, N, 2>, row: usize) -> (Self, Self);
    /// As [`Lanes::pairs`] for 16-bit integers, converted to `f32`.
    fn pairs_i16<const N: usize>(places: &Places<'_, i16, N, 2>, row: usize) -> (Self, Self);
    /// From the integers at row `row` of places, (a, b, c, d) and (e, f, g, h): a and b, c − a and d − b, e − a and f − b, and
    /// (g − e) − (c − a) and (h − f) − (d − b), converted to `f32`. Differences wrap around at 16 bits.
    fn differences<const N: usize>(places: &Places<'_, [i16; 4], N, 2>, row: usize) -> [Self; 8];
}

/// Places in a table, `N` rows of one for each lane, each with `SPAN` elements of the table from there on.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct Places<'a, T, const N: usize, const SPAN: usize> {
    /// Each + `SPAN` is at most the length of the table: unsafe code relies on it.
    at: [[i32; LANES]; N],
    table: &'a [T],
    /// The highest place there may be.
    last: i32,
}

impl<'a, T: Copy, const N: usize, const SPAN: usize> Places<'a, T, N, SPAN> {
    /// The first place, for all lanes; none if the table has less than `SPAN` elements.
    pub(crate) fn new(table: &'a [T]) -> Option<Self> {
        let last = table.len().checked_sub(SPAN).filter(|_| SPAN > 0)?;
        Some(Self { at: [[0; LANES]; N], table, last: last.min(i32::MAX as usize) as i32 })
    }

    /// A row of places.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> &[i32; LANES] {
        &self.at[row]
    }

    /// Asks for the cache line of one place.
    #[inline(always)]
    pub(crate) fn prefetch(&self, row: usize, lane: usize) {
        prefetch(self.table, self.at[row][lane] as usize);
    }

    /// The element at one place.
    #[inline(always)]
    pub(crate) fn get(&self, row: usize, lane: usize) -> T {
        // SAFETY: `at` is in the table, as `SPAN` is not 0.
        unsafe { *self.table.get_unchecked(self.at[row][lane] as u32 as usize) }
    }
}

/// Asks for the cache line of an element, if there is one.
#[inline(always)]
pub(crate) fn prefetch<T>(table: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch touches nothing but caches, for any address; SSE is part of the target.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(table.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}

/// Columns of numbers that are read eight rows at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a, const N: usize> {
    columns: [&'a [f32]; N],
    /// The last row from which on every column has eight numbers: unsafe code relies on it.
    last: usize,
}

impl<'a, const N: usize> Columns<'a, N> {
    /// None where a column has less than eight numbers.
    pub(crate) fn new(columns: [&'a [f32]; N]) -> Option<Self> {
        let shortest = columns.iter().map(|c| c.len()).min()?;
        Some(Self { columns, last: shortest.checked_sub(LANES)? })
    }

    /// Rows `at` to `at + 7`, or the last eight.
    #[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
    #[inline(always)]
    pub(crate) fn eight<L: Lanes>(&self, at: u32) -> [L; N] {
        let at = (at as usize).min(self.last);
        let mut out = [L::splat(0.0); N];
        for i in 0..N {
            // SAFETY: `at` is at most `last`, from where on the column has eight numbers.
            out[i] = L::load(unsafe { &*self.columns[i].as_ptr().add(at).cast() });
        }
        out
    }
}

/// For each set of bits: where they are set, in order.
#[cfg(target_arch = "x86_64")]
pub(crate) const SET_BITS: [[u8; LANES]; 1 << LANES] = {
    let mut table = [[0; LANES]; 1 << LANES];
    let mut bits = 0;
    while bits < table.len() {
        let (mut lane, mut n) = (0, 0);
        while lane < LANES {
            if bits >> lane & 1 == 1 {
                table[bits][n] = lane as u8;
                n += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
};

/// Vectors in memory, aligned so that none lies across two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Vectors<T, const N: usize>(pub(crate) [[T; LANES]; N]);

/// Eight lanes as an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain([f32; LANES]);

/// Applies `f` to each lane.
#[inline(always)]
fn lanes(f: impl Fn(usize) -> f32) -> Plain {
    Plain([f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)])
}

/// Applies `f` to each integer lane.
#[inline(always)]
fn int_lanes(f: impl Fn(usize) -> i32) -> [i32; LANES] {
    [f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)]
}

/// For each lane after a move up by N: where it came from, and from N lanes on a negative number.
pub(crate) const fn moved(by: i32) -> ([i32; LANES], [i32; LANES]) {
    let (mut from, mut kept) = ([0; LANES], [0; LANES]);
    let mut lane = 0;
    while lane < LANES {
        let source = lane as i32 - by;
        from[lane] = source & (LANES as i32 - 1);
        kept[lane] = if source >= 0 && source < LANES as i32 { -1 } else { 0 };
        lane += 1;
    }
    (from, kept)
}

impl Lanes for Plain {
    type Mask = [bool; LANES];
    type Ints = [i32; LANES];
    type Sum = [f64; LANES];

    #[inline(always)]
    fn zero_sum() -> Self::Sum {
        [0.0; LANES]
    }
    #[inline(always)]
    fn add_to(self, sum: Self::Sum) -> Self::Sum {
        core::array::from_fn(|i| sum[i] + f64::from(self.0[i]))
    }
    #[inline(always)]
    fn store_sum(sum: Self::Sum, out: &mut [f64; LANES]) {
        *out = sum;
    }
    #[inline(always)]
    fn load_quads<const M: usize>(v: &[[[f32; 4]; M]; LANES], part: usize) -> [Self; 4] {
        [0, 1, 2, 3].map(|k| lanes(|i| v[i][part][k]))
    }
    #[inline(always)]
    fn splat(v: f32) -> Self {
        Self([v; LANES])
    }
    #[inline(always)]
    fn load(v: &[f32; LANES]) -> Self {
        Self(*v)
    }
    #[inline(always)]
    fn from_bytes(v: &[u8; LANES]) -> Self {
        lanes(|i| f32::from(v[i]))
    }
    #[inline(always)]
    fn store(self, out: &mut [f32; LANES]) {
        *out = self.0;
    }
    #[inline(always)]
    fn append<R: Pod, const M: usize>(parts: &[[Self; 4]; M], bits: u32, out: &mut Vec<R>) {
        for i in (0..LANES).filter(|i| bits >> i & 1 == 1) {
            let record: [[f32; 4]; M] = core::array::from_fn(|part| {
                let [a, b, c, d] = &parts[part];
                [a.0[i], b.0[i], c.0[i], d.0[i]]
            });
            let mut r = R::zeroed();
            bytemuck::bytes_of_mut(&mut r).copy_from_slice(bytemuck::cast_slice(&record));
            out.push(r);
        }
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        lanes(|i| self.0[i] + o.0[i])
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        lanes(|i| self.0[i] - o.0[i])
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        lanes(|i| self.0[i] * o.0[i])
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        lanes(|i| self.0[i] / o.0[i])
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        lanes(|i| self.0[i].mul_add(a.0[i], b.0[i]))
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        lanes(|i| if self.0[i] < o.0[i] { self.0[i] } else { o.0[i] })
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        lanes(|i| if self.0[i] > o.0[i] { self.0[i] } else { o.0[i] })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        lanes(|i| self.0[i].sqrt())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        lanes(|i| self.0[i].abs())
    }
    #[inline(always)]
    fn floor(self) -> Self {
        lanes(|i| self.0[i].floor())
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self::Mask {
        core::array::from_fn(|i| self.0[i] < o.0[i])
    }
    #[inline(always)]
    fn ge(self, o: Self) -> Self::Mask {
        core::array::from_fn(|i| self.0[i] >= o.0[i])
    }
    #[inline(always)]
    fn ne(self, o: Self) -> Self::Mask {
        core::array::from_fn(|i| self.0[i] != o.0[i])
    }
    #[inline(always)]
    fn select(mask: Self::Mask, on: Self, off: Self) -> Self {
        lanes(|i| if mask[i] { on.0[i] } else { off.0[i] })
    }
    #[inline(always)]
    fn up<const N: usize>(self, below: Self) -> Self {
        lanes(|i| if i >= N { self.0[i - N] } else { below.0[i] })
    }
    #[inline(always)]
    fn down<const N: usize>(self, above: Self) -> Self {
        lanes(|i| if i + N < LANES { self.0[i + N] } else { above.0[i] })
    }
    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        (0..LANES).fold(0, |b, i| b | (u32::from(mask[i]) << i))
    }
    #[inline(always)]
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        core::array::from_fn(|i| a[i] & b[i])
    }
    #[inline(always)]
    fn or(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        core::array::from_fn(|i| a[i] | b[i])
    }
    #[inline(always)]
    fn to_ints(self) -> Self::Ints {
        int_lanes(|i| self.0[i] as i32)
    }
    #[inline(always)]
    fn ints(v: i32) -> Self::Ints {
        [v; LANES]
    }
    #[inline(always)]
    fn from_int_bits(v: Self::Ints) -> Self {
        lanes(|i| f32::from_bits(v[i] as u32))
    }
    #[inline(always)]
    fn int_add(a: Self::Ints, b: Self::Ints) -> Self::Ints {
        int_lanes(|i| a[i].wrapping_add(b[i]))
    }
    #[inline(always)]
    fn int_mul(a: Self::Ints, b: Self::Ints) -> Self::Ints {
        int_lanes(|i| a[i].wrapping_mul(b[i]))
    }
    #[inline(always)]
    fn int_and(a: Self::Ints, b: Self::Ints) -> Self::Ints {
        int_lanes(|i| a[i] & b[i])
    }
    #[inline(always)]
    fn int_select(mask: Self::Mask, on: Self::Ints, off: Self::Ints) -> Self::Ints {
        int_lanes(|i| if mask[i] { on[i] } else { off[i] })
    }
    #[inline(always)]
    fn int_eq(a: Self::Ints, b: Self::Ints) -> Self::Mask {
        core::array::from_fn(|i| a[i] == b[i])
    }
    #[inline(always)]
    fn int_negative(a: Self::Ints) -> Self::Mask {
        core::array::from_fn(|i| a[i] < 0)
    }
    #[inline(always)]
    fn int_or(a: Self::Ints, b: Self::Ints) -> Self::Ints {
        int_lanes(|i| a[i] | b[i])
    }
    #[inline(always)]
    fn int_least(a: Self::Ints) -> i32 {
        a.into_iter().fold(i32::MAX, i32::min)
    }
    #[inline(always)]
    fn int_bits(self) -> Self::Ints {
        int_lanes(|i| self.0[i].to_bits() as i32)
    }
    #[inline(always)]
    fn set_places<T: Copy, const N: usize, const SPAN: usize, const M: usize>(
        places: &mut Places<'_, T, N, SPAN>,
        start: usize,
        index: [Self::Ints; M],
    ) {
        let last = places.last;
        for (at, index) in places.at[start..start + M].iter_mut().zip(index) {
            *at = int_lanes(|i| if (0..=last).contains(&index[i]) { index[i] } else { 0 });
        }
    }
    #[inline(always)]
    fn elements<const N: usize>(places: &Places<'_, i32, N, 1>, row: usize) -> Self::Ints {
        int_lanes(|i| places.get(row, i))
    }
    #[inline(always)]
    fn pairs<const N: usize>(places: &Places<'_, f32, N, 2>, row: usize) -> (Self, Self) {
        plain_pairs(places, row)
    }
    #[inline(always)]
    fn pairs_i16<const N: usize>(places: &Places<'_, i16, N, 2>, row: usize) -> (Self, Self) {
        plain_pairs(places, row)
    }
    #[inline(always)]
    fn differences<const N: usize>(places: &Places<'_, [i16; 4], N, 2>, row: usize) -> [Self; 8] {
        let mut out = [[0.0; LANES]; 8];
        for (i, at) in places.at[row].iter().enumerate() {
            let ([a, b, c, d], [e, f, g, h]) = (places.table[*at as usize], places.table[*at as usize + 1]);
            let (y, yx) = (c.wrapping_sub(a), d.wrapping_sub(b));
            let (z, zx) = (e.wrapping_sub(a), f.wrapping_sub(b));
            let (yz, yzx) = (g.wrapping_sub(e).wrapping_sub(y), h.wrapping_sub(f).wrapping_sub(yx));
            for (out, v) in out.iter_mut().zip([a, b, y, yx, z, zx, yz, yzx]) {
                out[i] = f32::from(v);
            }
        }
        out.map(Self)
    }
    #[inline(always)]
    fn load_points(v: &[f32; 3 * LANES]) -> [Self; 3] {
        [0, 1, 2].map(|axis| lanes(|i| v[3 * i + axis]))
    }
    #[inline(always)]
    fn load_ints(v: &[i32; LANES]) -> Self::Ints {
        *v
    }
    #[inline(always)]
    fn store_ints(v: Self::Ints, out: &mut [i32; LANES]) {
        *out = v;
    }
}

#[inline(always)]
fn plain_pairs<T: Copy + Into<f32>, const N: usize>(
    places: &Places<'_, T, N, 2>,
    row: usize,
) -> (Plain, Plain) {
    let at = &places.at[row];
    let value = |i: usize, next: usize| -> f32 { places.table[at[i] as usize + next].into() };
    (lanes(|i| value(i, 0)), lanes(|i| value(i, 1)))
}

/// Whether kernels may use AVX2, and what every processor with it has too, on this machine. The answer is cached by the standard library.
#[inline]
pub(crate) fn avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("popcnt");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Defines `$name`, which runs the generic kernel `$kernel` with the widest lanes of this machine, and
/// `$name_plain` beside it, the scalar twin that tests compare with.
macro_rules! dispatch {
    ($(#[$doc:meta])* $vis:vis fn $name:ident / $plain:ident = $kernel:ident ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?) => {
        $(#[$doc])*
        #[inline]
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            if $crate::simd::avx2() {
                #[target_feature(enable = "avx2,fma,bmi1,popcnt")]
                fn wide($($arg: $ty),*) $(-> $ret)? {
                    $kernel::<$crate::simd::Avx2>($($arg),*)
                }
                return $crate::simd::call_avx2!(wide($($arg),*));
            }
            $plain($($arg),*)
        }
        /// The scalar twin: same bits.
        $vis fn $plain($($arg: $ty),*) $(-> $ret)? {
            $kernel::<$crate::simd::Plain>($($arg),*)
        }
    };
}
pub(crate) use dispatch;

/// Calls a function that needs AVX2. Only [`dispatch!`] uses it, after asking [`avx2`].
#[cfg(target_arch = "x86_64")]
macro_rules! call_avx2 {
    ($f:ident($($arg:expr),*)) => {{
        #[expect(unsafe_code, reason = "the feature was detected on the line before")]
        // SAFETY: `dispatch!` calls this only when `simd::avx2()` returned true.
        unsafe { $f($($arg),*) }
    }};
}
#[cfg(target_arch = "x86_64")]
pub(crate) use call_avx2;

#[cfg(target_arch = "x86_64")]
pub(crate) use wide::Avx2;

#[cfg(target_arch = "x86_64")]
mod wide;
