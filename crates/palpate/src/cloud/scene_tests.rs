use super::proxy_tests::{K, cloud, press, sheet};
use super::*;
use crate::math::Pose;
use std::sync::Arc;

#[test]
fn normals_are_gone_once_points_may_have_changed() {
    // A floor, and a wall that stands beside it.
    let floor = sheet(12);
    let wall = floor.iter().map(|p| DVec3::new(0.02, p.y, p.x));
    let points: Vec<_> = floor.iter().copied().chain(wall).collect();
    let normal = |i: usize| if i < floor.len() { DVec3::Z } else { DVec3::NEG_X };
    let mut all = Scene::new(TouchParams::default());
    let id = all.add(cloud(&points), Pose::IDENTITY);
    let params = ProxyParams::new(K);
    let felt = |all: &Scene| press(&mut Proxy::new(), all, DVec3::Z * 3e-3, DVec3::Z * -1e-3, &params).depth;
    let normals: Arc<[DVec3]> = (0..points.len()).map(normal).collect();
    assert!(all.set_normals(id, Some(normals.clone())));
    assert!((felt(&all) - 1e-3).abs() < 1e-8);
    // All go and come again: those of the floor have ids of the wall.
    let edited = all.cloud_mut(id).unwrap();
    assert!((0..points.len()).all(|i| edited.remove(i as u32)));
    let mut anew = vec![DVec3::ZERO; points.len()];
    for (i, p) in points.iter().enumerate() {
        anew[edited.insert(*p).unwrap() as usize] = normal(i);
    }
    assert!(anew.iter().zip(&*normals).all(|(a, b)| a != b));
    assert!((felt(&all) - 1e-3).abs() < 1e-8, "{}", felt(&all));
    assert!(all.set_normals(id, Some(anew.into())));
    assert!((felt(&all) - 1e-3).abs() < 1e-8);
    // Normals of other points would hide it.
    assert!(all.set_normals(id, Some(normals)) && felt(&all) == 0.0);
}

#[test]
fn a_cloud_filled_by_insertion_is_touched() {
    let fill = |cloud: &mut Cloud| assert!(sheet(15).iter().all(|p| cloud.insert(*p).is_ok()));
    for mode in [Mode::Exact, Mode::Paper] {
        let built = Cloud::build(&sheet(15), &CloudParams::default()).unwrap();
        let mut filled = Cloud::empty(&CloudParams::default()).unwrap();
        fill(&mut filled);
        assert_eq!(filled.spacing(), 0.0);
        let mut before = Scene::new(TouchParams { mode, ..TouchParams::default() });
        let mut scenes = [before.clone(), before.clone(), before.clone()];
        let id = before.add(Arc::new(Cloud::empty(&CloudParams::default()).unwrap()), Pose::IDENTITY);
        // Built; filled and then taken in; taken in and then filled.
        scenes[0].add(Arc::new(built), Pose::IDENTITY);
        scenes[1].add(Arc::new(filled), Pose::IDENTITY);
        scenes[2] = before;
        fill(scenes[2].cloud_mut(id).unwrap());
        assert!(scenes[2].refresh(id));
        for all in &scenes {
            let spacing = all.models()[0].spacing();
            assert!((spacing - 1e-3).abs() < 1e-6, "{spacing}");
            let hits = (0..200).filter(|i| all.touches(DVec3::new(1e-4 * f64::from(*i) - 1e-2, 3e-4, 6e-4)));
            assert_eq!(hits.count(), 200, "{mode:?}");
            assert!(!all.touches(DVec3::new(0.0, 0.0, 6.5e-4)) && all.nearest(DVec3::Z * 1e-3).is_some());
        }
    }
}
