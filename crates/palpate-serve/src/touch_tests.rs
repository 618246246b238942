use super::*;
use crate::look::Look;
use palpate::mesh::{Mesh, samples};
use palpate_haptic::sim::{Fault, HandMotion, SimDevice, SimFaults, SimParams, SimProbe};
use std::sync::Mutex;

fn ball(radius: f64, voxel: f64) -> Shape {
    let mesh = Mesh::new(samples::sphere(radius, 4), &Default::default()).unwrap();
    Shape::build(mesh, voxel, &Default::default()).unwrap()
}

fn balls(height: f64) -> Touch {
    let start = Pose::from_translation(DVec3::Z * height);
    Touch::new(ball(0.05, 1e-3), ball(0.02, 1e-3), start, DVec3::Z).unwrap()
}

/// So many ticks with the hand at `target`; what the last one told, and what it touches.
fn ticks(touch: &mut Touch, target: &Pose, n: usize) -> (Touched, Vec<Mark>, f64) {
    let (mut told, mut look, mut marks) = (Touched::default(), Look::default(), Vec::new());
    for _ in 0..n {
        told = touch.step(target, Instant::now());
    }
    look.tick(touch.shapes(), &told.tool, &told.target, told.gap, &mut marks);
    (told, marks, look.depth)
}

#[test]
fn the_tool_stops_at_the_surface_and_the_force_points_out() {
    let mut touch = balls(0.1);
    let target = Pose::from_translation(DVec3::Z * 0.055);
    let (told, marks, depth) = ticks(&mut touch, &target, 800);
    assert!((told.tool.translation.z - 0.07).abs() < 1e-3, "{:?}", told.tool);
    assert!((told.target.translation - target.translation).length() < 1e-5, "{:?}", told.target);
    assert!((depth - 0.015).abs() < 1e-3, "{depth}");
    // The spring is stretched by 15 mm of the 8 mm at which its force is largest. Ball on ball: the tool may slip a little to a side.
    let force = told.wrench.force;
    assert!(force.z > 5.0 && force.length() <= MOST_FORCE + 1e-9, "{:?}", told.wrench);
    assert!(force.x.abs() < 0.2 * force.z && told.touching, "{:?}", told.wrench);
    assert!(!marks.is_empty() && marks.iter().all(|m| m.normal.z > 0.9 && m.depth < 1e-4));
    let (rig, led) = touch.state();
    let rig = rig.unwrap();
    assert!(led == Led::Hand && rig.bad_readings == 0 && rig.worst > 0.0 && rig.energy > 0.0, "{rig:?}");
    // Away again: no force is left.
    let (told, marks, _) = ticks(&mut touch, &Pose::from_translation(DVec3::Z * 0.2), 800);
    assert!(told.wrench.force.length() < 1e-3 && !told.touching, "{:?}", told.wrench);
    assert!((told.tool.translation.z - 0.2).abs() < 1e-5 && marks.is_empty());
}

#[test]
fn the_tool_slides_around_and_a_target_that_is_no_number_is_ignored() {
    let mut touch = balls(0.08);
    // Through the ball to its other side, a little beside the middle: it must go around.
    let target = Pose::from_translation(DVec3::new(0.04, 0.0, -0.08));
    for _ in 0..600 {
        let (told, marks, _) = ticks(&mut touch, &target, 8);
        let inside = marks.iter().map(|m| m.depth).fold(0.0, f64::max);
        assert!(inside < 1e-6, "{inside} m inside at {:?}", told.tool);
    }
    let (told, ..) = ticks(&mut touch, &target, 1);
    assert!((told.tool.translation - target.translation).length() < 1e-5, "{:?}", told.tool);
    let (lost, ..) = ticks(&mut touch, &Pose::from_translation(DVec3::NAN), 1);
    assert!((lost.tool.translation - told.tool.translation).length() < 1e-6);
}

#[test]
fn it_can_give_and_rub_and_begin_anew() {
    let mut touch = balls(0.08);
    let pressed = Pose::from_translation(DVec3::Z * 0.062);
    let (held, marks, _) = ticks(&mut touch, &pressed, 800);
    assert!(marks.iter().all(|m| m.depth < 1e-6));
    touch.feel(Feel { mode: Mode::Soft, friction: 0.0 });
    // Force goes first.
    let (fading, ..) = ticks(&mut touch, &pressed, 4);
    assert!(fading.wrench.force.length() < 0.1 * held.wrench.force.length(), "{:?}", fading.wrench);
    let (soft, marks, _) = ticks(&mut touch, &pressed, 800);
    assert!(marks.iter().any(|m| m.depth > 1e-4), "it enters");
    assert!(soft.wrench.force.z > 1.0 && soft.tool.translation.z < held.tool.translation.z);
    // One that does not enter cannot begin inside.
    touch.feel(Feel { mode: Mode::Held, friction: 1.0 });
    let (again, marks, _) = ticks(&mut touch, &pressed, 1000);
    assert!(marks.iter().all(|m| m.depth < 1e-6) && again.wrench.force.z > 1.0, "{again:?}");
    // Friction holds: a hand that moves aside a little leaves the tool where it is.
    let aside = Pose::from_translation(DVec3::new(2e-3, 0.0, 0.062));
    let (rubbed, ..) = ticks(&mut touch, &aside, 400);
    assert!(rubbed.tool.translation.x < 1e-3, "{:?}", rubbed.tool);
    touch.reset();
    let (anew, ..) = ticks(&mut touch, &Pose::from_translation(DVec3::Z * 0.08), 100);
    assert!((anew.tool.translation - DVec3::Z * 0.08).length() < 1e-6, "{:?}", anew.tool);
}

/// A simulated hand that presses down, and what can be done to its device.
#[derive(Debug, Default)]
struct Pressing {
    opened: Mutex<Vec<(SimFaults, SimProbe)>>,
    absent: Mutex<bool>,
    plays: bool,
}

impl Opener for Pressing {
    fn name(&self) -> String {
        "a simulated device".to_owned()
    }

    fn open(&self, _: &Pair, start: Pose, _: DVec3) -> Result<Opened, String> {
        if *self.absent.lock().unwrap() {
            return Err("nobody answers".to_owned());
        }
        let motion =
            HandMotion::Press { start: Pose::IDENTITY, axis: DVec3::NEG_Z, depth: 0.03, seconds: 0.2 };
        let device =
            SimDevice::new(SimParams { motion, ..SimParams::default() }).map_err(|e| e.to_string())?;
        self.opened.lock().unwrap().push((device.faults(), device.probe()));
        let mapping = Mapping { rotation: DQuat::IDENTITY, scale: 1.0, start };
        Ok(Opened { device: Box::new(device), mapping, delay: 0, plays: self.plays })
    }
}

/// Ticks, a millisecond apart or so, until it is as `wanted`.
fn until(touch: &mut Touch, what: &str, wanted: impl Fn(&Touched, &Led) -> bool) -> Touched {
    // The page's hand is elsewhere, and does not count.
    let hand = Pose::from_translation(DVec3::new(1.0, 2.0, 3.0));
    let began = Instant::now();
    loop {
        let told = touch.step(&hand, Instant::now());
        if wanted(&told, &touch.state().1) {
            return told;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{what}: {told:?} {:?}", touch.state());
        std::thread::sleep(Duration::from_micros(300));
    }
}

#[test]
fn a_device_leads_is_lost_and_comes_back() {
    let opener = Arc::new(Pressing::default());
    let mut touch = balls(0.09);
    touch.lend(opener.clone());
    assert!(touch.is_held());
    until(&mut touch, "it is opened", |_, led| *led == Led::Here);
    let told = until(&mut touch, "it presses", |t, _| t.touching && t.wrench.force.z > 2.0);
    assert!(told.target.translation.z < told.tool.translation.z && told.tool.translation.x.abs() < 0.02);
    let (faults, probe) = opener.opened.lock().unwrap()[0].clone();
    // What is shown is what the device is given, a tick later.
    let told = touch.step(&Pose::IDENTITY, Instant::now());
    touch.step(&Pose::IDENTITY, Instant::now());
    assert!((probe.state().wrench.force - told.wrench.force).length() < 1e-9);
    // It fails for a moment: force goes, nobody is told, and force comes back by itself.
    faults.set(Fault::Silent);
    for _ in 0..5 {
        touch.step(&Pose::IDENTITY, Instant::now());
    }
    assert_eq!(touch.told().wrench, Wrench::ZERO);
    assert_eq!(touch.state().1, Led::Here);
    faults.clear();
    until(&mut touch, "force comes back", |t, _| t.wrench.force.z > 2.0);
    assert!(touch.state().0.unwrap().bad_readings >= 5);
    // For long: that is told, and it is sought anew.
    *opener.absent.lock().unwrap() = true;
    faults.set(Fault::Silent);
    let told = until(&mut touch, "it is lost", |_, led| matches!(led, Led::Lost(_)));
    assert_eq!(told.wrench, Wrench::ZERO);
    until(&mut touch, "it is sought", |_, led| *led == Led::Lost("nobody answers".to_owned()));
    assert!(touch.is_held() && touch.state().0.is_none());
    *opener.absent.lock().unwrap() = false;
    until(&mut touch, "it is back", |t, led| *led == Led::Here && t.wrench.force.z > 2.0);
    assert_eq!(opener.opened.lock().unwrap().len(), 2);
    // Another scene comes: force is gone when the device is closed, and it was given none last.
    let (_, probe) = opener.opened.lock().unwrap()[1].clone();
    let left = (0..10).find(|_| touch.leave(Instant::now()));
    assert!(left.is_some_and(|n| n > 0) && touch.running.is_none());
    assert_eq!(probe.state().wrench, Wrench::ZERO);
}

#[test]
fn a_motion_that_plays_begins_anew_with_the_scene() {
    let opener = Arc::new(Pressing { plays: true, ..Pressing::default() });
    let mut touch = balls(0.09);
    touch.lend(opener.clone());
    until(&mut touch, "it presses", |t, _| t.touching);
    assert!(!touch.is_held(), "it may rest without a page");
    touch.reset();
    until(&mut touch, "it begins anew", |t, led| *led == Led::Here && t.tool.translation.z > 0.085);
    assert_eq!(opener.opened.lock().unwrap().len(), 2);
    until(&mut touch, "it presses again", |t, _| t.touching);
}
