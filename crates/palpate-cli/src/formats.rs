//! Files other programs read: NRRD and NPY of a dense field, surfaces and cubes.

use anyhow::{Result, bail};
use glam::DVec3;
use palpate::mesh::{RawMesh, write_obj, write_ply, write_stl};
use std::io::Write;

/// A dense grid of distances, given one layer of constant z at a time.
pub(crate) struct Dense<'a> {
    /// Position of the first node [m].
    pub(crate) origin: DVec3,
    /// Distance between nodes [m].
    pub(crate) voxel: f64,
    /// Nodes along x, y, z.
    pub(crate) dims: [usize; 3],
    /// All values of a layer, x fastest [m].
    pub(crate) layer: &'a dyn Fn(usize) -> Result<Vec<f32>>,
}

impl Dense<'_> {
    /// NRRD 4: float, little-endian, raw, attached; x is the fastest axis; nodes, not cells.
    ///
    /// # Errors
    /// When writing fails.
    pub(crate) fn write_nrrd(&self, out: &mut dyn Write) -> Result<()> {
        let ([nx, ny, nz], v, o) = (self.dims, self.voxel, self.origin);
        write!(
            out,
            "NRRD0004\n# signed distance, negative inside, metres\ntype: float\ndimension: 3\nspace dimension: 3\n\
             sizes: {nx} {ny} {nz}\nspace directions: ({v:e},0,0) (0,{v:e},0) (0,0,{v:e})\n\
             space origin: ({:e},{:e},{:e})\nspace units: \"m\" \"m\" \"m\"\nkinds: domain domain domain\n\
             centers: node node node\nendian: little\nencoding: raw\n\n",
            o.x, o.y, o.z
        )?;
        self.write_values(out)
    }

    /// NPY 1.0: little-endian f32, shape (nx, ny, nz) in Fortran order, so that `a[i, j, k]` is node (i, j, k).
    ///
    /// # Errors
    /// When writing fails.
    pub(crate) fn write_npy(&self, out: &mut dyn Write) -> Result<()> {
        let [nx, ny, nz] = self.dims;
        let mut header =
            format!("{{'descr': '<f4', 'fortran_order': True, 'shape': ({nx}, {ny}, {nz}), }}").into_bytes();
        // Magic, version, length and header together are a multiple of 64 and end with a newline.
        let whole = (10 + header.len() + 1).next_multiple_of(64);
        header.resize(whole - 11, b' ');
        header.push(b'\n');
        out.write_all(b"\x93NUMPY\x01\x00")?;
        out.write_all(&(header.len() as u16).to_le_bytes())?;
        out.write_all(&header)?;
        self.write_values(out)
    }

    fn write_values(&self, out: &mut dyn Write) -> Result<()> {
        let mut bytes = Vec::new();
        for k in 0..self.dims[2] {
            let values = (self.layer)(k)?;
            if values.len() != self.dims[0] * self.dims[1] {
                bail!("layer {k} has {} values instead of {}", values.len(), self.dims[0] * self.dims[1]);
            }
            bytes.clear();
            bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
            out.write_all(&bytes)?;
        }
        Ok(())
    }
}

/// Formats a surface can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    Obj,
    Ply,
    Stl,
}

impl Surface {
    /// The format that a file's extension names.
    ///
    /// # Errors
    /// For any other extension.
    pub(crate) fn from_path(path: &std::path::Path) -> Result<Self> {
        match crate::files::extension(path).as_str() {
            "obj" => Ok(Self::Obj),
            "ply" => Ok(Self::Ply),
            "stl" => Ok(Self::Stl),
            other => {
                bail!("{}: cannot write surfaces as \"{other}\"; use .obj, .ply or .stl", path.display())
            }
        }
    }

    /// Writes triangles: OBJ as text with full precision, PLY and STL binary little-endian f32.
    ///
    /// # Errors
    /// When writing fails, or STL cannot count so many triangles.
    pub(crate) fn write(self, mesh: &RawMesh, out: &mut dyn Write) -> Result<()> {
        let RawMesh { positions, triangles } = mesh;
        Ok(match self {
            Self::Obj => write_obj(out, positions, triangles),
            Self::Ply => write_ply(out, positions, triangles),
            Self::Stl => write_stl(out, positions, triangles),
        }?)
    }
}

/// Cubes of grid cells as a mesh; faces between two cells of the list are left out, corners are shared.
pub(crate) fn cubes(cells: &[[i32; 3]], origin: DVec3, voxel: f64) -> RawMesh {
    let mut sorted = cells.to_vec();
    palpate::par::sort_unstable(&mut sorted);
    sorted.dedup();
    // Quads as corner positions first; then corners are numbered in sorted order.
    let mut quads: Vec<[[i32; 3]; 4]> = Vec::new();
    for cell in &sorted {
        for axis in 0..3 {
            for side in [0, 1] {
                let mut beside = *cell;
                beside[axis] += 2 * side - 1;
                if sorted.binary_search(&beside).is_ok() {
                    continue;
                }
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                let corner = |du: i32, dv: i32| {
                    let mut c = *cell;
                    c[axis] += side;
                    c[u] += du;
                    c[v] += dv;
                    c
                };
                let mut ring = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                if side == 0 {
                    ring.reverse();
                }
                quads.push(ring);
            }
        }
    }
    let mut corners: Vec<[i32; 3]> = quads.iter().flatten().copied().collect();
    palpate::par::sort_unstable(&mut corners);
    corners.dedup();
    let number = |c: &[i32; 3]| corners.binary_search(c).unwrap_or(0) as u32;
    let mut mesh = RawMesh::default();
    for ring in &quads {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i: usize| number(&ring[i]));
        mesh.triangles.extend([[a, b, c], [a, c, d]]);
    }
    mesh.positions = corners.iter().map(|c| origin + voxel * DVec3::from_array(c.map(f64::from))).collect();
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(layer: &dyn Fn(usize) -> Result<Vec<f32>>) -> Dense<'_> {
        Dense { origin: DVec3::new(-1.0, 0.5, 2.0), voxel: 0.25, dims: [2, 3, 2], layer }
    }

    #[test]
    fn npy_header_is_aligned_and_values_follow() {
        let layer = |k: usize| Ok((0..6).map(|i| (k * 6 + i) as f32).collect());
        let mut out = Vec::new();
        dense(&layer).write_npy(&mut out).unwrap();
        let length = usize::from(u16::from_le_bytes([out[8], out[9]]));
        assert_eq!((10 + length) % 64, 0);
        let text = String::from_utf8(out[10..10 + length].to_vec()).unwrap();
        assert!(text.ends_with('\n') && text.contains("'shape': (2, 3, 2)"), "{text}");
        let values: Vec<f32> =
            out[10 + length..].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(values, (0..12).map(|i| i as f32).collect::<Vec<_>>());
    }

    #[test]
    fn nrrd_says_where_the_grid_is() {
        let layer = |_: usize| Ok(vec![1.5; 6]);
        let mut out = Vec::new();
        dense(&layer).write_nrrd(&mut out).unwrap();
        let end = out.windows(2).position(|w| w == b"\n\n").unwrap() + 2;
        let text = String::from_utf8(out[..end].to_vec()).unwrap();
        assert!(text.contains("sizes: 2 3 2") && text.contains("space origin: (-1e0,5e-1,2e0)"), "{text}");
        assert!(text.contains("(2.5e-1,0,0)"), "{text}");
        assert_eq!(out.len() - end, 12 * 4);
        let short = |_: usize| Ok(vec![1.5; 5]);
        assert!(dense(&short).write_nrrd(&mut Vec::new()).is_err());
    }

    #[test]
    fn cubes_are_closed_and_share_corners() {
        let mesh = cubes(&[[0; 3], [1, 0, 0], [1, 0, 0]], DVec3::ZERO, 1.0);
        assert_eq!((mesh.positions.len(), mesh.triangles.len()), (12, 20));
        let volume: f64 = mesh
            .triangles
            .iter()
            .map(|t| t.map(|v| mesh.positions[v as usize]))
            .map(|[a, b, c]| a.dot(b.cross(c)) / 6.0)
            .sum();
        assert!((volume - 2.0).abs() < 1e-12, "outward and closed: {volume}");
    }

    #[test]
    fn surfaces_have_the_right_sizes() {
        let mesh = cubes(&[[0; 3]], DVec3::ZERO, 1.0);
        let size = |format: Surface| {
            let mut out = Vec::new();
            format.write(&mesh, &mut out).unwrap();
            out
        };
        assert_eq!(size(Surface::Stl).len(), 84 + 50 * 12);
        let ply = size(Surface::Ply);
        assert!(ply.ends_with(&7_u32.to_le_bytes()) || ply.len() > 8 * 12 + 12 * 13);
        let obj = String::from_utf8(size(Surface::Obj)).unwrap();
        assert_eq!(obj.lines().filter(|l| l.starts_with("f ")).count(), 12);
        assert!(!obj.contains("f 0"));
        assert!(Surface::from_path(std::path::Path::new("a.xyz")).is_err());
    }
}
