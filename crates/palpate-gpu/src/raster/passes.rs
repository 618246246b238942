//! The passes of a question: what is drawn, then added up.

use super::program::Program;
use super::target::{self, Targets, attach};
use super::view::{ALL, Views};
use super::{GpuRaster, KEPT_MAPS, KEPT_PAIRS, KEPT_TARGETS, Map, Pair, RasterMode, missing};
use crate::device::GpuError;
use crate::field::GpuField;
use crate::kernel;
use crate::mesh::GpuMesh;
use crate::sampler::Told;
use wgpu::{TextureFormat, TextureView};

impl GpuRaster {
    /// Draws forces and adds them up.
    pub(super) fn push(
        &mut self,
        field: &GpuField,
        mesh: &GpuMesh,
        views: &Views,
        behind: u32,
        mode: RasterMode,
        numbers: &[[f32; 4]; 8],
    ) -> Result<Told, GpuError> {
        let gpu = self.gpu.clone();
        self.program(field).prepare(&gpu, mode.early());
        let (pair, at) = (self.pair(field, mesh), self.target(views.picture()));
        // Which views are drawn, each with its depth map if it has one; and which maps are made first.
        let drawn: &[u32] =
            if matches!(mode, RasterMode::Basic | RasterMode::EarlyZ) { &[0, 1, 2] } else { &[ALL] };
        let mut fresh = Vec::new();
        let mut depths = [None, None, None];
        if mode.early() {
            for (view, depth) in drawn.iter().zip(&mut depths) {
                let side = if *view == ALL { behind } else { behind >> view & 1 };
                let (map, new) = self.map((field.id, *view, side), views.picture())?;
                *depth = Some(map.view.clone());
                if new {
                    fresh.push(map);
                }
            }
        }
        let Self { gpu, programs, sum, partials, frame, answer, targets, pairs, maps, .. } = self;
        let Some(program) = &programs[field.interpolation() as usize] else { return Err(missing(gpu)) };
        let groups = targets[at].groups();
        let sums = targets[at].sums(gpu, &sum.0, partials, &answer.buffer)?;
        let bytes: &[u8] = bytemuck::cast_slice(numbers);
        let immediate = gpu.immediate();
        if !immediate {
            gpu.queue.write_buffer(frame, 0, bytes);
        }
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let group = &pairs[pair].draw;
        for Map { key: (_, view, _), view: map } in &fresh {
            let Some((_, trace)) = &program.push_behind else { return Err(missing(gpu)) };
            let mut pass = begin(&mut encoder, &[], Some((map, true)));
            start(&mut pass, trace, group, immediate.then_some(bytes));
            pass.draw(0..3, *view..*view + 1);
        }
        let pipeline = match mode.early() {
            true => program.push_behind.as_ref().map(|(push, _)| push),
            false => program.push.as_ref(),
        };
        let Some(pipeline) = pipeline else { return Err(missing(gpu)) };
        let corners = 3 * mesh.triangles() as u32;
        let draw = |pass: &mut wgpu::RenderPass<'_>, view: u32| {
            if let Some([x, y]) = views.pixels.get(view as usize) {
                pass.set_scissor_rect(0, 0, *x, *y);
            }
            pass.draw(0..corners, view..view + 1);
        };
        // Each depth map is a pass of its own; without, one holds them all.
        let passes: Vec<&[u32]> =
            if mode == RasterMode::EarlyZ { drawn.chunks(1).collect() } else { vec![drawn] };
        for (i, now) in passes.into_iter().enumerate() {
            let clear = (i == 0).then_some(wgpu::Color::TRANSPARENT);
            let into = sums.views.each_ref().map(|v| attach(v, clear));
            let mut pass = begin(&mut encoder, &into, depths[i].as_ref().map(|d| (d, false)));
            start(&mut pass, pipeline, group, immediate.then_some(bytes));
            for view in now {
                draw(&mut pass, *view);
            }
        }
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_bind_group(0, &sums.group, &[]);
            pass.set_pipeline(&sum.0.pipeline);
            pass.dispatch_workgroups(groups, 1, 1);
            pass.set_pipeline(&sum.1.pipeline);
            pass.dispatch_workgroups(1, 1, 1);
        }
        let told = answer.take(gpu, encoder, size_of::<Told>() as u64, bytemuck::pod_read_unaligned)?;
        for map in fresh {
            keep(maps, KEPT_MAPS, map);
        }
        Ok(told)
    }

    /// Draws distances and takes the least.
    pub(super) fn near(
        &mut self,
        field: &GpuField,
        mesh: &GpuMesh,
        views: &Views,
        single_pass: bool,
        numbers: &[[f32; 4]; 8],
    ) -> Result<Told, GpuError> {
        self.program(field);
        let (pair, at) = (self.pair(field, mesh), self.target(views.picture()));
        let picture = self.targets[at].nearest(&self.gpu)?.each_ref().map(TextureView::clone);
        let picture_id = self.targets[at].id;
        if self.pairs[pair].least.as_ref().is_none_or(|(id, _)| *id != picture_id) {
            let group = self.bind_least(field, mesh, &picture[0])?;
            self.pairs[pair].least = Some((picture_id, group));
        }
        let Self { gpu, programs, frame, answer, targets, pairs, .. } = self;
        let Some(program) = &programs[field.interpolation() as usize] else { return Err(missing(gpu)) };
        let Some((_, least)) = &pairs[pair].least else { return Err(missing(gpu)) };
        let bytes: &[u8] = bytemuck::cast_slice(numbers);
        let immediate = gpu.immediate();
        if !immediate {
            gpu.queue.write_buffer(frame, 0, bytes);
        }
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        {
            // Nothing: the largest number, which sorts last.
            let last = f64::from(u32::MAX);
            let into = attach(&picture[0], Some(wgpu::Color { r: last, g: last, b: 0.0, a: 0.0 }));
            let mut pass = begin(&mut encoder, &[into], Some((&picture[1], true)));
            start(&mut pass, &program.near, &pairs[pair].draw, immediate.then_some(bytes));
            let corners = 3 * mesh.triangles() as u32;
            if single_pass {
                pass.draw(0..corners, ALL..ALL + 1);
            } else {
                for (view, [x, y]) in (0..).zip(views.pixels) {
                    pass.set_scissor_rect(0, 0, x, y);
                    pass.draw(0..corners, view..view + 1);
                }
            }
        }
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for (kernel, groups) in [(&program.gather, targets[at].groups()), (&program.finish, 1)] {
                pass.set_pipeline(&kernel.pipeline);
                pass.set_bind_group(0, least, &[]);
                if immediate {
                    pass.set_immediates(0, bytes);
                }
                pass.dispatch_workgroups(groups, 1, 1);
            }
        }
        answer.take(gpu, encoder, size_of::<Told>() as u64, bytemuck::pod_read_unaligned)
    }

    fn program(&mut self, field: &GpuField) -> &mut Program {
        let which = field.interpolation();
        self.programs[which as usize].get_or_insert_with(|| Program::new(&self.gpu, which))
    }

    /// Which pictures have this size.
    fn target(&mut self, size: [u32; 2]) -> usize {
        if let Some(at) = self.targets.iter().position(|t| t.size == size) {
            return at;
        }
        keep(&mut self.targets, KEPT_TARGETS, Targets::new(size))
    }

    /// Which bindings are those of this field and this mesh.
    fn pair(&mut self, field: &GpuField, mesh: &GpuMesh) -> usize {
        let key = (field.id, mesh.id);
        if let Some(at) = self.pairs.iter().position(|p| p.key == key) {
            return at;
        }
        let layout = self.program(field).layout.clone();
        let mut all = resources(field, mesh);
        if !self.gpu.immediate() {
            all.push(self.frame.as_entire_binding());
        }
        let draw = kernel::bind(&self.gpu, "raster", &layout, &all);
        keep(&mut self.pairs, KEPT_PAIRS, Pair { key, draw, least: None })
    }

    fn bind_least(
        &self,
        field: &GpuField,
        mesh: &GpuMesh,
        picture: &TextureView,
    ) -> Result<wgpu::BindGroup, GpuError> {
        let program = self.programs[field.interpolation() as usize].as_ref();
        let program = program.ok_or_else(|| missing(&self.gpu))?;
        let mut all = resources(field, mesh);
        all.push(wgpu::BindingResource::TextureView(picture));
        all.push(self.partials.as_entire_binding());
        all.push(self.answer.buffer.as_entire_binding());
        if !self.gpu.immediate() {
            all.push(self.frame.as_entire_binding());
        }
        Ok(program.gather.bind(&self.gpu, &all))
    }

    /// A depth map, and whether it must be drawn yet. It is kept only once it is.
    fn map(&self, key: (u64, u32, u32), size: [u32; 2]) -> Result<(Map, bool), GpuError> {
        if let Some(map) = self.maps.iter().find(|m| m.key == key) {
            return Ok((map.clone(), false));
        }
        let view = target::picture(&self.gpu, "depth map", size, TextureFormat::Depth32Float)?;
        Ok((Map { key, view }, true))
    }
}

/// What is bound to everything that is drawn.
fn resources<'a>(field: &'a GpuField, mesh: &'a GpuMesh) -> Vec<wgpu::BindingResource<'a>> {
    let items = mesh.whole.as_ref().unwrap_or(&mesh.items);
    let speeds = mesh.speeds.as_ref().unwrap_or(&mesh.vertices);
    let [items, vertices, speeds] = [items, &mesh.vertices, speeds].map(|b| b.as_entire_binding());
    let [info, first, second] = field.resources();
    vec![items, vertices, speeds, info, first, second]
}

/// Adds one, and lets go of the oldest where there are too many; where it is.
fn keep<T>(list: &mut Vec<T>, most: usize, new: T) -> usize {
    if list.len() >= most {
        list.remove(0);
    }
    list.push(new);
    list.len() - 1
}

/// A pass that draws. `depth`: with whether it is cleared and written.
fn begin<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    into: &[Option<wgpu::RenderPassColorAttachment<'_>>],
    depth: Option<(&TextureView, bool)>,
) -> wgpu::RenderPass<'a> {
    let depth_stencil_attachment = depth.map(|(view, write)| wgpu::RenderPassDepthStencilAttachment {
        view,
        depth_ops: write
            .then_some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Store }),
        stencil_ops: None,
    });
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        color_attachments: into,
        depth_stencil_attachment,
        ..Default::default()
    })
}

fn start(
    pass: &mut wgpu::RenderPass<'_>,
    pipeline: &wgpu::RenderPipeline,
    group: &wgpu::BindGroup,
    immediate: Option<&[u8]>,
) {
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, group, &[]);
    if let Some(bytes) = immediate {
        pass.set_immediates(0, bytes);
    }
}
