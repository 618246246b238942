//! The shapes that benchmarks run on: scans from a models folder, or generated shapes in their place.

use anyhow::{Context, Result};
use glam::DVec3;
use palpate::Mesh;
use palpate::math::Aabb;
use palpate::mesh::{CapParams, RawMesh, Topology, cap_holes, samples};
use std::io::Write;
use std::path::Path;

/// A shape to measure on, in its own frame [m].
#[derive(Clone, Debug)]
pub struct Model {
    /// Short name for rows: the file's stem, or the generator's name.
    pub name: String,
    /// As loaded: holes are still open.
    pub mesh: RawMesh,
    /// The same with its holes closed: what the exact answer refers to, and what peers get.
    pub closed: RawMesh,
    /// How many holes were closed.
    pub caps: usize,
}

/// Which of the standard shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// 69,451 triangles, 5 holes; without a models folder a bumpy sphere of about as many.
    Bunny,
    /// 871,414 triangles; without a models folder a torus knot of about as many.
    Dragon,
    /// An M16 nut of 15,080 triangles; without a models folder a generated one.
    Nut,
    /// Its bolt of 25,668 triangles; without a models folder a generated one.
    Bolt,
}

impl Which {
    /// The file's name without its extension.
    pub fn stem(self) -> &'static str {
        match self {
            Self::Bunny => "bunny",
            Self::Dragon => "dragon",
            Self::Nut => "nut",
            Self::Bolt => "bolt",
        }
    }
}

/// Shapes with as many triangles as the 2008 paper's models, which are not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// About 7,088 triangles, for the paper's artificial model.
    Plain7k,
    /// About 24,251 triangles, for the paper's brake.
    Detailed24k,
    /// About 3,024,231 triangles, for the paper's car.
    Knot3m,
}

/// Generates the part: its name and its mesh.
pub fn part(part: Part) -> (String, RawMesh) {
    match part {
        Part::Plain7k => ("bumpy-sphere-7k".into(), samples::bumpy_sphere(0.05, 0.005, 6, 4, 1)),
        Part::Detailed24k => ("nut-and-bolt".into(), samples::by_name("nut-and-bolt").unwrap_or_default()),
        Part::Knot3m => ("torus-knot-3m".into(), samples::by_name("torus-knot-3m").unwrap_or_default()),
    }
}

/// The models folder: `given`, else the environment variable `PALPATE_MODELS`, else none.
pub fn folder(given: Option<&Path>) -> Option<std::path::PathBuf> {
    given.map(Path::to_path_buf).or_else(|| std::env::var_os("PALPATE_MODELS").map(Into::into))
}

/// Loads the shape from `folder`, or generates its stand-in where there is no folder.
pub fn open(which: Which, folder: Option<&Path>) -> Result<Model> {
    let (name, mesh) = match (folder, which) {
        (Some(folder), Which::Bunny) => ("bunny".into(), load(&folder.join("bunny.obj"))?),
        (Some(folder), Which::Dragon) => ("dragon".into(), load(&folder.join("dragon.ply"))?),
        (Some(folder), Which::Nut) => ("nut".into(), load(&folder.join("nut-m16-loose.obj"))?),
        (Some(folder), Which::Bolt) => ("bolt".into(), load(&folder.join("bolt-m16-loose.obj"))?),
        (None, Which::Nut) => ("nut".into(), samples::nut_and_bolt(samples::NUT_AND_BOLT_FINENESS).1),
        (None, Which::Bolt) => ("bolt".into(), samples::nut_and_bolt(samples::NUT_AND_BOLT_FINENESS).0),
        (None, Which::Bunny) => ("bumpy-sphere".into(), samples::bumpy_sphere(0.05, 0.005, 6, 6, 1)),
        (None, Which::Dragon) => {
            ("torus-knot".into(), samples::torus_knot(2, 3, 0.06, 0.02, 0.012, 3600, 121))
        }
    };
    // The caps that `Field::build` itself makes, so that ours and the exact answer close holes alike.
    let topology = Topology::build(&mesh.triangles, mesh.positions.len());
    let caps = cap_holes(&mesh.positions, &mesh.triangles, &topology, &CapParams::default());
    let closed = RawMesh {
        positions: [mesh.positions.as_slice(), &caps.positions].concat(),
        triangles: [mesh.triangles.as_slice(), &caps.triangles].concat(),
    };
    Ok(Model { name, mesh, closed, caps: caps.holes.len() })
}

/// Reads and cleans a mesh file.
fn load(path: &Path) -> Result<RawMesh> {
    let mesh = Mesh::load(path, 1.0)?;
    Ok(RawMesh { positions: mesh.positions().to_vec(), triangles: mesh.triangles().to_vec() })
}

/// The box of all vertices that a triangle uses [m].
pub fn aabb(mesh: &RawMesh) -> Aabb {
    Aabb::of_points(mesh.triangles.iter().flatten().map(|&v| mesh.positions[v as usize]))
}

/// Writes the peers' raw mesh: `u32 vertices, u32 triangles, f32 xyz…, u32 corners…`, little-endian.
pub fn write_raw(mesh: &RawMesh, path: &Path) -> Result<()> {
    let counts = [u32::try_from(mesh.positions.len())?, u32::try_from(mesh.triangles.len())?];
    let mut bytes = Vec::with_capacity(8 + 12 * (mesh.positions.len() + mesh.triangles.len()));
    bytes.extend(counts.iter().flat_map(|c| c.to_le_bytes()));
    bytes.extend(points_bytes(&mesh.positions));
    bytes.extend(mesh.triangles.iter().flatten().flat_map(|v| v.to_le_bytes()));
    write(path, &bytes)
}

/// Reads what [`write_raw`] wrote.
pub fn read_raw(path: &Path) -> Result<RawMesh> {
    let words = words(path)?;
    let count = |i: usize| words.get(i).map_or(0, |w| u32::from_le_bytes(*w) as usize);
    let (vertices, triangles) = (count(0), count(1));
    anyhow::ensure!(
        words.len() == 2 + 3 * (vertices + triangles),
        "{} has another length than its counts say",
        path.display()
    );
    let (xyz, corners) = words[2..].split_at(3 * vertices);
    let triangles = corners.as_chunks::<3>().0.iter().map(|c| c.map(u32::from_le_bytes)).collect();
    Ok(RawMesh { positions: to_points(xyz), triangles })
}

/// Writes points as `f32 xyz…`, little-endian.
pub fn write_points(points: &[DVec3], path: &Path) -> Result<()> {
    write(path, &points_bytes(points).collect::<Vec<u8>>())
}

/// Reads what [`write_points`] wrote.
pub fn read_points(path: &Path) -> Result<Vec<DVec3>> {
    Ok(to_points(&words(path)?))
}

/// Writes distances as `f32…`, little-endian.
pub fn write_distances(distances: &[f32], path: &Path) -> Result<()> {
    write(path, &distances.iter().flat_map(|d| d.to_le_bytes()).collect::<Vec<u8>>())
}

/// Reads distances a peer wrote [m].
pub fn read_distances(path: &Path) -> Result<Vec<f32>> {
    Ok(words(path)?.into_iter().map(f32::from_le_bytes).collect())
}

fn to_points(words: &[[u8; 4]]) -> Vec<DVec3> {
    let point = |c: &[[u8; 4]; 3]| DVec3::from_array(c.map(|w| f64::from(f32::from_le_bytes(w))));
    words.as_chunks::<3>().0.iter().map(point).collect()
}

fn points_bytes(points: &[DVec3]) -> impl Iterator<Item = u8> {
    points.iter().flat_map(|p| p.as_vec3().to_array()).flat_map(f32::to_le_bytes)
}

fn words(path: &Path) -> Result<Vec<[u8; 4]>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes.as_chunks::<4>().0.to_vec())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || std::fs::File::create(path)?.write_all(bytes);
    write().with_context(|| format!("cannot write {}", path.display()))
}
