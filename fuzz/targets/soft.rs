#![no_main]
//! Any bytes as two deforming meshes: no panic, every method finds what testing every pair finds, and so on their way.

use glam::DVec3;
use libfuzzer_sys::fuzz_target;
use palpate::soft::{Method, Soft, SoftMesh, SoftParams, contacts, triangles_meet};

/// Numbers that lie near each other often enough to meet; sometimes any bits.
fn number(bytes: &mut &[u8]) -> f64 {
    let Some((kind, rest)) = bytes.split_first() else { return 0.0 };
    *bytes = rest;
    if *kind == 255 {
        let mut bits = [0; 8];
        let n = bytes.len().min(8);
        bits[..n].copy_from_slice(&bytes[..n]);
        *bytes = &bytes[n..];
        return f64::from_le_bytes(bits);
    }
    f64::from(*kind % 32) / 8.0
}

fn point(bytes: &mut &[u8]) -> DVec3 {
    DVec3::new(number(bytes), number(bytes), number(bytes))
}

fn mesh(bytes: &mut &[u8]) -> Option<SoftMesh> {
    let (count, rest) = bytes.split_first()?;
    *bytes = rest;
    let positions: Vec<DVec3> = (0..3 + count % 24).map(|_| point(bytes)).collect();
    let n = positions.len() as u32;
    let (triangles, rest) = bytes.split_at(bytes.len().min(3 * usize::from(count / 8)));
    *bytes = rest;
    let triangles = triangles.chunks_exact(3).map(|t| [0, 1, 2].map(|i| u32::from(t[i]) % n)).collect();
    Some(SoftMesh::new(positions, triangles).expect("all indices are within"))
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes;
    let (Some(mut a), Some(b)) = (mesh(&mut bytes), mesh(&mut bytes)) else { return };
    let mut soft = Soft::new();
    for step in 0..2 {
        if step == 1 {
            a.deform(|_, p| p + point(&mut bytes));
            let _ = a.set_enabled(0, false);
        }
        let mut expected = Vec::new();
        for x in (0..a.triangles().len() as u32).filter(|t| a.takes_part(*t)) {
            for y in (0..b.triangles().len() as u32).filter(|t| b.takes_part(*t)) {
                let (Some(s), Some(t)) = (a.corners(x), b.corners(y)) else { continue };
                if triangles_meet(&s, &t) {
                    expected.push([x, y]);
                }
            }
        }
        for method in [Method::Cut, Method::Refit, Method::Auto] {
            let params = SoftParams { method, leaf: 2, ..Default::default() };
            let found = soft.pairs(&a, &b, &params);
            assert_eq!(found.list, expected, "{method:?}");
            assert_eq!(contacts(&a, &b, found).len(), expected.len());
            let own = soft.own_pairs(&a, &params).list.clone();
            assert!(own.iter().all(|[x, y]| x < y));
        }
        if let Some(d) = soft.distance(&a, &b) {
            assert!(d.distance >= 0.0 && (expected.is_empty() || d.distance == 0.0));
        }
        let end: Vec<DVec3> = a.positions().iter().map(|p| *p + point(&mut bytes)).collect();
        let hit =
            soft.first_contact(&a, &end, &b, b.positions(), &Default::default()).expect("as many places");
        assert!(hit.is_none_or(|h| (0.0..=1.0).contains(&h.time)));
        let _ = soft.own_first_contact(&a, &end, &Default::default());
    }
});
