#![no_main]
//! Any bytes as points that come, go and move: no panic, and the nearest point is always that of comparing all.

use glam::DVec3;
use libfuzzer_sys::fuzz_target;
use palpate::cloud::{Cloud, CloudParams};

/// Numbers of a small grid, so that many are equal; sometimes any bits.
fn number(bytes: &mut &[u8]) -> f64 {
    let Some((kind, rest)) = bytes.split_first() else { return 0.0 };
    *bytes = rest;
    if *kind < 250 {
        return f64::from(*kind % 25) / 8.0;
    }
    let mut bits = [0; 8];
    let n = bytes.len().min(8);
    bits[..n].copy_from_slice(&bytes[..n]);
    *bytes = &bytes[n..];
    f64::from_le_bytes(bits)
}

fn point(bytes: &mut &[u8]) -> DVec3 {
    DVec3::new(number(bytes), number(bytes), number(bytes))
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes;
    let Some(([leaf, count], rest)) = bytes.split_first_chunk() else { return };
    bytes = rest;
    let points: Vec<DVec3> = (0..*count).map(|_| point(&mut bytes)).collect();
    let params = CloudParams { leaf: 1 + usize::from(leaf % 20), threads: 1, ..Default::default() };
    let Ok(mut cloud) = Cloud::build(&points, &params) else { return };
    while let Some((what, rest)) = bytes.split_first() {
        bytes = rest;
        let id = u32::from(*what / 4) % cloud.id_end().max(1);
        match what % 4 {
            0 => drop(cloud.insert(point(&mut bytes))),
            1 => drop(cloud.remove(id)),
            2 => drop(cloud.move_to(id, point(&mut bytes))),
            _ => {
                let p = point(&mut bytes);
                let all = (0..cloud.id_end()).filter_map(|id| cloud.position(id));
                let least = all.map(|q| q.distance(p)).fold(f64::INFINITY, f64::min);
                if let Some(n) = cloud.nearest(p) {
                    // Searches are in single precision about the cloud's middle.
                    let b = cloud.aabb();
                    let size = p.abs().max_element() + b.max.abs().max_element() + b.min.abs().max_element();
                    let off = (n.distance - least).abs();
                    // Probes out of all proportion are taken to where squares can tell them.
                    let told = off <= 1e-6 * (size + least) || !off.is_finite() || p.length() > 1e17;
                    assert!(told, "{} {least}", n.distance);
                    assert!(
                        cloud.touches(n.point, 1e-6 * size) || !size.is_finite(),
                        "a point is in its own box"
                    );
                } else {
                    assert!(cloud.is_empty() || !p.is_finite());
                }
            }
        }
    }
    let there = (0..cloud.id_end()).filter(|id| cloud.position(*id).is_some()).count();
    assert_eq!(there, cloud.len());
});
