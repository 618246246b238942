use super::super::surface::closest_point;
use super::*;
use crate::mesh::samples;

/// Numbers from 0 to 1.
pub(crate) fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// All triangles of a mesh with its caps [m].
fn all(mesh: &Mesh) -> Vec<[DVec3; 3]> {
    let closed = mesh.closed();
    let positions = [mesh.positions(), &closed.caps.positions].concat();
    let triangles = if closed.triangles.is_empty() { mesh.triangles() } else { &closed.triangles[..] };
    triangles.iter().map(|t| t.map(|v| positions[v as usize])).collect()
}

/// The same distance as measuring every triangle in f64, at every scale from the surface to a thousand times the size, with
/// good, bad and no guesses; the point is on the triangle named.
#[test]
fn closest_is_what_measuring_every_triangle_finds() {
    for name in ["gear", "cube-missing-face", "torus", "bolt"] {
        let mesh = Mesh::new(samples::by_name(name).expect("a sample"), &Default::default()).unwrap();
        let size = mesh.aabb().extent().max_element();
        let exact = Exact::build(&mesh, size / 100.0, &FieldParams::default()).unwrap();
        let all = all(&mesh);
        assert_eq!(exact.triangle_count(), all.len());
        let mut random = random(3);
        let (mut near, mut far, mut last) = (0, 0, 0);
        for n in 0..1500 {
            let spread = size * 10f64.powf(-3.0 + 6.0 * random());
            let t = all[(random() * all.len() as f64) as usize];
            let from = (t[0] + t[1] + t[2]) / 3.0;
            let p = from + (DVec3::new(random(), random(), random()) - 0.5) * spread;
            let truth =
                all.iter().map(|t| (closest_point(*t, p).0 - p).length()).fold(f64::INFINITY, f64::min);
            let guess = match n % 3 {
                0 => None,
                1 => Some(last),
                _ => Some((random() * 1.1 * all.len() as f64) as u32),
            };
            let c = exact.closest(p, guess);
            assert!(
                (c.distance - truth).abs() <= 1e-12 * (truth + size),
                "{name} at {p}: {} instead of {truth}",
                c.distance
            );
            assert!(((c.point - p).length() - c.distance).abs() <= 1e-12 * (truth + size));
            let on = closest_point(all[c.triangle as usize], c.point).0;
            assert!((on - c.point).length() < 1e-12 * size);
            assert_eq!(exact.closest_within(p, truth * 0.999), None);
            let within = exact.closest_within(p, truth * 1.001 + 1e-9 * size);
            assert_eq!(within.map(|w| w.distance), Some(c.distance));
            near += usize::from(truth < 0.01 * size);
            far += usize::from(truth > 100.0 * size);
            last = c.triangle;
        }
        assert!(near > 200 && far > 100, "{name}: {near} near, {far} far");
    }
}

/// The same for a real scan, with its slivers, where the model is at hand.
#[test]
fn closest_is_exact_on_a_scan() {
    let Some(folder) = std::env::var_os("PALPATE_MODELS") else { return };
    let mesh = Mesh::load(std::path::Path::new(&folder).join("bunny.obj"), 1.0).unwrap();
    let size = mesh.aabb().extent().max_element();
    let exact = Exact::build(&mesh, size / 250.0, &FieldParams::default()).unwrap();
    let all = all(&mesh);
    let mut random = random(5);
    for _ in 0..400 {
        let spread = size * 10f64.powf(-3.0 + 5.0 * random());
        let t = all[(random() * all.len() as f64) as usize];
        let p = t[0] + (DVec3::new(random(), random(), random()) - 0.5) * spread;
        let truth = all.iter().map(|t| (closest_point(*t, p).0 - p).length()).fold(f64::INFINITY, f64::min);
        let d = exact.closest(p, None).distance;
        assert!((d - truth).abs() <= 1e-12 * (truth + size), "at {p}: {d} instead of {truth}");
    }
}

/// Any finite point has an answer, and any other none.
#[test]
fn closest_knows_no_bad_point() {
    let mesh = Mesh::new(samples::by_name("gear").expect("a sample"), &Default::default()).unwrap();
    let size = mesh.aabb().extent().max_element();
    let exact = Exact::build(&mesh, size / 60.0, &FieldParams::default()).unwrap();
    let way = DVec3::new(0.36, 0.48, 0.8);
    for power in [1, 5, 20, 100, 300] {
        let far = 10f64.powi(power);
        let c = exact.closest(way * far, None);
        assert!((c.distance / far - 1.0).abs() < 1.0 / far + 1e-9, "{c:?}");
        assert!(mesh.aabb().grow(c.point) == mesh.aabb() || (c.point - mesh.aabb().centre()).length() < size);
    }
    for bad in [DVec3::NAN, DVec3::INFINITY, DVec3::new(0.0, f64::NEG_INFINITY, 0.0)] {
        assert!(exact.closest(bad, Some(1)).distance.is_nan());
        assert_eq!(exact.closest_within(bad, 1.0), None);
    }
    assert_eq!(exact.closest_within(DVec3::ZERO, f64::NAN), None);
    assert_eq!(exact.closest_within(DVec3::ZERO, -1.0), None);
}
