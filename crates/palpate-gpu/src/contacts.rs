//! Contacts of a mesh in many fields at once, one by one.
//!
//! Based on: Morvan, Reimers, Samset, 2008, sections 3.2 and 3.4 [morvan08].
//! Differs: the samples are those of [`GpuSampler`](crate::GpuSampler); those within the margin are appended to a list, which is sorted
//! on the host, so that results repeat bit for bit.

use crate::device::{Gpu, GpuError};
use crate::field::{GpuField, Interpolation};
use crate::frame::Frame;
use crate::kernel::{self, Answer, Kernel, Slot};
use crate::mesh::GpuMesh;
use crate::sampler::{fit_kernel, missing, no_margin};
use palpate::contact::{Contact, Contacts};
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use wgpu::BufferUsages;

/// Threads of a workgroup.
const THREADS: f64 = 64.0;
/// Clusters of a workgroup, and most workgroups for a field: enough to share the near ones out.
const EACH: u32 = 32;
const GROUPS: u32 = 1024;
/// Most workgroups along an axis on any device.
const ROW: u32 = 65535;
/// Bytes of a frame, of what is before the list, and of an entry in `contacts.wgsl`.
const FRAME: u64 = 128;
const HEAD: u64 = 16;
const ENTRY: u64 = 64;
/// Frames of another field begin at multiples of this many: buffers are bound at multiples of 256 bytes.
const STEP: usize = 2;
/// Entries there is room for at first, and at most: they are counted in f32.
const ROOM: u64 = 1 << 14;
const MOST_ROOM: u64 = 1 << 24;

/// A field and where the mesh is in it.
#[derive(Clone, Copy, Debug)]
pub struct MeshJob<'a> {
    /// Of the rigid body, in its own frame.
    pub field: &'a GpuField,
    /// The field from the mesh.
    pub field_from_mesh: Pose,
    /// Samples at most this far outside count [m].
    pub margin: f64,
}

/// What samples of a mesh found in a field.
#[derive(Clone, Debug, Default)]
pub struct MeshContacts {
    /// Frame of the field. `id` is the number of the triangle, `shell_normal` its own normal; in the order of triangles and samples.
    pub contacts: Contacts,
    /// Which sample of its triangle each of them is: a number that no other sample of it has, the same every time, below 2²⁸.
    pub samples: Vec<u32>,
    /// The pose was not finite: there is nothing here.
    pub non_finite: bool,
    order: Vec<(u32, u32, u32)>,
    unsorted: Vec<Contact>,
}

/// Kernels and memory for contacts of meshes. One for each thread.
#[derive(Debug)]
pub struct GpuContacts {
    gpu: Gpu,
    programs: [Option<Kernel>; 3],
    fit: Kernel,
    frames: wgpu::Buffer,
    list: wgpu::Buffer,
    uniform: wgpu::Buffer,
    answer: Option<Answer>,
    numbers: Vec<[[f32; 4]; 8]>,
    room: u64,
    /// Entries that are copied to the host at once: somewhat more than there were last.
    pub(crate) usual: u64,
}

impl GpuContacts {
    /// Compiles what every question needs; the rest is compiled when it is first asked for.
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let out = Self {
            gpu: gpu.clone(),
            programs: [None, None, None],
            fit: fit_kernel(gpu),
            frames: kernel::room(gpu, "frames", FRAME, storage),
            list: kernel::room(gpu, "list", HEAD, storage),
            uniform: kernel::room(gpu, "frame", FRAME, BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            answer: None,
            numbers: Vec::new(),
            room: ROOM,
            usual: ROOM / 4,
        };
        gpu.check()?;
        Ok(out)
    }

    /// Samples of the mesh within the margin of each field, at the mesh's spacing.
    ///
    /// As [`palpate::soft::FieldSampler::find`] as two samplings at one spacing are: distances are those of the field at the samples
    /// within f32 rounding, areas add up to those of the triangles. One submission and one wait; another where there are more contacts
    /// than last time by a quarter and more.
    pub fn find(
        &mut self,
        mesh: &mut GpuMesh,
        jobs: &[MeshJob<'_>],
        found: &mut Vec<MeshContacts>,
    ) -> Result<(), GpuError> {
        found.resize_with(jobs.len(), MeshContacts::default);
        loop {
            let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
            self.encode(mesh, jobs, &mut encoder)?;
            let entries = self.usual;
            let bytes = self.bytes(entries);
            if self.answer.as_ref().is_none_or(|a| a.buffer.size() < bytes) {
                self.answer = Some(Answer::new(&self.gpu, "contacts", bytes));
            }
            let Some(answer) = &self.answer else { return Err(missing(&self.gpu)) };
            self.copy(entries, &mut encoder, &answer.buffer, 0);
            let count = answer.take(&self.gpu, encoder, bytes, |view| tell(jobs, entries, view, found))?;
            // Without a question that can be asked, balls were not fitted.
            mesh.moved &= self.numbers.is_empty();
            if self.learn(count)? {
                break;
            }
        }
        found.iter_mut().for_each(MeshContacts::sort);
        Ok(())
    }

    /// Whether all of so many contacts were told; else there is more room the next time.
    pub(crate) fn learn(&mut self, count: u64) -> Result<bool, GpuError> {
        let enough = count <= self.usual;
        let most = (self.gpu.most_bytes() - HEAD) / ENTRY;
        let most = most.min(MOST_ROOM);
        if count > most {
            return Err(GpuError::TooLarge {
                what: "a list of contacts",
                needed: count,
                limit: most,
                unit: "entries",
                device: self.gpu.name().to_owned(),
                instead: "use a larger spacing of the mesh, or a smaller margin",
            });
        }
        let wanted = (count + count / 4 + 256).min(most);
        // Shrinks slowly: what is read back too much costs less than asking twice.
        self.usual = wanted.max(self.usual - self.usual / 64);
        self.room = self.room.max(self.usual);
        Ok(enough)
    }

    /// Whether the last encoding fitted the balls of a mesh that had moved.
    pub(crate) fn fitted(&self) -> bool {
        !self.numbers.is_empty()
    }

    pub(crate) fn bytes(&self, entries: u64) -> u64 {
        HEAD + ENTRY * entries
    }

    pub(crate) fn copy(&self, entries: u64, encoder: &mut wgpu::CommandEncoder, to: &wgpu::Buffer, at: u64) {
        encoder.copy_buffer_to_buffer(&self.list, 0, to, at, self.bytes(entries));
    }

    /// Encodes the search, and where the mesh has moved new balls around its clusters.
    pub(crate) fn encode(
        &mut self,
        mesh: &GpuMesh,
        jobs: &[MeshJob<'_>],
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), GpuError> {
        if let Some(job) = jobs.iter().find(|j| j.margin.is_nan()) {
            return Err(no_margin(job.margin));
        }
        // Jobs of one field one after another.
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|i| jobs[*i].field.id);
        self.numbers.clear();
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for i in order {
            let MeshJob { field, field_from_mesh, margin } = &jobs[i];
            let params = ForceParams::default();
            let Some(frame) = Frame::new(field, mesh, field_from_mesh, *margin, &params, &Twist::ZERO) else {
                continue;
            };
            if runs.last().is_none_or(|(_, n, job)| *n >= ROW as usize || jobs[*job].field.id != field.id) {
                let first = self.numbers.len().next_multiple_of(STEP);
                self.numbers.resize(first, [[0.0; 4]; 8]);
                runs.push((first, 0, i));
            }
            let mut numbers = frame.numbers;
            numbers[3][0] = field.lattice.voxel as f32;
            (numbers[6][1], numbers[6][2]) = (i as f32, self.room as f32);
            self.numbers.push(numbers);
            if let Some((_, count, _)) = runs.last_mut() {
                *count += 1;
            }
        }
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let needed = [FRAME * self.numbers.len() as u64, HEAD + ENTRY * self.room];
        let most = self.gpu.most_bytes();
        for (buffer, bytes) in [&mut self.frames, &mut self.list].into_iter().zip(needed) {
            self.gpu.fits("a list of contacts", bytes, "ask for fewer pairs at once, or a larger spacing")?;
            if buffer.size() < bytes {
                let size = bytes.next_power_of_two().min(most).max(bytes);
                *buffer = kernel::room(&self.gpu, "contacts", size, storage);
            }
        }
        encoder.clear_buffer(&self.list, 0, Some(HEAD));
        let Some(first) = self.numbers.first() else { return Ok(()) };
        self.gpu.queue.write_buffer(&self.frames, 0, bytemuck::cast_slice(&self.numbers));
        for (_, _, job) in &runs {
            let interpolation = jobs[*job].field.interpolation();
            self.programs[interpolation as usize].get_or_insert_with(|| program(&self.gpu, interpolation));
        }
        let mut pass = encoder.begin_compute_pass(&Default::default());
        if mesh.moved {
            let own = [&mesh.items, &mesh.parts, &mesh.vertices, &mesh.balls].map(|b| b.as_entire_binding());
            let mut all = own.to_vec();
            let bytes: &[u8] = bytemuck::cast_slice(first);
            if !self.gpu.immediate() {
                self.gpu.queue.write_buffer(&self.uniform, 0, bytes);
                all.push(self.uniform.as_entire_binding());
            }
            pass.set_pipeline(&self.fit.pipeline);
            pass.set_bind_group(0, &self.fit.bind(&self.gpu, &all), &[]);
            if self.gpu.immediate() {
                pass.set_immediates(0, bytes);
            }
            pass.dispatch_workgroups(mesh.clusters.clamp(1, ROW), 1, 1);
        }
        for (first, count, job) in runs {
            let field = jobs[job].field;
            let Some(program) = &self.programs[field.interpolation() as usize] else {
                return Err(missing(&self.gpu));
            };
            let own = [&mesh.items, &mesh.parts, &mesh.vertices, &mesh.balls, &mesh.vertices];
            let mut all: Vec<wgpu::BindingResource<'_>> = own.iter().map(|b| b.as_entire_binding()).collect();
            all.extend(field.resources());
            all.push(wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &self.frames,
                offset: FRAME * first as u64,
                size: None,
            }));
            all.push(self.list.as_entire_binding());
            pass.set_pipeline(&program.pipeline);
            pass.set_bind_group(0, &program.bind(&self.gpu, &all), &[]);
            let groups = mesh.clusters.div_ceil(EACH).clamp(1, GROUPS);
            pass.dispatch_workgroups(groups, count as u32, 1);
        }
        Ok(())
    }
}

fn program(gpu: &Gpu, interpolation: Interpolation) -> Kernel {
    let source = [
        include_str!("shaders/mesh.wgsl"),
        &GpuField::shader(interpolation, 5),
        include_str!("shaders/collide.wgsl"),
        include_str!("shaders/contacts.wgsl"),
    ]
    .concat();
    let module = kernel::module(gpu, "contacts", &source);
    let [info, first, second] = GpuField::slots(interpolation);
    let read = Slot::Read;
    let slots = [read, read, read, read, read, info, first, second, read, Slot::Write];
    Kernel::of(gpu, "contacts", &module, "contacts", &slots, false, &[("THREADS", THREADS)])
}

/// Fills `found` from a copy of the list, if all of it was copied; how many there are.
pub(crate) fn tell(jobs: &[MeshJob<'_>], entries: u64, view: &[u8], found: &mut [MeshContacts]) -> u64 {
    let count: u32 = bytemuck::pod_read_unaligned(&view[..4]);
    for (job, found) in jobs.iter().zip(found.iter_mut()) {
        found.contacts.origin = job.field.lattice.origin;
        found.contacts.swapped = false;
        found.contacts.list.clear();
        found.order.clear();
        found.unsorted.clear();
        found.non_finite = !job.field_from_mesh.is_finite();
    }
    if u64::from(count) <= entries {
        let list = &view[HEAD as usize..][..ENTRY as usize * count as usize];
        for entry in list.chunks_exact(ENTRY as usize) {
            let contact: Contact = bytemuck::pod_read_unaligned(&entry[..48]);
            let [job, sample]: [u32; 2] = bytemuck::pod_read_unaligned(&entry[48..56]);
            if let Some(found) = found.get_mut(job as usize) {
                found.order.push((contact.id, sample, found.unsorted.len() as u32));
                found.unsorted.push(contact);
            }
        }
    }
    count.into()
}

impl MeshContacts {
    /// Puts what was told in order.
    pub(crate) fn sort(&mut self) {
        self.order.sort_unstable();
        self.contacts.list.clear();
        self.samples.clear();
        self.samples.extend(self.order.iter().map(|o| o.1));
        let unsorted = &self.unsorted;
        self.contacts.list.extend(self.order.iter().map(|o| unsorted[o.2 as usize]));
    }
}
