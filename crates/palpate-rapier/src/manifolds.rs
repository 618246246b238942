//! Contacts for Rapier's solver.
//!
//! A manifold of Rapier has one normal and at most four points that count. The points of a direction are given in two of them: those
//! that hold the part now, and, apart, those that span the largest area and may hold it soon. With the latter alone a part on a few
//! of many points rocks for ever; with the former alone a plate does.

use crate::convert::{narrow, wide_pose};
use crate::dispatcher::{PalpateDispatcher, narrow_pose};
use crate::parts::{Part, holds_ours};
use glam::DVec3;
use palpate::field::Source;
use palpate::manifold::{Choice, Collider, Manifold, ManifoldParams, ManifoldPoint, POINTS, Pair};
use palpate::query::Roles;
use parry3d::bounding_volume::BoundingVolume;
use parry3d::math::{Pose, Real, Vector};
use parry3d::query::details::NormalConstraints;
use parry3d::query::{
    ContactManifold, ContactManifoldsWorkspace, DefaultQueryDispatcher, PersistentQueryDispatcher,
    TrackedContact, TypedWorkspaceData, Unsupported, WorkspaceData,
};
use parry3d::shape::{PackedFeatureId, Shape};
use std::sync::Arc;

/// What fits in a feature's id.
const FEATURE: u32 = 0x3fff_ffff;

/// How much farther than the nearest a point may be to hold a part now [prediction]. Larger: points that span a larger area displace
/// those that hold it, and coarse parts rock for ever. Smaller: parts that slide change their points more often.
const NEAR: f64 = 0.1;

/// How much the distance of a point that is kept may have changed besides what its manifold's plane says [spacings].
const SHIFT: f64 = 0.1;
/// Points that are kept although they were not chosen again, at most.
const KEPT: usize = 8;
/// A part that so many points hold lies flat: without patches others are not looked for. Fewer: parts that lie on some coarse points rock. More: parts
/// that lie flat take twice as long.
const MANY: usize = 200;
/// Cosine of the largest angle by which a part may have turned since its points were found, for them to stay: 1 degree.
const SAME: f64 = 0.999_85;

/// What a pair of colliders keeps from step to step. That there is one tells Rapier that the list of manifolds changes.
struct Workspace {
    /// The shapes it was made for, by address.
    shapes: [usize; 2],
    parts: (Arc<[Part]>, Arc<[Part]>),
    /// Where the second was in the last step, in the first's frame.
    last: Option<palpate::Pose>,
    pairs: Vec<PartPair>,
    /// Of each manifold: its parts, 0 for points that hold and 1 for others, and its key.
    keys: Vec<[u32; 4]>,
    /// Points that are in a manifold already, while manifolds are made.
    taken: Vec<u32>,
    fresh: Vec<ManifoldPoint>,
}

struct PartPair {
    parts: [u32; 2],
    /// Of what is touching, nearly, and of what is near; patches give both at once, from the first.
    pairs: [Pair; 2],
    used: bool,
}

impl WorkspaceData for Workspace {
    fn as_typed_workspace_data(&self) -> TypedWorkspaceData<'_> {
        TypedWorkspaceData::Custom
    }

    fn clone_dyn(&self) -> Box<dyn WorkspaceData> {
        // Which points were chosen is not copied: the clone chooses anew.
        Box::new(Self {
            shapes: self.shapes,
            parts: self.parts.clone(),
            last: self.last,
            pairs: Vec::new(),
            keys: self.keys.clone(),
            taken: Vec::new(),
            fresh: Vec::new(),
        })
    }
}

/// The memory of a pair of parts.
fn pairs_of(pairs: &mut Vec<PartPair>, parts: [u32; 2]) -> &mut [Pair; 2] {
    let at = pairs.iter().position(|p| p.parts == parts).unwrap_or_else(|| {
        pairs.push(PartPair { parts, pairs: Default::default(), used: true });
        pairs.len() - 1
    });
    let found = &mut pairs[at];
    found.used = true;
    &mut found.pairs
}

fn address(shape: &dyn Shape) -> usize {
    core::ptr::from_ref(shape).cast::<u8>() as usize
}

/// A pair that is not for us: what the next dispatcher keeps from step to step stays as it is, as the solver refers to it. What we left
/// there when its shapes were ours does not touch any more.
fn hand_on<M, C>(
    shapes: [&dyn Shape; 2],
    manifolds: &mut [ContactManifold<M, C>],
    workspace: &mut Option<ContactManifoldsWorkspace>,
) {
    let left = workspace.as_ref().is_some_and(|w| w.0.downcast_ref::<Workspace>().is_some());
    if left {
        *workspace = None;
    }
    // Others have one manifold, or a workspace. Points go, not manifolds: Rapier's solver may look for those once more.
    let several = workspace.is_none() && manifolds.len() > 1;
    if left || several || shapes.into_iter().any(holds_ours) {
        manifolds.iter_mut().for_each(|m| m.points.clear());
    }
}

/// What was there before an update.
struct Before<M, C> {
    manifolds: Vec<ContactManifold<M, C>>,
    keys: Vec<[u32; 4]>,
}

impl<M: Default, C: Copy> Before<M, C> {
    /// What the solver kept with a manifold.
    fn data(&mut self, key: [u32; 4]) -> M {
        let at = self.keys.iter().position(|k| *k == key);
        at.and_then(|i| self.manifolds.get_mut(i)).map(|m| core::mem::take(&mut m.data)).unwrap_or_default()
    }

    /// What the solver kept with a point, whichever manifold of the same parts it was in; the same manifold's first.
    fn contact(&self, key: [u32; 4], fids: (PackedFeatureId, PackedFeatureId)) -> Option<C> {
        let of = |same: bool| {
            let kept = self.keys.iter().zip(&self.manifolds);
            kept.filter(move |(k, _)| k[..2] == key[..2] && (k[2..] == key[2..]) == same)
                .flat_map(|(_, m)| &m.points)
                .find(|p| (p.fid1, p.fid2) == fids)
                .map(|p| p.data)
        };
        of(true).or_else(|| of(false))
    }
}

impl<M: Default, C: Default + Copy> Before<M, C> {
    /// Points that held the part, still do, and were not chosen again: where more than four hold it, the choice would go round and
    /// round, and the part would tremble. Each is measured anew: what it lay on may have ended.
    fn keep(
        &mut self,
        place: &Place<'_>,
        pos12: &Pose,
        limit: Real,
        taken: &mut Vec<u32>,
        manifolds: &mut Vec<ContactManifold<M, C>>,
        keys: &mut Vec<[u32; 4]>,
    ) {
        let parts = [place.p1.index, place.p2.index];
        let mut room = KEPT;
        for (old, key) in self.manifolds.iter().zip(&self.keys) {
            let same = old.local_n1.dot(-(pos12.rotation * old.local_n2)) > SAME as Real;
            if key[..2] != parts || key[2] != 0 || !same {
                continue;
            }
            let mut kept = ContactManifold::with_data(old.subshape1, old.subshape2, M::default());
            (kept.local_n1, kept.local_n2) = (old.local_n1, pos12.rotation.inverse() * -old.local_n1);
            for point in &old.points {
                let id = id_of(point.fid1, point.fid2);
                let on2 = *pos12 * point.local_p2;
                let way = on2 - point.local_p1;
                let dist = way.dot(old.local_n1);
                let aside = way - old.local_n1 * dist;
                let near = dist <= limit && aside.length() <= limit;
                if room > 0 && near && !taken.contains(&id) && place.confirms(id, point, dist, old.local_n1) {
                    let local_p1 = point.local_p1 + aside;
                    kept.points.push(TrackedContact { local_p1, dist, ..*point });
                    taken.push(id);
                    room -= 1;
                }
            }
            if !kept.points.is_empty() {
                manifolds.push(kept);
                keys.push([parts[0], parts[1], 0, u32::MAX - keys.len() as u32]);
            }
        }
    }
}

/// A point's id as features; and back.
fn fids_of(id: u32) -> (PackedFeatureId, PackedFeatureId) {
    (PackedFeatureId::vertex(id & FEATURE), PackedFeatureId::vertex(id >> 30))
}

fn id_of(fid1: PackedFeatureId, fid2: PackedFeatureId) -> u32 {
    fid1.0 & FEATURE | (fid2.0 & FEATURE) << 30
}

impl<M, C> PersistentQueryDispatcher<M, C> for PalpateDispatcher
where
    M: Default + Clone + Send + Sync,
    C: Default + Copy + Send + Sync,
{
    /// Manifolds of up to four points with ids that stay, each of one direction: first of points that hold the part now, then of others
    /// that may soon. The list is empty where nothing is within `prediction`.
    fn contact_manifolds(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
        manifolds: &mut Vec<ContactManifold<M, C>>,
        workspace: &mut Option<ContactManifoldsWorkspace>,
    ) -> Result<(), Unsupported> {
        let shapes = [address(g1), address(g2)];
        let kept = workspace.as_mut().and_then(|w| w.0.downcast_mut::<Workspace>());
        let space = match kept {
            Some(space) if space.shapes == shapes => space,
            _ => {
                let parts = self.parts(g1, g2).inspect_err(|_| hand_on([g1, g2], manifolds, workspace))?;
                let fresh = Workspace {
                    shapes,
                    parts,
                    last: None,
                    pairs: Vec::new(),
                    keys: Vec::new(),
                    taken: Vec::new(),
                    fresh: Vec::new(),
                };
                manifolds.clear();
                let stored = workspace.insert(ContactManifoldsWorkspace::from(fresh));
                stored.0.downcast_mut::<Workspace>().ok_or(Unsupported)?
            }
        };
        let mut before =
            Before { manifolds: core::mem::take(manifolds), keys: core::mem::take(&mut space.keys) };
        let (parts1, parts2) = (space.parts.0.clone(), space.parts.1.clone());
        let one_from_two = wide_pose(pos12);
        let next = space.last.replace(one_from_two).map(|last| one_from_two * last.inverse() * one_from_two);
        let several = parts1.len() > 1 || parts2.len() > 1;
        for p1 in parts1.iter() {
            let near = p1.aabb.loosened(prediction);
            for p2 in parts2.iter() {
                if several && !near.intersects(&p2.aabb.transform_by(pos12)) {
                    continue;
                }
                let place = Place { p1, p2, from: p1.from.inverse() * one_from_two * p2.from };
                let parts = [p1.index, p2.index];
                let options = match (p1.options, p2.options) {
                    (Some(a), Some(b)) => (a.with(b), Roles::Fewer),
                    (Some(a), None) => (a, Roles::PointsOfA),
                    (None, Some(b)) => (b, Roles::PointsOfB),
                    (None, None) => {
                        let shapes = (p1.shape_in(g1), p2.shape_in(g2));
                        foreign(&place, shapes, prediction, &mut before, manifolds, &mut space.keys);
                        continue;
                    }
                };
                let next = next.map(|n| p1.from.inverse() * n * p2.from);
                let wide = ManifoldParams { next, ..options.0.params(prediction.into(), options.1) };
                let near = ManifoldParams { spread: Some(NEAR * wide.margin), ..wide };
                let patches = matches!(wide.choice, Choice::Patches(_));
                let searches = if patches { &[wide][..] } else { &[near, wide] };
                let limit = NEAR as Real * prediction;
                space.taken.clear();
                let kept = pairs_of(&mut space.pairs, parts).iter_mut();
                for (search, (pair, params)) in (0..).zip(kept.zip(searches)) {
                    let found = pair.update(&p1.collider, &p2.collider, &place.from, params);
                    // First the points that hold the part, then others that may soon.
                    for tier in if patches { 0..2 } else { search..search + 1 } {
                        let from = manifolds.len();
                        let of_tier = |m: &&Manifold| !patches || m.key / POINTS as u32 % 2 == tier;
                        for manifold in found.manifolds.iter().filter(of_tier) {
                            let key = [parts[0], parts[1], tier, manifold.key];
                            let points = &found.points[manifold.first as usize..][..manifold.count as usize];
                            space.fresh.clear();
                            space.fresh.extend(points.iter().filter(|p| !space.taken.contains(&p.id)));
                            // The solver takes points one after another: in the same order in every step.
                            space.fresh.sort_unstable_by_key(|p| p.id);
                            if !space.fresh.is_empty() {
                                let made = place.manifold(manifold.normal, &space.fresh, key, &mut before);
                                manifolds.push(made);
                                space.keys.push(key);
                            }
                        }
                        let told = manifolds[from..].iter().flat_map(|m| &m.points);
                        space.taken.extend(told.map(|p| id_of(p.fid1, p.fid2)));
                        if tier == 0 {
                            before.keep(&place, pos12, limit, &mut space.taken, manifolds, &mut space.keys);
                        }
                    }
                    if pair.contacts().list.len() > MANY {
                        break;
                    }
                }
            }
        }
        space.pairs.retain_mut(|p| core::mem::replace(&mut p.used, false));
        Ok(())
    }

    fn contact_manifold_convex_convex(
        &self,
        _: &Pose,
        _: &dyn Shape,
        _: &dyn Shape,
        _: Option<&dyn NormalConstraints>,
        _: Option<&dyn NormalConstraints>,
        _: Real,
        _: &mut ContactManifold<M, C>,
    ) -> Result<(), Unsupported> {
        Err(Unsupported)
    }
}

/// Two parts and where the second is, in the first's frame.
struct Place<'a> {
    p1: &'a Part,
    p2: &'a Part,
    from: palpate::Pose,
}

impl Place<'_> {
    /// Whether a point of a shell is where, and is pushed as, its old manifold says: `dist` along `normal`, the first shape's frame.
    fn confirms<C>(&self, id: u32, point: &TrackedContact<C>, dist: Real, normal: Vector) -> bool {
        let (p1, p2) = (self.p1, self.p2);
        // The point of one, in the frame of the other; which way that one pushes.
        let (other, at, away) = if id >> 31 == 1 {
            let at = self.from.inverse().point(p1.from.inverse().point(point.local_p1.as_dvec3()));
            (&p2.collider, at, -1.0)
        } else {
            let at = self.from.point(p2.from.inverse().point(point.local_p2.as_dvec3()));
            (&p1.collider, at, 1.0)
        };
        let sample = match other {
            Collider::Shape(shape) => shape.field().sample(at),
            Collider::Solid(solid) => solid.sample(at),
        };
        let direction = if id >> 31 == 1 { self.from.vector(sample.gradient) } else { sample.gradient };
        let push = p1.from.vector(direction).normalize_or_zero() * away;
        (sample.distance - f64::from(dist)).abs() <= SHIFT * self.spacing()
            && push.dot(normal.as_dvec3()) > SAME
    }

    /// Of the finer points [m].
    fn spacing(&self) -> f64 {
        let of = |c: &Collider| match c {
            Collider::Shape(shape) => shape.tree().shell_report().spacing,
            Collider::Solid(_) => f64::INFINITY,
        };
        of(&self.p1.collider).min(of(&self.p2.collider))
    }

    /// A manifold in the frames of the whole shapes, with what the solver knew about its points.
    fn manifold<M: Default, C: Default + Copy>(
        &self,
        normal: DVec3,
        points: &[ManifoldPoint],
        key: [u32; 4],
        before: &mut Before<M, C>,
    ) -> ContactManifold<M, C> {
        let (p1, p2, from) = (self.p1, self.p2, &self.from);
        let mut out = ContactManifold::with_data(p1.index, p2.index, before.data(key));
        out.local_n1 = narrow(p1.from.vector(normal));
        out.local_n2 = narrow(-p2.from.vector(from.inverse().vector(normal)));
        out.points = points
            .iter()
            .map(|p| {
                // A manifold has one normal: the distance is along it, whatever the point's own.
                let dist = (from.point(p.point_b) - p.point_a).dot(normal) as Real;
                let fids = fids_of(p.id);
                let (on1, on2) = (narrow(p1.from.point(p.point_a)), narrow(p2.from.point(p.point_b)));
                let mut contact = TrackedContact::new(on1, on2, fids.0, fids.1, dist);
                if let Some(data) = before.contact(key, fids) {
                    contact.data = data;
                }
                contact
            })
            .collect();
        out
    }
}

/// Two parts of Parry, beside a part of ours in a compound: Parry's own manifolds.
fn foreign<M, C>(
    place: &Place<'_>,
    (s1, s2): (&dyn Shape, &dyn Shape),
    prediction: Real,
    before: &mut Before<M, C>,
    manifolds: &mut Vec<ContactManifold<M, C>>,
    keys: &mut Vec<[u32; 4]>,
) where
    M: Default + Clone + Send + Sync,
    C: Default + Copy + Send + Sync,
{
    let (mut found, mut workspace) = (Vec::new(), None);
    let pos12 = narrow_pose(&place.from);
    let asked =
        DefaultQueryDispatcher.contact_manifolds(&pos12, s1, s2, prediction, &mut found, &mut workspace);
    if asked.is_err() {
        return;
    }
    let (pose1, pose2) = (narrow_pose(&place.p1.from), narrow_pose(&place.p2.from));
    for (i, mut manifold) in found.into_iter().enumerate() {
        let key = [place.p1.index, place.p2.index, 0, i as u32];
        let sub1 = manifold.subshape_pos1().map_or(pose1, |p| pose1 * *p);
        let sub2 = manifold.subshape_pos2().map_or(pose2, |p| pose2 * *p);
        manifold.subshape_poses = None;
        (manifold.subshape1, manifold.subshape2) = (place.p1.index, place.p2.index);
        (manifold.local_n1, manifold.local_n2) =
            (sub1.rotation * manifold.local_n1, sub2.rotation * manifold.local_n2);
        for contact in &mut manifold.points {
            (contact.local_p1, contact.local_p2) = (sub1 * contact.local_p1, sub2 * contact.local_p2);
            if let Some(data) = before.contact(key, (contact.fid1, contact.fid2)) {
                contact.data = data;
            }
        }
        manifold.data = before.data(key);
        manifolds.push(manifold);
        keys.push(key);
    }
}
