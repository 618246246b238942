//! Contact, distance and force between 3D shapes of any complexity.
//!
//! Units are SI, frames right-handed, `distance` is signed and negative inside; in a pair A is the first shape, B the second, and a
//! pose is `a_from_b`. See CONVENTIONS.md in the repository.
//!
//! # Two gears
//!
//! A part is built once, a [`Shape`]; then it is asked, in any pose, about any other. Building may fail, asking does not.
//!
//! ```
//! use glam::DVec3;
//! use palpate::force::{self, ForceParams};
//! use palpate::mesh::{RepairParams, samples};
//! use palpate::query::QueryParams;
//! use palpate::{Mesh, Pose, Query, Shape};
//!
//! // A gear that the crate makes itself; `Mesh::load("gear.stl", 1e-3)` reads a file in millimetres.
//! let gear = samples::by_name("gear").ok_or("no such sample")?;
//! let mesh = Mesh::new(gear, &RepairParams::default())?;
//! assert!(mesh.report().watertight);
//! let gear = Shape::build(mesh, 1e-3, &Default::default())?; // voxels of 1 mm
//!
//! let mut query = Query::new(); // the memory of one pair, reused from step to step
//! let apart = Pose::from_translation(DVec3::X * 0.08);
//! assert!(query.distance(&gear, &gear, &apart).distance > 0.01); // [m]
//!
//! // Pressed into each other: where they touch, and the force that pushes B, the second, away along x.
//! let a_from_b = Pose::from_translation(DVec3::X * 0.058);
//! let contacts = query.contacts(&gear, &gear, &a_from_b, &QueryParams::default());
//! assert!(contacts.list.iter().all(|c| c.distance <= 0.0));
//! let stiffness = 1e9; // [N/m³]
//! let push = force::penalty(contacts, &ForceParams::new(stiffness), &a_from_b, None, None);
//! assert!(push.used > 0 && push.wrench.force.x > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # I want … → call …
//!
//! | I want | call |
//! |---|---|
//! | a mesh from a file, repaired, and what was wrong with it | [`Mesh::load`], [`Mesh::report`] |
//! | a shape to ask about | [`Shape::build`]; kept in a file: [`Shape::cached`], [`Shape::open`] |
//! | the same shape larger | [`Shape::scaled`] |
//! | an open terrain as a solid | [`mesh::thicken`] |
//! | how far a point is from a surface, and which way out | [`Field::sample`], exactly [`field::Exact`], [`Shape::triangles`] |
//! | whether two shapes meet | [`Query::intersects`] |
//! | how far apart they are, and where | [`Query::distance`] |
//! | every contact, or a few of them | [`Query::contacts`], [`Query::segmented`], [`reduce`] |
//! | as many contacts as fit a time | [`Query::budget`] |
//! | the shortest way out of an overlap | [`Query::penetration`] |
//! | when a moving shape hits | [`Query::time_of_impact`] |
//! | the same for many poses, on all cores | [`query::contacts_batch`], [`query::distance_batch`], [`query::intersects_batch`] |
//! | a force with friction for haptics or control, and its derivative | [`force::penalty`], [`force::derivative`] |
//! | contacts for a physics engine, the same from step to step | [`manifold::Pair::update`] |
//! | bodies that fall and lie, without an engine | [`World::step`] |
//! | which triangles of two deforming meshes meet, and how far apart they are | [`soft::Soft::pairs`], [`soft::Soft::distance`] |
//! | the nearest point of a scan, points that come and go | [`Cloud::nearest`], [`Cloud::insert`] |
//! | to feel a scan with a probe | [`cloud::Proxy::step`] |
//! | a scan against a part, or as a solid | [`cloud::Surfels`], [`Query::contacts_of_points`], [`cloud::close`] |
//! | when two moving triangles first touch | [`soft::vertex_face`], [`soft::edge_edge`] |
//! | spheres, boxes, half-spaces and hulls by formula | [`field::analytic::Analytic`] |
//! | voxels, or triangles at a distance from a surface | [`Voxmap`], [`field::iso::iso_surface`] |
//!
//! # Stages
//!
//! Data flows one way; a stage reads earlier ones and never later ones.
//!
//! | stage | makes | of |
//! |---|---|---|
//! | [`math`], [`par`], [`progress`] | boxes, poses, wrenches; loops; what a build tells | |
//! | [`mesh`] | [`Mesh`]: triangles that keep their promises, and a report | a file, arrays, [`mesh::samples`] |
//! | [`voxmap`] | [`Voxmap`]: surface, inside and layers | a mesh |
//! | [`field`] | [`Field`]: signed distance with bounds on its error; solids by formula | a mesh |
//! | [`shell`] | [`Shell`]: points spread evenly over the surface | a mesh and a field |
//! | [`tree`] | [`Tree`]: clusters of clusters of points | a shell |
//! | [`contact`], [`reduce`] | [`Contact`]; few of many | |
//! | [`shape`] | [`Shape`]: mesh, field and tree together | the above |
//! | [`query`] | answers of [`Query`] about two shapes in a pose | two shapes |
//! | [`manifold`] | manifolds that stay the same from step to step | two shapes, or a shape and a solid |
//! | [`force`] | [`Wrench`]: penalty and friction | contacts |
//! | [`world`] | [`World`]: rigid bodies that meet | shapes and solids |
//! | [`soft`] | pairs of triangles, contacts, distances | meshes that deform |
//! | [`cloud`] | [`Cloud`]: nearest points, boxes, proxies, forces | points |
//! | [`asset`] | [`Asset`]: `.palp` files | any of mesh, field and points |

pub mod asset;
pub mod cloud;
pub mod contact;
pub mod field;
pub mod force;
pub mod manifold;
pub mod math;
pub mod mesh;
pub mod par;
pub mod progress;
pub mod query;
pub mod reduce;
pub mod shape;
pub mod shell;
mod simd;
pub mod soft;
mod store;
pub mod tree;
pub mod voxmap;
pub mod world;

pub use asset::Asset;
pub use cloud::Cloud;
pub use contact::{Contact, Contacts};
pub use field::Field;
pub use math::{Pose, Wrench};
pub use mesh::Mesh;
pub use query::Query;
pub use shape::Shape;
pub use shell::Shell;
pub use tree::Tree;
pub use voxmap::Voxmap;
pub use world::World;
