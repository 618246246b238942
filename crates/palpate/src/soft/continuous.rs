//! When a vertex first meets a face, or an edge an edge, while every vertex goes along its straight line.
//!
//! Based on: conservative advancement (mirtich96), along directions that separate; the Bernstein form of the cubic of
//! coplanarity, clipped as curves are (sederberg90).
//! Differs: there is no bound on speeds and no search over places. In the space of differences both questions are the same: does a
//! flat convex polygon whose corners go straight, a triangle `v - f` or a parallelogram `a - b`, reach the origin? What lies on
//! one side of a direction is linear in time for each corner, so a direction proves a whole span of time free, to the last bit.
//! Spans are laid end to end from time 0 on; where no direction and no cubic proves any more, there is contact, or what cannot
//! be told from it.
//!
//! # Why nothing is missed
//!
//! Directions come from rounded geometry and may be bad, but they only propose. A span is free by `Motion::span`,
//! `Fine::along` or `Cubic::free_until` alone, and these subtract from every value a bound of its rounding before they look at its sign. A pair of
//! swept boxes is compared without any error, as the sign of a difference is never rounded away.

mod cubic;
mod fine;
mod polygon;
#[cfg(test)]
mod tests;

use cubic::Cubic;
use fine::Fine;
use glam::DVec3;
use polygon::{Motion, at, nearest};

/// Coordinate differences from here on are not looked at, as their products are not finite [m].
const LARGEST: f64 = 1e300;
/// A step of time that is none [1]. Smaller: thousands of steps in front of a contact. Larger: contacts where there is only
/// nearness.
const STEP: f64 = 4.0 * f64::EPSILON;
/// Distance that counts as none for [`Impact::exact`], as a part of the largest coordinate difference [1].
const ROUNDING: f64 = 32.0 * f64::EPSILON;
/// Directions that are tried before the cubic is asked: most pairs need not more than one.
const BEFORE_CUBIC: usize = 2;

/// Most times that directions are tried with twice the digits, each some µs.
const MAX_FINE: usize = 16;

/// What counts as contact, and how long it is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContinuousParams {
    /// A distance beyond `separation` that may be taken for contact, to end earlier [m]. With 0, the default, only what rounding cannot
    /// tell from contact is. What is not above 0 counts as 0.
    pub tolerance: f64,
    /// The distance that is contact [m]; 0, the default, is touch. What is not above 0 counts as 0.
    pub separation: f64,
    /// Most steps of time, each about 0.1 µs, before the answer is "maybe".
    pub max_checks: usize,
}

impl Default for ContinuousParams {
    fn default() -> Self {
        Self { tolerance: 0.0, separation: 0.0, max_checks: 512 }
    }
}

/// A first contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// A lower bound of the time of the first contact, 0 to 1: there is none before [1].
    pub time: f64,
    /// Where, at that time: of a face the weights of its second and third corner, of two edges the parts of the way from
    /// their first to their second ends [1].
    pub coordinates: [f64; 2],
    /// Whether the places of `coordinates` are nearer to each other at `time` than `separation` and `tolerance` together, but for
    /// rounding (some 1e-14 of the largest coordinate difference). If not, the search came to the end of `max_checks`, or numbers
    /// were not finite, and there may be no contact.
    pub exact: bool,
}

impl Impact {
    /// The answer about what cannot be looked at.
    const MAYBE: Self = Self { time: 0.0, coordinates: [0.0; 2], exact: false };
}

/// When a vertex first meets a face: `[v, f0, f1, f2]` at time 0 and at time 1, each going straight and evenly. One frame, in
/// metres. `None` is certain: the vertex and the closed triangle, of any form, do not meet at any time from 0 to 1.
///
/// A contact is never missed: neither at the start, nor of what grazes, slides in one plane, does not move or is degenerate. What comes
/// nearer than some 1e-15 of the largest coordinate difference may be given as a contact, if it deforms; of what only goes
/// along, in most cases, even that is told. Where a number is
/// not finite, or a difference is beyond 1e300, the answer is time 0 with `exact` false.
///
/// Some 50 ns where a coordinate keeps them apart all the time, 0.1 to 0.3 µs for most others that do not meet; a contact takes about
/// 1 µs, and up to 10 µs at a rim. Does not allocate.
pub fn vertex_face(start: &[DVec3; 4], end: &[DVec3; 4], params: &ContinuousParams) -> Option<Impact> {
    let pairs = |[v, a, b, c]: [DVec3; 4]| [(v, a), (v, b), (v, c)];
    let sides = |[_, a, b, c]: [DVec3; 4]| [a - b, a - c];
    first(start, end, pairs, sides, params)
}

/// When two edges first meet: `[a0, a1, b0, b1]` at time 0 and at time 1, each going straight and evenly. One frame, in metres.
/// `None` is certain, as are the rest of the promises of [`vertex_face`].
pub fn edge_edge(start: &[DVec3; 4], end: &[DVec3; 4], params: &ContinuousParams) -> Option<Impact> {
    let pairs = |[a0, a1, b0, b1]: [DVec3; 4]| [(a0, b0), (a1, b0), (a1, b1), (a0, b1)];
    let sides = |[a0, a1, b0, b1]: [DVec3; 4]| [a1 - a0, b0 - b1];
    first(start, end, pairs, sides, params)
}

/// `pairs` whose differences are the corners of the polygon, and its two `sides` from the first corner, by one subtraction each.
#[inline(always)]
fn first<const K: usize>(
    start: &[DVec3; 4],
    end: &[DVec3; 4],
    pairs: impl Fn([DVec3; 4]) -> [(DVec3, DVec3); K],
    sides: impl Fn([DVec3; 4]) -> [DVec3; 2],
    params: &ContinuousParams,
) -> Option<Impact> {
    // Sums are finite if all is, but for huge numbers; infinities that cancel give NaN.
    let sum = start.iter().chain(end).fold(DVec3::ZERO, |sum, p| sum + *p);
    if !sum.is_finite() && !start.iter().chain(end).all(|p| p.is_finite()) {
        return Some(Impact::MAYBE);
    }
    let ends = [pairs(*start).map(|(p, q)| p - q), pairs(*end).map(|(p, q)| p - q)];
    let (lower, upper) = bounds(&ends);
    // A rounded difference is above a number only if the true one is. NaN counts as 0.
    let separation = params.separation.max(0.0);
    if lower.max_element() > separation || upper.min_element() < -separation {
        return None;
    }
    let largest = lower.abs().max(upper.abs()).max_element();
    let rests = || [pairs(*start), pairs(*end)].map(|pairs| pairs.map(|(p, q)| fine::rest(p, q)));
    search(ends, [sides(*start), sides(*end)], rests, largest, separation, params)
}

/// The box of the corners over the whole motion.
#[inline(always)]
fn bounds<const K: usize>(ends: &[[DVec3; K]; 2]) -> (DVec3, DVec3) {
    let mut all = ends.iter().flatten();
    let first = all.next().copied().unwrap_or_default();
    all.fold((first, first), |(lower, upper), p| (lower.min(*p), upper.max(*p)))
}

/// The search along time. `rests`: what rounding took from the corners; `largest`: the largest coordinate of one.
#[inline(never)]
fn search<const K: usize>(
    mut ends: [[DVec3; K]; 2],
    mut sides: [[DVec3; 2]; 2],
    rests: impl Fn() -> [[DVec3; K]; 2],
    largest: f64,
    separation: f64,
    params: &ContinuousParams,
) -> Option<Impact> {
    if largest >= LARGEST || largest.is_nan() {
        return Some(Impact::MAYBE);
    }
    // By a power of two, without rounding, so that nothing over- or underflows from here on: coordinates are below 1.
    let exponent = (largest.to_bits() >> 52).max(1);
    let scale = f64::from_bits((2045 - exponent) << 52);
    ends.iter_mut().flatten().chain(sides.iter_mut().flatten()).for_each(|p| *p *= scale);
    let separation = separation * scale;
    let reach = separation + params.tolerance.max(0.0) * scale;

    let motion = Motion { ends, separation };
    let mut cubic: Option<Cubic> = None;
    // What separates in the middle mostly does so from the start to the end.
    let mut time = motion.free_until(nearest(&at(&motion.ends, 0.5)).direction, 0.0);
    if time >= 1.0 {
        return None;
    }
    let (mut ahead, mut fines) = (0.0, MAX_FINE);
    for check in 0..params.max_checks {
        let polygon = at(&motion.ends, time);
        let near = nearest(&polygon);
        if near.distance_sq <= reach * reach && reach > 0.0 {
            break;
        }
        let mut next = motion.free_until(near.direction, time);
        // Where steps are short the direction turns: one from the middle of a longer step may hold for all of it.
        if next < 1.0 && ahead > 0.0 {
            let middle = nearest(&at(&motion.ends, (time + ahead).min(1.0)));
            next = next.max(motion.free_until(middle.direction, time));
        }
        if next < 1.0 && check >= BEFORE_CUBIC {
            let cubic = cubic.get_or_insert_with(|| Cubic::new(&sides, &motion));
            next = cubic.free_until(next);
        }
        if next >= 1.0 {
            return None;
        }
        if next - time <= STEP * next && check >= BEFORE_CUBIC {
            // Nearest well inside, only the direction across can separate, which has been tried.
            if !polygon::well_inside(&polygon) {
                next = next.max(motion.free_by_others(&polygon, time));
                if next - time <= STEP * next && fines > 0 {
                    fines -= 1;
                    let rests = rests().map(|rests| rests.map(|p| p * scale));
                    next = next.max(Fine::new(&motion.ends, &rests, separation).free_until(time));
                }
            }
            if next >= 1.0 {
                return None;
            }
            if next - time <= STEP * next {
                break;
            }
        }
        ahead = next - time;
        time = next;
    }
    let polygon = at(&motion.ends, time);
    let (coordinates, distance) = polygon::place(&polygon);
    Some(Impact { time, coordinates, exact: distance <= reach + ROUNDING })
}
