//! A palpate shape as Rapier sees it.

use crate::convert::{mass_properties, narrow, wide};
use crate::error::PalpError;
use crate::surface::Surface;
use glam::DVec3;
use palpate::field::{Exact, FieldParams};
use palpate::manifold::{Choice, ManifoldParams};
use palpate::mesh::MassProperties as Mass;
use palpate::query::Roles;
use palpate::{Asset, Shape as Core, Tree};
use parry3d::bounding_volume::{Aabb, BoundingSphere};
use parry3d::mass_properties::MassProperties;
use parry3d::math::{Pose, Real, Vector};
use parry3d::shape::{FeatureId, Shape, ShapeType, SharedShape, SubShapeId, TypedShape};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Manifolds of a pair at most, unless said otherwise. Fewer: a part that another encloses is held from too few sides. More: the
/// solver takes longer.
pub const MANIFOLDS: usize = 6;

/// How two scales may differ and count as one [1].
const UNIFORM: Real = 1e-5;

/// How contacts of a shape are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactOptions {
    /// Which contacts become points of manifolds.
    pub choice: Choice,
    /// Ask both shapes for points, where both can: parts with edges finer than the other's points.
    pub both: bool,
    /// About how many points and balls may be tested for one pair; 0: all that are needed.
    pub budget: usize,
    /// See [`ManifoldParams::spread`] [m].
    pub spread: Option<f64>,
}

impl Default for ContactOptions {
    fn default() -> Self {
        Self { choice: Choice::Patches(MANIFOLDS), both: false, budget: 0, spread: None }
    }
}

impl ContactOptions {
    /// For a pair whose other shape has these options: the finer choice, the smaller budget.
    pub(crate) fn with(self, other: Self) -> Self {
        let size = |choice| match choice {
            Choice::Patches(n) => n,
            _ => 0,
        };
        let budget = match (self.budget, other.budget) {
            (0, b) | (b, 0) => b,
            (a, b) => a.min(b),
        };
        Self {
            choice: if size(other.choice) > size(self.choice) { other.choice } else { self.choice },
            both: self.both || other.both,
            budget,
            spread: self.spread.or(other.spread),
        }
    }

    pub(crate) fn params(self, margin: f64, roles: Roles) -> ManifoldParams {
        let Self { choice, both, budget, spread } = self;
        ManifoldParams {
            margin,
            spread,
            choice,
            roles,
            both,
            one_normal: true,
            tiers: true,
            budget,
            next: None,
        }
    }
}

/// A rigid shape of palpate for colliders of Rapier, in its own frame [m]. Clones share the memory.
///
/// Contacts need [`crate::PalpateDispatcher`]; rays and points work anywhere. Rapier's numbers have single precision: keep parts
/// near their own origins, and worlds near theirs.
#[derive(Clone)]
pub struct PalpateShape {
    inner: Arc<Inner>,
    options: ContactOptions,
}

struct Inner {
    core: Core,
    mass: Mass,
    sphere: BoundingSphere,
    aabb: Aabb,
    thickness: Real,
    /// Triangles for rays, made by the first one.
    surface: OnceLock<Surface>,
    /// The file it comes from, and how it was scaled since.
    file: Option<(PathBuf, f64)>,
}

impl core::fmt::Debug for PalpateShape {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PalpateShape")
            .field("points", &self.core().tree().len())
            .field("triangles", &self.core().mesh().triangles().len())
            .field("options", &self.options)
            .field("file", &self.inner.file)
            .finish_non_exhaustive()
    }
}

impl From<Core> for PalpateShape {
    fn from(core: Core) -> Self {
        Self::new(core)
    }
}

impl From<PalpateShape> for SharedShape {
    fn from(shape: PalpateShape) -> Self {
        SharedShape::new(shape)
    }
}

impl PalpateShape {
    /// A built shape. Linear in its vertices, once.
    pub fn new(core: Core) -> Self {
        Self::with_file(core, None)
    }

    /// The shape of a `.palp` file, which scenes can refer to: see [`crate::scene`].
    ///
    /// Points that the file does not hold are made now. Errors name the file and say what to do.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PalpError> {
        let path = path.as_ref();
        let asset = Asset::open(path)?;
        let lacks = |what: &'static str| PalpError::Incomplete { file: path.to_owned(), what };
        let mesh = asset.mesh()?.ok_or(lacks("mesh"))?;
        let field = asset.field().ok_or(lacks("field"))?.clone();
        let failed = |problem: String| PalpError::Unusable { file: path.to_owned(), problem };
        let params = FieldParams { cap_holes: field.report().caps() > 0, ..Default::default() };
        let exact = Exact::build(&mesh, field.lattice().voxel, &params).map_err(|e| failed(e.to_string()))?;
        let core = match asset.shell()? {
            Some(shell) => {
                let tree = Tree::build(&shell, &Default::default());
                Core::from_parts(mesh, field, exact, tree)
            }
            None => {
                let silent = &palpate::progress::Silent;
                Core::from_field(mesh, field, exact, &Default::default(), silent)
                    .map_err(|e| failed(e.to_string()))?
            }
        };
        Ok(Self::with_file(core, Some((path.to_owned(), 1.0))))
    }

    fn with_file(core: Core, file: Option<(PathBuf, f64)>) -> Self {
        let mesh = core.mesh();
        let bounds = core.aabb();
        let mass = mesh.mass_properties();
        let centre = if core.tree().levels() > 0 { core.tree().ball(0, 0).0 } else { bounds.centre() };
        let far = mesh.positions().iter().map(|p| p.distance_squared(centre)).fold(0.0, f64::max);
        // Half of a plate's thickness, a third of a ball's radius; never more than half the smallest side.
        let (volume, area) = (mass.volume.abs(), mesh.report().area);
        let inner = if area > 0.0 { volume / area } else { 0.0 };
        let thickness = inner.min(0.5 * bounds.extent().min_element());
        // Outward, so that nothing is lost by the rounding.
        let (min, max) = (narrow(bounds.min), narrow(bounds.max));
        let aabb = Aabb::new(
            Vector::new(min.x.next_down(), min.y.next_down(), min.z.next_down()),
            Vector::new(max.x.next_up(), max.y.next_up(), max.z.next_up()),
        );
        let sphere = BoundingSphere { center: narrow(centre), radius: (far.sqrt() * (1.0 + 1e-6)) as Real };
        let thickness = if thickness.is_finite() { thickness as Real } else { 0.0 };
        Self {
            inner: Arc::new(Inner { core, mass, sphere, aabb, thickness, surface: OnceLock::new(), file }),
            options: ContactOptions::default(),
        }
    }

    /// The same shape with other contacts.
    #[must_use]
    pub fn with_options(mut self, options: ContactOptions) -> Self {
        self.options = options;
        self
    }

    /// How its contacts are chosen.
    pub fn options(&self) -> ContactOptions {
        self.options
    }

    /// The shape of the core.
    pub fn core(&self) -> &Core {
        &self.inner.core
    }

    /// The `.palp` file it comes from, and its scale relative to that; none if it was built.
    pub fn file(&self) -> Option<(&Path, f64)> {
        self.inner.file.as_ref().map(|(path, scale)| (path.as_path(), *scale))
    }

    /// The same shape, `factor` times as large; none for a factor that is not positive or not finite, or if the numbers of the scaled
    /// shape would not be.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Option<Self> {
        if factor == 1.0 {
            return Some(self.clone());
        }
        let core = self.core().scaled(factor).ok()?;
        let file = self.inner.file.as_ref().map(|(path, scale)| (path.clone(), scale * factor));
        Some(Self::with_file(core, file).with_options(self.options))
    }

    pub(crate) fn surface(&self) -> &Surface {
        self.inner.surface.get_or_init(|| Surface::new(self.core()))
    }

    /// Outward unit normal of the surface nearest to a point, and the point, in the shape's frame [m].
    pub(crate) fn normal_at(&self, p: DVec3) -> Option<DVec3> {
        let gradient = self.core().field().sample(p).gradient;
        gradient.try_normalize()
    }
}

impl Shape for PalpateShape {
    fn compute_local_aabb(&self) -> Aabb {
        self.inner.aabb
    }

    fn compute_local_bounding_sphere(&self) -> BoundingSphere {
        self.inner.sphere
    }

    fn clone_dyn(&self) -> Box<dyn Shape> {
        Box::new(self.clone())
    }

    /// None for a scale that is not the same along all axes, or not positive: points would not be uniform any more.
    fn scale_dyn(&self, scale: Vector, _subdivisions: u32) -> Option<Box<dyn Shape>> {
        let (low, high) = (scale.min_element(), scale.max_element());
        if low > 0.0 && high - low <= UNIFORM * high {
            Some(Box::new(self.scaled(f64::from(scale.x))?))
        } else {
            None
        }
    }

    /// What the turned box and the ball have in common.
    fn compute_aabb(&self, position: &Pose) -> Aabb {
        let of_box = self.inner.aabb.transform_by(position);
        let (c, r) = (*position * self.inner.sphere.center, Vector::splat(self.inner.sphere.radius));
        // Places are rounded after the turn.
        let slack = Vector::splat(4.0 * Real::EPSILON * (c.abs().max_element() + r.x));
        Aabb::new(of_box.mins.max(c - r) - slack, of_box.maxs.min(c + r) + slack)
    }

    /// By exact integration over the mesh; no mass for a surface without volume.
    fn mass_properties(&self, density: Real) -> MassProperties {
        let Mass { volume, centre, inertia } = self.inner.mass;
        let (volume, inertia) = if volume < 0.0 { (-volume, -inertia) } else { (volume, inertia) };
        let (mass, inertia) = (volume * f64::from(density), inertia * f64::from(density));
        if mass > 0.0 && mass.is_finite() && inertia.is_finite() {
            mass_properties(mass, centre, inertia)
        } else {
            MassProperties { local_com: narrow(centre), ..MassProperties::default() }
        }
    }

    fn shape_type(&self) -> ShapeType {
        ShapeType::Custom
    }

    fn as_typed_shape(&self) -> TypedShape<'_> {
        TypedShape::Custom(self)
    }

    fn ccd_thickness(&self) -> Real {
        self.inner.thickness
    }

    fn ccd_angular_thickness(&self) -> Real {
        core::f32::consts::FRAC_PI_4
    }

    fn feature_normal_at_point(&self, _: SubShapeId, feature: FeatureId, point: Vector) -> Option<Vector> {
        let mesh = self.core().mesh();
        if let FeatureId::Face(t) = feature
            && (t as usize) < mesh.triangles().len()
        {
            let [a, b, c] = mesh.corners(t as usize);
            return (b - a).cross(c - a).try_normalize().map(narrow);
        }
        self.normal_at(wide(point)).map(narrow)
    }
}
