#![no_main]
//! Any bytes as the points of a PLY: no panic, and a cloud that comes out is valid.

use libfuzzer_sys::fuzz_target;
use palpate::cloud::{CloudFormat, RawCloud};

fuzz_target!(|bytes: &[u8]| {
    let _ = CloudFormat::detect(bytes);
    if let Ok(cloud) = RawCloud::from_bytes(bytes, CloudFormat::Ply, 1.0) {
        let n = cloud.points.len();
        assert!(n > 0 && cloud.points.iter().all(|p| p.is_finite()));
        assert!(cloud.normals.iter().all(|v| v.len() == n) && cloud.colours.iter().all(|v| v.len() == n));
    }
});
