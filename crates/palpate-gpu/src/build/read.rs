//! What comes back from the device, and the field as a volume.

use super::kernels::Numbers;
use super::{BuildError, BuiltField};
use crate::device::{Gpu, GpuError};
use crate::kernel::room;
use palpate::Field;
use std::sync::mpsc;
use wgpu::{Buffer, BufferUsages, TextureFormat, TextureUsages};

/// Layers of a volume filled by one submission.
const LAYERS_AT_ONCE: u32 = 256;

impl BuiltField {
    /// Reads the field back, as an ordinary one; its values are encoded as the build's parameters said. Takes about the time of a copy
    /// over the bus, and of measuring its steepness on the CPU.
    pub fn read(&self, gpu: &Gpu) -> Result<Field, BuildError> {
        let corners: u64 = self.lattice.cells.iter().map(|c| u64::from(*c) + 1).product();
        let cells: u64 = self.lattice.cells.iter().map(|c| u64::from(*c)).product();
        let directory: Vec<i32> = download(gpu, &self.directory, cells)?;
        let values: Vec<f32> = download(gpu, &self.values, corners + 729 * self.bricks as u64)?;
        Ok(Field::from_nodes(&self.lattice, directory, values, &self.params, &self.known)?)
    }

    /// Every node of the grid, one more than voxels along each axis, in a volume of `R32Float` [voxels]: bricks as they are, between
    /// background nodes interpolated. Can be sampled and copied. Refuses a grid larger than the device's volumes.
    pub fn dense(&self, gpu: &Gpu) -> Result<wgpu::Texture, BuildError> {
        let [width, height, depth] = self.lattice.dims().map(|d| d + 1);
        let limit = gpu.device.limits().max_texture_dimension_3d;
        let longest = width.max(height).max(depth);
        if longest > limit {
            return Err(GpuError::TooLarge {
                what: "the volume",
                needed: u64::from(longest),
                limit: u64::from(limit),
                unit: "nodes along an axis",
                device: gpu.name().to_owned(),
                instead: "use a larger voxel, or the bricks",
            }
            .into());
        }
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("dense field"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: depth },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D3,
            format: TextureFormat::R32Float,
            usage: TextureUsages::STORAGE_BINDING | TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        self.dense_into(gpu, &texture)?;
        Ok(texture)
    }

    /// [`BuiltField::dense`] into a volume from before, of the same grid: a new one is cleared first, which takes longer than filling it.
    pub fn dense_into(&self, gpu: &Gpu, texture: &wgpu::Texture) -> Result<(), BuildError> {
        let [width, height, depth] = self.lattice.dims().map(|d| d + 1);
        let size = texture.size();
        let fits = [size.width, size.height, size.depth_or_array_layers] == [width, height, depth];
        let paints =
            texture.usage().contains(TextureUsages::STORAGE_BINDING) && texture.mip_level_count() == 1;
        if !fits
            || !paints
            || texture.format() != TextureFormat::R32Float
            || texture.dimension() != wgpu::TextureDimension::D3
        {
            return Err(GpuError::BadParameter {
                name: "the volume",
                value: format!("{} x {} x {}", size.width, size.height, size.depth_or_array_layers),
                expected: "it must be one that `dense` made for the same grid",
            }
            .into());
        }
        let view = texture.create_view(&Default::default());
        for first in (0..depth).step_by(LAYERS_AT_ONCE as usize) {
            let numbers = Numbers { cells: self.lattice.cells, first, ..Default::default() }.uniform(gpu);
            let group = self.kernels.dense.bind(
                gpu,
                &[
                    numbers.as_entire_binding(),
                    self.directory.as_entire_binding(),
                    self.values.as_entire_binding(),
                    wgpu::BindingResource::TextureView(&view),
                ],
            );
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                pass.set_pipeline(&self.kernels.dense.pipeline);
                pass.set_bind_group(0, &group, &[]);
                let layers = LAYERS_AT_ONCE.min(depth - first);
                pass.dispatch_workgroups(width.div_ceil(8), height.div_ceil(8), layers.div_ceil(4));
            }
            gpu.queue.submit([encoder.finish()]);
        }
        gpu.check()?;
        Ok(())
    }
}

/// The first `count` numbers of a buffer.
fn download<T: bytemuck::Pod>(gpu: &Gpu, from: &Buffer, count: u64) -> Result<Vec<T>, GpuError> {
    let bytes = count * size_of::<T>() as u64;
    let staging = room(gpu, "read", bytes, BufferUsages::COPY_DST | BufferUsages::MAP_READ);
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(from, 0, &staging, 0, bytes);
    gpu.queue.submit([encoder.finish()]);
    let (send, receive) = mpsc::sync_channel(1);
    staging.map_async(wgpu::MapMode::Read, 0..bytes, move |r| {
        let _ = send.send(r.map_err(|e| e.to_string()));
    });
    let lost = |reason: String| GpuError::Lost { device: gpu.name().to_owned(), reason };
    gpu.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| lost(e.to_string()))?;
    gpu.check()?;
    receive.recv().map_err(|e| lost(e.to_string()))?.map_err(lost)?;
    let view = staging.get_mapped_range(0..bytes).map_err(|e| lost(e.to_string()))?;
    Ok(bytemuck::pod_collect_to_vec::<u8, T>(&view))
}
