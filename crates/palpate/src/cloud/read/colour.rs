//! Colours of any kind of number into bytes.

/// What the numbers of a file's colours are, known when all were seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range {
    /// The largest finite one.
    max: f32,
    /// Whether one is no whole number, or the file says that they may be.
    fractions: bool,
}

impl Range {
    /// Of numbers whose type tells whether they are whole.
    pub(super) fn of_type(fractions: bool) -> Self {
        Self { max: 0.0, fractions }
    }

    #[inline]
    pub(super) fn add(&mut self, colour: [f32; 3]) {
        for v in colour {
            if v.is_finite() {
                self.max = self.max.max(v);
                self.fractions |= v.fract() != 0.0;
            }
        }
    }

    pub(super) fn join(self, other: Self) -> Self {
        Self { max: self.max.max(other.max), fractions: self.fractions || other.fractions }
    }

    /// What to multiply with to get bytes.
    pub(super) fn factor(self) -> f32 {
        match self.max {
            max if max <= 1.0 && self.fractions => 255.0,
            max if max <= 255.0 => 1.0,
            _ => 1.0 / 257.0,
        }
    }
}

/// Rounded; outside of 0 to 255 the nearer end, and 0 for NaN.
#[inline]
pub(super) fn bytes(colour: [f32; 3], factor: f32) -> [u8; 3] {
    colour.map(|v| (v * factor).round() as u8)
}

/// `0x00RRGGBB`.
#[inline]
pub(super) fn unpacked(bits: u32) -> [u8; 3] {
    let [_, r, g, b] = bits.to_be_bytes();
    [r, g, b]
}
