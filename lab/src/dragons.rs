//! Bodies fall on a floor that waves: section 5.4 of the 2008 paper (15 dragons, 70 ms a frame), with contacts found on the GPU.
//!
//! The floor is a mesh in a buffer of its own, moved by a kernel of its own before each part of a step; nothing of it leaves the device.

use anyhow::{Context, Result};
use glam::{DQuat, DVec3, EulerRot};
use palpate::field::analytic::Analytic;
use palpate::mesh::{Mesh, RepairParams, samples};
use palpate::shape::ShapeParams;
use palpate::soft::SoftMesh;
use palpate::world::{Asked, BodyId, BodyParams, Found, Kind, Narrow, NarrowError, World, WorldParams};
use palpate::{Pose, Shape};
use palpate_gpu::wgpu;
use palpate_gpu::{Gpu, GpuMesh, GpuNarrow, VertexLayout};
use palpate_view::recording::{
    self, About, Body, Frame, Ground, Mark, PALETTE, Part, Recording, Sheet, State,
};
use std::path::Path;
use std::time::Instant;

/// Largest extent of a body [m].
const SIZE: f64 = 0.2;
/// How deep a ball of that size would lie, over its radius [1]: see [`WorldParams::sink`].
const SINK: f64 = 5e-4;
/// Squares of the recorded floor along a side.
const DRAWN: u32 = 64;
/// Contacts a frame is recorded with.
const MARKS: usize = 64;

/// What is dropped on what.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Bodies.
    pub bodies: usize,
    /// Simulated time [s].
    pub seconds: f64,
    /// Frames a second [Hz].
    pub rate: f64,
    /// Voxels along a body's largest extent.
    pub cells: f64,
    /// Distance of a body's points, in voxels.
    pub points: f64,
    /// Squares of the floor along a side, two triangles each.
    pub floor: u32,
    /// Side of the floor [m].
    pub side: f64,
    /// Height of the waves, of their crests over the middle [m].
    pub wave: f64,
    /// How the recording says it was made.
    pub command: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bodies: 15,
            seconds: 4.0,
            rate: 60.0,
            cells: 160.0,
            points: 1.25,
            floor: 400,
            side: 1.2,
            wave: 0.025,
            command: "dragons".to_owned(),
        }
    }
}

/// A frame: all parts of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// Broad phase, contacts, forces and motion [s].
    pub whole: f64,
    /// Of it from submissions to their answers [s].
    pub gpu: f64,
    /// Parts of the step.
    pub parts: usize,
    /// Rounds of Newton's method.
    pub rounds: usize,
    /// Points inside another body, in the last part.
    pub contacts: usize,
    /// The deepest of the step [m].
    pub deepest: f64,
}

/// What happened.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Frame after frame.
    pub frames: Vec<Timing>,
    /// Poses, contacts and the floor, to be played.
    pub recording: Recording,
    /// Triangles and points of a body, and triangles of the floor.
    pub counts: [usize; 3],
    /// Memory on the device [bytes].
    pub bytes: u64,
    /// Bodies that are below the floor at the end.
    pub lost: usize,
    /// Fastest centre of mass at the end [m/s].
    pub speed: f64,
}

impl Outcome {
    /// Mean, median and 99th percentile of a frame [s].
    pub fn times(&self) -> [f64; 3] {
        let mut all: Vec<f64> = self.frames.iter().map(|f| f.whole).collect();
        all.sort_by(f64::total_cmp);
        let Some(last) = all.len().checked_sub(1) else { return [0.0; 3] };
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        [mean, all[last / 2], all[(last as f64 * 0.99).round() as usize]]
    }

    /// Share of the time that was waited for the GPU [1].
    pub fn gpu_share(&self) -> f64 {
        let sum = |f: fn(&Timing) -> f64| self.frames.iter().map(f).sum::<f64>();
        sum(|f| f.gpu) / sum(|f| f.whole).max(1e-12)
    }

    /// Deepest penetration of any frame, and its median over frames [m].
    pub fn deepest(&self) -> [f64; 2] {
        let mut all: Vec<f64> = self.frames.iter().map(|f| f.deepest).collect();
        all.sort_by(f64::total_cmp);
        [all.last().copied().unwrap_or(0.0), all.get(all.len() / 2).copied().unwrap_or(0.0)]
    }

    /// The mean number of contacts and of parts of a frame.
    pub fn means(&self) -> [f64; 2] {
        let n = self.frames.len().max(1) as f64;
        let sum = |f: fn(&Timing) -> usize| self.frames.iter().map(f).sum::<usize>() as f64 / n;
        [sum(|f| f.contacts), sum(|f| f.parts)]
    }

    /// The frames as a table: seconds, metres.
    pub fn csv(&self) -> String {
        let mut out = "frame,whole,gpu,parts,rounds,contacts,deepest\n".to_owned();
        for (i, f) in self.frames.iter().enumerate() {
            let Timing { whole, gpu, parts, rounds, contacts, deepest } = f;
            out += &format!("{i},{whole:.6},{gpu:.6},{parts},{rounds},{contacts},{deepest:.6}\n");
        }
        out
    }

    /// Lines of names and values.
    pub fn rows(&self) -> Vec<(String, String)> {
        let [mean, median, p99] = self.times().map(|t| format!("{:.2} ms", 1e3 * t));
        let [contacts, parts] = self.means();
        let [worst, usual] = self.deepest().map(|d| format!("{:.2} mm", 1e3 * d));
        let [triangles, points, floor] = self.counts;
        let rows = [
            ("frame, mean", mean),
            ("frame, median", median),
            ("frame, 99th percentile", p99),
            ("waited for the GPU", format!("{:.0} %", 100.0 * self.gpu_share())),
            ("parts of a step, mean", format!("{parts:.2}")),
            ("contacts, mean", format!("{contacts:.0}")),
            ("deepest penetration", worst),
            ("deepest penetration of a frame, median", usual),
            ("bodies", format!("{} of {triangles} triangles, {points} points", self.recording.bodies.len())),
            ("floor", format!("{floor} triangles")),
            ("on the device", format!("{:.1} MB", self.bytes as f64 / 1e6)),
            ("below the floor at the end", self.lost.to_string()),
            ("fastest body at the end", format!("{:.3} m/s", self.speed)),
        ];
        rows.into_iter().map(|(a, b)| (a.to_owned(), b)).collect()
    }
}

/// Lets bodies fall: of the mesh in a file, or without one of bumpy balls.
pub fn run(gpu: &Gpu, model: Option<&Path>, options: &Options) -> Result<Outcome> {
    let mesh = match model {
        Some(path) => Mesh::load(path, 1.0).with_context(|| path.display().to_string())?,
        None => Mesh::new(samples::bumpy_sphere(0.1, 0.016, 6, 5, 1), &RepairParams::default())?,
    };
    let name = model.and_then(Path::file_stem).map_or("ball".into(), |s| s.to_string_lossy().into_owned());
    let extent = mesh.aabb().extent().max_element();
    let voxel = extent / options.cells;
    let params = ShapeParams { spacing: Some(options.points * voxel), ..ShapeParams::default() };
    let shape = Shape::build(mesh, voxel, &params)?.scaled(SIZE / extent)?;
    let wave = Wave { side: options.side, height: options.wave, squares: options.floor.max(2) };
    // Claws and tails stand on points, which sink deeper than balls do.
    let mut world = World::new(&WorldParams { sink: SINK, ..WorldParams::default() })?;
    // What says how far the floor reaches.
    let low = DVec3::new(-0.5 * wave.side, -0.5 * wave.side, -0.5);
    let high = DVec3::new(0.5 * wave.side, 0.5 * wave.side, wave.range()[1]);
    let solid = Analytic::cuboid(0.5 * (low + high), 0.5 * (high - low))?;
    let floor = world.add(solid, &BodyParams { kind: Kind::Static, ..BodyParams::default() })?;
    let bodies: Vec<BodyId> = (0..options.bodies)
        .map(|i| Ok(world.add(shape.clone(), &begin(i, shape.aabb().centre(), options.side))?))
        .collect::<Result<_>>()?;
    let mut narrow = Waving::new(gpu, &wave, floor, 1.6 * options.side / f64::from(wave.squares))?;
    let mut out = Outcome {
        frames: Vec::new(),
        recording: begun(&shape, &name, gpu, options, &wave),
        counts: [shape.mesh().triangles().len(), shape.tree().len(), wave.mesh(0.0)?.triangles().len()],
        bytes: 0,
        lost: 0,
        speed: 0.0,
    };
    let dt = 1.0 / options.rate;
    out.recording.frames.push(frame(&world, &bodies, &out, &wave, 0.0, None));
    for step in 0..(options.seconds * options.rate).round() as usize {
        let (began, waited) = (Instant::now(), narrow.narrow.waited());
        narrow.time = step as f64 * dt;
        let report = world.step_with(dt, &mut narrow)?;
        let timing = Timing {
            whole: began.elapsed().as_secs_f64(),
            gpu: narrow.narrow.waited() - waited,
            parts: report.substeps,
            rounds: report.rounds,
            contacts: report.contacts,
            deepest: report.deepest,
        };
        out.frames.push(timing);
        let mut now = frame(&world, &bodies, &out, &wave, narrow.time + dt, Some(&timing));
        now.kinetic = report.kinetic;
        out.recording.frames.push(now);
    }
    out.bytes = narrow.narrow.bytes();
    let time = options.seconds;
    for body in bodies.iter().filter_map(|id| world.body(*id)) {
        let c = body.centre();
        out.lost += usize::from(c.z < wave.height_at(c.x, c.y, time));
        out.speed = out.speed.max(body.state().linear.length());
    }
    Ok(out)
}

/// Where body `i` begins: in layers over the floor, turned anyhow.
fn begin(i: usize, middle: DVec3, side: f64) -> BodyParams {
    let (column, row, layer) = (i % 3, i / 3 % 3, i / 9);
    let step = 0.26 * side;
    let t = i as f64;
    let turn = DQuat::from_euler(EulerRot::XYZ, 1.3 * t, 0.7 * t + 0.4, 2.1 * t);
    let shift = 0.35 * step * layer as f64;
    let place = DVec3::new(
        (column as f64 - 1.0) * step + shift,
        (row as f64 - 1.0) * step - 0.5 * shift,
        0.2 + 0.28 * layer as f64 + 0.02 * (t * 1.7).sin(),
    );
    let w_from_b = Pose::new(turn, place - turn * middle);
    // A little drag in turning stands for the air; it does not hold what lies.
    BodyParams { w_from_b, drag: [0.0, 0.5], ..BodyParams::default() }
}

/// The floor: waves that go along both axes, and a rim that keeps bodies on it.
#[derive(Clone, Copy, Debug)]
struct Wave {
    side: f64,
    height: f64,
    squares: u32,
}

impl Wave {
    const RIM: f64 = 0.15;

    /// Its height over a place at a time [m].
    fn height_at(&self, x: f64, y: f64, time: f64) -> f64 {
        let k = self.per_metre();
        let out = 2.0 * x.abs().max(y.abs()) / self.side;
        self.height * (k * x + 3.1 * time).sin() * (k * y + 2.3 * time).cos() + Self::RIM * out.powi(6)
    }

    /// Two waves along a side [1/m].
    fn per_metre(&self) -> f64 {
        4.0 * core::f64::consts::PI / self.side
    }

    fn range(&self) -> [f64; 2] {
        [-self.height, self.height + Self::RIM]
    }

    fn mesh(&self, time: f64) -> Result<SoftMesh> {
        let n = self.squares;
        let at = |i: u32| (f64::from(i) / f64::from(n) - 0.5) * self.side;
        let point = |i: u32, j: u32| DVec3::new(at(i), at(j), self.height_at(at(i), at(j), time));
        let positions = (0..=n).flat_map(|j| (0..=n).map(move |i| point(i, j))).collect();
        let squares = (0..n).flat_map(|j| (0..n).map(move |i| j * (n + 1) + i));
        let triangles = squares.flat_map(|a| [[a, a + 1, a + n + 2], [a, a + n + 2, a + n + 1]]).collect();
        Ok(SoftMesh::new(positions, triangles)?)
    }
}

/// Contacts on the GPU, with the floor where it is at the end of each part.
#[derive(Debug)]
struct Waving {
    gpu: Gpu,
    narrow: GpuNarrow,
    floor: BodyId,
    /// When the step begins [s].
    time: f64,
    /// How far a vertex can be from the mesh's origin [m].
    size: f64,
    numbers: [f32; 12],
    uniform: wgpu::Buffer,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    vertices: u32,
}

impl Waving {
    fn new(gpu: &Gpu, wave: &Wave, floor: BodyId, spacing: f64) -> Result<Self> {
        let device = gpu.device();
        let start = wave.mesh(0.0)?;
        let vertices = start.positions().len() as u32;
        let buffer = |label, size, usage| {
            let size = u64::from(size);
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let places = buffer("floor", 12 * vertices, wgpu::BufferUsages::STORAGE);
        let uniform = buffer("wave", 48, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST);
        let mesh = GpuMesh::with_buffer(gpu, &start, spacing, places.clone(), VertexLayout::default())?;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("floor"),
            source: wgpu::ShaderSource::Wgsl(include_str!("dragons_floor.wgsl").into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("floor"),
            layout: None,
            module: &module,
            entry_point: Some("floor_at"),
            compilation_options: Default::default(),
            cache: None,
        });
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("floor"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: uniform.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: places.as_entire_binding() },
            ],
        });
        let o = mesh.origin();
        let numbers =
            [0.0, wave.side, wave.height, Wave::RIM, o.x, o.y, o.z, wave.per_metre(), 0.0, 0.0, 0.0, 0.0];
        let mut numbers = numbers.map(|x| x as f32);
        numbers[8] = f32::from_bits(wave.squares);
        let size = wave.side + wave.range()[1] - wave.range()[0];
        let mut narrow = GpuNarrow::new(gpu)?;
        narrow.set_mesh(floor, mesh);
        gpu.check()?;
        let gpu = gpu.clone();
        Ok(Self { gpu, narrow, floor, time: 0.0, size, numbers, uniform, pipeline, group, vertices })
    }

    /// Moves the floor to where it is at a time [s].
    fn set(&mut self, time: f64) {
        self.numbers[0] = time as f32;
        let bytes: Vec<u8> = self.numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.gpu.queue().write_buffer(&self.uniform, 0, &bytes);
        let mut encoder = self.gpu.device().create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &self.group, &[]);
            pass.dispatch_workgroups(self.vertices.div_ceil(64), 1, 1);
        }
        self.gpu.queue().submit([encoder.finish()]);
        if let Some(mesh) = self.narrow.mesh(self.floor) {
            mesh.touch(self.size);
        }
    }
}

impl Narrow for Waving {
    fn find(&mut self, ahead: f64, asked: &[Asked<'_>], found: &mut [Found]) -> Result<(), NarrowError> {
        self.set(self.time + ahead);
        self.narrow.find(ahead, asked, found)
    }
}

/// A recording without frames.
fn begun(shape: &Shape, name: &str, gpu: &Gpu, options: &Options, wave: &Wave) -> Recording {
    let mesh = shape.mesh();
    let (positions, triangles, colours) =
        recording::reduced(mesh.positions(), mesh.triangles(), &[], recording::TRIANGLES);
    let body =
        |i: usize| Body { name: format!("{name} {}", i + 1), part: 0, colour: PALETTE[i % PALETTE.len()] };
    Recording {
        about: About {
            title: format!("{} times {name}, on a floor that waves", options.bodies),
            engine: format!("palpate, contacts on {}", gpu.name()),
            rate: options.rate,
            command: options.command.clone(),
        },
        origin: DVec3::ZERO,
        up: DVec3::Z,
        parts: vec![Part { name: name.to_owned(), positions, triangles, colours }],
        bodies: (0..options.bodies).map(body).collect(),
        ground: Ground::Sheet(Sheet {
            corner: DVec3::new(-0.5 * wave.side, -0.5 * wave.side, 0.0),
            edges: [DVec3::X * wave.side, DVec3::Y * wave.side],
            counts: [DRAWN + 1; 2],
            range: wave.range(),
        }),
        frames: Vec::new(),
    }
}

fn frame(
    world: &World,
    bodies: &[BodyId],
    out: &Outcome,
    wave: &Wave,
    time: f64,
    timing: Option<&Timing>,
) -> Frame {
    let mut now = Frame { time, ..Frame::default() };
    for body in bodies.iter().filter_map(|id| world.body(*id)) {
        let BodyParams { w_from_b: pose, linear, angular, .. } = *body.state();
        now.bodies.push(State { pose, linear, angular, contacts: 0, deepest: 0.0 });
    }
    if let Some(sheet) = out.recording.sheet() {
        let height = |i: u32, j: u32| {
            let p = sheet.place(i, j);
            wave.height_at(p.x, p.y, time)
        };
        let [nx, ny] = sheet.counts;
        now.heights = sheet.heights((0..ny).flat_map(|j| (0..nx).map(move |i| height(i, j))));
    }
    let Some(timing) = timing else { return now };
    let mut marks = Vec::new();
    for touch in world.touches() {
        let at = [touch.a, touch.b].map(|id| bodies.iter().position(|b| *b == id));
        for contacts in touch.contacts {
            for c in contacts.list.iter().filter(|c| c.distance < 0.0) {
                let normal = touch.w_from_a.vector(c.normal().as_dvec3());
                let point = touch.w_from_a.point(contacts.position(c));
                marks.push(Mark { point, normal, depth: c.depth().into() });
                for i in at.into_iter().flatten() {
                    let state = &mut now.bodies[i];
                    state.contacts += 1;
                    state.deepest = state.deepest.max(c.depth().into());
                }
            }
        }
    }
    now.keep(&marks, MARKS);
    now.contacts = timing.contacts as u32;
    now.deepest = timing.deepest;
    (now.narrow_us, now.step_us) = (1e6 * timing.gpu, 1e6 * timing.whole);
    now
}
