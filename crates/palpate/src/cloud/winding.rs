//! Winding numbers of a cloud: how often the surface that oriented points stand for goes around a place.
//!
//! Based on: barill18.
//! Differs: dipoles of first order, in a tree of groups of eight along the octree's order; the nearest points are smeared over half
//! their spacing, so that the number stays bounded at the points themselves; stray points, which are on no surface, do not count.

use super::Surfels;
use crate::par;
use glam::{DVec3, Vec3};

/// Points, or groups, of a group.
const GROUP: usize = 8;

/// A group farther than this many of its radii counts as one dipole [1]: as in `field/dipoles.rs`.
const FAR: f32 = 2.0;

/// A point nearer than this counts as if it were so far away [scales].
const SMEARED: f32 = 0.5;

/// A tree of dipoles over oriented points, in the frame of their cloud.
#[derive(Clone, Debug)]
pub struct Winding<'a> {
    surfels: &'a Surfels,
    /// Groups of points first, then groups of groups, up to one.
    levels: Vec<Vec<Dipole>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Dipole {
    centre: Vec3,
    radius: f32,
    area: Vec3,
    weight: f32,
    /// Nearer than this its points are smeared [m].
    smeared: f32,
}

impl<'a> Winding<'a> {
    /// The tree over all entries. Cost: about 20 ns and 5 bytes a point.
    pub fn build(surfels: &'a Surfels) -> Self {
        let n = surfels.len();
        let single = |i: usize| {
            let weight = weight(surfels, i);
            let (area, smeared) = (weight * surfels.normals[i], SMEARED * surfels.scale[i]);
            Dipole { centre: surfels.points[i], radius: 0.0, area, weight, smeared }
        };
        let first = par::map(n.div_ceil(GROUP), |g| joined((g * GROUP..n.min((g + 1) * GROUP)).map(single)));
        let mut levels = vec![first];
        while levels[levels.len() - 1].len() > 1 {
            let below = &levels[levels.len() - 1];
            let of = |g: usize| below[g * GROUP..below.len().min((g + 1) * GROUP)].iter().copied();
            let above = par::map(below.len().div_ceil(GROUP), |g| joined(of(g)));
            levels.push(above);
        }
        Self { surfels, levels }
    }

    /// The winding number around `p`, in the cloud's frame [m]: 1 inside and 0 outside of a closed surface, between around holes. NaN
    /// for a place that is not finite.
    ///
    /// Within about 0.03 of that of the surface from a spacing away on; nearer than that the points are seen one by one. Cost:
    /// about 2 µs for 100,000 points.
    pub fn at(&self, p: DVec3) -> f64 {
        f64::from(self.local((p - self.surfels.origin).as_vec3(), &mut Vec::with_capacity(64)))
    }

    /// The same relative to the origin of the points; `stack` is memory.
    pub(super) fn local(&self, p: Vec3, stack: &mut Vec<(u32, u32)>) -> f32 {
        if !p.is_finite() {
            return f32::NAN;
        }
        let mut solid = 0.0;
        stack.clear();
        stack.push((self.levels.len() as u32 - 1, 0));
        while let Some((level, at)) = stack.pop() {
            let d = &self.levels[level as usize][at as usize];
            let r = d.centre - p;
            let distance = r.length();
            if d.weight == 0.0 {
                continue;
            }
            // A group of one point has no radius.
            if distance > (FAR * d.radius).max(d.smeared) {
                // Cubes of distances may be beyond single precision.
                solid += d.area.dot(r / distance) / (distance * distance);
                continue;
            }
            let from = at as usize * GROUP;
            if level == 0 {
                for i in from..self.surfels.len().min(from + GROUP) {
                    let r = self.surfels.points[i] - p;
                    let near = r.length().max(SMEARED * self.surfels.scale[i]).max(1e-18);
                    solid += weight(self.surfels, i) / (near * near) * self.surfels.normals[i].dot(r / near);
                }
            } else {
                let end = self.levels[level as usize - 1].len().min(from + GROUP);
                stack.extend((from..end).map(|i| (level - 1, i as u32)));
            }
        }
        solid / (4.0 * core::f32::consts::PI)
    }
}

/// The surface that entry `i` stands for [m²]: none if it is a stray point.
fn weight(surfels: &Surfels, i: usize) -> f32 {
    if surfels.stray[i] { 0.0 } else { surfels.areas[i] }
}

/// Several as one; those without weight do not count.
fn joined(parts: impl Iterator<Item = Dipole> + Clone) -> Dipole {
    let parts = parts.filter(|d| d.weight > 0.0);
    // Areas times positions may be beyond single precision.
    let (mut centre, mut area, mut weight) = (DVec3::ZERO, Vec3::ZERO, 0.0);
    for d in parts.clone() {
        centre += d.centre.as_dvec3() * f64::from(d.weight);
        area += d.area;
        weight += f64::from(d.weight);
    }
    if weight == 0.0 {
        return Dipole::default();
    }
    let centre = (centre / weight).as_vec3();
    let radius = parts.clone().map(|d| d.centre.distance(centre) + d.radius).fold(0.0, f32::max);
    let smeared = parts.map(|d| d.smeared).fold(0.0, f32::max);
    Dipole { centre, radius, area, weight: weight as f32, smeared }
}
