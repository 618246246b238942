//! Binary records of one size, or columns one behind the other, into points.

use super::{CloudReadError, Input, RawCloud, colour, unit};
use crate::mesh::ply_header::Scalar;
use crate::par;
use glam::DVec3;

/// Records that one task reads.
const TASK: usize = 1 << 15;

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl From<Scalar> for Kind {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::I8 => Self::I8,
            Scalar::U8 => Self::U8,
            Scalar::I16 => Self::I16,
            Scalar::U16 => Self::U16,
            Scalar::I32 => Self::I32,
            Scalar::U32 => Self::U32,
            Scalar::F32 => Self::F32,
            Scalar::F64 => Self::F64,
        }
    }
}

impl Kind {
    pub(super) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// Where a number of each record is: byte `base + i * stride` of the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) base: usize,
    pub(super) stride: usize,
    pub(super) kind: Kind,
}

impl Column {
    #[inline]
    fn raw<const N: usize>(&self, block: &[u8], i: usize, big: bool) -> Option<[u8; N]> {
        let mut raw = *block.get(self.base + i * self.stride..)?.first_chunk::<N>()?;
        if big {
            raw.reverse();
        }
        Some(raw)
    }

    /// The number of record `i`; NaN outside of the block.
    #[inline]
    fn get(&self, block: &[u8], i: usize, big: bool) -> f64 {
        let value = match self.kind {
            Kind::F32 => self.raw(block, i, big).map(|r| f64::from(f32::from_le_bytes(r))),
            Kind::F64 => self.raw(block, i, big).map(f64::from_le_bytes),
            Kind::I32 => self.raw(block, i, big).map(|r| f64::from(i32::from_le_bytes(r))),
            Kind::U32 => self.raw(block, i, big).map(|r| f64::from(u32::from_le_bytes(r))),
            Kind::I16 => self.raw(block, i, big).map(|r| f64::from(i16::from_le_bytes(r))),
            Kind::U16 => self.raw(block, i, big).map(|r| f64::from(u16::from_le_bytes(r))),
            Kind::I8 => self.raw(block, i, big).map(|r| f64::from(i8::from_le_bytes(r))),
            Kind::U8 => self.raw(block, i, big).map(|r| f64::from(u8::from_le_bytes(r))),
            Kind::I64 => self.raw(block, i, big).map(|r| i64::from_le_bytes(r) as f64),
            Kind::U64 => self.raw(block, i, big).map(|r| u64::from_le_bytes(r) as f64),
        };
        value.unwrap_or(f64::NAN)
    }
}

/// Where the colours are.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColourColumns {
    Three([Column; 3]),
    /// `0x00RRGGBB` in the bits of a number of four bytes.
    Packed(Column),
}

/// Records in a block of bytes. The caller has checked that `count` of them fit in it.
pub(super) struct Records<'a> {
    pub(super) block: &'a [u8],
    pub(super) count: usize,
    pub(super) big: bool,
    pub(super) points: [Column; 3],
    pub(super) normals: Option<[Column; 3]>,
    pub(super) colours: Option<ColourColumns>,
    /// Factor and offset from stored numbers to file units.
    pub(super) transform: Option<(DVec3, DVec3)>,
}

impl Records<'_> {
    pub(super) fn read(&self, input: &Input<'_>) -> Result<RawCloud, CloudReadError> {
        input.check_count(self.count as u64)?;
        input.progress.stage("read points", self.count as u64);
        let mut points = vec![DVec3::ZERO; self.count];
        let (scale, [x, y, z]) = (input.scale, self.points);
        let three = |columns: &[Column; 3], i: usize| {
            let [a, b, c] = columns;
            DVec3::new(
                a.get(self.block, i, self.big),
                b.get(self.block, i, self.big),
                c.get(self.block, i, self.big),
            )
        };
        let little_f32 =
            !self.big && self.transform.is_none() && self.points.iter().all(|c| c.kind == Kind::F32);
        par::chunks_mut(&mut points, TASK, |task, out| {
            if input.progress.cancelled() {
                return;
            }
            let first = task * TASK;
            if little_f32 {
                // What nearly all scans have: no choice by type for each number.
                let value = |c: &Column, i| {
                    c.raw(self.block, i, false).map_or(f64::NAN, |r| f64::from(f32::from_le_bytes(r)))
                };
                for (k, p) in out.iter_mut().enumerate() {
                    let i = first + k;
                    *p = DVec3::new(value(&x, i), value(&y, i), value(&z, i)) * scale;
                }
            } else {
                for (k, p) in out.iter_mut().enumerate() {
                    let v = three(&self.points, first + k);
                    *p = self.transform.map_or(v, |(factor, offset)| factor * v + offset) * scale;
                }
            }
            input.progress.advance(out.len() as u64);
        });
        let normals = self.normals.map(|columns| {
            let mut normals = vec![glam::Vec3::ZERO; self.count];
            par::chunks_mut(&mut normals, TASK, |task, out| {
                for (k, n) in out.iter_mut().enumerate() {
                    *n = unit(three(&columns, task * TASK + k));
                }
            });
            normals
        });
        let colours = self.colours.map(|columns| self.colours(&columns));
        input.stop()?;
        Ok(RawCloud { points, normals, colours, ..Default::default() })
    }

    fn colours(&self, columns: &ColourColumns) -> Vec<[u8; 3]> {
        let mut colours = vec![[0; 3]; self.count];
        match columns {
            ColourColumns::Packed(column) => par::chunks_mut(&mut colours, TASK, |task, out| {
                for (k, c) in out.iter_mut().enumerate() {
                    let bits =
                        column.raw(self.block, task * TASK + k, self.big).map_or(0, u32::from_le_bytes);
                    *c = colour::unpacked(bits);
                }
            }),
            ColourColumns::Three(columns) => {
                let get = |i: usize| columns.map(|c| c.get(self.block, i, self.big) as f32);
                let factor = if columns.iter().all(|c| c.kind.size() == 1) {
                    1.0
                } else {
                    let start = colour::Range::of_type(columns.iter().any(|c| c.kind.is_float()));
                    let tasks = par::map(self.count.div_ceil(TASK), |task| {
                        let mut range = start;
                        (task * TASK..self.count.min((task + 1) * TASK)).for_each(|i| range.add(get(i)));
                        range
                    });
                    tasks.into_iter().fold(start, colour::Range::join).factor()
                };
                par::chunks_mut(&mut colours, TASK, |task, out| {
                    for (k, c) in out.iter_mut().enumerate() {
                        *c = colour::bytes(get(task * TASK + k), factor);
                    }
                });
            }
        }
        colours
    }
}
