//! A tree in another scale.

use super::{Level, Tree};
use crate::field::scale::{rounding, times};
use crate::shell::ShellReport;
use glam::DVec3;

impl Tree {
    /// The same tree in another scale, a positive number that keeps it in the range of single precision. Points keep their numbers.
    /// Balls hold their points after rounding.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let rounding = rounding(factor);
        let axes = |all: &[Vec<f32>; 3], by: f64| core::array::from_fn(|a| times(&all[a], by));
        let levels = self.levels.iter().map(|l| l.scaled(factor, rounding)).collect();
        // By how much a point can be beside its place on the surface.
        let off = rounding * self.reach() * factor;
        let s = &self.shell;
        let shell = ShellReport {
            spacing: (s.spacing * factor - 2.0 * off).max(0.0),
            radius: s.radius * factor + off,
            area: s.area * factor * factor,
            voxel: s.voxel * factor,
            entries: s.entries,
            points: s.points,
            feature_points: s.feature_points,
            recovered: s.recovered,
            filled: s.filled,
            surface_voxels: s.surface_voxels,
            interior_projections: s.interior_projections,
            boundary_projections: s.boundary_projections,
            recovered_projections: s.recovered_projections,
        };
        Self {
            origin: self.origin * factor,
            count: self.count,
            position: axes(&self.position, factor),
            normal: self.normal.clone(),
            area: times(&self.area, factor * factor),
            triangle: self.triangle.clone(),
            source: self.source.clone(),
            levels,
            segments: self.segments,
            waiting: self.waiting,
            shell,
        }
    }
}

impl Level {
    fn scaled(&self, factor: f64, rounding: f64) -> Self {
        // Points and centre move by a rounding each, which is less than that of how far the ball reaches.
        let ball = |c: [f32; 3], r: f32| {
            let centre = c.map(|x| (f64::from(x) * factor) as f32);
            let reach = DVec3::from_array(c.map(f64::from)).length() + f64::from(r);
            let exact = (f64::from(r) + 2.0 * rounding * reach) * factor;
            let radius = exact as f32;
            (centre, if rounding > 0.0 { radius.next_up() } else { radius })
        };
        let [x, y, z] = &self.centre;
        let smallest: Vec<([f32; 3], f32)> =
            (0..self.radius.len()).map(|i| ball([x[i], y[i], z[i]], self.radius[i])).collect();
        let quad = |([x, y, z], r): ([f32; 3], f32)| [x, y, z, r];
        let balls = self.balls.iter().map(|b| b.map(|[x, y, z, r]| quad(ball([x, y, z], r)))).collect();
        let radius: Vec<f32> = smallest.iter().map(|b| b.1).collect();
        Self {
            centre: core::array::from_fn(|a| smallest.iter().map(|b| b.0[a]).collect()),
            largest: radius.iter().copied().fold(0.0, f32::max),
            radius,
            balls,
            first: self.first.clone(),
            points: self.points.clone(),
            parent: self.parent.clone(),
            ids: self.ids.clone(),
            position: core::array::from_fn(|a| times(&self.position[a], factor)),
            normal: self.normal.clone(),
            area: times(&self.area, factor * factor),
        }
    }
}
