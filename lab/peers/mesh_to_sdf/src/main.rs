//! mesh_to_sdf as a peer: a dense grid of signed distances, sign by three rays.
//!
//! Timed: `generate_grid_sdf` alone. The request's `origin` and `dims` give the first node and the number of nodes.
#[path = "../../protocol.rs"]
mod protocol;

use mesh_to_sdf::{Grid, SignMethod, Topology, generate_grid_sdf};
use protocol::{Done, Mesh, Request, read_points, sample_dense, serve, timed, write_distances};

fn main() {
    let mut mesh = Mesh::default();
    serve("0.4", |request| match request.text("job") {
        "build" => {
            mesh.load(request.text("mesh"))?;
            build(&mesh, request)
        }
        other => Err(format!("mesh_to_sdf does not do the job '{other}'")),
    });
}

fn build(mesh: &Mesh, request: &Request) -> Result<Done, String> {
    let (origin, dims) = (request.triple("origin")?, request.triple("dims")?.map(|n| n as usize));
    let h = request.number("voxel", 0.0);
    if !(h > 0.0) || dims.iter().any(|&n| n < 2) {
        return Err("voxel must be positive and dims at least 2".into());
    }
    let threads = request.number("threads", 1.0) as usize;
    // The crate starts helper threads that use the global pool, so that one is limited; the first request decides.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    let grid = Grid::new(origin.map(|x| x as f32), [h as f32; 3], dims);
    let corners = mesh.triangles.as_flattened();
    let generate = || {
        generate_grid_sdf(&mesh.positions, Topology::TriangleList(Some(corners)), &grid, SignMethod::Raycast)
    };
    let (seconds, values) = timed(request, generate);
    let (points, out) = (request.text("points"), request.text("out"));
    if let Some(values) = &values
        && !points.is_empty()
        && !out.is_empty()
    {
        let at = |p| sample_dense(values, origin, h, dims, p);
        write_distances(out, &read_points(points)?.into_iter().map(at).collect::<Vec<f32>>())?;
    }
    Ok(Done { seconds, count: dims.iter().product(), ..Default::default() })
}
