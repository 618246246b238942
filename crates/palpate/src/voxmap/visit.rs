//! The voxels of one triangle, for stages that want to know which triangle meets which voxel.

use super::sat::{Axes, Prepared, Span, least, most, range_of, slack};
use super::small::Small;
use glam::DVec3;

/// Finds the voxels that triangles meet, in a grid of `dims` voxels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visitor {
    dims: [u32; 3],
    slack: f64,
}

impl Visitor {
    pub(crate) fn new(dims: [u32; 3]) -> Self {
        Self { dims, slack: slack(dims.into_iter().max().unwrap_or(0)) }
    }

    /// Calls `row(first, last, j, k)` for the runs of voxels along x that the triangle meets; corners in grid units [voxels].
    /// The same voxels as a [`super::Voxmap`] marks.
    #[inline]
    pub(crate) fn visit(&self, [a, b, c]: [DVec3; 3], row: impl FnMut(i32, i32, i32, i32)) {
        let corners = [[a.x, b.x, c.x], [a.y, b.y, c.y], [a.z, b.z, c.z]];
        let Some((span, v)) = Span::new(corners, self.dims, self.slack) else { return };
        if Small::fits(&span) {
            rows(&Small::new(span, &v, self.slack), row);
        } else {
            rows(&Prepared::new(span, &v, self.slack), row);
        }
    }
}

fn rows(p: &impl Axes, mut row: impl FnMut(i32, i32, i32, i32)) {
    let (base, last) = (p.span().base, p.span().last);
    for k in 0..=last[2] {
        let layer = p.layer(k);
        for j in range_of(p.shadow(k), last[1]) {
            let (edges, plane) = (p.row(j), p.plane(j, k));
            let lo = most(most(layer.0, edges.0), plane.0);
            let hi = least(least(layer.1, edges.1), plane.1);
            let i = range_of((lo, hi), last[0]);
            if i.start() <= i.end() {
                row(base[0] + i.start(), base[0] + i.end(), base[1] + j, base[2] + k);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Mesh, samples};
    use crate::voxmap::Voxmap;
    use std::collections::BTreeSet;

    #[test]
    fn visits_what_a_voxmap_marks() {
        for name in ["gear", "needle", "cuboid", "bumpy-sphere"] {
            let mesh = Mesh::new(samples::by_name(name).unwrap(), &Default::default()).unwrap();
            let voxel = mesh.aabb().extent().max_element() / 37.3;
            let marked = Voxmap::build(&mesh, voxel, &Default::default()).unwrap();
            let grid = marked.grid();
            let visitor = Visitor::new(grid.dims);
            let mut found = BTreeSet::new();
            for t in 0..mesh.triangles().len() {
                let corners = mesh.corners(t).map(|p| (p - grid.origin) / voxel);
                visitor.visit(corners, |first, last, j, k| {
                    found.extend((first..=last).map(|i| [i as u32, j as u32, k as u32]));
                });
            }
            let expected: BTreeSet<[u32; 3]> = marked.surface_voxels().collect();
            assert!(
                expected.len() > 30 && found == expected,
                "{name}: {} of {}",
                found.len(),
                expected.len()
            );
        }
    }
}
