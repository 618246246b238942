//! What holds for every format: what was written is read again, and no input panics or takes memory beyond bounds.

use super::*;
use crate::math::Aabb;
use crate::par;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Numbers of a fixed sequence, in 0 to 1.
pub(super) struct Sequence(pub(super) u64);

impl Sequence {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn next(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A cloud with all that files can hold, far from the origin.
fn sample(n: usize) -> RawCloud {
    let mut s = Sequence(7);
    let mut cloud = RawCloud { normals: Some(vec![]), colours: Some(vec![]), ..Default::default() };
    for _ in 0..n {
        let p = DVec3::new(s.next(), s.next(), s.next());
        cloud.points.push(DVec3::new(4.5e6, -5.3e6, 310.0) + p * 100.0);
        let n = unit(DVec3::new(s.next() - 0.5, s.next() - 0.5, s.next() - 0.5));
        cloud.normals.as_mut().unwrap().push(n);
        cloud.colours.as_mut().unwrap().push([0; 3].map(|_| s.bits() as u8));
    }
    cloud
}

fn read(bytes: &[u8], format: CloudFormat) -> RawCloud {
    RawCloud::from_bytes(bytes, format, 1.0).unwrap()
}

/// Asserts that reading fails with a message that has all of `wanted` and does not end in a full stop.
fn fails(bytes: &[u8], format: CloudFormat, wanted: &[&str]) {
    let error = RawCloud::from_bytes(bytes, format, 1.0).unwrap_err().to_string();
    assert!(wanted.iter().all(|w| error.contains(w)) && !error.ends_with('.'), "{wanted:?}: {error}");
}

/// The same, up to the last bit of a normal's length.
fn assert_same(a: &RawCloud, b: &RawCloud) {
    assert_eq!(
        (&a.points, &a.colours, a.skipped, a.viewpoint),
        (&b.points, &b.colours, b.skipped, b.viewpoint)
    );
    assert_eq!(a.normals.is_some(), b.normals.is_some());
    for (a, b) in a.normals.iter().flatten().zip(b.normals.iter().flatten()) {
        assert!((a - b).length() < 2e-7, "{a} {b}");
    }
}

/// A PLY file of a cloud, every number written by byte order and type.
fn ply(cloud: &RawCloud, order: &str, float: &str) -> Vec<u8> {
    let mut out = format!(
        "ply\nformat {order} 1.0\ncomment x\nelement before 2\nproperty list uchar short k\nelement vertex {}\n\
         property uchar red\nproperty {float} x\nproperty {float} y\nproperty int flag\nproperty {float} z\n\
         property uchar green\nproperty uchar blue\nproperty float nx\nproperty float ny\nproperty float nz\n\
         element face 1\nproperty list uchar int vertex_indices\nend_header\n",
        cloud.points.len()
    )
    .into_bytes();
    if order == "ascii" {
        out.extend(b"0\n2 5 6\n");
    } else {
        out.extend([0, 2, 5, 5, 6, 6]);
    }
    for (i, p) in cloud.points.iter().enumerate() {
        let (n, c) = (cloud.normals.as_ref().unwrap()[i], cloud.colours.as_ref().unwrap()[i]);
        if order == "ascii" {
            let (x, y, z) = (p.x, p.y, p.z);
            out.extend(
                format!("{} {x} {y} 7 {z} {} {} {} {} {}\n", c[0], c[1], c[2], n.x, n.y, n.z).into_bytes(),
            );
            continue;
        }
        let big = order == "binary_big_endian";
        let mut put = |raw: &[u8]| match big {
            true => out.extend(raw.iter().rev()),
            false => out.extend(raw),
        };
        let number = |v: f64| {
            if float == "double" { v.to_le_bytes().to_vec() } else { (v as f32).to_le_bytes().to_vec() }
        };
        put(&[c[0]]);
        put(&number(p.x));
        put(&number(p.y));
        put(&7i32.to_le_bytes());
        put(&number(p.z));
        put(&[c[1]]);
        put(&[c[2]]);
        n.to_array().iter().for_each(|v| put(&v.to_le_bytes()));
    }
    out
}

/// A PCD file of a cloud; `data` as in its header.
fn pcd(cloud: &RawCloud, data: &str) -> Vec<u8> {
    let n = cloud.points.len();
    let mut out = format!(
        "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z _ rgb normal_x normal_y normal_z\n\
         SIZE 8 8 8 1 4 4 4 4\nTYPE F F F U F F F F\nCOUNT 1 1 1 3 1 1 1 1\nWIDTH {n}\nHEIGHT 1\n\
         VIEWPOINT 1 2 3 1 0 0 0\nPOINTS {n}\nDATA {data}\n"
    )
    .into_bytes();
    let mut columns = vec![vec![]; 8];
    for (i, p) in cloud.points.iter().enumerate() {
        let (n, [r, g, b]) = (cloud.normals.as_ref().unwrap()[i], cloud.colours.as_ref().unwrap()[i]);
        if data == "ascii" {
            let packed = f32::from_bits(u32::from_be_bytes([0, r, g, b]));
            let row = format!("{} {} {} 0 0 0 {packed:e} {} {} {}\n", p.x, p.y, p.z, n.x, n.y, n.z);
            out.extend(row.into_bytes());
            continue;
        }
        columns[0].extend(p.x.to_le_bytes());
        columns[1].extend(p.y.to_le_bytes());
        columns[2].extend(p.z.to_le_bytes());
        columns[3].extend([0, 0, 0]);
        columns[4].extend([b, g, r, 0]);
        n.to_array().iter().zip(5..).for_each(|(v, k)| columns[k].extend(v.to_le_bytes()));
        if data == "binary" {
            columns.iter_mut().for_each(|c| out.append(c));
        }
    }
    if data == "binary_compressed" {
        let plain = columns.concat();
        // Literal runs, but for a run of zeros that a copy stands for: the padding of 3 n bytes.
        let mut packed = Vec::new();
        let (start, zeros) = (24 * n, 3 * n);
        let literal = |packed: &mut Vec<u8>, bytes: &[u8]| {
            for run in bytes.chunks(32) {
                packed.push(run.len() as u8 - 1);
                packed.extend(run);
            }
        };
        literal(&mut packed, &plain[..start + 1]);
        let mut left = zeros - 1;
        while left >= 9 {
            let length = left.min(264);
            packed.extend([7 << 5, (length - 9) as u8, 0]);
            left -= length;
        }
        literal(&mut packed, &plain[start + zeros - left..]);
        out.extend((packed.len() as u32).to_le_bytes());
        out.extend((plain.len() as u32).to_le_bytes());
        out.extend(packed);
    }
    out
}

/// A LAS or LAZ file, written by the crate `las`; coordinates are rounded to millimetres.
fn las(cloud: &RawCloud, version: (u8, u8), format: u8, compressed: bool) -> Vec<u8> {
    let mut builder = ::las::Builder::from(version);
    builder.point_format = ::las::point::Format::new(format).unwrap();
    builder.point_format.is_compressed = compressed;
    builder.point_format.extra_bytes = 3;
    let transform = |offset| ::las::Transform { scale: 0.001, offset };
    builder.transforms = ::las::Vector { x: transform(4.5e6), y: transform(-5.3e6), z: transform(0.0) };
    let format = builder.point_format;
    let mut writer = ::las::Writer::new(io::Cursor::new(Vec::new()), builder.into_header().unwrap()).unwrap();
    for (i, p) in cloud.points.iter().enumerate() {
        let [r, g, b] = cloud.colours.as_ref().unwrap()[i].map(|c| u16::from(c) * 257);
        let point = ::las::Point {
            x: p.x,
            y: p.y,
            z: p.z,
            color: format.has_color.then(|| ::las::Color::new(r, g, b)),
            gps_time: format.has_gps_time.then_some(i as f64),
            nir: format.has_nir.then_some(7),
            waveform: format.has_waveform.then(Default::default),
            extra_bytes: vec![1, 2, i as u8],
            ..Default::default()
        };
        writer.write_point(point).unwrap();
    }
    writer.into_inner().unwrap().into_inner()
}

#[test]
fn ply_of_every_encoding_gives_the_same_points() {
    let cloud = sample(300);
    for order in ["ascii", "binary_little_endian", "binary_big_endian"] {
        let bytes = ply(&cloud, order, "double");
        assert_eq!(CloudFormat::detect(&bytes), Some(CloudFormat::Ply));
        assert_same(&read(&bytes, CloudFormat::Ply), &cloud);
        let rounded = read(&ply(&cloud, order, "float"), CloudFormat::Ply);
        if order != "ascii" {
            let expected: Vec<DVec3> = cloud.points.iter().map(|p| p.as_vec3().as_dvec3()).collect();
            assert_eq!(rounded.points, expected);
        }
    }
    // All words on one line, and a list among the numbers of a vertex.
    let words = String::from_utf8(ply(&cloud, "ascii", "double")).unwrap();
    let (head, body) = words.split_once("end_header\n").unwrap();
    let joined = format!("{head}end_header\n{}", body.replace('\n', " "));
    assert_same(&read(joined.as_bytes(), CloudFormat::Ply), &cloud);
    let list = b"ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty list uchar int y\nproperty float y\n\
        property float z\nend_header\n1 2 8 8 3 4\n5 0 6 nan\n";
    let two = read(list, CloudFormat::Ply);
    assert_eq!((two.points, two.skipped), (vec![DVec3::new(1.0, 3.0, 4.0)], 1));
}

#[test]
fn pcd_of_every_encoding_gives_the_same_points() {
    let cloud = RawCloud { viewpoint: Some(DVec3::new(1.0, 2.0, 3.0)), ..sample(300) };
    for data in ["ascii", "binary", "binary_compressed"] {
        let bytes = pcd(&cloud, data);
        assert_eq!(CloudFormat::detect(&bytes), Some(CloudFormat::Pcd));
        assert_same(&read(&bytes, CloudFormat::Pcd), &cloud);
    }
    let organised = "VERSION .7\nFIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 2\nHEIGHT 2\n\
        POINTS 4\nDATA ascii\n0 0 0 4.2108e+06\nnan nan nan 0\n1 2 3 255\n1 inf 0 0\n";
    let cloud = read(organised.as_bytes(), CloudFormat::Pcd);
    assert_eq!((cloud.points.len(), cloud.skipped, cloud.viewpoint), (2, 2, None));
    assert_eq!(cloud.colours.unwrap(), [[64, 64, 112], [0, 0, 255]]);
}

#[test]
fn las_and_laz_of_every_version_and_format_keep_millimetres_far_away() {
    let cloud = sample(700);
    let mut files = 0;
    for (minor, formats) in [(0, 0..=1), (1, 0..=1), (2, 0..=3), (3, 0..=5), (4, 0..=10u8)] {
        for format in formats {
            for compressed in [false, true] {
                if compressed && !cfg!(feature = "laz") {
                    continue;
                }
                let bytes = las(&cloud, (1, minor), format, compressed);
                let back = read(&bytes, CloudFormat::Las);
                assert_eq!(CloudFormat::detect(&bytes), Some(CloudFormat::Las));
                assert_eq!(back.points.len(), 700);
                for (a, b) in cloud.points.iter().zip(&back.points) {
                    // To the same f64 that the format's rule gives.
                    let stored = |v: f64, offset: f64| 0.001 * ((v - offset) / 0.001).round() + offset;
                    let rule = DVec3::new(stored(a.x, 4.5e6), stored(a.y, -5.3e6), stored(a.z, 0.0));
                    assert_eq!(*b, rule, "1.{minor} {format} {compressed}");
                }
                let coloured = matches!(format, 2 | 3 | 5 | 7 | 8 | 10);
                assert_eq!(back.colours, cloud.colours.clone().filter(|_| coloured), "1.{minor} {format}");
                files += 1;
            }
        }
    }
    assert!(files >= 25, "{files}");
    #[cfg(not(feature = "laz"))]
    fails(&las(&cloud, (1, 2), 0, true), CloudFormat::Las, &["built without the feature `laz`"]);
}

#[test]
fn columns_of_text_are_what_names_or_values_say() {
    let cases: &[(&str, bool, bool)] = &[
        ("1 2 3", false, false),
        ("1,2,3", false, false),
        (" 1;\t2 ; 3 ", false, false),
        ("1\t2\t3\t99 word", false, false),
        ("1 2 3 0 0 1", true, false),
        ("1 2 3 255 0 7", false, true),
        ("1 2 3 -5 0 7", false, false),
        ("1 2 3 0 0 1 9 9 9 4", true, true),
        ("1 2 3 9 9 9 0 0.6 0.8", true, true),
        ("1\n1 2 3 -80 10 20 30", false, true),
        ("z,,x,y,NX,ny,nz\n3,,1,2,0,0,5", true, false),
        ("# X Y Z R G B\n1 2 3 0 0 1", false, true),
        ("//red y z x green blue\n8 2 3 1 9 9", false, true),
        ("# a b c\n\"x\" \"y\" \"z [m]\" b\n1 2 3 4", false, false),
        ("# words that are no names of columns\r\r\n\n1 2 3\r\n", false, false),
        ("\u{feff}x y z\n1 2 3", false, false),
    ];
    for (text, normals, colours) in cases {
        for text in [(*text).to_owned(), text.replace('\n', "\r\n"), format!("{text}\n\n")] {
            assert_eq!(CloudFormat::detect(text.as_bytes()), Some(CloudFormat::Xyz), "{text:?}");
            let cloud = read(text.as_bytes(), CloudFormat::Xyz);
            assert_eq!(cloud.points, [DVec3::new(1.0, 2.0, 3.0)], "{text:?}");
            assert_eq!((cloud.normals.is_some(), cloud.colours.is_some()), (*normals, *colours), "{text:?}");
            cloud.normals.iter().flatten().for_each(|n| assert!((n.length() - 1.0).abs() < 1e-6));
        }
    }
    // Fractions are shares, wide numbers have 16 bits.
    let colours =
        |rows: &str| read(format!("x y z r g b\n{rows}").as_bytes(), CloudFormat::Xyz).colours.unwrap();
    assert_eq!(colours("0 0 0 0.5 1 0\n0 0 0 1 1 1"), [[128, 255, 0], [255; 3]]);
    assert_eq!(colours("0 0 0 65535 257 0\n0 0 0 255 0 nan"), [[255, 1, 0], [1, 0, 0]]);
    // A normal without direction stays, as zero.
    let zero = read(b"x y z nx ny nz\n1 2 3 0 0 0\n1 2 3 nan 0 1\n1 2 3 0 3 4", CloudFormat::Xyz);
    assert_eq!(zero.normals.unwrap(), [Vec3::ZERO, Vec3::ZERO, Vec3::new(0.0, 0.6, 0.8)]);
}

#[test]
fn errors_name_the_place_the_value_and_the_remedy() {
    use CloudFormat::{Las, Obj, Off, Pcd, Ply, Xyz};
    for (format, text, wanted) in [
        (Xyz, "1 2 3\n\n# c\n1 2 word\n", &["line 4", "column 3", "`word`"][..]),
        (Xyz, "1 2 3\r\n1 2\r\n", &["line 2", "column 3", "line ends"]),
        (Xyz, "1,2,3\n1,,3", &["line 2", "column 2", "empty"]),
        (Xyz, "1,5;2,5;3,5\n", &["line 1", "decimal points"]),
        (Xyz, "1 2\n", &["line 1", "2 columns"]),
        (Xyz, "x y w\n1 2 3", &["no field `z`", "x y w"]),
        (Xyz, "hello world\n1 2 3", &["line 1", "`hello`"]),
        (Xyz, "# only a comment\n", &["0 points"]),
        (Xyz, "x y z\n", &["0 points"]),
        (Xyz, "nan 0 0\ninf 1 1", &["none of 2 points"]),
        (Xyz, "1 2 3\0", &["byte 5", "no text"]),
        (Xyz, "1 2 3\n4 5", &["line 2", "file ends"]),
        (Xyz, "", &["empty (0 bytes)"]),
        (Ply, "ply\nformat ascii 1.0\nelement face 0\nend_header\n", &["no element `vertex`"]),
        (
            Ply,
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1",
            &["no field `y`", "`x`"],
        ),
        (Pcd, "VERSION .7\nFIELDS x y\nWIDTH 1\nDATA ascii\n1 2\n", &["no field `z`"]),
        (Pcd, "FIELDS x y z\nWIDTH 3\nDATA ascii\n1 2 3\n1 2 3\n", &["says 3 points", "data for 2"]),
        (Pcd, "FIELDS x y z\nWIDTH 3\nPOINTS 4\nDATA ascii\n", &["POINTS is 4", "is 3"]),
        (Pcd, "FIELDS x y z\nWIDTH 3\n", &["line 3", "DATA", "cut short"]),
        (Pcd, "FIELDS x y z\nSIZE 4 4\nWIDTH 3\nDATA ascii\n", &["3 FIELDS but 2 SIZE"]),
        (Pcd, "FIELDS x y z\nSIZE 4 4 3\nWIDTH 3\nDATA ascii\n", &["`z`", "SIZE 3"]),
        (Pcd, "WIDTH three\n", &["line 1", "`WIDTH`", "`three`"]),
        (Pcd, "FIELDS x y z\nWIDTH 0\nDATA binary\n", &["0 points"]),
        (Las, "LASX", &["`LASF`"]),
        (Las, "LASF and no more", &["16 bytes", "cut short"]),
        (Obj, "v 1 2\n", &["OBJ line 1", "number for z"]),
        (Obj, "# nothing\n", &["0 points"]),
        (Off, "OFF\n1 0 0\n0 0 0\n", &["1 vertices but 0 faces", "PLY"]),
    ] {
        fails(text.as_bytes(), format, wanted);
    }
    let scale = RawCloud::from_bytes(b"1 2 3", Xyz, f64::NAN).unwrap_err().to_string();
    assert!(scale.contains("scale is NaN"), "{scale}");
    let missing = RawCloud::load("no/such/file.xyz", 1.0).unwrap_err().to_string();
    assert!(missing.contains("file.xyz") && missing.contains("check the path"), "{missing}");
}

#[test]
fn huge_counts_are_refused_at_once() {
    use CloudFormat::{Las, Pcd, Ply};
    for count in ["4294967296", "99999999999999", "18446744073709551615"] {
        for order in ["ascii", "binary_little_endian"] {
            let text = format!(
                "ply\nformat {order} 1.0\nelement vertex {count}\nproperty float x\nproperty float y\n\
                property float z\nend_header\n1 2 3\n"
            );
            assert!(RawCloud::from_bytes(text.as_bytes(), Ply, 1.0).is_err());
        }
        for data in ["ascii", "binary", "binary_compressed"] {
            for fields in ["", "COUNT 1 1 1 99999999999999\n"] {
                let text = format!(
                    "FIELDS x y z h\n{fields}WIDTH {count}\nHEIGHT {count}\nDATA {data}\n1 2 3 4 5 6\n"
                );
                assert!(RawCloud::from_bytes(text.as_bytes(), Pcd, 1.0).is_err());
                let text = format!("FIELDS x y z h\n{fields}POINTS {count}\nDATA {data}\n1 2 3 4 5 6\n");
                assert!(RawCloud::from_bytes(text.as_bytes(), Pcd, 1.0).is_err());
            }
        }
    }
    let cloud = sample(20);
    for compressed in [false, cfg!(feature = "laz")] {
        let mut bytes = las(&cloud, (1, 4), 6, compressed);
        bytes[107..111].copy_from_slice(&0u32.to_le_bytes());
        bytes[247..255].copy_from_slice(&(u64::MAX / 2).to_le_bytes());
        fails(&bytes, Las, &["9223372036854775807 points", "tiles"]);
        bytes[247..255].copy_from_slice(&u64::from(u32::MAX).to_le_bytes());
        fails(&bytes, Las, &["says 4294967295 points", "data for"]);
    }
}

#[cfg(feature = "laz")]
#[test]
fn laz_without_its_table_of_chunks_is_read_all_the_same() {
    let cloud = sample(200);
    for format in [0, 6] {
        let whole = las(&cloud, (1, 4), format, true);
        let mut bytes = whole.clone();
        let points = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
        let beyond = bytes.len() as u64 + 100;
        assert_ne!(bytes[points..points + 8], beyond.to_le_bytes());
        bytes[points..points + 8].copy_from_slice(&beyond.to_le_bytes());
        assert_eq!(read(&bytes, CloudFormat::Las), read(&whole, CloudFormat::Las), "{format}");
        // A table of more chunks than there are bytes is refused: memory would be taken for them.
        let table = u64::from_le_bytes(whole[points..points + 8].try_into().unwrap()) as usize;
        let mut bytes = whole.clone();
        bytes[table + 4..table + 8].copy_from_slice(&u32::MAX.to_le_bytes());
        fails(&bytes, CloudFormat::Las, &["4294967295 chunks", "damaged"]);
        let mut bytes = whole;
        bytes[points..points + 8].copy_from_slice(&(-1i64).to_le_bytes());
        bytes.extend((table as u64).to_le_bytes());
        bytes[table + 4..table + 8].copy_from_slice(&u32::MAX.to_le_bytes());
        fails(&bytes, CloudFormat::Las, &["4294967295 chunks", "damaged"]);
    }
}

/// One small file of each kind.
fn small_files() -> Vec<(CloudFormat, Vec<u8>)> {
    use CloudFormat::{Las, Obj, Pcd, Ply, Xyz};
    let cloud = sample(5);
    let mut files = vec![
        (Xyz, b"2\nx,y,z,nx,ny,nz\n1,2,3,0,0,1\n-1e5,+.5,nan,1,0,0\n".to_vec()),
        (Obj, b"v 1 2 3\nvn 0 0 1\nv 4 5 \\\n6\nf 1 2 1\n".to_vec()),
    ];
    for order in ["ascii", "binary_little_endian", "binary_big_endian"] {
        files.push((Ply, ply(&cloud, order, "float")));
    }
    for data in ["ascii", "binary", "binary_compressed"] {
        files.push((Pcd, pcd(&cloud, data)));
    }
    for (format, compressed) in [(3, false), (0, true), (5, true), (6, true), (10, true)] {
        files.push((Las, las(&cloud, (1, 4), format, compressed)));
    }
    files
}

/// What any bytes may give: an error, or a cloud that keeps its promises within the memory that is promised.
fn check_any(bytes: &[u8], format: CloudFormat) -> bool {
    let _ = CloudFormat::detect(bytes);
    let Ok(cloud) = RawCloud::from_bytes(bytes, format, 1.0) else { return false };
    let n = cloud.points.len();
    assert!(n > 0 && cloud.points.iter().all(|p| p.is_finite()));
    assert!(cloud.normals.iter().all(|v| v.len() == n) && cloud.colours.iter().all(|v| v.len() == n));
    let unit = |v: &Vec3| *v == Vec3::ZERO || (v.length() - 1.0).abs() < 1e-5;
    assert!(cloud.normals.iter().flatten().all(unit));
    assert!(n + cloud.skipped <= 1_000_000 + 100 * bytes.len());
    true
}

#[test]
fn files_cut_anywhere_or_with_a_byte_changed_never_panic() {
    let mut s = Sequence(11);
    let (mut read, mut refused) = (0, 0);
    let mut count = |ok: bool| if ok { read += 1 } else { refused += 1 };
    for (format, bytes) in small_files() {
        assert!(check_any(&bytes, format) || !cfg!(feature = "laz"), "{format}");
        for cut in 0..bytes.len() {
            count(check_any(&bytes[..cut], format));
        }
        for _ in 0..800 {
            let mut changed = bytes.clone();
            for _ in 0..1 + s.bits() % 3 {
                let at = s.bits() as usize % changed.len();
                changed[at] = match s.bits() % 3 {
                    0 => s.bits() as u8,
                    1 => [0, 255, 127, 128][s.bits() as usize % 4],
                    _ => changed[at] ^ 1 << (s.bits() % 8),
                };
            }
            count(check_any(&changed, format));
        }
    }
    for _ in 0..3000 {
        let bytes: Vec<u8> = (0..s.bits() % 200).map(|_| s.bits() as u8).collect();
        let text: Vec<u8> = bytes.iter().map(|b| b"0123456789 .,-;\n#eExyz"[usize::from(*b) % 22]).collect();
        for format in CloudFormat::ALL {
            count(check_any(&bytes, format));
            count(check_any(&text, format));
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

#[test]
fn pieces_and_threads_do_not_change_what_is_read() {
    // Enough rows for several pieces and tasks, with some to leave out.
    let mut s = Sequence(3);
    let mut text = String::from("# x y z r g b\n");
    for i in 0..90_000 {
        let x = if i % 1000 == 7 { f64::NAN } else { s.next() };
        text += &format!("{x} {} {} {} {} 0\n", s.next(), s.next(), s.next(), s.next());
    }
    let one = par::with_threads(1, || read(text.as_bytes(), CloudFormat::Xyz));
    let four = par::with_threads(4, || read(text.as_bytes(), CloudFormat::Xyz));
    assert_eq!(one, four);
    assert_eq!((one.points.len(), one.skipped), (89_910, 90));
    let bytes = ply(&sample(70_000), "binary_little_endian", "double");
    let one = par::with_threads(1, || read(&bytes, CloudFormat::Ply));
    assert_eq!(one, par::with_threads(4, || read(&bytes, CloudFormat::Ply)));
    // Of two wrong rows the first is told, whoever finds one first.
    let wrong = text.replace("NaN", "0") + "wrong\n1 2 3 4 5 6\n also wrong\n";
    fails(wrong.as_bytes(), CloudFormat::Xyz, &["line 90002", "`wrong`"]);
}

/// Counts steps, and asks to stop after some looks.
struct Watch {
    steps: AtomicU64,
    looks: AtomicU64,
    stop_at: u64,
    stopped: AtomicBool,
}

impl Progress for Watch {
    fn stage(&self, _name: &'static str, steps: u64) {
        assert!(steps > 0);
    }
    fn advance(&self, steps: u64) {
        self.steps.fetch_add(steps, Ordering::Relaxed);
    }
    fn cancelled(&self) -> bool {
        let stop = self.looks.fetch_add(1, Ordering::Relaxed) >= self.stop_at;
        self.stopped.fetch_or(stop, Ordering::Relaxed);
        stop
    }
}

#[test]
fn saving_loading_and_stopping() {
    let folder = std::env::temp_dir().join(format!("palpate-cloud-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let cloud = sample(1000);
    let plain = RawCloud { normals: None, colours: None, ..cloud.clone() };
    for name in ["a.ply", "a.xyz", "a.csv", "a.TXT"] {
        let path = folder.join(name);
        for cloud in [&plain, &cloud] {
            cloud.save(&path).unwrap();
            assert_same(&RawCloud::load(&path, 1.0).unwrap(), cloud);
        }
        let mm = RawCloud::load(&path, 1e-3).unwrap();
        assert!(mm.points.iter().zip(&cloud.points).all(|(a, b)| *a == *b * 1e-3));
        let mut stop_at = 0;
        loop {
            let zero = || AtomicU64::new(0);
            let watch = Watch { steps: zero(), looks: zero(), stop_at, stopped: AtomicBool::new(false) };
            let result = RawCloud::load_with(&path, 1.0, &watch);
            let stopped = watch.stopped.load(Ordering::Relaxed);
            assert_eq!(matches!(result, Err(CloudReadError::Cancelled)), stopped, "{name} {stop_at}");
            if !stopped {
                assert!(watch.steps.load(Ordering::Relaxed) > 1000 && stop_at > 2, "{name}");
                break;
            }
            stop_at += 1;
        }
        // The ending is not needed.
        let other = folder.join("unnamed");
        std::fs::copy(&path, &other).unwrap();
        assert_same(&RawCloud::load(&other, 1.0).unwrap(), &cloud);
    }
    assert!(cloud.save(folder.join("a.las")).unwrap_err().to_string().contains("change the ending"));
    let uneven = RawCloud { normals: Some(vec![]), ..cloud };
    assert!(uneven.save(folder.join("b.ply")).unwrap_err().to_string().contains("0 normals"));
    assert!(!folder.join("b.ply").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn meshes_give_their_vertices() {
    let obj = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv nan 0 0\nf 1 2 3\n";
    let cloud = read(obj, CloudFormat::Obj);
    assert_eq!((cloud.points.len(), cloud.skipped), (3, 1));
    let mesh = RawMesh::from_bytes(obj, Format::Obj, 1.0).unwrap();
    let mut stl = Vec::new();
    crate::mesh::write_stl(&mut stl, &mesh.positions, &mesh.triangles).unwrap();
    assert_eq!(CloudFormat::detect(&stl), Some(CloudFormat::Stl));
    assert_eq!(read(&stl, CloudFormat::Stl).points, mesh.positions);
    let off = b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    assert_eq!(read(off, CloudFormat::Off).points, mesh.positions);
}

#[test]
fn every_model_gives_a_cloud_or_a_clear_error() {
    let Some(models) = std::env::var_os("PALPATE_MODELS").map(std::path::PathBuf::from) else {
        println!("skipped: PALPATE_MODELS is not set");
        return;
    };
    let (mut clouds, mut errors) = (0, 0);
    let mut paths: Vec<_> =
        std::fs::read_dir(models.join("formats")).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        match RawCloud::load(&path, 1.0) {
            Ok(cloud) => {
                let size = Aabb::of_points(cloud.points.iter().copied()).extent();
                println!("{name}: {} points, {} skipped, {size} m", cloud.points.len(), cloud.skipped);
                clouds += 1;
            }
            Err(error) => {
                println!("{error}");
                assert!(error.to_string().contains(name), "{error}");
                errors += 1;
            }
        }
    }
    assert!(clouds > 20 && errors > 2, "{clouds} clouds, {errors} errors");
}
