//! Where points are kept: whole multiples of a unit about an origin, in cubes of powers of two.
//!
//! A unit is a power of two, so positions, planes of octants and steps of boxes are exact in `f32`: every comparison of a search
//! is one of the numbers themselves, and no bound needs a tolerance.

use crate::math::Aabb;
use glam::DVec3;

/// Edge of the cube that holds a cloud when it is built [log2 units]. All of it is exact in `f32`.
pub(super) const BUILT: u32 = 24;

/// Edge of the largest cube a cloud may grow to [log2 units]: corners of the smallest octants are still exact in `f32`.
pub(super) const LARGEST: u32 = BUILT + DEEPEST;

/// How far from the origin points may come along each axis [log2 units]: whatever way a cube grows, three doublings hold them.
pub(super) const REACH: u32 = BUILT + 1;

/// Edge of the smallest octants [log2 units]: at most 8³ different positions are in one.
pub(super) const DEEPEST: u32 = 3;

/// Smallest and largest unit [m]: squares of distances neither vanish nor overflow.
const UNITS: (f64, f64) = (1.0 / (1u64 << 60) as f64, (1u64 << 30) as f64);

/// Numbers of this size are whole.
const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;

/// Whole units about the origin.
pub(super) type Place = [i64; 3];

/// The cube of a cloud, and how coordinates become whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    /// What coordinates are relative to, in the cloud's frame [m].
    pub(super) origin: DVec3,
    /// [m], a power of two.
    pub(super) unit: f64,
    /// Units of a metre: exact.
    pub(super) per_metre: f64,
    /// Lowest corner of the cube [units].
    pub(super) corner: Place,
    /// Its edge [log2 units].
    pub(super) log: u32,
}

impl Grid {
    /// The finest grid whose cube holds `aabb`, which is not empty; none for one that is too large.
    pub(super) fn around(aabb: Aabb) -> Option<Self> {
        let extent = aabb.extent().max_element();
        // A metre for a single place: there is nothing to go by.
        let extent = if extent > 0.0 { extent } else { 1.0 };
        let least = extent / ((1u64 << BUILT) - 4) as f64;
        let unit = 2f64.powi(least.log2().ceil() as i32).max(UNITS.0);
        // Rounding of the logarithm must not make it too small.
        let unit = if unit < least { 2.0 * unit } else { unit };
        let half = 1i64 << (BUILT - 1);
        let fits = unit <= UNITS.1 && aabb.centre().is_finite();
        fits.then_some(Self {
            origin: aabb.centre(),
            unit,
            per_metre: 1.0 / unit,
            corner: [-half; 3],
            log: BUILT,
        })
    }

    /// The place nearest to `p`; none when it is not finite or farther than a cube may grow.
    pub(super) fn place(&self, p: DVec3) -> Option<Place> {
        // Adding and taking away a number with no room for fractions rounds to the nearest, without a call.
        let v = (p - self.origin) * self.per_metre + DVec3::splat(WHOLE) - DVec3::splat(WHOLE);
        // Also refuses NaN.
        let near = v.abs().cmple(DVec3::splat((1u64 << REACH) as f64)).all();
        // Outside the cube of the build `f32` may be coarser than a unit.
        near.then(|| [v.x as f32 as i64, v.y as f32 as i64, v.z as f32 as i64])
    }

    /// Where a place is, relative to the origin [m].
    pub(super) fn local(&self, place: Place) -> [f32; 3] {
        let unit = self.unit as f32;
        [place[0] as f32 * unit, place[1] as f32 * unit, place[2] as f32 * unit]
    }

    /// The place of a stored position.
    pub(super) fn place_of(&self, local: [f32; 3]) -> Place {
        let whole = |x: f32| (f64::from(x) * self.per_metre) as i64;
        [whole(local[0]), whole(local[1]), whole(local[2])]
    }

    /// Whether the cube holds a place.
    pub(super) fn holds(&self, place: Place) -> bool {
        (0..3).all(|a| (place[a] - self.corner[a]) >> self.log == 0)
    }

    /// The cube twice as large: towards `place` where that is outside, else towards the side that reaches less far.
    pub(super) fn grown(&self, place: Place) -> Self {
        let edge = 1i64 << self.log;
        let corner = [0, 1, 2].map(|a| {
            let (low, high) = (self.corner[a], self.corner[a] + edge);
            let down = place[a] < low || (place[a] < high && -low < high);
            if down { low - edge } else { low }
        });
        Self { corner, log: self.log + 1, ..*self }
    }
}

/// Which octant of a cube with edge `log` and lowest corner `corner` holds a place that is in it.
pub(super) fn octant(place: Place, corner: Place, log: u32) -> usize {
    let bit = |a: usize| (((place[a] - corner[a]) >> (log - 1)) & 1) as usize;
    bit(0) | bit(1) << 1 | bit(2) << 2
}

/// The lowest corner of an octant of a cube with edge `log`.
pub(super) fn octant_corner(corner: Place, log: u32, octant: usize) -> Place {
    let half = 1i64 << (log - 1);
    [0, 1, 2].map(|a| corner[a] + if octant >> a & 1 == 1 { half } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_positions_are_within_half_a_unit_and_exact_afterwards() {
        for extent in [1e-9, 1e-3, 0.99, 1.0, 1.01, 2.0, 1e4, 1e9] {
            for middle in [0.0, 1e7, -3.3] {
                let (min, max) = (DVec3::splat(middle - extent / 2.0), DVec3::splat(middle + extent / 2.0));
                let grid = Grid::around(Aabb { min, max }).unwrap();
                for p in [min, max, min.lerp(max, 0.3), min.lerp(max, 0.777)] {
                    let place = grid.place(p).unwrap();
                    assert!(grid.holds(place), "{extent} {middle} {place:?}");
                    let local = grid.local(place);
                    assert_eq!(grid.place_of(local), place);
                    let back = grid.origin + DVec3::new(local[0].into(), local[1].into(), local[2].into());
                    assert!((back - p).abs().max_element() <= 0.5 * grid.unit + 1e-15 * middle.abs());
                }
                // Where the extent is more than rounding of such coordinates, it is divided finely.
                let kept = (max - min).x;
                assert!(kept == 0.0 || grid.unit <= kept / (1 << 22) as f64 || grid.unit == UNITS.0);
            }
        }
    }

    #[test]
    fn three_doublings_hold_all_that_is_in_reach() {
        let far = 1i64 << REACH;
        let ends = [-far, 0, far];
        let around = Grid::around(Aabb { min: DVec3::ZERO, max: DVec3::ONE }).unwrap();
        // Any two places in turn, near and far.
        for code in 0..3usize.pow(6) {
            let at = |k: usize| ends[code / 3usize.pow(k as u32) % 3];
            let mut grid = around;
            for place in [[at(0) / 3, at(1) / 2, at(2)], [at(3), at(4), at(5)], [far; 3], [-far; 3]] {
                while !grid.holds(place) {
                    grid = grid.grown(place);
                }
                assert!(grid.log <= LARGEST, "{code}");
            }
        }
    }

    #[test]
    fn what_is_too_large_or_not_finite_is_refused() {
        let box_of = |a: f64| Aabb { min: DVec3::splat(-a), max: DVec3::splat(a) };
        assert!(Grid::around(box_of(1e20)).is_none());
        assert!(Grid::around(box_of(f64::MAX)).is_none());
        let grid = Grid::around(box_of(1.0)).unwrap();
        assert!(grid.place(DVec3::splat(f64::NAN)).is_none());
        assert!(grid.place(DVec3::X * f64::INFINITY).is_none());
        assert!(grid.place(DVec3::X * 3.9).is_some());
        assert!(grid.place(DVec3::X * 1e6).is_none());
    }
}
