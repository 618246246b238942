//! Two deforming meshes: `set_vertices`, which refits the tree, then `contact_manifolds` for all pairs of triangles.

use crate::protocol::{Done, Mesh, Request, hash_pairs, read_points};
use parry3d::math::{Pose, Vector};
use parry3d::query::{ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher};
use parry3d::shape::{TriMesh, TriMeshFlags};
use std::time::{Duration, Instant};

type Manifold = ContactManifold<(), ()>;

pub fn answer(request: &Request) -> Result<Done, String> {
    let (mut a, steps_a) = load(request.text("mesh"), request.text("steps"))?;
    let (mut b, steps_b) = load(request.text("mesh_b"), request.text("steps_b"))?;
    let (of_a, of_b) = (a.vertices().len().max(1), b.vertices().len().max(1));
    let (repeat, limit) = (request.number("repeat", 1.0).max(1.0) as usize, request.number("limit_s", 0.0));
    let keeps = request.text("kind") == "kept";
    let mut done = Done::default();
    let mut manifolds: Vec<Manifold> = Vec::new();
    let mut workspace = None;
    let begin = Instant::now();
    for (pa, pb) in steps_a.chunks_exact(of_a).zip(steps_b.chunks_exact(of_b)) {
        let (mut update, mut search) = (Duration::MAX, Duration::MAX);
        for _ in 0..repeat {
            let start = Instant::now();
            a.set_vertices(pa);
            b.set_vertices(pb);
            update = update.min(start.elapsed());
            if !keeps {
                manifolds.clear();
                workspace = None;
            }
            let start = Instant::now();
            let dispatcher = DefaultQueryDispatcher;
            let asked =
                dispatcher.contact_manifolds(&Pose::IDENTITY, &a, &b, 0.0, &mut manifolds, &mut workspace);
            asked.map_err(|e| e.to_string())?;
            search = search.min(start.elapsed());
        }
        let touching = |m: &&Manifold| m.points.iter().any(|p| p.dist <= 0.0);
        let found = || manifolds.iter().filter(touching).map(|m| [m.subshape1, m.subshape2]);
        done.updates.push(update.as_secs_f64() * 1e6);
        done.micros.push(search.as_secs_f64() * 1e6);
        done.values.push(found().count() as f64);
        done.hashes.push(hash_pairs(found()));
        done.count += 1;
        if limit > 0.0 && begin.elapsed().as_secs_f64() > limit {
            break;
        }
    }
    Ok(done)
}

fn load(mesh: &str, steps: &str) -> Result<(TriMesh, Vec<Vector>), String> {
    let mut raw = Mesh::default();
    raw.load(mesh)?;
    let points = raw.positions.iter().map(|p| Vector::from_array(*p)).collect();
    let shape = TriMesh::with_flags(points, raw.triangles, TriMeshFlags::DEFORMABLE);
    let shape = shape.map_err(|e| format!("parry refuses the mesh: {e}"))?;
    Ok((shape, read_points(steps)?.into_iter().map(Vector::from_array).collect()))
}
