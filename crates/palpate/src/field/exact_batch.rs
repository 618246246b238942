//! Closest points of many points: asked along a space-filling curve, so that each search begins where the last one ended.

use super::compact::Compact;
use super::curve::order_along;
use super::exact::{Closest, Exact};
use crate::par;
use glam::DVec3;
use std::sync::Arc;

/// Points that are put in order at a time: bounds the memory beside the answers. Smaller: neighbours in the order are farther apart.
const ROUND: usize = 1 << 20;
/// Points in a row that one search after the other goes through. Larger: fewer pieces to share between threads. Smaller: more searches
/// begin without a guess.
const PIECE: usize = 256;
/// How far around the surface points are told apart by the curve, in its radii. Larger: coarser near the surface.
const AROUND: f64 = 3.0;
/// A better tree is made for at least this share of as many points as there are triangles. Larger: made where it does not pay.
const WORTH: usize = 2;

impl Exact {
    /// The closest point for each of many: what [`Exact::closest`] gives for one, to the last bit, for any number of threads.
    ///
    /// Points in no order cost about a third of what single questions do: for a million around 70,000 triangles about 0.8 µs each on
    /// one thread. Memory beside the answers is that of a million more, at most, and a second tree where there are many points.
    pub fn closest_batch(&self, points: &[DVec3]) -> Vec<Closest> {
        let mut out = vec![Closest::NONE; points.len()];
        self.each(points, &mut out, |_, found| found);
        out
    }

    /// Fills `out` with what `of` makes of each point and what is closest to it.
    pub(crate) fn each<T: Copy + Send + Sync>(
        &self,
        points: &[DVec3],
        out: &mut [T],
        of: impl Fn(DVec3, Closest) -> T + Sync + Send,
    ) {
        let compact = if points.len() >= self.triangles.len() / WORTH {
            Some(self.compact.get_or_init(|| Arc::new(Compact::build(self))))
        } else {
            self.compact.get()
        };
        let tree = compact.map_or_else(|| self.tree(), |c| c.tree());
        for (points, out) in points.chunks(ROUND).zip(out.chunks_mut(ROUND)) {
            let order = self.order(points);
            let pieces = par::map(points.len().div_ceil(PIECE), |i| {
                let piece = &order[i * PIECE..((i + 1) * PIECE).min(order.len())];
                let mut guess = None;
                let ask = |k: &u32| {
                    let p = points[*k as usize];
                    let found = self.search(&tree, p, guess, f64::INFINITY).unwrap_or(Closest::NONE);
                    if !found.distance.is_nan() {
                        guess = Some(found.triangle);
                    }
                    of(p, found)
                };
                piece.iter().map(ask).collect::<Vec<T>>()
            });
            for (piece, answers) in order.chunks(PIECE).zip(pieces) {
                for (k, answer) in piece.iter().zip(answers) {
                    out[*k as usize] = answer;
                }
            }
        }
    }

    /// Numbers of points such that consecutive ones are near each other.
    fn order(&self, points: &[DVec3]) -> Vec<u32> {
        let middle = self.origin + self.middle * self.voxel;
        let reach = DVec3::splat(AROUND * self.radius * self.voxel);
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for p in points.iter().filter(|p| p.is_finite()) {
            (low, high) = (low.min(*p), high.max(*p));
        }
        let (low, high) = (low.max(middle - reach), high.min(middle + reach));
        order_along(points.len(), low, (high - low).max_element(), 1.0, |i| points[i])
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::random::Random;
    use super::*;
    use crate::field::FieldParams;
    use crate::mesh::{Mesh, RepairParams, samples};

    /// Contract: many = one by one, bit for bit, triangles included, for 1 to 3 threads; points near, far, on vertices (where triangles
    /// tie), equal, and no points at all.
    #[test]
    fn many_are_as_one_by_one() {
        let mut random = Random(11);
        for name in ["gear", "torus-knot", "bumpy-sphere"] {
            let Some(raw) = samples::by_name(name) else { panic!("no sample {name}") };
            let mesh = Mesh::new(raw, &RepairParams::default()).expect("a sample");
            let size = mesh.aabb().extent().max_element();
            let exact = Exact::build(&mesh, size / 40.0, &FieldParams::default()).expect("a surface");
            let mut points = vec![DVec3::ZERO, DVec3::ZERO, DVec3::NAN, DVec3::splat(1e300), DVec3::X * 1e9];
            for _ in 0..exact.triangle_count() / WORTH {
                points.push(random.direction() * size * 10f64.powf(random.range(-2.0, 1.0)));
            }
            points.extend(mesh.positions().iter().step_by(3).take(2000));
            let shared = |t: usize, v: &DVec3| mesh.corners(t).contains(v);
            let ties = (0..mesh.triangles().len()).filter(|t| shared(*t, &mesh.positions()[0])).count();
            assert!(ties > 2, "{name}: vertices belong to several triangles");
            let single: Vec<Closest> = points.iter().map(|p| exact.closest(*p, None)).collect();
            let few = exact.closest_batch(&points[..200]);
            assert!(exact.compact.get().is_none(), "{name}: 200 points do not pay for a second tree");
            assert!(few.iter().zip(&single).all(|(x, y)| x.distance.to_bits() == y.distance.to_bits()));
            for threads in 1..=3 {
                let many = par::with_threads(threads, || exact.closest_batch(&points));
                for ((p, one), found) in points.iter().zip(&single).zip(&many) {
                    assert_eq!(one.distance.to_bits(), found.distance.to_bits(), "{name}: {p}");
                    assert_eq!(one.triangle, found.triangle, "{name}: {p}");
                }
            }
            assert!(exact.compact.get().is_some(), "{name}: a second tree");
        }
    }

    #[test]
    fn no_points_have_no_answers() {
        let Some(raw) = samples::by_name("gear") else { panic!("no gear") };
        let mesh = Mesh::new(raw, &RepairParams::default()).expect("a sample");
        let exact = Exact::build(&mesh, 1e-3, &FieldParams::default()).expect("a surface");
        assert!(exact.closest_batch(&[]).is_empty());
    }
}
