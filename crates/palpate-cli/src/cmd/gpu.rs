//! `palpate gpu`: the devices of this machine, and what they can do.

use crate::Global;
use crate::outcome::Outcome;
#[cfg(feature = "gpu")]
use crate::outcome::rows;
use anyhow::Result;
use serde_json::json;

const EXAMPLES: &str = "Examples:
  palpate gpu
  palpate gpu --json | jq '.devices[].name'
  palpate query a.palp b.palp --gpu --gpu-name nvidia

`query --gpu` needs a device and nothing that it must be able to do. The first one listed is taken unless --gpu-name
says another; one in software is slower than the CPU, and there for tests.";

/// Lists the graphics processors that can be asked, and what they can do.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

#[cfg(feature = "gpu")]
pub(crate) fn run(_: &Args, _: &Global) -> Result<Outcome> {
    use palpate_view::units;
    let devices = palpate_gpu::devices();
    let yes = |b: bool| if b { "yes" } else { "no" }.to_owned();
    let mut text = String::new();
    let mut all = Vec::new();
    for d in &devices {
        let row = |name: &str, value: String| (name.to_owned(), value);
        text += &format!("{}\n", d.name);
        text += &rows(&[
            row("kind", format!("{}, by {}", d.kind.name(), d.interface)),
            row("driver", d.driver.clone()),
            row("blends floats", yes(d.float_blending)),
            row("filters float textures", yes(d.filtered_floats)),
            row("results without a copy", yes(d.direct_results)),
            row("largest 3D texture", format!("{0} x {0} x {0}", d.largest_texture_3d)),
            row("largest buffer", units::bytes(d.largest_buffer)),
            row("seen by a kernel", units::bytes(d.largest_binding)),
        ]);
        all.push(json!({
            "name": d.name,
            "kind": d.kind.name(),
            "interface": d.interface,
            "driver": d.driver,
            "float_blending": d.float_blending,
            "filtered_floats": d.filtered_floats,
            "direct_results": d.direct_results,
            "largest_texture_3d": d.largest_texture_3d,
            "largest_buffer": d.largest_buffer,
            "largest_binding": d.largest_binding,
        }));
    }
    if devices.is_empty() {
        let none = palpate_gpu::GpuError::NoAdapter { found: String::new() };
        text += &format!("{none}\n");
    }
    Ok(Outcome::new(text, json!({ "devices": all })))
}

#[cfg(not(feature = "gpu"))]
pub(crate) fn run(_: &Args, _: &Global) -> Result<Outcome> {
    let missing = crate::gpu::MISSING;
    Ok(Outcome::new(format!("{missing}\n"), json!({ "devices": [], "note": missing })))
}
