//! Pages and pictures of a motion in closed form.

use super::*;
use crate::player::PageParams;
use crate::strip::StripParams;

/// Two squares of two triangles each that pass each other; in the second half one triangle is switched off.
pub(crate) fn squares(frames: usize) -> Deforming {
    let square = |x: f32, z: f32| {
        [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[u, v]| Vec3::new(x + u, v, z)).to_vec()
    };
    let mesh = |name: &str, colour| DeformingMesh {
        name: name.into(),
        colour,
        vertices: 4,
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    };
    let frame = |i: usize| {
        let share = i as f32 / frames.max(2) as f32;
        let hits: Vec<u32> = if share > 0.4 { vec![1] } else { Vec::new() };
        let switched = if i == frames / 2 { vec![0] } else { Vec::new() };
        let a = DeformingState {
            positions: square(0.0, 0.0),
            hits: hits.clone(),
            switched,
            ..DeformingState::default()
        };
        let b = DeformingState {
            positions: square(2.0 - 2.0 * share, 0.1),
            hits: hits.clone(),
            ..DeformingState::default()
        };
        DeformingFrame {
            step: i as u32,
            time: i as f64 / 60.0,
            states: vec![a, b],
            pairs: hits.len() as u32,
            segments: hits.iter().map(|_| [Vec3::ZERO, Vec3::ONE]).collect(),
            marks: hits.iter().map(|_| Mark { point: DVec3::X, normal: DVec3::Z, depth: 0.01 }).collect(),
        }
    };
    let frames: Vec<_> = (0..frames).map(frame).collect();
    let values = frames.iter().map(|f| f64::from(f.pairs)).collect();
    Deforming {
        title: "Squares".into(),
        command: "test".into(),
        up: DVec3::Z,
        meshes: vec![mesh("one", [86, 140, 214]), mesh("other", [98, 178, 116])],
        frames,
        curves: vec![Curve { name: "Pairs".into(), unit: Unit::Count, values }],
    }
}

#[test]
fn a_page_is_whole_loads_nothing_and_escapes_names() {
    let mut motion = squares(20);
    motion.meshes[0].name = "</script><b>".into();
    let params = PageParams { rows: vec![("a".into(), "<1>".into())], warnings: vec!["w < 1".into()] };
    let html = page(&motion, &params).unwrap();
    assert!(!html.contains("</script><b>") && html.contains("\\u003c/script\\u003e"));
    assert!(html.contains("&lt;1&gt;") && html.contains("w &lt; 1"));
    assert_eq!(html.matches("<script").count(), 3);
    assert_eq!(html.matches("</script>").count(), 3);
    assert!(!html.contains("http://") && !html.contains("https://") && html.contains("default-src 'none'"));
    motion.frames.clear();
    motion.curves.clear();
    assert!(page(&motion, &params).unwrap().contains("no WebGL2"));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let sound = squares(6);
    sound.check().unwrap();
    let refused = |change: &dyn Fn(&mut Deforming), word: &str| {
        let mut motion = sound.clone();
        change(&mut motion);
        let told = page(&motion, &PageParams::default()).unwrap_err().to_string();
        assert!(told.contains(word), "{word}: {told}");
    };
    refused(&|m| m.up = DVec3::ZERO, "up");
    refused(&|m| m.meshes[0].triangles[1][2] = 4, "triangle 1 of mesh 0");
    refused(&|m| m.frames[2].time = f64::NAN, "frame 2");
    refused(&|m| m.frames[2].time = 0.0, "frame 2");
    refused(&|m| drop(m.frames[3].states.pop()), "1 states for 2 meshes");
    refused(&|m| m.frames[3].states[1].positions.truncate(3), "3 places for 4 vertices");
    refused(&|m| m.frames[1].states[0].positions[2].y = f32::INFINITY, "vertex 2 of mesh 0");
    refused(&|m| m.frames[1].states[0].hits.push(2), "names triangle 2");
    refused(&|m| m.frames[1].states[0].switched.push(7), "names triangle 7");
    refused(&|m| m.frames[5].segments[0][1].x = f32::NAN, "frame 5");
    refused(&|m| m.frames[5].marks[0].depth = f64::NAN, "frame 5");
    refused(&|m| m.curves[0].values.truncate(2), "Pairs");
}

#[test]
fn pictures_show_what_meets_and_what_is_off() {
    let motion = squares(20);
    let shown = |image: &crate::Image, wanted: fn(&[u8]) -> bool| {
        image.rgba().chunks(4).filter(|p| wanted(p)).count()
    };
    let red = |p: &[u8]| i32::from(p[0]) > i32::from(p[2]) + 60 && i32::from(p[0]) > i32::from(p[1]) + 60;
    let blue = |p: &[u8]| i32::from(p[2]) > i32::from(p[0]) + 40;
    let of = |i: usize| picture(&motion, i, 160, 120);
    assert_eq!(shown(&of(0), red), 0);
    assert!(shown(&of(0), blue) > 200);
    assert!(shown(&of(19), red) > 200, "the triangles that meet");
    // Of the first square the other triangle is off by then, and the one that meets is red.
    assert_eq!(shown(&of(19), blue), 0);
    let params = StripParams { count: 5, width: 90, height: 70, contacts: true };
    let strip = film_strip(&motion, &params);
    assert_eq!((strip.width(), strip.height()), (4 * 92 + 2, 2 * 72 + 2));
    let _ = film_strip(&Deforming { frames: Vec::new(), ..motion }, &params);
}

#[test]
fn segments_that_a_page_leaves_out_are_counted() {
    let mut motion = squares(10);
    assert_eq!(motion.segments_left_out(), 0);
    motion.frames[3].segments = vec![[Vec3::ZERO, Vec3::X]; 60_010];
    assert_eq!(motion.segments_left_out(), 10);
    page(&motion, &PageParams::default()).unwrap();
}

#[test]
fn pages_of_fine_meshes_have_fewer_frames() {
    for (steps, vertices, wanted) in
        [(120, 13_000, 1), (240, 12_000, 1), (1, 5, 1), (0, 0, 1), (1000, 35_000, 11)]
    {
        assert_eq!(every(steps, vertices), wanted, "{steps} {vertices}");
    }
    for (steps, vertices) in [(1000, 35_000), (777, 100_000), (50, 10_000_000), (100_000, 3)] {
        let by = every(steps, vertices);
        let frames = (steps - 1) / by + 1 + usize::from((steps - 1) % by != 0);
        assert!(frames * vertices <= MAX_PLACES || frames == 2, "{steps} {vertices} {by} {frames}");
    }
}

/// A vertex on a page is where it was, to half of a step of 16 bits along each axis of the box of the motion.
#[test]
fn vertices_on_a_page_are_where_they_were() {
    let motion = squares(9);
    let mut blob = crate::stage::Blob::default();
    let meta = page::meta(&motion, &mut blob);
    let number = |name: &str| -> usize {
        let rest = &meta[meta.find(&format!("\"{name}\":")).unwrap() + name.len() + 3..];
        rest.split([',', '}']).next().unwrap().parse().unwrap()
    };
    let at = number("moving");
    // From 0 to 3 along x, to 1 along y, to 0.1 along z.
    let size = [3.0, 1.0, 0.1];
    let read = |i: usize| f64::from(u16::from_le_bytes([blob.0[at + 2 * i], blob.0[at + 2 * i + 1]]));
    let places = motion.frames.iter().flat_map(|f| &f.states[0].positions);
    let mut off: f64 = 0.0;
    for (v, p) in places.enumerate() {
        for k in 0..3 {
            off = off.max((read(3 * v + k) / 65535.0 * size[k] - f64::from(p[k])).abs() / size[k]);
        }
    }
    assert!(off <= 0.5 / 65535.0 + 1e-7, "{off}");
    assert_eq!(number("frames"), 9);
}
