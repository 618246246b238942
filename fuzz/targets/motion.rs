#![no_main]
//! Any bytes as a recorded motion: no panic, and what is played is finite, stays in between, and can be written and read again.

use libfuzzer_sys::fuzz_target;
use palpate_haptic::replay::{End, Motion, Recorder, Replay};
use palpate_haptic::{Device, DeviceLimits};

fuzz_target!(|bytes: &[u8]| {
    let Ok(motion) = Motion::parse(bytes) else { return };
    let duration = motion.duration();
    assert!(duration >= 0.0 && duration.is_finite());
    let mut recorder = Recorder::new();
    for i in 0..8 {
        let time = duration * f64::from(i) / 7.0;
        let (pose, _) = motion.at(time);
        assert!(pose.is_finite() && pose.translation.abs().max_element() <= 1e6 * (1.0 + 1e-12));
        recorder.push(time, &pose);
    }
    assert!(Motion::parse(recorder.as_text().as_bytes()).is_ok());
    for end in [End::Hold, End::Repeat] {
        let Ok(mut replay) = Replay::new(motion.clone(), duration.max(1e-3) / 3.0, end, DeviceLimits::SIGMA7) else {
            panic!("a period above 0")
        };
        for _ in 0..8 {
            assert!(replay.exchange(&Default::default()).is_ok_and(|r| r.is_finite()));
        }
    }
});
