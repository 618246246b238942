//! A world whose contacts somebody else finds: the same bits, and nothing moves when they are not found.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use glam::{DMat3, DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::mesh::{RawMesh, RepairParams, samples};
use palpate::world::{
    Asked, BodyParams, CpuNarrow, Found, Kind, Mass, Narrow, NarrowError, World, WorldError, WorldParams,
};
use palpate::{Mesh, Pose, Shape};

fn shape(mesh: RawMesh, voxel: f64) -> Shape {
    Shape::build(Mesh::new(mesh, &RepairParams::default()).unwrap(), voxel, &Default::default()).unwrap()
}

/// Contacts of the CPU, until it is told to fail.
struct Failing(CpuNarrow, usize);

impl Narrow for Failing {
    fn find(&mut self, ahead: f64, asked: &[Asked<'_>], found: &mut [Found]) -> Result<(), NarrowError> {
        self.1 -= 1;
        if self.1 == 0 {
            return Err("the device was lost".into());
        }
        self.0.find(ahead, asked, found)
    }
}

/// A heap of bricks and a ball on a plane, thrown at each other.
fn heap(both: bool) -> World {
    let brick = shape(samples::cuboid(DVec3::new(0.03, 0.06, 0.12)), 5e-3);
    let ball = shape(samples::sphere(0.02, 4), 2e-3);
    let mut world = World::new(&WorldParams { both, ..Default::default() }).unwrap();
    world
        .add(
            Analytic::half_space(DVec3::Z, 0.0).unwrap(),
            &BodyParams { kind: Kind::Static, ..Default::default() },
        )
        .unwrap();
    for i in 0..6 {
        let turn = DQuat::from_rotation_x(0.7 * f64::from(i));
        let place = Pose::new(turn, DVec3::new(0.01 * f64::from(i % 2), 0.0, 0.05 + 0.07 * f64::from(i)));
        let angular = DVec3::new(1.0, 2.0, -3.0);
        let shape = if i % 3 == 2 { &ball } else { &brick };
        world.add(shape.clone(), &BodyParams { angular, w_from_b: place, ..Default::default() }).unwrap();
    }
    let solid = Analytic::sphere(DVec3::ZERO, 0.02).unwrap();
    let high = Pose::from_translation(DVec3::new(0.0, 0.01, 0.5));
    let mass = Mass::Given { mass: 0.1, centre: DVec3::ZERO, inertia: DMat3::IDENTITY * 2e-5 };
    world.add(solid, &BodyParams { mass, w_from_b: high, ..Default::default() }).unwrap();
    world
}

#[test]
fn contacts_that_somebody_else_finds_give_the_same_bits() {
    for both in [false, true] {
        let (mut own, mut other, mut narrow) = (heap(both), heap(both), CpuNarrow::default());
        let (mut most, mut parts) = (0, 0);
        for _ in 0..90 {
            let a = own.step(1.0 / 60.0).unwrap();
            assert_eq!(a, other.step_with(1.0 / 60.0, &mut narrow).unwrap());
            (most, parts) = (most.max(a.contacts), parts.max(a.substeps));
            for ((_, a), (_, b)) in own.bodies().zip(other.bodies()) {
                assert_eq!(a.state(), b.state());
            }
            for (a, b) in own.touches().zip(other.touches()) {
                assert_eq!((a.a, a.b, a.wrench), (b.a, b.b, b.wrench));
                assert_eq!(a.contacts[0].list, b.contacts[0].list);
            }
        }
        println!("both {both}: up to {most} contacts, {parts} parts");
        assert!(most > 50 && parts > 1);
    }
}

#[test]
fn nothing_moves_when_contacts_are_not_found() {
    let mut world = heap(true);
    for _ in 0..10 {
        world.step(1.0 / 60.0).unwrap();
    }
    let before: Vec<_> = world.bodies().map(|(_, b)| *b.state()).collect();
    // At once, and after parts of the step went well.
    for calls in [1, 3] {
        let told = world.step_with(1.0 / 60.0, &mut Failing(CpuNarrow::default(), calls));
        assert!(matches!(told, Err(WorldError::Narrow(text)) if text.contains("lost")), "{calls}");
        let after: Vec<_> = world.bodies().map(|(_, b)| *b.state()).collect();
        assert_eq!(before, after);
    }
    assert!(world.step(1.0 / 60.0).unwrap().substeps > 2);
}
