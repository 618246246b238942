//! Penetration as a referee sees it: the deepest point of any body in any other, whatever its engine was told.

use crate::{Scene, Simulation};
use palpate::Pose;
use palpate::manifold::Collider;
use palpate::query::{Query, QueryParams, Roles};

/// Measures penetration between all bodies of a scene.
#[derive(Debug)]
pub struct Referee {
    query: Query,
    bodies: Vec<(Collider, bool)>,
}

impl Referee {
    /// For this scene.
    pub fn new(scene: &Scene) -> Self {
        let bodies = scene.bodies.iter().map(|b| (b.collider.clone(), b.mass().is_some())).collect();
        Self { query: Query::new(), bodies }
    }

    /// Depth of the deepest point of either body in the other, for the worst pair [m], and the pair; 0 where nothing overlaps. Two
    /// bodies that do not move are not a pair. Accuracy: that of the fields and the spacing of the points. Microseconds for each near pair.
    pub fn deepest(&mut self, simulation: &dyn Simulation) -> (f64, [usize; 2]) {
        let poses: Vec<Pose> = (0..self.bodies.len()).map(|i| simulation.state(i).pose).collect();
        let mut worst = (0.0, [0, 0]);
        for j in 0..self.bodies.len() {
            for i in 0..j {
                if !(self.bodies[i].1 || self.bodies[j].1) {
                    continue;
                }
                let a_from_b = poses[i].inverse() * poses[j];
                let depth = self.pair(i, j, &a_from_b);
                if depth > worst.0 {
                    worst = (depth, [i, j]);
                }
            }
        }
        worst
    }

    fn pair(&mut self, i: usize, j: usize, a_from_b: &Pose) -> f64 {
        let depth = |d: Option<f32>| d.map_or(0.0, |d| f64::from(-d).max(0.0));
        match (&self.bodies[i].0, &self.bodies[j].0) {
            (Collider::Shape(a), Collider::Shape(b)) => {
                let far = a_from_b.point(b.aabb().centre()).distance(a.aabb().centre());
                if far > 0.5 * (a.aabb().extent().length() + b.aabb().extent().length()) {
                    return 0.0;
                }
                [Roles::PointsOfA, Roles::PointsOfB]
                    .into_iter()
                    .map(|roles| {
                        let found = self.query.contacts(a, b, a_from_b, &QueryParams { margin: 0.0, roles });
                        depth(found.deepest().map(|c| c.distance))
                    })
                    .fold(0.0, f64::max)
            }
            (Collider::Solid(a), Collider::Shape(b)) => {
                depth(self.query.solid(a, b, a_from_b, 0.0).deepest().map(|c| c.distance))
            }
            (Collider::Shape(a), Collider::Solid(b)) => {
                depth(self.query.solid(b, a, &a_from_b.inverse(), 0.0).deepest().map(|c| c.distance))
            }
            (Collider::Solid(_), Collider::Solid(_)) => 0.0,
        }
    }
}
