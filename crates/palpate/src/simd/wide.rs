//! Eight lanes in AVX2 registers.
//!
//! SAFETY for every block: values of these types exist only inside kernels that `dispatch!` instantiated, hence
//! only after AVX2 was detected; memory is touched only through references to arrays of the full width, or at
//! [`Places`], which are inside their table.
use super::{LANES, Lanes, Places, SET_BITS, moved};
use bytemuck::Pod;
use core::arch::x86_64::*;

/// Eight lanes in one AVX2 register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(__m256);

macro_rules! ops {
    ($($name:ident($($a:ident: $t:ty),*) -> $r:ty = $e:expr;)*) => {
        $(#[inline(always)]
        fn $name($($a: $t),*) -> $r {
            // SAFETY: see the head of this module.
            unsafe { $e }
        })*
    };
}

impl Lanes for Avx2 {
    type Mask = __m256;
    type Ints = __m256i;
    type Sum = [__m256d; 2];

    ops! {
        splat(v: f32) -> Self = Self(_mm256_set1_ps(v));
        load(v: &[f32; LANES]) -> Self = Self(_mm256_loadu_ps(v.as_ptr()));
        from_bytes(v: &[u8; LANES]) -> Self =
            Self(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(v.as_ptr().cast()))));
        select(mask: __m256, on: Self, off: Self) -> Self = Self(_mm256_blendv_ps(off.0, on.0, mask));
        bits(mask: __m256) -> u32 = _mm256_movemask_ps(mask) as u32;
        and(a: __m256, b: __m256) -> __m256 = _mm256_and_ps(a, b);
        or(a: __m256, b: __m256) -> __m256 = _mm256_or_ps(a, b);
        ints(v: i32) -> __m256i = _mm256_set1_epi32(v);
        from_int_bits(v: __m256i) -> Self = Self(_mm256_castsi256_ps(v));
        int_add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        int_mul(a: __m256i, b: __m256i) -> __m256i = _mm256_mullo_epi32(a, b);
        int_and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        int_select(mask: __m256, on: __m256i, off: __m256i) -> __m256i =
            _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(off), _mm256_castsi256_ps(on), mask));
        int_eq(a: __m256i, b: __m256i) -> __m256 = _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
        int_negative(a: __m256i) -> __m256 = _mm256_castsi256_ps(_mm256_srai_epi32::<31>(a));
        int_or(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        int_least(a: __m256i) -> i32 = {
            let a = _mm_min_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256::<1>(a));
            let a = _mm_min_epi32(a, _mm_shuffle_epi32::<0b01_00_11_10>(a));
            _mm_cvtsi128_si32(_mm_min_epi32(a, _mm_shuffle_epi32::<0b10_11_00_01>(a)))
        };
    }

    #[inline(always)]
    fn int_bits(self) -> __m256i {
        // SAFETY: see the head of this module.
        unsafe { _mm256_castps_si256(self.0) }
    }
    #[inline(always)]
    fn zero_sum() -> Self::Sum {
        // SAFETY: see the head of this module.
        unsafe { [_mm256_setzero_pd(), _mm256_setzero_pd()] }
    }
    #[inline(always)]
    fn add_to(self, sum: Self::Sum) -> Self::Sum {
        // SAFETY: see the head of this module.
        unsafe {
            let low = _mm256_cvtps_pd(_mm256_castps256_ps128(self.0));
            let high = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(self.0));
            [_mm256_add_pd(sum[0], low), _mm256_add_pd(sum[1], high)]
        }
    }
    #[inline(always)]
    fn store_sum(sum: Self::Sum, out: &mut [f64; LANES]) {
        // SAFETY: see the head of this module; the two stores write the eight elements of `out`.
        unsafe {
            _mm256_storeu_pd(out.as_mut_ptr(), sum[0]);
            _mm256_storeu_pd(out.as_mut_ptr().add(4), sum[1]);
        }
    }
    #[inline(always)]
    fn load_quads<const M: usize>(v: &[[[f32; 4]; M]; LANES], part: usize) -> [Self; 4] {
        // SAFETY: see the head of this module; each load reads one array of four.
        unsafe {
            let two = |i: usize| {
                let low = _mm256_castps128_ps256(_mm_loadu_ps(v[i][part].as_ptr()));
                _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(v[i + 4][part].as_ptr()))
            };
            let (a, b, c, d) = (two(0), two(1), two(2), two(3));
            // x0 x1 y0 y1 and z0 z1 w0 w1 of two records, in each half.
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            [
                Self(_mm256_shuffle_ps::<0b01_00_01_00>(ab, cd)),
                Self(_mm256_shuffle_ps::<0b11_10_11_10>(ab, cd)),
                Self(_mm256_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high)),
                Self(_mm256_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high)),
            ]
        }
    }
    #[inline(always)]
    fn store(self, out: &mut [f32; LANES]) {
        // SAFETY: see the head of this module; `out` has eight elements.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), self.0) }
    }
    #[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
    #[inline(always)]
    fn append<R: Pod, const M: usize>(parts: &[[Self; 4]; M], bits: u32, out: &mut Vec<R>) {
        const { assert!(size_of::<R>() == 16 * M) };
        if out.capacity() - out.len() < LANES {
            grow(out);
        }
        let bits = bits & 0xff;
        // SAFETY: see the head of this module. There is room for eight records, and each store writes one part of one of them;
        // those up to the new length are written whole, and any bits are a value of R.
        unsafe {
            let to = out.as_mut_ptr().add(out.len()).cast::<f32>();
            let order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(SET_BITS[bits as usize].as_ptr().cast()));
            let whole = bits == 0xff;
            let mut part = 0;
            // Two parts at a time: they are neighbours in a record.
            while part + 1 < M {
                let [a, b] = [fours(&parts[part], order, whole), fours(&parts[part + 1], order, whole)];
                let to = to.add(4 * part);
                for i in 0..4 {
                    let low = _mm256_permute2f128_ps::<0x20>(a[i], b[i]);
                    let high = _mm256_permute2f128_ps::<0x31>(a[i], b[i]);
                    _mm256_storeu_ps(to.add(4 * M * i), low);
                    _mm256_storeu_ps(to.add(4 * M * (i + 4)), high);
                }
                part += 2;
            }
            if part < M {
                let a = fours(&parts[part], order, whole);
                let to = to.add(4 * part);
                for i in 0..4 {
                    _mm_storeu_ps(to.add(4 * M * i), _mm256_castps256_ps128(a[i]));
                    _mm_storeu_ps(to.add(4 * M * (i + 4)), _mm256_extractf128_ps::<1>(a[i]));
                }
            }
            out.set_len(out.len() + bits.count_ones() as usize);
        }
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        // SAFETY: see the head of this module.
        unsafe { Self(_mm256_add_ps(self.0, o.0)) }
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        // SAFETY: see the head of this module.
        unsafe { Self(_mm256_sub_ps(self.0, o.0)) }
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        // SAFETY: see the head of this module.
        unsafe { Self(_mm256_mul_ps(self.0, o.0)) }
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        // SAFETY: see the head of this module.
        unsafe { Self(_mm256_div_ps(self.0, o.0)) }
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        // SAFETY: see the head of this module.
        unsafe { Self(_mm256_fmadd_ps(self.0, a.0, b.0)) }
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        // SAFETY: see the head of this module. The instruction returns its second operand for NaN, as `Plain`.
        unsafe { Self(_mm256_min_ps(self.0, o.0)) }
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        // SAFETY: see the head of this module. The instruction returns its second operand for NaN, as `Plain`.
        unsafe { Self(_mm256_max_ps(self.0, o.0)) }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: see the head of this module.
        unsafe { Self(_mm256_sqrt_ps(self.0)) }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: see the head of this module.
        unsafe { Self(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)) }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        // SAFETY: see the head of this module.
        unsafe { Self(_mm256_floor_ps(self.0)) }
    }
    #[inline(always)]
    fn up<const N: usize>(self, below: Self) -> Self {
        move_lanes(self, below, const { &moved(N as i32) })
    }
    #[inline(always)]
    fn down<const N: usize>(self, above: Self) -> Self {
        move_lanes(self, above, const { &moved(-(N as i32)) })
    }
    #[inline(always)]
    fn lt(self, o: Self) -> __m256 {
        // SAFETY: see the head of this module.
        unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, o.0) }
    }
    #[inline(always)]
    fn ge(self, o: Self) -> __m256 {
        // SAFETY: see the head of this module.
        unsafe { _mm256_cmp_ps::<_CMP_GE_OQ>(self.0, o.0) }
    }
    #[inline(always)]
    fn ne(self, o: Self) -> __m256 {
        // SAFETY: see the head of this module.
        unsafe { _mm256_cmp_ps::<_CMP_NEQ_UQ>(self.0, o.0) }
    }
    #[inline(always)]
    fn to_ints(self) -> __m256i {
        // SAFETY: see the head of this module.
        unsafe { _mm256_cvttps_epi32(self.0) }
    }
    #[inline(always)]
    fn set_places<T: Copy, const N: usize, const SPAN: usize, const M: usize>(
        places: &mut Places<'_, T, N, SPAN>,
        start: usize,
        index: [__m256i; M],
    ) {
        let last = places.last;
        let at = &mut places.at[start..start + M];
        // Every place stored is at most `last`, which is what `Places` promises.
        let fine = all_within(&index, last);
        for i in 0..M {
            Self::store_ints(if fine { index[i] } else { clamp_index(index[i], last) }, &mut at[i]);
        }
    }
    #[inline(always)]
    fn elements<const N: usize>(places: &Places<'_, i32, N, 1>, row: usize) -> __m256i {
        let g = |lane: usize| places.get(row, lane);
        // SAFETY: see the head of this module.
        unsafe { _mm256_setr_epi32(g(0), g(1), g(2), g(3), g(4), g(5), g(6), g(7)) }
    }
    #[inline(always)]
    fn pairs<const N: usize>(places: &Places<'_, f32, N, 2>, row: usize) -> (Self, Self) {
        // SAFETY: each place and the next are in the table.
        unsafe { pairs(places.table, &places.at[row]) }
    }
    #[inline(always)]
    fn pairs_i16<const N: usize>(places: &Places<'_, i16, N, 2>, row: usize) -> (Self, Self) {
        // SAFETY: each place and the next are in the table.
        unsafe { pairs_i16(places.table, &places.at[row]) }
    }
    #[inline(always)]
    fn differences<const N: usize>(places: &Places<'_, [i16; 4], N, 2>, row: usize) -> [Self; 8] {
        // SAFETY: each place and the next are in the table.
        unsafe { differences(places.table, &places.at[row]) }
    }
    #[inline(always)]
    fn load_points(v: &[f32; 3 * LANES]) -> [Self; 3] {
        // SAFETY: see the head of this module; the six loads of four floats are the 24 of `v`.
        unsafe {
            let p = v.as_ptr();
            let two = |i: usize| {
                let low = _mm256_castps128_ps256(_mm_loadu_ps(p.add(i)));
                _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(p.add(12 + i)))
            };
            // x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3, and the same of points 4 to 7.
            let (a, b, c) = (two(0), two(4), two(8));
            let xy = _mm256_shuffle_ps::<0b10_01_11_10>(b, c);
            let yz = _mm256_shuffle_ps::<0b01_00_10_01>(a, b);
            let x = _mm256_shuffle_ps::<0b10_00_11_00>(a, xy);
            let y = _mm256_shuffle_ps::<0b11_01_10_00>(yz, xy);
            let z = _mm256_shuffle_ps::<0b11_00_11_01>(yz, c);
            [Self(x), Self(y), Self(z)]
        }
    }
    #[inline(always)]
    fn load_ints(v: &[i32; LANES]) -> __m256i {
        // SAFETY: see the head of this module; `v` has eight elements.
        unsafe { _mm256_loadu_si256(v.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store_ints(v: __m256i, out: &mut [i32; LANES]) {
        // SAFETY: see the head of this module; `out` has eight elements.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), v) }
    }
}

/// Out of the way of the common case.
#[cold]
#[inline(never)]
fn grow<R>(out: &mut Vec<R>) {
    out.reserve(LANES);
}

/// The four values of each lane side by side, lanes taken in `order` unless `whole`: those of lanes 0 and 4, 1 and 5, and so on.
#[inline(always)]
fn fours(rows: &[Avx2; 4], order: __m256i, whole: bool) -> [__m256; 4] {
    // SAFETY: see the head of this module.
    unsafe {
        let mut rows = [rows[0].0, rows[1].0, rows[2].0, rows[3].0];
        if !whole {
            for row in &mut rows {
                *row = _mm256_permutevar8x32_ps(*row, order);
            }
        }
        let [a, b, c, d] = rows;
        // a0 b0 a1 b1 | a4 b4 a5 b5 and so on.
        let (ab, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd),
            _mm256_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high),
        ]
    }
}

/// Whether [`clamp_index`] would change none of them.
#[inline(always)]
fn all_within<const M: usize>(index: &[__m256i; M], last: i32) -> bool {
    // SAFETY: see the head of this module.
    unsafe {
        let mut most = _mm256_setzero_si256();
        for index in index {
            most = _mm256_max_epu32(most, *index);
        }
        let last = _mm256_set1_epi32(last);
        _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_min_epu32(most, last), most)) == -1
    }
}

/// Lane i of the result is lane `from[i]` of `v` where `kept[i]` is negative, else lane i of `rest`.
#[inline(always)]
fn move_lanes(v: Avx2, rest: Avx2, (from, kept): &([i32; LANES], [i32; LANES])) -> Avx2 {
    // SAFETY: see the head of this module; both loads read whole arrays.
    unsafe {
        let moved = _mm256_permutevar8x32_ps(v.0, _mm256_loadu_si256(from.as_ptr().cast()));
        let kept = _mm256_castsi256_ps(_mm256_loadu_si256(kept.as_ptr().cast()));
        Avx2(_mm256_blendv_ps(rest.0, moved, kept))
    }
}

/// Indices above `last` as unsigned numbers, which negative ones are too, become 0.
#[inline(always)]
fn clamp_index(index: __m256i, last: i32) -> __m256i {
    // SAFETY: see the head of this module.
    unsafe {
        let last = _mm256_set1_epi32(last);
        let fine = _mm256_cmpeq_epi32(_mm256_min_epu32(index, last), index);
        _mm256_and_si256(index, fine)
    }
}

/// `table[i]` and `table[i + 1]` for each i of `at`. Loaded one by one: on many processors a gather instruction is
/// slower than that.
///
/// # Safety
/// Every i + 1 is in the table.
#[inline(always)]
unsafe fn pairs(table: &[f32], at: &[i32; LANES]) -> (Avx2, Avx2) {
    // SAFETY: the caller's promise.
    unsafe {
        let p = |i: usize| table.as_ptr().add(at[i] as u32 as usize).cast::<f64>();
        let two = |i: usize, j: usize| _mm_loadh_pd(_mm_load_sd(p(i)), p(j));
        // a0 b0 a1 b1 | a4 b4 a5 b5 and a2 b2 a3 b3 | a6 b6 a7 b7
        let lo = _mm256_castpd_ps(_mm256_set_m128d(two(4, 5), two(0, 1)));
        let hi = _mm256_castpd_ps(_mm256_set_m128d(two(6, 7), two(2, 3)));
        let a = _mm256_shuffle_ps::<0b10_00_10_00>(lo, hi);
        let b = _mm256_shuffle_ps::<0b11_01_11_01>(lo, hi);
        (Avx2(a), Avx2(b))
    }
}

/// [`pairs`] of 16-bit integers, converted.
///
/// # Safety
/// As [`pairs`].
#[inline(always)]
unsafe fn pairs_i16(table: &[i16], at: &[i32; LANES]) -> (Avx2, Avx2) {
    // SAFETY: the caller's promise.
    unsafe {
        let p = |i: usize| table.as_ptr().add(at[i] as u32 as usize).cast::<i32>().read_unaligned();
        let both = _mm256_setr_epi32(p(0), p(1), p(2), p(3), p(4), p(5), p(6), p(7));
        halves(both)
    }
}

/// [`Lanes::differences`].
///
/// # Safety
/// As [`pairs`].
#[inline(always)]
unsafe fn differences(table: &[[i16; 4]], at: &[i32; LANES]) -> [Avx2; 8] {
    // SAFETY: the caller's promise.
    unsafe {
        let p = |i: usize| _mm_loadu_si128(table.as_ptr().add(at[i] as u32 as usize).cast());
        let two = |i: usize| _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(p(i)), p(i + 4));
        let (a, b, c, d) = (two(0), two(1), two(2), two(3));
        // Pairs 0 and 1, and 2 and 3, of two lanes, in each half.
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
        // Each pair of all lanes: (a, b), (c, d), (e, f), (g, h).
        let (low, low_y) = (_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
        let (high, high_y) =
            (_mm256_unpacklo_epi64(ab_high, cd_high), _mm256_unpackhi_epi64(ab_high, cd_high));
        let y = _mm256_sub_epi16(low_y, low);
        let yz = _mm256_sub_epi16(_mm256_sub_epi16(high_y, high), y);
        let (low, y, z, yz) = (halves(low), halves(y), halves(_mm256_sub_epi16(high, low)), halves(yz));
        [low.0, low.1, y.0, y.1, z.0, z.1, yz.0, yz.1]
    }
}

/// The lower and the upper 16 bits of each lane, converted.
#[inline(always)]
fn halves(both: __m256i) -> (Avx2, Avx2) {
    // SAFETY: see the head of this module.
    unsafe {
        let a = _mm256_srai_epi32::<16>(_mm256_slli_epi32::<16>(both));
        let b = _mm256_srai_epi32::<16>(both);
        (Avx2(_mm256_cvtepi32_ps(a)), Avx2(_mm256_cvtepi32_ps(b)))
    }
}
