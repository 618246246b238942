//! Points to ask about, the same on every machine for the same seed.

use super::Oracle;
use glam::DVec3;

/// A small random generator (splitmix64): not for secrets, the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Starts the sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..n; 0 for n = 0. Biased by less than n / 2^53.
    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// Uniform in the box from `low` to `high` [m].
    pub fn point_in(&mut self, low: DVec3, high: DVec3) -> DVec3 {
        low + (high - low) * DVec3::new(self.unit(), self.unit(), self.unit())
    }

    /// Uniform in the unit ball.
    pub fn in_ball(&mut self) -> DVec3 {
        loop {
            let v = self.point_in(-DVec3::ONE, DVec3::ONE);
            if v.length_squared() <= 1.0 {
                return v;
            }
        }
    }
}

/// `count` points uniform in the box from `low` to `high` [m].
pub fn points_in_box(low: DVec3, high: DVec3, count: usize, seed: u64) -> Vec<DVec3> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.point_in(low, high)).collect()
}

impl Oracle {
    /// `count` points within `spread` of the mesh [m]: uniform on its area, then moved by a vector uniform in the
    /// ball of that radius. A mesh without area gives points around its triangles' corners.
    pub fn points_near_surface(&self, count: usize, spread: f64, seed: u64) -> Vec<DVec3> {
        let mut random = Random::new(seed);
        let mut total = 0.0;
        let area_up_to: Vec<f64> = (0..self.triangle_count())
            .map(|t| {
                let [a, b, c] = self.corners(t);
                total += 0.5 * (b - a).cross(c - a).length();
                total
            })
            .collect();
        (0..count)
            .map(|_| {
                let at = random.unit() * total;
                let t = area_up_to.partition_point(|&sum| sum <= at).min(self.triangle_count() - 1);
                let [a, b, c] = self.corners(t);
                let (mut u, mut v) = (random.unit(), random.unit());
                if u + v > 1.0 {
                    (u, v) = (1.0 - u, 1.0 - v);
                }
                a + u * (b - a) + v * (c - a) + spread * random.in_ball()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::mesh_of;
    use super::*;
    use palpate::field::analytic::Analytic;

    #[test]
    fn same_seed_same_points_and_they_are_where_they_should_be() {
        let (low, high) = (DVec3::new(-1.0, 2.0, 0.0), DVec3::new(1.0, 5.0, 0.5));
        let points = points_in_box(low, high, 10_000, 11);
        assert_eq!(points, points_in_box(low, high, 10_000, 11));
        assert_ne!(points, points_in_box(low, high, 10_000, 12));
        assert!(points.iter().all(|p| p.cmpge(low).all() && p.cmplt(high).all()));
        // The standard error of the mean is 0.003 of an edge.
        let mean = points.iter().sum::<DVec3>() / 10_000.0;
        assert!(((mean - 0.5 * (low + high)) / (high - low)).abs().max_element() < 0.015, "{mean}");
    }

    #[test]
    fn points_near_the_surface_are_spread_by_area_and_within_the_spread() {
        let oracle = mesh_of(&Analytic::sphere(DVec3::ZERO, 0.8).unwrap(), 24);
        let points = oracle.points_near_surface(4000, 0.05, 13);
        assert!(points.iter().all(|&p| oracle.closest(p).distance <= 0.05));
        let inside = points.iter().filter(|p| oracle.winding(**p) > 0.5).count();
        assert!((1700..2300).contains(&inside), "{inside} of 4000 inside");
        // Archimedes: the height on a sphere is uniform.
        let low = points.iter().filter(|p| p.z < -0.4).count();
        assert!((850..1150).contains(&low), "{low} of 4000 in the lowest quarter");
    }
}
