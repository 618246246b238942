use super::grid::{DEEPEST, octant_corner};
use super::node::Span;
use super::tests::{brute, kinds, probes};
use super::*;
use crate::field::source::random::Random;

/// Everything an octree promises; gives its leaves in order: corner, edge and sorted ids.
fn checked(cloud: &Cloud) -> Vec<([i64; 3], u32, Vec<u32>)> {
    let mut leaves = Vec::new();
    let total = check(cloud, 0, cloud.grid.corner, cloud.grid.log, &mut leaves).1;
    let twins: usize = cloud.groups.iter().map(|g| g.ids.len().saturating_sub(1)).sum();
    assert_eq!(total + twins, cloud.len());
    for id in 0..cloud.id_end() {
        if let Some(slot) = cloud.slot(id) {
            assert_eq!(cloud.twins(id).next(), Some(cloud.slots.id(slot)));
        }
    }
    leaves
}

fn check(
    cloud: &Cloud,
    at: usize,
    corner: [i64; 3],
    log: u32,
    out: &mut Vec<([i64; 3], u32, Vec<u32>)>,
) -> (Span, usize) {
    let node = cloud.nodes[at];
    assert_eq!(node.inner & node.leaf, 0);
    let (mut all, mut total) = (Span::EMPTY, 0);
    for o in 0..8 {
        let (c, mut span, n) = (octant_corner(corner, log, o), Span::EMPTY, total);
        if node.inner >> o & 1 == 1 {
            let (s, few) = check(cloud, node.inner_at(o), c, log - 1, out);
            assert!(few > cloud.most && log - 1 > DEEPEST);
            span = s;
            total += few;
        } else if node.leaf >> o & 1 == 1 {
            let leaf = cloud.leaves[node.leaf_at(o)];
            assert!(leaf.len > 0 && leaf.len <= leaf.room);
            assert!(usize::from(leaf.len) <= cloud.most || log - 1 == DEEPEST);
            let slots = leaf.start..leaf.start + u32::from(leaf.len);
            let mut ids: Vec<u32> = slots.clone().map(|s| cloud.slots.id(s)).collect();
            for s in slots {
                let place = cloud.grid.place_of(cloud.slots.position(s));
                assert!((0..3).all(|a| (place[a] - c[a]) >> (log - 1) == 0));
                assert_eq!(cloud.slot(cloud.slots.id(s)), Some(s));
                span.add(place);
            }
            ids.sort_unstable();
            total += ids.len();
            out.push((c, log - 1, ids));
        }
        if total > n {
            // Boxes are as small as steps allow.
            let mut tight = node;
            tight.set_span(o, span, corner, log);
            assert_eq!(tight, node);
            all.join(span);
        }
    }
    (all, total)
}

/// The cloud a build makes of the points there are, with the ids they have.
fn rebuilt(cloud: &Cloud, params: &CloudParams) -> Cloud {
    let points: Vec<DVec3> = (0..cloud.id_end()).map(|id| cloud.position(id).unwrap_or(DVec3::NAN)).collect();
    Cloud::build(&points, params).unwrap()
}

#[test]
fn a_build_keeps_its_promises() {
    for (name, points) in kinds() {
        for leaf in [1, 3, 10, 200] {
            let cloud = Cloud::build(&points, &CloudParams { leaf, ..Default::default() }).unwrap();
            let leaves = checked(&cloud);
            assert_eq!(leaves.len(), cloud.report().leaves, "{name}");
            for (id, p) in (0..).zip(&points) {
                let off = cloud.position(id).unwrap() - *p;
                assert!(off.abs().max_element() <= 0.51 * cloud.report().rounding + 4e-9, "{name} {off}");
            }
        }
    }
}

#[test]
fn after_any_edits_the_octree_is_that_of_a_build() {
    for (k, (name, points)) in kinds().into_iter().enumerate() {
        let leaf = [1, 4, 10][k % 3];
        // The region makes the grids of both the same.
        let aabb = Aabb::of_points(points.iter().copied());
        let aabb = aabb.padded(0.1 * aabb.extent().max_element().max(1.0));
        let params = CloudParams { leaf, region: Some(aabb), ..Default::default() };
        let mut cloud = Cloud::build(&points, &params).unwrap();
        let mut r = Random(9 + k as u64);
        let (mut came, mut went, mut moved) = (0, 0, 0);
        for step in 0..6000 {
            let somewhere = |r: &mut Random| {
                let p = points[(r.bits() % points.len() as u64) as usize];
                if r.bits().is_multiple_of(4) { p } else { p + r.point(0.01 * aabb.extent().max_element()) }
            };
            let id = (r.bits() % u64::from(cloud.id_end().max(1))) as u32;
            // More go than come, then the other way round.
            match r.bits() % 5 + u64::from(step > 3000) {
                0..=2 => went += u32::from(cloud.remove(id)),
                3 if cloud.move_to(id, somewhere(&mut r)).is_ok() => moved += 1,
                _ => {
                    let p = somewhere(&mut r);
                    let new = cloud.insert(p).unwrap();
                    came += 1;
                    assert!((cloud.position(new).unwrap() - p).length() < cloud.report().rounding + 4e-9);
                }
            }
            if step % 1000 == 999 {
                let fresh = rebuilt(&cloud, &params);
                assert_eq!(cloud.grid, fresh.grid, "{name}");
                assert_eq!(checked(&cloud), checked(&fresh), "{name} {step}");
                for p in probes(&points, step, 20) {
                    assert_eq!(cloud.nearest(p), fresh.nearest(p));
                    assert_eq!(cloud.nearest(p).map(|n| n.id), brute(&cloud, p).map(|b| b.0));
                }
            }
        }
        assert!(came > 500 && went > 100, "{name} {came} {went} {moved}");
    }
}

#[test]
fn a_cloud_grows_beyond_its_box_and_can_be_emptied() {
    let mut cloud = Cloud::empty(&CloudParams { leaf: 4, ..Default::default() }).unwrap();
    let mut r = Random(3);
    let mut ids: Vec<u32> =
        (0..3000).map(|i| cloud.insert(r.point(if i < 1000 { 0.4 } else { 3.99 })).unwrap()).collect();
    checked(&cloud);
    for _ in 0..200 {
        let p = r.point(5.0);
        assert_eq!(cloud.nearest(p).map(|n| n.id), brute(&cloud, p).map(|b| b.0));
    }
    assert!(matches!(cloud.insert(DVec3::X * 4.1), Err(CloudError::OutOfReach { .. })));
    assert!(matches!(cloud.insert(DVec3::X * f64::NAN), Err(CloudError::NotFinite { .. })));
    assert!(matches!(cloud.move_to(9999, DVec3::X), Err(CloudError::NoSuchPoint { .. })));
    let (slots, nodes) = (cloud.slots.len(), cloud.nodes.len());
    for round in 0..3 {
        while let Some(id) = ids.pop() {
            assert!(cloud.remove(id) && !cloud.remove(id));
        }
        assert!(cloud.is_empty() && cloud.nearest(DVec3::ZERO).is_none());
        assert_eq!(checked(&cloud).len(), 0);
        ids.extend((0..3000).map(|_| cloud.insert(r.point(3.99)).unwrap()));
        assert!(cloud.id_end() == 3000, "{round}: ids are given again");
    }
    // Memory does not grow with the number of edits.
    assert!(cloud.slots.len() < 3 * slots && cloud.nodes.len() < 3 * nodes);
}
