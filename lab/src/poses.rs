//! Poses for pairs of shapes: from touching to coincident, and from touching to well apart.
//!
//! Based on: Morvan, Reimers and Samset, High performance GPU-based proximity queries using distance fields, 2008
//! [morvan08], section 5.1.
//! Differs: 20 orientations for each step in place of 720 (10 about y, 10 about z), so that slow peers end. Only B turns,
//! about the centre of its box. Different shapes have the centres of their boxes at one place at s = 0.

use crate::oracle::PairOracle;
use anyhow::{Context, Result, ensure};
use glam::{DQuat, DVec3};
use palpate::Pose;
use std::f64::consts::TAU;
use std::path::Path;

/// Angles about each of the two axes.
const ANGLES: u32 = 10;

/// Orientations of each step.
pub const ORIENTATIONS: usize = 2 * ANGLES as usize;

/// Steps of the collision set, s = 1.0, 0.9, … 0.0.
pub const COLLISION_STEPS: usize = 11;

/// Steps of the proximity set, s = 1.1, 1.2, … 2.0.
pub const PROXIMITY_STEPS: usize = 10;

/// Places looked at for the outermost touch before it is bisected. Gaps thinner than a 64th of the way are passed over.
const SCAN: u32 = 64;

/// How near the first separation is found, relative [1].
const PRECISION: f64 = 1e-6;

/// The two sets of a pair; poses are `a_from_b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Poses {
    /// The smallest separation along x, of the centres of the boxes, from which on B as loaded does not touch A [m].
    pub first_free: f64,
    /// s from 1.0 to 0.0: all orientations of a step, then the next step. Some at s = 1 do not touch.
    pub collision: Vec<Pose>,
    /// s from 1.1 to 2.0; none touches. An orientation that would, because it reaches farther than B as loaded, is placed
    /// at s times its own smallest separation.
    pub proximity: Vec<Pose>,
}

impl Poses {
    /// The sets of a pair. The same for the same meshes; about 300 questions to the referee.
    pub fn of(pair: &PairOracle) -> Self {
        let (a, b) = (pair.a().extent(), pair.b().extent());
        let (centre_a, centre_b) = (0.5 * (a.0 + a.1), 0.5 * (b.0 + b.1));
        let place = |rotation: DQuat, x: f64| {
            Pose::new(rotation, centre_a + DVec3::new(x, 0.0, 0.0) - rotation * centre_b)
        };
        // Farther than this the balls around the boxes are apart.
        let apart = 0.5 * ((a.1 - a.0).length() + (b.1 - b.0).length()) * (1.0 + 1e-9);
        let first_free_of = |rotation: DQuat| outermost(apart, |x| pair.intersects(&place(rotation, x)));
        let first_free = first_free_of(DQuat::IDENTITY);
        let steps = |count: usize| (0..count).flat_map(|step| orientations().map(move |r| (step, r)));
        let collision = steps(COLLISION_STEPS)
            .map(|(step, rotation)| place(rotation, (10 - step) as f64 / 10.0 * first_free));
        let proximity = steps(PROXIMITY_STEPS).map(|(step, rotation)| {
            let s = (11 + step) as f64 / 10.0;
            let pose = place(rotation, s * first_free);
            if pair.intersects(&pose) { place(rotation, s * first_free_of(rotation)) } else { pose }
        });
        Self { first_free, collision: collision.collect(), proximity: proximity.collect() }
    }
}

/// Turns about y, then about z; the first of each is none.
fn orientations() -> impl Iterator<Item = DQuat> {
    let angle = |i: u32| TAU * f64::from(i) / f64::from(ANGLES);
    let about_y = (0..ANGLES).map(move |i| DQuat::from_rotation_y(angle(i)));
    about_y.chain((0..ANGLES).map(move |i| DQuat::from_rotation_z(angle(i))))
}

/// The smallest x from which on nothing touches, to [`PRECISION`] and not below; `apart` where nothing does.
fn outermost(apart: f64, touches: impl Fn(f64) -> bool) -> f64 {
    let at = |i: u32| apart * f64::from(i) / f64::from(SCAN);
    let Some(last) = (0..SCAN).rev().find(|&i| touches(at(i))) else { return apart };
    let (mut touching, mut free) = (at(last), at(last + 1));
    while free - touching > PRECISION * free {
        let middle = 0.5 * (touching + free);
        *(if touches(middle) { &mut touching } else { &mut free }) = middle;
    }
    free
}

/// Writes one pose a line: `x,y,z,qx,qy,qz,qw`, without loss.
pub fn write_csv(poses: &[Pose], path: &Path) -> Result<()> {
    let line = |p: &Pose| {
        let numbers = p.translation.to_array().into_iter().chain(p.rotation.to_array());
        numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(",") + "\n"
    };
    std::fs::write(path, poses.iter().map(line).collect::<String>())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Reads what [`write_csv`] wrote. Rotations are made unit.
pub fn read_csv(path: &Path) -> Result<Vec<Pose>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let pose = |(number, line): (usize, &str)| -> Result<Pose> {
        let place = || format!("{} line {}", path.display(), number + 1);
        let n: Vec<f64> =
            line.split(',').map(|w| w.trim().parse()).collect::<Result<_, _>>().with_context(place)?;
        ensure!(n.len() == 7, "{} has {} numbers, but a pose has 7", place(), n.len());
        let pose = Pose::new(DQuat::from_xyzw(n[3], n[4], n[5], n[6]), DVec3::new(n[0], n[1], n[2]));
        ensure!(pose.is_finite(), "{} is no pose: not finite, or a rotation without length", place());
        Ok(pose)
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(pose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate::mesh::samples;

    fn pair() -> PairOracle {
        let knot = samples::torus_knot(2, 3, 0.06, 0.02, 0.012, 120, 12);
        PairOracle::new(&knot, &samples::bumpy_sphere(0.05, 0.005, 6, 2, 1)).unwrap()
    }

    #[test]
    fn the_first_free_place_is_free_and_a_little_less_is_not() {
        let pair = pair();
        let poses = Poses::of(&pair);
        assert_eq!(poses, Poses::of(&pair));
        assert_eq!(poses.collision.len(), COLLISION_STEPS * ORIENTATIONS);
        assert_eq!(poses.proximity.len(), PROXIMITY_STEPS * ORIENTATIONS);
        let first = poses.collision[0];
        assert!(!pair.intersects(&first));
        let less = Pose { translation: first.translation - DVec3::X * 2e-6 * poses.first_free, ..first };
        assert!(pair.intersects(&less));
        let distance = pair.distance(&first).distance;
        assert!(distance > 0.0 && distance < 2e-6 * poses.first_free, "{distance}");
        let touching = poses.collision.iter().filter(|p| pair.intersects(p)).count();
        assert!(touching > 180, "{touching} of 220 touch");
        assert!(poses.proximity.iter().all(|p| !pair.intersects(p)));
    }

    #[test]
    fn a_shape_and_itself_end_coincident() {
        let ball = samples::bumpy_sphere(0.05, 0.005, 6, 2, 1);
        let poses = Poses::of(&PairOracle::new(&ball, &ball).unwrap());
        assert_eq!(poses.collision[10 * ORIENTATIONS], Pose::IDENTITY);
    }

    #[test]
    fn gaps_on_the_way_in_and_shapes_that_never_touch() {
        // Touches between 0.30 and 0.50 and below 0.10 of the way.
        let found = outermost(2.0, |x| x < 0.2 || (0.6..1.0).contains(&x));
        assert!((1.0..1.0 + 2e-6).contains(&found), "{found}");
        assert_eq!(outermost(2.0, |_| false), 2.0);
    }

    #[test]
    fn csv_keeps_every_bit_and_names_bad_lines() {
        let folder = std::env::temp_dir().join(format!("palpate-poses-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("poses.csv");
        let poses = Poses::of(&pair()).collision;
        write_csv(&poses, &file).unwrap();
        for (p, q) in poses.iter().zip(read_csv(&file).unwrap()) {
            assert_eq!(p.translation, q.translation);
            assert!(p.rotation.dot(q.rotation) > 1.0 - 1e-15);
        }
        let says = |text: &str, expected: &str| {
            std::fs::write(&file, text).unwrap();
            let error = format!("{:#}", read_csv(&file).unwrap_err());
            assert!(error.contains(expected), "{error}");
        };
        says("1,2,3,0,0,0,1\n1,2,3\n", "line 2 has 3 numbers");
        says("1,2,3,0,0,0,x\n", "line 1: invalid float");
        says("1,2,3,0,0,0,0\n", "line 1 is no pose");
        says("nan,2,3,0,0,0,1\n", "line 1 is no pose");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
