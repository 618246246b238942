//! The order of the steps of a build, what they are bound to, and what they share.

use super::kernels::{Kernels, Numbers};
use super::{BuildError, BuiltField, FieldBuilder, GpuMeshSource, sign};
use crate::device::{Gpu, GpuError};
use crate::kernel::{Answer, Kernel, room};
use palpate::field::parts::{EXACT_MARGIN, NodesReport};
use palpate::field::{FieldError, FieldParams, Lattice};
use palpate::progress::Progress;
use std::sync::PoisonError;
use wgpu::{Buffer, BufferUsages};

/// Nodes of a stored brick.
const NODES: u64 = 729;
/// Background nodes that one submission measures, for each cell whose nodes one does.
const NODES_PER_CELL: u32 = 16;
/// Groups of threads along the first axis of a long dispatch.
const ROW: u32 = 32_768;
/// Parts of the background in each of which two nodes are checked.
const WINDOWS: u32 = 128;
/// Bytes of what kernels count.
pub(super) const STATUS: u64 = 64;

/// What kernels count: see the shaders.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Status {
    pub(super) candidates: u32,
    pub(super) bricks: u32,
    /// Square of the steepest slope, as bits.
    pub(super) slope: u32,
    pub(super) faults: u32,
    pub(super) checked: u32,
    pub(super) agreeing: u32,
    pub(super) decided: u32,
    pub(super) sets: u32,
    /// Cells among the faults.
    pub(super) cells: u32,
    /// Faults that were decided anew.
    pub(super) settled: u32,
    spare: [u32; 6],
}

/// Memory that builds use one after the other; it grows and stays.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    buffers: Vec<Option<Buffer>>,
    answer: Option<Answer>,
}

/// What is in the scratch memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    Background,
    Nearest,
    Marks,
    Ranks,
    Sums,
    Slots,
    List,
    Bricks,
    Flags,
    Own,
    States,
    Doubts,
    Parents,
    Work,
    Heads,
    Status,
}

impl Scratch {
    /// A buffer of at least so many bytes, and a quarter more where it must grow.
    pub(super) fn get(&mut self, gpu: &Gpu, which: Use, bytes: u64) -> Result<Buffer, GpuError> {
        gpu.fits("the build", bytes, "use a larger voxel, or build on the CPU")?;
        let at = which as usize;
        if self.buffers.len() <= at {
            self.buffers.resize(at + 1, None);
        }
        if let Some(found) = self.buffers[at].as_ref().filter(|b| b.size() >= bytes) {
            return Ok(found.clone());
        }
        let more = gpu.fits("", bytes + bytes / 4, "").map_or(bytes, |()| bytes + bytes / 4);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let made = room(gpu, "scratch", more, usage);
        self.buffers[at] = Some(made.clone());
        Ok(made)
    }
}

/// Commands on their way to the device.
pub(super) struct Commands<'a> {
    pub(super) gpu: &'a Gpu,
    progress: &'a dyn Progress,
    separate: bool,
    encoder: wgpu::CommandEncoder,
    sent: Option<wgpu::SubmissionIndex>,
}

impl<'a> Commands<'a> {
    fn new(gpu: &'a Gpu, progress: &'a dyn Progress, separate: bool) -> Self {
        let encoder = gpu.device.create_command_encoder(&Default::default());
        Self { gpu, progress, separate, encoder, sent: None }
    }

    /// One kernel on `groups` groups of threads.
    pub(super) fn pass(&mut self, kernel: &Kernel, bound: &[&Buffer], groups: [u32; 3]) {
        let resources: Vec<_> = bound.iter().map(|b| b.as_entire_binding()).collect();
        let group = kernel.bind(self.gpu, &resources);
        let mut pass = self.encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups[0], groups[1], groups[2]);
    }

    /// One kernel on `threads` threads, `size` to a group.
    pub(super) fn over(&mut self, kernel: &Kernel, bound: &[&Buffer], threads: u64, size: u64) {
        let groups = threads.div_ceil(size).max(1);
        let rows = groups.div_ceil(u64::from(ROW));
        self.pass(kernel, bound, [groups.min(u64::from(ROW)) as u32, rows as u32, 1]);
    }

    pub(super) fn clear(&mut self, buffer: &Buffer, from: u64, bytes: u64) {
        self.encoder.clear_buffer(buffer, from, Some(bytes));
    }

    fn taken(&mut self) -> wgpu::CommandEncoder {
        let next = self.gpu.device.create_command_encoder(&Default::default());
        core::mem::replace(&mut self.encoder, next)
    }

    /// Hands over what was encoded. At most two submissions are on their way, so that a wish to stop is soon heard.
    pub(super) fn submit(&mut self) -> Result<(), BuildError> {
        let encoder = self.taken();
        let sent = self.gpu.queue.submit([encoder.finish()]);
        if let Some(last) = self.sent.replace(sent) {
            self.wait(Some(last))?;
        }
        self.heard()
    }

    /// A new stage begins.
    pub(super) fn stage(&mut self, name: &'static str, steps: u64) -> Result<(), BuildError> {
        if self.separate {
            self.submit()?;
            self.sent = None;
            self.wait(None)?;
        }
        self.progress.stage(name, steps);
        self.heard()
    }

    fn wait(&self, submission_index: Option<wgpu::SubmissionIndex>) -> Result<(), BuildError> {
        let told = self.gpu.device.poll(wgpu::PollType::Wait { submission_index, timeout: None });
        self.gpu.check()?;
        let lost = |reason: String| GpuError::Lost { device: self.gpu.name().to_owned(), reason };
        told.map_err(|e| lost(e.to_string()))?;
        Ok(())
    }

    fn heard(&self) -> Result<(), BuildError> {
        if self.progress.cancelled() { Err(FieldError::Cancelled.into()) } else { Ok(()) }
    }

    /// Hands over what was encoded, waits for it, and gives what the kernels counted.
    pub(super) fn status(&mut self, status: &Buffer, answer: &Answer) -> Result<Status, BuildError> {
        let mut encoder = self.taken();
        encoder.copy_buffer_to_buffer(status, 0, &answer.buffer, 0, STATUS);
        self.sent = None;
        let read = |bytes: &[u8]| bytemuck::pod_read_unaligned(&bytes[..STATUS as usize]);
        let found = answer.take(self.gpu, encoder, STATUS, read)?;
        self.heard()?;
        Ok(found)
    }
}

/// What the steps of one build share.
pub(super) struct Step<'a> {
    /// Cells that one submission looks at.
    pub(super) at_once: u32,
    pub(super) kernels: &'a Kernels,
    pub(super) source: &'a GpuMeshSource,
    pub(super) numbers: Numbers,
    pub(super) background: Buffer,
    pub(super) slots: Buffer,
    pub(super) list: Buffer,
    nearest: Buffer,
    pub(super) own: Buffer,
    pub(super) flags: Buffer,
    pub(super) states: Buffer,
    pub(super) doubts: Buffer,
    pub(super) status: Buffer,
    marks: Buffer,
    ranks: Buffer,
    sums: Buffer,
    bricks: Buffer,
    directory: Buffer,
    values: Buffer,
}

pub(super) fn build(
    builder: &FieldBuilder,
    source: &GpuMeshSource,
    voxel: f64,
    params: &FieldParams,
    progress: &dyn Progress,
) -> Result<BuiltField, BuildError> {
    let (gpu, kernels) = (&builder.gpu, &*builder.kernels);
    let lattice = source.parts.lattice(voxel, params)?;
    refuse(gpu, source, &lattice, params)?;
    let _resident = source.lock.lock().unwrap_or_else(PoisonError::into_inner);
    let mut scratch = builder.scratch.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = &mut *scratch;
    let answer = scratch.answer.take().unwrap_or_else(|| Answer::new(gpu, "status", STATUS));
    let mut commands = Commands::new(gpu, progress, builder.separate_stages);
    let mut numbers = Numbers::new(source, &lattice, params.band + EXACT_MARGIN);
    let first_guess = sign::plan(source, params.sign);
    numbers.mode = u32::from(first_guess == palpate::field::SignMethod::Unsigned);

    // The source in voxels.
    commands.stage("surface", 0)?;
    let corners = u64::from(numbers.corners());
    let cells: u64 = lattice.cells.iter().map(|c| u64::from(*c)).product();
    let mut of = |which, bytes| scratch.get(gpu, which, bytes);
    let background = of(Use::Background, 4 * corners)?;
    let nearest = of(Use::Nearest, 4 * corners)?;
    let (marks, ranks) = (of(Use::Marks, 4 * corners)?, of(Use::Ranks, 4 * corners)?);
    let sums = of(Use::Sums, 4 * (corners.div_ceil(1024) + 1))?;
    let (slots, list) = (of(Use::Slots, 4 * corners)?, of(Use::List, 4 * corners)?);
    let bricks = of(Use::Bricks, 4 * cells)?;
    let status = of(Use::Status, STATUS)?;
    // Bound to kernels that do not use it, until it has its size.
    let flags = of(Use::Flags, 16)?;
    commands.clear(&status, 0, STATUS);
    let plain = numbers.uniform(gpu);
    let s = source;
    let most = s.triangles().max((s.starts[5] + s.counts[5]) as usize) as u64;
    commands.over(
        &kernels.scale,
        &[&plain, &s.points, &s.vertices, &s.normals, &s.boxes, &s.scaled, &s.scaled_boxes],
        most,
        256,
    );

    // The background, and cells to look at.
    let at_once = builder.cells_at_once.clamp(1, 32_768);
    let nodes_at_once = NODES_PER_CELL * at_once;
    commands.stage("background", corners.div_ceil(u64::from(nodes_at_once)))?;
    for first in (0..corners as u32).step_by(nodes_at_once as usize) {
        if first > 0 {
            commands.submit()?;
        }
        let part = Numbers { first, length: corners as u32, ..numbers }.uniform(gpu);
        let search = [&part, &s.scaled, &s.scaled_boxes, &s.vertices, &s.pseudonormals];
        let bound = [&search[..], &[&background, &marks, &nearest]].concat();
        let nodes = nodes_at_once.min(corners as u32 - first);
        commands.over(&kernels.background, &bound, u64::from(nodes), 1);
        progress.advance(1);
    }
    let all = Numbers { length: corners as u32, ..numbers }.uniform(gpu);
    scan(&mut commands, kernels, &all, &marks, &ranks, &sums, corners);
    let lists = [&all, &ranks, &sums, &marks, &list, &slots, &status, &flags];
    commands.over(&kernels.gather, &lists, corners, 256);
    let found = commands.status(&status, &answer)?;
    numbers.candidates = found.candidates;
    check_index(corners, found.candidates, &lattice)?;

    // Their nodes.
    let count = u64::from(found.candidates);
    let step = Step {
        at_once,
        kernels,
        source,
        own: of(Use::Own, 4 * 512 * count)?,
        flags: of(Use::Flags, 4 * count)?,
        states: of(Use::States, 4 * (corners + count))?,
        doubts: of(Use::Doubts, 4 * (corners + count))?,
        directory: kept(gpu, "directory", 4 * cells)?,
        values: kept(gpu, "values", 4 * (corners + count * NODES))?,
        background,
        nearest,
        slots,
        list,
        status,
        marks,
        ranks,
        sums,
        bricks,
        numbers: Numbers { length: corners as u32, windows: WINDOWS, ..numbers },
    };
    step.measure(&mut commands, progress)?;
    let (method, confidence, repaired, last) =
        sign::decide(&step, &mut commands, scratch, &answer, params.sign, first_guess)?;
    scratch.answer = Some(answer);

    let rounding =
        1e-4 + f64::from(f32::EPSILON) * 4.0 * f64::from(*lattice.dims().iter().max().unwrap_or(&1));
    let known = NodesReport {
        sign_method: method,
        sign_confidence: confidence,
        sign_repaired: repaired,
        holes: source.parts.holes.clone(),
        surface: source.parts.surface_box,
        rounding,
    };
    let lipschitz = f64::from(f32::from_bits(last.slope)).sqrt() * (1.0 + 1e-5);
    let report = known.report(&lattice, params, last.bricks as usize, lipschitz);
    Ok(BuiltField {
        lattice,
        directory: step.directory,
        values: step.values,
        bricks: last.bricks as usize,
        report,
        params: params.clone(),
        known,
        kernels: builder.kernels.clone(),
    })
}

impl Step<'_> {
    /// The nodes of every cell that is looked at.
    fn measure(&self, commands: &mut Commands<'_>, progress: &dyn Progress) -> Result<(), BuildError> {
        let s = self.source;
        let count = self.numbers.candidates;
        commands.stage("bricks", u64::from(count.div_ceil(self.at_once)))?;
        commands.clear(&self.flags, 0, 4 * u64::from(count));
        for first in (0..count).step_by(self.at_once as usize) {
            if first > 0 {
                commands.submit()?;
            }
            let part = Numbers { first, ..self.numbers }.uniform(commands.gpu);
            let search = [&part, &s.scaled, &s.scaled_boxes, &s.vertices, &s.pseudonormals];
            let bound = [&search[..], &[&self.list, &self.own, &self.flags, &self.nearest]].concat();
            // Eight blocks a cell.
            commands.pass(&self.kernels.bricks, &bound, [8, self.at_once.min(count - first), 1]);
            progress.advance(1);
        }
        Ok(())
    }

    /// Which cells have bricks, and the bricks; again, if sides have changed since.
    pub(super) fn assemble(&self, commands: &mut Commands<'_>) -> Result<(), BuildError> {
        commands.stage("assemble", 0)?;
        let gpu = commands.gpu;
        let cells: u32 = self.numbers.cells.iter().product();
        let of_cells = Numbers { length: cells, ..self.numbers }.uniform(gpu);
        let count = u64::from(cells);
        let k = self.kernels;
        let lists = [
            &of_cells,
            &self.ranks,
            &self.sums,
            &self.marks,
            &self.bricks,
            &self.slots,
            &self.status,
            &self.flags,
        ];
        commands.over(&k.refine, &lists, count, 256);
        scan(commands, k, &of_cells, &self.marks, &self.ranks, &self.sums, count);
        let lists =
            [&of_cells, &self.ranks, &self.sums, &self.marks, &self.bricks, &self.directory, &self.status];
        commands.over(&k.directory, &lists, count, 256);
        // The slope is measured anew.
        commands.clear(&self.status, 8, 4);
        let plain = self.numbers.uniform(gpu);
        let bound = [&plain, &self.directory, &self.background, &self.values, &self.status];
        commands.over(&k.finish, &bound, u64::from(self.numbers.length), 256);
        for first in (0..self.numbers.candidates).step_by(self.at_once as usize) {
            let part = Numbers { first, ..self.numbers }.uniform(gpu);
            let bound = [
                &part,
                &self.bricks,
                &self.directory,
                &self.slots,
                &self.own,
                &self.background,
                &self.values,
                &self.status,
            ];
            commands.pass(&k.assemble, &bound, [self.at_once.min(self.numbers.candidates - first), 1, 1]);
        }
        Ok(())
    }
}

/// Exclusive sums of marks.
fn scan(
    commands: &mut Commands<'_>,
    kernels: &Kernels,
    numbers: &Buffer,
    marks: &Buffer,
    ranks: &Buffer,
    sums: &Buffer,
    count: u64,
) {
    let bound = [numbers, marks, ranks, sums];
    commands.over(&kernels.scan[0], &bound, count, 1024);
    commands.pass(&kernels.scan[1], &bound, [1, 1, 1]);
}

/// Memory that the field keeps.
fn kept(gpu: &Gpu, label: &'static str, bytes: u64) -> Result<Buffer, GpuError> {
    gpu.fits("the field", bytes, "use a larger voxel, or build on the CPU")?;
    Ok(room(gpu, label, bytes, BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST))
}

fn refuse(
    gpu: &Gpu,
    source: &GpuMeshSource,
    lattice: &Lattice,
    params: &FieldParams,
) -> Result<(), GpuError> {
    if params.keep_triangles {
        return Err(GpuError::BadParameter {
            name: "keep_triangles",
            value: "true".to_owned(),
            expected: "closest triangles are kept by builds on the CPU only",
        });
    }
    if params.cap_holes != source.capped && !source.parts.holes.is_empty() {
        return Err(GpuError::BadParameter {
            name: "cap_holes",
            value: params.cap_holes.to_string(),
            expected: "the source was made with the other choice; make it with GpuMeshSource::with_caps",
        });
    }
    let longest = *lattice.cells.iter().max().unwrap_or(&1);
    let limit = 4 * gpu.device.limits().max_compute_workgroups_per_dimension - 4;
    if longest > limit {
        return Err(GpuError::TooLarge {
            what: "the grid",
            needed: u64::from(longest),
            limit: u64::from(limit),
            unit: "cells along an axis",
            device: gpu.name().to_owned(),
            instead: "use a larger voxel, or build on the CPU",
        });
    }
    gpu.check()
}

/// Refuses a grid whose values cannot be indexed with 31 bits.
fn check_index(corners: u64, candidates: u32, lattice: &Lattice) -> Result<(), FieldError> {
    let count = corners + u64::from(candidates) * NODES;
    if count > i32::MAX as u64 {
        let suggested = lattice.voxel * (count as f64 / f64::from(i32::MAX)).sqrt() * 1.1;
        return Err(FieldError::TooManyVoxels { voxel: lattice.voxel, voxels: count as f64, suggested });
    }
    Ok(())
}
