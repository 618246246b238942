//! Many poses at once: the contacts of each, their force, the deepest, or the nearest point.
//!
//! Based on: Sagardia, Stouraitis, Silva, 2014, sections 2.2 and 2.3 [sagardia14]; Morvan, Reimers, Samset, 2008, Eq. 4 to 15
//! [morvan08].
//! Differs: a workgroup has a pose and a chunk of the shell: clusters of 32 points are asked first, then the points of those that are
//! near, then what is within the margin once more for its force. Contacts are those of testing every point; a list of them is in the order
//! of the points.

mod lists;

use crate::device::{Gpu, GpuError};
use crate::field::{GpuField, Interpolation};
use crate::frame::Sums;
use crate::kernel::{self, Answer, Kernel, Slot};
use crate::shell::GpuShell;
use glam::{DMat3, DVec3};
use palpate::contact::Contact;
use palpate::force::{Direction, Force, ForceParams, PoseSummary, Twist};
use palpate::math::Pose;
use wgpu::BufferUsages;

/// Smallest creep speed [m/s], as in the engine.
const LEAST_CREEP: f64 = 1e-9;
/// Bits of `counts.w` in `batch.wgsl`.
const MOVING: u32 = 1;
const OWN_NORMAL: u32 = 2;
const LIST_BRIEF: u32 = 4;
const LIST_FULL: u32 = 8;
/// Bytes of a pose, a partial sum and an answer in `batch.wgsl`.
const POSE: u64 = 80;
const PARTIAL: u64 = 64;
/// Entries of lists, unless told otherwise.
const USUAL_ROOM: u64 = 1 << 22;
/// Most workgroups along an axis on any device.
const ROW: u32 = 32768;

/// Whether contacts are kept on the device, one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lists {
    /// Only what each pose comes to.
    #[default]
    None,
    /// Number of the point and distance [m]: 8 bytes.
    Brief,
    /// [`palpate::Contact`]: 48 bytes.
    Full,
}

/// What a batch is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchParams {
    /// Points at most this far outside count as contacts [m].
    pub margin: f64,
    /// How contacts push.
    pub force: ForceParams,
    /// Whether contacts are kept.
    pub lists: Lists,
    /// Most contacts there is room for in the lists of all poses; none: all there can be, but no more than four million, nor than the
    /// device can bind. What is beyond is counted, and left out of its list.
    pub room: Option<usize>,
}

impl Default for BatchParams {
    fn default() -> Self {
        Self { margin: 0.0, force: ForceParams::default(), lists: Lists::None, room: None }
    }
}

/// Poses of a shell in a field.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// A, in its own frame.
    pub field: &'a GpuField,
    /// The points of B.
    pub shell: &'a GpuShell,
    /// A from B.
    pub poses: &'a [Pose],
    /// The velocity of B as A sees it, for each pose; at rest beyond the last.
    pub motions: &'a [Twist],
}

/// Kernels and memory for batches. One for each thread.
#[derive(Debug)]
pub struct GpuBatch {
    gpu: Gpu,
    programs: [Option<Program>; 3],
    poses: wgpu::Buffer,
    partials: wgpu::Buffer,
    list: wgpu::Buffer,
    frames: wgpu::Buffer,
    answer: Option<Answer>,
    numbers: Vec<[f32; 20]>,
    last: Vec<Kept>,
    lists: Lists,
    room: usize,
}

/// Where the lists of a job are.
#[derive(Clone, Copy, Debug)]
struct Kept {
    first: u32,
    chunks: u32,
    poses: usize,
}

#[derive(Debug)]
struct Program {
    touch: Kernel,
    nearest: Kernel,
    close: Kernel,
}

/// What is told of a pose, as `Answer` in `batch.wgsl`.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Told {
    force: [f32; 4],
    torque: [f32; 4],
    counts: [u32; 4],
    deepest: [u32; 4],
    contact: Contact,
}

impl GpuBatch {
    /// Without memory yet; kernels are compiled when they are first asked for.
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let out = Self {
            gpu: gpu.clone(),
            programs: [None, None, None],
            poses: kernel::room(gpu, "poses", 16, storage),
            partials: kernel::room(gpu, "partials", 16, storage),
            list: kernel::room(gpu, "list", 16, storage),
            frames: kernel::room(gpu, "frames", 16, BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            answer: None,
            numbers: Vec::new(),
            last: Vec::new(),
            lists: Lists::None,
            room: 0,
        };
        gpu.check()?;
        Ok(out)
    }

    /// Contacts of every pose of every job, in one submission: how many, the deepest, and the force on B about its origin.
    ///
    /// The points of B in A's field, exactly those that testing every point finds within f32 rounding of coordinates; the CPU's numbers for
    /// [`Interpolation::Shader`]. A pose that is not finite finds nothing and sets a flag. The same bits every time on one device.
    pub fn contacts(
        &mut self,
        jobs: &[Job<'_>],
        params: &BatchParams,
    ) -> Result<Vec<Vec<PoseSummary>>, GpuError> {
        if params.margin.is_nan() {
            return Err(GpuError::BadParameter {
                name: "margin",
                value: params.margin.to_string(),
                expected: "give a number, 0 for what is inside",
            });
        }
        self.run(jobs, params, false)
    }

    /// The point of B that is nearest to A, or deepest in it, of every pose of every job: `deepest` alone is set.
    pub fn nearest(&mut self, jobs: &[Job<'_>]) -> Result<Vec<Vec<PoseSummary>>, GpuError> {
        self.run(jobs, &BatchParams::default(), true)
    }

    fn run(
        &mut self,
        jobs: &[Job<'_>],
        params: &BatchParams,
        nearest: bool,
    ) -> Result<Vec<Vec<PoseSummary>>, GpuError> {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let total = self.encode(jobs, params, nearest, &mut encoder)?;
        if total == 0 {
            return Ok(jobs.iter().map(|_| Vec::new()).collect());
        }
        let Some(answer) = &self.answer else { return Err(missing(&self.gpu)) };
        let bytes = size_of::<Told>() as u64 * total as u64;
        answer.take(&self.gpu, encoder, bytes, |view| {
            let told = view.chunks_exact(size_of::<Told>()).map(bytemuck::pod_read_unaligned::<Told>);
            let mut told = told.take(total);
            jobs.iter()
                .map(|job| {
                    job.poses
                        .iter()
                        .enumerate()
                        .map(|(i, p)| {
                            let still = job.motions.get(i).is_none_or(Twist::is_finite);
                            let mut one = told
                                .next()
                                .map_or_else(PoseSummary::default, |t| summary(&t, job, p, params, nearest));
                            if !still && !one.non_finite && !nearest {
                                one.force = Force { non_finite: true, ..Force::default() };
                            }
                            one
                        })
                        .collect()
                })
                .collect()
        })
    }

    /// Refuses lists that may have more contacts than the device counts.
    fn counts_in_a_word(&self, jobs: &[Job<'_>]) -> Result<(), GpuError> {
        let most = jobs.iter().map(|j| j.poses.len() as u64 * u64::from(j.shell.count));
        let needed = most.fold(0, u64::saturating_add);
        if needed <= u64::from(u32::MAX) {
            return Ok(());
        }
        Err(GpuError::TooLarge {
            what: "the lists of a batch",
            needed,
            limit: u32::MAX.into(),
            unit: "points in all poses",
            device: self.gpu.name().to_owned(),
            instead: "ask for fewer poses at once",
        })
    }

    /// Encodes a batch; how many poses it has.
    fn encode(
        &mut self,
        jobs: &[Job<'_>],
        params: &BatchParams,
        nearest: bool,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<usize, GpuError> {
        let total: usize = jobs.iter().map(|j| j.poses.len()).sum();
        if params.lists != Lists::None {
            self.counts_in_a_word(jobs)?;
        }
        let partials: u64 =
            jobs.iter().map(|j| j.poses.len() as u64 * u64::from(j.shell.chunks.max(1))).sum();
        self.gpu.fits("the sums of a batch", PARTIAL * partials, "ask for fewer poses at once")?;
        let answers = size_of::<Told>() as u64 * total as u64;
        self.gpu.fits("the answers of a batch", answers, "ask for fewer poses at once")?;
        self.gpu.fits("the poses of a batch", POSE * total as u64, "ask for fewer poses at once")?;
        let entry = match params.lists {
            Lists::None => 0,
            Lists::Brief => 8,
            Lists::Full => 48,
        };
        let room = params.room.map_or_else(|| self.usual_room(jobs, entry), |r| r as u64);
        let list = entry.saturating_mul(room).saturating_add(16);
        self.gpu.fits("the lists of a batch", list, "give them less room")?;
        if total == 0 {
            self.last.clear();
            return Ok(0);
        }
        self.make_room(total as u64, partials, list, jobs.len() as u64);
        self.write_poses(jobs);
        (self.lists, self.room) = (params.lists, room as usize);
        for job in jobs {
            let which = job.field.interpolation() as usize;
            if self.programs[which].is_none() {
                if job.field.interpolation() == Interpolation::Shader {
                    self.gpu.binds(9)?;
                }
                self.programs[which] = Some(Program::new(&self.gpu, job.field.interpolation()));
            }
        }
        if params.lists != Lists::None {
            encoder.clear_buffer(&self.list, 0, Some(16));
        }
        let (mut first, mut place) = (0u32, 0u32);
        self.last.clear();
        let mut frames = Vec::new();
        for job in jobs {
            frames.push(Numbers::new(job, params, room, first, place));
            let chunks = job.shell.chunks.max(1);
            self.last.push(Kept { first: place, chunks, poses: job.poses.len() });
            first += job.poses.len() as u32;
            place += job.poses.len() as u32 * chunks;
        }
        let words: Vec<u8> = frames.iter().flat_map(|f| f.bytes()).collect();
        self.gpu.queue.write_buffer(&self.frames, 0, &words);
        let Some(answer) = &self.answer else { return Err(missing(&self.gpu)) };
        let mut offset = 0;
        for (i, job) in jobs.iter().enumerate().filter(|(_, j)| !j.poses.is_empty()) {
            let Some(program) = &self.programs[job.field.interpolation() as usize] else {
                return Err(missing(&self.gpu));
            };
            let group = self.bind(program, job, answer, i as u64);
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_bind_group(0, &group, &[]);
            let poses = job.poses.len() as u32;
            let groups = if nearest { poses } else { poses * job.shell.chunks.max(1) };
            pass.set_pipeline(if nearest { &program.nearest.pipeline } else { &program.touch.pipeline });
            pass.dispatch_workgroups(groups.min(ROW), groups.div_ceil(ROW), 1);
            pass.set_pipeline(&program.close.pipeline);
            let closing = poses.div_ceil(64);
            pass.dispatch_workgroups(closing.min(ROW), closing.div_ceil(ROW), 1);
            offset += job.poses.len();
        }
        debug_assert_eq!(offset, total);
        Ok(total)
    }

    /// Entries of `entry` bytes for all contacts there can be, within reason.
    fn usual_room(&self, jobs: &[Job<'_>], entry: u64) -> u64 {
        let all: u64 = jobs.iter().map(|j| j.poses.len() as u64 * u64::from(j.shell.count)).sum();
        let limits = self.gpu.device.limits();
        let bytes = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        all.min(USUAL_ROOM).min((bytes - 16).checked_div(entry).unwrap_or(0))
    }

    /// The contacts that were kept for a pose of a job of the last batch, in the order of the points: A's frame, relative to
    /// `PoseSummary::origin`. [`Lists::Brief`] has point numbers and distances only.
    ///
    /// Reads them back: for looking at few. Kernels use [`GpuBatch::list`].
    pub fn read_list(&self, job: usize, pose: usize) -> Result<Vec<Contact>, GpuError> {
        let Some(kept) = self.last.get(job).filter(|k| pose < k.poses && self.lists != Lists::None) else {
            return Ok(Vec::new());
        };
        let mut out = Vec::new();
        for chunk in 0..kept.chunks {
            let at =
                PARTIAL * (u64::from(kept.first) + pose as u64 * u64::from(kept.chunks) + u64::from(chunk));
            let [_, _, base, count]: [u32; 4] =
                self.read(&self.partials, at + 48, 16, bytemuck::pod_read_unaligned)?;
            let count = (count as usize).min(self.room.saturating_sub(base as usize));
            if count == 0 {
                continue;
            }
            let size = if self.lists == Lists::Full { 48 } else { 8 };
            let found: Vec<Contact> =
                self.read(&self.list, 16 + size * u64::from(base), size * count as u64, |view| {
                    let entries = view.chunks_exact(size as usize);
                    entries.map(|e| entry(e, self.lists)).collect()
                })?;
            out.extend(found);
        }
        Ok(out)
    }

    /// The lists on the device: four words, the first of which counts the entries, then entries of 8 or 48 bytes.
    pub fn list(&self) -> &wgpu::Buffer {
        &self.list
    }

    fn read<R>(
        &self,
        buffer: &wgpu::Buffer,
        at: u64,
        bytes: u64,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, GpuError> {
        let answer = Answer::new(&self.gpu, "read", bytes);
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(buffer, at, &answer.buffer, 0, bytes);
        answer.take(&self.gpu, encoder, bytes, |view| read(&view[..bytes as usize]))
    }

    fn make_room(&mut self, poses: u64, partials: u64, list: u64, jobs: u64) {
        let gpu = &self.gpu;
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let uniform = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        for (buffer, label, bytes, usage) in [
            (&mut self.poses, "poses", POSE * poses, storage),
            (&mut self.partials, "partials", PARTIAL * partials, storage),
            (&mut self.list, "list", list, storage),
            (&mut self.frames, "frames", 256 * jobs, uniform),
        ] {
            if buffer.size() < bytes {
                *buffer = kernel::room(gpu, label, bytes, usage);
            }
        }
        let bytes = size_of::<Told>() as u64 * poses;
        if self.answer.as_ref().is_none_or(|a| a.buffer.size() < bytes) {
            self.answer = Some(Answer::new(gpu, "answers", bytes));
        }
    }

    fn write_poses(&mut self, jobs: &[Job<'_>]) {
        self.numbers.clear();
        for job in jobs {
            let lattice = &job.field.lattice;
            let (scale, middle) = (1.0 / lattice.voxel, lattice.aabb().centre());
            let far = lattice.aabb().extent().length() * 4.0;
            for (i, pose) in job.poses.iter().enumerate() {
                let motion = job.motions.get(i).copied().unwrap_or(Twist::ZERO);
                let finite = pose.is_finite();
                // Where nothing touches.
                let pose = if finite { *pose } else { Pose::from_translation(middle + DVec3::X * far) };
                let motion = if finite && motion.is_finite() { motion } else { Twist::ZERO };
                let rotation = DMat3::from_quat(pose.rotation) * scale;
                let shift = (pose.point(job.shell.origin) - lattice.origin) * scale;
                let linear = motion.at(middle - pose.translation) * scale;
                let mut out = [0.0f32; 20];
                for k in 0..3 {
                    let row = rotation.row(k);
                    out[4 * k..4 * k + 4].copy_from_slice(&[row.x, row.y, row.z, shift[k]].map(|v| v as f32));
                }
                out[12..15].copy_from_slice(&linear.as_vec3().to_array());
                // Says that there is no pose: nothing is looked for.
                out[15] = if finite { 0.0 } else { 1.0 };
                out[16..19].copy_from_slice(&motion.angular.as_vec3().to_array());
                self.numbers.push(out);
            }
        }
        self.gpu.queue.write_buffer(&self.poses, 0, bytemuck::cast_slice(&self.numbers));
    }

    fn bind(&self, program: &Program, job: &Job<'_>, answer: &Answer, frame: u64) -> wgpu::BindGroup {
        let poses = wgpu::BufferBinding { buffer: &self.poses, offset: 0, size: None };
        let frame = wgpu::BufferBinding {
            buffer: &self.frames,
            offset: 256 * frame,
            size: wgpu::BufferSize::new(64),
        };
        let [info, a, b] = job.field.resources();
        let all = [
            wgpu::BindingResource::Buffer(poses),
            job.shell.points.as_entire_binding(),
            job.shell.normals.as_entire_binding(),
            job.shell.balls.as_entire_binding(),
            info,
            a,
            b,
            self.partials.as_entire_binding(),
            answer.buffer.as_entire_binding(),
            self.list.as_entire_binding(),
            wgpu::BindingResource::Buffer(frame),
        ];
        program.touch.bind(&self.gpu, &all)
    }
}

impl Program {
    fn new(gpu: &Gpu, interpolation: Interpolation) -> Self {
        let source = [
            "@group(0) @binding(10) var<uniform> frame: Frame;\n",
            &GpuField::shader(interpolation, 4),
            include_str!("shaders/batch.wgsl"),
        ]
        .concat();
        let module = kernel::module(gpu, "batch", &source);
        let [info, a, b] = GpuField::slots(interpolation);
        let (read, write) = (Slot::Read, Slot::Write);
        let slots = [read, read, read, read, info, a, b, write, write, write, Slot::Uniform];
        let layout = kernel::bindings(gpu, "batch", &slots, wgpu::ShaderStages::COMPUTE);
        let kernel = |label, entry| Kernel::with_layout(gpu, label, &module, entry, &layout, false, &[]);
        Self {
            touch: kernel("touch", "touch"),
            nearest: kernel("nearest", "nearest"),
            close: kernel("close", "close"),
        }
    }
}

/// The numbers of a job, as `Frame` in `batch.wgsl`.
struct Numbers {
    law: [f32; 4],
    lengths: [f32; 4],
    counts: [u32; 4],
    places: [u32; 4],
}

impl Numbers {
    fn new(job: &Job<'_>, params: &BatchParams, room: u64, first: u32, place: u32) -> Self {
        let lattice = &job.field.lattice;
        let scale = 1.0 / lattice.voxel;
        let (force, f) = (&params.force, &params.force.friction);
        let unit = unit(force);
        let positive = |v: f64| if v > 0.0 { v } else { 0.0 };
        let shift = |p: &Pose| (p.point(job.shell.origin) - lattice.origin).length();
        let farthest = job.poses.iter().filter(|p| p.is_finite()).map(shift).fold(0.0, f64::max);
        let values = f64::from(job.field.range[1].abs().max(job.field.range[0].abs()));
        let rounding = 8.0 * f64::from(f32::EPSILON) * ((farthest + job.shell.size) * scale + values);
        let slack = f64::from(job.field.steep) * rounding + f64::from(job.field.stored);
        let mut flags = if job.motions.is_empty() { 0 } else { MOVING };
        flags |= if force.direction == Direction::Shell { OWN_NORMAL } else { 0 };
        flags |= match params.lists {
            Lists::None => 0,
            Lists::Brief => LIST_BRIEF,
            Lists::Full => LIST_FULL,
        };
        let law = [
            positive(force.damping) / unit,
            positive(f.dynamic_coefficient),
            positive(force.stiffness) / unit,
            f.creep.max(LEAST_CREEP) * scale,
        ];
        let margin = (params.margin * scale).clamp(-1e30, 1e30);
        Self {
            law: law.map(|v| v as f32),
            lengths: [margin, slack, scale, lattice.voxel].map(|v| v as f32),
            counts: [job.shell.count, job.shell.clusters, job.shell.chunks.max(1), flags],
            places: [job.poses.len() as u32, first, room.min(u32::MAX.into()) as u32, place],
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(bytemuck::cast_slice(&self.law));
        out.extend_from_slice(bytemuck::cast_slice(&self.lengths));
        out.extend_from_slice(bytemuck::cast_slice(&self.counts));
        out.extend_from_slice(bytemuck::cast_slice(&self.places));
        // Uniform buffers are bound at multiples of this.
        out.resize(256, 0);
        out
    }
}

/// Force of one unit on the device, over a voxel³ [N].
fn unit(params: &ForceParams) -> f64 {
    let unit = if params.stiffness > 0.0 { params.stiffness } else { params.damping };
    if unit > 0.0 && unit.is_finite() { unit } else { 1.0 }
}

fn summary(told: &Told, job: &Job<'_>, a_from_b: &Pose, params: &BatchParams, nearest: bool) -> PoseSummary {
    let lattice = &job.field.lattice;
    let origin = lattice.origin;
    let f = &params.force.friction;
    let numbers =
        [params.force.stiffness, params.force.damping, f.dynamic_coefficient, f.static_coefficient, f.creep];
    if !a_from_b.is_finite() {
        return PoseSummary { origin, non_finite: true, ..PoseSummary::default() };
    }
    let deepest = (told.deepest[0] != u32::MAX && told.deepest[1] < job.shell.count).then_some(told.contact);
    let [contacts, used, sliding, _] = told.counts.map(|n| n as usize);
    if nearest {
        return PoseSummary { deepest, origin, ..PoseSummary::default() };
    }
    let sums = Sums { force: told.force, torque: told.torque, used, sliding };
    let mut force = sums.in_newtons(lattice, a_from_b, &params.force, unit(&params.force));
    if !numbers.iter().all(|n| n.is_finite()) {
        force = Force { non_finite: true, ..Force::default() };
    }
    PoseSummary { contacts, deepest, force, origin, non_finite: false }
}

/// An entry of a list.
fn entry(bytes: &[u8], lists: Lists) -> Contact {
    if lists == Lists::Full {
        return bytemuck::pod_read_unaligned(bytes);
    }
    let [id, distance]: [u32; 2] = bytemuck::pod_read_unaligned(bytes);
    Contact { id, distance: f32::from_bits(distance), ..Contact::default() }
}

fn missing(gpu: &Gpu) -> GpuError {
    GpuError::Lost { device: gpu.name().to_owned(), reason: "a kernel could not be made".to_owned() }
}
