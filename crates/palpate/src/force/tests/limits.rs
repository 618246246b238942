use crate::field::source::random::Random;
use crate::force::{LimitState, Limited, Limits};
use crate::math::Wrench;
use glam::DVec3;

#[test]
fn lengths_are_limited_and_directions_kept() {
    let limits = Limits { force: 2.0, torque: 0.5, ..Limits::default() };
    let (mut cut, mut r) = (0, Random(7));
    for _ in 0..1000 {
        let wrench = Wrench { force: r.point(3.0), torque: r.point(0.35) };
        let got = limits.saturate(&wrench);
        assert!(got.wrench.force.length() <= 2.0 + 1e-12 && got.wrench.torque.length() <= 0.5 + 1e-12);
        assert!(
            got.wrench.force.cross(wrench.force).length() < 1e-12
                && got.wrench.force.dot(wrench.force) >= 0.0
        );
        assert!(got.wrench.torque.cross(wrench.torque).length() < 1e-12);
        let fits = wrench.force.length() <= 2.0 && wrench.torque.length() <= 0.5;
        assert_eq!(got.saturated, !fits);
        assert!(!fits || got.wrench == wrench);
        cut += usize::from(got.saturated);
    }
    assert!((500..950).contains(&cut), "{cut}");
    // The largest and the smallest numbers there are.
    let huge = Wrench { force: DVec3::splat(1e308), torque: DVec3::splat(1e-320) };
    let got = limits.saturate(&huge);
    assert!((got.wrench.force.length() - 2.0).abs() < 1e-12 && got.wrench.torque == huge.torque);
    assert_eq!(Limits::default().saturate(&huge).wrench, huge);
}

#[test]
fn changes_are_limited() {
    let limits = Limits { force: 10.0, force_rate: 100.0, torque_rate: 5.0, ..Limits::default() };
    let mut state = LimitState::default();
    let goal = Wrench { force: DVec3::X * 20.0, torque: DVec3::Y };
    // 10 N at 100 N/s in steps of 10 ms: there after ten; 1 N m at 5 N m/s after twenty.
    for step in 1..=25 {
        let before = state.last;
        let got = limits.apply(&goal, 0.01, &mut state);
        assert!(got.saturated && got.slewed == (step < 20) && got.wrench == state.last);
        assert!((got.wrench.force - before.force).length() <= 1.0 + 1e-12);
        let wanted = (f64::from(step)).min(10.0);
        assert!((got.wrench.force.x - wanted).abs() < 1e-9, "{step}: {}", got.wrench.force.x);
        assert!((got.wrench.torque.y - (0.05 * f64::from(step)).min(1.0)).abs() < 1e-9);
    }
    // Time that stands still holds; without rates it does not matter.
    let held = limits.apply(&Wrench::ZERO, 0.0, &mut state);
    assert!(held.slewed && (held.wrench.force.x - 10.0).abs() < 1e-9);
    assert_eq!(limits.apply(&Wrench::ZERO, -1.0, &mut state), held);
    assert_eq!(Limits::default().apply(&Wrench::ZERO, 0.0, &mut state).wrench, Wrench::ZERO);
    // Across the whole range of numbers, and a limit that was lowered.
    state.last.force = DVec3::X * 1.7e308;
    let got = Limits { force_rate: 1.0, ..Limits::default() }.apply(
        &Wrench { force: DVec3::X * -1.7e308, torque: DVec3::ZERO },
        1.0,
        &mut state,
    );
    assert!(got.slewed && got.wrench.force.is_finite());
    let got = limits.apply(&goal, 0.01, &mut state);
    assert!(got.wrench.force.length() <= 10.0 + 1e-9);
}

#[test]
fn bad_input_gives_zero_and_a_flag() {
    let limits = Limits { force_rate: 1.0, ..Limits::default() };
    let bad = Limited { non_finite: true, ..Limited::default() };
    let nan = Wrench { force: DVec3::NAN, torque: DVec3::ZERO };
    let fine = Wrench { force: DVec3::X, torque: DVec3::ZERO };
    let mut state = LimitState { last: fine };
    assert_eq!(limits.saturate(&nan), bad);
    assert_eq!(limits.apply(&nan, 1.0, &mut state), bad);
    assert_eq!(state, LimitState::default());
    assert_eq!(limits.apply(&fine, f64::NAN, &mut state), bad);
    state.last = nan;
    assert_eq!(limits.apply(&fine, 1.0, &mut state), bad);
    assert_eq!(limits.apply(&fine, 1.0, &mut state).wrench, fine);
    // Limits that are none let nothing through.
    for force in [f64::NAN, -1.0] {
        let got = Limits { force, ..Limits::default() }.saturate(&fine);
        assert!(got.saturated && got.wrench == Wrench::ZERO);
        assert!(Limits { force, ..Limits::default() }.check().is_err());
    }
    Limits::default().check().unwrap();
}
