#![no_main]
//! Any bytes as a message of Haply's service: no panic, and every number that comes out can be used.

use libfuzzer_sys::fuzz_target;
use palpate_haptic::haply::{Frame, Message};

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = Message::parse(bytes) else { return };
    for inverse in &message.inverses {
        let (Some(p), q) = (inverse.position, message.grips.iter().find_map(|g| g.orientation)) else { continue };
        assert!(p.is_finite() && inverse.velocity.is_none_or(|v| v.is_finite()));
        let pose = Frame::y_up().pose(p, q.unwrap_or_default());
        assert!(pose.is_finite() && (pose.rotation.length() - 1.0).abs() < 1e-9);
    }
});
