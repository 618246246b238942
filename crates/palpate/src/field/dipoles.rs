//! Winding numbers of any point, by a tree of dipoles over the surface.
//!
//! Based on: Barill et al., Fast winding numbers for soups and clouds, 2018 [barill18] (the dipole expansion).
//! Differs: first order only; near nodes are summed exactly, which is all a decision at 1/2 needs.

use super::bvh::{Block, Bvh, STACK, WIDTH, corners_of, cross, dot, minus, most, sum};
use super::surface::Faces;
use crate::par;
use crate::simd::{Lanes, dispatch};
use glam::{DVec3, Vec3};
use std::borrow::Cow;

/// A node is taken as a dipole when it is farther than this many of its radii. 2 keeps the error of one node below
/// about 0.01; less lets the sum of many nodes cross 1/2 wrongly, more descends needlessly.
const FAR: f64 = 2.0;

/// Area-weighted normals of the tree's nodes, for winding numbers.
#[derive(Debug)]
pub(crate) struct Dipoles<'a> {
    bvh: &'a Bvh,
    faces: Faces<'a>,
    levels: Cow<'a, [Vec<Dipole>]>,
}

/// Per level as in the tree, level 0 for leaf blocks: centre, radius, sum of area vectors.
pub(crate) type Levels = Vec<Vec<Dipole>>;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dipole {
    centre: DVec3,
    radius: f64,
    area: DVec3,
    weight: f64,
}

impl<'a> Dipoles<'a> {
    /// Sums of all nodes of `bvh`.
    pub(crate) fn build(bvh: &'a Bvh, faces: Faces<'a>) -> Self {
        Self { bvh, faces, levels: Cow::Owned(Self::levels(bvh, faces)) }
    }

    /// With the sums that [`Dipoles::levels`] made of the same.
    pub(crate) fn kept(bvh: &'a Bvh, faces: Faces<'a>, levels: &'a [Vec<Dipole>]) -> Self {
        Self { bvh, faces, levels: Cow::Borrowed(levels) }
    }

    /// The sums alone, to be kept.
    pub(crate) fn levels(bvh: &Bvh, faces: Faces<'_>) -> Levels {
        let last = bvh.block_count() - 1;
        let leaf = |block: usize| {
            // The last block repeats a triangle.
            if block < last && !faces.has_sheets() {
                of_block(bvh.block(block))
            } else {
                of_few(bvh, faces, block)
            }
        };
        let mut levels = vec![par::map(bvh.block_count(), leaf)];
        while levels[levels.len() - 1].len() > 1 {
            let below = &levels[levels.len() - 1];
            let part = |i: usize| &below[i * WIDTH..((i + 1) * WIDTH).min(below.len())];
            let above = par::map(below.len().div_ceil(WIDTH), |i| combine(part(i).iter().copied()));
            levels.push(above);
        }
        levels
    }

    /// Winding number of the surface around `p`: 1 inside, 0 outside of a closed surface, between on open ones.
    /// Within about 0.02 of the exact sum of solid angles.
    pub(crate) fn winding(&self, p: DVec3) -> f64 {
        let mut solid = 0.0;
        let mut stack = Vec::with_capacity(STACK);
        stack.push((self.levels.len() - 1, 0usize));
        while let Some((level, index)) = stack.pop() {
            let d = self.levels[level][index];
            let r = d.centre - p;
            let distance = r.length();
            if distance > FAR * d.radius {
                solid += d.area.dot(r) / (distance * distance * distance);
            } else if level == 0 {
                for t in solids(self.bvh, self.faces, index) {
                    solid += solid_angle(self.faces.corners_of(t).map(|c| c - p));
                }
            } else {
                let children = index * WIDTH..((index + 1) * WIDTH).min(self.levels[level - 1].len());
                stack.extend(children.map(|c| (level - 1, c)));
            }
        }
        solid / (4.0 * core::f64::consts::PI)
    }
}

/// The dipole of a block's triangles that are no sheets.
fn of_few(bvh: &Bvh, faces: Faces<'_>, block: usize) -> Dipole {
    let tris = solids(bvh, faces, block).map(|t| faces.corners_of(t));
    combine(tris.map(|[a, b, c]| {
        let area = 0.5 * (b - a).cross(c - a);
        let centre = (a + b + c) / 3.0;
        let radius = (a - centre).length().max((b - centre).length()).max((c - centre).length());
        Dipole { centre, radius, area, weight: area.length() }
    }))
}

dispatch! {
    fn of_block / of_block_plain = of_block_kernel(block: &Block) -> Dipole
}

/// The dipole of a full block: eight triangles at once.
#[inline(always)]
fn of_block_kernel<L: Lanes>(block: &Block) -> Dipole {
    let v = corners_of::<L>(block);
    let n = cross(minus(v[1], v[0]), minus(v[2], v[0]));
    let size = dot(n, n).sqrt();
    let weight = sum(size);
    let (mut centre, mut area) = (Vec3::ZERO, Vec3::ZERO);
    for axis in 0..3 {
        let middle = v[0][axis].add(v[1][axis]).add(v[2][axis]);
        centre[axis] = sum(middle.mul(size)) / (3.0 * weight.max(f32::MIN_POSITIVE));
        area[axis] = 0.5 * sum(n[axis]);
    }
    let c = [L::splat(centre.x), L::splat(centre.y), L::splat(centre.z)];
    let mut radius = L::splat(0.0);
    for v in v {
        let away = minus(v, c);
        radius = radius.max(dot(away, away));
    }
    Dipole {
        centre: centre.as_dvec3(),
        radius: f64::from(most(radius).sqrt()),
        area: area.as_dvec3(),
        weight: f64::from(0.5 * weight),
    }
}

/// Triangles of a block that are no sheets.
fn solids<'a>(bvh: &'a Bvh, faces: Faces<'a>, block: usize) -> impl Iterator<Item = usize> + Clone + 'a {
    bvh.triangles_of(block).filter(move |t| !faces.is_sheet(*t))
}

fn combine(parts: impl Iterator<Item = Dipole> + Clone) -> Dipole {
    let (mut centre, mut area, mut weight) = (DVec3::ZERO, DVec3::ZERO, 0.0);
    for d in parts.clone() {
        centre += d.centre * d.weight;
        area += d.area;
        weight += d.weight;
    }
    if weight > 0.0 {
        centre /= weight;
    }
    let radius = parts.map(|d| (d.centre - centre).length() + d.radius).fold(0.0, f64::max);
    Dipole { centre, radius, area, weight }
}

/// Solid angle of a triangle seen from the origin, positive from its back (Van Oosterom and Strackee).
fn solid_angle([a, b, c]: [DVec3; 3]) -> f64 {
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let numerator = a.dot(b.cross(c));
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * numerator.atan2(denominator)
}

#[cfg(test)]
mod tests {
    use super::super::surface::Surface;
    use super::*;
    use crate::mesh::{Mesh, samples, winding_number_exact};

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The tree's winding number stays near the exact sum, so that 1/2 is never crossed by it.
    #[test]
    fn dipoles_stay_near_the_exact_winding_number() {
        for name in ["torus-knot", "gear", "cube-missing-face"] {
            let raw = samples::by_name(name).expect("a sample");
            let mesh = Mesh::new(raw, &Default::default()).unwrap();
            let surface = Surface::new(mesh.positions(), mesh.triangles(), mesh.topology());
            let bvh = Bvh::build(&surface);
            let dipoles = Dipoles::build(&bvh, surface.faces());
            let b = mesh.aabb();
            let mut state = 3;
            let mut worst = 0.0f64;
            for _ in 0..300 {
                let p = b.min
                    + b.extent() * DVec3::new(random(&mut state), random(&mut state), random(&mut state));
                let exact = winding_number_exact(mesh.positions(), mesh.triangles(), p);
                worst = worst.max((dipoles.winding(p) - exact).abs());
            }
            assert!(worst < 0.1, "{name}: off by {worst}");
        }
    }
}
