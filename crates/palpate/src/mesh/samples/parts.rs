//! Machine parts: the contacts people ask about.

use super::{Ends, moved, polar, stacked, turn};
use crate::mesh::RawMesh;
use core::f64::consts::{PI, TAU};
use glam::DVec3;

/// Fineness at which [`nut_and_bolt`] has 24,000 triangles: 960 · 5².
pub const NUT_AND_BOLT_FINENESS: usize = 5;

/// Most points around a threaded part; with it a bolt has 6 · 10^8 triangles.
const MAX_FINENESS: usize = 1000;

// An M16 x 2 thread [m]: crest radius, pitch, and depth of the profile (17/24 of the pitch would be the sharp one).
const CREST: f64 = 8e-3;
const PITCH: f64 = 2e-3;
const DEPTH: f64 = 1.2e-3;
/// Length of the bolt's threaded part, then of the plain shank, then of the head [m].
const THREADED: f64 = 0.03;
const SHANK: f64 = 0.01;
const HEAD: f64 = 0.01;
/// Half the width across flats of head and nut [m].
const FLATS: f64 = 0.012;
/// Height of the nut: 6.5 pitches [m].
const NUT: f64 = 0.013;
/// Gap between the nut's thread and the bolt's, measured along the radius [m].
const THREAD_GAP: f64 = 1.5e-4;
/// Where the nut sits on the bolt in [`nut_and_bolt`]: a whole number of pitches, so that the threads mesh [m].
const NUT_HEIGHT: f64 = 5.0 * PITCH;

/// Height of the trapezoid thread profile [1], 0 at the root and 1 at the crest, right-handed around z.
fn thread(angle: f64, z: f64) -> f64 {
    let phase = (z / PITCH - angle / TAU).rem_euclid(1.0);
    // Of one pitch: root 1/4, crest 1/8, flanks 5/16 each, centred on the crest at 5/8.
    ((0.375 - (phase - 0.625).abs()) / 0.3125).clamp(0.0, 1.0)
}

/// Radius of a hexagon of half width [`FLATS`] at `angle` [m]; corners at multiples of 60°.
fn hexagon(angle: f64) -> f64 {
    FLATS / ((angle + 1e-12).rem_euclid(PI / 3.0) - PI / 6.0).cos()
}

/// A bolt standing on z = 0 with its tip, threaded to 30 mm, hexagonal head from 40 to 50 mm [m].
///
/// `672 * fineness²` triangles: `12 * fineness` points around, `28 * fineness` rings.
pub fn bolt(fineness: usize) -> RawMesh {
    let f = fineness.clamp(1, MAX_FINENESS);
    let (around, rings) = (12 * f, 28 * f);
    let threaded = rings - 4;
    let top = THREADED + SHANK + HEAD;
    let ends = Ends::Fans(DVec3::ZERO, DVec3::new(0.0, 0.0, top));
    stacked(around, rings, ends, |u, v| {
        let angle = turn(u, around);
        if v < threaded {
            let z = THREADED * v as f64 / (threaded - 1) as f64;
            // The thread fades out over one pitch at both ends.
            let fade = (z / PITCH).min((THREADED - z) / PITCH).clamp(0.0, 1.0);
            return polar(CREST - DEPTH + DEPTH * fade * thread(angle, z), angle, z);
        }
        match v - threaded {
            0 => polar(CREST - DEPTH, angle, THREADED + SHANK),
            1 => polar(hexagon(angle), angle, THREADED + SHANK),
            2 => polar(hexagon(angle), angle, top - 1e-3),
            _ => polar(0.96 * FLATS, angle, top),
        }
    })
}

/// A hexagonal nut between z = 0 and 13 mm, its thread [`bolt`]'s moved outward by 0.15 mm [m].
///
/// `288 * fineness²` triangles: `12 * fineness` points around, `12 * fineness` rings.
pub fn nut(fineness: usize) -> RawMesh {
    let f = fineness.clamp(1, MAX_FINENESS);
    let (around, rings) = (12 * f, 12 * f);
    let threaded = rings - 4;
    stacked(around, rings, Ends::Loop, |u, v| {
        let angle = turn(u, around);
        match v {
            0 => polar(0.96 * FLATS, angle, 0.0),
            1 => polar(hexagon(angle), angle, 1e-3),
            2 => polar(hexagon(angle), angle, NUT - 1e-3),
            3 => polar(0.96 * FLATS, angle, NUT),
            // Inside, from the top down.
            _ => {
                let z = NUT * (1.0 - (v - 4) as f64 / (threaded - 1) as f64);
                let fade = (z / PITCH).min((NUT - z) / PITCH).clamp(0.0, 1.0);
                polar(CREST + THREAD_GAP - DEPTH * fade * (1.0 - thread(angle, z)), angle, z)
            }
        }
    })
}

/// [`bolt`] and [`nut`], the nut moved 10 mm up the bolt, where the threads mesh without touching.
///
/// Together `960 * fineness²` triangles: 24,000 at [`NUT_AND_BOLT_FINENESS`].
pub fn nut_and_bolt(fineness: usize) -> (RawMesh, RawMesh) {
    (bolt(fineness), moved(nut(fineness), DVec3::new(0.0, 0.0, NUT_HEIGHT)))
}

/// A spur gear around the z axis, centred at z = 0, with a bore of a quarter of its diameter.
///
/// Pitch diameter `teeth * module` [m], `width` along z [m]; involute flanks at 20° above the base circle, straight
/// below it. `fineness` points on each flank, on each tip and in each gap, and as many steps along the width.
pub fn gear(teeth: usize, module: f64, width: f64, fineness: usize) -> RawMesh {
    let teeth = teeth.clamp(6, 1000);
    let n = fineness.clamp(1, 100);
    let module = module.abs();
    let pitch_radius = 0.5 * teeth as f64 * module;
    let (tip, root) = (pitch_radius + module, pitch_radius - 1.25 * module);
    let pressure = 20f64.to_radians();
    let base = pitch_radius * pressure.cos();
    let involute = |a: f64| a.tan() - a;
    let step = TAU / teeth as f64;
    // Half the angle a tooth fills at a radius; below the base circle it widens towards the gap's middle a little,
    // so that angles grow strictly along the outline.
    let half_tooth = |r: f64| {
        let a = (base / r.max(base)).clamp(-1.0, 1.0).acos();
        let half = 0.25 * step + involute(pressure) - involute(a);
        let below = ((base - r) / module).max(0.0);
        half + 0.15 * below * (0.5 * step - half).max(0.0)
    };
    let mut outline = Vec::new();
    for tooth in 0..teeth {
        let middle = tooth as f64 * step;
        let at = |f: f64| root + (tip - root) * f;
        for i in 0..n {
            let r = at(i as f64 / n as f64);
            outline.push((r, middle - half_tooth(r)));
        }
        for i in 0..=n {
            outline.push((tip, middle + half_tooth(tip) * (2.0 * i as f64 / n as f64 - 1.0)));
        }
        for i in (0..n).rev() {
            let r = at(i as f64 / n as f64);
            outline.push((r, middle + half_tooth(r)));
        }
        let (from, to) = (middle + half_tooth(root), middle + step - half_tooth(root));
        for i in 1..n {
            outline.push((root, from + (to - from) * i as f64 / n as f64));
        }
    }
    // Outside from the bottom up, then the bore from the top down.
    let bore = 0.25 * pitch_radius;
    stacked(outline.len(), 2 * (n + 1), Ends::Loop, |u, v| {
        let (radius, angle) = outline[u];
        if v <= n {
            polar(radius, angle, width * (v as f64 / n as f64 - 0.5))
        } else {
            polar(bore, angle, width * (0.5 - (v - n - 1) as f64 / n as f64))
        }
    })
}

/// A round peg of 8 mm x 30 mm standing on z = 0, and a 20 mm cube below z = 0 with a bore through it along z.
///
/// `clearance` is bore diameter less peg diameter [m]. `segments` points around, raised to a multiple of 8; the peg
/// is inside its cylinder and the bore outside its own, so the clearance holds at any fineness.
pub fn peg_and_hole(clearance: f64, segments: usize) -> (RawMesh, RawMesh) {
    const RADIUS: f64 = 4e-3;
    const LENGTH: f64 = 0.03;
    const CHAMFER: f64 = 5e-4;
    const HALF: f64 = 0.01;
    let n = segments.clamp(8, 1 << 20).next_multiple_of(8);
    let ends = Ends::Fans(DVec3::ZERO, DVec3::new(0.0, 0.0, LENGTH));
    let peg = stacked(n, 4, ends, |u, v| {
        let (radius, z) = [
            (RADIUS - CHAMFER, 0.0),
            (RADIUS, CHAMFER),
            (RADIUS, LENGTH - CHAMFER),
            (RADIUS - CHAMFER, LENGTH),
        ][v.min(3)];
        polar(radius, turn(u, n), z)
    });
    let bore = (RADIUS + 0.5 * clearance).clamp(0.1 * RADIUS, 0.9 * HALF) / (PI / n as f64).cos();
    let hole = stacked(n, 4, Ends::Loop, |u, v| {
        let angle = turn(u, n);
        let square = HALF / angle.cos().abs().max(angle.sin().abs());
        let (radius, z) = [(square, -2.0 * HALF), (square, 0.0), (bore, 0.0), (bore, -2.0 * HALF)][v.min(3)];
        polar(radius, angle, z)
    });
    (peg, hole)
}
