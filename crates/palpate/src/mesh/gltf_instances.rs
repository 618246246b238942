//! glTF 2.0 and GLB as an assembly: each mesh once, and where it is used.

use super::gltf::{self, Scene};
use super::gltf_data::Data;
use super::soup::Soup;
use super::{Format, Place, RawMesh, ReadError};
use crate::math::Pose;
use crate::par;
use glam::{DMat3, DMat4, DQuat};
use std::collections::BTreeMap;
use std::path::Path;

/// A node's transform counts as rigid if its axes are unit and square to each other up to this [1]: rounding of f32, in which files
/// are written. Larger: a scale goes unseen. Smaller: parts that are one come apart.
const RIGID: f64 = 1e-6;

/// Use of a mesh in a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshInstance {
    /// The node's name, else the mesh's; empty where neither has one.
    pub name: String,
    /// Which of [`MeshInstances::meshes`].
    pub mesh: usize,
    /// Where it is in the scene's frame: `scene_from_mesh` [m].
    pub pose: Pose,
}

/// The meshes of a scene, in their own frames, and where they are.
#[derive(Debug, Default)]
pub struct MeshInstances {
    /// Name and triangles of each mesh that is used [m], or what is wrong with it. A mesh that nodes scale or mirror is there again
    /// for each such transform.
    pub meshes: Vec<(String, Result<RawMesh, ReadError>)>,
    /// Every use, in the order of the scene's tree.
    pub instances: Vec<MeshInstance>,
}

impl MeshInstances {
    /// The meshes of a glTF or GLB file, apart, and where its nodes have them. `scale` is metres per file unit; the standard's is 1.
    ///
    /// Nodes that move and turn a mesh share it; those that scale or mirror it get a copy in the right size. A mesh that is damaged
    /// is an error of its own, the others are read. As for [`RawMesh::load`] skins, morph targets and animations are not applied.
    ///
    /// # Errors
    /// When the file cannot be read, is no glTF, or its tree of nodes is damaged.
    pub fn load(path: impl AsRef<Path>, scale: f64) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let bytes =
            std::fs::read(path).map_err(|source| ReadError::Read { file: path.to_path_buf(), source })?;
        read(&bytes, scale, path.parent()).map_err(|e| e.in_file(path))
    }

    /// As [`MeshInstances::load`], from memory: the file must have its buffers inside.
    ///
    /// # Errors
    /// As [`MeshInstances::load`].
    pub fn from_bytes(bytes: &[u8], scale: f64) -> Result<Self, ReadError> {
        read(bytes, scale, None)
    }
}

fn read(bytes: &[u8], scale: f64, folder: Option<&Path>) -> Result<MeshInstances, ReadError> {
    // Also refuses NaN.
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(ReadError::Scale { scale });
    }
    let data = Data::open(bytes, folder)?;
    gltf::readable(&data.document)?;
    let placed = gltf::placed_meshes(&data.document)?;
    let mut out = MeshInstances::default();
    // By mesh and by what is left of a transform besides the pose.
    let mut known: BTreeMap<(usize, [u64; 9]), usize> = BTreeMap::new();
    let mut wanted: Vec<(usize, DMat3)> = Vec::new();
    for use_ in &placed {
        let (pose, linear) = split(use_.scene_from_node, scale);
        let key = (use_.mesh, linear.to_cols_array().map(f64::to_bits));
        let index = *known.entry(key).or_insert(wanted.len());
        if index == wanted.len() {
            wanted.push((use_.mesh, linear));
        }
        let mesh_name = || gltf::mesh_name(&data.document, use_.mesh);
        let name = use_.name.clone().or_else(mesh_name).unwrap_or_default();
        out.instances.push(MeshInstance { name, mesh: index, pose });
    }
    let repeated: Vec<usize> = wanted.iter().map(|(mesh, _)| *mesh).collect();
    gltf::limit_copies(&data, &repeated)?;
    out.meshes = par::map(wanted.len(), |i| {
        let (mesh, linear) = wanted[i];
        let name = gltf::mesh_name(&data.document, mesh).unwrap_or_else(|| format!("mesh {mesh}"));
        let mut scene = Scene { data: &data, soup: Soup::new(Format::Gltf, scale, 0) };
        let whole = scene.mesh(mesh, DMat4::from_mat3(linear));
        (name, whole.and_then(|()| scene.soup.finish(|mesh| Place::Element("mesh", mesh))))
    });
    Ok(out)
}

/// A transform as a pose in metres and what comes before it: the identity where it is rigid, else the whole of it but for the way.
fn split(scene_from_node: DMat4, scale: f64) -> (Pose, DMat3) {
    let linear = DMat3::from_mat4(scene_from_node);
    let translation = scale * scene_from_node.w_axis.truncate();
    let off = (linear.transpose() * linear - DMat3::IDENTITY).to_cols_array();
    let rigid = off.iter().all(|x| x.abs() <= RIGID) && linear.determinant() > 0.0;
    if rigid {
        (Pose::new(DQuat::from_mat3(&linear), translation), DMat3::IDENTITY)
    } else {
        (Pose::from_translation(translation), linear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    /// One triangle, used by nodes with the given words.
    fn file(nodes: &[&str]) -> Vec<u8> {
        let numbers: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let coded: String = bytes
            .chunks(3)
            .flat_map(|c| {
                let word = u32::from(c[0]) << 16 | u32::from(c[1]) << 8 | u32::from(c[2]);
                (0..4).map(move |i| char::from(digits[(word >> (18 - 6 * i) & 63) as usize]))
            })
            .collect();
        format!(
            r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[{}]}}],"nodes":[{}],
            "meshes":[{{"name":"tri","primitives":[{{"attributes":{{"POSITION":0}}}}]}},
            {{"name":"bad","primitives":[{{"attributes":{{"POSITION":7}}}}]}}],
            "accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}}],
            "bufferViews":[{{"buffer":0,"byteLength":36}}],
            "buffers":[{{"byteLength":36,"uri":"data:application/octet-stream;base64,{coded}"}}]}}"#,
            (0..nodes.len()).map(|i| i.to_string()).collect::<Vec<_>>().join(","),
            nodes.join(",")
        )
        .into_bytes()
    }

    #[test]
    fn rigid_uses_share_a_mesh_and_others_get_their_own() {
        let bytes = file(&[
            r#"{"mesh":0,"name":"left","translation":[1,2,3]}"#,
            r#"{"mesh":0,"rotation":[0,0,0.70710678,0.70710678]}"#,
            r#"{"mesh":0,"name":"large","scale":[2,2,2],"translation":[1,0,0]}"#,
            r#"{"mesh":1,"name":"broken"}"#,
        ]);
        let read = MeshInstances::from_bytes(&bytes, 1e-3).unwrap();
        let names: Vec<&str> = read.instances.iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, ["left", "tri", "large", "broken"]);
        assert_eq!(read.instances.iter().map(|i| i.mesh).collect::<Vec<_>>(), [0, 0, 1, 2]);
        assert_eq!(read.instances[0].pose.translation, DVec3::new(1e-3, 2e-3, 3e-3));
        let tri = read.meshes[0].1.as_ref().unwrap();
        let turned = read.instances[1].pose.point(tri.positions[1]);
        assert!((turned - DVec3::Y * 1e-3).length() < 1e-10, "{turned}");
        assert_eq!(read.meshes[1].1.as_ref().unwrap().positions[1], DVec3::X * 2e-3);
        assert!(read.meshes[2].1.is_err(), "one that is damaged, and only that one");
        // Put together, they are what the reader of one mesh gives.
        let three = file(&[
            r#"{"mesh":0,"translation":[1,2,3]}"#,
            r#"{"mesh":0,"scale":[1,-1,1]}"#,
            r#"{"mesh":0,"rotation":[0.6,0,0,0.8],"translation":[0,0,1]}"#,
        ]);
        let whole = RawMesh::from_bytes(&three, Format::Gltf, 1.0).unwrap();
        let read = MeshInstances::from_bytes(&three, 1.0).unwrap();
        let mut at = 0;
        for instance in &read.instances {
            let part = read.meshes[instance.mesh].1.as_ref().unwrap();
            for t in &part.triangles {
                for (x, y) in t.iter().zip(&whole.triangles[at]) {
                    let (p, q) = (part.positions[*x as usize], whole.positions[*y as usize]);
                    assert!((instance.pose.point(p) - q).length() < 1e-12, "{p} {q}");
                }
                at += 1;
            }
        }
        assert_eq!(at, whole.triangles.len());
        assert!(MeshInstances::from_bytes(&three, 0.0).is_err());
        assert!(MeshInstances::from_bytes(b"{}", 1.0).is_err());
    }
}
