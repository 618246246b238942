//! Point-sphere trees: a shell's points in clusters of clusters, each in its smallest ball.
//!
//! Every level is a picture of the whole surface: a node has one point of the shell, the one nearest the mean of its own, and
//! that point stands for the surface of all of them. A walk that stops anywhere counts each patch of surface once.

mod ball;
mod build;
mod cluster;
mod facing;
mod nearest;
mod scale;

use crate::shell::{Shell, ShellReport};
use crate::simd::LANES;
use glam::{DVec3, Vec3};

/// How a tree is built.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeParams {
    /// Points, or nodes, to a cluster. The paper has 4; eight fill a vector.
    pub cluster: usize,
    /// A point farther from the middle of its cluster than this many times the usual radius of one looks for another [1].
    pub outlier: f64,
    /// About how many segments [`crate::query::Query::segmented`] reports: the level with the nearest number of nodes.
    pub segments: usize,
    /// Threads of the build; 0: those of the current rayon pool. The result does not depend on it.
    pub threads: usize,
}

impl Default for TreeParams {
    fn default() -> Self {
        Self { cluster: LANES, outlier: 1.5, segments: 15, threads: 0 }
    }
}

impl TreeParams {
    /// The values held to their ranges: clusters of 2 to 64, an outlier of at least 1.
    #[must_use]
    pub fn held(&self) -> Self {
        Self {
            cluster: self.cluster.clamp(2, 64),
            outlier: if self.outlier >= 1.0 { self.outlier } else { 1.0 },
            segments: self.segments.max(1),
            threads: self.threads,
        }
    }
}

/// A shell in tree order, in the shape's own frame. A point's index is its place in depth-first order.
#[derive(Clone, Debug)]
pub struct Tree {
    /// What coordinates are relative to, in the shape's frame [m].
    pub(crate) origin: DVec3,
    /// Number of entries; the arrays are longer by a vector, so that any eight can be read at once.
    pub(crate) count: usize,
    /// Relative to `origin` [m], one array for each axis.
    pub(crate) position: [Vec<f32>; 3],
    /// Outward, unit.
    pub(crate) normal: [Vec<f32>; 3],
    /// [m²]
    pub(crate) area: Vec<f32>,
    /// The triangle each point is on, as the mesh numbers them; those of caps follow.
    pub(crate) triangle: Vec<u32>,
    /// Where each entry was in the shell.
    pub(crate) source: Vec<u32>,
    /// Coarsest first: one node, the root. None without points.
    pub(crate) levels: Vec<Level>,
    /// The level whose nodes are the segments.
    pub(crate) segments: usize,
    /// Most nodes and points a walk in depth can have before it: the most children of a node, summed over the levels.
    pub(crate) waiting: usize,
    pub(crate) shell: ShellReport,
}

/// The nodes of one level, in depth-first order; arrays of coordinates are longer by a vector.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    /// Centre of the smallest ball around all points of the node, relative to the tree's origin [m].
    pub(crate) centre: [Vec<f32>; 3],
    /// Its radius, rounded up [m].
    pub(crate) radius: Vec<f32>,
    /// Centre and radius of the smallest ball again, then of the one that bounds distances from what the node faces, side by side.
    pub(crate) balls: Vec<[[f32; 4]; 2]>,
    /// Node i has the nodes `first[i]..first[i + 1]` of the next level; points on the last level.
    pub(crate) first: Vec<u32>,
    /// Node i has the points `points[i]..points[i + 1]`.
    pub(crate) points: Vec<u32>,
    /// The point that represents the node.
    pub(crate) parent: Vec<u32>,
    /// The same, longer by a vector.
    pub(crate) ids: Vec<u32>,
    /// Where it is, relative to the tree's origin [m], and its outward normal.
    pub(crate) position: [Vec<f32>; 3],
    pub(crate) normal: [Vec<f32>; 3],
    /// Its surface: that of all points of the node [m²].
    pub(crate) area: Vec<f32>,
    /// Largest radius [m].
    pub(crate) largest: f32,
}

impl Level {
    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.parent.len()
    }
}

impl Tree {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of levels above the points.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Number of nodes of a level, 0 being the root; 0 for levels there are not.
    pub fn nodes(&self, level: usize) -> usize {
        self.levels.get(level).map_or(0, Level::len)
    }

    /// Number of segments [`crate::query::Query::segmented`] reports at most.
    pub fn segments(&self) -> usize {
        self.nodes(self.segments)
    }

    /// Where point `i` is, in the shape's frame [m].
    pub fn position(&self, i: usize) -> DVec3 {
        self.origin + self.local(i).as_dvec3()
    }

    /// What the tree's own coordinates are relative to, in the shape's frame [m].
    pub fn origin(&self) -> DVec3 {
        self.origin
    }

    /// Where point `i` is, relative to the tree's origin [m].
    pub fn local(&self, i: usize) -> Vec3 {
        Vec3::new(self.position[0][i], self.position[1][i], self.position[2][i])
    }

    /// Outward unit normal at point `i`.
    pub fn normal(&self, i: usize) -> Vec3 {
        Vec3::new(self.normal[0][i], self.normal[1][i], self.normal[2][i])
    }

    /// Surface point `i` stands for [m²].
    pub fn area(&self, i: usize) -> f32 {
        self.area[i]
    }

    /// Which entry of the shell point `i` was.
    pub fn source(&self, i: usize) -> u32 {
        self.source[i]
    }

    /// The triangle point `i` is on, as the mesh numbers them; those of caps follow.
    pub fn triangle(&self, i: usize) -> u32 {
        self.triangle[i]
    }

    /// The smallest ball around points `node` of `level`: centre in the shape's frame, radius [m].
    pub fn ball(&self, level: usize, node: usize) -> (DVec3, f64) {
        let l = &self.levels[level];
        let centre = DVec3::new(
            f64::from(l.centre[0][node]),
            f64::from(l.centre[1][node]),
            f64::from(l.centre[2][node]),
        );
        (self.origin + centre, f64::from(l.radius[node]))
    }

    /// The points of a node.
    pub fn points_of(&self, level: usize, node: usize) -> core::ops::Range<usize> {
        let p = &self.levels[level].points;
        p[node] as usize..p[node + 1] as usize
    }

    /// The point that represents a node, and the surface it stands for [m²].
    pub fn parent(&self, level: usize, node: usize) -> (usize, f32) {
        let l = &self.levels[level];
        (l.parent[node] as usize, l.area[node])
    }

    /// The level walks begin with: the last whose nodes fill no more than two vectors, as those above it tell little.
    pub fn start(&self) -> usize {
        self.levels.iter().rposition(|l| l.len() <= 2 * LANES).unwrap_or(0)
    }

    /// Largest distance of a point from the tree's origin [m].
    pub(crate) fn reach(&self) -> f64 {
        self.levels.first().map_or(0.0, |l| {
            let c = DVec3::new(l.centre[0][0].into(), l.centre[1][0].into(), l.centre[2][0].into());
            c.length() + f64::from(l.radius[0])
        })
    }

    /// The shell the tree was built over, bit for bit.
    pub fn shell(&self) -> Shell {
        let mut place = vec![0; self.count];
        for (i, s) in self.source[..self.count].iter().enumerate() {
            if let Some(p) = place.get_mut(*s as usize) {
                *p = i;
            }
        }
        Shell {
            origin: self.origin,
            positions: place.iter().map(|i| self.local(*i)).collect(),
            normals: place.iter().map(|i| self.normal(*i)).collect(),
            areas: place.iter().map(|i| self.area[*i]).collect(),
            triangles: place.iter().map(|i| self.triangle[*i]).collect(),
            report: self.shell.clone(),
        }
    }

    /// How dense the points are.
    pub fn shell_report(&self) -> &ShellReport {
        &self.shell
    }

    /// Memory of the tree [bytes].
    pub fn bytes(&self) -> usize {
        let level = |l: &Level| 4 * (20 * l.radius.len() + 2 * l.first.len() + l.parent.len());
        4 * 9 * self.position[0].len() + self.levels.iter().map(level).sum::<usize>()
    }
}
