//! glTF 2.0 and GLB: the triangles of the default scene, in the scene's frame.
//!
//! Node transforms are applied in f64. Skins, morph targets and animations are not: the mesh is as it rests. A
//! mirroring transform turns its triangles round, so that they stay counter-clockwise from outside.

use super::gltf_data::{Data, Document, MeshEntry, Node, Primitive};
use super::soup::Soup;
use super::{Format, Place, RawMesh, ReadError};
use glam::{DMat4, DQuat, DVec3};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Vertices, corners of triangles and primitives, all together, that a scene may have when its nodes repeat meshes:
/// 1.6 GB at most. A small file can name one mesh a million times; without a limit it would fill the memory.
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
pub(super) fn parse(bytes: &[u8], scale: f64, folder: Option<&Path>) -> Result<RawMesh, ReadError> {
    let data = Data::open(bytes, folder)?;
    readable(&data.document)?;
    let mut scene = Scene { data: &data, soup: Soup::new(Format::Gltf, scale, 0) };
    let placed_meshes = placed_meshes(&data.document)?;
    limit_copies(&data, &placed_meshes.iter().map(|p| p.mesh).collect::<Vec<_>>())?;
    for placed in placed_meshes {
        scene.mesh(placed.mesh, placed.scene_from_node)?;
    }
    scene.soup.finish(|mesh| Place::Element("mesh", mesh))
}

/// Refuses a file whose positions are in a form that is not read.
pub(super) fn readable(document: &Document) -> Result<(), ReadError> {
    match document.extensions_required.iter().find(|e| STORED_ELSEWHERE.contains(&e.as_str())) {
        Some(name) => Err(compressed(Place::Header, name)),
        None => Ok(()),
    }
}

/// A mesh's name, if it has one.
pub(super) fn mesh_name(document: &Document, mesh: usize) -> Option<String> {
    document.meshes.get(mesh)?.name.clone().filter(|n| !n.is_empty())
}

/// A use of a mesh.
pub(super) struct Use {
    pub(super) mesh: usize,
    /// The node's, if it has one.
    pub(super) name: Option<String>,
    pub(super) scene_from_node: DMat4,
}

fn fail(kind: &'static str, index: usize, problem: impl std::fmt::Display) -> ReadError {
    let problem = format!("{problem}; the file is damaged, export it again");
    ReadError::malformed(Format::Gltf, Place::Element(kind, index), problem)
}

fn compressed(place: Place, extension: &str) -> ReadError {
    let feature =
        format!("the mesh is stored with {extension}, which is not read; export it without compression");
    ReadError::unsupported(Format::Gltf, place, feature)
}

/// Every use of a mesh in the scene, with its pose, in depth-first order. Each node is visited once at most, as the
/// standard demands, so a ring of nodes ends and shared nodes cannot multiply.
pub(super) fn placed_meshes(document: &Document) -> Result<Vec<Use>, ReadError> {
    let nodes = &document.nodes;
    if nodes.is_empty() {
        let whole = |mesh| Use { mesh, name: None, scene_from_node: DMat4::IDENTITY };
        return Ok((0..document.meshes.len()).map(whole).collect());
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
            let name = node.name.clone().filter(|n| !n.is_empty());
            placed.push(Use { mesh, name, scene_from_node });
        }
        stack.extend(node.children.iter().rev().map(|&c| (c, scene_from_node)));
    }
    Ok(placed)
}

fn parent_from_node(node: &Node) -> DMat4 {
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

/// What is collected from a scene.
pub(super) struct Scene<'a> {
    pub(super) data: &'a Data<'a>,
    pub(super) soup: Soup,
}

/// The positions of an accessor, and the vertex that the first of them became at this node.
struct Placed {
    positions: Vec<DVec3>,
    first: u32,
}

impl Scene<'_> {
    /// Adds the triangles of a mesh.
    pub(super) fn mesh(&mut self, mesh: usize, scene_from_node: DMat4) -> Result<(), ReadError> {
        let meshes = &self.data.document.meshes;
        let found = meshes.get(mesh).ok_or_else(|| {
            fail("mesh", mesh, format!("a node uses it but the file has {} meshes", meshes.len()))
        })?;
        let mut placed = BTreeMap::new();
        for primitive in &found.primitives {
            self.add(mesh, primitive, scene_from_node, &mut placed)?;
        }
        Ok(())
    }

    /// Adds the triangles of one primitive; points and lines have none. `placed`: the accessors that other primitives
    /// of this mesh have brought in, since exporters let many share one.
    fn add(
        &mut self,
        mesh: usize,
        primitive: &Primitive,
        scene_from_node: DMat4,
        placed: &mut BTreeMap<usize, Placed>,
    ) -> Result<(), ReadError> {
        let place = Place::Element("mesh", mesh);
        let mode = primitive.mode.unwrap_or(4);
        let Some(&accessor) = primitive.attributes.get("POSITION") else { return Ok(()) };
        match mode {
            0..=3 => return Ok(()),
            4..=6 => {}
            _ => return Err(fail("mesh", mesh, format!("primitive mode is {mode}; expected 0 to 6"))),
        }
        let has_data = self.data.document.accessors.get(accessor).is_none_or(|a| a.buffer_view.is_some());
        let elsewhere = STORED_ELSEWHERE.iter().find(|e| primitive.extensions.contains_key(**e));
        if let Some(name) = elsewhere.filter(|_| !has_data) {
            return Err(compressed(place, name));
        }
        let Placed { positions, first } = match placed.entry(accessor) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let positions = self.data.positions(accessor)?;
                // So that neither `first` nor a sum with it overflows below.
                let all = self.soup.vertices() + positions.len();
                if u32::try_from(all).is_err() {
                    return Err(fail(
                        "mesh",
                        mesh,
                        format!("the scene has {all} vertices, at most {}", u32::MAX),
                    ));
                }
                let first = self.soup.vertices() as u32;
                for &p in &positions {
                    self.soup.vertex(scene_from_node.transform_point3(p), mesh);
                }
                new.insert(Placed { positions, first })
            }
        };
        let indices = match primitive.indices {
            Some(accessor) => self.data.indices(accessor)?,
            None => (0..positions.len() as u32).collect(),
        };
        if mode == 4 && !indices.len().is_multiple_of(3) {
            return Err(fail("mesh", mesh, format!("{} corners are not a multiple of 3", indices.len())));
        }
        let mirrored = scene_from_node.determinant() < 0.0;
        for (face, [a, b, c]) in corners(&indices, mode).enumerate() {
            check([a, b, c], face, positions, place)?;
            // A strip turns a corner by repeating a vertex: such a triangle is not a face.
            if mode == 4 || (a != b && b != c && c != a) {
                let turned = if mirrored { [a, c, b] } else { [a, b, c] };
                self.soup.triangle(turned.map(|v| v + *first), mesh);
            }
        }
        Ok(())
    }
}

/// Refuses a scene whose copies would be far larger than the file, before anything is read.
pub(super) fn limit_copies(data: &Data<'_>, placed: &[usize]) -> Result<(), ReadError> {
    let document = &data.document;
    // A count that the buffers cannot hold is refused when the accessor is read.
    let count = |a: usize| document.accessors.get(a).map_or(0, |a| a.count.min(data.size()));
    let size = |mesh: &MeshEntry| {
        let positions: BTreeSet<usize> =
            mesh.primitives.iter().flat_map(|p| p.attributes.get("POSITION")).copied().collect();
        let corners = mesh.primitives.iter().map(|p| {
            let n = p.indices.or_else(|| p.attributes.get("POSITION").copied()).map_or(0, count);
            1 + if p.mode.unwrap_or(4) == 4 { n } else { n.saturating_mul(3) }
        });
        positions.into_iter().map(count).chain(corners).fold(0, usize::saturating_add)
    };
    let sizes: Vec<usize> = document.meshes.iter().map(size).collect();
    // What is not repeated has its own bytes in the file and cannot be more than a few for each.
    let limit = MAX_REPEATED.max(data.size().saturating_mul(4));
    let mut total = 0usize;
    for &mesh in placed {
        total = total.saturating_add(sizes.get(mesh).copied().unwrap_or(0));
        if total > limit {
            let copies = placed.len();
            let problem =
                format!("{copies} nodes repeat meshes up to more than {limit} vertices and corners");
            let place = Place::Element("mesh", mesh);
            return Err(ReadError::malformed(Format::Gltf, place, format!("{problem}; export fewer copies")));
        }
    }
    Ok(())
}

/// The triangles of a list (mode 4), strip (5) or fan (6).
fn corners(indices: &[u32], mode: u32) -> impl Iterator<Item = [u32; 3]> {
    let count = if mode == 4 { indices.len() / 3 } else { indices.len().saturating_sub(2) };
    (0..count).map(move |i| match mode {
        4 => [indices[3 * i], indices[3 * i + 1], indices[3 * i + 2]],
        5 if i % 2 == 1 => [indices[i + 1], indices[i], indices[i + 2]],
        5 => [indices[i], indices[i + 1], indices[i + 2]],
        _ => [indices[0], indices[i + 1], indices[i + 2]],
    })
}

/// Refuses a face whose vertex is missing or not finite, with numbers as the file counts them.
fn check(corners: [u32; 3], face: usize, positions: &[DVec3], place: Place) -> Result<(), ReadError> {
    let (file, format) = (None, Format::Gltf);
    for v in corners {
        match positions.get(v as usize) {
            Some(p) if p.is_finite() => {}
            Some(&value) => {
                return Err(ReadError::NotFinite { file, format, place, vertex: v as usize, value });
            }
            None => {
                let (index, vertices) = (i64::from(v), positions.len());
                return Err(ReadError::IndexOutOfRange { file, format, place, face, index, vertices });
            }
        }
    }
    Ok(())
}
