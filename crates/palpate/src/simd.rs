//! Eight-lane arithmetic with a scalar twin, and the run-time choice between them.
//!
//! Kernels are written once, generic over [`Lanes`], marked `#[inline(always)]` and instantiated twice: with
//! [`Plain`] (arrays, compiled for the baseline of the target) and, behind [`avx2`], with `Avx2` inside a function
//! that enables the feature. No operation fuses a multiplication with an addition, so both give the same bits.
//!
//! This file and `store.rs` are the only ones with unsafe code.
#![expect(unsafe_code, reason = "intrinsics and unchecked gathers live here, and only here")]

/// Number of lanes of every kernel.
pub(crate) const LANES: usize = 8;

/// Eight `f32` values and the operations kernels need.
pub(crate) trait Lanes: Copy {
    /// The comparison result of each lane.
    type Mask: Copy;
    /// Eight `i32` values.
    type Ints: Copy;

    fn splat(v: f32) -> Self;
    fn load(v: &[f32; LANES]) -> Self;
    fn store(self, out: &mut [f32; LANES]);
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
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
    /// `self` where the mask is set, else `other`.
    fn select(mask: Self::Mask, on: Self, off: Self) -> Self;
    /// One bit per lane, lane 0 lowest.
    fn bits(mask: Self::Mask) -> u32;
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;

    /// Truncates toward zero; lanes outside i32 are unspecified but not undefined.
    fn to_ints(self) -> Self::Ints;
    fn ints(v: i32) -> Self::Ints;
    fn int_add(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    fn int_mul(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    fn int_select(mask: Self::Mask, on: Self::Ints, off: Self::Ints) -> Self::Ints;
    /// Lanes that are negative.
    fn int_negative(a: Self::Ints) -> Self::Mask;
    /// `table[index]` per lane; an index outside the table reads element 0.
    fn gather_ints(table: &[i32], index: Self::Ints) -> Self::Ints;
    /// `(table[index], table[index + 1])` per lane; an index for which either is outside reads elements 0 and 1.
    /// The table must have at least two elements, else zeros are returned.
    fn gather_pairs(table: &[f32], index: Self::Ints) -> (Self, Self);
    /// As [`Lanes::gather_pairs`] for 16-bit integers, converted to `f32`.
    fn gather_pairs_i16(table: &[i16], index: Self::Ints) -> (Self, Self);
}

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

impl Lanes for Plain {
    type Mask = [bool; LANES];
    type Ints = [i32; LANES];

    #[inline(always)]
    fn splat(v: f32) -> Self {
        Self([v; LANES])
    }
    #[inline(always)]
    fn load(v: &[f32; LANES]) -> Self {
        Self(*v)
    }
    #[inline(always)]
    fn store(self, out: &mut [f32; LANES]) {
        *out = self.0;
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
    fn select(mask: Self::Mask, on: Self, off: Self) -> Self {
        lanes(|i| if mask[i] { on.0[i] } else { off.0[i] })
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
    fn to_ints(self) -> Self::Ints {
        int_lanes(|i| self.0[i] as i32)
    }
    #[inline(always)]
    fn ints(v: i32) -> Self::Ints {
        [v; LANES]
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
    fn int_select(mask: Self::Mask, on: Self::Ints, off: Self::Ints) -> Self::Ints {
        int_lanes(|i| if mask[i] { on[i] } else { off[i] })
    }
    #[inline(always)]
    fn int_negative(a: Self::Ints) -> Self::Mask {
        core::array::from_fn(|i| a[i] < 0)
    }
    #[inline(always)]
    fn gather_ints(table: &[i32], index: Self::Ints) -> Self::Ints {
        let first = table.first().copied().unwrap_or(0);
        int_lanes(|i| table.get(index[i] as u32 as usize).copied().unwrap_or(first))
    }
    #[inline(always)]
    fn gather_pairs(table: &[f32], index: Self::Ints) -> (Self, Self) {
        let pair = |i: usize| -> (f32, f32) {
            let at = index[i] as u32 as usize;
            match table.get(at..at.saturating_add(2)).or(table.get(0..2)) {
                Some(p) => (p[0], p[1]),
                None => (0.0, 0.0),
            }
        };
        (lanes(|i| pair(i).0), lanes(|i| pair(i).1))
    }
    #[inline(always)]
    fn gather_pairs_i16(table: &[i16], index: Self::Ints) -> (Self, Self) {
        let pair = |i: usize| -> (f32, f32) {
            let at = index[i] as u32 as usize;
            match table.get(at..at.saturating_add(2)).or(table.get(0..2)) {
                Some(p) => (f32::from(p[0]), f32::from(p[1])),
                None => (0.0, 0.0),
            }
        };
        (lanes(|i| pair(i).0), lanes(|i| pair(i).1))
    }
}

/// Whether kernels may use AVX2 on this machine. The answer is cached by the standard library.
#[inline]
pub(crate) fn avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2");
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
                #[target_feature(enable = "avx2")]
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
mod wide {
    //! SAFETY for every block: values of these types exist only inside kernels that `dispatch!` instantiated, hence
    //! only after AVX2 was detected; memory is touched only through references to arrays of the full width, or
    //! after indices were clamped to the table.
    use super::{LANES, Lanes};
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

        ops! {
            splat(v: f32) -> Self = Self(_mm256_set1_ps(v));
            load(v: &[f32; LANES]) -> Self = Self(_mm256_loadu_ps(v.as_ptr()));
            select(mask: __m256, on: Self, off: Self) -> Self = Self(_mm256_blendv_ps(off.0, on.0, mask));
            bits(mask: __m256) -> u32 = _mm256_movemask_ps(mask) as u32;
            and(a: __m256, b: __m256) -> __m256 = _mm256_and_ps(a, b);
            ints(v: i32) -> __m256i = _mm256_set1_epi32(v);
            int_add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
            int_mul(a: __m256i, b: __m256i) -> __m256i = _mm256_mullo_epi32(a, b);
            int_select(mask: __m256, on: __m256i, off: __m256i) -> __m256i =
                _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(off), _mm256_castsi256_ps(on), mask));
            int_negative(a: __m256i) -> __m256 = _mm256_castsi256_ps(_mm256_srai_epi32::<31>(a));
        }

        #[inline(always)]
        fn store(self, out: &mut [f32; LANES]) {
            // SAFETY: see the head of this module; `out` has eight elements.
            unsafe { _mm256_storeu_ps(out.as_mut_ptr(), self.0) }
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
        fn to_ints(self) -> __m256i {
            // SAFETY: see the head of this module.
            unsafe { _mm256_cvttps_epi32(self.0) }
        }
        #[inline(always)]
        fn gather_ints(table: &[i32], index: __m256i) -> __m256i {
            if table.is_empty() {
                return Self::ints(0);
            }
            let index = clamp_index(index, table.len() - 1);
            // SAFETY: every index is in 0..table.len() and the table is not empty.
            unsafe { _mm256_i32gather_epi32::<4>(table.as_ptr(), index) }
        }
        #[inline(always)]
        fn gather_pairs(table: &[f32], index: __m256i) -> (Self, Self) {
            if table.len() < 2 {
                return (Self::splat(0.0), Self::splat(0.0));
            }
            let index = clamp_index(index, table.len() - 2);
            // SAFETY: every index + 1 is in the table, so each eight-byte load at index is inside it.
            unsafe {
                let base = table.as_ptr().cast::<i64>();
                let lo = _mm256_i32gather_epi64::<4>(base, _mm256_castsi256_si128(index));
                let hi = _mm256_i32gather_epi64::<4>(base, _mm256_extracti128_si256::<1>(index));
                // lo = a0 b0 a1 b1 | a2 b2 a3 b3, hi = a4 b4 a5 b5 | a6 b6 a7 b7
                let lo = _mm256_castsi256_ps(lo);
                let hi = _mm256_castsi256_ps(hi);
                let a = _mm256_shuffle_ps::<0b10_00_10_00>(lo, hi);
                let b = _mm256_shuffle_ps::<0b11_01_11_01>(lo, hi);
                let a = _mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(a));
                let b = _mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(b));
                (Self(_mm256_castpd_ps(a)), Self(_mm256_castpd_ps(b)))
            }
        }
        #[inline(always)]
        fn gather_pairs_i16(table: &[i16], index: __m256i) -> (Self, Self) {
            if table.len() < 2 {
                return (Self::splat(0.0), Self::splat(0.0));
            }
            let index = clamp_index(index, table.len() - 2);
            // SAFETY: every index + 1 is in the table, so each four-byte load at index is inside it.
            unsafe {
                let both = _mm256_i32gather_epi32::<2>(table.as_ptr().cast::<i32>(), index);
                let a = _mm256_srai_epi32::<16>(_mm256_slli_epi32::<16>(both));
                let b = _mm256_srai_epi32::<16>(both);
                (Self(_mm256_cvtepi32_ps(a)), Self(_mm256_cvtepi32_ps(b)))
            }
        }
    }

    /// Indices above `last` (as unsigned numbers, so also negative ones) become 0.
    #[inline(always)]
    fn clamp_index(index: __m256i, last: usize) -> __m256i {
        let last = last.min(i32::MAX as usize) as i32;
        // SAFETY: see the head of this module.
        unsafe {
            let last = _mm256_set1_epi32(last);
            let fine = _mm256_cmpeq_epi32(_mm256_min_epu32(index, last), index);
            _mm256_and_si256(index, fine)
        }
    }
}
