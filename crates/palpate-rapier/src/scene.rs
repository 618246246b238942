//! Worlds in files, with shapes by reference to `.palp` files.
//!
//! Rapier can write neither shapes that are not its own nor what belongs to their contacts. [`save`] writes the whole world, but for
//! each collider of palpate the file it comes from; [`load`] opens those files again. The solver goes on from its last impulses.

use crate::dispatcher::PalpateDispatcher;
use crate::error::SceneError;
use crate::parts::{holds_ours, ours};
use crate::shape::{ContactOptions, PalpateShape};
use palpate::manifold::Choice;
use parry3d::shape::{SharedShape, TypedShape};
use rapier3d::dynamics::{
    ImpulseJointSet, IntegrationParameters, IslandManager, MultibodyJointSet, RigidBodySet, SoftBodySet,
};
use rapier3d::geometry::{BroadPhaseBvh, ColliderHandle, ColliderSet, NarrowPhase};
use rapier3d::math::Vector;
use rapier3d::prelude::PhysicsWorld;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The version of the format.
const VERSION: u32 = 1;

/// What is written, borrowed from a world.
#[derive(Serialize)]
struct Out<'a> {
    version: u32,
    palpate: Vec<Reference>,
    gravity: Vector,
    parameters: &'a IntegrationParameters,
    islands: &'a IslandManager,
    broad_phase: &'a BroadPhaseBvh,
    narrow_phase: &'a NarrowPhase,
    bodies: &'a RigidBodySet,
    colliders: ColliderSet,
    impulse_joints: &'a ImpulseJointSet,
    multibody_joints: &'a MultibodyJointSet,
    soft_bodies: &'a SoftBodySet,
}

#[derive(Deserialize)]
struct In {
    palpate: Vec<Reference>,
    gravity: Vector,
    parameters: IntegrationParameters,
    islands: IslandManager,
    broad_phase: BroadPhaseBvh,
    narrow_phase: NarrowPhase,
    bodies: RigidBodySet,
    colliders: ColliderSet,
    impulse_joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    soft_bodies: SoftBodySet,
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

/// The shape of a collider.
#[derive(Serialize, Deserialize)]
struct Reference {
    collider: ColliderHandle,
    file: PathBuf,
    scale: f64,
    choice: Chosen,
    both: bool,
    budget: usize,
    spread: Option<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Chosen {
    Regular,
    Segmented(usize),
    Patches(usize),
}

impl Reference {
    fn new(collider: ColliderHandle, shape: &PalpateShape, folder: &Path) -> Option<Self> {
        let (file, scale) = shape.file()?;
        let ContactOptions { choice, both, budget, spread } = shape.options();
        let choice = match choice {
            Choice::Regular => Chosen::Regular,
            Choice::Segmented(level) => Chosen::Segmented(level),
            Choice::Patches(most) => Chosen::Patches(most),
        };
        let file = file.strip_prefix(folder).unwrap_or(file).to_owned();
        Some(Self { collider, file, scale, choice, both, budget, spread })
    }

    fn options(&self) -> ContactOptions {
        let choice = match self.choice {
            Chosen::Regular => Choice::Regular,
            Chosen::Segmented(level) => Choice::Segmented(level),
            Chosen::Patches(most) => Choice::Patches(most),
        };
        ContactOptions { choice, both: self.both, budget: self.budget, spread: self.spread }
    }
}

/// The world as text. Paths of `.palp` files below `folder` are written relative to it.
///
/// Every shape of palpate must come from a file ([`PalpateShape::open`]), and be a collider of its own, not a part of a compound.
pub fn to_json(world: &PhysicsWorld, folder: &Path) -> Result<String, SceneError> {
    let mut colliders = world.colliders.clone();
    let mut palpate = Vec::new();
    for (handle, collider) in world.colliders.iter() {
        let index = handle.into_raw_parts().0;
        if let Some(own) = ours(collider.shape()) {
            let reference = Reference::new(handle, own, folder);
            palpate.push(reference.ok_or(SceneError::NoFile { collider: index })?);
            // Rapier cannot write it: a ball takes its place in the file.
            let radius = collider.shape().compute_local_bounding_sphere().radius;
            if let Some(copy) = colliders.get_mut(handle) {
                copy.set_shape(SharedShape::ball(radius));
            }
        } else if holds_ours(collider.shape()) {
            return Err(SceneError::Unsaved { collider: index, shape: "compound of palpate shapes" });
        } else if let TypedShape::Custom(_) = collider.shape().as_typed_shape() {
            return Err(SceneError::Unsaved { collider: index, shape: "shape of another crate" });
        }
    }
    let out = Out {
        version: VERSION,
        palpate,
        gravity: world.gravity,
        parameters: &world.integration_parameters,
        islands: &world.islands,
        broad_phase: &world.broad_phase,
        narrow_phase: &world.narrow_phase,
        bodies: &world.bodies,
        colliders,
        impulse_joints: &world.impulse_joints,
        multibody_joints: &world.multibody_joints,
        soft_bodies: &world.soft_bodies,
    };
    // Rapier writes the memory of our pairs but does not read it; the next step makes it anew. Quotes within texts are escaped: this
    // is found nowhere else.
    Ok(serde_json::to_string(&out)?.replace("\"workspace\":\"Custom\"", "\"workspace\":null"))
}

/// The world of a text, with contacts by `dispatcher`. Relative paths of `.palp` files start from `folder`. Handles stay the same; a
/// file that several colliders refer to is opened once.
pub fn from_json(
    json: &str,
    folder: &Path,
    dispatcher: &PalpateDispatcher,
) -> Result<PhysicsWorld, SceneError> {
    let Head { version } = serde_json::from_str(json)?;
    if version != VERSION {
        return Err(SceneError::Version { found: version, supported: VERSION });
    }
    let mut read: In = serde_json::from_str(json)?;
    let mut opened: HashMap<PathBuf, PalpateShape> = HashMap::new();
    for reference in &read.palpate {
        let collider = reference.collider.into_raw_parts().0;
        let damaged = |problem: String| SceneError::Damaged { collider, problem };
        let path = folder.join(&reference.file);
        let shape = match opened.get(&path) {
            Some(shape) => shape.clone(),
            None => {
                let palp = |source| SceneError::Palp { collider, source };
                let shape = PalpateShape::open(&path).map_err(palp)?;
                opened.insert(path, shape.clone());
                shape
            }
        };
        let scaled = shape.scaled(reference.scale);
        let shape = scaled.ok_or_else(|| damaged(format!("its scale is {}", reference.scale)))?;
        let target = read.colliders.get_mut(reference.collider);
        let target = target.ok_or_else(|| damaged("the scene has no such collider".to_owned()))?;
        target.set_shape(shape.with_options(reference.options()).into());
    }
    read.narrow_phase.set_query_dispatcher(dispatcher.chained());
    Ok(PhysicsWorld {
        gravity: read.gravity,
        integration_parameters: read.parameters,
        islands: read.islands,
        broad_phase: read.broad_phase,
        narrow_phase: read.narrow_phase,
        bodies: read.bodies,
        colliders: read.colliders,
        impulse_joints: read.impulse_joints,
        multibody_joints: read.multibody_joints,
        soft_bodies: read.soft_bodies,
        ..PhysicsWorld::default()
    })
}

/// Writes a world; see [`to_json`].
pub fn save(world: &PhysicsWorld, file: impl AsRef<Path>) -> Result<(), SceneError> {
    let file = file.as_ref();
    let json = to_json(world, folder(file))?;
    std::fs::write(file, json).map_err(|source| SceneError::File { file: file.to_owned(), source })
}

/// Reads a world; see [`from_json`].
pub fn load(file: impl AsRef<Path>, dispatcher: &PalpateDispatcher) -> Result<PhysicsWorld, SceneError> {
    let file = file.as_ref();
    let json =
        std::fs::read_to_string(file).map_err(|source| SceneError::File { file: file.to_owned(), source })?;
    from_json(&json, folder(file), dispatcher)
}

fn folder(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}
