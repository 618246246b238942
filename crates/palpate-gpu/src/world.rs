//! The contacts of a [`World`](palpate::world::World) found on the GPU: those of all near pairs in one submission.

use crate::batch::{GpuBatch, Job};
use crate::contacts::{self, GpuContacts, MeshContacts, MeshJob};
use crate::device::{Gpu, GpuError};
use crate::field::{GpuField, Interpolation};
use crate::kernel::Answer;
use crate::mesh::GpuMesh;
use crate::shell::GpuShell;
use glam::{DMat3, DVec3, Vec3};
use palpate::contact::{Contact, Contacts};
use palpate::manifold::Collider;
use palpate::math::Pose;
use palpate::query::Roles;
use palpate::world::{Asked, BodyId, CpuNarrow, Found, Narrow, NarrowError};
use palpate::{Shape, par};
use std::collections::HashMap;
use std::time::Instant;

/// Contacts that lists have room for at first.
const ROOM: u64 = 1 << 16;

/// Finds the contacts of a world's pairs on the GPU, in one submission and one wait for each part of a step.
///
/// Shapes are put on the device when they are first met, and stay there: 4 bytes a node of a field, 32 a point. Many bodies of one
/// shape are one dispatch. Contacts are those of [`palpate::query::Query::both`] within f32 rounding and what that one's packed field
/// is off by. Pairs with a solid by formula are left to the CPU.
#[derive(Debug)]
pub struct GpuNarrow {
    gpu: Gpu,
    batch: GpuBatch,
    contacts: GpuContacts,
    fields: Vec<(Shape, GpuField)>,
    shells: Vec<(Shape, GpuShell)>,
    field_of: HashMap<usize, usize>,
    shell_of: HashMap<usize, usize>,
    meshes: Vec<(BodyId, GpuMesh)>,
    groups: Vec<Group>,
    answer: Option<Answer>,
    /// Room for contacts of shapes, and how many are copied at once.
    room: u64,
    usual: u64,
    cpu: CpuNarrow,
    cpu_found: Vec<Found>,
    soft_found: Vec<Vec<MeshContacts>>,
    waited: f64,
}

/// Poses of one shell in one field.
#[derive(Debug, Default)]
struct Group {
    field: usize,
    shell: usize,
    poses: Vec<Pose>,
    /// Pair, and the place of its list.
    sides: Vec<(usize, usize)>,
}

/// What answers for a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Shapes,
    /// The mesh of body 0 or 1 of the pair, its number, the job of it.
    Mesh(usize, usize, usize),
    Cpu(usize),
}

impl GpuNarrow {
    /// Without shapes yet.
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self {
            gpu: gpu.clone(),
            batch: GpuBatch::new(gpu)?,
            contacts: GpuContacts::new(gpu)?,
            fields: Vec::new(),
            shells: Vec::new(),
            field_of: HashMap::new(),
            shell_of: HashMap::new(),
            meshes: Vec::new(),
            groups: Vec::new(),
            answer: None,
            room: ROOM,
            usual: ROOM / 8,
            cpu: CpuNarrow::default(),
            cpu_found: Vec::new(),
            soft_found: Vec::new(),
            waited: 0.0,
        })
    }

    /// Has a mesh that deforms stand for a body, in the body's frame; another one stands no longer. Its samples are found in the fields
    /// of shapes; what the body is made of in its world says how far it reaches and how far others may go into it. Two meshes do not
    /// meet.
    pub fn set_mesh(&mut self, body: BodyId, mesh: GpuMesh) {
        self.meshes.retain(|(id, _)| *id != body);
        self.meshes.push((body, mesh));
    }

    /// The mesh of a body, to move its vertices.
    pub fn mesh(&mut self, body: BodyId) -> Option<&mut GpuMesh> {
        self.meshes.iter_mut().find(|(id, _)| *id == body).map(|(_, mesh)| mesh)
    }

    /// Time from submissions to their answers, of all steps [s].
    pub fn waited(&self) -> f64 {
        self.waited
    }

    /// Memory on the device of shapes and meshes [bytes].
    pub fn bytes(&self) -> u64 {
        let fields: u64 = self.fields.iter().map(|(_, f)| f.bytes()).sum();
        let shells: u64 = self.shells.iter().map(|(_, s)| s.bytes()).sum();
        fields + shells + self.meshes.iter().map(|(_, m)| m.bytes()).sum::<u64>()
    }

    /// The places of a shape's field and points, which are put on the device where they are new. The shape is kept, so that no other
    /// can have its address.
    fn field(&mut self, shape: &Shape) -> Result<usize, GpuError> {
        let key = core::ptr::from_ref(shape.field()).addr();
        if let Some(at) = self.field_of.get(&key) {
            return Ok(*at);
        }
        let field = GpuField::new(&self.gpu, shape.field(), Interpolation::Shader)?;
        self.fields.push((shape.clone(), field));
        self.field_of.insert(key, self.fields.len() - 1);
        Ok(self.fields.len() - 1)
    }

    fn shell(&mut self, shape: &Shape) -> Result<usize, GpuError> {
        let key = core::ptr::from_ref(shape.tree()).addr();
        if let Some(at) = self.shell_of.get(&key) {
            return Ok(*at);
        }
        let shell = GpuShell::new(&self.gpu, shape.tree())?;
        self.shells.push((shape.clone(), shell));
        self.shell_of.insert(key, self.shells.len() - 1);
        Ok(self.shells.len() - 1)
    }

    /// Adds a pose to the group of its field and shell.
    fn add(
        &mut self,
        field: &Shape,
        points: &Shape,
        pose: Pose,
        side: (usize, usize),
    ) -> Result<(), GpuError> {
        let (field, shell) = (self.field(field)?, self.shell(points)?);
        let at = match self.groups.iter().position(|g| (g.field, g.shell) == (field, shell)) {
            Some(at) => at,
            None => {
                self.groups.push(Group { field, shell, ..Group::default() });
                self.groups.len() - 1
            }
        };
        self.groups[at].poses.push(pose);
        self.groups[at].sides.push(side);
        Ok(())
    }

    /// Sorts the pairs by who answers.
    fn share_out(
        &mut self,
        asked: &[Asked<'_>],
        jobs: &mut Vec<Vec<(usize, Pose, f64)>>,
    ) -> Result<Vec<Way>, GpuError> {
        self.groups.iter_mut().for_each(|g| {
            g.poses.clear();
            g.sides.clear();
        });
        jobs.resize_with(self.meshes.len(), Vec::new);
        let mut ways = Vec::with_capacity(asked.len());
        let mut left = 0;
        for (i, pair) in asked.iter().enumerate() {
            let mesh = |k: usize| self.meshes.iter().position(|(id, _)| *id == pair.bodies[k]);
            let way = match (pair.colliders, [mesh(0), mesh(1)]) {
                ([Collider::Shape(a), Collider::Shape(b)], [None, None]) => {
                    let swapped = Roles::Fewer.swapped(a, b);
                    if pair.both || !swapped {
                        self.add(a, b, pair.a_from_b, (i, 0))?;
                    }
                    if pair.both || swapped {
                        self.add(b, a, pair.a_from_b.inverse(), (i, usize::from(pair.both)))?;
                    }
                    Way::Shapes
                }
                ([_, Collider::Shape(b)], [Some(m), None]) => {
                    jobs[m].push((self.field(b)?, pair.a_from_b.inverse(), pair.margin));
                    Way::Mesh(0, m, jobs[m].len() - 1)
                }
                ([Collider::Shape(a), _], [None, Some(m)]) => {
                    jobs[m].push((self.field(a)?, pair.a_from_b, pair.margin));
                    Way::Mesh(1, m, jobs[m].len() - 1)
                }
                (_, [None, None]) => {
                    left += 1;
                    Way::Cpu(left - 1)
                }
                // Two meshes, or a mesh and a solid by formula.
                _ => Way::Shapes,
            };
            ways.push(way);
        }
        Ok(ways)
    }

    /// Contacts of shapes go to `found`, those of meshes to `soft_found`. Whether there was room for all.
    fn ask(
        &mut self,
        asked: &[Asked<'_>],
        found: &mut [Found],
        meshes: &[Vec<(usize, Pose, f64)>],
    ) -> Result<bool, GpuError> {
        found.iter_mut().for_each(Found::clear);
        // One margin for all on the device; each its own below.
        let margin = asked.iter().map(|a| a.margin).fold(0.0, f64::max);
        let fields = &self.fields;
        let groups: Vec<&Group> = self.groups.iter().filter(|g| !g.poses.is_empty()).collect();
        let jobs: Vec<Job<'_>> = groups
            .iter()
            .map(|g| Job {
                field: &fields[g.field].1,
                shell: &self.shells[g.shell].1,
                poses: &g.poses,
                motions: &[],
            })
            .collect();
        let soft: Vec<Vec<MeshJob<'_>>> = meshes
            .iter()
            .map(|jobs| {
                let job = |(f, pose, margin): &(usize, Pose, f64)| MeshJob {
                    field: &fields[*f].1,
                    field_from_mesh: *pose,
                    margin: *margin,
                };
                jobs.iter().map(job).collect()
            })
            .collect();
        if jobs.is_empty() && soft.iter().all(Vec::is_empty) {
            return Ok(true);
        }
        let began = Instant::now();
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let mut bytes = 0;
        if !jobs.is_empty() {
            self.batch.encode_lists(&jobs, margin, self.room, &mut encoder)?;
        }
        let copied = if jobs.is_empty() { Default::default() } else { self.batch.copied(self.usual) };
        if !jobs.is_empty() {
            bytes += copied.bytes();
        }
        // Several meshes would take turns with one list: only the first has its contacts in this submission.
        let mesh = soft.iter().position(|j| !j.is_empty());
        let (entries, at) = (self.contacts.usual, bytes);
        if let Some(m) = mesh {
            self.contacts.encode(&self.meshes[m].1, &soft[m], &mut encoder)?;
            bytes += self.contacts.bytes(entries);
        }
        if self.answer.as_ref().is_none_or(|a| a.buffer.size() < bytes) {
            self.answer = Some(Answer::new(&self.gpu, "world", bytes.next_power_of_two()));
        }
        let Some(answer) = &self.answer else { return Err(crate::sampler::missing(&self.gpu)) };
        if !jobs.is_empty() {
            self.batch.copy(copied, &mut encoder, &answer.buffer, 0);
        }
        if mesh.is_some() {
            self.contacts.copy(entries, &mut encoder, &answer.buffer, at);
        }
        self.soft_found.resize_with(soft.len(), Vec::new);
        for (found, jobs) in self.soft_found.iter_mut().zip(&soft) {
            found.resize_with(found.len().max(jobs.len()), MeshContacts::default);
        }
        let (batch, soft_found) = (&self.batch, &mut self.soft_found);
        let [count, soft_count] = answer.take(&self.gpu, encoder, bytes, |view| {
            let mut counts = [0; 2];
            if !jobs.is_empty() {
                counts[0] = batch.tell(copied, &view[..at as usize], |job, pose, contact| {
                    let (pair, side) = groups[job].sides[pose];
                    if f64::from(contact.distance) <= asked[pair].margin {
                        found[pair].contacts[side].list.push(contact);
                    }
                });
            }
            if let Some(m) = mesh {
                counts[1] = contacts::tell(&soft[m], entries, &view[at as usize..], &mut soft_found[m]);
            }
            counts
        })?;
        self.waited += began.elapsed().as_secs_f64();
        let enough = count <= self.usual;
        let most = (self.gpu.most_bytes() - 16) / 48;
        if count > most {
            return Err(GpuError::TooLarge {
                what: "a list of contacts",
                needed: count,
                limit: most,
                unit: "entries",
                device: self.gpu.name().to_owned(),
                instead: "use a larger spacing of the shapes' points",
            });
        }
        self.usual = (count + count / 4 + 1024).min(most).max(self.usual - self.usual / 64);
        self.room = self.room.max(self.usual);
        let enough = self.contacts.learn(soft_count)? && enough;
        if let Some(m) = mesh {
            self.meshes[m].1.moved &= !self.contacts.fitted();
            for other in (m + 1..soft.len()).filter(|o| enough && !soft[*o].is_empty()) {
                let jobs = &soft[other];
                self.contacts.find(&mut self.meshes[other].1, jobs, &mut self.soft_found[other])?;
            }
        }
        Ok(enough)
    }

    fn answer(&mut self, asked: &[Asked<'_>], found: &mut [Found]) -> Result<(), NarrowError> {
        let mut meshes = Vec::new();
        let ways = self.share_out(asked, &mut meshes)?;
        while !self.ask(asked, found, &meshes)? {}
        let first = meshes.iter().position(|j| !j.is_empty());
        if let Some(first) = first {
            let soft = &mut self.soft_found[first];
            par::chunks_mut(soft, 1, |_, f| f.iter_mut().for_each(MeshContacts::sort));
        }
        let (soft, meshes) = (&self.soft_found, &self.meshes);
        par::chunks_mut(found, 1, |i, found| {
            let (Some(found), pair) = (found.first_mut(), &asked[i]) else { return };
            match (ways[i], pair.colliders) {
                (Way::Shapes, [Collider::Shape(a), Collider::Shape(b)]) => settle(found, pair, a, b),
                (Way::Mesh(side, m, job), _) => {
                    let from = &soft[m][job];
                    let to = &mut found.contacts[0];
                    to.swapped = side == 0;
                    let a_from_field = if side == 0 { pair.a_from_b } else { Pose::IDENTITY };
                    turn(from, &a_from_field, meshes[m].1.numbered.leading_zeros().min(28), to);
                }
                _ => {}
            }
        });
        let left: Vec<Asked<'_>> =
            asked.iter().zip(&ways).filter(|(_, w)| matches!(w, Way::Cpu(_))).map(|(a, _)| *a).collect();
        if !left.is_empty() {
            self.cpu_found.resize_with(self.cpu_found.len().max(left.len()), Found::default);
            self.cpu.find(0.0, &left, &mut self.cpu_found[..left.len()])?;
            for (found, way) in found.iter_mut().zip(&ways) {
                if let Way::Cpu(at) = way {
                    core::mem::swap(found, &mut self.cpu_found[*at]);
                }
            }
        }
        Ok(())
    }
}

impl Narrow for GpuNarrow {
    fn find(&mut self, _: f64, asked: &[Asked<'_>], found: &mut [Found]) -> Result<(), NarrowError> {
        let count = asked.len().min(found.len());
        self.answer(&asked[..count], &mut found[..count])
    }
}

/// Says what the contacts of a pair of shapes are relative to; those of A's points come from B's frame.
fn settle(found: &mut Found, pair: &Asked<'_>, a: &Shape, b: &Shape) {
    let swapped = [!pair.both && Roles::Fewer.swapped(a, b), true];
    found.both = pair.both;
    for (contacts, swapped) in found.contacts.iter_mut().zip(swapped) {
        contacts.swapped = swapped;
        if !swapped {
            contacts.origin = a.field().lattice().origin;
            continue;
        }
        contacts.origin = a.tree().origin();
        for c in &mut contacts.list {
            let id = c.id as usize;
            c.point = a.tree().local(id).to_array();
            let normal: DVec3 = Vec3::from_array(c.normal).as_dvec3();
            c.normal = (-pair.a_from_b.vector(normal)).as_vec3().to_array();
            c.shell_normal = a.tree().normal(id).to_array();
        }
    }
}

/// Contacts of a mesh in A's frame. Where the mesh is A's, normals are to point away from it. Ids have `bits` bits to tell samples of one
/// triangle apart.
fn turn(from: &MeshContacts, a_from_field: &Pose, bits: u32, to: &mut Contacts) {
    let rotation = DMat3::from_quat(a_from_field.rotation).as_mat3();
    let sign = if to.swapped { -1.0 } else { 1.0 };
    to.origin = a_from_field.point(from.contacts.origin);
    let last = (1 << bits) - 1;
    to.list.extend(from.contacts.list.iter().zip(&from.samples).map(|(c, sample)| {
        let turned = |v: [f32; 3]| rotation * Vec3::from_array(v);
        Contact {
            point: turned(c.point).to_array(),
            normal: (sign * turned(c.normal)).to_array(),
            shell_normal: turned(c.shell_normal).to_array(),
            id: c.id << bits | last.min(*sample),
            ..*c
        }
    }));
}
