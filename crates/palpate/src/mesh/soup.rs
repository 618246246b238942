//! Collects what a reader finds and makes a checked [`RawMesh`] of it.

use super::read_error::Place;
use super::triangulate::Triangulator;
use super::{Format, RawMesh, ReadError};
use glam::DVec3;

/// Vertices and faces on their way from a file. `at` is a place in the reader's own terms (a byte offset), which
/// becomes a [`Place`] only when an error needs it.
pub(super) struct Soup {
    format: Format,
    scale: f64,
    /// Number of the first vertex in this format.
    first: usize,
    mesh: RawMesh,
    /// Faces of more than 3 corners: cut when all vertices are known, because a face may come before them.
    polygons: Vec<Polygon>,
    corners: Vec<u32>,
    faces: usize,
    /// Vertices that are not finite: an error only if a face uses them.
    odd: Vec<Odd>,
    /// The largest index that was beyond the vertices known when its face came.
    ahead: Option<Ahead>,
}

struct Polygon {
    first_corner: usize,
    corners: usize,
    first_triangle: usize,
    at: usize,
}

struct Odd {
    vertex: usize,
    value: DVec3,
    at: usize,
}

struct Ahead {
    index: u32,
    face: usize,
    at: usize,
}

impl Soup {
    /// `scale`: metres per file unit; `first`: the number of the first vertex in this format.
    pub(super) fn new(format: Format, scale: f64, first: usize) -> Self {
        Self {
            format,
            scale,
            first,
            mesh: RawMesh::default(),
            polygons: vec![],
            corners: vec![],
            faces: 0,
            odd: vec![],
            ahead: None,
        }
    }

    /// Makes room. The caller has checked the counts against the size of the file.
    pub(super) fn reserve(&mut self, vertices: usize, triangles: usize) {
        self.mesh.positions.reserve(vertices);
        self.mesh.triangles.reserve(triangles);
    }

    /// How many vertices came so far.
    pub(super) fn vertices(&self) -> usize {
        self.mesh.positions.len()
    }

    /// How many faces came so far.
    pub(super) fn faces(&self) -> usize {
        self.faces
    }

    /// Adds a vertex in file units.
    #[inline]
    pub(super) fn vertex(&mut self, value: DVec3, at: usize) {
        let p = value * self.scale;
        if !p.is_finite() {
            self.odd.push(Odd { vertex: self.mesh.positions.len(), value, at });
        }
        self.mesh.positions.push(p);
    }

    #[inline]
    fn look_ahead(&mut self, index: u32, at: usize) {
        if index as usize >= self.mesh.positions.len() && self.ahead.as_ref().is_none_or(|a| index > a.index)
        {
            self.ahead = Some(Ahead { index, face: self.faces, at });
        }
    }

    /// Adds a triangle; indices count from 0.
    #[inline]
    pub(super) fn triangle(&mut self, corners: [u32; 3], at: usize) {
        for c in corners {
            self.look_ahead(c, at);
        }
        self.mesh.triangles.push(corners);
        self.faces += 1;
    }

    /// Adds a face; indices count from 0. Fewer than 3 corners is an error.
    #[inline]
    pub(super) fn face(
        &mut self,
        corners: &[u32],
        at: usize,
        place: impl FnOnce() -> Place,
    ) -> Result<(), ReadError> {
        if let &[a, b, c] = corners {
            self.triangle([a, b, c], at);
            return Ok(());
        }
        if corners.len() < 3 {
            return Err(ReadError::malformed(
                self.format,
                place(),
                format!(
                    "face {} has {} corners; a face needs 3 or more, remove it or complete it",
                    self.faces,
                    corners.len()
                ),
            ));
        }
        for &c in corners {
            self.look_ahead(c, at);
        }
        self.polygons.push(Polygon {
            first_corner: self.corners.len(),
            corners: corners.len(),
            first_triangle: self.mesh.triangles.len(),
            at,
        });
        self.corners.extend_from_slice(corners);
        self.mesh.triangles.resize(self.mesh.triangles.len() + corners.len() - 2, [0; 3]);
        self.faces += 1;
        Ok(())
    }

    /// The mesh: every index in range, every position finite, at least one triangle. Vertices that are not finite
    /// and that no face uses are left out.
    pub(super) fn finish(mut self, place: impl Fn(usize) -> Place) -> Result<RawMesh, ReadError> {
        let (format, vertices) = (self.format, self.mesh.positions.len());
        if let Some(a) = self.ahead.take().filter(|a| a.index as usize >= vertices) {
            return Err(ReadError::IndexOutOfRange {
                file: None,
                format,
                place: place(a.at),
                face: a.face,
                index: i64::from(a.index) + self.first as i64,
                vertices,
            });
        }
        if self.mesh.triangles.is_empty() {
            return Err(ReadError::NoTriangles { file: None, format, vertices });
        }
        if u32::try_from(vertices).is_err() {
            let problem =
                format!("{vertices} vertices; at most {} can be numbered, split the mesh", u32::MAX);
            return Err(ReadError::malformed(format, Place::Header, problem));
        }
        let mut cutter = Triangulator::new();
        for polygon in &self.polygons {
            let corners = &self.corners[polygon.first_corner..][..polygon.corners];
            let out = &mut self.mesh.triangles[polygon.first_triangle..][..polygon.corners - 2];
            if !cutter.cut(corners, |i| self.mesh.positions[i as usize], out) {
                let problem = format!(
                    "a face of {} corners takes too long to cut into triangles; triangulate the mesh before export",
                    polygon.corners
                );
                return Err(ReadError::malformed(format, place(polygon.at), problem));
            }
        }
        self.drop_odd(place)?;
        Ok(self.mesh)
    }

    /// Fails if a face uses a vertex that is not finite; otherwise takes such vertices out.
    fn drop_odd(&mut self, place: impl Fn(usize) -> Place) -> Result<(), ReadError> {
        if self.odd.is_empty() {
            return Ok(());
        }
        // Old index -> how many odd vertices are before it; `odd` is sorted because vertices come in order.
        let mut is_odd = vec![false; self.mesh.positions.len()];
        for o in &self.odd {
            is_odd[o.vertex] = true;
        }
        if let Some(v) = self.mesh.triangles.iter().flatten().copied().find(|&v| is_odd[v as usize]) {
            let k = self.odd.partition_point(|o| o.vertex < v as usize);
            let o = &self.odd[k];
            return Err(ReadError::NotFinite {
                file: None,
                format: self.format,
                place: place(o.at),
                vertex: o.vertex + self.first,
                value: o.value,
            });
        }
        let mut new_index = Vec::with_capacity(is_odd.len());
        let mut kept = 0u32;
        for &odd in &is_odd {
            new_index.push(kept);
            kept += u32::from(!odd);
        }
        let mut vertex = 0;
        self.mesh.positions.retain(|_| {
            vertex += 1;
            !is_odd[vertex - 1]
        });
        for v in self.mesh.triangles.iter_mut().flatten() {
            *v = new_index[*v as usize];
        }
        Ok(())
    }
}
