//! Frames of meshes that deform as pictures: one, or several side by side.

use super::{Deforming, HOT, OWN};
use crate::camera::{Camera, Lens};
use crate::image::{Image, Rgb};
use crate::raster::{RenderParams, render};
use crate::scene::{Paint, Scene};
use crate::strip::{PAPER, StripParams, tiled};
use glam::DVec3;
use palpate::math::Aabb;

/// Colour of segments, and their thickness \[size of the motion\].
const SEGMENT: Rgb = [34, 20, 14];
const THICKNESS: f64 = 0.0009;
/// Segments that are drawn at most.
const MAX_STICKS: usize = 20_000;

/// One frame as a picture, on a light background; nothing but that for a frame that does not exist.
///
/// Of more than 20,000 segments the rest is left out. Cost: about 1 s of processor time for 100,000 triangles at 1200 x 900.
pub fn picture(motion: &Deforming, index: usize, width: u32, height: u32) -> Image {
    framed(motion, index, width, height, reach(motion))
}

/// Frames side by side, four in a row, each with its step and its pairs; evenly over the motion, first and last included.
///
/// Cost: that of `params.count` pictures. `params.contacts` says nothing here.
pub fn film_strip(motion: &Deforming, params: &StripParams) -> Image {
    let (n, count) = (motion.frames.len(), params.count.clamp(1, 64));
    let mut chosen: Vec<usize> = match n {
        0 => Vec::new(),
        n => (0..count).map(|k| k * (n - 1) / (count - 1).max(1)).collect(),
    };
    chosen.dedup();
    let reach = reach(motion);
    tiled(params, chosen.len(), |k| {
        let index = chosen.get(k).copied().unwrap_or(0);
        let one = framed(motion, index, params.width, params.height, reach);
        let text = motion.frames.get(index).map(|f| format!("step {}, {} pairs", f.step, f.pairs));
        (one, text.unwrap_or_default())
    })
}

/// The box of the whole motion.
fn reach(motion: &Deforming) -> Option<Aabb> {
    let mut all = motion.frames.iter().flat_map(|f| &f.states).flat_map(|s| &s.positions);
    let first = all.next()?;
    Some(Aabb::of_points(all.chain([first]).map(|p| p.as_dvec3())))
}

fn framed(motion: &Deforming, index: usize, width: u32, height: u32, reach: Option<Aabb>) -> Image {
    let params = RenderParams { width, height, supersample: 2, background: Some(PAPER), ground: false };
    let (Some(frame), Some(reach)) = (motion.frames.get(index), reach) else {
        return Image::new(width, height).over(PAPER);
    };
    let mut scene = Scene::around(reach.centre());
    for (k, (state, mesh)) in frame.states.iter().zip(&motion.meshes).enumerate() {
        let mut on = vec![true; mesh.triangles.len()];
        for s in motion.frames.iter().take(index + 1).filter_map(|f| f.states.get(k)) {
            s.switched.iter().for_each(|t| on.get_mut(*t as usize).into_iter().for_each(|o| *o = !*o));
        }
        let mut colours = vec![mesh.colour; mesh.triangles.len()];
        for (list, colour) in [(&state.own, OWN), (&state.hits, HOT)] {
            list.iter().for_each(|t| colours.get_mut(*t as usize).into_iter().for_each(|c| *c = colour));
        }
        let there = || mesh.triangles.iter().zip(&colours).zip(&on).filter(|(_, on)| **on);
        let triangles: Vec<[u32; 3]> = there().map(|((t, _), _)| *t).collect();
        let colours: Vec<Rgb> = there().map(|((_, c), _)| *c).collect();
        let positions: Vec<DVec3> = state.positions.iter().map(|p| p.as_dvec3()).collect();
        scene.mesh(&positions, &triangles, Paint::PerFace(&colours));
    }
    let thick = THICKNESS * reach.extent().length();
    for [p, q] in frame.segments.iter().take(MAX_STICKS) {
        scene.stick(p.as_dvec3(), q.as_dvec3(), thick, false, SEGMENT);
    }
    let camera =
        Camera { lens: Lens::Perspective(0.5), frame: Some(reach), ..Camera::three_quarter(motion.up) };
    render(&scene, &camera, &params)
}
