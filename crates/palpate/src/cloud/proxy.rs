//! A god-object: the place on the surface of points where the device would be if it could not go in.
//!
//! Based on: zilles95 and ruspini97, which elfar07 names as what its force adapts.
//! Differs: it has a memory, which the paper's force has not. The surface is that of [`super::Surface`]; the side the proxy came from is
//! the outside, so points need no normals; it is kept in the frame of the model it is on, which carries it when it moves.

use super::CloudError;
use super::force::check;
use super::scene::{Model, ModelId, Scene};
use super::slide::{Rest, Slid, Slide};
use super::surface::{Scratch, check_radius};
use super::sweep::{Budget, LEAST_PLACES, Swept, Way, is_near, sweep};
use glam::DVec3;

/// Most times a step may leave a surface and meet one again.
const PASSES: usize = 6;

/// What fits of a step may take for each of its places, in points that are looked at: four fits of 16 points and their own costs, two of 48.
const WORK: usize = 128;

/// How a surface is felt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProxyParams {
    /// Force for each metre between proxy and device [N/m].
    pub stiffness: f64,
    /// Force along the normal for each metre a second of approach [N s/m]. It never makes the surface pull.
    pub damping: f64,
    /// Largest friction at rest over normal force [1]. One that is smaller than `kinetic_friction` counts as that.
    pub static_friction: f64,
    /// Friction of a sliding proxy over normal force [1].
    pub kinetic_friction: f64,
    /// Largest force [N].
    pub most_force: f64,
    /// Radius of the points that make the surface [m]; none: that of each model, [`super::Cloud::measure_support`].
    pub radius: Option<f64>,
    /// Most places that a step looks at on its way through free space, for all models that are near it together, but at least two for
    /// each of these; fits, on the way and on a surface, look at no more than 128 points for each of these places. Where a way takes more
    /// the proxy lags behind the device and goes on in the next step.
    pub most_steps: usize,
}

impl ProxyParams {
    /// This stiffness [N/m], without damping, friction and limit, 128 places.
    pub fn new(stiffness: f64) -> Self {
        Self {
            stiffness,
            damping: 0.0,
            static_friction: 0.0,
            kinetic_friction: 0.0,
            most_force: f64::INFINITY,
            radius: None,
            most_steps: 128,
        }
    }

    /// Whether every value is in its range: none negative or NaN, all but `most_force` finite.
    pub fn check(&self) -> Result<(), CloudError> {
        check_radius(self.radius)?;
        check(&[
            ("stiffness", self.stiffness, false),
            ("damping", self.damping, false),
            ("static friction", self.static_friction, false),
            ("kinetic friction", self.kinetic_friction, false),
            ("largest force", self.most_force, true),
        ])
    }
}

/// What a probe feels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touch {
    /// On the device, in the world's frame [N].
    pub force: DVec3,
    /// Where the proxy is, in the world's frame [m].
    pub proxy: DVec3,
    /// Unit normal of the surface, towards the side the device came from, in the world's frame; 0 while free.
    pub normal: DVec3,
    /// How far the device is behind the surface, along the normal [m]; 0 while free.
    pub depth: f64,
    /// The proxy is on a surface and the device behind it.
    pub touching: bool,
    /// Friction holds the proxy.
    pub sticking: bool,
    /// Whose surface it is.
    pub model: Option<ModelId>,
    /// The proxy could not go all the way in this step: it goes on in the next.
    pub lagging: bool,
    /// The device, its velocity, a parameter or the pose of the touched model was not finite: the force is 0 and the proxy as it was.
    pub non_finite: bool,
}

/// The proxy of one probe, with its memory. For one scene: [`Proxy::reset`] before another.
///
/// A scan at 1 kHz:
///
/// ```
/// use glam::DVec3;
/// use palpate::Pose;
/// use palpate::cloud::{Cloud, CloudParams, Proxy, ProxyParams, Scene, TouchParams};
/// use std::sync::Arc;
///
/// // Once: points of a table top, 1 mm apart.
/// let points: Vec<DVec3> = (0..900).map(|i| 1e-3 * DVec3::new((i % 30).into(), (i / 30).into(), 0.0)).collect();
/// let cloud = Cloud::build(&points, &CloudParams::default())?;
/// let mut scene = Scene::new(TouchParams::default());
/// scene.add(Arc::new(cloud), Pose::IDENTITY);
/// let params = ProxyParams { static_friction: 0.4, kinetic_friction: 0.3, most_force: 3.0, ..ProxyParams::new(500.0) }; // [N/m]
/// params.check()?;
/// let mut proxy = Proxy::new();
///
/// // Every millisecond: where the device is, and the force on it.
/// let mut force = DVec3::ZERO;
/// for i in 0..20 {
///     let device = DVec3::new(0.015, 0.015, 0.005 - 4e-4 * f64::from(i)); // [m]
///     let velocity = DVec3::new(0.0, 0.0, -0.4); // [m/s]
///     let touch = proxy.step(&scene, device, velocity, &params);
///     force = touch.force; // [N]
/// }
/// assert!((force.z - 500.0 * 2.6e-3).abs() < 1e-6); // 2.6 mm deep
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Proxy {
    /// Where it was in the world [m]; none before the first step.
    place: Option<DVec3>,
    contact: Option<Contact>,
    /// Where it was in the frame of each model, in ascending order of names.
    seen: Vec<Seen>,
    scratch: Scratch,
}

/// The surface a proxy is on.
#[derive(Clone, Copy, Debug)]
struct Contact {
    model: ModelId,
    rest: Rest,
}

/// A model as the proxy saw it last.
#[derive(Clone, Copy, Debug)]
struct Seen {
    model: ModelId,
    /// Where the proxy was in the model's frame [m].
    at: DVec3,
    /// The normal of the model's surface there, towards the proxy's side, if it was near.
    side: Option<DVec3>,
    /// Where the way that is being looked at leads.
    end: End,
}

/// How far a way led in the frame of one model.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// Of all of it [1].
    part: f64,
    at: DVec3,
    side: Option<DVec3>,
    /// No point is near the way, or it has no length: nothing is to be looked at.
    clear: bool,
}

impl Proxy {
    /// A proxy that has been nowhere yet: it begins where the device is in the first step, which is outside whatever is there.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything: the next step begins where the device is then.
    pub fn reset(&mut self) {
        self.place = None;
        self.contact = None;
        self.seen.clear();
    }

    /// Follows the device to `device`, which moves with `velocity` (for damping), both in the world's frame [m, m/s], and gives the
    /// force on it. Models have moved from their poses of the last step to those of now.
    ///
    /// While free the proxy goes straight to the device, for each model in its frame, so neither a fast device nor a fast model passes
    /// through a surface, from either side. Once it meets one it stays on it, slides to where it is nearest to the device within the
    /// cone of friction, and leaves when the device is outside again or the surface ends. Other models stop it on its way.
    ///
    /// force = stiffness × (proxy − device) + damping × approach along the normal, and the part along the normal is never negative.
    /// While the proxy slides the force changes by no more than a small multiple of stiffness × the way of the device (0.9 on the paper's
    /// surface, at depths to 7 mm and noise of a tenth of the spacing), but where another model stops it and where it begins to slip.
    /// It may jump where the nearest place of the surface does: the proxy pops over a convex edge or a thin part once the other side is
    /// nearer to a device that is deep behind it, it goes when the surface ends, and with noise of more than a tenth of the spacing
    /// it may pop from bump to bump. `most_force` bounds such jumps.
    ///
    /// The scene's [`Mode`](super::Mode) does not matter here.
    ///
    /// Cost: 0.2 µs far from points, 2 µs near them, 6 µs while it slides slowly, with 30 points within the radius. At most `most_steps`
    /// places with a nearest point each, or two for each near model, and fits that look at 128 × `most_steps` points, twice that with
    /// several models; then the place or slide that is under way is ended, with no more than 26 fits. On a scan of 437,645 points with
    /// the values of [`ProxyParams::new`]: 35 µs in the mean on a path that dips into it, and 0.5 ms at most for a device that leaps
    /// all over it. No allocation once buffers are large enough. Points may be put into and taken out of clouds between steps.
    pub fn step(&mut self, scene: &Scene, device: DVec3, velocity: DVec3, params: &ProxyParams) -> Touch {
        let numbers = [
            params.stiffness,
            params.damping,
            params.static_friction,
            params.kinetic_friction,
            params.radius.unwrap_or(0.0),
            // No limit is one too.
            if params.most_force == f64::INFINITY { 0.0 } else { params.most_force },
        ]
        .map(f64::is_finite);
        self.lose(scene);
        let carrier = self.contact.map(|c| scene.model(c.model));
        let lame = carrier.flatten().is_some_and(|m| !m.w_from_m.is_finite());
        if !(device.is_finite() && velocity.is_finite()) || numbers.contains(&false) || lame {
            return Touch { proxy: self.place.unwrap_or_default(), non_finite: true, ..Touch::default() };
        }
        match carrier {
            // Its model is gone: what held it is no more.
            Some(None) => self.contact = None,
            Some(Some(m)) => self.place = self.contact.map(|c| m.w_from_m.point(c.rest.x)),
            None => {}
        }
        let place = *self.place.get_or_insert(device);
        self.look(scene, place);
        self.scratch.work = 0;
        let mut left = Budget { places: params.most_steps, work: params.most_steps.saturating_mul(WORK) };
        // Others may have moved over a proxy that rests.
        if let Some(c) = self.contact
            && let Some(hit) = self.travel(scene, place, Some(c.model), params, &mut left).1
        {
            self.meet(scene, hit);
            self.leave(c.model, c.rest.x, Some(c.rest.normal));
        }
        let mut lagging = true;
        for pass in 0..PASSES {
            // The first always makes some way.
            if pass > 0 && left.spent(&self.scratch) {
                break;
            }
            let Some(contact) = self.contact else {
                let (part, hit) = self.travel(scene, device, None, params, &mut left);
                if let Some(hit) = hit {
                    self.meet(scene, hit);
                    continue;
                }
                let place = self.place.unwrap_or(device);
                let now = if part < 1.0 { place.lerp(device, part) } else { device };
                self.place = Some(now);
                return Touch { proxy: now, lagging: part < 1.0, ..Touch::default() };
            };
            let Some(model) = scene.model(contact.model) else { break };
            let slid = self.slide(scene, model, contact, device, params, &mut left);
            let (at, side) = match slid {
                Slid::On { rest, lagging: late } => {
                    self.contact = Some(Contact { rest, ..contact });
                    self.place = Some(model.w_from_m.point(rest.x));
                    lagging = late;
                    break;
                }
                Slid::Out { rest } => (rest.x, Some(rest.normal)),
                Slid::Lost { x } => (x, None),
            };
            self.contact = None;
            self.place = Some(model.w_from_m.point(at));
            self.leave(model.id, at, side);
        }
        self.felt(scene, device, velocity, params, lagging)
    }

    /// On a surface from now on.
    fn meet(&mut self, scene: &Scene, hit: Contact) {
        self.contact = Some(hit);
        self.place = scene.model(hit.model).map(|m| m.w_from_m.point(hit.rest.x)).or(self.place);
    }

    /// Models whose pose is not finite are nowhere: nobody knows what way they go until it is again.
    fn lose(&mut self, scene: &Scene) {
        for s in &mut self.seen {
            if scene.model(s.model).is_some_and(|m| !m.w_from_m.is_finite()) {
                (s.at, s.side) = (DVec3::NAN, None);
            }
        }
    }

    /// What the fits of the last step took.
    #[cfg(test)]
    pub(super) fn work(&self) -> usize {
        self.scratch.work
    }

    /// Where the proxy left a model's surface, and on what side.
    fn leave(&mut self, model: ModelId, at: DVec3, side: Option<DVec3>) {
        if let Some(s) = self.seen.iter_mut().find(|s| s.model == model) {
            (s.at, s.side) = (at, side);
        }
    }

    /// Forgets models that are gone and sees new ones, and those that were nowhere, from where the proxy is.
    fn look(&mut self, scene: &Scene, place: DVec3) {
        self.seen.retain_mut(|s| {
            let model = scene.model(s.model);
            if let Some(m) = model.filter(|_| !s.at.is_finite()) {
                (s.at, s.side) = (m.to_model(place), None);
            }
            model.is_some()
        });
        for model in scene.models() {
            // Names only grow, so new ones come last.
            let new = self.seen.last().is_none_or(|s| s.model < model.id);
            if new {
                self.seen.push(Seen {
                    model: model.id,
                    at: model.to_model(place),
                    side: None,
                    end: End::default(),
                });
            }
        }
    }

    /// Goes from where each model saw the proxy last to `goal` in the world, or to the first surface on the way, of all models but
    /// `but`: what part of the way, and the surface. Some way is always made.
    fn travel(
        &mut self,
        scene: &Scene,
        goal: DVec3,
        but: Option<ModelId>,
        params: &ProxyParams,
        left: &mut Budget,
    ) -> (f64, Option<Contact>) {
        let of = |s: &Seen| scene.model(s.model).filter(|m| Some(m.id) != but && s.at.is_finite());
        let go = |s: &mut Seen, part: f64, left: &mut Budget, scratch: &mut Scratch| {
            let model = of(s)?;
            let way = Way { from: s.at, to: s.at.lerp(model.to_model(goal), part), side: s.side };
            let swept = sweep(&model.surface(params.radius), &way, left, scratch);
            let at = way.from.lerp(way.to, swept.t);
            s.end = End { part: part * swept.t, at, side: swept.side, clear: false };
            Some(swept)
        };
        let mut near = 0;
        for s in &mut self.seen {
            s.end = End { part: 0.0, at: s.at, side: s.side, clear: true };
            let Some(model) = of(s) else { continue };
            let to = model.to_model(goal);
            // Most models are far from the way, and cost nothing.
            s.end.clear = s.at == to || !is_near(&model.surface(params.radius), s.at, to);
            if s.end.clear {
                s.end = End { part: 1.0, at: to, side: s.side.filter(|_| s.at == to), clear: true };
            } else {
                near += 1;
            }
        }
        let (mut part, mut hit) = (1.0, None);
        for s in self.seen.iter_mut().filter(|s| !s.end.clear) {
            // Each has its share, so that the first do not leave the last without, and all wait for these.
            let share = (left.places / near).max(LEAST_PLACES);
            near -= 1;
            let mut own = Budget { places: share, ..*left };
            let Some(Swept { t, side, hit: met }) = go(s, part, &mut own, &mut self.scratch) else {
                continue;
            };
            left.places = left.places.saturating_sub(share - own.places);
            part = s.end.part;
            if met {
                let rest = Rest { x: s.end.at, normal: side.unwrap_or(DVec3::Z), sticking: false };
                hit = Some(Contact { model: s.model, rest });
            } else if t < 1.0 {
                hit = None;
            }
        }
        for s in &mut self.seen {
            // Those that were asked for more of the way go only so far; they take no more places than before.
            if s.end.part > part && s.end.clear {
                s.end.at = s.at.lerp(s.end.at, part);
            } else if s.end.part > part {
                let mut enough = Budget { places: usize::MAX, work: usize::MAX };
                go(s, part, &mut enough, &mut self.scratch);
            }
            (s.at, s.side) = (s.end.at, s.end.side);
        }
        (part, hit)
    }

    fn slide(
        &mut self,
        scene: &Scene,
        model: &Model,
        contact: Contact,
        device: DVec3,
        params: &ProxyParams,
        left: &mut Budget,
    ) -> Slid {
        let friction = (params.static_friction.max(0.0), params.kinetic_friction.max(0.0));
        let slide = Slide { surface: model.surface(params.radius), device: model.to_model(device), friction };
        // The buffer is lent out, because other models are looked at on the way.
        let mut scratch = std::mem::take(&mut self.scratch);
        let alone = scene.models().len() < 2;
        let mut short = false;
        let mut slid = slide.run(contact.rest, left.work, &mut scratch, |to, scratch| {
            if alone {
                return (1.0, true);
            }
            std::mem::swap(scratch, &mut self.scratch);
            let (part, hit) = self.travel(scene, model.w_from_m.point(to), Some(model.id), params, left);
            std::mem::swap(scratch, &mut self.scratch);
            short = part < 1.0 && hit.is_none();
            (part, left.places > 0)
        });
        self.scratch = scratch;
        // Nothing stopped it but the end of what it may take.
        if let Slid::On { lagging, .. } = &mut slid {
            *lagging |= short;
        }
        slid
    }

    /// What a proxy on a surface gives.
    fn felt(
        &self,
        scene: &Scene,
        device: DVec3,
        velocity: DVec3,
        params: &ProxyParams,
        lagging: bool,
    ) -> Touch {
        let proxy = self.place.unwrap_or(device);
        let contact = self.contact.and_then(|c| Some((c, scene.model(c.model)?)));
        let Some((c, model)) = contact else {
            return Touch { proxy, lagging: true, ..Touch::default() };
        };
        let normal = model.w_from_m.vector(c.rest.normal);
        let offset = proxy - device;
        let depth = offset.dot(normal).max(0.0);
        let approach = (model.velocity_at(proxy) - velocity).dot(normal);
        let push = params.stiffness.max(0.0) * depth + params.damping.max(0.0) * approach;
        let along = params.stiffness.max(0.0) * (offset - offset.dot(normal) * normal);
        let force = normal * push.max(0.0) + along;
        let ok = force.is_finite();
        Touch {
            force: if ok && depth > 0.0 {
                force.clamp_length_max(params.most_force.max(0.0))
            } else {
                DVec3::ZERO
            },
            proxy,
            normal,
            depth,
            touching: true,
            sticking: c.rest.sticking,
            model: Some(c.model),
            lagging,
            non_finite: !ok,
        }
    }
}
