//! Solids by formula as the points of a tree see them: distances and gradients, eight points at a time.
//!
//! Everything is in the tree's frame, relative to its origin, and every constant is made in f64: a point near the surface of a box
//! of kilometres keeps its precision.

use crate::field::analytic::Analytic;
use crate::math::Pose;
use crate::simd::Lanes;
use glam::{DMat3, DQuat, DVec3};

/// Relative rounding of a distance in f32, of the lengths that enter it [1].
const ROUNDING: f64 = 8.0 / 16_777_216.0;

/// One convex part, grown by `radius`.
#[derive(Clone, Copy, Debug)]
struct Part {
    kind: Kind,
    radius: f32,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Outward normal and height: `n·p + c`.
    Plane([f32; 4]),
    /// Axes as rows, and what is added to a point's coordinate, and to its opposite, to get the heights over the two faces.
    Cuboid { rows: [[f32; 3]; 3], low: [f32; 3], high: [f32; 3] },
    /// All points near a segment: its start, unit direction and length. A ball if the length is 0.
    Segment { from: [f32; 3], axis: [f32; 3], length: f32 },
    /// A profile turned about an axis: start and unit direction of the axis, and the profile.
    Turned { from: [f32; 3], axis: [f32; 3], profile: Profile },
    /// The planes of a convex polyhedron: from, to.
    Hull([u32; 2]),
}

/// Half of a convex cross section, as radius and height over the start of the axis.
#[derive(Clone, Copy, Debug)]
enum Profile {
    /// From height 0 to `length`, up to `radius`.
    Cylinder { length: f32, radius: f32 },
    /// A disc at height 0, with the apex at `length`: both, and the outward normal of the side.
    Cone { length: f32, radius: f32, normal: [f32; 2] },
    /// A circle around (`major`, 0).
    Ring { major: f32, minor: f32 },
}

/// A solid in the frame of a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Formula {
    parts: Vec<Part>,
    planes: Vec<[f32; 4]>,
    /// How far rounding can move a distance [m].
    pub(crate) rounding: f32,
}

/// Start, unit direction and length of a segment, in the tree's frame.
fn axis(tree_from: &Pose, a: DVec3, b: DVec3) -> (DVec3, DVec3, f64) {
    let along = tree_from.vector(b - a);
    (tree_from.point(a), along.try_normalize().unwrap_or(DVec3::Z), along.length())
}

/// The one face of a box that points within `reach` of the origin can be nearest to, as on a ground: its axis, and whether it is the
/// upper one. `low` and `high` are the heights of the origin over the upper and over the lower faces [m].
fn only_face(low: DVec3, high: DVec3, reach: f64) -> Option<(usize, bool)> {
    let height = low.max(high);
    let k = (0..3).reduce(|a, b| if height[b] > height[a] { b } else { a })?;
    let up = low[k] >= high[k];
    let others = (0..3).flat_map(|i| [(i, true, low[i]), (i, false, high[i])]);
    let next = others.filter(|(i, u, _)| (*i, *u) != (k, up)).map(|o| o.2).fold(f64::NEG_INFINITY, f64::max);
    // Over no other face, and never as near to another from inside.
    (next + reach <= (height[k] - reach).min(0.0)).then_some((k, up))
}

fn f32s(v: DVec3) -> [f32; 3] {
    v.as_vec3().to_array()
}

impl Formula {
    /// Takes the solid to the frame of points that lie within `reach` of their origin [m]. False for a pose that is not finite or
    /// too large for f32. No allocation once it has seen a solid of as many parts and planes.
    pub(crate) fn set(&mut self, solid: &Analytic, solid_from_tree: &Pose, reach: f64) -> bool {
        self.parts.clear();
        self.planes.clear();
        self.rounding = 0.0;
        let size = solid_from_tree.translation.length() + reach;
        if !(solid_from_tree.is_finite() && size < 1e15) {
            return false;
        }
        let mut lengths = reach;
        self.add(solid, &solid_from_tree.inverse(), 0.0, reach, &mut lengths);
        self.rounding = (ROUNDING * lengths) as f32;
        true
    }

    /// Adds a solid grown by `radius`; `lengths` becomes the largest length that enters a distance [m].
    fn add(&mut self, solid: &Analytic, tree_from: &Pose, radius: f64, reach: f64, lengths: &mut f64) {
        let mut saw = |v: f64| *lengths = lengths.max(v + reach);
        let kind = match solid {
            Analytic::Sphere { centre, radius: own } => {
                let c = tree_from.point(*centre);
                saw(c.length() + own);
                let part = Kind::Segment { from: f32s(c), axis: [0.0, 0.0, 1.0], length: 0.0 };
                self.parts.push(Part { kind: part, radius: (radius + own) as f32 });
                return;
            }
            Analytic::Capsule { a, b, radius: own } => {
                let (from, axis, length) = axis(tree_from, *a, *b);
                saw(from.length() + length + own);
                let part = Kind::Segment { from: f32s(from), axis: f32s(axis), length: length as f32 };
                self.parts.push(Part { kind: part, radius: (radius + own) as f32 });
                return;
            }
            Analytic::HalfSpace { normal, offset } => {
                let n = tree_from.vector(*normal);
                let c = -(offset + n.dot(tree_from.translation));
                // Points near the plane have heights as small as this one and themselves.
                saw(radius);
                Kind::Plane([n.x as f32, n.y as f32, n.z as f32, c as f32])
            }
            Analytic::Box { centre, half_extents } => {
                let axes = DMat3::from_quat(tree_from.rotation);
                let middle = tree_from.point(*centre);
                let at = -(axes.transpose() * middle);
                saw(radius);
                let (low, high) = (at - *half_extents, -at - *half_extents);
                let rows = [f32s(axes.x_axis), f32s(axes.y_axis), f32s(axes.z_axis)];
                if let Some((k, up)) = only_face(low, high, reach) {
                    let ([x, y, z], c) = (rows[k], if up { low[k] } else { high[k] });
                    let n = if up { [x, y, z] } else { [-x, -y, -z] };
                    self.parts.push(Part {
                        kind: Kind::Plane([n[0], n[1], n[2], c as f32]),
                        radius: radius as f32,
                    });
                    return;
                }
                Kind::Cuboid { rows, low: f32s(low), high: f32s(high) }
            }
            Analytic::Torus { major, minor } => {
                saw(tree_from.translation.length() + major + minor);
                let profile = Profile::Ring { major: *major as f32, minor: *minor as f32 };
                let axis = f32s(tree_from.vector(DVec3::Z));
                Kind::Turned { from: f32s(tree_from.translation), axis, profile }
            }
            Analytic::Cylinder { a, b, radius: own } => {
                let (from, axis, length) = axis(tree_from, *a, *b);
                saw(from.length() + length + own);
                let profile = Profile::Cylinder { length: length as f32, radius: *own as f32 };
                Kind::Turned { from: f32s(from), axis: f32s(axis), profile }
            }
            Analytic::Cone { base, apex, radius: own } => {
                let (from, axis, length) = axis(tree_from, *base, *apex);
                saw(from.length() + length + own);
                let slant = length.hypot(*own);
                let normal = [(length / slant) as f32, (*own / slant) as f32];
                let profile = Profile::Cone { length: length as f32, radius: *own as f32, normal };
                Kind::Turned { from: f32s(from), axis: f32s(axis), profile }
            }
            Analytic::Hull(hull) => {
                saw(radius);
                let first = self.planes.len() as u32;
                for plane in hull.planes() {
                    let n = tree_from.vector(plane.normal);
                    let c = -(plane.offset + n.dot(tree_from.translation));
                    self.planes.push([n.x as f32, n.y as f32, n.z as f32, c as f32]);
                }
                Kind::Hull([first, self.planes.len() as u32])
            }
            Analytic::Rounded { shape, radius: own } => {
                self.add(shape, tree_from, radius + own, reach, lengths);
                return;
            }
            Analytic::Union(parts) => {
                for part in parts {
                    self.add(part, tree_from, radius, reach, lengths);
                }
                return;
            }
            Analytic::Transform { rotation, translation, shape } => {
                let pose = *tree_from * Pose { rotation: *rotation, translation: *translation };
                self.add(shape, &pose, radius, reach, lengths);
                return;
            }
        };
        self.parts.push(Part { kind, radius: radius as f32 });
    }

    /// Whether the points see but one plane.
    #[cfg(test)]
    pub(super) fn is_plane(&self) -> bool {
        matches!(self.parts[..], [Part { kind: Kind::Plane(_), .. }])
    }

    /// Above this a sampled distance may be less than exact [m]: hulls know only their planes.
    pub(crate) fn exact_below(&self) -> f32 {
        let hulls = self.parts.iter().filter(|p| matches!(p.kind, Kind::Hull(_)));
        hulls.map(|p| -p.radius).fold(f32::INFINITY, f32::min)
    }

    /// Distances of eight points: exact but for rounding; inside a union, and outside a hull beyond its faces, less than exact.
    #[inline(always)]
    pub(crate) fn distance<L: Lanes>(&self, p: [L; 3]) -> L {
        let mut least = L::splat(f32::INFINITY);
        for part in &self.parts {
            let (d, _) = self.part::<L, false>(&part.kind, p);
            least = least.min(d.sub(L::splat(part.radius)));
        }
        least
    }

    /// The same, with the gradients.
    #[inline(always)]
    pub(crate) fn sample<L: Lanes>(&self, p: [L; 3]) -> (L, [L; 3]) {
        let zero = L::splat(0.0);
        let (mut least, mut gradient) = (L::splat(f32::INFINITY), [zero, zero, zero]);
        for part in &self.parts {
            let (d, g) = self.part::<L, true>(&part.kind, p);
            let d = d.sub(L::splat(part.radius));
            let nearer = d.lt(least);
            least = L::select(nearer, d, least);
            for k in 0..3 {
                gradient[k] = L::select(nearer, g[k], gradient[k]);
            }
        }
        (least, gradient)
    }

    #[inline(always)]
    fn part<L: Lanes, const GRADIENT: bool>(&self, kind: &Kind, p: [L; 3]) -> (L, [L; 3]) {
        let zero = L::splat(0.0);
        match kind {
            Kind::Plane([x, y, z, c]) => {
                let n = [L::splat(*x), L::splat(*y), L::splat(*z)];
                (dot(n, p).add(L::splat(*c)), n)
            }
            Kind::Cuboid { rows, low, high } => cuboid::<L, GRADIENT>(rows, low, high, p),
            Kind::Segment { from, axis, length } => {
                let q = minus(p, splat(from));
                let u = splat::<L>(axis);
                let along = dot(u, q).max(zero).min(L::splat(*length));
                let off = [q[0].sub(u[0].mul(along)), q[1].sub(u[1].mul(along)), q[2].sub(u[2].mul(along))];
                away(off)
            }
            Kind::Turned { from, axis, profile } => turned(splat(from), splat(axis), profile, p),
            Kind::Hull([from, to]) => {
                let (mut most, mut g) = (L::splat(f32::NEG_INFINITY), [zero, zero, zero]);
                for i in *from as usize..*to as usize {
                    let [x, y, z, c] = self.planes[i];
                    let n = [L::splat(x), L::splat(y), L::splat(z)];
                    let d = dot(n, p).add(L::splat(c));
                    if GRADIENT {
                        let higher = most.lt(d);
                        g = [
                            L::select(higher, n[0], g[0]),
                            L::select(higher, n[1], g[1]),
                            L::select(higher, n[2], g[2]),
                        ];
                    }
                    most = most.max(d);
                }
                (most, g)
            }
        }
    }
}

#[inline(always)]
fn splat<L: Lanes>(v: &[f32; 3]) -> [L; 3] {
    [L::splat(v[0]), L::splat(v[1]), L::splat(v[2])]
}

#[inline(always)]
fn dot<L: Lanes>(a: [L; 3], b: [L; 3]) -> L {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul(b[2])))
}

#[inline(always)]
fn minus<L: Lanes>(a: [L; 3], b: [L; 3]) -> [L; 3] {
    [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2])]
}

/// Length and direction; no direction where there is no length.
#[inline(always)]
fn away<L: Lanes>(v: [L; 3]) -> (L, [L; 3]) {
    let length = dot(v, v).sqrt();
    let inverse = L::splat(1.0).div(length.max(L::splat(1e-30)));
    (length, [v[0].mul(inverse), v[1].mul(inverse), v[2].mul(inverse)])
}

#[inline(always)]
fn cuboid<L: Lanes, const GRADIENT: bool>(
    rows: &[[f32; 3]; 3],
    low: &[f32; 3],
    high: &[f32; 3],
    p: [L; 3],
) -> (L, [L; 3]) {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let (mut over, mut side) = ([zero; 3], [zero; 3]);
    for k in 0..3 {
        // Heights over the two faces across this axis.
        let s = dot(splat(&rows[k]), p);
        let (a, b) = (s.add(L::splat(low[k])), L::splat(high[k]).sub(s));
        over[k] = a.max(b);
        side[k] = L::select(a.ge(b), one, L::splat(-1.0));
    }
    let most = over[0].max(over[1]).max(over[2]);
    let out = [over[0].max(zero), over[1].max(zero), over[2].max(zero)];
    let length = dot(out, out).sqrt();
    let inside = zero.ge(most);
    let distance = L::select(inside, most, length);
    if !GRADIENT {
        return (distance, [zero; 3]);
    }
    let inverse = one.div(length.max(L::splat(1e-30)));
    // Inside the nearest face, of equals the first.
    let first = over[0].ge(most);
    let second = over[1].ge(most);
    let nearest = [
        L::select(first, one, zero),
        L::select(first, zero, L::select(second, one, zero)),
        L::select(first, zero, L::select(second, zero, one)),
    ];
    let mut along = [zero; 3];
    for k in 0..3 {
        along[k] = L::select(inside, nearest[k], out[k].mul(inverse)).mul(side[k]);
    }
    let g = |c: usize| {
        let r = |k: usize| L::splat(rows[k][c]).mul(along[k]);
        r(0).add(r(1)).add(r(2))
    };
    (distance, [g(0), g(1), g(2)])
}

#[inline(always)]
fn turned<L: Lanes>(from: [L; 3], u: [L; 3], profile: &Profile, p: [L; 3]) -> (L, [L; 3]) {
    let q = minus(p, from);
    let height = dot(u, q);
    let off = [q[0].sub(u[0].mul(height)), q[1].sub(u[1].mul(height)), q[2].sub(u[2].mul(height))];
    let (r, out) = away(off);
    let (d, gr, gh) = match *profile {
        Profile::Cylinder { length, radius } => {
            let (side, top, bottom) =
                (r.sub(L::splat(radius)), height.sub(L::splat(length)), L::splat(0.0).sub(height));
            let up = L::select(top.ge(bottom), L::splat(1.0), L::splat(-1.0));
            corner(side, top.max(bottom), up)
        }
        Profile::Cone { length, radius, normal } => cone(r, height, length, radius, normal),
        Profile::Ring { major, minor } => {
            let x = r.sub(L::splat(major));
            let l = x.mul_add(x, height.mul(height)).sqrt();
            let i = L::splat(1.0).div(l.max(L::splat(1e-30)));
            (l.sub(L::splat(minor)), x.mul(i), height.mul(i))
        }
    };
    let g = |k: usize| out[k].mul(gr).add(u[k].mul(gh));
    (d, [g(0), g(1), g(2)])
}

/// Distance to a right-angled corner, from the heights over its two sides; `up` is the direction of the second.
#[inline(always)]
fn corner<L: Lanes>(a: L, b: L, up: L) -> (L, L, L) {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let (x, y) = (a.max(zero), b.max(zero));
    let length = x.mul_add(x, y.mul(y)).sqrt();
    let inverse = one.div(length.max(L::splat(1e-30)));
    let most = a.max(b);
    let inside = zero.ge(most);
    let first = a.ge(b);
    let gx = L::select(inside, L::select(first, one, zero), x.mul(inverse));
    let gy = L::select(inside, L::select(first, zero, one), y.mul(inverse)).mul(up);
    (L::select(inside, most, length), gx, gy)
}

/// Distance to a cone's half cross section, a triangle with corners (0, 0), (radius, 0) and (0, length).
#[inline(always)]
fn cone<L: Lanes>(r: L, h: L, length: f32, radius: f32, normal: [f32; 2]) -> (L, L, L) {
    let zero = L::splat(0.0);
    let [nr, nh] = normal.map(L::splat);
    // Heights over the base and over the side.
    let base = zero.sub(h);
    let side = r.sub(L::splat(radius)).mul_add(nr, h.mul(nh));
    let inside = zero.ge(base.max(side));
    // Closest points of the base and of the side, from the rim.
    let on_base = r.min(L::splat(radius));
    let slant = (length * length + radius * radius).sqrt();
    let along = h.mul(nr).sub(r.sub(L::splat(radius)).mul(nh)).max(zero).min(L::splat(slant));
    let (sr, sh) = (L::splat(radius).sub(along.mul(nh)), along.mul(nr));
    let (bx, by) = (r.sub(on_base), h);
    let (sx, sy) = (r.sub(sr), h.sub(sh));
    let (b2, s2) = (bx.mul_add(bx, by.mul(by)), sx.mul_add(sx, sy.mul(sy)));
    let to_base = b2.lt(s2);
    let l = b2.min(s2).sqrt();
    let i = L::splat(1.0).div(l.max(L::splat(1e-30)));
    let out_r = L::select(to_base, bx, sx).mul(i);
    let out_h = L::select(to_base, by, sy).mul(i);
    let deeper = base.ge(side);
    let in_r = L::select(deeper, zero, nr);
    let in_h = L::select(deeper, L::splat(-1.0), nh);
    let d = L::select(inside, base.max(side), l);
    (d, L::select(inside, in_r, out_r), L::select(inside, in_h, out_h))
}

/// What a rotation does to the axes, as rows.
pub(crate) fn rows(rotation: DQuat) -> [[f32; 3]; 3] {
    let m = DMat3::from_quat(rotation).transpose();
    [f32s(m.x_axis), f32s(m.y_axis), f32s(m.z_axis)]
}
