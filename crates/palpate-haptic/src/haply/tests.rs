//! The adapter against a service that pretends: what is on the wire, and what happens when it goes wrong.
//!
//! Bounds on time are contracts of the adapter with room for a busy machine: a time-out of 20 ms must be an error within 1 s.

use std::time::Instant;

use super::mock::{Manner, MockParams, MockService};
use super::*;

/// An answer is waited for as long as a busy machine may take; tests of time-outs set their own.
fn params(service: &MockService) -> HaplyParams {
    HaplyParams { address: service.address(), timeout: Duration::from_secs(20), ..HaplyParams::default() }
}

fn force(x: f64, y: f64, z: f64) -> Wrench {
    Wrench { force: DVec3::new(x, y, z), torque: DVec3::ZERO }
}

/// Waits until the service has seen what it should; the other thread may take its time.
fn until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(20), "it did not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The payloads of a client's frames, unmasked by hand; the handshake before them is passed over.
fn payloads(service: &MockService) -> Vec<String> {
    let bytes: Vec<u8> = service.bytes().into_iter().flat_map(|(_, piece)| piece).collect();
    let mut rest = &bytes[bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4..];
    let mut texts = vec![];
    while !rest.is_empty() {
        let (code, mut n, mut at) = (rest[0], usize::from(rest[1] & 0x7f), 2);
        assert_eq!(rest[1] & 0x80, 0x80, "a client masks");
        if n == 126 {
            (n, at) = (usize::from(u16::from_be_bytes([rest[2], rest[3]])), 4);
        }
        assert_ne!(n, 127);
        let mask = &rest[at..at + 4];
        let data = &rest[at + 4..at + 4 + n];
        let plain: Vec<u8> = data.iter().enumerate().map(|(i, b)| b ^ mask[i % 4]).collect();
        if code == 0x81 {
            texts.push(String::from_utf8(plain).unwrap());
        } else {
            assert_eq!(code, 0x88, "whole texts, and a close at the end");
        }
        rest = &rest[at + 4 + n..];
    }
    texts
}

#[test]
fn hands_are_shaken_and_the_inventory_read() {
    let service = MockService::start(MockParams::default()).unwrap();
    let haply = Haply::connect(params(&service)).unwrap();
    assert_eq!((haply.id(), haply.has_grip()), ("049D", true));
    assert_eq!(haply.name(), "Haply Inverse3 049D");
    assert_eq!(haply.limits(), DeviceLimits::INVERSE3);
    let first = &service.received()[0];
    assert!(first.text.contains(r#""session":{"configure":{"profile":{"name":"palpate:feel"}}}"#));
    assert_eq!(first.force, Some((DVec3::ZERO, Spelling::Vector)));
    assert!(haply.guard().is_some());
}

#[test]
fn devices_are_chosen_by_name_and_missed_in_words() {
    let devices = vec!["049D".to_owned(), "04BA".to_owned()];
    let service = MockService::start(MockParams { devices, ..MockParams::default() }).unwrap();
    let named = |id: &str| HaplyParams { device: Some(id.to_owned()), ..params(&service) };
    assert_eq!(Haply::connect(named("04BA")).unwrap().id(), "04BA");
    let error = Haply::connect(named("FFFF")).unwrap_err().to_string();
    assert!(error.contains("no Inverse3 FFFF, only 049D, 04BA"), "{error}");
    let none = MockService::start(MockParams { devices: vec![], ..MockParams::default() }).unwrap();
    let error = Haply::connect(params(&none)).unwrap_err();
    assert!(matches!(error, DeviceError::Absent { .. }) && error.to_string().contains("lists no Inverse3"));
    let raw = MockService::start(MockParams { calibrated: false, ..MockParams::default() }).unwrap();
    let error = Haply::connect(params(&raw)).unwrap_err().to_string();
    assert!(error.contains("not calibrated") && error.contains("Hub"), "{error}");
    let mut gone = MockService::start(MockParams::default()).unwrap();
    gone.kill();
    let error = Haply::connect(params(&gone)).unwrap_err();
    assert!(matches!(error, DeviceError::Absent { .. }), "{error}");
    assert!(error.to_string().contains(&gone.address()), "{error}");
}

/// To the bit, in both spellings, in the frames that are on the wire; one state for each.
#[test]
fn forces_on_the_wire_are_those_commanded() {
    let asked =
        [force(0.0, 0.0, 1.5), force(-0.1, 1.0 / 3.0, 1e-9), force(9.0, -4.0, 1.0), force(0.0, 0.0, 0.0)];
    for (version, wanted, spelling, field) in [
        (Some("3.5.0.0"), Spelling::ByVersion, Spelling::Vector, "vector"),
        (Some("3.1.1"), Spelling::ByVersion, Spelling::Values, "values"),
        (None, Spelling::ByVersion, Spelling::Vector, "vector"),
        (Some("3.5.0"), Spelling::Values, Spelling::Values, "values"),
        (Some("3.1.1"), Spelling::Vector, Spelling::Vector, "vector"),
    ] {
        let version = version.map(str::to_owned);
        let service = MockService::start(MockParams { version, ..MockParams::default() }).unwrap();
        let mut haply = Haply::connect(HaplyParams { spelling: wanted, ..params(&service) }).unwrap();
        for wrench in &asked {
            haply.exchange(wrench).unwrap();
        }
        assert_eq!(service.answers(), 1 + asked.len(), "one state for each message");
        let forces = service.forces();
        assert_eq!(forces.len(), 1 + asked.len());
        let texts = payloads(&service);
        assert_eq!(texts.len(), 1 + asked.len());
        for (i, wrench) in asked.iter().enumerate() {
            let f = wrench.force;
            assert_eq!((forces[i + 1].1, forces[i + 1].2), (f, spelling));
            assert_eq!(
                texts[i + 1],
                format!(
                    r#"{{"inverse3":[{{"device_id":"049D","commands":{{"set_cursor_force":{{"{field}":{{"x":{:?},"y":{:?},"z":{:?}}}}}}}}}]}}"#,
                    f.x, f.y, f.z
                )
            );
        }
        // What is not a number is none; what is too much is cut; a torque is left out.
        haply.exchange(&force(f64::NAN, 1.0, 0.0)).unwrap();
        haply.exchange(&force(30.0, 0.0, 40.0)).unwrap();
        haply.exchange(&Wrench { force: DVec3::X, torque: DVec3::splat(f64::NAN) }).unwrap();
        let forces: Vec<DVec3> = service.forces().iter().rev().take(3).rev().map(|f| f.1).collect();
        assert_eq!(forces[0], DVec3::ZERO);
        assert!((forces[1] - DVec3::new(6.0, 0.0, 8.0)).length() < 1e-12);
        assert_eq!(forces[2], DVec3::X);
        // Dropped, it leaves no force behind.
        drop(haply);
        until(|| service.forces().len() == 9);
        assert_eq!(service.forces()[8].1, DVec3::ZERO);
    }
}

/// A known pose in, a known pose out, as the frame has it; forces the way back.
#[test]
fn poses_and_buttons_come_out_in_the_worlds_frame() {
    let service = MockService::start(MockParams::default()).unwrap();
    service.set_cursor(DVec3::new(0.01, 0.02, 0.03), DVec3::new(0.1, 0.2, 0.3));
    service.set_grip(DQuat::from_rotation_z(0.5), 0b110);
    let offset = DVec3::new(0.0, 1.0, 0.0);
    let frame = Frame { offset, scale: 10.0, ..Frame::y_up() };
    let mut haply = Haply::connect(HaplyParams { frame, ..params(&service) }).unwrap();
    let told = haply.exchange(&force(1.0, 2.0, 3.0)).unwrap();
    // Right stays, up is y, forward is −z: z of the world comes towards the user.
    assert!((told.pose.translation - DVec3::new(0.1, 1.3, -0.2)).length() < 1e-12, "{:?}", told.pose);
    // A turn to the left about up is one about y.
    assert!((told.pose.rotation - DQuat::from_rotation_y(0.5)).length() < 1e-12, "{:?}", told.pose);
    assert_eq!(told.buttons, 0b110);
    assert_eq!(told.twist, None, "nobody tells how fast the grip turns");
    let sent = service.forces().last().unwrap().1;
    assert!((sent - DVec3::new(1.0, -3.0, 2.0)).length() < 1e-12, "{sent}");
    assert_eq!(haply.limits().stiffness, 100.0);
    // A push of the world does the same work on the device's cursor, but for the scale of motion.
    let world = told.pose.translation - offset;
    assert!(
        (world.dot(DVec3::new(1.0, 2.0, 3.0)) - 10.0 * sent.dot(DVec3::new(0.01, 0.02, 0.03))).abs() < 1e-12
    );

    let bare = MockService::start(MockParams { grip: false, ..MockParams::default() }).unwrap();
    bare.set_cursor(DVec3::new(0.01, 0.02, 0.03), DVec3::new(0.1, 0.2, 0.3));
    let mut haply = Haply::connect(HaplyParams { frame, ..params(&bare) }).unwrap();
    let told = haply.exchange(&Wrench::ZERO).unwrap();
    assert_eq!(told.pose.rotation, DQuat::IDENTITY);
    let linear = told.twist.unwrap().linear;
    assert!((linear - DVec3::new(1.0, 3.0, -2.0)).length() < 1e-12, "{linear}");
    assert!(!haply.has_grip() && !haply.limits().rotation);
}

/// The simulated device behind the service moves as it is pushed.
#[test]
fn pushes_move_the_device_behind_it() {
    let service = MockService::start(MockParams::default()).unwrap();
    let mut haply = Haply::connect(params(&service)).unwrap();
    let start = haply.exchange(&Wrench::ZERO).unwrap().pose.translation;
    assert!((start - DVec3::new(0.0, -0.12, 0.15)).length() < 1e-9);
    for _ in 0..2000 {
        haply.exchange(&force(0.0, 0.0, 1.5)).unwrap();
    }
    let up = haply.exchange(&force(0.0, 0.0, 1.5)).unwrap().pose.translation - start;
    // 1.5 N on a hand of 300 N/m.
    assert!((up - DVec3::Z * 5e-3).length() < 1e-5, "{up}");
    assert_eq!(service.forces().len(), 2003);
}

#[test]
fn what_is_garbled_is_an_error_and_no_more() {
    for manner in [Manner::Null, Manner::Huge, Manner::Garbage, Manner::Binary, Manner::Empty] {
        let service = MockService::start(MockParams::default()).unwrap();
        let mut haply = Haply::connect(params(&service)).unwrap();
        service.behave(manner);
        let error = haply.exchange(&force(0.0, 0.0, 1.0)).unwrap_err();
        match manner {
            Manner::Empty => assert!(matches!(error, DeviceError::Lost { .. }), "{manner:?}: {error}"),
            _ => assert!(matches!(error, DeviceError::Garbled { .. }), "{manner:?}: {error}"),
        }
        // It can come back: the answers are counted.
        service.behave(Manner::Well);
        service.set_cursor(DVec3::X * 0.05, DVec3::ZERO);
        assert!((haply.exchange(&Wrench::ZERO).unwrap().pose.translation.x - 0.05).abs() < 1e-12);
    }
    let service = MockService::start(MockParams::default()).unwrap();
    let mut haply = Haply::connect(params(&service)).unwrap();
    service.behave(Manner::BadFrame);
    for _ in 0..3 {
        let error = haply.exchange(&force(0.0, 0.0, 1.0)).unwrap_err();
        assert!(matches!(error, DeviceError::Lost { .. }), "{error}");
    }
}

#[test]
fn a_service_that_is_killed_or_stalls_is_lost_in_time() {
    let short = Duration::from_millis(20);
    let room = Duration::from_secs(1);
    for manner in [Manner::Hold, Manner::Stall] {
        let service = MockService::start(MockParams::default()).unwrap();
        // The first state after connecting is waited for with patience; only then time-outs are short.
        let mut haply = Haply::connect(HaplyParams { timeout: short, ..params(&service) }).unwrap();
        service.behave(manner);
        // One that was already being answered may still come.
        let _ = haply.exchange(&Wrench::ZERO);
        for _ in 0..3 {
            let start = Instant::now();
            let error = haply.exchange(&force(0.0, 0.0, 1.0)).unwrap_err();
            let took = start.elapsed();
            assert!(matches!(error, DeviceError::Lost { .. }), "{error}");
            assert!(error.to_string().contains("20 ms"), "{error}");
            assert!(took >= short && took < room, "{manner:?}: {took:?}");
        }
        // It comes back: what it owes is read, and the newest of it counts.
        service.set_cursor(DVec3::X * 0.05, DVec3::ZERO);
        service.behave(Manner::Well);
        let mut told = haply.exchange(&Wrench::ZERO);
        for _ in 0..50 {
            if told.is_ok() {
                break;
            }
            told = haply.exchange(&Wrench::ZERO);
        }
        assert!((told.unwrap().pose.translation.x - 0.05).abs() < 1e-12, "{manner:?}");
        assert_eq!(service.forces().len(), service.answers());
    }
    let mut service = MockService::start(MockParams::default()).unwrap();
    let mut haply = Haply::connect(params(&service)).unwrap();
    haply.exchange(&force(0.0, 0.0, 1.0)).unwrap();
    service.kill();
    let mut guard = haply.guard().unwrap();
    for _ in 0..5 {
        let start = Instant::now();
        assert!(matches!(haply.exchange(&force(0.0, 0.0, 1.0)), Err(DeviceError::Lost { .. })));
        assert!(start.elapsed() < Duration::from_secs(5), "at once, not after the time-out of 20 s");
    }
    assert!(guard.release().is_err());
}

/// The loop waits for an answer that does not come; the guard's zero force is on the wire meanwhile, as whole frames.
#[test]
fn the_guards_zero_arrives_while_the_loop_is_blocked() {
    let service = MockService::start(MockParams::default()).unwrap();
    let mut haply = Haply::connect(params(&service)).unwrap();
    haply.exchange(&force(0.0, 0.0, 2.0)).unwrap();
    let mut guard = haply.guard().unwrap();
    service.behave(Manner::Hold);
    let told = std::thread::scope(|scope| {
        let blocked = scope.spawn(|| haply.exchange(&force(0.0, 0.0, 3.0)));
        until(|| service.forces().last().unwrap().1.z == 3.0);
        assert!(!blocked.is_finished());
        guard.release().unwrap();
        until(|| service.forces().last().unwrap().1 == DVec3::ZERO);
        assert!(!blocked.is_finished(), "the loop was waiting all the time");
        service.set_cursor(DVec3::X * 0.07, DVec3::ZERO);
        guard.release().unwrap();
        until(|| service.forces().len() == 5);
        service.behave(Manner::Well);
        blocked.join().unwrap()
    });
    // Three answers come at once; the newest is told.
    assert!((told.unwrap().pose.translation.x - 0.07).abs() < 1e-12);
    service.set_cursor(DVec3::X * 0.08, DVec3::ZERO);
    let told = haply.exchange(&force(0.0, 0.0, 4.0)).unwrap();
    assert!((told.pose.translation.x - 0.08).abs() < 1e-12, "no answer is left over");
    let texts = payloads(&service);
    assert_eq!(texts.len(), 6);
    let zero = r#""set_cursor_force":{"vector":{"x":0.0,"y":0.0,"z":0.0}}"#;
    assert!(texts[3].contains(zero) && texts[4].contains(zero) && texts[3] == texts[4]);
}

/// Two threads write as fast as they can: frames never mix, and every message has its answer.
#[test]
fn frames_of_two_threads_do_not_mix() {
    let service = MockService::start(MockParams::default()).unwrap();
    let mut haply = Haply::connect(params(&service)).unwrap();
    let mut guard = haply.guard().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..200 {
                guard.release().unwrap();
                std::thread::yield_now();
            }
        });
        for i in 0..500 {
            haply.exchange(&force(0.0, 0.0, 1.0 + f64::from(i) * 1e-3)).unwrap();
        }
    });
    haply.exchange(&force(0.0, 0.0, 5.0)).unwrap();
    assert_eq!(service.answers(), 702);
    let forces = service.forces();
    assert_eq!(forces.len(), 702, "each message could be read");
    let mine: Vec<f64> = forces.iter().map(|f| f.1.z).filter(|z| *z > 0.0).collect();
    assert_eq!(mine.len(), 501);
    assert!(mine.windows(2).all(|w| w[0] < w[1]), "in order");
    assert!(payloads(&service).len() == 702);
}
