//! parry3d as a peer: surface voxels, signed distance of points to a mesh, and two meshes, rigid or deforming. One thread, f32.
//!
//! Timed: `VoxelSet::with_voxel_size` alone; `project_local_point` of all points (the mesh's tree is built before);
//! for two meshes `intersection_test`, `contact_manifolds` without what an earlier call kept, and `distance`.
#[path = "../../protocol.rs"]
mod protocol;
mod soft;

use parry3d::math::{Pose, Rotation, Vector};
use parry3d::query::{
    ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher, PointQuery, QueryDispatcher,
};
use parry3d::shape::{TriMesh, TriMeshFlags};
use parry3d::transformation::voxelization::{FillMode, VoxelSet};
use protocol::{Done, Mesh, Request, answer_pair, read_points, serve, timed, write_distances};
use std::time::Instant;

fn main() {
    let mut mesh = Mesh::default();
    let mut shape = None;
    let mut pairs = Vec::new();
    serve("0.31", |request| {
        if request.text("job") == "pair" {
            return pair(&mut pairs, request);
        }
        if request.text("job") == "soft" {
            return soft::answer(request);
        }
        if mesh.load(request.text("mesh"))? {
            shape = None;
        }
        match request.text("job") {
            "voxelize" => voxelize(&mesh, request),
            "sample" => {
                if shape.is_none() {
                    let flags = TriMeshFlags::ORIENTED;
                    let built = TriMesh::with_flags(vectors(&mesh), mesh.triangles.clone(), flags);
                    shape = Some(built.map_err(|e| format!("parry refuses the mesh: {e}"))?);
                }
                sample(shape.as_ref().ok_or("no mesh")?, request)
            }
            other => Err(format!("parry does not do the job '{other}'")),
        }
    });
}

fn vectors(mesh: &Mesh) -> Vec<Vector> {
    mesh.positions.iter().map(|p| Vector::from_array(*p)).collect()
}

fn voxelize(mesh: &Mesh, request: &Request) -> Result<Done, String> {
    let points = vectors(mesh);
    let h = request.number("voxel", 0.0) as f32;
    if !(h > 0.0) {
        return Err("voxel must be positive".into());
    }
    let fill = FillMode::SurfaceOnly;
    let (seconds, set) =
        timed(request, || VoxelSet::with_voxel_size(&points, &mesh.triangles, h, fill, false));
    Ok(Done { seconds, count: set.map_or(0, |s| s.len()), ..Default::default() })
}

fn sample(shape: &TriMesh, request: &Request) -> Result<Done, String> {
    let points: Vec<Vector> =
        read_points(request.text("points"))?.into_iter().map(Vector::from_array).collect();
    let distance = |p: &Vector| {
        let nearest = shape.project_local_point(*p, false);
        let d = (nearest.point - *p).length();
        if nearest.is_inside { -d } else { d }
    };
    let (seconds, distances) = timed(request, || points.iter().map(distance).collect::<Vec<f32>>());
    if let (out, Some(distances)) = (request.text("out"), &distances)
        && !out.is_empty()
    {
        write_distances(out, distances)?;
    }
    Ok(Done { seconds, count: points.len(), ..Default::default() })
}

/// A mesh at a scale, and the seconds it took to build.
struct Scaled {
    path: String,
    scale: f64,
    shape: TriMesh,
    seconds: f64,
}

/// Where the mesh is in `built`, which gets it if it lacks it.
fn scaled(built: &mut Vec<Scaled>, path: &str, scale: f64) -> Result<usize, String> {
    if let Some(at) = built.iter().position(|s| s.path == path && s.scale == scale) {
        return Ok(at);
    }
    let mut mesh = Mesh::default();
    mesh.load(path)?;
    let points = vectors(&mesh).into_iter().map(|p| p * scale as f32).collect();
    let start = Instant::now();
    let shape = TriMesh::new(points, mesh.triangles).map_err(|e| format!("parry refuses the mesh: {e}"))?;
    let seconds = start.elapsed().as_secs_f64();
    built.push(Scaled { path: path.to_owned(), scale, shape, seconds });
    Ok(built.len() - 1)
}

fn pair(built: &mut Vec<Scaled>, request: &Request) -> Result<Done, String> {
    let scale = request.number("scale", 1.0);
    let a = scaled(built, request.text("mesh"), scale)?;
    let b = scaled(built, request.text("mesh_b"), scale)?;
    let (a, b) = (&built[a], &built[b]);
    let place = |p: &[f64; 7]| {
        let translation = Vector::new((scale * p[0]) as f32, (scale * p[1]) as f32, (scale * p[2]) as f32);
        let rotation = Rotation::from_xyzw(p[3] as f32, p[4] as f32, p[5] as f32, p[6] as f32);
        Pose::from_parts(translation, rotation)
    };
    let says = |e: parry3d::query::Unsupported| e.to_string();
    let kind = request.text("kind").to_owned();
    let mut manifolds: Vec<ContactManifold<(), ()>> = Vec::new();
    answer_pair(request, a.seconds + b.seconds, |pose| {
        let pose = place(pose);
        match kind.as_str() {
            "boolean" => {
                let found = DefaultQueryDispatcher.intersection_test(&pose, &a.shape, &b.shape).map_err(says)?;
                Ok(f64::from(u8::from(found.intersecting)))
            }
            "contacts" => {
                manifolds.clear();
                let workspace = &mut None;
                let dispatcher = DefaultQueryDispatcher;
                let done =
                    dispatcher.contact_manifolds(&pose, &a.shape, &b.shape, 0.0, &mut manifolds, workspace);
                done.map_err(says)?;
                let touching = |m: &&ContactManifold<(), ()>| m.points.iter().any(|p| p.dist <= 0.0);
                Ok(manifolds.iter().filter(touching).count() as f64)
            }
            "distance" => {
                let found = DefaultQueryDispatcher.distance(&pose, &a.shape, &b.shape).map_err(says)?;
                Ok(f64::from(found.distance) / scale)
            }
            other => Err(format!("parry has no query of the kind '{other}'")),
        }
    })
}
