//! Bodies fall on a floor that waves, with contacts found on the GPU: section 5.4 of the 2008 paper.
//!
//! `dragons [DRAGON.ply] [--seconds 4] [--rate 60] [--bodies 15] [--cells 160] [--points 1.25] [--floor 400] [-o FOLDER]`: FOLDER receives
//! dragons.html, which plays it, dragons.palprec and dragons.csv (a row for each frame). Without a file, bumpy balls fall.
#![allow(clippy::print_stdout, reason = "a program")]

#[path = "../../../lab/src/dragons.rs"]
#[expect(unreachable_pub, reason = "public where it belongs, in the lab")]
mod dragons;

use anyhow::{Context, Result, bail};
use palpate_gpu::{Gpu, GpuParams};
use palpate_view::player::{PageParams, page};
use std::path::PathBuf;

fn main() -> Result<()> {
    let (mut model, mut folder): (Option<PathBuf>, Option<PathBuf>) = (None, None);
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let mut options = dragons::Options { command, ..dragons::Options::default() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || -> Result<f64> {
            let text = args.next().with_context(|| format!("{arg} needs a number"))?;
            text.parse().with_context(|| format!("{arg} {text}"))
        };
        match arg.as_str() {
            "--seconds" => options.seconds = number()?,
            "--rate" => options.rate = number()?,
            "--bodies" => options.bodies = number()? as usize,
            "--cells" => options.cells = number()?,
            "--points" => options.points = number()?,
            "--floor" => options.floor = number()? as u32,
            "-o" => folder = Some(args.next().context("-o needs a folder")?.into()),
            _ if arg.starts_with('-') => bail!("there is no {arg}"),
            _ => model = Some(arg.into()),
        }
    }
    let gpu = Gpu::open(&GpuParams::default())?;
    println!("{}", gpu.name());
    let found = dragons::run(&gpu, model.as_deref(), &options)?;
    for (name, value) in found.rows() {
        println!("{name:40} {value}");
    }
    let Some(folder) = folder else { return Ok(()) };
    std::fs::create_dir_all(&folder)?;
    let html = page(&found.recording, &PageParams { rows: found.rows(), ..PageParams::default() })?;
    println!("{:40} {:.1} MB", "page", html.len() as f64 / 1e6);
    std::fs::write(folder.join("dragons.html"), html)?;
    found.recording.save(folder.join("dragons.palprec"))?;
    std::fs::write(folder.join("dragons.csv"), found.csv())?;
    Ok(())
}
