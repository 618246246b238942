//! Nodes nearest to a vertex.

use super::sweep::OVERLAP;
use super::{Axes, Slab};
use crate::field::cone::Cone;
use glam::DVec3;

/// Nodes nearest to the vertex at `p`, inside its cone.
#[inline(always)]
pub(super) fn scan_cone(slab: &mut Slab, p: DVec3, cone: &Cone) {
    let (w, up) = cone.axis();
    let axes = Axes::along(w);
    let c = axes.turn(p);
    let normal = axes.turn(cone.normal.as_dvec3());
    let (w0, w1) = if up > 0.0 {
        slab.clip(w, c[2] - OVERLAP, c[2] + slab.band)
    } else {
        slab.clip(w, c[2] - slab.band, c[2] + OVERLAP)
    };
    let [ul, uh, vl, vh] = cone.slopes;
    for wi in w0..=w1 {
        let dw = f64::from(wi) - c[2];
        let s = dw.abs();
        let (u0, u1) =
            slab.clip(axes.u, c[0] + s * f64::from(ul) - OVERLAP, c[0] + s * f64::from(uh) + OVERLAP);
        if u0 > u1 {
            continue;
        }
        let (v0, v1) =
            slab.clip(axes.v, c[1] + s * f64::from(vl) - OVERLAP, c[1] + s * f64::from(vh) + OVERLAP);
        let at_w = slab.address[w][(wi - slab.first[w]) as usize];
        for ui in u0..=u1 {
            let at_u = slab.address[axes.u][(ui - slab.first[axes.u]) as usize];
            let du = f64::from(ui) - c[0];
            for vi in v0..=v1 {
                let dv = f64::from(vi) - c[1];
                let squared = du * du + dv * dv + dw * dw;
                if squared <= slab.band * slab.band {
                    let address = at_w + at_u + slab.address[axes.v][(vi - slab.first[axes.v]) as usize];
                    let d = squared.sqrt();
                    let inside = du * normal[0] + dv * normal[1] + dw * normal[2] < 0.0;
                    slab.offer(address, if inside { -d } else { d } as f32, cone.triangle, false);
                }
            }
        }
    }
}
