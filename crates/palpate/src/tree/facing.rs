//! Balls that bound the distance of a patch from whatever it faces.
//!
//! Everything in a ball is at least its centre's distance less its radius away. The smallest ball around a flat patch gives away
//! all of its radius. One with the centre moved back, against the patch's normal, is larger, but seen from the front its centre is farther
//! away by nearly as much: for a disc of radius ρ moved by k only √(k² + ρ²) − k is given away.

use glam::{DVec3, Vec3};

/// How far the centre may be moved, as shares of the smallest radius.
const MOVES: [f64; 7] = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0];
/// Cosine of the angle between a patch's normal and the way to what it faces that balls are chosen for. Larger: flat patches that are
/// seen from the side give away more. Smaller: those seen from the front.
const TILT: f64 = 0.88;

/// Centre and radius of the ball for `points`, whose outward normals have the sum `normal`, from those of the smallest one. It holds
/// all of them; without a normal it is the smallest one.
pub(crate) fn facing_ball(
    points: impl Iterator<Item = Vec3> + Clone,
    normal: DVec3,
    centre: Vec3,
    radius: f32,
) -> (Vec3, f32) {
    let back = -normal.normalize_or_zero();
    let mut best = (centre, radius);
    if back == DVec3::ZERO {
        return best;
    }
    let mut least = f64::from(radius);
    for share in MOVES {
        let by = share * f64::from(radius);
        let c = (centre.as_dvec3() + back * by).as_vec3();
        let reach = points.clone().map(|p| (p.as_dvec3() - c.as_dvec3()).length()).fold(0.0, f64::max);
        if reach - TILT * by < least {
            least = reach - TILT * by;
            best = (c, ((reach * (1.0 + 1e-7)) as f32).next_up());
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;
    use crate::mesh::{Mesh, samples};
    use crate::shell::Shell;
    use crate::tree::Tree;

    #[test]
    fn a_flat_patch_gives_away_little_from_the_front() {
        let disc: Vec<Vec3> = (0..64).map(|i| Vec3::new((i as f32).cos(), (i as f32).sin(), 0.0)).collect();
        let (c, r) = facing_ball(disc.iter().copied(), DVec3::Z, Vec3::ZERO, 1.0);
        assert!(c.z < -1.0 && c.truncate().length() < 1e-6);
        assert!(disc.iter().all(|p| (*p - c).length() <= r));
        // Seen from far above.
        assert!(r + c.z < 0.35, "{c} {r}");
        assert_eq!(facing_ball(disc.iter().copied(), DVec3::ZERO, Vec3::ZERO, 1.0), (Vec3::ZERO, 1.0));
    }

    /// Both balls of every node hold its points, and half of the nodes of the last level have one behind them.
    #[test]
    fn balls_hold_their_points() {
        let mesh = Mesh::new(samples::by_name("gear").expect("a sample"), &Default::default()).unwrap();
        let voxel = mesh.aabb().extent().max_element() / 80.0;
        let field = Field::build(&mesh, voxel, &Default::default()).unwrap();
        let shell = Shell::build(&mesh, &field, 2.0 * voxel, &Default::default()).unwrap();
        let tree = Tree::build(&shell, &Default::default());
        let mut moved = 0;
        for (depth, level) in tree.levels.iter().enumerate() {
            assert!(level.balls.len() >= level.len() + crate::simd::LANES);
            moved = 0;
            for node in 0..level.len() {
                for [x, y, z, r] in level.balls[node] {
                    for i in tree.points_of(depth, node) {
                        let d = (tree.local(i).as_dvec3() - Vec3::new(x, y, z).as_dvec3()).length();
                        assert!(d <= f64::from(r), "level {depth}, node {node}: {d} of {r}");
                    }
                }
                moved += usize::from(level.balls[node][0] != level.balls[node][1]);
            }
        }
        let leaves = tree.levels.last().map_or(0, |l| l.len());
        assert!(2 * moved > leaves, "{moved} of {leaves}");
    }

    #[test]
    fn nearly_nearest_points_are_nearly_nearest() {
        let mesh = Mesh::new(samples::by_name("torus").expect("a sample"), &Default::default()).unwrap();
        let voxel = mesh.aabb().extent().max_element() / 80.0;
        let field = Field::build(&mesh, voxel, &Default::default()).unwrap();
        let shell = Shell::build(&mesh, &field, 2.0 * voxel, &Default::default()).unwrap();
        let tree = Tree::build(&shell, &Default::default());
        let mut random = crate::field::source::random::Random(3);
        let mut farther = 0;
        for _ in 0..500 {
            let p = random.point(0.2);
            let distance = |i: usize| (tree.position(i) - p).length();
            let truth = (0..tree.len()).map(distance).fold(f64::INFINITY, f64::min);
            let nearest = tree.nearest(p).map_or(f64::NAN, distance);
            let nearly = tree.nearly_nearest(p, 2.0 * voxel).map_or(f64::NAN, distance);
            assert!((nearest - truth).abs() < 1e-6, "{nearest} {truth}");
            assert!(nearly < truth + 2.0 * voxel + 1e-6, "{nearly} {truth}");
            farther += usize::from(nearly > truth + 1e-6);
        }
        assert!((50..500).contains(&farther), "{farther} are not the nearest");
    }
}
