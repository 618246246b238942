//! Meshes: from files and arrays, what they are, what they weigh.

use crate::border::{In, List, Out, Room, Text, export};
use crate::error::Failure;
use crate::handle::{self, MeshHandle};
use glam::DVec3;
use palpate::Mesh;
use palpate::mesh::{RawMesh, RepairParams, below_front, samples, thicken};
use std::sync::Arc;

/// `palp_mesh_report`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct MeshReportValue {
    /// After the repair.
    pub vertices: u64,
    /// After the repair.
    pub triangles: u64,
    /// Vertices that became one with an earlier one.
    pub welded_vertices: u64,
    /// Triangles without area.
    pub degenerate: u64,
    /// Triangles that were there twice.
    pub duplicate_faces: u64,
    /// Triangles turned around.
    pub flipped_faces: u64,
    /// Edges with one face.
    pub boundary_edges: u64,
    /// Edges with three or more faces.
    pub nonmanifold_edges: u64,
    /// Parts connected through edges.
    pub components: u64,
    /// Loops of boundary edges.
    pub holes: u64,
    /// [m³]
    pub volume: f64,
    /// [m²]
    pub area: f64,
    /// [m]
    pub aabb_min: [f64; 3],
    /// [m]
    pub aabb_max: [f64; 3],
    /// [m]
    pub suggested_voxel: f64,
    /// No boundary edge and no non-manifold edge.
    pub watertight: i32,
    /// 0
    pub reserved: i32,
}

/// `palp_mass`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct MassValue {
    /// [kg]
    pub mass: f64,
    /// [m³]
    pub volume: f64,
    /// [m]
    pub centre: [f64; 3],
    /// Row by row, about the centre [kg m²].
    pub inertia: [f64; 9],
}

/// A handle for a mesh.
fn keep(mesh: Result<Mesh, palpate::mesh::MeshError>) -> Result<MeshHandle, Failure> {
    handle::insert(Arc::new(mesh?))
}

export! {
    /// Reads and repairs a mesh file.
    fn palp_mesh_load(path: Text<'_>, unit: f64, mesh: Out<'_, MeshHandle>) {
        let (path, mut mesh) = (path.path("path")?, mesh.ready("mesh")?);
        mesh.put(keep(Mesh::load(path, unit))?);
        Ok(())
    }

    /// Repairs a mesh given as arrays.
    fn palp_mesh_from_arrays(
        positions: List<'_, [f64; 3]>,
        vertex_count: usize,
        triangles: List<'_, [u32; 3]>,
        triangle_count: usize,
        mesh: Out<'_, MeshHandle>,
    ) {
        let mut mesh = mesh.ready("mesh")?;
        let positions = positions.get(vertex_count, "positions")?;
        let triangles = triangles.get(triangle_count, "triangles")?;
        let positions = positions.iter().map(|p| DVec3::from_array(*p)).collect();
        let raw = RawMesh { positions, triangles: triangles.to_vec() };
        mesh.put(keep(Mesh::new(raw, &RepairParams::default()))?);
        Ok(())
    }

    /// A mesh given as arrays, its open parts made solid below their front.
    fn palp_mesh_thicken(
        positions: List<'_, [f64; 3]>,
        vertex_count: usize,
        triangles: List<'_, [u32; 3]>,
        triangle_count: usize,
        up: In<'_, [f64; 3]>,
        thickness: f64,
        mesh: Out<'_, MeshHandle>,
    ) {
        let mut mesh = mesh.ready("mesh")?;
        let positions = positions.get(vertex_count, "positions")?;
        let triangles = triangles.get(triangle_count, "triangles")?;
        // Written so that NaN fails.
        if !(thickness > 0.0 && thickness.is_finite()) {
            return Err(Failure::argument(format!("thickness is {thickness} m; give a positive number")));
        }
        let up = up.optional().map(DVec3::from_array);
        // A length whose square is beyond a number has no direction either.
        let given = up.map(|up| up.try_normalize().ok_or_else(|| {
            Failure::argument(format!("up is {up}; give a direction, or NULL"))
        })).transpose()?;
        let positions: Vec<DVec3> = positions.iter().map(|p| DVec3::from_array(*p)).collect();
        let below = match given {
            Some(up) => Some(-up),
            None => below_front(&positions, triangles)?,
        };
        let raw = match below {
            Some(way) => thicken(&positions, triangles, way * thickness)?.mesh,
            None => RawMesh { positions, triangles: triangles.to_vec() },
        };
        mesh.put(keep(Mesh::new(raw, &RepairParams::default()))?);
        Ok(())
    }

    /// A procedural mesh by its name.
    fn palp_mesh_sample(name: Text<'_>, mesh: Out<'_, MeshHandle>) {
        let (name, mut mesh) = (name.get("name")?, mesh.ready("mesh")?);
        let raw = samples::by_name(name).ok_or_else(|| {
            Failure::argument(format!("there is no sample \"{name}\"; there are {}", samples::NAMES.join(", ")))
        })?;
        mesh.put(keep(Mesh::new(raw, &RepairParams::default()))?);
        Ok(())
    }

    /// Frees a mesh. Shapes built from it stay.
    fn palp_mesh_free(mesh: MeshHandle) {
        handle::free(mesh, "mesh")
    }

    /// What a mesh is, and what was repaired.
    fn palp_mesh_get_report(mesh: MeshHandle, report: Out<'_, MeshReportValue>) {
        let mut report = report.ready("report")?;
        let mesh = handle::cloned(mesh, "mesh")?;
        let r = mesh.report();
        report.put(MeshReportValue {
            vertices: r.vertices as u64,
            triangles: r.triangles as u64,
            welded_vertices: r.welded_vertices as u64,
            degenerate: r.degenerate as u64,
            duplicate_faces: r.duplicate_faces as u64,
            flipped_faces: r.flipped_faces as u64,
            boundary_edges: r.boundary_edges as u64,
            nonmanifold_edges: r.nonmanifold_edges as u64,
            components: r.components as u64,
            holes: r.holes as u64,
            volume: r.volume,
            area: r.area,
            aabb_min: r.aabb.min.to_array(),
            aabb_max: r.aabb.max.to_array(),
            suggested_voxel: r.suggested_voxel,
            watertight: r.watertight.into(),
            reserved: 0,
        });
        Ok(())
    }

    /// Mass, centre and inertia for a density.
    fn palp_mesh_get_mass(mesh: MeshHandle, density: f64, mass: Out<'_, MassValue>) {
        let mut mass = mass.ready("mass")?;
        let mesh = handle::cloned(mesh, "mesh")?;
        mass.put(mass_of(&mesh, density)?);
        Ok(())
    }

    /// Copies the vertices.
    fn palp_mesh_copy_positions(
        mesh: MeshHandle,
        positions: Room<'_, [f64; 3]>,
        capacity: usize,
        count: Out<'_, usize>,
    ) {
        let mut out = positions.writer(capacity, "positions")?;
        handle::cloned(mesh, "mesh")?.positions().iter().for_each(|p| out.push(p.to_array()));
        out.end(count, "positions")
    }

    /// Copies the triangles.
    fn palp_mesh_copy_triangles(
        mesh: MeshHandle,
        triangles: Room<'_, [u32; 3]>,
        capacity: usize,
        count: Out<'_, usize>,
    ) {
        let mut out = triangles.writer(capacity, "triangles")?;
        handle::cloned(mesh, "mesh")?.triangles().iter().for_each(|t| out.push(*t));
        out.end(count, "triangles")
    }
}

/// Mass properties of a mesh.
pub(crate) fn mass_of(mesh: &Mesh, density: f64) -> Result<MassValue, Failure> {
    if !(density > 0.0 && density.is_finite()) {
        return Err(Failure::argument(format!("density is {density} kg/m³; give a positive number")));
    }
    let m = mesh.mass_properties();
    let inertia = (m.inertia * density).transpose().to_cols_array();
    Ok(MassValue { mass: m.volume * density, volume: m.volume, centre: m.centre.to_array(), inertia })
}
