//! Contacts do not depend on how the field's values lie in memory, nor on the tree.

use super::*;
use crate::field::{Encoding, FieldParams};
use crate::mesh::{Mesh, RepairParams, samples};
use crate::shape::{Shape, ShapeParams};
use glam::DQuat;

fn shape(encoding: Encoding) -> Shape {
    let mesh = Mesh::new(samples::torus(1.0, 0.35, 48, 24), &RepairParams::default()).unwrap();
    let mut params = ShapeParams::default();
    params.field = FieldParams { encoding, ..params.field };
    Shape::build(mesh, 0.04, &params).unwrap()
}

/// Not the coincident one: there every point is on the surface but for rounding.
fn poses() -> impl Iterator<Item = Pose> {
    (1..61).map(|i| {
        let t = f64::from(i);
        let rotation = DQuat::from_rotation_y(0.3 * t) * DQuat::from_rotation_x(0.17 * t);
        Pose::new(rotation, DVec3::new(0.04 * t, 0.01 * t, -0.005 * t))
    })
}

#[test]
fn a_compact_shape_finds_what_a_packed_one_does() {
    for encoding in [Encoding::Float, Encoding::Scaled { precision: None }] {
        let packed = shape(encoding);
        let compact = packed.compact();
        let error = packed.packed.as_ref().unwrap().error + 4e-6;
        assert!(compact.packed.is_none() && compact.bytes() < packed.bytes());
        let (mut query, mut scalar, params) = (Query::new(), Query::scalar(), QueryParams::default());
        let (mut both, mut edge, mut partial) = (0, 0, 0);
        for pose in poses() {
            let a = query.contacts(&packed, &packed, &pose, &params).list.clone();
            for s in [&packed, &compact] {
                let found = query.contacts(s, s, &pose, &params).list.clone();
                assert_eq!(found, query.plain(s, s, &pose, &params).list);
                assert_eq!(found, scalar.contacts(s, s, &pose, &params).list);
            }
            let b = query.contacts(&compact, &compact, &pose, &params).list.clone();
            partial += usize::from(!b.is_empty() && b.len() < packed.tree().len() / 2);
            for (list, other) in [(&a, &b), (&b, &a)] {
                for c in list {
                    match other.binary_search_by_key(&c.id, |o| o.id) {
                        Ok(at) => {
                            assert!(f64::from((c.distance - other[at].distance).abs()) <= error);
                            both += 1;
                        }
                        // Only what is on the surface but for rounding may be in one alone.
                        Err(_) => {
                            assert!(f64::from(c.depth()) <= error, "{} m deep", c.depth());
                            edge += 1;
                        }
                    }
                }
            }
        }
        assert!(both > 10_000 && edge < both / 100 && partial > 20, "{both} {edge} {partial}");
    }
}
