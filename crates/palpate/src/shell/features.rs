//! Sharp edges and corners, sampled before the faces between them.
//!
//! An edge is sharp where the faces beside it differ in direction by more than an angle, where it has one face only, or where it has
//! more than two. A corner is where sharp edges meet, end, or turn. Corners are taken first, then points along each line of sharp
//! edges between two corners, in equal steps of at least the spacing. Each point stands for all faces that meet there.

use super::faces::Faces;
use super::table::{Apart, Cells};
use super::{Entry, Points};
use crate::mesh::Topology;
use crate::par;
use glam::{DVec3, Vec3};
use std::collections::BTreeMap;

/// Triangles per parallel work item.
const CHUNK: usize = 4096;
/// A line of sharp edges that turns by more than this angle at a vertex has a corner there: cosine of 45°.
const TURN: f64 = core::f64::consts::FRAC_1_SQRT_2;

/// A sharp edge and a triangle beside it.
type Half = (u32, u32, u32);

/// A sharp edge: its ends and where its triangles are in the list of halves.
#[derive(Clone, Copy, Debug)]
struct Edge {
    ends: [u32; 2],
    first: u32,
    last: u32,
}

/// The points on features, no two nearer than the square root of `limit_sq`, in an order of their own.
pub(super) fn sample(faces: &Faces<'_>, cos_angle: f32, spacing: f64, cells: Cells, limit_sq: f32) -> Points {
    let halves = sharp(faces, cos_angle);
    let (edges, halves) = long_enough(faces, halves, spacing);
    let mut out = Points::default();
    if edges.is_empty() {
        return out;
    }
    let around = ends(&edges);
    let of_vertex = |v: u32| {
        let from = around.partition_point(|a| a.0 < v);
        let to = from + around[from..].partition_point(|a| a.0 == v);
        &around[from..to]
    };
    let mut apart = Apart::new(cells, limit_sq);

    // Corners.
    let is_corner = |v: u32| match of_vertex(v) {
        [a, b] => {
            let p = faces.vertex(v);
            let direction = |e: u32| {
                let [x, y] = edges[e as usize].ends;
                (faces.vertex(if x == v { y } else { x }) - p).normalize_or_zero()
            };
            direction(a.1).dot(direction(b.1)) > -TURN
        }
        _ => true,
    };
    let vertices: Vec<u32> = around.chunk_by(|a, b| a.0 == b.0).map(|c| c[0].0).collect();
    let corner: Vec<bool> = par::map(vertices.len(), |i| is_corner(vertices[i]));
    let is_corner = |v: u32| vertices.binary_search(&v).is_ok_and(|i| corner[i]);
    let mut taken: Vec<u32> = Vec::new();
    for (&v, &corner) in vertices.iter().zip(&corner) {
        if corner && apart.take(faces.vertex(v).as_vec3()) {
            taken.push(v);
        }
    }
    let sectors = sectors(faces, &taken, cos_angle, |a, b| {
        let key = (a.min(b), a.max(b));
        edges.binary_search_by(|e| (e.ends[0], e.ends[1]).cmp(&key)).is_ok()
    });
    for (v, entries) in taken.iter().zip(&sectors) {
        out.push(faces.vertex(*v).as_vec3(), entries);
    }

    // Lines between corners, then loops without any.
    let mut used = vec![false; edges.len()];
    let mut line = Line { faces, edges: &edges, halves: &halves, cos_angle, spacing };
    for pass in 0..2 {
        for &v in &vertices {
            if pass == 0 && !is_corner(v) {
                continue;
            }
            for &(_, first) in of_vertex(v) {
                if used[first as usize] {
                    continue;
                }
                // Follow the line to the next corner, or round to where it began.
                let (mut path, mut points) = (Vec::new(), vec![faces.vertex(v)]);
                let (mut at, mut edge) = (v, first);
                loop {
                    used[edge as usize] = true;
                    let [x, y] = edges[edge as usize].ends;
                    at = if x == at { y } else { x };
                    path.push(edge);
                    points.push(faces.vertex(at));
                    let next = of_vertex(at).iter().find(|n| !used[n.1 as usize]);
                    match next {
                        Some(n) if !is_corner(at) => edge = n.1,
                        _ => break,
                    }
                }
                if pass == 1 {
                    let p = points[0].as_vec3();
                    if apart.take(p) {
                        out.push(p, &line.entries(first));
                    }
                }
                line.place(&path, &points, &mut apart, &mut out);
            }
        }
    }
    out
}

/// All sharp edges, once for each triangle beside them, sorted.
fn sharp(faces: &Faces<'_>, cos_angle: f32) -> Vec<Half> {
    let n = faces.len();
    let pieces = par::map(n.div_ceil(CHUNK), |chunk| {
        let mut out: Vec<Half> = Vec::new();
        for t in chunk * CHUNK..n.min((chunk + 1) * CHUNK) {
            for e in 0..3 {
                let across = faces.topology.neighbours[t][e];
                let sharp = match across {
                    Topology::BOUNDARY | Topology::NONMANIFOLD => true,
                    across => {
                        let (a, b) = (faces.normals[t], faces.normals[across as usize]);
                        a != Vec3::ZERO && b != Vec3::ZERO && a.dot(b) < cos_angle
                    }
                };
                if sharp {
                    let (a, b) = (faces.triangles[t][e], faces.triangles[t][(e + 1) % 3]);
                    out.push((a.min(b), a.max(b), t as u32));
                }
            }
        }
        out
    });
    let mut all = pieces.concat();
    par::sort_unstable(&mut all);
    all
}

/// Groups the halves into edges, and leaves out those of connected sets that are shorter than the spacing altogether.
fn long_enough(faces: &Faces<'_>, halves: Vec<Half>, spacing: f64) -> (Vec<Edge>, Vec<Half>) {
    let mut edges = Vec::new();
    let mut first = 0;
    for group in halves.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let last = first + group.len() as u32;
        edges.push(Edge { ends: [group[0].0, group[0].1], first, last });
        first = last;
    }
    let mut parent: Vec<u32> = (0..edges.len() as u32).collect();
    for group in ends(&edges).chunk_by(|a, b| a.0 == b.0) {
        for pair in group.windows(2) {
            join(&mut parent, pair[0].1, pair[1].1);
        }
    }
    let mut length = vec![0.0; edges.len()];
    for (i, e) in edges.iter().enumerate() {
        length[root(&mut parent, i as u32) as usize] +=
            (faces.vertex(e.ends[0]) - faces.vertex(e.ends[1])).length();
    }
    let kept = (0..edges.len()).filter(|i| length[root(&mut parent, *i as u32) as usize] >= spacing);
    (kept.map(|i| edges[i]).collect(), halves)
}

fn root(parent: &mut [u32], mut a: u32) -> u32 {
    while parent[a as usize] != a {
        parent[a as usize] = parent[parent[a as usize] as usize];
        a = parent[a as usize];
    }
    a
}

fn join(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(parent, a), root(parent, b));
    parent[a.max(b) as usize] = a.min(b);
}

/// Vertices and the edges that end there, sorted.
fn ends(edges: &[Edge]) -> Vec<(u32, u32)> {
    let mut out: Vec<(u32, u32)> =
        edges.iter().enumerate().flat_map(|(i, e)| e.ends.map(|v| (v, i as u32))).collect();
    par::sort_unstable(&mut out);
    out
}

/// What is needed to put points on lines.
struct Line<'a> {
    faces: &'a Faces<'a>,
    edges: &'a [Edge],
    halves: &'a [Half],
    cos_angle: f32,
    spacing: f64,
}

impl Line<'_> {
    /// One entry for each direction in which the faces of an edge look.
    fn entries(&self, edge: u32) -> Vec<Entry> {
        let e = self.edges[edge as usize];
        let halves = &self.halves[e.first as usize..e.last as usize];
        let faces = halves.iter().map(|h| (self.faces.normals[h.2 as usize], h.2));
        merged(faces, self.cos_angle)
    }

    /// Points between the ends of a line in equal steps.
    fn place(&mut self, path: &[u32], points: &[DVec3], apart: &mut Apart, out: &mut Points) {
        let least = self.spacing * (1.0 + 1e-6);
        let (steps, rest) = walk(points, least);
        if steps.is_empty() {
            return;
        }
        // As many steps, a little longer, so that the last one ends at the end.
        let longer = least + rest / steps.len() as f64;
        let end = points[points.len() - 1];
        for (segment, p) in walk(points, longer).0 {
            if (p - end).length() >= least && apart.take(p.as_vec3()) {
                out.push(p.as_vec3(), &self.entries(path[segment]));
            }
        }
    }
}

/// Points on a line at steps of `step`, measured straight, with their segments; and how much is left at the end.
fn walk(points: &[DVec3], step: f64) -> (Vec<(usize, DVec3)>, f64) {
    let mut out = Vec::new();
    let mut last = points[0];
    let mut from = points[0];
    let mut segment = 0;
    while segment + 1 < points.len() {
        let to = points[segment + 1];
        if (to - last).length() < step {
            segment += 1;
            from = to;
            continue;
        }
        // The ball around the last point is left on this segment: the larger root.
        let (d, w) = (to - from, from - last);
        let (a, b, c) = (d.length_squared(), d.dot(w), w.length_squared() - step * step);
        let t = if a > 0.0 { ((-b + (b * b - a * c).max(0.0).sqrt()) / a).clamp(0.0, 1.0) } else { 1.0 };
        let p = from + d * t;
        out.push((segment, p));
        if (p - last).length() < 0.5 * step {
            // Rounding: the step is below the resolution of the coordinates.
            break;
        }
        (last, from) = (p, p);
    }
    (out, (points[points.len() - 1] - last).length())
}

/// Normals that differ by less than the angle, as one: the first one's direction and triangle.
fn merged(faces: impl Iterator<Item = (Vec3, u32)>, cos_angle: f32) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    let mut flat = 0;
    for (normal, triangle) in faces {
        flat = triangle;
        if normal != Vec3::ZERO && !out.iter().any(|e| e.normal.dot(normal) >= cos_angle) {
            out.push(Entry { normal, triangle });
        }
    }
    if out.is_empty() {
        out.push(Entry { normal: Vec3::ZERO, triangle: flat });
    }
    out
}

/// For each vertex of `corners` (sorted) one entry for each run of faces around it between sharp edges.
fn sectors(
    faces: &Faces<'_>,
    corners: &[u32],
    cos_angle: f32,
    is_sharp: impl Fn(u32, u32) -> bool + Sync + Send,
) -> Vec<Vec<Entry>> {
    // The triangles at corners.
    let mut number = vec![u32::MAX; if corners.is_empty() { 0 } else { faces.vertex_count() }];
    for (i, &v) in corners.iter().enumerate() {
        number[v as usize] = i as u32;
    }
    let n = if corners.is_empty() { 0 } else { faces.len() };
    let pieces = par::map(n.div_ceil(CHUNK), |chunk| {
        let mut out: Vec<(u32, u32)> = Vec::new();
        for t in chunk * CHUNK..n.min((chunk + 1) * CHUNK) {
            for v in faces.triangles[t] {
                if number[v as usize] != u32::MAX {
                    out.push((number[v as usize], t as u32));
                }
            }
        }
        out
    });
    let mut all = pieces.concat();
    par::sort_unstable(&mut all);
    par::map(corners.len(), |i| {
        let from = all.partition_point(|a| a.0 < i as u32);
        let to = from + all[from..].partition_point(|a| a.0 == i as u32);
        let triangles: Vec<u32> = all[from..to].iter().map(|a| a.1).collect();
        let place: BTreeMap<u32, u32> = triangles.iter().zip(0..).map(|(t, i)| (*t, i)).collect();
        // Joined over edges that end here and are not sharp.
        let mut parent: Vec<u32> = (0..triangles.len() as u32).collect();
        let v = corners[i];
        for (k, &t) in triangles.iter().enumerate() {
            for e in 0..3 {
                let (a, b) = (faces.triangles[t as usize][e], faces.triangles[t as usize][(e + 1) % 3]);
                let across = faces.topology.neighbours[t as usize][e];
                if (a == v || b == v)
                    && across < Topology::NONMANIFOLD
                    && !is_sharp(a, b)
                    && let Some(&other) = place.get(&across)
                {
                    join(&mut parent, k as u32, other);
                }
            }
        }
        let mut sums: BTreeMap<u32, (Vec3, u32)> = BTreeMap::new();
        for (k, &t) in triangles.iter().enumerate() {
            let tri = faces.triangles[t as usize];
            let c = (0..3).find(|c| tri[*c] == v).unwrap_or(0);
            let p = faces.vertex(v);
            let (x, y) = (faces.vertex(tri[(c + 1) % 3]) - p, faces.vertex(tri[(c + 2) % 3]) - p);
            let weighted = faces.normals[t as usize] * x.angle_between(y) as f32;
            let sum = sums.entry(root(&mut parent, k as u32)).or_insert((Vec3::ZERO, t));
            sum.0 += if weighted.is_finite() { weighted } else { Vec3::ZERO };
        }
        merged(sums.into_values().map(|(n, t)| (n.normalize_or_zero(), t)), cos_angle)
    })
}
