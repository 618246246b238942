//! Reduced contacts push as all of them do.

use crate::contact::Contacts;
use crate::field::analytic::Analytic;
use crate::force::referee::{contacts, random, sphere};
use crate::force::{ForceParams, Law, penalty};
use crate::math::Pose;
use crate::reduce::Reducer;
use glam::{DQuat, DVec3};

#[test]
fn both_laws_are_kept() {
    let plane = Analytic::half_space(DVec3::Z, 0.0).unwrap();
    let pose = Pose::new(DQuat::from_rotation_x(0.3), DVec3::new(0.2, 0.1, 0.045));
    let pressed = contacts(&plane, &sphere(0.05, 50_000), &pose, 0.0);
    let (mut reducer, mut out) = (Reducer::new(), Contacts::default());
    for found in [pressed, random(1, 3000, false), random(2, 100, true)] {
        for n in [4, 5, 8, 16, 64] {
            let did = reducer.reduce(&found, n, &mut out);
            assert!(out.list.len() <= n && did.force_error < 1e-6 && did.torque_error < 1e-6, "{n} {did:?}");
            for law in [Law::Integrated, Law::Averaged] {
                let params = ForceParams { law, ..ForceParams::new(1e9) };
                let all = penalty(&found, &params, &pose, None, None);
                let few = penalty(&out, &params, &pose, None, None);
                let off = all.wrench + -few.wrench;
                // 2e-6 of the sum of lengths; arms to B's origin are at most 2 m.
                let scale = 2e-6 * all.normal_force;
                assert!(
                    off.force.length() < scale && off.torque.length() < 2.0 * scale,
                    "{n} {law:?} {off:?}"
                );
                assert!((all.area - few.area).abs() < 1e-6 * all.area);
            }
        }
    }
}
