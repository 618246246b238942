#![no_main]
//! Any bytes as LAS or LAZ: no panic, and a cloud that comes out is valid.

use libfuzzer_sys::fuzz_target;
use palpate::cloud::{CloudFormat, RawCloud};

/// What unpacks LAZ may panic on damaged data and the engine catches that; here only panics of the engine end the run.
fn tell_apart() {
    let ending = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.location().is_some_and(|at| at.file().contains("palpate")) {
            ending(info);
        }
    }));
}

fuzz_target!(init: tell_apart(), |bytes: &[u8]| {
    let _ = CloudFormat::detect(bytes);
    if let Ok(cloud) = RawCloud::from_bytes(bytes, CloudFormat::Las, 1.0) {
        let n = cloud.points.len();
        assert!(n > 0 && cloud.points.iter().all(|p| p.is_finite()));
        assert!(cloud.normals.iter().all(|v| v.len() == n) && cloud.colours.iter().all(|v| v.len() == n));
    }
});
