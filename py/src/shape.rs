//! Shapes: built from arrays or files, asked about points.

use crate::answers::Report;
use crate::array::{Points, from_points, three, triangles};
use crate::gpu::{Device, PyGpu, Resident};
use crate::guard::{self, Watch};
use crate::{array, error};
use glam::{DVec3, Vec3};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use palpate::field::{Exact, Sample};
use palpate::mesh::{RawMesh, RepairParams, samples, unit_scale};
use palpate::progress::{Progress, Silent};
use palpate::shape::{ShapeParams, Size, Triangles};
use palpate::{Mesh, Shape, par};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Cells along the largest extent, unless said otherwise \[1\].
const RESOLUTION: u32 = 128;
/// Points per parallel piece.
const CHUNK: usize = 4096;
/// Shapes that take less are built without asking for room \[bytes\].
const SMALL: f64 = (1_u64 << 30) as f64;
/// Memory that a build takes for a cell of the box \[bytes\]: 43 to 49 of boxes with hardly a surface, at resolutions of 1500 and 2500.
const PER_CELL: f64 = 48.0;
/// What it takes besides for a voxel² of surface \[bytes\]: half of the 250 to 290 of a cube at resolutions of 600 and 1000, as the two sides of a sheet
/// share their bricks. More: sheets are refused that have room.
const PER_AREA: f64 = 125.0;
/// Most that the surface in one cell takes \[bytes\]: the same of a cube, whose sides meet 17/512 cells for a voxel².
const PER_SURFACE_CELL: f64 = 7500.0;
/// Cells of a box beyond which the engine refuses it, and says which voxel would do \[1\].
const MOST_CELLS: f64 = 4e8;

/// A rigid shape ready for queries, in its own frame [m]: built of triangles, counter-clockwise seen from outside.
///
/// ``vertices`` (n, 3) [m], ``faces`` (m, 3) of integers. The field's fineness is ``voxel``, the edge of a cell [m], or ``resolution``, cells along the
/// largest extent with three of padding on each side (128 unless said otherwise). ``spacing`` is the distance of the points on the
/// surface [m]; twice the voxel unless said otherwise. Holes are closed and faces turned where they must be: see ``report``.
/// ``threads=0`` is all cores; it never changes the result. With ``gpu`` the field is built there: every value within 1e-4 + 4.8e-7 n voxels of the exact
/// distance, n voxels along the longest side; points and the tree are the CPU's.
#[pyclass(name = "Shape", module = "palpate", frozen, weakref)]
pub(crate) struct PyShape {
    pub(crate) shape: Shape,
    /// Made when exact distances are first asked for.
    exact: OnceLock<Triangles>,
    /// What graphics processors have of it.
    pub(crate) resident: Arc<Resident>,
}

impl PyShape {
    fn of(shape: Shape) -> Self {
        Self { shape, exact: OnceLock::new(), resident: Arc::default() }
    }
}

/// How fine a shape is to be.
struct Fineness {
    size: Size,
    params: ShapeParams,
    /// Builds the field; none: the CPU.
    device: Option<Arc<Device>>,
}

impl Fineness {
    fn new(
        voxel: Option<f64>,
        resolution: Option<u32>,
        spacing: Option<f64>,
        threads: usize,
        gpu: Option<&PyGpu>,
    ) -> PyResult<Self> {
        let size = match (voxel, resolution) {
            (Some(_), Some(_)) => {
                return Err(error::input("voxel and resolution are both given; give one of them"));
            }
            (Some(voxel), None) => Size::Voxel(voxel),
            (None, resolution) => Size::Resolution(resolution.unwrap_or(RESOLUTION)),
        };
        let mut params = ShapeParams { spacing, ..ShapeParams::default() };
        (params.field.threads, params.shell.threads, params.tree.threads) = (threads, threads, threads);
        Ok(Self { size, params, device: gpu.map(|g| Arc::clone(&g.device)) })
    }

    fn build(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        raw: impl FnOnce() -> PyResult<RawMesh> + Send,
    ) -> PyResult<PyShape> {
        let threads = self.params.field.threads;
        let work = |watch: &Watch| {
            let mesh = Mesh::new(raw()?, &RepairParams::default()).map_err(error::mesh)?;
            let voxel = self.size.voxel(mesh.aabb()).map_err(error::build)?;
            self.room(&mesh, voxel)?;
            let Some(device) = &self.device else {
                return Shape::build_with(mesh, voxel, &self.params, watch).map_err(error::build);
            };
            let field = device.build(&mesh, voxel, &self.params)?;
            let exact = Exact::build(&mesh, voxel, &self.params.field).map_err(|e| error::build(e.into()))?;
            Shape::from_field(mesh, field, exact, &self.params, watch).map_err(error::build)
        };
        let shape = guard::shown(py, progress, |told| guard::watched(py, threads, told, work))??;
        Ok(PyShape::of(shape))
    }

    /// `MemoryError` where a build takes more than there is: it would end the whole program.
    fn room(&self, mesh: &Mesh, voxel: f64) -> PyResult<()> {
        let extent = mesh.aabb().extent().to_array();
        let along = extent.map(|e| (((e / voxel).ceil() + 2.0 * self.params.field.padding) / 8.0).ceil());
        let cells: f64 = along.iter().product();
        let surface = (PER_AREA * mesh.report().area / (voxel * voxel)).min(PER_SURFACE_CELL * cells);
        let needed = PER_CELL * cells + surface;
        if needed < SMALL || cells.is_nan() || cells > MOST_CELLS {
            return Ok(());
        }
        let what = format!("a shape in voxels of {voxel:.3e} m");
        Python::attach(|py| {
            let room = py.import("palpate._room")?;
            room.call_method1("check", (what, needed as u64, 1, "while it is built")).map(drop)
        })
    }
}

/// Points, distances and triangles.
type Closest<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>);

/// Metres for each unit of a file.
pub(crate) fn scale(unit: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(name) = unit.extract::<String>() {
        return unit_scale(&name).ok_or_else(|| {
            error::input(format!(
                "unit is {name:?}; it is one of m, cm, mm, um, km, in, ft, or a number of metres"
            ))
        });
    }
    match unit.extract::<f64>() {
        Ok(scale) if scale > 0.0 && scale.is_finite() => Ok(scale),
        Ok(scale) => {
            Err(error::input(format!("unit is {scale}; a number of metres must be positive and finite")))
        }
        Err(_) => Err(error::input("unit is a name such as \"mm\", or a number of metres")),
    }
}

/// What `ask` says of points, a round of them after the other, until the work is stopped.
pub(crate) fn rounds<T>(points: &[DVec3], watch: &Watch, ask: impl Fn(&[DVec3]) -> Vec<T>) -> Vec<T> {
    /// Points between looks at the watch. Larger: Ctrl-C lags. Smaller: the engine has fewer to put in a good order.
    const ROUND: usize = 1 << 20;
    let mut all = Vec::with_capacity(points.len());
    for some in points.chunks(ROUND) {
        if watch.cancelled() {
            break;
        }
        all.extend(ask(some));
    }
    all
}

#[pymethods]
impl PyShape {
    #[new]
    #[pyo3(signature = (vertices, faces, voxel=None, resolution=None, spacing=None, threads=0, gpu=None, progress=None))]
    fn new(
        py: Python<'_>,
        vertices: &Bound<'_, PyAny>,
        faces: &Bound<'_, PyAny>,
        voxel: Option<f64>,
        resolution: Option<u32>,
        spacing: Option<f64>,
        threads: usize,
        gpu: Option<&PyGpu>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let fineness = Fineness::new(voxel, resolution, spacing, threads, gpu)?;
        let positions = Points::new("vertices", vertices)?.as_slice()?.to_vec();
        let raw = RawMesh { positions, triangles: triangles(faces)? };
        fineness.build(py, progress, || Ok(raw))
    }

    /// The shape of a mesh file: OBJ, STL, PLY, OFF, glTF. ``unit`` is the file's, by name ("mm") or in metres; metres unless said otherwise.
    #[classmethod]
    #[pyo3(signature = (path, unit=None, voxel=None, resolution=None, spacing=None, threads=0, gpu=None, progress=None))]
    fn from_file(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        path: PathBuf,
        unit: Option<&Bound<'_, PyAny>>,
        voxel: Option<f64>,
        resolution: Option<u32>,
        spacing: Option<f64>,
        threads: usize,
        gpu: Option<&PyGpu>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let scale = unit.map_or(Ok(1.0), scale)?;
        let fineness = Fineness::new(voxel, resolution, spacing, threads, gpu)?;
        fineness.build(py, progress, || RawMesh::load(path, scale).map_err(error::file))
    }

    /// The shape of anything with `vertices` and `faces`, such as a `trimesh.Trimesh`.
    #[classmethod]
    #[pyo3(signature = (mesh, voxel=None, resolution=None, spacing=None, threads=0, gpu=None, progress=None))]
    fn from_trimesh(
        _class: &Bound<'_, PyType>,
        mesh: &Bound<'_, PyAny>,
        voxel: Option<f64>,
        resolution: Option<u32>,
        spacing: Option<f64>,
        threads: usize,
        gpu: Option<&PyGpu>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let part = |name: &str| {
            mesh.getattr(name).map_err(|e| {
                error::raised(mesh.py(), e, |_| {
                    format!("{} has no {name}; give a mesh of trimesh", mesh.get_type())
                })
            })
        };
        let (vertices, faces) = (part("vertices")?, part("faces")?);
        Self::new(mesh.py(), &vertices, &faces, voxel, resolution, spacing, threads, gpu, progress)
    }

    /// A shape that the engine makes itself, such as "gear".
    #[classmethod]
    #[pyo3(signature = (name, voxel=None, resolution=None, spacing=None, threads=0, gpu=None, progress=None))]
    fn sample(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        name: &str,
        voxel: Option<f64>,
        resolution: Option<u32>,
        spacing: Option<f64>,
        threads: usize,
        gpu: Option<&PyGpu>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let raw = samples::by_name(name).ok_or_else(|| {
            error::input(format!(
                "there is no sample {name:?}; the samples are {}",
                samples::NAMES.join(", ")
            ))
        })?;
        Fineness::new(voxel, resolution, spacing, threads, gpu)?.build(py, progress, || Ok(raw))
    }

    /// The shape of a `.palp` file.
    #[classmethod]
    #[pyo3(signature = (path, threads=0))]
    fn load(_class: &Bound<'_, PyType>, py: Python<'_>, path: PathBuf, threads: usize) -> PyResult<Self> {
        let opened = guard::on_threads(py, threads, || Shape::open(path, &ShapeParams::default(), &Silent))?;
        Ok(Self::of(opened.map_err(error::asset)?))
    }

    /// Writes a `.palp` file: whole, or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        guard::alone(py, || self.shape.write(path, 0))?.map_err(error::asset)
    }

    /// The bytes of such a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = guard::alone(py, || self.shape.to_bytes(0))?.map_err(error::file)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The shape in the bytes of a ``.palp`` file.
    #[classmethod]
    #[pyo3(signature = (data, threads=0))]
    fn from_bytes(_class: &Bound<'_, PyType>, py: Python<'_>, data: &[u8], threads: usize) -> PyResult<Self> {
        let opened =
            guard::on_threads(py, threads, || Shape::from_bytes(data, &ShapeParams::default(), &Silent))?;
        Ok(Self::of(opened.map_err(error::asset)?))
    }

    /// The same shape, larger by a factor.
    fn scaled(&self, py: Python<'_>, factor: f64) -> PyResult<Self> {
        let shape = guard::alone(py, || self.shape.scaled(factor))?.map_err(error::build)?;
        Ok(Self::of(shape))
    }

    /// Edge of a cell of the field [m].
    #[getter]
    fn voxel(&self) -> f64 {
        self.shape.field().lattice().voxel
    }

    /// Distance of the points on the surface [m].
    #[getter]
    fn spacing(&self) -> f64 {
        self.shape.tree().shell_report().spacing
    }

    /// Largest error of the field's distances within ``band`` of the surface, in its box [m].
    #[getter]
    fn error_bound_band(&self) -> f64 {
        self.shape.field().report().error_bound_band
    }

    /// Largest error of the field's distances anywhere in its box [m].
    #[getter]
    fn error_bound_far(&self) -> f64 {
        self.shape.field().report().error_bound_far
    }

    /// How far from the surface the field is as fine as its voxels [m].
    #[getter]
    fn band(&self) -> f64 {
        self.shape.field().report().band
    }

    /// Memory of the field and the points [bytes].
    #[getter]
    fn nbytes(&self) -> usize {
        self.shape.bytes()
    }

    /// Volume [m³].
    #[getter]
    fn volume(&self) -> f64 {
        self.shape.mesh().mass_properties().volume
    }

    /// Area of the surface [m²].
    #[getter]
    fn area(&self) -> f64 {
        self.shape.mesh().report().area
    }

    /// Centre of mass at a uniform density (3,) [m].
    #[getter]
    fn centre_of_mass(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        three(py, self.shape.mesh().mass_properties().centre)
    }

    /// Inertia about the centre of mass at a density of 1 kg/m³ (3, 3) [kg m²].
    #[getter]
    fn inertia<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let m = self.shape.mesh().mass_properties().inertia;
        from_points(py, vec![m.row(0), m.row(1), m.row(2)])
    }

    /// The box of the surface: its smallest and its largest corner (2, 3) [m].
    #[getter]
    fn aabb<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let aabb = self.shape.aabb();
        from_points(py, vec![aabb.min, aabb.max])
    }

    /// Vertices of the cleaned mesh (n, 3) [m]; a copy.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        from_points(py, self.shape.mesh().positions().to_vec())
    }

    /// Triangles of the cleaned mesh (m, 3); a copy.
    #[getter]
    fn faces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let faces = self.shape.mesh().triangles().to_vec();
        let n = faces.len();
        numpy::PyArrayMethods::reshape(&PyArray1::from_vec(py, array::flat::<[u32; 3], u32>(faces)), [n, 3])
    }

    /// Points on the surface (k, 3) [m], in the order of the ids of contacts; a copy.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let tree = self.shape.tree();
        from_points(py, (0..tree.len()).map(|i| tree.position(i)).collect())
    }

    /// Outward normals of these points (k, 3), unit; a copy.
    #[getter]
    fn normals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let tree = self.shape.tree();
        from_points(py, (0..tree.len()).map(|i| tree.normal(i).as_dvec3()).collect())
    }

    /// What was found in the mesh, and what was done about it.
    #[getter]
    fn report(&self) -> Report {
        Report::new(&self.shape)
    }

    /// Signed distances of points (n, 3) [m], in the shape's frame: (n,), negative inside.
    ///
    /// By the field, whose errors ``error_bound_band`` and ``error_bound_far`` bound; outside its box a lower bound of the distance but for the latter. With
    /// ``exact=True`` to the triangles themselves, slower. With ``gradients=True`` also the outward gradients (n, 3). Points of float32 give
    /// distances of float32. A point that is not finite gives NaN. With ``gpu`` that device answers, a million points at a time: the same
    /// within rounding in single precision, about 1e-6 of the size of the field's box; not with ``exact``.
    #[pyo3(signature = (points, exact=false, gradients=false, threads=0, gpu=None))]
    fn signed_distance<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        exact: bool,
        gradients: bool,
        threads: usize,
        gpu: Option<&PyGpu>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if exact && gpu.is_some() {
            return Err(error::input(
                "exact and gpu are both given; distances to the triangles are the CPU's",
            ));
        }
        let device = gpu.map(|g| &*g.device);
        if !exact
            && !gradients
            && let Ok(single) = points.extract::<PyReadonlyArray2<'py, f32>>()
            && single.shape()[1] == 3
        {
            let single = array::numbers::<f32, numpy::Ix2>("points", single.as_any())?;
            let points: &[Vec3] = bytemuck::cast_slice(single.as_slice()?);
            let out = guard::on_threads(py, threads, || {
                self.distances(points, device, |p| p.as_dvec3(), |d| d as f32)
            })??;
            return Ok(PyArray1::from_vec(py, out).into_any());
        }
        let rows = Points::new("points", points)?;
        let points = rows.as_slice()?;
        let shape = &self.shape;
        if !exact && !gradients {
            let out = guard::on_threads(py, threads, || self.distances(points, device, |p| *p, |d| d))??;
            return Ok(PyArray1::from_vec(py, out).into_any());
        }
        if exact && !gradients {
            let out = guard::long(py, threads, |watch| {
                let surface = self.surface();
                rounds(points, watch, |some| surface.distance_batch(some))
            })?;
            return Ok(PyArray1::from_vec(py, out).into_any());
        }
        let samples = guard::long(py, threads, |watch| -> PyResult<Vec<Sample>> {
            if exact {
                let surface = self.surface();
                return Ok(rounds(points, watch, |some| surface.sample_batch(some)));
            }
            let mut out = vec![Sample::UNDEFINED; points.len()];
            if let Some(device) = device {
                device.distances(
                    self,
                    points.len(),
                    |i| points[i],
                    true,
                    |i, gradient, distance| {
                        // What single precision cannot hold, or is no place.
                        let s = Sample { distance, gradient };
                        out[i] = if distance.is_finite() { s } else { shape.field().sample(points[i]) };
                    },
                )?;
                return Ok(out);
            }
            par::chunks_mut(&mut out, CHUNK, |c, out| {
                for (s, p) in out.iter_mut().zip(&points[c * CHUNK..]) {
                    *s = shape.field().sample(*p);
                }
            });
            Ok(out)
        })??;
        let distances = PyArray1::from_vec(py, samples.iter().map(|s| s.distance).collect());
        let ways = from_points(py, samples.iter().map(|s| s.gradient).collect())?;
        Ok((distances, ways).into_pyobject(py)?.into_any())
    }

    /// The points of the surface closest to points (n, 3) [m]: where (n, 3), how far (n,), not negative, and on which triangle (n,).
    ///
    /// Exact. Triangles are counted as ``faces`` has them, those that close holes after them. A point that is not finite gives NaN and -1.
    #[pyo3(signature = (points, threads=0))]
    fn closest_point<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Closest<'py>> {
        let rows = Points::new("points", points)?;
        let points = rows.as_slice()?;
        let found = guard::long(py, threads, |watch| {
            rounds(points, watch, |some| self.shape.exact().closest_batch(some))
        })?;
        let triangle =
            |c: &palpate::field::Closest| if c.distance.is_nan() { -1 } else { i64::from(c.triangle) };
        Ok((
            from_points(py, found.iter().map(|c| c.point).collect())?,
            PyArray1::from_vec(py, found.iter().map(|c| c.distance).collect()),
            PyArray1::from_vec(py, found.iter().map(triangle).collect()),
        ))
    }

    fn __repr__(&self) -> String {
        let r = self.shape.mesh().report();
        let points = self.shape.tree().len();
        format!("<palpate.Shape: {} triangles, voxels of {} m, {points} points>", r.triangles, self.voxel())
    }

    /// Pickled as the bytes of a ``.palp`` file: for other processes and machines. On one machine ``save`` and ``load`` share the memory.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = Self::to_bytes(slf.get(), slf.py())?;
        Ok((slf.get_type().getattr("from_bytes")?, (bytes,)))
    }
}

impl PyShape {
    /// The triangles themselves, prepared on first use.
    fn surface(&self) -> &Triangles {
        self.exact.get_or_init(|| self.shape.triangles())
    }

    /// Distances by the field's fast path, in pieces on all threads.
    fn distances<P: Sync, D: Copy + Default + Send>(
        &self,
        points: &[P],
        device: Option<&Device>,
        place: impl Fn(&P) -> DVec3 + Sync + Send,
        kept: impl Fn(f64) -> D + Sync + Send,
    ) -> PyResult<Vec<D>> {
        let field = self.shape.field();
        let origin = field.lattice().origin;
        let mut out = vec![D::default(); points.len()];
        if let Some(device) = device {
            device.distances(
                self,
                points.len(),
                |i| place(&points[i]),
                false,
                |i, _, d| {
                    out[i] = kept(if d.is_finite() { d } else { field.sample(place(&points[i])).distance });
                },
            )?;
            return Ok(out);
        }
        par::chunks_mut(&mut out, CHUNK, |c, out| {
            let points = &points[c * CHUNK..][..out.len()];
            let local: Vec<Vec3> = points.iter().map(|p| (place(p) - origin).as_vec3()).collect();
            let mut distances = vec![0.0_f32; out.len()];
            field.distances_here(&local, &mut distances);
            for ((out, d), p) in out.iter_mut().zip(distances).zip(points) {
                // What single precision cannot hold, or is no place.
                *out = kept(if d.is_finite() { f64::from(d) } else { field.sample(place(p)).distance });
            }
        });
        Ok(out)
    }
}
