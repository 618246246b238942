//! parry3d as a peer: surface voxels, and signed distance of points to a mesh. One thread, f32.
//!
//! Timed: `VoxelSet::with_voxel_size` alone; `project_local_point` of all points (the mesh's tree is built before).
#[path = "../../protocol.rs"]
mod protocol;

use parry3d::math::Vector;
use parry3d::query::PointQuery;
use parry3d::shape::{TriMesh, TriMeshFlags};
use parry3d::transformation::voxelization::{FillMode, VoxelSet};
use protocol::{Done, Mesh, Request, read_points, serve, timed, write_distances};

fn main() {
    let mut mesh = Mesh::default();
    let mut shape = None;
    serve("0.31", |request| {
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
    Ok(Done { seconds, count: set.map_or(0, |s| s.len()) })
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
    Ok(Done { seconds, count: points.len() })
}
