//! Haply's service without hardware: an Inverse3 whose hand presses down and slides.
//!
//! `cargo run -p palpate-haptic --features mock --example mock_haply [PORT [SECONDS]]`; port 10001 unless told, 60 seconds.

use std::io::Write;
use std::time::Duration;

use glam::DVec3;
use palpate::math::Pose;
use palpate_haptic::haply::mock::{MockParams, MockService};
use palpate_haptic::sim::{HandMotion, SimParams};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().map_or(Ok(10_001), |a| a.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(60), |a| a.parse())?;
    let motion = HandMotion::Slide {
        start: Pose::from_translation(DVec3::new(0.0, 0.0, 0.05)),
        axis: DVec3::NEG_Z,
        depth: 0.06,
        travel: DVec3::X * 0.04,
        press_seconds: 1.0,
        seconds: 1.5,
    };
    let mut params = MockParams { port, ..MockParams::default() };
    params.sim = SimParams { motion, ..params.sim };
    let service = MockService::start(params)?;
    let mut out = std::io::stdout();
    writeln!(out, "ws://{}/ for {seconds} s", service.address())?;
    for _ in 0..seconds {
        std::thread::sleep(Duration::from_secs(1));
        let last = service.last_force().unwrap_or_default();
        let state = service.probe().state();
        writeln!(
            out,
            "{} messages, force {last:.3}, cursor {:.4}",
            service.answers(),
            state.pose.translation
        )?;
    }
    Ok(())
}
