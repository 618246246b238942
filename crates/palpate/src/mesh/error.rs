//! Why a mesh was refused.

/// Why triangles could not become a [`super::Mesh`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] super::ReadError),
    /// A coordinate is NaN or infinite.
    #[error("vertex {vertex} has the coordinate {value}: remove or repair that vertex in the source")]
    NonFinite {
        /// Index of the vertex.
        vertex: usize,
        /// The coordinate.
        value: f64,
    },
    /// A coordinate is too large for single precision later on.
    #[error(
        "vertex {vertex} has the coordinate {value} m, beyond ±1e12 m: check the unit or remove that vertex"
    )]
    TooLarge {
        /// Index of the vertex.
        vertex: usize,
        /// The coordinate [m].
        value: f64,
    },
    /// A triangle uses a vertex that does not exist.
    #[error(
        "triangle {triangle} uses vertex {vertex} but the mesh has {count} vertices: the source is damaged"
    )]
    IndexOutOfRange {
        /// Index of the triangle.
        triangle: usize,
        /// The vertex it uses.
        vertex: u32,
        /// Number of vertices.
        count: usize,
    },
    /// There is no triangle.
    #[error("the mesh has no triangles: export the surface as faces, not as points or lines")]
    Empty,
    /// No triangle has an area.
    #[error("all {count} triangles have no area: check the unit, and that the export kept enough digits")]
    AllDegenerate {
        /// Number of triangles.
        count: usize,
    },
    /// There are more triangles than the engine can number.
    #[error("the mesh has {count} triangles, more than 1073741823: split or simplify it")]
    TooManyTriangles {
        /// Number of triangles.
        count: usize,
    },
    /// The weld tolerance is not a number from 0 to 0.01.
    #[error("the weld tolerance is {value} of the diagonal: choose 0 to 0.01")]
    BadWeld {
        /// The tolerance [1].
        value: f64,
    },
    /// A sheet cannot be made solid by this thickness.
    #[error("the thickness is {length} m: give a direction with a positive length up to 1e12 m")]
    BadThickness {
        /// How far the back would be from the front [m].
        length: f64,
    },
}
