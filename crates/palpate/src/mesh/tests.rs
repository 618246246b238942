//! What every reader must hold to: what is written comes back, and bad input is an error that says what is wrong.

use super::*;
use std::fmt::Write as _;
use std::path::Path;

/// Faces of a tetrahedron over [`tetra`]'s vertices, counter-clockwise from outside.
pub(super) const TETRA: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];

/// A small closed mesh whose coordinates fit any number type.
pub(super) fn tetra() -> RawMesh {
    RawMesh { positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z * 5.0], triangles: TETRA.to_vec() }
}

/// Asserts that `bytes` are refused with a message that holds every one of `wanted`.
pub(super) fn fails(bytes: &[u8], format: Format, wanted: &[&str]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let error = match RawMesh::from_bytes(bytes, format, 1.0) {
        Err(error) => error.to_string(),
        Ok(mesh) => panic!("{} triangles from {text}", mesh.triangles.len()),
    };
    for w in wanted {
        assert!(error.contains(w), "{error:?} does not say {w:?}; input: {text}");
    }
    assert!(!error.ends_with('.') && !error.contains('\n'), "{error:?}");
}

fn json(buffer: &str, length: usize) -> String {
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[1]}}],
        "nodes":[{{"mesh":0}},{{"children":[0]}}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1,"mode":4}}]}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3"}},
        {{"bufferView":1,"componentType":5123,"count":12,"type":"SCALAR"}}],
        "bufferViews":[{{"buffer":0,"byteLength":48}},{{"buffer":0,"byteOffset":48,"byteLength":24}}],
        "buffers":[{{{buffer}"byteLength":{length}}}]}}"#
    )
}

fn buffer() -> Vec<u8> {
    let mesh = tetra();
    let mut bytes = vec![];
    for p in &mesh.positions {
        p.as_vec3().to_array().iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    }
    mesh.triangles.iter().flatten().for_each(|&v| bytes.extend((v as u16).to_le_bytes()));
    bytes
}

fn glb_of(json: &str, buffer: &[u8]) -> Vec<u8> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut bytes = b"glTF\x02\0\0\0".to_vec();
    bytes.extend((28 + json.len() as u32 + buffer.len() as u32).to_le_bytes());
    for (kind, chunk) in [(b"JSON", &json[..]), (b"BIN\0", buffer)] {
        bytes.extend((chunk.len() as u32).to_le_bytes());
        bytes.extend(kind);
        bytes.extend(chunk);
    }
    bytes
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let v = three.iter().fold(0u32, |v, &b| v << 8 | u32::from(b)) << (8 * (3 - three.len()));
        for k in 0..=three.len() {
            out.push(DIGITS[(v >> (18 - 6 * k)) as usize & 63] as char);
        }
    }
    out.extend(std::iter::repeat_n('=', (3 - bytes.len() % 3) % 3));
    out
}

fn embedded() -> String {
    let uri = format!("\"uri\":\"data:application/octet-stream;base64,{}\",", base64(&buffer()));
    json(&uri, 72)
}

/// The tetrahedron in every format and variant.
fn files() -> Vec<(&'static str, Format, Vec<u8>)> {
    let RawMesh { positions, triangles } = tetra();
    let (mut obj, mut stl, mut ply) = (vec![], vec![], vec![]);
    write_obj(&mut obj, &positions, &triangles).unwrap();
    write_stl(&mut stl, &positions, &triangles).unwrap();
    write_ply(&mut ply, &positions, &triangles).unwrap();
    let (mut text_stl, mut off) = ("solid tetra\n".to_owned(), "OFF\n4 4 6\n".to_owned());
    let mut text_ply = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
        property float z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n"
        .to_owned();
    for p in &positions {
        writeln!(off, "{} {} {}", p.x, p.y, p.z).unwrap();
        writeln!(text_ply, "{} {} {}", p.x, p.y, p.z).unwrap();
    }
    for t in &triangles {
        writeln!(off, "3 {} {} {}", t[0], t[1], t[2]).unwrap();
        writeln!(text_ply, "3 {} {} {}", t[0], t[1], t[2]).unwrap();
        text_stl += "facet normal 0 0 0\nouter loop\n";
        for p in t.map(|v| positions[v as usize]) {
            writeln!(text_stl, "vertex {} {} {}", p.x, p.y, p.z).unwrap();
        }
        text_stl += "endloop\nendfacet\n";
    }
    text_stl += "endsolid\n";
    vec![
        ("obj", Format::Obj, obj),
        ("stl", Format::Stl, stl),
        ("text stl", Format::Stl, text_stl.into_bytes()),
        ("ply", Format::Ply, ply),
        ("text ply", Format::Ply, text_ply.into_bytes()),
        ("off", Format::Off, off.into_bytes()),
        ("glb", Format::Gltf, glb_of(&json("", 72), &buffer())),
        ("gltf", Format::Gltf, embedded().into_bytes()),
    ]
}

/// The corners of each triangle, whichever way vertices are shared.
fn corners(mesh: &RawMesh) -> Vec<[DVec3; 3]> {
    mesh.triangles.iter().map(|t| t.map(|v| mesh.positions[v as usize])).collect()
}

#[test]
fn what_is_written_comes_back_in_the_unit_asked_for() {
    for (name, format, bytes) in files() {
        assert_eq!(Format::detect(&bytes), Some(format), "{name}");
        assert_eq!(corners(&RawMesh::from_bytes(&bytes, format, 1.0).unwrap()), corners(&tetra()), "{name}");
        let small = RawMesh::from_bytes(&bytes, format, unit_scale("mm").unwrap()).unwrap();
        assert_eq!(corners(&small)[1][2], DVec3::Z * 5e-3, "{name}");
        let marked = [b"\xef\xbb\xbf", &bytes[..]].concat();
        assert_eq!(Format::detect(&marked), Some(format), "{name}");
        assert_eq!(corners(&RawMesh::from_bytes(&marked, format, 1.0).unwrap()), corners(&tetra()), "{name}");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = RawMesh::from_bytes(&bytes, format, bad).unwrap_err().to_string();
            assert!(error.contains(&format!("scale is {bad}")), "{error}");
        }
    }
}

#[test]
fn coordinates_keep_every_bit_through_obj_and_ply() {
    let odd = [0.1, -1.0 / 3.0, 1e-300, 6.02e23, f64::MIN_POSITIVE, -0.0, 123_456_789.123_456_79];
    let positions: Vec<DVec3> =
        (0..7).map(|i| DVec3::new(odd[i], odd[(i + 1) % 7], odd[(i + 2) % 7])).collect();
    let mesh = RawMesh { positions, triangles: vec![[0, 1, 2], [3, 4, 5], [6, 0, 1]] };
    let (mut obj, mut ply) = (vec![], vec![]);
    write_obj(&mut obj, &mesh.positions, &mesh.triangles).unwrap();
    write_ply(&mut ply, &mesh.positions, &mesh.triangles).unwrap();
    assert_eq!(RawMesh::from_bytes(&obj, Format::Obj, 1.0).unwrap(), mesh);
    assert_eq!(RawMesh::from_bytes(&ply, Format::Ply, 1.0).unwrap(), mesh);
    let broken = write_stl(&mut vec![], &mesh.positions, &[[0, 1, 7]]).unwrap_err().to_string();
    assert!(broken.contains("vertex 7") && broken.contains("7 vertices"), "{broken}");
}

#[test]
fn a_cut_or_changed_file_never_panics_and_a_mesh_from_it_is_valid() {
    let valid = |mesh: RawMesh| {
        let n = mesh.positions.len();
        assert!(!mesh.triangles.is_empty() && mesh.triangles.iter().flatten().all(|&v| (v as usize) < n));
        assert!(mesh.positions.iter().all(|p| p.is_finite()));
    };
    let mut refused = 0;
    for (name, _, bytes) in files() {
        for format in Format::ALL {
            for end in 0..bytes.len() {
                match RawMesh::from_bytes(&bytes[..end], format, 1.0) {
                    Ok(mesh) => valid(mesh),
                    Err(e) => {
                        refused += 1;
                        assert!(e.to_string().contains(&format.to_string()), "{name}: {e}");
                    }
                }
            }
            let mut changed = bytes.clone();
            for i in 0..bytes.len() {
                for flip in [0x01, 0x08, 0x80, 0xff] {
                    changed[i] ^= flip;
                    let _ = RawMesh::from_bytes(&changed, format, 1.0).map(valid);
                    changed[i] = bytes[i];
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn a_file_cut_in_its_last_element_is_refused() {
    // Text formats without counts (OBJ) cannot know; the others must.
    for (name, format, bytes) in files() {
        if format != Format::Obj {
            let end = bytes.trim_ascii_end().len() - 2;
            assert!(RawMesh::from_bytes(&bytes[..end], format, 1.0).is_err(), "{name}");
        }
    }
}

#[test]
fn empty_and_random_bytes_are_refused() {
    let mut state = 0x1234_5678_9abc_def1_u64;
    let garbage: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    })
    .take(5000)
    .collect();
    assert_eq!((Format::detect(&[]), Format::detect(&garbage)), (None, None));
    for format in Format::ALL {
        fails(&[], format, &["empty", "0 bytes"]);
        fails(&garbage, format, &[]);
        fails(&[b' '; 200], format, &[]);
        fails(&[0; 200], format, &[]);
    }
}

#[test]
fn gltf_errors_name_the_element_and_the_value() {
    for (from, to, wanted) in [
        (r#""version":"2.0""#, r#""version":"1.0""#, &["`1.0`", "glTF 2.0"][..]),
        (r#""asset""#, r#""asse""#, &["asset"]),
        (r#""scene":0"#, r#""scene":4"#, &["scene 4", "1 scenes"]),
        (r#""nodes":[1]"#, r#""nodes":[7]"#, &["node 7", "2 nodes"]),
        (r#"{"mesh":0}"#, r#"{"mesh":3}"#, &["mesh 3", "1 meshes"]),
        (r#"{"mesh":0}"#, r#"{"children":[1]}"#, &["node 1", "twice"]),
        (r#"{"mesh":0}"#, r#"{"mesh":0,"scale":[1e308,1e308,1e308]}"#, &["vertex", "inf"]),
        (r#"{"mesh":0}"#, r#"{}"#, &["0 faces"]),
        (r#""POSITION":0"#, r#""POSITION":9"#, &["accessor 9", "2 accessors"]),
        (r#""POSITION":0"#, r#""POSITION":1"#, &["accessor 1", "`SCALAR`"]),
        (r#""mode":4"#, r#""mode":9"#, &["mesh 0", "mode is 9"]),
        (r#""mode":4"#, r#""mode":0"#, &["0 faces"]),
        (r#""count":4"#, r#""count":4000000000000"#, &["accessor 0", "4000000000000", "room for 4"]),
        (r#""count":4"#, r#""count":3"#, &["mesh 0", "vertex 3", "3 vertices"]),
        (r#""count":12"#, r#""count":11"#, &["mesh 0", "11 corners"]),
        (r#""count":12"#, r#""count":13"#, &["accessor 1", "13", "room for 12"]),
        ("5123", "5122", &["accessor 1", "5122"]),
        ("5126", "5130", &["accessor 0", "5130"]),
        (r#""bufferView":0"#, r#""bufferView":5"#, &["accessor 0", "buffer view 5"]),
        (
            r#""bufferView":0,"#,
            r#""bufferView":0,"byteOffset":18446744073709551615,"#,
            &["accessor 0", "room for 0"],
        ),
        (r#""byteLength":48"#, r#""byteLength":4800"#, &["bufferView 0", "4800", "72"]),
        (r#""byteLength":48"#, r#""byteLength":48,"byteStride":3"#, &["bufferView 0", "byteStride is 3"]),
        (r#""byteLength":72"#, r#""byteLength":73"#, &["buffer 0", "73", "72"]),
        (r#"base64,A"#, r#"base64,*"#, &["buffer 0", "base64"]),
        (r#""uri":"data:"#, r#""uri":"file.bin","x":"data:"#, &["buffer 0", "`file.bin`", "path"]),
        (
            r#""asset""#,
            r#""extensionsRequired":["KHR_draco_mesh_compression"],"asset""#,
            &["draco", "without compression"],
        ),
        (
            r#""byteLength":48"#,
            r#""byteLength":48,"extensions":{"EXT_meshopt_compression":{}}"#,
            &["meshopt"],
        ),
        (r#""mode":4"#, r#""mode":4,"extensions":[]"#, &["line"]),
    ] {
        fails(embedded().replacen(from, to, 1).as_bytes(), Format::Gltf, wanted);
    }
    let mut bad = buffer();
    bad[16..20].copy_from_slice(&f32::NAN.to_le_bytes());
    fails(&glb_of(&json("", 72), &bad), Format::Gltf, &["mesh 0", "vertex 1", "NaN"]);
    let draco = json("", 72).replacen(r#""bufferView":0,"#, "", 1).replacen(
        r#""mode":4"#,
        r#""extensions":{"KHR_draco_mesh_compression":{"bufferView":0}}"#,
        1,
    );
    fails(&glb_of(&draco, &buffer()), Format::Gltf, &["mesh 0", "draco"]);
    // A file of 150 kB that repeats its triangles 6 million times.
    let nodes = vec![r#"{"mesh":0}"#; 2500].join(",");
    let primitive = r#"{"attributes":{"POSITION":0},"indices":1,"mode":4}"#;
    let many = embedded()
        .replacen(r#"{"nodes":[1]}"#, "", 1)
        .replacen(r#"{"mesh":0},{"children":[0]}"#, &nodes, 1)
        .replacen(primitive, &vec![primitive; 2500].join(","), 1);
    fails(many.as_bytes(), Format::Gltf, &["mesh 0", "2500 nodes", "67108864"]);
    // Nesting must not exhaust the stack.
    let deep = format!("{{\"extras\":{}", "[".repeat(100_000));
    fails(deep.as_bytes(), Format::Gltf, &["line 1", "JSON"]);
}

#[test]
fn gltf_poses_modes_and_number_types_are_applied() {
    let load = |from: &str, to: &str| {
        let text = embedded().replacen(from, to, 1);
        RawMesh::from_bytes(text.as_bytes(), Format::Gltf, 1.0).unwrap()
    };
    // Child and parent: (p * 2 turned by 90 degrees about z) + x.
    let turned = load(
        r#"{"mesh":0},{"#,
        r#"{"mesh":0,"scale":[2,2,2]},{"rotation":[0,0,0.70710678,0.70710678],"translation":[1,0,0],"#,
    );
    assert!((turned.positions[1] - DVec3::new(1.0, 2.0, 0.0)).length() < 1e-7, "{:?}", turned.positions);
    let moved = load(r#"{"mesh":0}"#, r#"{"mesh":0,"matrix":[1,0,0,0,0,1,0,0,0,0,1,0,7,8,9,1]}"#);
    assert_eq!(moved.positions[0], DVec3::new(7.0, 8.0, 9.0));
    // A mirror keeps the outside outside: the signed volume stays positive.
    let mirrored = load(r#"{"mesh":0}"#, r#"{"mesh":0,"scale":[-1,1,1]}"#);
    let volume = |m: &RawMesh| corners(m).iter().map(|[a, b, c]| a.dot(b.cross(*c)) / 6.0).sum::<f64>();
    assert!(volume(&tetra()) > 0.0 && volume(&mirrored) == volume(&tetra()));
    // 12 indices: a strip or fan has 10 triangles less those that repeat a vertex.
    let indices: Vec<u32> = TETRA.into_iter().flatten().collect();
    let proper = |t: &[u32; 3]| t[0] != t[1] && t[1] != t[2] && t[2] != t[0];
    let strip: Vec<[u32; 3]> = (0..10)
        .map(|i| {
            if i % 2 == 0 {
                [indices[i], indices[i + 1], indices[i + 2]]
            } else {
                [indices[i + 1], indices[i], indices[i + 2]]
            }
        })
        .filter(proper)
        .collect();
    assert_eq!(load(r#""mode":4"#, r#""mode":5"#).triangles, strip);
    let fan: Vec<[u32; 3]> =
        (0..10).map(|i| [indices[0], indices[i + 1], indices[i + 2]]).filter(proper).collect();
    assert_eq!(load(r#""mode":4"#, r#""mode":6"#).triangles, fan);
    assert_eq!(load(r#""mode":4"#, r#""targets":[]"#), tetra());
    assert_eq!(load(r#""scene":0,"scenes":[{"nodes":[1]}],"#, ""), tetra());
    // Without indices the positions are taken in order: 4 of them are no whole triangles, a fan of them is.
    assert_eq!(load(r#""indices":1,"mode":4"#, r#""mode":6"#).triangles, [[0, 1, 2], [0, 2, 3]]);
    // Primitives that share their positions share their vertices.
    let primitive = r#"{"attributes":{"POSITION":0},"indices":1,"mode":4}"#;
    let twice = load(primitive, &format!("{primitive},{primitive}"));
    assert_eq!((twice.positions.len(), twice.triangles.len()), (4, 8));
    // Sparse: vertex 2 (index read from byte 50, a 2) becomes vertex 1.
    let sparse = r#""count":4,"sparse":{"count":1,"indices":{"bufferView":1,"byteOffset":2,"componentType":5123},
        "values":{"bufferView":0,"byteOffset":12}}"#;
    assert_eq!(load(r#""count":4"#, sparse).positions[2], DVec3::X);
    // Quantised: f32 bytes read as normalised u8.
    let bytes = load(r#"5126,"count":4"#, r#"5121,"normalized":true,"count":4"#);
    assert_eq!(bytes.positions[0], DVec3::ZERO);
}

#[test]
fn files_are_loaded_by_name_or_content_and_named_in_errors() {
    let folder = std::env::temp_dir().join(format!("palpate-load-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("a b")).unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    for (name, _, bytes) in files() {
        let path = put("unknown.dat", &bytes);
        assert_eq!(corners(&RawMesh::load(path, 1.0).unwrap()), corners(&tetra()), "{name}");
    }
    put("a b/data.bin", &buffer());
    let external = put("ext.GLTF", json(r#""uri":"a%20b/data.bin","#, 72).as_bytes());
    assert_eq!(RawMesh::load(external, 1.0).unwrap(), tetra());
    for (uri, wanted) in
        [("../x.bin", "folder"), ("/etc/hostname", "folder"), ("file:x", "folder"), ("no.bin", "no.bin")]
    {
        let path = put("bad.gltf", json(&format!("\"uri\":\"{uri}\","), 72).as_bytes());
        let error = RawMesh::load(path, 1.0).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    for (name, content, wanted) in [
        ("bad.obj", "v 0 0 0\nf 1 2 1\n", "bad.obj: OBJ line 2: face 0 uses vertex 2"),
        ("bad.stl", "", "bad.stl: STL byte 0: the file is empty"),
        ("bad.xyz", "hello", "bad.xyz: format not recognised"),
    ] {
        let error = RawMesh::load(put(name, content.as_bytes()), 1.0).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let error = RawMesh::load(folder.join("absent.obj"), 1.0).unwrap_err().to_string();
    assert!(error.contains("absent.obj"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn names_and_units_are_known() {
    for (name, format) in [
        ("a.OBJ", Some(Format::Obj)),
        ("b.c.stl", Some(Format::Stl)),
        ("x.Ply", Some(Format::Ply)),
        ("x.gltf", Some(Format::Gltf)),
        ("x.GLB", Some(Format::Gltf)),
        ("x.off", Some(Format::Off)),
        ("obj", None),
        ("x.txt", None),
    ] {
        assert_eq!(Format::from_path(Path::new(name)), format, "{name}");
    }
    for (name, scale) in [
        ("m", 1.0),
        ("cm", 0.01),
        ("mm", 0.001),
        ("um", 1e-6),
        ("km", 1000.0),
        ("in", 0.0254),
        ("ft", 0.3048),
    ] {
        assert_eq!(unit_scale(name), Some(scale));
    }
    assert_eq!(unit_scale("parsec"), None);
}
