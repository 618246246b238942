//! glTF 2.0 and GLB: the triangles of the default scene, in the scene's frame.
//!
//! Node transforms are applied in f64. Skins, morph targets and animations are not: the mesh is as it rests. A
//! mirroring transform turns its triangles round, so that they stay counter-clockwise from outside.

use super::gltf_data::{Data, Document, Primitive};
use super::soup::Soup;
use super::{Format, MeshError, Place, RawMesh};
use glam::{DMat4, DQuat, DVec3};
use std::path::Path;

/// Triangles and vertices that a scene may have when its nodes repeat meshes [1]: about 2.4 GB. A small file can name
/// one mesh a million times; without a limit it would fill the memory.
const MAX_REPEATED: usize = 1 << 26;

/// Extensions that keep the positions in another place, so that a file which requires one cannot be read without.
const STORED_ELSEWHERE: [&str; 5] = [
    "KHR_draco_mesh_compression",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    "MESHOPT_compression",
    "EXT_mesh_gpu_instancing",
];

/// Reads a glTF or GLB file. `folder`: where external buffers are; None refuses them.
pub(super) fn parse(bytes: &[u8], scale: f64, folder: Option<&Path>) -> Result<RawMesh, MeshError> {
    let data = Data::open(bytes, folder)?;
    let document = &data.document;
    if let Some(name) = document.extensions_required.iter().find(|e| STORED_ELSEWHERE.contains(&e.as_str())) {
        return Err(compressed(Place::Header, name));
    }
    let mut soup = Soup::new(Format::Gltf, scale, 0);
    for (mesh, scene_from_node) in placed_meshes(document)? {
        let found = document.meshes.get(mesh).ok_or_else(|| {
            fail("mesh", mesh, format!("a node uses it but the file has {} meshes", document.meshes.len()))
        })?;
        for primitive in &found.primitives {
            add(&data, mesh, primitive, scene_from_node, &mut soup)?;
        }
    }
    soup.finish(|mesh| Place::Element("mesh", mesh))
}

fn fail(kind: &'static str, index: usize, problem: impl std::fmt::Display) -> MeshError {
    let problem = format!("{problem}; the file is damaged, export it again");
    MeshError::malformed(Format::Gltf, Place::Element(kind, index), problem)
}

fn compressed(place: Place, extension: &str) -> MeshError {
    let feature =
        format!("the mesh is stored with {extension}, which is not read; export it without compression");
    MeshError::unsupported(Format::Gltf, place, feature)
}

/// Every use of a mesh in the scene, with its pose, in depth-first order. Each node is visited once at most, as the
/// standard demands, so a ring of nodes ends and shared nodes cannot multiply.
fn placed_meshes(document: &Document) -> Result<Vec<(usize, DMat4)>, MeshError> {
    let nodes = &document.nodes;
    if nodes.is_empty() {
        return Ok((0..document.meshes.len()).map(|m| (m, DMat4::IDENTITY)).collect());
    }
    let roots: Vec<usize> = if document.scenes.is_empty() {
        let mut is_child = vec![false; nodes.len()];
        for &c in nodes.iter().flat_map(|n| &n.children) {
            if let Some(flag) = is_child.get_mut(c) {
                *flag = true;
            }
        }
        (0..nodes.len()).filter(|&n| !is_child[n]).collect()
    } else {
        let scene = document.scene.unwrap_or(0);
        let count = document.scenes.len();
        let found = document.scenes.get(scene);
        found.ok_or_else(|| fail("scene", scene, format!("the file has {count} scenes")))?.nodes.clone()
    };
    let mut placed = Vec::new();
    let mut seen = vec![false; nodes.len()];
    let mut stack: Vec<(usize, DMat4)> = roots.into_iter().rev().map(|n| (n, DMat4::IDENTITY)).collect();
    while let Some((n, scene_from_parent)) = stack.pop() {
        let Some(node) = nodes.get(n) else {
            return Err(fail("node", n, format!("it is used but the file has {} nodes", nodes.len())));
        };
        if std::mem::replace(&mut seen[n], true) {
            return Err(fail("node", n, "it is used twice; a node has one parent"));
        }
        let scene_from_node = scene_from_parent * parent_from_node(node);
        if !scene_from_node.is_finite() {
            return Err(fail("node", n, "its transform is not finite"));
        }
        if let Some(mesh) = node.mesh {
            placed.push((mesh, scene_from_node));
        }
        stack.extend(node.children.iter().rev().map(|&c| (c, scene_from_node)));
    }
    Ok(placed)
}

fn parent_from_node(node: &super::gltf_data::Node) -> DMat4 {
    if let Some(columns) = &node.matrix {
        return DMat4::from_cols_array(columns);
    }
    let rotation = node.rotation.map_or(DQuat::IDENTITY, DQuat::from_array);
    // Files write rotations rounded to f32; a zero one would be NaN.
    let rotation = if rotation.length_squared() > 0.0 { rotation.normalize() } else { DQuat::IDENTITY };
    let scale = node.scale.map_or(DVec3::ONE, DVec3::from_array);
    let translation = node.translation.map_or(DVec3::ZERO, DVec3::from_array);
    DMat4::from_scale_rotation_translation(scale, rotation, translation)
}

/// Adds the triangles of one primitive; points and lines have none.
fn add(
    data: &Data<'_>,
    mesh: usize,
    primitive: &Primitive,
    scene_from_node: DMat4,
    soup: &mut Soup,
) -> Result<(), MeshError> {
    let mode = primitive.mode.unwrap_or(4);
    let Some(&accessor) = primitive.attributes.get("POSITION") else { return Ok(()) };
    match mode {
        0..=3 => return Ok(()),
        4..=6 => {}
        _ => return Err(fail("mesh", mesh, format!("primitive mode is {mode}; expected 0 to 6"))),
    }
    let has_data = data.document.accessors.get(accessor).is_none_or(|a| a.buffer_view.is_some());
    if let Some(name) = STORED_ELSEWHERE.iter().find(|e| primitive.extensions.contains_key(**e))
        && !has_data
    {
        return Err(compressed(Place::Element("mesh", mesh), name));
    }
    let positions = data.positions(accessor)?;
    let indices = match primitive.indices {
        Some(accessor) => data.indices(accessor)?,
        None => (0..u32::try_from(positions.len()).unwrap_or(u32::MAX)).collect(),
    };
    let (vertices, faces) = (soup.vertices() + positions.len(), soup.faces() + indices.len());
    if vertices.max(faces) > MAX_REPEATED {
        let problem =
            format!("the scene repeats meshes up to {vertices} vertices; the limit is {MAX_REPEATED}");
        let place = Place::Element("mesh", mesh);
        return Err(MeshError::malformed(Format::Gltf, place, format!("{problem}, export fewer copies")));
    }
    let check = |corners: [u32; 3], face: usize| {
        for v in corners {
            let place = Place::Element("mesh", mesh);
            let Some(&p) = positions.get(v as usize) else {
                let (index, vertices) = (i64::from(v), positions.len());
                return Err(MeshError::IndexOutOfRange {
                    file: None,
                    format: Format::Gltf,
                    place,
                    face,
                    index,
                    vertices,
                });
            };
            if !p.is_finite() {
                let vertex = v as usize;
                return Err(MeshError::NotFinite {
                    file: None,
                    format: Format::Gltf,
                    place,
                    vertex,
                    value: p,
                });
            }
        }
        Ok(())
    };
    let first = soup.vertices() as u32;
    for &p in &positions {
        soup.vertex(scene_from_node.transform_point3(p), mesh);
    }
    let mirrored = scene_from_node.determinant() < 0.0;
    let count = if mode == 4 { indices.len() / 3 } else { indices.len().saturating_sub(2) };
    if mode == 4 && indices.len() % 3 != 0 {
        return Err(fail("mesh", mesh, format!("{} corners are not a multiple of 3", indices.len())));
    }
    for face in 0..count {
        let [a, b, c] = match mode {
            4 => [indices[3 * face], indices[3 * face + 1], indices[3 * face + 2]],
            5 if face % 2 == 1 => [indices[face + 1], indices[face], indices[face + 2]],
            5 => [indices[face], indices[face + 1], indices[face + 2]],
            _ => [indices[0], indices[face + 1], indices[face + 2]],
        };
        check([a, b, c], face)?;
        // A strip turns a corner by repeating a vertex: such a triangle is not a face.
        if mode == 4 || (a != b && b != c && c != a) {
            let corners = if mirrored { [a, c, b] } else { [a, b, c] };
            soup.triangle(corners.map(|v| v + first), mesh);
        }
    }
    Ok(())
}
