//! Voxel maps: which cells of a grid the surface meets, which lie inside, and how many layers away each is.
//!
//! ```
//! # use palpate::{Mesh, Voxmap, mesh::samples, voxmap::{Class, VoxmapParams}};
//! # let mesh = Mesh::new(samples::sphere(0.05, 4), &Default::default())?;
//! let voxmap = Voxmap::build(&mesh, 2e-3, &VoxmapParams::default())?;      // voxel size [m]
//! let middle = voxmap.grid().dims.map(|n| n / 2);
//! assert_eq!(voxmap.class(middle), Class::Inside);
//! assert!(!voxmap.fill_report().leaks);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fill;
mod grid;
mod layers;
mod mark;
mod memory;
mod sat;
mod small;
pub(crate) mod visit;
mod voxelize;

pub use fill::FillReport;
pub use grid::Grid;

use crate::math::Aabb;
use crate::mesh::Mesh;
use crate::par;
use crate::progress::{Progress, Silent};

/// Voxels along a side of a tile.
const TILE: u32 = 8;

/// The bits of 8 x 8 x 8 voxels: word z, bit `8 * y + x`.
type Tile = [u64; 8];

// What a directory entry says instead of a tile's place. Places stay far below: see `MAX_TILES`.
const EMPTY: u32 = u32::MAX;
const OUTSIDE: u32 = u32::MAX - 1;
const INSIDE: u32 = u32::MAX - 2;

/// Smallest padding: one voxel that a surface on the edge of the mesh's box may touch, and one that stays free, so
/// that the outside is connected.
const MIN_PADDING: u32 = 2;

/// Most layers in each direction: their numbers are stored in 8 bits.
const MAX_LAYERS: u32 = 255;

/// How the candidate voxels of a triangle are visited. All give the same voxels.
///
/// Processor time for the surface voxels in ms (one core of a shared 2-core machine, November 2026):
///
/// | mesh, voxels of the grid | `Solved` | `First` | `Second` |
/// |---|---|---|---|
/// | bunny, 69,451 triangles, 13 M | 11 | 20 | 22 |
/// | bunny, 104 M | 18 | 38 | 39 |
/// | nut and bolt, 24,000 triangles, 303 M | 26 | 60 | 51 |
/// | torus knot, 3.0 M triangles, 681 M | 630 | 970 | 1020 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Navigation {
    /// The fastest for each triangle, from measurements: at present always [`Navigation::Solved`].
    #[default]
    Auto,
    /// The paper's first approach: every voxel of a column between the extremes of the triangle's plane is tested.
    First,
    /// The paper's second approach: a column is tested from both ends to the first hit, what lies between is marked.
    Second,
    /// The paper's two, chosen for each triangle by the length of its columns.
    FirstOrSecond,
    /// Both ends of a column are solved from the separating axes; no voxel is tested.
    Solved,
    /// Every voxel of the triangle's box is tested: slow, for comparison.
    Box,
}

/// What [`Voxmap::build`] may be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoxmapParams {
    /// Free voxels around the box of the mesh on each side, at least 2 [1].
    pub padding: u32,
    /// Layers outward and as many inward, 0 to 255; those beyond the grid do not exist [1].
    pub layers: u32,
    /// How candidate voxels are visited.
    pub navigation: Navigation,
    /// Threads; 0 is the current rayon pool [1]. The voxels do not depend on it.
    pub threads: usize,
    /// Memory the build and its result may take [byte]; `None` for no limit.
    pub max_memory: Option<u64>,
}

impl Default for VoxmapParams {
    fn default() -> Self {
        Self { padding: 3, layers: 3, navigation: Navigation::Auto, threads: 0, max_memory: None }
    }
}

impl VoxmapParams {
    /// An error for values outside their documented ranges.
    pub fn check(&self) -> Result<(), BuildError> {
        if self.padding < MIN_PADDING || self.padding > 1 << 16 {
            return Err(BuildError::Padding { padding: self.padding });
        }
        if self.layers > MAX_LAYERS {
            return Err(BuildError::Layers { layers: self.layers });
        }
        Ok(())
    }
}

/// Why a voxel map could not be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The voxel size is not a positive number.
    #[error("voxel size is {voxel} m; give a positive finite number")]
    VoxelSize {
        /// What was given [m].
        voxel: f64,
    },
    /// The mesh has no box: no vertices, or some that are not finite.
    #[error("the box of the mesh reaches from {} to {} m; it must be finite", .aabb.min, .aabb.max)]
    Bounds {
        /// The box found.
        aabb: Aabb,
    },
    /// The padding is out of range.
    #[error("padding is {padding} voxels; give 2 to 65536")]
    Padding {
        /// What was given [1].
        padding: u32,
    },
    /// The number of layers is out of range.
    #[error("{layers} layers asked for; give 0 to 255")]
    Layers {
        /// What was given [1].
        layers: u32,
    },
    /// The grid is beyond what any memory holds.
    #[error("voxel size {voxel} m gives {voxels:.3e} voxels, too many to index; use at least {fitting} m")]
    TooManyVoxels {
        /// Voxels of the grid [1].
        voxels: f64,
        /// What was given [m].
        voxel: f64,
        /// A voxel size that can be indexed [m].
        fitting: f64,
    },
    /// The map needs more than the memory allowed.
    #[error(
        "voxel size {voxel} m needs about {} MB but {} MB are allowed; use at least {fitting} m or raise the limit",
        .needed.div_ceil(1_000_000), .allowed / 1_000_000
    )]
    Memory {
        /// Estimate of the memory needed [byte].
        needed: u64,
        /// What was allowed [byte].
        allowed: u64,
        /// What was given [m].
        voxel: f64,
        /// A voxel size estimated to fit [m].
        fitting: f64,
    },
    /// The caller asked the work to stop.
    #[error("cancelled")]
    Cancelled,
}

/// What a voxel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Connected to the outside of the grid without crossing a surface voxel.
    Outside,
    /// A triangle meets the closed voxel.
    Surface,
    /// Neither: enclosed by surface voxels.
    Inside,
}

/// What the voxelization did. The same for any number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Columns visited, over all triangles [1].
    pub columns: u64,
    /// Voxels tested one by one with separating axes [1]; 0 for [`Navigation::Solved`].
    pub sat_tests: u64,
    /// Voxels found to meet a triangle, counted once for each triangle [1].
    pub hits: u64,
    /// Surface voxels [1].
    pub surface_voxels: u64,
    /// Tiles stored [1].
    pub tiles: u64,
}

impl Stats {
    fn add(&mut self, other: &Self) {
        self.columns += other.columns;
        self.sat_tests += other.sat_tests;
        self.hits += other.hits;
    }
}

/// The voxels of a mesh: surface, inside or outside, and layers near the surface. In the frame of the mesh.
///
/// A voxel is surface iff a triangle meets its closed cube, up to rounding, which only ever adds voxels. Memory is
/// 4 bytes for each 8³ tile of the grid, and bits only for tiles near the surface.
#[derive(Clone, Debug)]
pub struct Voxmap {
    grid: Grid,
    /// For each tile of the grid, x fastest: its place in the arrays below, or OUTSIDE, or INSIDE.
    directory: Vec<u32>,
    surface: Vec<Tile>,
    inside: Vec<Tile>,
    /// Binary digits of the layer number, `layer_bits` tiles for each tile above; 0 beyond the last layer.
    planes: Vec<Tile>,
    layer_bits: usize,
    layers: u32,
    fill: FillReport,
    stats: Stats,
}

impl Voxmap {
    /// Voxelizes `mesh` with voxels of edge `voxel` [m], fills it and numbers the layers.
    ///
    /// Cost: time grows with the triangles and with the surface in voxels, hardly with the grid.
    pub fn build(mesh: &Mesh, voxel: f64, params: &VoxmapParams) -> Result<Self, BuildError> {
        Self::build_with(mesh, voxel, params, &Silent)
    }

    /// [`Voxmap::build`], telling `progress` where it is: stages `voxelize`, `fill` and `layers`.
    pub fn build_with(
        mesh: &Mesh,
        voxel: f64,
        params: &VoxmapParams,
        progress: &dyn Progress,
    ) -> Result<Self, BuildError> {
        params.check()?;
        let grid = Grid::around(mesh.aabb(), voxel, params.padding)?;
        par::with_threads(params.threads, || {
            let surface = memory::surface_within(mesh, &grid, params, progress)?;
            let filled = fill::fill(surface, &grid, fill::claim(mesh, voxel), progress)?;
            layers::number(filled, &grid, params.layers, progress)
        })
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// What voxel `ijk` is; beyond the grid all is outside.
    pub fn class(&self, ijk: [u32; 3]) -> Class {
        let Some((tile, word, bit)) = self.grid.locate(ijk) else { return Class::Outside };
        let place = match self.directory[tile] {
            OUTSIDE | EMPTY => return Class::Outside,
            INSIDE => return Class::Inside,
            place => place as usize,
        };
        if self.surface[place][word] >> bit & 1 != 0 {
            Class::Surface
        } else if self.inside[place][word] >> bit & 1 != 0 {
            Class::Inside
        } else {
            Class::Outside
        }
    }

    /// The layer of voxel `ijk`: 0 on the surface, 1, 2, … outside, −1, −2, … inside; `None` farther than
    /// [`Voxmap::layers`] from the surface or beyond the grid.
    ///
    /// Sign: the paper's is the opposite (first outer layer −1). The number is the chessboard distance in voxels to
    /// the nearest surface voxel, so at least (number − 1) voxels lie between, neighbours (also diagonal ones) on
    /// the same side differ by at most 1, and a point that moves less than a voxel cannot jump over a layer.
    pub fn layer(&self, ijk: [u32; 3]) -> Option<i32> {
        let (tile, word, bit) = self.grid.locate(ijk)?;
        let place = self.directory[tile] as usize;
        if place >= self.surface.len() {
            return None;
        }
        let number = (0..self.layer_bits).fold(0, |n, plane| {
            n | ((self.planes[place * self.layer_bits + plane][word] >> bit & 1) as i32) << plane
        });
        match self.class(ijk) {
            Class::Surface => Some(0),
            _ if number == 0 => None,
            Class::Inside => Some(-number),
            Class::Outside => Some(number),
        }
    }

    /// Layers numbered in each direction.
    pub fn layers(&self) -> u32 {
        self.layers
    }

    /// All surface voxels: tile by tile (x fastest, then y, then z), in each tile x fastest.
    pub fn surface_voxels(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        let [tx, ty, _] = self.grid.tile_dims();
        self.directory.iter().enumerate().filter(|(_, e)| **e < INSIDE).flat_map(move |(t, &e)| {
            let t = t as u32;
            let corner = [t % tx * TILE, t / tx % ty * TILE, t / (tx * ty) * TILE];
            (0..).zip(&self.surface[e as usize]).flat_map(move |(z, &word)| {
                bits(word).map(move |b| [corner[0] + b % 8, corner[1] + b / 8, corner[2] + z])
            })
        })
    }

    /// Inside, outside, regions, and whether the mesh leaks.
    pub fn fill_report(&self) -> &FillReport {
        &self.fill
    }

    /// What the voxelization did.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Memory held [byte].
    pub fn memory_bytes(&self) -> u64 {
        let tiles = self.surface.capacity() + self.inside.capacity() + self.planes.capacity();
        (size_of::<Self>() + 4 * self.directory.capacity() + size_of::<Tile>() * tiles) as u64
    }
}

/// The places of the set bits of `word`, rising.
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros());
        word &= word.wrapping_sub(1);
        bit
    })
}

/// The voxels that the surface of a mesh meets, without fill and layers. In the frame of the mesh.
#[derive(Clone, Debug)]
pub struct SurfaceVoxels {
    grid: Grid,
    surface: voxelize::Surface,
}

impl SurfaceVoxels {
    /// Voxelizes `mesh` with voxels of edge `voxel` [m]; `params.layers` is not used.
    pub fn build(mesh: &Mesh, voxel: f64, params: &VoxmapParams) -> Result<Self, BuildError> {
        params.check()?;
        let grid = Grid::around(mesh.aabb(), voxel, params.padding)?;
        let params = VoxmapParams { layers: 0, ..*params };
        let surface =
            par::with_threads(params.threads, || memory::surface_within(mesh, &grid, &params, &Silent))?;
        Ok(Self { grid, surface })
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Whether a triangle meets voxel `ijk`; false beyond the grid.
    pub fn contains(&self, ijk: [u32; 3]) -> bool {
        self.grid.locate(ijk).is_some_and(|(tile, word, bit)| {
            let place = self.surface.directory[tile];
            place != EMPTY && self.surface.tiles[place as usize][word] >> bit & 1 != 0
        })
    }

    /// What the voxelization did.
    pub fn stats(&self) -> &Stats {
        &self.surface.stats
    }
}

#[cfg(test)]
mod tests;
