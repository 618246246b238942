//! Steps and contacts as tables.

use super::{Row, Way};
use glam::DVec3;
use palpate::soft::{Method, SoftContact, Stats};
use std::io::{Result, Write};

/// Names of the columns of [`write_steps`].
const STEPS: &str = "step,apart,pairs,own_a,own_b,triangles_a,triangles_b,off_a,off_b,deepest,move_us,pairs_us,own_us,contacts_us,\
                     method,projected,cut,built,fitted,visits,leaves,tested";

/// Names of the columns of [`write_contacts`].
pub(crate) fn contact_columns() -> &'static str {
    "step,meshes,triangle_1,triangle_2,x,y,z,nx,ny,nz,depth,corners,x1,y1,z1,x2,y2,z2"
}

/// What a method that was used is called.
pub(super) fn used(stats: &Stats) -> Way {
    if stats.method == Method::Refit { Way::Refit } else { Way::Cut }
}

/// A row for each step, behind a line of names.
///
/// # Errors
/// When `out` refuses.
pub(crate) fn write_steps(out: &mut dyn Write, rows: &[Row]) -> Result<()> {
    writeln!(out, "{STEPS}")?;
    for r in rows {
        let ([own_a, own_b], [hits_a, hits_b], [off_a, off_b]) = (r.own, r.hits, r.off);
        let [moved, pairs, own, contacts] = r.us;
        let s = &r.stats;
        write!(out, "{},{},{},{own_a},{own_b},{hits_a},{hits_b},{off_a},{off_b},", r.step, r.apart, r.pairs)?;
        write!(out, "{},{moved:.3},{pairs:.3},{own:.3},{contacts:.3},{},", r.deepest, used(s).name())?;
        let (p, c, b, f, v, l, t) = (s.projected, s.cut, s.built, s.fitted, s.visits, s.leaves, s.tested);
        writeln!(out, "{p},{c},{b},{f},{v},{l},{t}")?;
    }
    Ok(())
}

/// A row for each contact of a step: between the meshes (`ab`), and of each with itself (`aa`, `bb`).
///
/// # Errors
/// When `out` refuses.
pub(super) fn write_contacts(
    out: &mut dyn Write,
    step: usize,
    contacts: &[Vec<SoftContact>; 3],
) -> Result<()> {
    for (list, meshes) in contacts.iter().zip(["ab", "aa", "bb"]) {
        for c in list {
            let ([one, other], corners) = (c.pair, c.meeting.points());
            write!(out, "{step},{meshes},{one},{other}")?;
            let [from, to] = ends(corners);
            for v in [c.point, c.normal] {
                write!(out, ",{},{},{}", v.x, v.y, v.z)?;
            }
            write!(out, ",{},{}", c.depth, corners.len())?;
            for v in [from, to] {
                write!(out, ",{},{},{}", v.x, v.y, v.z)?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// The first corner, and the one farthest from it.
fn ends(corners: &[DVec3]) -> [DVec3; 2] {
    let first = corners.first().copied().unwrap_or_default();
    let far = corners.iter().copied().max_by(|p, q| p.distance(first).total_cmp(&q.distance(first)));
    [first, far.unwrap_or_default()]
}
