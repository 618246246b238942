//! Where a moved shape is: boxes and balls for a broad phase.

use super::Shape;
use crate::math::{Aabb, Pose};
use glam::{DMat3, DVec3};

/// Rounding of a place after a motion, relative to the largest number in it [1].
const ROUNDING: f64 = 16.0 * f64::EPSILON;

impl Shape {
    /// A ball that holds the surface, caps included: its centre in the shape's frame, and radius [m]. The smallest ball around the
    /// points with their coverage radius, or the one around the box where that is smaller. No cost to speak of.
    pub fn ball(&self) -> (DVec3, f64) {
        let room = self.aabb();
        let around = (room.centre(), 0.5 * room.extent().length() * (1.0 + ROUNDING));
        if self.tree.is_empty() {
            return around;
        }
        let (centre, radius) = self.tree.ball(0, 0);
        let radius = radius + self.tree.shell_report().radius;
        // NaN is not less.
        if radius < around.1 { (centre, radius) } else { around }
    }

    /// A box, along the axes of the target frame, that holds the surface, caps included, after `w_from_a` [m]: where the turned box of the
    /// shape and the box of its [`Shape::ball`] overlap. Some 20 ns. A pose that is not finite gives [`Aabb::EMPTY`], which
    /// overlaps nothing, as queries find nothing then.
    pub fn aabb_at(&self, w_from_a: &Pose) -> Aabb {
        if !w_from_a.is_finite() {
            return Aabb::EMPTY;
        }
        let turn = DMat3::from_quat(w_from_a.rotation);
        let t = w_from_a.translation;
        let room = self.aabb();
        let half = 0.5 * room.extent();
        let reach = turn.x_axis.abs() * half.x + turn.y_axis.abs() * half.y + turn.z_axis.abs() * half.z;
        let middle = turn * room.centre() + t;
        // The ball of the points, read from one place; the one around the box is looser than the turned box.
        let (centre, radius) = match self.tree.levels.first().and_then(|l| l.balls.first()) {
            Some([[x, y, z, r], _]) => {
                let local = DVec3::new(f64::from(*x), f64::from(*y), f64::from(*z));
                (self.tree.origin + local, f64::from(*r) + self.tree.shell_report().radius)
            }
            None => (DVec3::ZERO, f64::INFINITY),
        };
        let radius = if radius.is_nan() { f64::INFINITY } else { radius };
        let centre_w = turn * centre + t;
        let size = t.abs().max_element() + room.min.abs().max(room.max.abs()).max_element();
        let slack = DVec3::splat(ROUNDING * size);
        Aabb {
            min: (middle - reach).max(centre_w - radius) - slack,
            max: (middle + reach).min(centre_w + radius) + slack,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::source::random::Random;
    use crate::mesh::{Mesh, RepairParams, samples};

    /// Tighter than the turned box alone, and than the ball alone, each for a share of the poses.
    #[test]
    fn moved_boxes_hold_the_mesh_and_are_no_looser_than_box_and_ball() {
        let raws = [
            samples::torus(0.05, 0.02, 48, 24),
            samples::moved(samples::cuboid(DVec3::new(0.1, 0.04, 0.02)), DVec3::new(3.0, -2.0, 1.0)),
            samples::cube_missing_face(0.1),
            samples::bumpy_sphere(0.05, 0.01, 5, 3, 1),
        ];
        let mut random = Random(0xb0c5);
        let (mut by_ball, mut by_box, mut all) = (0, 0, 0);
        for raw in raws {
            let mesh = Mesh::new(raw, &RepairParams::default()).unwrap();
            let shape = Shape::build(mesh, 2e-3, &Default::default()).unwrap();
            let (centre, radius) = shape.ball();
            for _ in 0..500 {
                let w_from_a = Pose::new(random.rotation(), random.point(10.0));
                let room = shape.aabb_at(&w_from_a);
                for p in shape.mesh().positions() {
                    assert!(room.contains(w_from_a.point(*p)) && centre.distance(*p) <= radius);
                }
                // Slack of 16 roundings of about 20 m.
                let own = shape.aabb();
                let corner = |i: usize| {
                    let pick = |a: usize| if i >> a & 1 == 0 { own.min[a] } else { own.max[a] };
                    w_from_a.point(DVec3::new(pick(0), pick(1), pick(2)))
                };
                let turned = Aabb::of_points((0..8).map(corner)).padded(1e-13);
                let ball = Aabb::of_points([w_from_a.point(centre)]).padded(radius + 1e-13);
                let within = |a: Aabb, b: Aabb| b.contains(a.min) && b.contains(a.max);
                assert!(within(room, turned) && within(room, ball), "{room:?} {turned:?} {ball:?}");
                all += 1;
                by_ball += usize::from(!within(turned, ball));
                by_box += usize::from(!within(ball, turned));
            }
        }
        assert!(3 * by_ball > all && 3 * by_box > all, "{by_ball} and {by_box} of {all}");
    }

    #[test]
    fn poses_that_are_not_finite_overlap_nothing() {
        let mesh = Mesh::new(samples::cuboid(DVec3::ONE), &RepairParams::default()).unwrap();
        let shape = Shape::build(mesh, 0.1, &Default::default()).unwrap();
        let bad = Pose::from_translation(DVec3::NAN);
        assert!(!shape.aabb_at(&bad).overlaps(shape.aabb()));
    }
}
