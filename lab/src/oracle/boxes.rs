//! Boxes along the main directions of a mesh's triangles, one triangle a leaf, and how far two boxes are apart.
//!
//! Based on: Gottschalk, Lin and Manocha, OBBTree: a hierarchical structure for rapid interference detection, 1996
//! [gottschalk96].
//! Differs: main directions of the corners themselves, not of the hull; the bound of a distance is the gap to the other
//! box's shadow on a box's own axes.

use glam::{DMat3, DVec3};
use palpate::math::Pose;

/// Rounding of a bound, per sum of the sizes that enter it [1]. Turning a point twice and the sums below cost about 30
/// roundings of 1.1e-16.
const ROUNDING: f64 = 2e-14;

/// One box, in the frame of its mesh.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Unit directions of its edges.
    axes: DMat3,
    /// Middle [m].
    centre: DVec3,
    /// Half the edges, the first the longest [m].
    pub(super) half: DVec3,
    /// The triangle of a leaf, or the index of the second child; the first follows its parent.
    link: u32,
    leaf: bool,
}

/// What is below a box.
pub(super) enum Below {
    Triangle(u32),
    Children([usize; 2]),
}

/// Boxes in depth-first order, the root first. Never empty.
#[derive(Debug)]
pub(super) struct Boxes {
    nodes: Vec<Node>,
}

impl Boxes {
    /// Splits at the median along the longest edge of each box. `corners(t)` for `t` in `0..count`, `count` > 0.
    pub(super) fn build(count: usize, corners: impl Fn(usize) -> [DVec3; 3]) -> Self {
        let mut order: Vec<u32> = (0..count as u32).collect();
        let mut boxes = Self { nodes: Vec::with_capacity(2 * count) };
        boxes.add(&mut order, &|t| corners(t as usize));
        boxes
    }

    fn add(&mut self, order: &mut [u32], corners: &impl Fn(u32) -> [DVec3; 3]) {
        let me = self.nodes.len();
        self.nodes.push(Node::around(|| order.iter().flat_map(|&t| corners(t))));
        if let [triangle] = order {
            (self.nodes[me].link, self.nodes[me].leaf) = (*triangle, true);
            return;
        }
        let axis = self.nodes[me].axes.x_axis;
        let key = |t: u32| corners(t).into_iter().sum::<DVec3>().dot(axis);
        let middle = order.len() / 2;
        order.select_nth_unstable_by(middle, |&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
        let (left, right) = order.split_at_mut(middle);
        self.add(left, corners);
        self.nodes[me].link = self.nodes.len() as u32;
        self.add(right, corners);
    }

    pub(super) fn node(&self, n: usize) -> &Node {
        &self.nodes[n]
    }

    pub(super) fn below(&self, n: usize) -> Below {
        let Node { link, leaf, .. } = self.nodes[n];
        if leaf { Below::Triangle(link) } else { Below::Children([n + 1, link as usize]) }
    }
}

impl Node {
    /// The box of points along their main directions.
    fn around<P: Iterator<Item = DVec3>>(points: impl Fn() -> P) -> Self {
        let (count, sum) = points().fold((0.0, DVec3::ZERO), |(n, sum), p| (n + 1.0, sum + p));
        let mean = sum / count;
        let spread = points().fold(DMat3::ZERO, |m, p| {
            let d = p - mean;
            m + DMat3::from_cols(d * d.x, d * d.y, d * d.z)
        });
        let axes = main_directions(spread);
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for p in points() {
            let q = axes.transpose() * (p - mean);
            (low, high) = (low.min(q), high.max(q));
        }
        let (centre, half) = (mean + axes * (0.5 * (low + high)), 0.5 * (high - low));
        // The longest edge first.
        let (axes, half) = match half.max_position() {
            0 => (axes, half),
            1 => {
                (DMat3::from_cols(axes.y_axis, axes.z_axis, axes.x_axis), DVec3::new(half.y, half.z, half.x))
            }
            _ => {
                (DMat3::from_cols(axes.z_axis, axes.x_axis, axes.y_axis), DVec3::new(half.z, half.x, half.y))
            }
        };
        Self { axes, centre, half, link: 0, leaf: false }
    }
}

/// Orthonormal eigenvectors of a symmetric matrix, by Jacobi's rotations. Any orthonormal frame would do for a box, so
/// convergence matters for speed only.
fn main_directions(spread: DMat3) -> DMat3 {
    let (mut m, mut axes) = (spread, DMat3::IDENTITY);
    for _ in 0..6 {
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let off = m.col(i)[j];
            if off.abs() <= 1e-15 * (m.col(i)[i].abs() + m.col(j)[j].abs()) {
                continue;
            }
            let half = 0.5 * (m.col(j)[j] - m.col(i)[i]) / off;
            let t = half.signum() / (half.abs() + half.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            let mut turn = DMat3::IDENTITY;
            turn.col_mut(i)[i] = c;
            turn.col_mut(j)[j] = c;
            turn.col_mut(j)[i] = s;
            turn.col_mut(i)[j] = -s;
            m = turn.transpose() * m * turn;
            axes *= turn;
        }
    }
    if axes.is_finite() { axes } else { DMat3::IDENTITY }
}

/// The relative pose as a matrix.
pub(super) struct Motion {
    rotation: DMat3,
    translation: DVec3,
}

impl Motion {
    pub(super) fn new(a_from_b: &Pose) -> Self {
        Self { rotation: DMat3::from_quat(a_from_b.rotation), translation: a_from_b.translation }
    }

    /// A point of B in A's frame; the same bits for the same point.
    pub(super) fn point(&self, p: DVec3) -> DVec3 {
        self.rotation * p + self.translation
    }

    /// A lower bound of the distance of what is in the boxes, squared [m²]: the gap of the one to the other's shadow on
    /// its own axes, the better of both. Never too large; 0 where the boxes may touch.
    pub(super) fn gap_sq(&self, a: &Node, b: &Node) -> f64 {
        let b_axes = self.rotation * b.axes;
        let between = self.point(b.centre) - a.centre;
        let sizes = between.abs() + a.half + b.half + a.centre.abs() + b.centre.abs();
        let slack = DVec3::splat(ROUNDING * sizes.element_sum());
        let turn = a.axes.transpose() * b_axes;
        let turn = DMat3::from_cols(turn.x_axis.abs(), turn.y_axis.abs(), turn.z_axis.abs());
        let gap =
            |along: DVec3, reach: DVec3| (along.abs() - reach - slack).max(DVec3::ZERO).length_squared();
        let in_a = gap(a.axes.transpose() * between, a.half + turn * b.half);
        let in_b = gap(b_axes.transpose() * between, b.half + turn.transpose() * a.half);
        // The squares and their sum round too.
        in_a.max(in_b) * (1.0 - ROUNDING)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Random;
    use super::*;
    use glam::DQuat;

    #[test]
    fn boxes_hold_their_triangles_and_gaps_are_no_larger_than_distances() {
        let mut random = Random::new(1);
        let mut gaps = 0;
        for i in 0..300 {
            // Flat, thin and single ones too.
            let squeeze = [DVec3::ONE, DVec3::new(1.0, 1.0, 0.0), DVec3::X, DVec3::ZERO][i % 4];
            let middle = random.point_in(-DVec3::ONE, DVec3::ONE);
            let turned = DQuat::from_axis_angle(DVec3::ONE.normalize(), random.unit());
            let mut cloud = || -> Vec<DVec3> {
                (0..9).map(|_| middle + 0.3 * (turned * (squeeze * random.in_ball()))).collect()
            };
            let (a, b) = (cloud(), cloud());
            let (node_a, node_b) = (Node::around(|| a.iter().copied()), Node::around(|| b.iter().copied()));
            assert!(node_a.half.x >= node_a.half.max_element());
            for p in &a {
                let q = node_a.axes.transpose() * (*p - node_a.centre);
                assert!((q.abs() - node_a.half).max_element() < 1e-15, "{p}");
            }
            let axis = random.in_ball().normalize();
            let pose = Pose::new(DQuat::from_axis_angle(axis, 3.0 * random.unit()), random.in_ball());
            let motion = Motion::new(&pose);
            let gap = motion.gap_sq(&node_a, &node_b).sqrt();
            let pairs = a.iter().flat_map(|p| b.iter().map(|q| p.distance(motion.point(*q))));
            let nearest = pairs.fold(f64::INFINITY, f64::min);
            assert!(gap <= nearest, "{gap} {nearest}");
            gaps += usize::from(gap > 0.5 * nearest);
        }
        assert!(gaps > 100, "{gaps} of 300 bounds are more than half of the distance");
    }
}
