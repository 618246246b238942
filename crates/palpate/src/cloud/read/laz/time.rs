//! Times of compressed points, as LASzip's second version packs them.
//!
//! Nobody asks for the times, but a point's colour lies behind its time in the same stream of bits, so they have to be
//! unpacked. The crate `laz` does it by a function that calls itself each time the stream changes from one sequence of
//! times to another, and damaged bytes can say that a million times in a row: the stack ends, which cannot be caught.
//! Here a change is a turn of a loop, and a second one in a row is an error: no writer makes it.

use ::laz::decoders::ArithmeticDecoder;
use ::laz::decompressors::{IntegerDecompressor, IntegerDecompressorBuilder};
use ::laz::models::{ArithmeticModel, ArithmeticModelBuilder};
use ::laz::record::FieldDecompressor;
use std::io::{self, Read};

/// Bytes of a time.
const SIZE: usize = 8;
/// Largest and least factor between a step and the one before that have symbols of their own.
const FASTEST: i32 = 500;
const BACKWARDS: i32 = -10;
/// The symbols behind those of the factors: no step; a time that is spelled out; the changes to the other sequences.
const SAME: i32 = FASTEST - BACKWARDS + 1;
const SPELLED: i32 = SAME + 1;
const SYMBOLS: u32 = SPELLED as u32 + 4;
/// After so many steps at an end of the range of factors, the step itself is taken anew.
const PATIENCE: u8 = 3;

/// One of four interleaved sequences of times; times are the bits of an f64.
#[derive(Clone, Copy, Default)]
struct Sequence {
    time: i64,
    step: i32,
    /// Steps at an end of the range of factors since the step was taken.
    odd: u8,
}

/// Unpacks times.
pub(super) struct Times {
    sequences: [Sequence; 4],
    /// The sequence of the last point, and the one that was begun last.
    at: usize,
    newest: usize,
    resting: ArithmeticModel,
    moving: ArithmeticModel,
    numbers: IntegerDecompressor,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            sequences: [Sequence::default(); 4],
            at: 0,
            newest: 0,
            resting: ArithmeticModelBuilder::new(6).build(),
            moving: ArithmeticModelBuilder::new(SYMBOLS).build(),
            numbers: IntegerDecompressorBuilder::new().bits(32).contexts(9).build_initialized(),
        }
    }
}

/// What a symbol says.
enum Symbol {
    /// The time is the last one of its sequence.
    Same,
    /// The step is a number near a multiple of the last one.
    Step(i32),
    /// The first step of a sequence that rested.
    First,
    /// A new sequence begins, at a time that is spelled out.
    Spelled,
    /// The time belongs to the sequence so many behind this one.
    Other(usize),
}

impl Times {
    fn symbol<R: Read>(&mut self, bits: &mut ArithmeticDecoder<R>) -> io::Result<Symbol> {
        if self.sequences[self.at].step == 0 {
            return Ok(match bits.decode_symbol(&mut self.resting)? {
                0 => Symbol::Same,
                1 => Symbol::First,
                2 => Symbol::Spelled,
                n => Symbol::Other(n as usize - 2),
            });
        }
        Ok(match bits.decode_symbol(&mut self.moving)?.cast_signed() {
            SAME => Symbol::Same,
            SPELLED => Symbol::Spelled,
            n if n > SPELLED => Symbol::Other((n - SPELLED) as usize),
            n if n > FASTEST => Symbol::Step(FASTEST - n),
            n => Symbol::Step(n),
        })
    }

    /// The next time, by the bits of an f64.
    fn next<R: Read>(&mut self, bits: &mut ArithmeticDecoder<R>) -> io::Result<i64> {
        let mut symbol = self.symbol(bits)?;
        if let Symbol::Other(behind) = symbol {
            self.at = (self.at + behind) % 4;
            symbol = self.symbol(bits)?;
        }
        let last = &mut self.sequences[self.at];
        match symbol {
            Symbol::Same => {}
            Symbol::First => {
                last.step = self.numbers.decompress(bits, 0, 0)?;
                last.time = last.time.wrapping_add(last.step.into());
                last.odd = 0;
            }
            Symbol::Step(factor) => {
                // The contexts of numbers are by the kind of factor.
                let (factor, context) = match factor {
                    1 => (1, 1),
                    0 => (0, 7),
                    2..10 => (factor, 2),
                    10..FASTEST => (factor, 3),
                    FASTEST => (factor, 4),
                    _ if factor > BACKWARDS => (factor, 5),
                    _ => (BACKWARDS, 6),
                };
                let step = self.numbers.decompress(bits, factor.wrapping_mul(last.step), context)?;
                last.time = last.time.wrapping_add(step.into());
                match factor {
                    1 => last.odd = 0,
                    0 | FASTEST | BACKWARDS => {
                        last.odd += 1;
                        if last.odd > PATIENCE {
                            (last.step, last.odd) = (step, 0);
                        }
                    }
                    _ => {}
                }
            }
            Symbol::Spelled => {
                let high = self.numbers.decompress(bits, (last.time >> 32) as i32, 8)?;
                let low = bits.read_int()?;
                self.newest = (self.newest + 1) % 4;
                self.at = self.newest;
                self.sequences[self.at] =
                    Sequence { time: i64::from(high) << 32 | i64::from(low), step: 0, odd: 0 };
            }
            Symbol::Other(_) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a time in no sequence of times"));
            }
        }
        Ok(self.sequences[self.at].time)
    }
}

impl<R: Read> FieldDecompressor<R> for Times {
    fn size_of_field(&self) -> usize {
        SIZE
    }

    fn decompress_first(&mut self, source: &mut R, out: &mut [u8]) -> io::Result<()> {
        let mut time = [0; SIZE];
        source.read_exact(&mut time)?;
        self.sequences[0].time = i64::from_le_bytes(time);
        out.copy_from_slice(&time);
        Ok(())
    }

    fn decompress_with(&mut self, bits: &mut ArithmeticDecoder<R>, out: &mut [u8]) -> io::Result<()> {
        out.copy_from_slice(&self.next(bits)?.to_le_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop where something fails")]
    use super::*;
    use crate::mesh::shapes::Random;
    use ::laz::encoders::ArithmeticEncoder;
    use ::laz::las::v2::{GpsTimeCompressor, GpsTimeDecompressor};
    use ::laz::record::{
        FieldCompressor, RecordCompressor, RecordDecompressor, SequentialPointRecordCompressor,
        SequentialPointRecordDecompressor,
    };

    /// Times of several scanners in turn: steady, resting, jumping, backwards, far apart.
    fn times(seed: u64) -> Vec<f64> {
        let mut random = Random(seed);
        let mut below = |n| random.below(n);
        // Bits of positive numbers.
        let mut clocks = [1.0e5, 2.5e8, 3.0, 4.0e17, 1.0e-3, 7.0e-30].map(f64::to_bits);
        let mut steps = [1000_i64; 6];
        let mut clock = 0;
        (0..20_000)
            .map(|_| {
                if below(5) == 0 {
                    clock = below(clocks.len());
                }
                if below(20) == 0 {
                    let factor = [0, -1, 3, 40, 700, -20][below(6)];
                    steps[clock] = (steps[clock] * factor).clamp(-1 << 40, 1 << 40) + below(3) as i64;
                }
                if below(4) > 0 {
                    clocks[clock] = clocks[clock].strict_add_signed(steps[clock]);
                }
                f64::from_bits(clocks[clock])
            })
            .collect()
    }

    fn packed<C: FieldCompressor<Vec<u8>> + Send + Sync>(field: C, times: &[f64]) -> Vec<u8> {
        let mut writer = SequentialPointRecordCompressor::new(Vec::new());
        writer.add_field_compressor(field);
        for time in times {
            writer.compress_next(&time.to_le_bytes()).unwrap();
        }
        writer.done().unwrap();
        writer.into_inner()
    }

    fn unpacked<'a, D>(field: D, bytes: &'a [u8], n: usize) -> io::Result<Vec<[u8; SIZE]>>
    where
        D: FieldDecompressor<&'a [u8]> + Send + Sync + 'a,
    {
        let mut reader = SequentialPointRecordDecompressor::new(bytes);
        reader.add_field_decompressor(field);
        (0..n)
            .map(|_| {
                let mut t = [0; SIZE];
                reader.decompress_next(&mut t)?;
                Ok(t)
            })
            .collect()
    }

    #[test]
    fn times_are_those_of_the_crate_that_packed_them() {
        for seed in 0..8 {
            let times = times(seed);
            let bytes = packed(GpsTimeCompressor::default(), &times);
            let ours = unpacked(Times::default(), &bytes, times.len()).unwrap();
            assert!(ours.iter().zip(&times).all(|(a, b)| *a == b.to_le_bytes()), "seed {seed}");
            assert_eq!(ours, unpacked(GpsTimeDecompressor::default(), &bytes, times.len()).unwrap());
        }
    }

    /// Bits that change the sequence again and again.
    struct Switching(ArithmeticModel);

    impl FieldCompressor<Vec<u8>> for Switching {
        fn size_of_field(&self) -> usize {
            SIZE
        }

        fn compress_first(&mut self, out: &mut Vec<u8>, time: &[u8]) -> io::Result<()> {
            out.extend_from_slice(time);
            Ok(())
        }

        fn compress_with(&mut self, bits: &mut ArithmeticEncoder<Vec<u8>>, _: &[u8]) -> io::Result<()> {
            (0..1_000_000).try_for_each(|_| bits.encode_symbol(&mut self.0, 3))
        }
    }

    #[test]
    fn a_million_changes_of_the_sequence_are_an_error_and_no_end_of_the_stack() {
        let model = ArithmeticModelBuilder::new(6).with_compression(true).build();
        let bytes = packed(Switching(model), &[1.0, 2.0]);
        assert!(bytes.len() < 10_000, "{} bytes", bytes.len());
        let error = unpacked(Times::default(), &bytes, 2).unwrap_err();
        assert!(error.to_string().contains("sequence"), "{error}");
    }
}
