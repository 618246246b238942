//! Fewer contacts that do the same: for engines that take a handful, and for solvers whose cost grows with their number.
//!
//! [`Reducer::reduce`] keeps net force, net torque and area; [`four`] gives the four points that Bullet keeps: the deepest,
//! then those that span the largest area.

use crate::contact::{Contact, Contacts};
use glam::{DMat3, DVec3, Vec3};

/// How much contacts with opposite normals are apart, besides the distance of their points, in extents of the contact
/// set [1]. Larger: clusters follow the normals and grow long. Smaller: two sides of a thin part fall into one cluster, and
/// their forces cancel in it.
const OPPOSITE: f32 = 1.0;

/// Reduces contact sets; holds the memory for that, kept by the caller.
#[derive(Clone, Debug, Default)]
pub struct Reducer {
    /// Contacts with depth, as points in the space where clusters are made: position over extent, normal.
    places: Vec<Place>,
    clusters: Vec<Cluster>,
}

/// What a reduction did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reduction {
    /// How far the net force is from the original one, over the sum of the lengths of the contacts' forces [1].
    pub force_error: f64,
    /// How far the net torque is from the original one, over that sum times the extent of the contacts [1].
    pub torque_error: f64,
    /// Some contacts were not finite, and were left out.
    pub non_finite: bool,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    at: Vec3,
    normal: Vec3,
    /// Square of the distance to the nearest seed, and its cluster.
    far: f32,
    cluster: u32,
    contact: u32,
}

#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// Index of the contact it grew from.
    seed: u32,
    id: u32,
    /// Sum of area × depth [m³], and with it as weight, of points and of normals.
    weight: f64,
    point: DVec3,
    force: DVec3,
    area: f64,
    shell_normal: DVec3,
}

fn vector(v: [f32; 3]) -> DVec3 {
    Vec3::from_array(v).as_dvec3()
}

/// Force of a contact for unit stiffness, by area and depth along the field's normal [m³].
fn force_of(c: &Contact) -> DVec3 {
    vector(c.normal) * (f64::from(c.area) * f64::from(c.depth()))
}

fn is_finite(c: &Contact) -> bool {
    let all = |v: [f32; 3]| Vec3::from_array(v).is_finite();
    all(c.point) & all(c.normal) & all(c.shell_normal) & c.distance.is_finite() & c.area.is_finite()
}

impl Reducer {
    /// Without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes at most `n` contacts to `out` that together push as all of `contacts` do.
    ///
    /// Kept are net force and torque of both laws of the penalty force with the field's direction (area × depth along
    /// `normal`), and the sum of the areas, to f32 rounding (1e-6). For that the contacts are put into clusters by place and
    /// normal: each gives one contact at its centre of force, with its area, the depth that makes its force, and the
    /// direction of that force; the id is the one of the contact it grew from, the deepest of all first, then always the one farthest from
    /// the others. What torque is missing then is spread over the clusters with the least change of their forces. Fewer
    /// than three clusters, or points on one line, may not be able to carry it: [`Reduction`] says how much is missing.
    ///
    /// Up to `n` contacts come out as they are. From more, those of a margin (distance ≥ 0) and those that are not finite
    /// are left out. In the order of ids, like the input, and in the same frame. Cost: about 5 ns for each contact and each of `n`. No
    /// allocation once `self` and `out` have seen as many.
    pub fn reduce(&mut self, contacts: &Contacts, n: usize, out: &mut Contacts) -> Reduction {
        (out.origin, out.swapped) = (contacts.origin, contacts.swapped);
        out.list.clear();
        if contacts.list.len() <= n {
            out.list.extend_from_slice(&contacts.list);
            return Reduction::default();
        }
        let deep = || contacts.list.iter().filter(|c| c.distance < 0.0 && is_finite(c));
        let non_finite = contacts.list.iter().any(|c| !is_finite(c));
        // Net wrench about the middle of the contacts, and their extent.
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for c in deep() {
            (low, high) = (low.min(vector(c.point)), high.max(vector(c.point)));
        }
        let (middle, extent) = (0.5 * (low + high), (high - low).length());
        let mut net = Sum::default();
        for c in deep() {
            net.add(c, middle);
        }
        self.cluster(contacts, n, middle, extent);
        self.gather(contacts);
        self.correct(&net, middle);
        self.write(contacts, out);

        let mut kept = Sum::default();
        for c in &out.list {
            kept.add(c, middle);
        }
        let share = |error: DVec3, of: f64| if of > 0.0 { error.length() / of } else { 0.0 };
        Reduction {
            force_error: share(net.force - kept.force, net.weight),
            torque_error: share(net.torque - kept.torque, net.weight * extent),
            non_finite,
        }
    }

    /// Seeds as far from each other as can be, and to each the contacts that are nearest to it.
    fn cluster(&mut self, contacts: &Contacts, n: usize, middle: DVec3, extent: f64) {
        self.places.clear();
        self.clusters.clear();
        let scale = if extent > 0.0 { 1.0 / extent } else { 0.0 };
        let mut deepest = (0.0, 0);
        for (i, c) in contacts.list.iter().enumerate() {
            if c.distance < 0.0 && is_finite(c) {
                if c.distance < deepest.0 {
                    deepest = (c.distance, self.places.len());
                }
                self.places.push(Place {
                    at: ((vector(c.point) - middle) * scale).as_vec3(),
                    normal: c.normal() * (0.5 * OPPOSITE),
                    far: f32::INFINITY,
                    cluster: 0,
                    contact: i as u32,
                });
            }
        }
        let mut next = deepest.1;
        while self.clusters.len() < n && next < self.places.len() {
            let (seed, cluster) = (self.places[next], self.clusters.len() as u32);
            self.clusters.push(Cluster {
                seed: seed.contact,
                id: contacts.list[seed.contact as usize].id,
                weight: 0.0,
                point: DVec3::ZERO,
                force: DVec3::ZERO,
                area: 0.0,
                shell_normal: DVec3::ZERO,
            });
            // The farthest that is left; none where all are at seeds.
            let mut most = 0.0;
            next = usize::MAX;
            for (i, p) in self.places.iter_mut().enumerate() {
                let d = p.at.distance_squared(seed.at) + p.normal.distance_squared(seed.normal);
                if d < p.far {
                    (p.far, p.cluster) = (d, cluster);
                }
                if p.far > most {
                    (most, next) = (p.far, i);
                }
            }
        }
    }

    /// What each cluster's contacts sum up to.
    fn gather(&mut self, contacts: &Contacts) {
        for p in &self.places {
            let Some(sum) = self.clusters.get_mut(p.cluster as usize) else { continue };
            let c = &contacts.list[p.contact as usize];
            let weight = f64::from(c.area) * f64::from(c.depth());
            sum.weight += weight;
            sum.point += vector(c.point) * weight;
            sum.force += force_of(c);
            sum.area += f64::from(c.area);
            sum.shell_normal += vector(c.shell_normal) * f64::from(c.area);
        }
        for cluster in &mut self.clusters {
            let seed = &contacts.list[cluster.seed as usize];
            cluster.point =
                if cluster.weight > 0.0 { cluster.point / cluster.weight } else { vector(seed.point) };
            // As it will be stored: the correction then knows where the force acts.
            cluster.point = cluster.point.as_vec3().as_dvec3();
        }
    }

    /// Changes the clusters' forces so that their sums are the net ones. Of all such changes d, the one with the least
    /// Σ |d|²/weight: d = weight (a + b × x), x from the weighted centre. b is the missing torque over the inertia.
    fn correct(&mut self, net: &Sum, middle: DVec3) {
        let weight: f64 = self.clusters.iter().map(|c| c.weight).sum();
        if weight <= 0.0 {
            return;
        }
        let centre = self.clusters.iter().map(|c| c.point * c.weight).sum::<DVec3>() / weight;
        let (mut force, mut torque) = (net.force, net.torque - (centre - middle).cross(net.force));
        let mut inertia = DMat3::ZERO;
        for c in &self.clusters {
            let x = c.point - centre;
            force -= c.force;
            torque -= x.cross(c.force);
            let columns = DVec3::AXES.map(|axis| x.cross(axis.cross(x)) * c.weight);
            inertia += DMat3::from_cols(columns[0], columns[1], columns[2]);
        }
        let (shift, turn) = (force / weight, solve(inertia, torque));
        for c in &mut self.clusters {
            c.force += (shift + turn.cross(c.point - centre)) * c.weight;
        }
    }

    /// The clusters as contacts, by id.
    fn write(&mut self, contacts: &Contacts, out: &mut Contacts) {
        self.clusters.sort_unstable_by_key(|c| (c.id, c.seed));
        for cluster in &self.clusters {
            let seed = &contacts.list[cluster.seed as usize];
            let length = cluster.force.length();
            let depth = length / cluster.area;
            let mut contact = *seed;
            contact.point = cluster.point.as_vec3().to_array();
            contact.area = cluster.area as f32;
            if length > 0.0 && depth.is_finite() {
                contact.distance = -(depth as f32);
                contact.normal = (cluster.force / length).as_vec3().to_array();
            } else if cluster.area > 0.0 {
                // Forces that cancel: no push.
                contact.distance = 0.0;
            }
            if let Some(n) = cluster.shell_normal.try_normalize() {
                contact.shell_normal = n.as_vec3().to_array();
            }
            out.list.push(contact);
        }
    }
}

/// Sums over contacts, for unit stiffness.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    force: DVec3,
    torque: DVec3,
    weight: f64,
}

impl Sum {
    fn add(&mut self, c: &Contact, about: DVec3) {
        let f = force_of(c);
        self.force += f;
        self.torque += (vector(c.point) - about).cross(f);
        self.weight += f64::from(c.area) * f64::from(c.depth());
    }
}

/// Share of the largest eigenvalue below which one counts as 0 [1]. Larger: torque is lost for slender sets. Smaller:
/// points on a line, up to rounding, get huge forces.
const FLAT: f64 = 1e-10;

/// The shortest x with `m x` nearest to `b`, for a symmetric `m` without negative eigenvalues.
fn solve(m: DMat3, b: DVec3) -> DVec3 {
    // Jacobi's rotations; they converge quadratically, and ten sweeps are more than ever needed.
    let (mut a, mut v) = (m, DMat3::IDENTITY);
    for _ in 0..10 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let off = a.col(q)[p];
            if off == 0.0 {
                continue;
            }
            let theta = (a.col(q)[q] - a.col(p)[p]) / (2.0 * off);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            let mut turn = DMat3::IDENTITY;
            (turn.col_mut(p)[p], turn.col_mut(q)[q]) = (c, c);
            (turn.col_mut(q)[p], turn.col_mut(p)[q]) = (s, -s);
            a = turn.transpose() * a * turn;
            v *= turn;
        }
    }
    let values = DVec3::new(a.x_axis.x, a.y_axis.y, a.z_axis.z);
    let least = values.max_element() * FLAT;
    let seen = v.transpose() * b;
    let divided = |k: usize| if values[k] > least { seen[k] / values[k] } else { 0.0 };
    v * DVec3::new(divided(0), divided(1), divided(2))
}

/// Up to four contacts, as indices into a contact set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Four {
    indices: [usize; 4],
    count: usize,
}

impl Four {
    /// The indices, in the order in which they were chosen.
    pub fn indices(&self) -> &[usize] {
        &self.indices[..self.count]
    }
}

/// Bullet's four: the deepest contact, the one farthest from it, the one that makes the largest triangle with both, and
/// the one that makes the largest quadrilateral with the three.
///
/// Deterministic: of equals the first. All contacts when there are up to four; contacts of a margin count, contacts that
/// are not finite do not. The area is Bullet's: the largest cross product of two segments that join two points each. Each
/// step is best by itself; the four need not be the best of all. Cost: four passes, no allocation.
pub fn four(contacts: &Contacts) -> Four {
    let mut four = Four::default();
    while four.count < 4 {
        let mut best: Option<(f64, usize)> = None;
        for (i, c) in contacts.list.iter().enumerate() {
            let score = gain(contacts, four.indices(), i);
            if best.is_none_or(|(b, _)| score > b) && is_finite(c) && !four.indices().contains(&i) {
                best = Some((score, i));
            }
        }
        let Some((_, i)) = best else { break };
        four.indices[four.count] = i;
        four.count += 1;
    }
    four
}

/// What the next choice is by: depth, squared distance, squared areas.
#[inline]
fn gain(contacts: &Contacts, chosen: &[usize], i: usize) -> f64 {
    let p = |i: usize| vector(contacts.list[i].point);
    match *chosen {
        [] => -f64::from(contacts.list[i].distance),
        [a] => p(a).distance_squared(p(i)),
        [a, b] => (p(b) - p(a)).cross(p(i) - p(a)).length_squared(),
        [a, b, c, ..] => {
            let [a, b, c, d] = [p(a), p(b), p(c), p(i)];
            let pairs = [(a - b, c - d), (a - c, b - d), (a - d, b - c)];
            pairs.iter().map(|(u, v)| u.cross(*v).length_squared()).fold(0.0, f64::max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::source::random::Random;

    fn random(seed: u64, n: usize, flat: bool) -> Contacts {
        let mut r = Random(seed);
        let list = (0..n)
            .map(|i| {
                let p = r.point(0.1);
                let normal = if flat { DVec3::Z + r.point(0.2) } else { r.direction() };
                Contact {
                    point: (if flat { p.with_z(0.0) } else { p }).as_vec3().to_array(),
                    distance: r.range(-3e-3, 1e-3) as f32,
                    normal: normal.normalize().as_vec3().to_array(),
                    id: 2 * i as u32,
                    shell_normal: (-normal).normalize().as_vec3().to_array(),
                    area: r.range(1e-7, 1e-5) as f32,
                }
            })
            .collect();
        Contacts { origin: DVec3::ONE, swapped: seed % 2 == 1, list }
    }

    fn total(list: &[Contact]) -> Sum {
        let mut sum = Sum::default();
        list.iter().for_each(|c| sum.add(c, DVec3::ZERO));
        sum
    }

    /// The six sums, to f32 rounding: 1e-6 of the sum of the forces' lengths, with arms of 0.2 m.
    #[test]
    fn net_force_and_torque_are_kept() {
        let (mut reducer, mut out) = (Reducer::new(), Contacts::default());
        for seed in 0..200 {
            let n = 5 + (seed as usize * 37) % 400;
            let found = random(seed, n, seed % 3 == 0);
            for few in [4, 6, 10, 40] {
                let did = reducer.reduce(&found, few, &mut out);
                let (all, kept) = (total(&found.list), total(&out.list));
                let deep = found.list.iter().filter(|c| c.distance < 0.0).count();
                if found.list.len() <= few {
                    assert_eq!(out.list, found.list);
                    continue;
                }
                assert!(out.list.len() == few.min(deep) && out.list.is_sorted_by_key(|c| c.id));
                assert_eq!((out.origin, out.swapped), (found.origin, found.swapped));
                assert!((all.force - kept.force).length() < 1e-6 * all.weight, "seed {seed}, {few}");
                // Few contacts can be collinear by chance, and then not carry all torque; it is said.
                let off = (all.torque - kept.torque).length() / all.weight;
                assert!(
                    off < 2e-7 || (deep < 3 && did.torque_error > 1e-7),
                    "seed {seed}, {few}: {off} {did:?}"
                );
                for c in &out.list {
                    assert!((c.normal().length() - 1.0).abs() < 1e-6 && c.distance <= 0.0 && is_finite(c));
                    assert!(found.list.iter().any(|f| f.id == c.id));
                }
                // The deepest is where a cluster grew from.
                let deepest = found.deepest().unwrap();
                assert!(out.list.iter().any(|c| c.id == deepest.id));
                let area = |l: &[Contact]| -> f64 {
                    l.iter().filter(|c| c.distance <= 0.0).map(|c| f64::from(c.area)).sum()
                };
                assert!((area(&out.list) / area(&found.list) - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn the_same_again_and_without_new_memory() {
        let found = random(3, 1000, true);
        let (mut reducer, mut out) = (Reducer::new(), Contacts::default());
        let did = reducer.reduce(&found, 16, &mut out);
        let first = out.list.clone();
        let buffers = |r: &Reducer, o: &Contacts| (r.places.as_ptr(), r.clusters.as_ptr(), o.list.as_ptr());
        let before = buffers(&reducer, &out);
        for _ in 0..5 {
            assert_eq!(reducer.reduce(&found, 16, &mut out), did);
            assert_eq!(out.list, first);
        }
        assert_eq!(before, buffers(&reducer, &out));
    }

    #[test]
    fn odd_sets() {
        let (mut reducer, mut out) = (Reducer::new(), Contacts::default());
        let found = random(3, 100, false);
        // No room, no contacts, no depth.
        let did = reducer.reduce(&found, 0, &mut out);
        assert!(out.list.is_empty() && did.force_error > 0.0);
        assert_eq!(reducer.reduce(&Contacts::default(), 4, &mut out), Reduction::default());
        assert!(out.list.is_empty());
        let mut apart = found.clone();
        apart.list.iter_mut().for_each(|c| c.distance = c.distance.abs());
        assert_eq!(reducer.reduce(&apart, 4, &mut out), Reduction::default());
        assert!(out.list.is_empty());
        // All at one place, and of no area.
        let mut same = found.clone();
        let first = Contact { distance: -1e-3, ..same.list[0] };
        same.list.iter_mut().for_each(|c| *c = Contact { id: c.id, ..first });
        let did = reducer.reduce(&same, 4, &mut out);
        assert!(out.list.len() == 1 && did.force_error < 1e-6 && did.torque_error < 1e-6);
        let mut flat = found.clone();
        flat.list.iter_mut().for_each(|c| c.area = 0.0);
        assert_eq!(reducer.reduce(&flat, 4, &mut out), Reduction::default());
        assert_eq!(out.list.len(), 4);
        // Not finite: left out, and said.
        let mut bad = found.clone();
        bad.list[3].point[0] = f32::NAN;
        bad.list[4].distance = f32::NEG_INFINITY;
        let did = reducer.reduce(&bad, 4, &mut out);
        assert!(did.non_finite && did.force_error < 1e-6 && out.list.iter().all(is_finite));
        assert_eq!(four(&bad).indices().len(), 4);
        // On a line, with pushes that twist about it.
        let mut line = found;
        for (i, c) in line.list.iter_mut().enumerate() {
            c.point = [i as f32 * 1e-3, 0.0, 0.0];
        }
        let did = reducer.reduce(&line, 4, &mut out);
        assert!(did.force_error < 1e-6 && did.torque_error < 1e-6, "{did:?}");
    }

    #[test]
    fn four_are_the_deepest_and_the_corners() {
        // A grid of 9 × 9: the deepest near one corner, then the opposite corner, then the other two.
        let mut found = Contacts::default();
        for i in 0..81_u32 {
            let p = [(i % 9) as f32, (i / 9) as f32, 0.0];
            found.list.push(Contact { point: p, distance: -1.0, id: i, ..Contact::default() });
        }
        found.list[10].distance = -2.0;
        let picked = four(&found);
        assert_eq!(picked.indices()[..2], [10, 80]);
        let mut rest = picked.indices()[2..].to_vec();
        rest.sort();
        assert_eq!(rest, [8, 72]);
        // Ties: the first. Fewer: all.
        found.list[10].distance = -1.0;
        assert_eq!(four(&found).indices(), [0, 80, 8, 72]);
        found.list.truncate(3);
        assert_eq!(four(&found).indices(), [0, 2, 1]);
        found.list.clear();
        assert!(four(&found).indices().is_empty());
        found.list = vec![Contact::default(); 6];
        assert_eq!(four(&found).indices(), [0, 1, 2, 3]);
    }
}
