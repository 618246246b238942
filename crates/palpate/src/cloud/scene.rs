//! Several clouds that move, asked in the frame of the world.
//!
//! Based on: elfar07, section 3: a transformation for each model, with which the probe is taken to the model's frame.
//! Differs: models whose box is too far are not asked.

use super::six_point::{self, Table, Work};
use super::surface::Surface;
use super::{Cloud, CloudError};
use crate::force::Twist;
use crate::math::Pose;
use glam::DVec3;
use std::sync::Arc;

/// Box edge over spacing: what the paper calls slightly larger than the separation of the points [1].
const BOX_EDGE: f64 = 1.25;

/// How boxes and nearest points are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every box that can hold the probe, and the true nearest point.
    #[default]
    Exact,
    /// The six-point rule: at most seven leaves, as [`super::SixPoint`] has it.
    Paper,
}

/// How clouds are touched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TouchParams {
    /// How boxes and nearest points are found.
    pub mode: Mode,
    /// Edge of the box around each point [m]; none: 1.25 × the spacing of its cloud ([`Model::spacing`]).
    pub box_edge: Option<f64>,
    /// How far the six points are from the probe [m]; none: the spacing of the cloud. Only for [`Mode::Paper`].
    pub six_point_distance: Option<f64>,
}

impl TouchParams {
    /// Whether every value is finite and not negative.
    pub fn check(&self) -> Result<(), CloudError> {
        for (name, value) in [("box edge", self.box_edge), ("six-point distance", self.six_point_distance)] {
            if let Some(value) = value.filter(|v| !(*v >= 0.0 && v.is_finite())) {
                return Err(CloudError::BadParameter { name, value, range: "finite and not negative" });
            }
        }
        Ok(())
    }

    /// Half the edge of the boxes of a cloud as it was built [m]. A scene goes by [`Model::spacing`] instead, which is measured later.
    pub fn half_edge(&self, cloud: &Cloud) -> f64 {
        self.half_edge_at(cloud.spacing())
    }

    fn half_edge_at(&self, spacing: f64) -> f64 {
        0.5 * self.box_edge.unwrap_or(BOX_EDGE * spacing)
    }

    /// How far the six points are from a probe of a cloud as it was built [m]. A scene goes by [`Model::spacing`].
    pub fn six_point_distance(&self, cloud: &Cloud) -> f64 {
        self.six_point_at(cloud.spacing())
    }

    fn six_point_at(&self, spacing: f64) -> f64 {
        self.six_point_distance.unwrap_or(spacing)
    }
}

/// Names a model of a scene. Never given again to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId(pub u32);

/// A cloud in the world.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) id: ModelId,
    pub(super) cloud: Arc<Cloud>,
    pub(super) w_from_m: Pose,
    pub(super) velocity: Twist,
    /// Outward unit vectors by id of the points.
    pub(super) normals: Option<Arc<[DVec3]>>,
    /// Radius that holds enough points for a surface [m].
    pub(super) support: f64,
    /// As measured when the model came or was refreshed [m].
    spacing: f64,
    table: Option<Table>,
}

impl Model {
    /// Its name.
    pub fn id(&self) -> ModelId {
        self.id
    }

    /// Its points, in the model's frame.
    pub fn cloud(&self) -> &Cloud {
        &self.cloud
    }

    /// How far its points are apart, [`Cloud::measure_spacing`], when it came or at the last [`Scene::refresh`] [m]: what
    /// [`Cloud::spacing`] was at the build, or 0 for a cloud that was filled later, is not looked at.
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Where it is.
    pub fn w_from_m(&self) -> Pose {
        self.w_from_m
    }

    /// How it moves: the velocity of its origin and of its rotation, in the world's frame.
    pub fn velocity(&self) -> Twist {
        self.velocity
    }

    /// Velocity of what of the model is at `p`, both in the world's frame [m/s].
    pub fn velocity_at(&self, p: DVec3) -> DVec3 {
        self.velocity.at(p - self.w_from_m.translation)
    }

    /// The local surface, in the model's frame; `radius` as in [`Surface::new`], none: that of the model's points.
    pub fn surface(&self, radius: Option<f64>) -> Surface<'_> {
        Surface::new(&self.cloud, radius.or(Some(self.support)), self.normals.as_deref())
    }

    /// A place of the world in the model's frame [m].
    pub(super) fn to_model(&self, p: DVec3) -> DVec3 {
        self.w_from_m.inverse().point(p)
    }
}

/// The nearest point of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneNearest {
    /// Whose; of several at the same distance the lowest.
    pub model: ModelId,
    /// Which point of it.
    pub id: u32,
    /// [m]
    pub distance: f64,
    /// Where it is, in the world's frame [m].
    pub point: DVec3,
}

/// Clouds with poses and velocities.
///
/// Poses must be finite: a model with one that is not is not touched.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    params: TouchParams,
    /// In ascending order of ids.
    models: Vec<Model>,
    next: u32,
}

impl Scene {
    /// A scene of no models. Values of `params` that are negative or not finite count as 0 (see [`TouchParams::check`]).
    pub fn new(params: TouchParams) -> Self {
        let mend = |v: Option<f64>| v.map(|v| if v.is_finite() { v.max(0.0) } else { 0.0 });
        let (box_edge, six_point_distance) = (mend(params.box_edge), mend(params.six_point_distance));
        Self { params: TouchParams { box_edge, six_point_distance, ..params }, ..Self::default() }
    }

    /// How its clouds are touched.
    pub fn params(&self) -> &TouchParams {
        &self.params
    }

    /// Takes a model in, at rest at `w_from_m`. Cost: some milliseconds, to measure how far its points are apart; in [`Mode::Paper`]
    /// also that of [`super::SixPoint::build`].
    pub fn add(&mut self, cloud: Arc<Cloud>, w_from_m: Pose) -> ModelId {
        let id = ModelId(self.next);
        self.next += 1;
        let (spacing, support) = (cloud.measure_spacing(), cloud.measure_support());
        let table = self.table(&cloud, spacing);
        let velocity = Twist::ZERO;
        self.models.push(Model { id, cloud, w_from_m, velocity, normals: None, support, spacing, table });
        id
    }

    fn table(&self, cloud: &Cloud, spacing: f64) -> Option<Table> {
        let paper = self.params.mode == Mode::Paper;
        paper.then(|| Table::build(cloud, self.params.six_point_at(spacing)))
    }

    /// Takes a model out; no if there is none of this name.
    pub fn remove(&mut self, id: ModelId) -> bool {
        let at = self.at(id);
        at.is_some_and(|at| {
            self.models.remove(at);
            true
        })
    }

    /// Moves a model; no if there is none of this name. Proxies see the way from the last pose to this one.
    pub fn set_pose(&mut self, id: ModelId, w_from_m: Pose) -> bool {
        self.change(id, |m| m.w_from_m = w_from_m)
    }

    /// Sets how a model moves: the velocity of its origin and of its rotation, in the world's frame [m/s, rad/s]. It is for damping
    /// and friction: poses are not moved by it. No if there is none of this name.
    pub fn set_velocity(&mut self, id: ModelId, velocity: Twist) -> bool {
        self.change(id, |m| m.velocity = velocity)
    }

    /// Gives a model outward normals, in its frame, by ids of its points: needed where two sides of a wall are nearer than the surface's
    /// radius. Points beyond the list have none. They are for the points as they are now: [`Scene::cloud_mut`] takes them away. No if
    /// there is none of this name.
    pub fn set_normals(&mut self, id: ModelId, normals: Option<Arc<[DVec3]>>) -> bool {
        self.change(id, |m| m.normals = normals)
    }

    /// The points of a model, to be changed; a copy of them if others hold the same `Arc`. In [`Mode::Paper`] neighbours are found by
    /// descents from then on, with the same answers, until [`Scene::refresh`].
    ///
    /// The model has no normals from then on, because ids of points that go are given to those that come: set them anew, after the
    /// changes, with [`Scene::set_normals`]. Boxes keep their size, and the surface its radius, until [`Scene::refresh`].
    pub fn cloud_mut(&mut self, id: ModelId) -> Option<&mut Cloud> {
        let at = self.at(id)?;
        let model = &mut self.models[at];
        model.table = None;
        model.normals = None;
        Some(Arc::make_mut(&mut model.cloud))
    }

    /// Measures a model's points again and makes its table, after they were changed; no if there is none of this name.
    pub fn refresh(&mut self, id: ModelId) -> bool {
        let Some(at) = self.at(id) else { return false };
        let cloud = &self.models[at].cloud;
        let (spacing, support) = (cloud.measure_spacing(), cloud.measure_support());
        let table = self.table(cloud, spacing);
        let model = &mut self.models[at];
        (model.spacing, model.support, model.table) = (spacing, support, table);
        true
    }

    /// A model; none if there is none of this name.
    pub fn model(&self, id: ModelId) -> Option<&Model> {
        self.at(id).map(|at| &self.models[at])
    }

    /// All models, in ascending order of their names.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// Whether `p`, in the world's frame [m], is in the box around a point of a model. Boxes turn with their models. No for a `p` that
    /// is not finite.
    pub fn touches(&self, p: DVec3) -> bool {
        self.touches_counted(p).0
    }

    /// As [`Scene::touches`], and what it took in [`Mode::Paper`]: at most seven leaves for each model (0 in [`Mode::Exact`]).
    pub fn touches_counted(&self, p: DVec3) -> (bool, Work) {
        let mut work = Work::default();
        for model in self.finite_models() {
            let (local, half) = (model.to_model(p), self.params.half_edge_at(model.spacing));
            // Boxes reach farther than the box of the points by half an edge; a place that is no number is in none of them.
            if model.cloud.aabb().padded(half).distance(local) > 2.0 * model.cloud.grid.unit {
                continue;
            }
            let (touches, more) = match self.params.mode {
                Mode::Exact => (model.cloud.touches(local, half), Work::default()),
                Mode::Paper => {
                    let distance = self.params.six_point_at(model.spacing);
                    six_point::touches(&model.cloud, distance, local, half)
                }
            };
            work.leaves += more.leaves;
            work.points += more.points;
            if touches {
                return (true, work);
            }
        }
        (false, work)
    }

    /// The point nearest to `p`, in the world's frame [m], over all models; none without points and for a `p` that is not finite, and
    /// in [`Mode::Paper`] where the octants looked at have none.
    ///
    /// Cost: that of [`Cloud::nearest`] for each model whose box is near enough.
    pub fn nearest(&self, p: DVec3) -> Option<SceneNearest> {
        self.nearest_counted(p).0
    }

    /// As [`Scene::nearest`], and what it took in [`Mode::Paper`]: at most seven leaves for each model (0 in [`Mode::Exact`]).
    pub fn nearest_counted(&self, p: DVec3) -> (Option<SceneNearest>, Work) {
        let mut work = Work::default();
        if !p.is_finite() {
            return (None, work);
        }
        let bound = |m: &Model| m.cloud.aabb().distance(m.to_model(p));
        // The one whose box is nearest first: it prunes most.
        let first = self.finite_models().min_by(|a, b| bound(a).total_cmp(&bound(b))).map(|m| m.id);
        let mut best: Option<SceneNearest> = None;
        let others = self.finite_models().filter(|m| Some(m.id) != first);
        for model in first.and_then(|id| self.model(id)).into_iter().chain(others) {
            let local = model.to_model(p);
            // Searches compare in single precision: what rounding may hide is looked at too.
            let slack = 4.0 * model.cloud.grid.unit;
            let limit = best.map_or(f64::INFINITY, |b| b.distance * (1.0 + 1e-6) + slack);
            if model.cloud.aabb().distance(local) > limit {
                continue;
            }
            let (found, more) = match self.params.mode {
                Mode::Exact => (model.cloud.nearest_within(local, limit), Work::default()),
                Mode::Paper => {
                    let distance = self.params.six_point_at(model.spacing);
                    six_point::nearest(&model.cloud, distance, model.table.as_ref(), local)
                }
            };
            work.leaves += more.leaves;
            work.points += more.points;
            let Some(n) = found else { continue };
            let nearer = |b: &SceneNearest| {
                n.distance < b.distance || (n.distance == b.distance && model.id < b.model)
            };
            if best.as_ref().is_none_or(nearer) {
                let point = model.w_from_m.point(n.point);
                best = Some(SceneNearest { model: model.id, id: n.id, distance: n.distance, point });
            }
        }
        (best, work)
    }

    fn finite_models(&self) -> impl Iterator<Item = &Model> {
        self.models.iter().filter(|m| m.w_from_m.is_finite())
    }

    fn at(&self, id: ModelId) -> Option<usize> {
        self.models.binary_search_by_key(&id, |m| m.id).ok()
    }

    fn change(&mut self, id: ModelId, f: impl FnOnce(&mut Model)) -> bool {
        let at = self.at(id);
        at.map(|at| f(&mut self.models[at])).is_some()
    }
}
