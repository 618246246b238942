//! A field against a mesh, by compute kernels: the closest or deepest point, or the force.
//!
//! Based on: Morvan, Reimers, Samset, 2008, sections 3.3 and 3.4 [morvan08].
//! Differs: no pixels: triangles are divided evenly until no edge is longer than the mesh's spacing, and sampled in the middle of
//! each part, with its own area and its triangle's own normal. Balls around clusters and then triangles are asked first: what the
//! field says is too far is left out, without changing the answer. Sums are taken in one order, so that they repeat bit for bit.

use crate::device::{Gpu, GpuError};
use crate::field::{GpuField, Interpolation};
use crate::frame::Frame;
use crate::kernel::{self, Answer, Kernel, Slot};
use crate::mesh::GpuMesh;
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use palpate::soft::FieldSummary;
use wgpu::BufferUsages;

/// Threads of a workgroup that samples a cluster.
const THREADS: u32 = 64;
/// Most workgroups that are started: what a large device runs at once.
const GROUPS: u32 = 2112;
/// The same of a processor in software: each costs, and few run at once.
const GROUPS_OF_SOFTWARE: u32 = 32;
/// Workgroups of a set, as in `collide.wgsl`.
const SET: u32 = 64;
/// Pairs whose bindings are kept, and what they are bound to: few, as fields are large.
const KEPT: usize = 16;

/// Kernels and memory for questions about a field and a mesh. One for each thread.
///
/// It remembers the sixteen pairs of a field and a mesh that it was asked about last, and their memory on the device stays until it forgets
/// them or is dropped itself.
#[derive(Debug)]
pub struct GpuSampler {
    gpu: Gpu,
    programs: [Option<Program>; 3],
    fit: Kernel,
    partials: wgpu::Buffer,
    state: wgpu::Buffer,
    frame: wgpu::Buffer,
    answer: Answer,
    groups: Vec<Bound>,
    threads: u32,
    most_groups: u32,
}

/// The kernels for one interpolation.
#[derive(Debug)]
struct Program {
    collide: Kernel,
    least: Kernel,
    nearest: Kernel,
    finish: Kernel,
    nothing: Kernel,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Nothing,
    Collide,
    Nearest,
}

/// Bindings of a field and a mesh.
#[derive(Debug)]
struct Bound {
    key: (u64, u64),
    field: wgpu::BindGroup,
    fit: wgpu::BindGroup,
}

/// What the kernels answer, as `Answer` in `collide.wgsl`.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Told {
    pub(crate) force: [f32; 4],
    pub(crate) torque: [f32; 4],
    pub(crate) counts: [u32; 4],
    pub(crate) deepest: [u32; 4],
    pub(crate) point: [f32; 4],
    pub(crate) gradient: [f32; 4],
    pub(crate) shares: [f32; 4],
}

impl GpuSampler {
    /// Compiles what every question needs; the rest is compiled when it is first asked for.
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Self::tuned(gpu, THREADS, if gpu.is_software() { GROUPS_OF_SOFTWARE } else { GROUPS })
    }

    /// [`GpuSampler::new`] with other numbers of threads, a power of two from 64 on, and workgroups, to measure what suits a device.
    #[doc(hidden)]
    pub fn tuned(gpu: &Gpu, threads: u32, most_groups: u32) -> Result<Self, GpuError> {
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        // Of each workgroup, and of each set of them.
        let partial = 64 * u64::from(most_groups + most_groups.div_ceil(SET));
        // No bound, and no workgroup or set of them done.
        let mut state = vec![0u32; 2 + most_groups.div_ceil(SET) as usize];
        state[0] = u32::MAX;
        let out = Self {
            gpu: gpu.clone(),
            programs: [None, None, None],
            fit: fit_kernel(gpu),
            partials: kernel::room(gpu, "partials", partial, storage),
            state: kernel::buffer(gpu, "state", &state, storage),
            frame: kernel::room(gpu, "frame", 128, BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            answer: Answer::new(gpu, "answer", size_of::<Told>() as u64),
            groups: Vec::new(),
            threads,
            most_groups,
        };
        gpu.check()?;
        Ok(out)
    }

    /// The force of the field's body on the mesh, and its deepest point within `margin` [m].
    ///
    /// As [`palpate::soft::FieldSampler::find`] and [`palpate::soft::FieldContacts::force`] without memory of friction, with the
    /// mesh's spacing. `motion` is that of the mesh's frame as the field's body sees it; vertices have their own from
    /// [`GpuMesh::set_velocities`]. Forces and areas of samples agree with the CPU's as two samplings at one spacing do; distances
    /// are those of the field within f32 rounding, and for textures what their filter adds. The same bits every time on one device.
    ///
    /// Cost: one submission and one wait.
    pub fn collide(
        &mut self,
        field: &GpuField,
        mesh: &mut GpuMesh,
        field_from_mesh: &Pose,
        margin: f64,
        params: &ForceParams,
        motion: &Twist,
    ) -> Result<FieldSummary, GpuError> {
        if margin.is_nan() {
            return Err(no_margin(margin));
        }
        let Some(frame) = Frame::new(field, mesh, field_from_mesh, margin, params, motion) else {
            return Ok(FieldSummary { non_finite: true, ..FieldSummary::default() });
        };
        let told = self.run(field, mesh, &frame, Ask::Collide)?;
        Ok(frame.summary(&told, field, field_from_mesh, params, true))
    }

    /// The point of the mesh that is closest to the field's body, or deepest in it.
    ///
    /// Exactly the least of all samples at the mesh's spacing, whatever was left out. Outside the field's box a distance is the
    /// least it can be, as [`palpate::field::Field::sample`] has it. Cost as [`GpuSampler::collide`].
    pub fn nearest(
        &mut self,
        field: &GpuField,
        mesh: &mut GpuMesh,
        field_from_mesh: &Pose,
    ) -> Result<FieldSummary, GpuError> {
        let params = ForceParams::default();
        let Some(frame) = Frame::new(field, mesh, field_from_mesh, 0.0, &params, &Twist::ZERO) else {
            return Ok(FieldSummary { non_finite: true, ..FieldSummary::default() });
        };
        let told = self.run(field, mesh, &frame, Ask::Nearest)?;
        Ok(frame.summary(&told, field, field_from_mesh, &params, false))
    }

    /// An empty question: a kernel that only answers. What any question costs at least.
    #[doc(hidden)]
    pub fn round_trip(&mut self, field: &GpuField, mesh: &mut GpuMesh) -> Result<(), GpuError> {
        let frame = Frame::new(field, mesh, &Pose::IDENTITY, 0.0, &ForceParams::default(), &Twist::ZERO);
        let Some(frame) = frame else { return Ok(()) };
        self.run(field, mesh, &frame, Ask::Nothing).map(|_| ())
    }

    fn run(
        &mut self,
        field: &GpuField,
        mesh: &mut GpuMesh,
        frame: &Frame,
        ask: Ask,
    ) -> Result<Told, GpuError> {
        let which = field.interpolation() as usize;
        if self.programs[which].is_none() {
            if field.interpolation() == Interpolation::Shader {
                self.gpu.binds(10)?;
            }
            self.programs[which] = Some(Program::new(&self.gpu, field.interpolation(), self.threads));
        }
        let Some(program) = &self.programs[which] else { return Err(missing(&self.gpu)) };
        let key = (field.id, mesh.id);
        let at = match self.groups.iter().position(|b| b.key == key) {
            Some(at) => at,
            None => {
                if self.groups.len() >= KEPT {
                    self.groups.remove(0);
                }
                let bound = self.bind(program, field, mesh, key);
                self.groups.push(bound);
                self.groups.len() - 1
            }
        };
        let bound = &self.groups[at];
        let started = self.most_groups.min(mesh.clusters).max(1);
        let mut numbers = frame.numbers;
        numbers[6][1] = started as f32;
        let bytes: &[u8] = bytemuck::cast_slice(&numbers);
        let immediate = self.gpu.immediate();
        if !immediate {
            self.gpu.queue.write_buffer(&self.frame, 0, bytes);
        }
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            let mut step = |kernel: &Kernel, group: &wgpu::BindGroup, groups: u32| {
                pass.set_pipeline(&kernel.pipeline);
                pass.set_bind_group(0, group, &[]);
                if immediate {
                    pass.set_immediates(0, bytes);
                }
                pass.dispatch_workgroups(groups, 1, 1);
            };
            if mesh.moved && ask != Ask::Nothing {
                step(&self.fit, &bound.fit, started);
            }
            match ask {
                Ask::Nothing => step(&program.nothing, &bound.field, 1),
                Ask::Collide => step(&program.collide, &bound.field, started),
                Ask::Nearest => {
                    let groups = mesh.clusters.div_ceil(64).clamp(1, self.most_groups);
                    step(&program.least, &bound.field, groups);
                    step(&program.nearest, &bound.field, started);
                }
            }
            if !self.gpu.fuses() && ask != Ask::Nothing {
                step(&program.finish, &bound.field, 1);
            }
        }
        let told =
            self.answer.take(&self.gpu, encoder, size_of::<Told>() as u64, bytemuck::pod_read_unaligned)?;
        mesh.moved &= ask == Ask::Nothing;
        Ok(told)
    }

    fn bind(&self, program: &Program, field: &GpuField, mesh: &GpuMesh, key: (u64, u64)) -> Bound {
        let speeds = mesh.speeds.as_ref().unwrap_or(&mesh.vertices);
        let own = [&mesh.items, &mesh.parts, &mesh.vertices, &mesh.balls].map(|b| b.as_entire_binding());
        let [items, parts, vertices, balls] = own;
        let [info, first, second] = field.resources();
        let frame = self.frame.as_entire_binding();
        let mut all = vec![items, parts, vertices, balls, speeds.as_entire_binding(), info, first, second];
        all.push(self.partials.as_entire_binding());
        all.push(self.answer.buffer.as_entire_binding());
        all.push(self.state.as_entire_binding());
        let mut fit: Vec<wgpu::BindingResource<'_>> = all[..4].to_vec();
        if !self.gpu.immediate() {
            all.push(frame.clone());
            fit.push(frame);
        }
        Bound { key, field: program.collide.bind(&self.gpu, &all), fit: self.fit.bind(&self.gpu, &fit) }
    }
}

impl Program {
    fn new(gpu: &Gpu, interpolation: Interpolation, threads: u32) -> Self {
        let parts = [
            "FRAME frame: Frame;\n",
            include_str!("shaders/mesh.wgsl"),
            &GpuField::shader(interpolation, 5),
            include_str!("shaders/collide.wgsl"),
        ];
        let source = kernel::source(gpu, &parts, 11);
        let module = kernel::module(gpu, "sampler", &source);
        let [info, first, second] = GpuField::slots(interpolation);
        let read = Slot::Read;
        let mut slots =
            vec![read, read, read, read, read, info, first, second, Slot::Write, Slot::Write, Slot::Write];
        if !gpu.immediate() {
            slots.push(Slot::Uniform);
        }
        let layout = kernel::bindings(gpu, "sampler", &slots, wgpu::ShaderStages::COMPUTE);
        let kernel = |label, entry, threads: &[(&str, f64)]| {
            Kernel::with_layout(gpu, label, &module, entry, &layout, true, threads)
        };
        let threads = [("THREADS", f64::from(threads)), ("FUSED", f64::from(u8::from(gpu.fuses())))];
        Self {
            collide: kernel("collide", "collide", &threads),
            least: kernel("least", "least", &[]),
            nearest: kernel("nearest", "nearest", &threads),
            finish: kernel("finish", "finish", &threads[..1]),
            nothing: kernel("nothing", "nothing", &[]),
        }
    }
}

/// Fits a ball around each cluster of a mesh: items, parts, vertices, balls, and where there is no immediate data the frame.
pub(crate) fn fit_kernel(gpu: &Gpu) -> Kernel {
    let mesh = include_str!("shaders/mesh.wgsl");
    let common = include_str!("shaders/field.wgsl");
    // Of the field's file only what does not sample is used.
    let place = common.split("// Whether numbers").nth(1).unwrap_or_default();
    let place = ["// Whether numbers", place].concat();
    let fit =
        kernel::source(gpu, &["FRAME frame: Frame;\n", mesh, &place, include_str!("shaders/fit.wgsl")], 4);
    let mut slots = vec![Slot::Read, Slot::Read, Slot::Read, Slot::Write];
    if !gpu.immediate() {
        slots.push(Slot::Uniform);
    }
    Kernel::new(gpu, "fit", &fit, "fit", &slots, true)
}

pub(crate) fn no_margin(margin: f64) -> GpuError {
    GpuError::BadParameter {
        name: "margin",
        value: margin.to_string(),
        expected: "give a number, 0 for what is inside",
    }
}

pub(crate) fn missing(gpu: &Gpu) -> GpuError {
    GpuError::Lost { device: gpu.name().to_owned(), reason: "a kernel could not be made".to_owned() }
}
