//! Which instances can be near each other.

use crate::job::{Instance, Job, Part};
use palpate::math::Aabb;
use palpate::par;
use palpate::query::Motion;

/// Places of a motion whose boxes are joined. More: tighter boxes around turns.
const PLACES: u32 = 16;

/// A box that holds an instance at every time of its motion [m].
fn swept(instance: &Instance, part: &Part) -> Aabb {
    let room = |pose: &palpate::Pose| Aabb::of_points(part.mesh.positions().iter().map(|p| pose.point(*p)));
    let Some(to) = &instance.to else { return room(&instance.pose) };
    let motion = Motion::between(&instance.pose, to);
    let all = (0..=PLACES)
        .fold(Aabb::EMPTY, |all, k| all.union(room(&motion.at(f64::from(k) / f64::from(PLACES)))));
    // Between two places a point leaves its chord by at most the rise of its arc.
    let far = part.mesh.positions().iter().map(|p| p.length()).fold(0.0, f64::max);
    let step = motion.angular.length() / f64::from(PLACES);
    all.padded(far * step * step / 8.0)
}

/// Pairs of instances whose boxes come as near as `clearance` [m], the smaller number first, sorted. Two instances of one place
/// and one part are a pair as well.
pub fn candidates(job: &Job, clearance: f64) -> Vec<[u32; 2]> {
    let boxes = par::map(job.instances.len(), |i| {
        swept(&job.instances[i], job.part_of(i)).padded(0.5 * clearance * (1.0 + 1e-9))
    });
    // Along the longest axis of the whole, so that few are beside each other.
    let extent = boxes.iter().fold(Aabb::EMPTY, |all, b| all.union(*b)).extent();
    let axis = (1..3).fold(0, |best, k| if extent[k] > extent[best] { k } else { best });
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by(|x, y| boxes[*x].min[axis].total_cmp(&boxes[*y].min[axis]).then(x.cmp(y)));
    let near = par::map(order.len(), |k| {
        let i = order[k];
        let reached = order[k + 1..].iter().take_while(|j| boxes[**j].min[axis] <= boxes[i].max[axis]);
        let pairs = reached.filter(|j| boxes[i].overlaps(boxes[**j]));
        pairs.map(|&j| [i.min(j) as u32, i.max(j) as u32]).collect::<Vec<_>>()
    });
    let mut pairs: Vec<[u32; 2]> = near.into_iter().flatten().collect();
    pairs.sort_unstable();
    pairs
}
