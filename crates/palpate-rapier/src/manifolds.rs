//! Contacts for Rapier's solver.

use crate::convert::{narrow, wide_pose};
use crate::dispatcher::{PalpateDispatcher, narrow_pose};
use crate::parts::Part;
use palpate::manifold::{Manifold, ManifoldPoint, Pair};
use palpate::query::Roles;
use parry3d::bounding_volume::BoundingVolume;
use parry3d::math::{Pose, Real};
use parry3d::query::details::NormalConstraints;
use parry3d::query::{
    ContactManifold, ContactManifoldsWorkspace, DefaultQueryDispatcher, PersistentQueryDispatcher, TrackedContact,
    TypedWorkspaceData, Unsupported, WorkspaceData,
};
use parry3d::shape::{PackedFeatureId, Shape};
use std::sync::Arc;

/// What fits in a feature's id.
const FEATURE: u32 = 0x3fff_ffff;

/// What a pair of colliders keeps from step to step. That there is one tells Rapier that the list of manifolds changes.
struct Workspace {
    /// The shapes it was made for, by address.
    shapes: [usize; 2],
    parts: (Arc<[Part]>, Arc<[Part]>),
    pairs: Vec<PartPair>,
    /// Parts and key of each manifold.
    keys: Vec<[u32; 3]>,
}

struct PartPair {
    parts: [u32; 2],
    pair: Pair,
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
            pairs: Vec::new(),
            keys: self.keys.clone(),
        })
    }
}

impl Workspace {
    /// The memory of a pair of parts.
    fn pair(&mut self, parts: [u32; 2]) -> &mut Pair {
        let at = self.pairs.iter().position(|p| p.parts == parts).unwrap_or_else(|| {
            self.pairs.push(PartPair { parts, pair: Pair::new(), used: true });
            self.pairs.len() - 1
        });
        let found = &mut self.pairs[at];
        found.used = true;
        &mut found.pair
    }
}

fn address(shape: &dyn Shape) -> usize {
    core::ptr::from_ref(shape).cast::<u8>() as usize
}

/// What was there before an update.
struct Before<M, C> {
    manifolds: Vec<ContactManifold<M, C>>,
    keys: Vec<[u32; 3]>,
}

impl<M: Default, C: Copy> Before<M, C> {
    /// What the solver kept with a manifold.
    fn data(&mut self, key: [u32; 3]) -> M {
        let at = self.keys.iter().position(|k| *k == key);
        at.and_then(|i| self.manifolds.get_mut(i)).map(|m| core::mem::take(&mut m.data)).unwrap_or_default()
    }

    /// What the solver kept with a point, whichever manifold of the same parts it was in; the same manifold's first.
    fn contact(&self, key: [u32; 3], fids: (PackedFeatureId, PackedFeatureId)) -> Option<C> {
        let of = |same: bool| {
            let kept = self.keys.iter().zip(&self.manifolds);
            kept.filter(move |(k, _)| k[..2] == key[..2] && (k[2] == key[2]) == same)
                .flat_map(|(_, m)| &m.points)
                .find(|p| (p.fid1, p.fid2) == fids)
                .map(|p| p.data)
        };
        of(true).or_else(|| of(false))
    }
}

impl<M, C> PersistentQueryDispatcher<M, C> for PalpateDispatcher
where
    M: Default + Clone + Send + Sync,
    C: Default + Copy + Send + Sync,
{
    /// One manifold for each direction in which the parts push, of up to four points with ids that stay; the list is empty where
    /// nothing is within `prediction`.
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
                let parts = self.parts(g1, g2).inspect_err(|_| manifolds.clear())?;
                let fresh = Workspace { shapes, parts, pairs: Vec::new(), keys: Vec::new() };
                manifolds.clear();
                let stored = workspace.insert(ContactManifoldsWorkspace::from(fresh));
                stored.0.downcast_mut::<Workspace>().ok_or(Unsupported)?
            }
        };
        let mut before =
            Before { manifolds: core::mem::take(manifolds), keys: core::mem::take(&mut space.keys) };
        let (parts1, parts2) = (space.parts.0.clone(), space.parts.1.clone());
        let one_from_two = wide_pose(pos12);
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
                let params = options.0.params(prediction.into(), options.1);
                let found = space.pair(parts).update(&p1.collider, &p2.collider, &place.from, &params);
                let mut keys = Vec::new();
                for manifold in found.manifolds {
                    let key = [parts[0], parts[1], manifold.key];
                    let first = manifold.first as usize;
                    let points = &found.points[first..first + manifold.count as usize];
                    manifolds.push(place.manifold(manifold, points, key, &mut before));
                    keys.push(key);
                }
                space.keys.append(&mut keys);
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
    /// A manifold in the frames of the whole shapes, with what the solver knew about its points.
    fn manifold<M: Default, C: Default + Copy>(
        &self,
        found: &Manifold,
        points: &[ManifoldPoint],
        key: [u32; 3],
        before: &mut Before<M, C>,
    ) -> ContactManifold<M, C> {
        let (p1, p2, from) = (self.p1, self.p2, &self.from);
        let mut out = ContactManifold::with_data(p1.index, p2.index, before.data(key));
        out.local_n1 = narrow(p1.from.vector(found.normal));
        out.local_n2 = narrow(-p2.from.vector(from.inverse().vector(found.normal)));
        out.points = points.iter().map(|p| {
            // A manifold has one normal: the distance is along it, whatever the point's own.
            let dist = (from.point(p.point_b) - p.point_a).dot(found.normal) as Real;
            let fids = (PackedFeatureId::vertex(p.id & FEATURE), PackedFeatureId::vertex(p.id >> 30));
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
    keys: &mut Vec<[u32; 3]>,
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
        let key = [place.p1.index, place.p2.index, i as u32];
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
