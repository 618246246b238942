//! How node values are stored: `f32` metres, or 16-bit multiples of a step.
//!
//! Based on: Sagardia, Stouraitis, Lopes e Silva, 2014, Eq. 1 [sagardia14].
//! Differs: values are negative inside; rounded, not truncated, which halves the error; without a stated precision
//! the step is the finest that fits the largest distance.

use super::FieldError;
use crate::store::Store;

/// How node values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `f32`, in metres: 4 bytes a node.
    Float,
    /// `i16` multiples of λ: 2 bytes a node, error at most λ/2.
    Scaled {
        /// λ = 10^-precision m, or the finest that fits.
        precision: Option<u32>,
    },
    /// Whole layers: `i16` multiples of the voxel size. The coarse form of the papers, for comparison.
    Layered,
}

/// Stored node values.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Float(Store<f32>),
    Scaled { values: Store<i16>, step: f32, encoding: Encoding },
}

impl Values {
    /// Encodes distances [m].
    pub(crate) fn encode(values: Vec<f32>, encoding: Encoding, voxel: f64) -> Result<Self, FieldError> {
        let largest = || values.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let step = match encoding {
            Encoding::Float => return Ok(Self::Float(values.into())),
            Encoding::Layered => voxel,
            Encoding::Scaled { precision: None } => (f64::from(largest()) / 32766.0).max(1e-30),
            Encoding::Scaled { precision: Some(precision) } => {
                let step = 10f64.powi(-(precision.min(300) as i32));
                let largest = f64::from(largest());
                if largest > step * 32766.0 {
                    let suggested = (32766.0 / largest).log10().floor() as i32;
                    return Err(FieldError::Precision { precision, largest, suggested });
                }
                step
            }
        };
        let scale = 1.0 / step;
        let values: Vec<i16> = values
            .iter()
            .map(|&v| (f64::from(v) * scale).round_ties_even().clamp(-32767.0, 32767.0) as i16)
            .collect();
        Ok(Self::Scaled { values: values.into(), step: step as f32, encoding })
    }

    /// The values of the eight nodes from `at` on, x fastest, with `y` and `z` from one to the next along those axes [m].
    #[inline(always)]
    pub(crate) fn around(&self, at: usize, y: usize, z: usize) -> [f64; 8] {
        match self {
            Self::Float(v) => eight(at, y, z, |i| v[i]),
            Self::Scaled { values, step, .. } => eight(at, y, z, |i| f32::from(values[i]) * step),
        }
    }

    /// Largest |stored − given| [m].
    pub(crate) fn error(&self) -> f64 {
        match self {
            Self::Float(_) => 0.0,
            // A hair more than half a step: the step itself was rounded to f32.
            Self::Scaled { step, .. } => 0.5001 * f64::from(*step) * (1.0 + 1e-3),
        }
    }

    /// Every value [m].
    pub(crate) fn decoded(&self) -> std::borrow::Cow<'_, [f32]> {
        match self {
            Self::Float(v) => std::borrow::Cow::Borrowed(v),
            Self::Scaled { values, step, .. } => values.iter().map(|v| f32::from(*v) * step).collect(),
        }
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Float(v) => v.len(),
            Self::Scaled { values, .. } => values.len(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Float(v) => 4 * v.len(),
            Self::Scaled { values, .. } => 2 * values.len(),
        }
    }

    pub(crate) fn encoding(&self) -> Encoding {
        match self {
            Self::Float(_) => Encoding::Float,
            Self::Scaled { encoding, .. } => *encoding,
        }
    }
}

#[inline(always)]
fn eight(at: usize, y: usize, z: usize, value: impl Fn(usize) -> f32) -> [f64; 8] {
    let pair = |i| (f64::from(value(i)), f64::from(value(i + 1)));
    let (a, b) = pair(at);
    let (c, d) = pair(at + y);
    let (e, f) = pair(at + z);
    let (g, h) = pair(at + z + y);
    [a, b, c, d, e, f, g, h]
}
