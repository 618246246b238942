//! Open sheets made solid: terrain and height fields as engines have them.

use super::build::check_input;
use super::topology::Topology;
use super::{MeshError, RawMesh};
use glam::DVec3;

/// An open surface whose triangles face one way by this share of their area is a sheet [1]. Larger: bowls, of which a half sphere has
/// 0.5, are not thickened. Smaller: a closed surface that lacks one side, 0.2 for a cube, is taken for a sheet.
const FACING: f64 = 0.3;

/// A mesh without open parts, and what that took.
#[derive(Clone, Debug, PartialEq)]
pub struct Thickened {
    /// The given triangles with their vertices, in their order, then the backs and the walls.
    pub mesh: RawMesh,
    /// Triangles that were given: a triangle from here on was added.
    pub front: usize,
    /// Parts, connected through edges, that were open and are solid now.
    pub thickened: usize,
    /// Parts that were closed and are as they were.
    pub closed: usize,
}

/// Makes every open part of a mesh a solid between itself and its copy moved by `below` [m], with walls along its boundary. Closed
/// parts stay as they are.
///
/// The solid does not meet itself where the part has one height along `below`, as a height field has along its up: then its volume is
/// what the part covers, seen along `below`, times the length of `below`. Vertices at the same place count as one.
/// Where front triangles face along `below` the solid is inside out; [`super::Mesh::new`] turns it around. An edge of more than two
/// triangles gets no wall. Near-linear time.
///
/// # Errors
/// What [`super::Mesh::new`] refuses of positions and indices; a `below` without length, not finite or beyond 1e12 m.
pub fn thicken(positions: &[DVec3], triangles: &[[u32; 3]], below: DVec3) -> Result<Thickened, MeshError> {
    check_input(positions, triangles)?;
    let length = below.length();
    // Written so that NaN fails.
    if !(length > 0.0 && length <= super::build::MAX_COORDINATE) {
        return Err(MeshError::BadThickness { length });
    }
    let Parts { joined, topology, part_of, open } = Parts::of(positions, triangles);
    let thickened = open.iter().filter(|o| **o).count();
    let mut mesh = RawMesh { positions: positions.to_vec(), triangles: triangles.to_vec() };
    // The number of each vertex's copy.
    let mut back = vec![u32::MAX; positions.len()];
    for (t, corners) in joined.iter().enumerate().filter(|(t, _)| open[part_of[*t] as usize]) {
        for &v in corners {
            if back[v as usize] == u32::MAX {
                back[v as usize] = u32::try_from(mesh.positions.len()).unwrap_or(u32::MAX);
                mesh.positions.push(positions[v as usize] + below);
            }
        }
        let [a, b, c] = corners.map(|v| back[v as usize]);
        mesh.triangles.push([a, c, b]);
        for (e, across) in topology.neighbours[t].iter().enumerate() {
            if *across == Topology::BOUNDARY {
                let (a, b) = (corners[e], corners[(e + 1) % 3]);
                let (a_back, b_back) = (back[a as usize], back[b as usize]);
                mesh.triangles.extend([[b, a, a_back], [b, a_back, b_back]]);
            }
        }
    }
    Ok(Thickened { mesh, front: triangles.len(), thickened, closed: open.len() - thickened })
}

/// Where the open parts of a surface would be solid: the unit vector opposite to the way they face, for [`thicken`]. None if there are
/// none, or if together they face all around, as a solid with a hole does: such holes are better capped, which building a field does.
///
/// A mean over triangles by area: the front of a height field faces up, of a bowl to where its rim is, if its triangles turn that way.
/// Near-linear time.
///
/// # Errors
/// What [`super::Mesh::new`] refuses of positions and indices.
pub fn below_front(positions: &[DVec3], triangles: &[[u32; 3]]) -> Result<Option<DVec3>, MeshError> {
    check_input(positions, triangles)?;
    let Parts { joined, part_of, open, .. } = Parts::of(positions, triangles);
    let (mut facing, mut area) = (DVec3::ZERO, 0.0);
    for (corners, part) in joined.iter().zip(&part_of) {
        if open[*part as usize] {
            let [a, b, c] = corners.map(|v| positions[v as usize]);
            let normal = 0.5 * (b - a).cross(c - a);
            (facing, area) = (facing + normal, area + normal.length());
        }
    }
    Ok((facing.length() > FACING * area).then(|| -facing.normalize_or_zero()))
}

/// What is connected through edges.
struct Parts {
    /// The triangles, those with two corners at one place left out, by the first vertex at each place.
    joined: Vec<[u32; 3]>,
    topology: Topology,
    /// The part of each of them.
    part_of: Vec<u32>,
    /// For each part whether an edge has no other side.
    open: Vec<bool>,
}

impl Parts {
    fn of(positions: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        // Neighbours are told by place, as files and engines may repeat vertices.
        let first = first_at_place(positions);
        let joined = triangles.iter().map(|t| t.map(|v| first[v as usize]));
        let joined: Vec<[u32; 3]> = joined.filter(|[a, b, c]| a != b && b != c && c != a).collect();
        let topology = Topology::build(&joined, positions.len());
        let (part_of, parts) = topology.components();
        let mut open = vec![false; parts];
        for (t, across) in topology.neighbours.iter().enumerate() {
            if across.contains(&Topology::BOUNDARY) {
                open[part_of[t] as usize] = true;
            }
        }
        Self { joined, topology, part_of, open }
    }
}

/// For each vertex the first at the same place.
fn first_at_place(positions: &[DVec3]) -> Vec<u32> {
    // Adding 0 makes −0 the same as 0.
    let key = |v: u32| (positions[v as usize] + DVec3::ZERO).to_array().map(f64::to_bits);
    let mut order: Vec<u32> = (0..positions.len() as u32).collect();
    order.sort_by_cached_key(|v| (key(*v), *v));
    let mut first: Vec<u32> = (0..positions.len() as u32).collect();
    let mut run = 0;
    for i in 1..order.len() {
        if key(order[i]) != key(order[run]) {
            run = i;
        }
        first[order[i] as usize] = order[run];
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Mesh, RepairParams, samples};

    fn solid(t: &Thickened) -> Mesh {
        Mesh::new(t.mesh.clone(), &RepairParams::default()).unwrap()
    }

    /// The top of a terrain, which has hills, and a flat square.
    #[test]
    fn height_fields_become_solids_of_their_area_times_the_thickness() {
        let slab = samples::terrain_slab(2.0, 0.3, 20, 3);
        let top: Vec<[u32; 3]> =
            slab.triangles.iter().copied().filter(|t| t.iter().all(|v| *v < 21 * 21)).collect();
        let flat = samples::sheet(8);
        let flat_positions: Vec<DVec3> = flat.positions.iter().map(|p| DVec3::new(p.x, p.y, 0.25)).collect();
        let cases = [(&slab.positions[..], &top[..], 4.0, 20), (&flat_positions, &flat.triangles, 0.01, 8)];
        for (positions, triangles, area, side) in cases {
            for below in [DVec3::new(0.0, 0.0, -0.5), DVec3::new(0.1, 0.0, -0.5), DVec3::new(0.0, 0.0, 0.5)] {
                let out = thicken(positions, triangles, below).unwrap();
                assert_eq!((out.thickened, out.closed, out.front), (1, 0, triangles.len()));
                assert_eq!(out.mesh.triangles[..out.front], *triangles);
                assert_eq!(out.mesh.triangles.len(), 2 * triangles.len() + 8 * side);
                let mesh = solid(&out);
                let r = mesh.report();
                assert!(r.watertight && r.components == 1, "{r:?}");
                // Straight below it is the area of the square; leaning, what is seen along the way.
                let seen = triangles.iter().map(|t| {
                    let [a, b, c] = t.map(|v| positions[v as usize]);
                    0.5 * (b - a).cross(c - a)
                });
                let volume = seen.sum::<DVec3>().dot(below).abs();
                assert!(below.x != 0.0 || (volume - 0.5 * area).abs() < 1e-12, "{volume} of {area}");
                assert!((r.volume - volume).abs() < 1e-12, "{} of {volume}", r.volume);
                // Already outward where the copy is behind the front; else all of it is turned.
                let turned = if below.z < 0.0 { 0 } else { r.triangles };
                assert_eq!(r.flipped_faces, turned);
            }
        }
    }

    #[test]
    fn closed_parts_stay_as_they_are() {
        let cube = samples::cuboid(DVec3::ONE);
        let out = thicken(&cube.positions, &cube.triangles, DVec3::NEG_Z).unwrap();
        assert_eq!((&out.mesh, out.thickened, out.closed), (&cube, 0, 1));
        let both = samples::joined(&[cube, samples::moved(samples::sheet(4), DVec3::new(5.0, 0.0, 0.0))]);
        let out = thicken(&both.positions, &both.triangles, 0.1 * DVec3::NEG_Z).unwrap();
        assert_eq!((out.thickened, out.closed), (1, 1));
        let mesh = solid(&out);
        assert!(mesh.report().watertight && (mesh.report().volume - 1.001).abs() < 1e-12);
    }

    /// A box without its lid has holes to cap; a half of one, and half a sphere, are bowls.
    #[test]
    fn the_front_of_sheets_is_found() {
        let below = |m: &RawMesh| below_front(&m.positions, &m.triangles).unwrap();
        let sheet = samples::sheet(4);
        let down = below(&sheet).unwrap();
        assert!(down.z < -0.99 && (down.length() - 1.0).abs() < 1e-12, "{down}");
        let turned = RawMesh {
            triangles: sheet.triangles.iter().map(|t| [t[1], t[0], t[2]]).collect(),
            ..sheet.clone()
        };
        assert!(below(&turned).unwrap().abs_diff_eq(-down, 1e-12));
        let cube = samples::cuboid(DVec3::ONE);
        assert_eq!(below(&cube), None);
        let top = cube.positions.iter().map(|p| p.z).fold(f64::MIN, f64::max);
        let is_lid = |t: &[u32; 3]| t.iter().all(|v| cube.positions[*v as usize].z == top);
        let open = RawMesh {
            triangles: cube.triangles.iter().copied().filter(|t| !is_lid(t)).collect(),
            ..cube.clone()
        };
        assert_eq!((open.triangles.len(), below(&open)), (cube.triangles.len() - 2, None));
        let ball = samples::by_name("sphere").unwrap();
        let lower = |t: &[u32; 3]| t.iter().all(|v| ball.positions[*v as usize].z < 1e-9);
        let bowl =
            RawMesh { triangles: ball.triangles.iter().copied().filter(lower).collect(), ..ball.clone() };
        assert!(bowl.triangles.len() > ball.triangles.len() / 3);
        // Its triangles face outward, so that it is solid towards its rim.
        assert!(below(&bowl).unwrap().z > 0.99);
        // Only what is open counts.
        let both = samples::joined(&[cube, samples::moved(sheet, DVec3::new(5.0, 0.0, 0.0))]);
        assert!(below(&both).unwrap().abs_diff_eq(down, 1e-12));
        assert!(below_front(&both.positions, &[[0, 1, 9999]]).is_err());
    }

    /// A triangle with two corners at one place has no side to put a wall on.
    #[test]
    fn triangles_without_area_change_nothing() {
        let mut cube = samples::cuboid(DVec3::ONE);
        let [a, b, _] = cube.triangles[0];
        cube.triangles.push([a, b, a]);
        let out = thicken(&cube.positions, &cube.triangles, DVec3::NEG_Z).unwrap();
        assert_eq!((&out.mesh, out.thickened, out.closed), (&cube, 0, 1));
    }

    #[test]
    fn vertices_given_apart_are_joined() {
        let sheet = samples::sheet(5);
        let positions: Vec<DVec3> =
            sheet.triangles.iter().flatten().map(|v| sheet.positions[*v as usize]).collect();
        let triangles: Vec<[u32; 3]> =
            (0..sheet.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        let out = thicken(&positions, &triangles, 0.1 * DVec3::NEG_Z).unwrap();
        assert_eq!(out.mesh.triangles.len(), 2 * triangles.len() + 8 * 5);
        let mesh = solid(&out);
        assert!(mesh.report().watertight && (mesh.report().volume - 0.001).abs() < 1e-12);
    }

    #[test]
    fn bad_input_is_named() {
        let sheet = samples::sheet(2);
        let says = |p: &[DVec3], t: &[[u32; 3]], below: DVec3, part: &str| {
            let text = thicken(p, t, below).unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        };
        says(&sheet.positions, &sheet.triangles, DVec3::ZERO, "thickness is 0 m");
        says(&sheet.positions, &sheet.triangles, DVec3::NAN, "thickness is NaN m");
        says(&sheet.positions, &[[0, 1, 99]], DVec3::Z, "uses vertex 99");
        says(&sheet.positions, &[], DVec3::Z, "triangle");
        says(&[DVec3::INFINITY; 3], &[[0, 1, 2]], DVec3::Z, "coordinate");
    }
}
