//! Writes a page that plays a motion in closed form, for looking at and for `tests/player.py`:
//! `cargo run -p palpate-view --example player -- page.html [mesh file]`. Beside it `page.html.sheet.html`, over a ground that waves.

use glam::{DQuat, DVec3};
use palpate::Pose;
use palpate::math::Aabb;
use palpate::mesh::{RawMesh, samples};
use palpate_view::player::{PageParams, page};
use palpate_view::recording::{
    self, About, Body, Frame, Ground, Mark, PALETTE, Part, Recording, Sheet, State,
};
use palpate_view::strip::{StripParams, film_strip};
use std::error::Error;

const RATE: f64 = 240.0;
const SECONDS: f64 = 10.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let output = args.next().unwrap_or_else(|| "player.html".into());
    let mesh = match args.next() {
        Some(path) => RawMesh::load(&path, 1.0)?,
        None => samples::by_name("gear").ok_or("no gear")?,
    };
    let aabb = Aabb::of_points(mesh.positions.iter().copied());
    let size = aabb.extent().max_element();
    let scaled: Vec<DVec3> = mesh.positions.iter().map(|p| 0.15 / size * (*p - aabb.centre())).collect();
    let knot = samples::by_name("torus-knot").ok_or("no knot")?;
    let part = |name: &str, positions: &[DVec3], triangles: &[[u32; 3]]| {
        let (positions, triangles, colours) =
            recording::reduced(positions, triangles, &[], recording::TRIANGLES);
        Part { name: name.into(), positions, triangles, colours }
    };
    let parts = vec![part("first", &scaled, &mesh.triangles), part("knot", &knot.positions, &knot.triangles)];
    let frames = (0..(SECONDS * RATE) as usize).map(|i| frame(i as f64 / RATE)).collect();
    let body = |i: usize| Body { name: format!("part {}", i + 1), part: i as u32 % 2, colour: PALETTE[i] };
    let about = About {
        title: "Two parts, bouncing".into(),
        engine: "closed form".into(),
        rate: RATE,
        command: "cargo run -p palpate-view --example player".into(),
    };
    let ground = Ground::Plane { point: DVec3::ZERO, normal: DVec3::Z };
    let bodies = (0..2).map(body).collect();
    let recording = Recording { about, origin: DVec3::ZERO, up: DVec3::Z, parts, bodies, ground, frames };
    let html = page(&recording, &PageParams::default())?;
    std::fs::write(&output, &html)?;
    let strip = film_strip(&recording, &StripParams::default());
    std::fs::write(format!("{output}.png"), palpate_view::png::encode(&strip)?)?;
    recording.save(format!("{output}.palprec"))?;
    let waving = waving(recording);
    waving.save(format!("{output}.sheet.palprec"))?;
    std::fs::write(format!("{output}.sheet.html"), page(&waving, &PageParams::default())?)?;
    Ok(())
}

/// The first two seconds, over a ground that waves.
fn waving(mut recording: Recording) -> Recording {
    let sheet = Sheet {
        corner: DVec3::new(-0.3, -0.3, 0.0),
        edges: [DVec3::X * 0.6, DVec3::Y * 0.6],
        counts: [33, 33],
        range: [-0.06, 0.0],
    };
    recording.frames.truncate((2.0 * RATE) as usize);
    for frame in &mut recording.frames {
        let wave = |i: u32, j: u32| {
            let p = sheet.place(i, j);
            0.03 * ((12.0 * p.x + 5.0 * frame.time).sin() * (9.0 * p.y).cos() - 1.0)
        };
        frame.heights = sheet.heights((0..33).flat_map(|j| (0..33).map(move |i| wave(i, j))));
    }
    recording.ground = Ground::Sheet(sheet);
    recording
}

/// Heights of a ball that bounces to 60 % each time, and a slow turn.
fn frame(time: f64) -> Frame {
    let mut out = Frame { time, ..Frame::default() };
    let mut marks = Vec::new();
    for b in 0..2 {
        let (mut t, mut fall, mut height) = (time, 0.25, 0.0);
        for k in 0..40 {
            let half = f64::sqrt(2.0 * fall / 9.81);
            let span = if k == 0 { half } else { 2.0 * half };
            if t < span {
                let s = if k == 0 { t } else { t - half };
                height = fall - 4.905 * s * s;
                break;
            }
            t -= span;
            fall *= 0.6;
        }
        let slow = 1.0 - (-time).exp();
        let x = 0.11 * (2.0 * f64::from(b) - 1.0) + 0.05 * slow;
        let rotation = DQuat::from_rotation_z(2.0 * slow) * DQuat::from_rotation_x(f64::from(b) * slow);
        let pose = Pose::new(rotation, DVec3::new(x, 0.0, 0.075 + height));
        let touching = height < 2e-3;
        out.bodies.push(State {
            pose,
            linear: DVec3::Z * f64::sqrt(2.0 * 9.81 * (fall - height).max(0.0)),
            contacts: if touching { 24 } else { 0 },
            ..State::default()
        });
        if touching {
            let around = |k: i32| {
                let angle = f64::from(k) * 0.2618;
                let point = DVec3::new(x + 0.03 * angle.cos(), 0.03 * angle.sin(), -1e-4);
                Mark { point, normal: DVec3::Z, depth: 1e-4 * f64::from(k % 5) }
            };
            marks.extend((0..24).map(around));
            out.deepest = 4e-4 * (-0.2 * time).exp();
        }
    }
    out.contacts = marks.len() as u32;
    out.keep(&marks, recording::MARKS);
    out.kinetic = out.bodies.iter().map(|b| 0.25 * b.linear.length_squared()).sum();
    out.narrow_us = 2.0 + 0.1 * f64::from(out.contacts);
    out
}
