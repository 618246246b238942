//! Referee 1: a plain loop over one point in f64, trusted to f32 rounding of coordinates and values. Referee 2: the same
//! kernel without SIMD, whose bits must be the same. Values at nodes are random, so that a wrong node shows.

use super::*;
use crate::field::brick::NODES;
use glam::{DVec3, IVec3};

const VOXEL: f32 = 0.25;
const CELLS: [i32; 3] = [5, 4, 3];
const SEED: u64 = 0x5eed_0017;

struct Random(u64);

impl Random {
    /// In [0, 1).
    fn unit(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }
}

/// A field of random values: directory, then nodes in 16-bit steps. About half of the cells have a brick.
fn table() -> (Vec<i32>, Vec<i16>) {
    let mut random = Random(SEED);
    let corners = CELLS.map(|c| c as usize + 1).iter().product::<usize>();
    let mut bricks = 0;
    let directory: Vec<i32> = (0..CELLS.iter().product::<i32>())
        .map(|_| {
            let coarse = random.unit() < 0.5;
            bricks += usize::from(!coarse);
            if coarse { -1 } else { (corners + (bricks - 1) * NODES) as i32 }
        })
        .collect();
    assert!((20..40).contains(&bricks), "{bricks} of 60 cells have a brick");
    (directory, (0..corners + bricks * NODES).map(|_| (random.unit() * 2000.0 - 1000.0) as i16).collect())
}

fn view<'a, T>(directory: &'a [i32], values: &'a [T], scale: f32) -> View<'a, T> {
    View::of(VOXEL, CELLS, directory, values, [scale; 2])
}

/// The size of the box [m].
fn size() -> Vec3 {
    IVec3::from_array(CELLS).as_vec3() * BRICK as f32 * VOXEL
}

/// Points by name: in no order, in grid order along each axis, in one cell, at and around the border, not finite.
fn sets() -> Vec<(&'static str, Vec<Vec3>)> {
    let mut random = Random(SEED ^ 1);
    let mut inside =
        |low: Vec3, high: Vec3| low + (high - low) * Vec3::new(random.unit(), random.unit(), random.unit());
    let scattered: Vec<Vec3> = (0..3000).map(|_| inside(Vec3::ZERO, size())).collect();
    let mut sets = vec![("scattered", scattered.clone())];
    sets.push(("around", (0..3000).map(|_| inside(-size(), 2.0 * size())).collect()));
    sets.push(("one cell", (0..200).map(|_| inside(Vec3::splat(2.0), Vec3::splat(3.999))).collect()));
    for (axis, name) in ["x fastest", "y fastest", "z fastest"].into_iter().enumerate() {
        let grid = (0..29 * 23 * 17).map(|i| {
            let u = [(i % 29) as f32 / 28.0, (i / 29 % 23) as f32 / 22.0, (i / 29 / 23) as f32 / 16.0];
            Vec3::new(u[(3 - axis) % 3], u[(4 - axis) % 3], u[(5 - axis) % 3]) * size()
        });
        sets.push((name, grid.collect()));
    }
    // Coordinates where something changes, and their neighbours, in all combinations.
    let of = |axis: usize| {
        let end = size()[axis];
        [
            0.0,
            -0.0,
            f32::MIN_POSITIVE,
            2.0,
            2.0 - 1e-6,
            1.75,
            end,
            end.next_down(),
            end.next_up(),
            -1e-3,
            end + 0.5,
        ]
    };
    let [x, y, z] = [of(0), of(1), of(2)];
    let n = x.len();
    sets.push(("border", (0..n * n * n).map(|i| Vec3::new(x[i % n], y[i / n % n], z[i / n / n])).collect()));
    let mut bad = scattered[..400].to_vec();
    for (i, p) in bad.iter_mut().enumerate().step_by(3) {
        p[i % 7 % 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38, -1e38][i % 5];
    }
    sets.push(("not finite", bad));
    sets
}

/// The distance at `p`, written the plain way.
fn expected(directory: &[i32], values: &[f32], p: Vec3) -> f64 {
    let u = p.as_dvec3() / f64::from(VOXEL);
    let q = u.clamp(DVec3::ZERO, IVec3::from_array(CELLS).as_dvec3() * 8.0);
    let cell = (q / 8.0).floor().as_ivec3().min(IVec3::from_array(CELLS) - 1);
    let entry = directory[((cell.z * CELLS[1] + cell.y) * CELLS[0] + cell.x) as usize];
    let local = q - cell.as_dvec3() * 8.0;
    let (node, base, side, spacing) = if entry < 0 {
        (cell, 0, [CELLS[0] + 1, CELLS[1] + 1], 8.0)
    } else {
        (local.floor().as_ivec3().min(IVec3::splat(7)), entry, [9, 9], 1.0)
    };
    let f = if entry < 0 { local / spacing } else { local - node.as_dvec3() };
    let mut d = 0.0;
    for o in 0..8 {
        let o = IVec3::new(o & 1, o >> 1 & 1, o >> 2);
        let at = node + o;
        let value = values[(base + (at.z * side[1] + at.y) * side[0] + at.x) as usize];
        let weight = DVec3::select(o.cmpeq(IVec3::ONE), f, 1.0 - f);
        d += weight.element_product() * f64::from(value);
    }
    let away = (u - q).length() * f64::from(VOXEL);
    if away > 0.0 { (away * away + d * d).sqrt() } else { d }
}

/// Runs both kernels and checks that they agree; of two NaNs the payload may differ.
fn both(run: impl Fn(bool, &[Vec3], &mut [f32]), points: &[Vec3], name: &str) -> Vec<f32> {
    let (mut wide, mut plain) = (vec![7.0; points.len()], vec![8.0; points.len()]);
    run(true, points, &mut wide);
    run(false, points, &mut plain);
    for (i, (a, b)) in wide.iter().zip(&plain).enumerate() {
        assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{name}: {a} {b} at {}", points[i]);
    }
    wide
}

#[test]
fn all_orders_borders_and_encodings_give_the_plain_result() {
    println!("seed {SEED:#x}");
    let (directory, stored) = table();
    let scale = 1.0 / 1024.0;
    let metres: Vec<f32> = stored.iter().map(|v| f32::from(*v) * scale).collect();
    let (floats, scaleds) = (view(&directory, &metres, 1.0), view(&directory, &stored, scale));
    for (name, points) in sets() {
        let d =
            both(|w, p, o| if w { float(&floats, p, o) } else { float_plain(&floats, p, o) }, &points, name);
        let e = both(
            |w, p, o| if w { scaled(&scaleds, p, o) } else { scaled_plain(&scaleds, p, o) },
            &points,
            name,
        );
        for (i, p) in points.iter().enumerate() {
            if !p.is_finite() {
                // Infinitely far is far; what is not a number stays so.
                assert_eq!(d[i].is_nan(), p.is_nan(), "{name} at {p}: {}", d[i]);
                continue;
            }
            // The step is a power of two, so that both encodings hold the same values.
            let near = (d[i] - e[i]).abs() <= 1e-6 * (1.0 + d[i].abs()) || p.length() > 1e10;
            assert!(near, "{name} at {p}: {} and {}", d[i], e[i]);
            // Values of ±1 m change by up to 2 m a voxel: an ulp of 32 voxels is 4e-6 of one. A point within that of a cell's
            // face may be read from either side, and random values jump there.
            let u = *p / (8.0 * VOXEL);
            let at_face = (u - u.round()).abs().min_element() < 1e-5 && name != "border";
            let want = expected(&directory, &metres, *p);
            let limit = 1e-4 + 1e-6 * want.abs();
            let same = (f64::from(d[i]) - want).abs() <= limit || p.length() > 1e10;
            assert!(same || at_face, "{name} at {p}: {} is not {want}", d[i]);
        }
    }
}

#[test]
fn a_point_does_not_depend_on_its_neighbours() {
    let (directory, stored) = table();
    let view = view(&directory, &stored, 0.5);
    for (name, points) in sets() {
        let mut all = vec![0.0; points.len()];
        scaled(&view, &points, &mut all);
        let bits = |d: f32| if d.is_nan() { u32::MAX } else { d.to_bits() };
        // Every length up to more than two groups, from places that are no multiple of eight.
        for n in 0..150.min(points.len() / 2) {
            let mut some = vec![7.0; n];
            scaled(&view, &points[n..2 * n], &mut some);
            let same = some.iter().zip(&all[n..]).all(|(a, b)| bits(*a) == bits(*b));
            assert!(same, "{name}: {n} points alone");
        }
    }
}

#[test]
fn slices_of_unequal_length_give_the_common_part() {
    let (directory, stored) = table();
    let view = view(&directory, &stored, 0.5);
    let (_, points) = &sets()[0];
    let mut all = vec![0.0; 100];
    scaled(&view, &points[..100], &mut all);
    for (n, m) in [(100, 83), (83, 100), (9, 15), (15, 9), (0, 8), (8, 0)] {
        let mut out = vec![7.0; m];
        scaled(&view, &points[..n], &mut out);
        let (common, rest) = out.split_at(n.min(m));
        assert_eq!(common, &all[..n.min(m)]);
        assert!(rest.iter().all(|d| *d == 7.0), "{n} points, {m} results");
    }
}

/// No file may hold such tables, but reading them must be safe and the same for both kernels.
#[test]
fn tables_that_cannot_be_are_read_safely() {
    let (mut directory, stored) = table();
    let metres: Vec<f32> = stored.iter().map(|v| f32::from(*v)).collect();
    let n = stored.len() as i32;
    let entries = [i32::MAX, i32::MIN, n, n - 1, n - 2, n - NODES as i32 + 1, -7, 0, i32::MAX - 91];
    for (i, entry) in directory.iter_mut().enumerate().skip(1) {
        *entry = if i % 2 == 0 { *entry } else { entries[i / 2 % entries.len()] };
    }
    for (name, points) in sets() {
        for (cells, nodes) in
            [(60, stored.len()), (31, stored.len()), (60, 100), (60, 2), (1, 1), (0, 500), (60, 0)]
        {
            let floats = view(&directory[..cells], &metres[..nodes], 1.0);
            let d = both(
                |w, p, o| if w { float(&floats, p, o) } else { float_plain(&floats, p, o) },
                &points,
                name,
            );
            assert!(
                cells > 0 && nodes > 1 || d.iter().all(|d| d.is_nan()),
                "{name}: {cells} cells, {nodes} nodes"
            );
            let scaleds = view(&directory[..cells], &stored[..nodes], 1.0);
            both(
                |w, p, o| if w { scaled(&scaleds, p, o) } else { scaled_plain(&scaleds, p, o) },
                &points,
                name,
            );
        }
    }
}
