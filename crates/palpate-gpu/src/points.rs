//! Many points in a field: how far each is from the surface, and which way is out.

use crate::device::{Gpu, GpuError};
use crate::field::{GpuField, Interpolation};
use crate::kernel::{self, Answer, Kernel, Slot};
use crate::sampler::missing;
use glam::DVec3;
use palpate::par;
use wgpu::BufferUsages;

/// Points of one submission: 12 MiB there, 4 or 16 MiB back. Fewer: waits show. More: memory that only such calls need.
const PIECE: usize = 1 << 20;
/// Points per parallel piece on the host.
const CHUNK: usize = 4096;
/// Threads of a workgroup, as in `points.wgsl`.
const THREADS: u32 = 64;
/// Farthest coordinate whose square is finite in f32 [voxels].
const FARTHEST: f32 = 1e18;

/// Kernels and memory for points in fields. One for each thread.
#[derive(Debug)]
pub struct GpuPoints {
    gpu: Gpu,
    programs: [Option<Program>; 3],
    frame: wgpu::Buffer,
    points: wgpu::Buffer,
    answer: Option<Answer>,
    numbers: Vec<[f32; 3]>,
}

#[derive(Debug)]
struct Program {
    distances: Kernel,
    samples: Kernel,
}

impl GpuPoints {
    /// Without memory yet; kernels are compiled when they are first asked for.
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let uniform = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let out = Self {
            gpu: gpu.clone(),
            programs: [None, None, None],
            frame: kernel::room(gpu, "frame", 16, uniform),
            points: kernel::room(gpu, "points", 16, BufferUsages::STORAGE | BufferUsages::COPY_DST),
            answer: None,
            numbers: Vec::new(),
        };
        gpu.check()?;
        Ok(out)
    }

    /// Signed distance of each of `count` points [m], negative inside, as [`palpate::field::Field::sample`] has it: `place` says where a
    /// point is, in the field's frame [m]; `told` is given its number and its distance, in order.
    ///
    /// The CPU's numbers within f32 rounding of coordinates and values for [`Interpolation::Shader`]; outside the box the least the
    /// distance can be. A point that is not finite, or farther than 1e18 voxels, gives NaN. The same bits every time on one device.
    ///
    /// Cost: one submission and one wait for each million points.
    pub fn distances(
        &mut self,
        field: &GpuField,
        count: usize,
        place: impl Fn(usize) -> DVec3 + Sync,
        mut told: impl FnMut(usize, f64),
    ) -> Result<(), GpuError> {
        let voxel = field.lattice.voxel;
        self.run(field, count, place, false, |i, s: [f32; 1]| told(i, f64::from(s[0]) * voxel))
    }

    /// [`GpuPoints::distances`] with the gradient before it: outward, not always unit \[1\].
    pub fn samples(
        &mut self,
        field: &GpuField,
        count: usize,
        place: impl Fn(usize) -> DVec3 + Sync,
        mut told: impl FnMut(usize, DVec3, f64),
    ) -> Result<(), GpuError> {
        let voxel = field.lattice.voxel;
        self.run(field, count, place, true, |i, [x, y, z, d]: [f32; 4]| {
            told(i, DVec3::new(x.into(), y.into(), z.into()), f64::from(d) * voxel);
        })
    }

    fn run<const N: usize>(
        &mut self,
        field: &GpuField,
        count: usize,
        place: impl Fn(usize) -> DVec3 + Sync,
        gradients: bool,
        mut told: impl FnMut(usize, [f32; N]),
    ) -> Result<(), GpuError>
    where
        [f32; N]: bytemuck::Pod,
    {
        let which = field.interpolation() as usize;
        if self.programs[which].is_none() {
            self.programs[which] = Some(Program::new(&self.gpu, field.interpolation()));
        }
        let most = (self.gpu.most_bytes() / (4 * N.max(3) as u64)).clamp(1, PIECE as u64) as usize;
        let (origin, scale) = (field.lattice.origin, 1.0 / field.lattice.voxel);
        for first in (0..count).step_by(most) {
            let n = most.min(count - first);
            self.numbers.resize(n, [0.0; 3]);
            par::chunks_mut(&mut self.numbers, CHUNK, |c, numbers| {
                for (k, uvw) in numbers.iter_mut().enumerate() {
                    *uvw = ((place(first + c * CHUNK + k) - origin) * scale).as_vec3().to_array();
                }
            });
            self.make_room(n, (4 * N * n) as u64);
            // What is no place is asked for elsewhere, and told as none.
            let is_place = |uvw: &[f32; 3]| uvw.iter().all(|v| v.abs() <= FARTHEST);
            let lost: Vec<usize> = (0..n).filter(|i| !is_place(&self.numbers[*i])).collect();
            lost.iter().for_each(|i| self.numbers[*i] = [0.0; 3]);
            self.gpu.queue.write_buffer(&self.frame, 0, bytemuck::cast_slice(&[n as u32, 0, 0, 0]));
            self.gpu.queue.write_buffer(&self.points, 0, bytemuck::cast_slice(&self.numbers));
            let (Some(program), Some(answer)) = (&self.programs[which], &self.answer) else {
                return Err(missing(&self.gpu));
            };
            let kernel = if gradients { &program.samples } else { &program.distances };
            let [info, a, b] = field.resources();
            let group = kernel.bind(
                &self.gpu,
                &[
                    self.frame.as_entire_binding(),
                    self.points.as_entire_binding(),
                    answer.buffer.as_entire_binding(),
                    info,
                    a,
                    b,
                ],
            );
            let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                pass.set_pipeline(&kernel.pipeline);
                pass.set_bind_group(0, &group, &[]);
                pass.dispatch_workgroups((n as u32).div_ceil(THREADS), 1, 1);
            }
            let mut lost = lost.into_iter().peekable();
            answer.take(&self.gpu, encoder, (4 * N * n) as u64, |view| {
                for (i, bytes) in view.chunks_exact(4 * N).take(n).enumerate() {
                    let gone = lost.next_if_eq(&i).is_some();
                    told(first + i, if gone { [f32::NAN; N] } else { bytemuck::pod_read_unaligned(bytes) });
                }
            })?;
        }
        Ok(())
    }

    fn make_room(&mut self, points: usize, answers: u64) {
        let bytes = 12 * points as u64;
        if self.points.size() < bytes {
            let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
            self.points = kernel::room(&self.gpu, "points", bytes, usage);
        }
        if self.answer.as_ref().is_none_or(|a| a.buffer.size() < answers) {
            self.answer = Some(Answer::new(&self.gpu, "distances", answers));
        }
    }
}

impl Program {
    fn new(gpu: &Gpu, interpolation: Interpolation) -> Self {
        let source =
            [GpuField::shader(interpolation, 3).as_str(), include_str!("shaders/points.wgsl")].concat();
        let module = kernel::module(gpu, "points", &source);
        let [info, a, b] = GpuField::slots(interpolation);
        let slots = [Slot::Uniform, Slot::Read, Slot::Write, info, a, b];
        let layout = kernel::bindings(gpu, "points", &slots, wgpu::ShaderStages::COMPUTE);
        let kernel = |entry| Kernel::with_layout(gpu, "points", &module, entry, &layout, false, &[]);
        Self { distances: kernel("distances"), samples: kernel("samples") }
    }
}
