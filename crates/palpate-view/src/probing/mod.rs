//! A probe that moves over a scan: what a step of it holds, the [`page`] that plays it and the [`picture`] of it.

mod page;
mod picture;
#[cfg(test)]
mod tests;

pub use page::page;
pub use picture::picture;

use crate::camera::Camera;
use crate::image::Rgb;
use glam::{DQuat, DVec3, Vec3};
use palpate::Pose;

/// Points that a page or a picture shows at most. More: a larger page that looks the same.
pub const MOST_POINTS: usize = 60_000;

/// Colours of the probe, of its proxy and of the nearest point.
pub(crate) const PROBE: Rgb = [206, 52, 46];
pub(crate) const PROXY: Rgb = [38, 150, 96];
pub(crate) const NEAREST: Rgb = [236, 176, 40];
/// Of the path while the probe is free.
const FREE: Rgb = [74, 104, 150];
/// Of the path where it touches, from no force to the largest.
const FELT: [Rgb; 3] = [[250, 190, 60], [236, 96, 40], [176, 18, 40]];
/// Low and high places of scans without colours.
const HEIGHTS: [Rgb; 3] = [[86, 108, 140], [150, 170, 182], [222, 216, 202]];

/// The points of a scan that are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanPoints {
    /// What the scan is called.
    pub name: String,
    /// Positions in the scan's frame, about its middle \[m\].
    pub points: Vec<Vec3>,
    /// Unit normals of the points, on either side; as many, or none.
    pub normals: Vec<Vec3>,
    /// Colours of the points; as many, or none: by height.
    pub colours: Vec<Rgb>,
    /// About how far the points shown are apart \[m\].
    pub spacing: f64,
    /// Points of the whole scan.
    pub total: usize,
}

/// One step. Places are in the world's frame \[m\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeStep {
    /// Its number.
    pub step: u32,
    /// \[s\], never less than that of the step before.
    pub time: f64,
    /// Where the probe is.
    pub probe: DVec3,
    /// Where the middle of the scan is, and how it is turned.
    pub scan: Pose,
    /// The probe is in the box of a point.
    pub touching: bool,
    /// The nearest point, if one was found.
    pub nearest: Option<DVec3>,
    /// Where the proxy is, if there is one.
    pub proxy: Option<DVec3>,
    /// How far the probe is behind the surface \[m\].
    pub depth: f64,
    /// On the probe \[N\].
    pub force: DVec3,
    /// Time the answer took \[µs\].
    pub us: f64,
}

impl Default for ProbeStep {
    fn default() -> Self {
        Self {
            step: 0,
            time: 0.0,
            probe: DVec3::ZERO,
            scan: Pose::IDENTITY,
            touching: false,
            nearest: None,
            proxy: None,
            depth: 0.0,
            force: DVec3::ZERO,
            us: 0.0,
        }
    }
}

/// A probe's way over a scan. Numbers that are not finite are shown as 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probing {
    /// Heading.
    pub title: String,
    /// The command that makes it again.
    pub command: String,
    /// What is up in pictures, of length 1.
    pub up: DVec3,
    /// What is shown of the scan.
    pub scan: ScanPoints,
    /// All steps, in order.
    pub steps: Vec<ProbeStep>,
}

/// The indices of at most `most` of `n` things, spread over all of them: one of each stretch, chosen as if by chance so that points of
/// a grid leave no pattern; always the same.
pub fn spread(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let chance = |k: usize| {
        let mut x = (k as u64).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x >> 33) as usize
    };
    let from = |k: usize| (k as u128 * n as u128 / most as u128) as usize;
    (0..most).map(|k| from(k) + chance(k) % (from(k + 1) - from(k)).max(1)).collect()
}

/// Quarter turns about up.
fn quarter(up: DVec3, k: usize) -> DQuat {
    DQuat::from_axis_angle(up.try_normalize().unwrap_or(DVec3::Z), core::f64::consts::FRAC_PI_2 * k as f64)
}

/// Between colours, 0 is the first and 1 the last.
fn blend(stops: &[Rgb; 3], share: f64) -> Rgb {
    let at = 2.0 * if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let low = usize::from(at >= 1.0);
    let t = at - low as f64;
    core::array::from_fn(|c| {
        let (a, b) = (f64::from(stops[low][c]), f64::from(stops[low + 1][c]));
        (a + t * (b - a)).round() as u8
    })
}

impl Probing {
    /// The largest force \[N\].
    pub(crate) fn most_force(&self) -> f64 {
        self.steps.iter().map(|s| s.force.length()).filter(|f| f.is_finite()).fold(0.0, f64::max)
    }

    /// The colour of the path at a step.
    pub(crate) fn path_colour(&self, step: &ProbeStep, most: f64) -> Rgb {
        let force = step.force.length();
        match step.touching || force > 0.0 {
            true => blend(&FELT, if most > 0.0 { force / most } else { 0.0 }),
            false => FREE,
        }
    }

    /// A colour for each point: its own, or by its height.
    pub(crate) fn point_colours(&self) -> Vec<Rgb> {
        let scan = &self.scan;
        if scan.colours.len() == scan.points.len() {
            return scan.colours.clone();
        }
        let up = self.up.as_vec3();
        let heights = || scan.points.iter().map(|p| p.dot(up));
        let (low, high) = heights().fold((f32::MAX, f32::MIN), |(l, h), x| (l.min(x), h.max(x)));
        let wide = f64::from(high - low);
        let share = |x: f32| if wide > 0.0 { f64::from(x - low) / wide } else { 0.5 };
        heights().map(|x| blend(&HEIGHTS, share(x))).collect()
    }

    /// A normal for each point; 0 for those without.
    pub(crate) fn point_normals(&self) -> Vec<Vec3> {
        let scan = &self.scan;
        match scan.normals.len() == scan.points.len() {
            true => scan.normals.clone(),
            false => vec![Vec3::ZERO; scan.points.len()],
        }
    }

    /// Half the diagonal of the box of the points \[m\].
    pub(crate) fn radius(&self) -> f64 {
        let aabb = crate::stage::around(self.scan.points.iter().map(|p| p.as_dvec3()));
        let half = 0.5 * aabb.extent().length();
        if half > 0.0 && half.is_finite() { half } else { self.scan.spacing.max(1e-3) }
    }

    /// Quarter turns about up from the usual view to the one that shows most of the scan's upper side; 0 where that is about the same.
    pub(crate) fn quarters(&self) -> usize {
        let camera = Camera::three_quarter(self.up);
        let turn = self.steps.first().map(|s| s.scan.rotation).filter(|q| q.is_finite()).unwrap_or_default();
        let facing = |k: usize| {
            let toward = (quarter(self.up, k) * camera.toward).normalize_or_zero();
            let seen = |n: &Vec3| {
                let n = turn * n.as_dvec3();
                (if n.dot(self.up) < 0.0 { -n } else { n }).dot(toward).max(0.0)
            };
            self.point_normals().iter().map(seen).sum::<f64>()
        };
        let usual = 1.05 * facing(0);
        (1..4).map(|k| (facing(k), k)).fold((usual, 0), |best, new| if new.0 > best.0 { new } else { best }).1
    }

    /// What positions on a page are relative to: the middle of the scan in the first step \[m\].
    pub(crate) fn origin(&self) -> DVec3 {
        self.steps.first().map(|s| s.scan.translation).filter(|p| p.is_finite()).unwrap_or_default()
    }
}
