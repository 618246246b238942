//! Samples at the vertices alone.

use super::field::{Deepest, FieldContacts, Place, contact};
use super::field_sample::{FARTHEST, Job};
use crate::par;
use glam::{DVec3, Vec3};

/// Vertices in a work item.
const CHUNK: usize = 4096;

/// What is known of the vertices.
#[derive(Debug, Default)]
pub(super) struct Corners {
    distances: Vec<f32>,
    /// The first triangle of each that takes part, and which corner of it; [`NONE`] without any.
    first: Vec<[u32; 2]>,
    /// Normal times area of the triangles of each, and area [m²].
    surface: Vec<(DVec3, f64)>,
}

const NONE: [u32; 2] = [u32::MAX, 0];

impl Corners {
    /// Samples the vertices of triangles that take part.
    pub(super) fn find(&mut self, job: &Job<'_>, found: &mut FieldContacts) {
        let n = job.points.len();
        self.distances.resize(n, 0.0);
        par::chunks_mut(&mut self.distances, CHUNK, |i, out| {
            let points = job.points.get(i * CHUNK..).unwrap_or(&[]);
            job.rigid.distances(job.origin, &points[..points.len().min(out.len())], out);
        });
        self.first.clear();
        self.first.resize(n, NONE);
        self.surface.clear();
        self.surface.resize(n, (DVec3::ZERO, 0.0));
        for (triangle, corners) in job.mesh.triangles().iter().enumerate() {
            if job.mesh.usable().get(triangle) != Some(&true) {
                continue;
            }
            let triangle = triangle as u32;
            let mut near = false;
            for (k, v) in corners.iter().enumerate() {
                let v = *v as usize;
                let (Some(first), Some(d)) = (self.first.get_mut(v), self.distances.get(v)) else { continue };
                if *first == NONE {
                    *first = [triangle, k as u32];
                }
                near |= *d <= job.margin;
            }
            if near {
                let (normal, area) = job.surface(triangle);
                for v in corners {
                    if let Some(sum) = self.surface.get_mut(*v as usize) {
                        *sum = (sum.0 + normal * area, sum.1 + area / 3.0);
                    }
                }
            }
        }
        self.collect(job, found);
    }

    fn collect(&self, job: &Job<'_>, found: &mut FieldContacts) {
        let mut best: Option<(f32, usize)> = None;
        for (v, first) in self.first.iter().enumerate() {
            let (distance, point) = (self.distances[v], job.points[v]);
            let placed = point.abs().max_element() <= FARTHEST && !distance.is_nan();
            if *first == NONE || !placed {
                continue;
            }
            found.samples += 1;
            if distance <= job.margin {
                let (normal, area) = self.surface[v];
                let own = normal.try_normalize().unwrap_or(DVec3::ZERO);
                let gradient = job.rigid.sample(job.origin + point.as_dvec3()).gradient;
                found.contacts.list.push(contact(point, distance, gradient, v as u32, own, area));
                found.places.push(place(*first));
            }
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, v));
            }
        }
        found.deepest = best.map(|(_, v)| {
            let point = job.origin + job.points[v].as_dvec3();
            let sample = job.rigid.sample(point);
            let place = place(self.first[v]);
            Deepest { distance: sample.distance, point, gradient: sample.gradient, place }
        });
    }
}

fn place([triangle, corner]: [u32; 2]) -> Place {
    let barycentric = [Vec3::X, Vec3::Y, Vec3::Z].get(corner as usize).map_or([0.0; 3], |v| v.to_array());
    Place { triangle, barycentric, path: 1 }
}
