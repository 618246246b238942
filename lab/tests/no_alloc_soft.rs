//! No question about soft meshes allocates once its memory is warm.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use glam::DVec3;
use palpate::field::analytic::Analytic;
use palpate::mesh::samples;
use palpate::soft::{FieldSampler, Method, Sampling, Soft, SoftMesh, SoftParams};
use palpate::{Pose, par};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator; counts what this thread asks of it.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator is")]
// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more.
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(p, layout) }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.realloc(p, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> usize {
    COUNT.with(Cell::get)
}

/// Two knots that wave and go through each other, twice the same way: the second time nothing is allocated, by any method, with pairs of their
/// own, distances and hulls. On one thread: tasks have memory of their own.
#[test]
fn the_second_time_nothing_is_allocated() {
    par::with_threads(1, || {
        let raw = samples::torus_knot(2, 3, 1.0, 0.4, 0.2, 120, 12);
        let rest = raw.positions.clone();
        let mut a = SoftMesh::new(raw.positions, raw.triangles.clone()).unwrap();
        let mut b = SoftMesh::new(rest.clone(), raw.triangles).unwrap();
        let floor = Analytic::half_space(DVec3::Z, 0.0).unwrap();
        let (mut soft, mut sampler) = (Soft::new(), FieldSampler::new());
        let (mut places, mut counts) = (rest.clone(), [0usize; 4]);
        let mut run = |counts: &mut [usize; 4]| {
            for i in 0..60 {
                let time = 0.1 * f64::from(i);
                let wave = |p: DVec3| p + 0.05 * DVec3::new((3.0 * p.y + time).sin(), (3.0 * p.z).cos(), 0.0);
                a.deform(|v, _| wave(rest[v]));
                let apart = DVec3::new(4.6 - time, 0.2, 0.1);
                places.iter_mut().zip(&rest).for_each(|(to, p)| *to = wave(*p) + apart);
                b.set_positions(&places).unwrap();
                b.set_enabled(i % 50, i % 3 == 0).unwrap();
                for method in [Method::Auto, Method::Cut, Method::Refit] {
                    let params = SoftParams { method, ..Default::default() };
                    counts[0] += soft.pairs(&a, &b, &params).list.len();
                    counts[1] += soft.own_pairs(&a, &params).list.len();
                }
                counts[2] += usize::from(soft.distance(&a, &b).is_some_and(|d| d.distance > 0.0));
                let sampling = if i % 2 == 0 { Sampling::Vertices } else { Sampling::Area { spacing: 0.05 } };
                let found = sampler.find(&floor, &b, &Pose::IDENTITY, sampling, 0.01).unwrap();
                counts[3] += found.contacts.list.len();
            }
        };
        run(&mut counts);
        let before = allocations();
        run(&mut counts);
        let after = allocations();
        println!("{} allocations; {counts:?}", after - before);
        assert_eq!(after, before);
        assert!(counts[0] > 1000 && counts[2] > 10 && counts[3] > 1000, "{counts:?}");
    });
}
