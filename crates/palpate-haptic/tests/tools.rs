//! Tools on paths of which the answer is known.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests stop where something fails, and tell what they measured"
)]

mod common;

use common::{Meshes, block_and_ball, block_and_cube, peg_and_hole};
use glam::{DQuat, DVec3};
use palpate::force::Twist;
use palpate::math::Pose;
use palpate::mesh::samples;
use palpate_haptic::{Body, DeviceLimits, Gains, HeldTool, Pair, SoftTool, ToolParams};

const DT: f64 = 1e-3;

fn gains(pair: &Pair) -> Gains {
    Gains::of(&DeviceLimits::SIGMA7, 1.0, pair.radius()).unwrap()
}

fn up(z: f64) -> Pose {
    Pose::from_translation(DVec3::Z * z)
}

/// A ball is pressed 5 mm into a block: the force is the spring's, along the normal, and the ball stays out, but for a gap that is told.
#[test]
fn a_pressed_ball_feels_the_spring_and_stays_out() {
    let mut pair = block_and_ball();
    let gains = gains(&pair);
    let mut tool = HeldTool::new(&pair, up(0.03), 0.0);
    let mut meshes = Meshes::of(&pair);
    let (mut touched, mut last, mut off) = (0, 0.0, 0.0f64);
    for i in 0..=1500 {
        // Down by 15 mm in 1.5 s.
        let z = 0.03 - 1e-5 * f64::from(i);
        let felt = tool.tick(&mut pair, &up(z), &Twist::ZERO, &gains, DT);
        assert!(!meshes.meet(&felt.pose), "step {i}");
        let deep = 0.02 + tool.gap() - z;
        if deep > 0.2e-3 {
            let want = gains.stiffness * deep;
            let force = felt.wrench.force;
            off = off.max(force.angle_between(DVec3::Z).to_degrees());
            assert!(
                (force.z - want).abs() < 0.03 * want + gains.stiffness * 0.3 * tool.gap(),
                "step {i}: {} {want}",
                force.z
            );
            touched += 1;
        }
        assert!(
            (felt.wrench.force.z - last).abs() < 0.15,
            "step {i}: from {last} N to {}",
            felt.wrench.force.z
        );
        last = felt.wrench.force.z;
    }
    println!("largest error of direction: {off:.4} degrees");
    assert!(touched > 400 && off < 0.5, "{touched} ticks in touch, {off} degrees off");
}

/// The same with a tool that gives: spring and contact in series, and deeper the softer.
#[test]
fn a_tool_that_gives_is_two_springs_in_series() {
    let mut pair = block_and_cube();
    let gains = gains(&pair);
    for body in [Body::QuasiStatic, Body::Dynamic(0.05)] {
        let mut tool = SoftTool::new(up(0.0105), ToolParams { body, ..ToolParams::default() });
        let mut felt = tool.tick(&mut pair, &up(0.0105), &Twist::ZERO, &gains, DT);
        for i in 0..4000 {
            // 3 mm down within a second, then rest.
            let z = 0.0105 - (3e-6 * f64::from(i)).min(3e-3);
            felt = tool.tick(&mut pair, &up(z), &Twist::ZERO, &gains, DT);
        }
        let (k, c) = (gains.stiffness, gains.contact);
        let want = k * c / (k + c) * 2.5e-3;
        // The cube's lower points, on its edges too, are as deep as its face: mean depth = depth.
        assert!(
            (felt.wrench.force.z - want).abs() < 0.1 * want,
            "{body:?}: {} N, {want} expected",
            felt.wrench.force.z
        );
        assert!(felt.wrench.force.truncate().length() < 0.02 * want, "{}", felt.wrench.force);
        assert!((felt.wrench.force + felt.contact.force * -1.0).length() < 0.02 * want, "{:?}", felt.contact);
        assert!(felt.depth > 0.0 && felt.depth < 1e-3, "{}", felt.depth);
    }
}

/// A cube slides across the edge of a block, pressed: no jump of the force, in either mode.
#[test]
fn sliding_over_an_edge_is_smooth() {
    let mut pair = block_and_cube();
    let gains = gains(&pair);
    let mut meshes = Meshes::of(&pair);
    let tilt = DQuat::from_rotation_y(0.3);
    let mut held = HeldTool::new(&pair, Pose::new(tilt, DVec3::new(0.03, 0.0, 0.03)), 0.0);
    let mut soft = SoftTool::new(held.pose(), ToolParams::default());
    let (mut most, mut last) = ([0.0f64; 2], [DVec3::ZERO; 2]);
    let mut touched = 0;
    for i in 0..4000 {
        // Down 18 mm, then 50 mm along x and over the edge, at 25 mm/s.
        let down = (4.5e-5 * f64::from(i)).min(0.018);
        let along = 2.5e-5 * (f64::from(i) - 400.0).max(0.0);
        let target = Pose::new(tilt, DVec3::new(0.03 + along.min(0.05), 0.0, 0.03 - down));
        let felt = [
            held.tick(&mut pair, &target, &Twist::ZERO, &gains, DT),
            soft.tick(&mut pair, &target, &Twist::ZERO, &gains, DT),
        ];
        assert!(i % 20 > 0 || !meshes.meet(&felt[0].pose), "step {i}");
        for k in 0..2 {
            most[k] = most[k].max((felt[k].wrench.force - last[k]).length());
            last[k] = felt[k].wrench.force;
        }
        touched += usize::from(felt[0].contacts > 0);
    }
    println!("largest step of force: held {:.3} N, soft {:.3} N", most[0], most[1]);
    assert!(touched > 600, "{touched}");
    assert!(most[0] < 1.0 && most[1] < 1.0, "{most:?}");
}

/// A peg goes into a hole, is turned in it and pressed to the side: its mesh never meets the hole's.
#[test]
fn a_wedged_peg_never_enters() {
    let mut pair = peg_and_hole(4e-4);
    let gains = gains(&pair);
    let mut meshes = Meshes::of(&pair);
    let box_b = pair.tool().aabb();
    println!(
        "hole {:?}, peg {box_b:?}, gap {}",
        pair.fixed().aabb(),
        HeldTool::new(&pair, Pose::IDENTITY, 0.0).gap()
    );
    let high = pair.fixed().aabb().max.z - box_b.min.z + 0.002;
    let mut tool = HeldTool::new(&pair, up(high), 0.2);
    let (mut lowest, mut pushed) = (high, 0.0f64);
    for i in 0..6000 {
        let t = f64::from(i) * DT;
        let z = high - 0.02 * t.min(2.0);
        let wedge = (t - 2.0).max(0.0);
        let turn = DQuat::from_scaled_axis(DVec3::new(
            0.1 * (3.0 * wedge).sin(),
            0.08 * wedge.sin(),
            0.3 * wedge.sin(),
        ));
        let side = DVec3::new(2e-3 * (2.0 * wedge).sin(), 1e-3 * (1.3 * wedge).sin(), z);
        let felt = tool.tick(&mut pair, &Pose::new(turn, side), &Twist::ZERO, &gains, DT);
        lowest = lowest.min(felt.pose.translation.z);
        pushed = pushed.max(felt.wrench.force.length());
        assert!(i % 5 > 0 || !meshes.meet(&felt.pose), "step {i}: {:?}", felt.pose);
    }
    assert!(high - lowest > 0.005, "it went down by {} only", high - lowest);
    assert!(pushed > 1.0, "{pushed} N");
}

/// Targets that are no numbers move nothing.
#[test]
fn bad_targets_move_nothing() {
    let mut pair = block_and_ball();
    let gains = gains(&pair);
    let bad = Pose::from_translation(DVec3::new(0.0, f64::NAN, 0.0));
    let mut held = HeldTool::new(&pair, up(0.03), 0.0);
    let mut soft = SoftTool::new(up(0.03), ToolParams::default());
    let wild = Twist { linear: DVec3::splat(f64::INFINITY), angular: DVec3::ZERO };
    for (target, motion, dt) in [
        (bad, Twist::ZERO, DT),
        (up(0.0), wild, DT),
        (up(0.0), Twist::ZERO, 0.0),
        (up(0.0), Twist::ZERO, f64::NAN),
    ] {
        for felt in [
            held.tick(&mut pair, &target, &motion, &gains, dt),
            soft.tick(&mut pair, &target, &motion, &gains, dt),
        ] {
            assert!(felt.non_finite && felt.pose == up(0.03) && felt.wrench == palpate::math::Wrench::ZERO);
        }
    }
}

/// A nut on its bolt is turned by half a turn and nothing else: the thread leads it, and its mesh never meets the bolt's. Points are a voxel
/// apart: the fit is so tight that corners between facets, which are no features, count.
#[test]
fn a_turned_nut_follows_its_thread() {
    let (bolt, nut) = samples::nut_and_bolt(samples::NUT_AND_BOLT_FINENESS);
    let mut pair = Pair::new(common::spaced(bolt, 250.0, 1.0), common::spaced(nut, 250.0, 1.0));
    let gains = gains(&pair);
    let mut meshes = Meshes::of(&pair);
    let mut tool = HeldTool::new(&pair, Pose::IDENTITY, 0.0);
    let mut felt = tool.tick(&mut pair, &Pose::IDENTITY, &Twist::ZERO, &gains, DT);
    for i in 0..2000 {
        let turn = (2e-3 * f64::from(i)).min(std::f64::consts::PI);
        let target = Pose::new(DQuat::from_rotation_z(turn), DVec3::ZERO);
        felt = tool.tick(&mut pair, &target, &Twist::ZERO, &gains, DT);
        assert!(i % 50 > 0 || !meshes.meet(&felt.pose), "step {i}: {:?}", felt.pose);
    }
    let axis = felt.pose.rotation.to_scaled_axis();
    println!(
        "turned by {:.3} rad, led by {:.3} mm, gap {:.4} mm",
        axis.z,
        1e3 * felt.pose.translation.z,
        1e3 * tool.gap()
    );
    assert!(axis.z > 2.5, "turned by {axis}");
    assert!(
        (felt.pose.translation.z.abs() - 1e-3 * axis.z / std::f64::consts::PI).abs() < 2e-4,
        "{}",
        felt.pose.translation
    );
}
