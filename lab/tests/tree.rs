//! Trees over shells: every point in one leaf, balls that hold their points and are smallest, every level the whole surface.
//!
//! Referee for balls: the smallest ball by trying supports, written for this test.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::pairs;
use glam::{DMat3, DVec3};
use palpate::field::Encoding;
use palpate::tree::TreeParams;
use palpate::{Shape, Shell, Tree};
use palpate_lab::oracle::Random;

const SEED: u64 = 0x7ee0_0001;

/// Shapes of every kind with points to a cluster.
fn trees() -> Vec<(&'static str, usize, Shape)> {
    let meshes = pairs::meshes();
    let mut out = Vec::new();
    for (name, a, b) in meshes {
        for k in [4, 8] {
            out.push((name, k, pairs::shape(a.clone(), 90, 1.5, Encoding::Float, k)));
            out.push((name, k, pairs::shape(b.clone(), 70, 1.5, Encoding::Float, k)));
        }
    }
    out
}

/// The smallest ball around points: centre and radius. Points in random order, each one outside the ball so far becomes part of
/// its support.
fn smallest_ball(points: &[DVec3], support: &mut Vec<DVec3>) -> (DVec3, f64) {
    let mut ball = through(support);
    if support.len() == 4 {
        return ball;
    }
    for i in 0..points.len() {
        if (points[i] - ball.0).length() > ball.1 * (1.0 + 1e-12) {
            support.push(points[i]);
            ball = smallest_ball(&points[..i], support);
            support.pop();
        }
    }
    ball
}

/// The smallest ball with up to four points on its surface.
fn through(support: &[DVec3]) -> (DVec3, f64) {
    let Some((&o, rest)) = support.split_first() else { return (DVec3::ZERO, -1.0) };
    let e: Vec<DVec3> = rest.iter().map(|p| *p - o).collect();
    // Centre o + x, with x in the span of the edges and 2 x·e = e·e.
    let x = match e[..] {
        [] => DVec3::ZERO,
        [a] => 0.5 * a,
        [a, b] => {
            let n = a.cross(b);
            (a.length_squared() * b.cross(n) + b.length_squared() * n.cross(a)) / (2.0 * n.length_squared())
        }
        [a, b, c, ..] => {
            let m = DMat3::from_cols(a, b, c).transpose();
            m.inverse() * (0.5 * DVec3::new(a.dot(a), b.dot(b), c.dot(c)))
        }
    };
    if x.is_finite() { (o + x, x.length()) } else { (o, f64::INFINITY) }
}

#[test]
fn every_point_is_in_one_leaf_and_every_level_holds_all() {
    for (name, k, shape) in trees() {
        let tree = shape.tree();
        let shell = tree.shell_report();
        assert_eq!(tree.len(), shell.entries, "{name}");
        let mut sources: Vec<u32> = (0..tree.len()).map(|i| tree.source(i)).collect();
        sources.sort_unstable();
        assert!(sources.iter().enumerate().all(|(i, s)| i as u32 == *s), "{name}: not every entry once");
        assert_eq!(tree.nodes(0), 1);
        for l in 0..tree.levels() {
            let mut next = 0;
            let mut area = 0.0;
            for n in 0..tree.nodes(l) {
                let points = tree.points_of(l, n);
                assert_eq!(points.start, next, "{name}: level {l}");
                assert!(!points.is_empty(), "{name}: level {l}");
                next = points.end;
                let (parent, own) = tree.parent(l, n);
                assert!(points.contains(&parent), "{name}: level {l}, node {n}");
                let sum: f64 = points.map(|i| f64::from(tree.area(i))).sum();
                assert!((sum - f64::from(own)).abs() <= 1e-6 * sum, "{name}: level {l}, node {n}");
                area += f64::from(own);
            }
            assert_eq!(next, tree.len(), "{name}: level {l}");
            // Areas of nodes are f32.
            assert!((area - shell.area).abs() <= 1e-6 * shell.area, "{name}: level {l}: {area}");
        }
        let mesh: f64 = shape.mesh().report().area;
        let caps = name.starts_with("open");
        assert!(caps || (shell.area / mesh - 1.0).abs() < 0.01, "{name}: {} of {mesh}", shell.area);
        // Leaves hold about K points.
        let last = tree.levels() - 1;
        let mean = tree.len() as f64 / tree.nodes(last) as f64;
        println!("{name}, K = {k}: {} points, {} levels, {mean:.1} to a leaf", tree.len(), tree.levels());
        assert!(mean > 0.4 * k as f64 && mean < 3.0 * k as f64, "{name}: {mean} points to a leaf");
    }
}

/// Balls hold all points below them, and are the smallest within 1e-6 of the radius, and the rounding of f32 coordinates.
#[test]
fn balls_hold_all_descendants_and_are_smallest() {
    let mut random = Random::new(SEED);
    let (mut balls, mut checked, mut worst) = (0, 0, 0.0f64);
    for (name, _, shape) in trees() {
        let tree = shape.tree();
        let origin = tree.ball(0, 0).0;
        let rounding = 2.0 * f64::from(f32::EPSILON) * shape.aabb().extent().length();
        for l in 0..tree.levels() {
            let every = tree.nodes(l).div_ceil(200);
            for n in 0..tree.nodes(l) {
                let (centre, radius) = tree.ball(l, n);
                let points: Vec<DVec3> = tree.points_of(l, n).map(|i| tree.position(i)).collect();
                // Positions are sums of an f64 origin and f32 offsets: the sum rounds once more.
                let far = points.iter().map(|p| (*p - centre).length()).fold(0.0, f64::max);
                assert!(far <= radius + 1e-12 * (origin.length() + radius), "{name}: level {l}, node {n}");
                balls += 1;
                if n % every == 0 {
                    let mut shuffled = points;
                    for i in (1..shuffled.len()).rev() {
                        shuffled.swap(i, random.below(i + 1));
                    }
                    let (_, least) = smallest_ball(&shuffled, &mut Vec::new());
                    let over = radius - least.max(0.0);
                    assert!(
                        over <= 1e-6 * radius + rounding,
                        "{name}: level {l}, node {n}: {radius} but {least} is enough"
                    );
                    worst = worst.max(over / radius.max(1e-300));
                    checked += 1;
                }
            }
        }
    }
    println!("{balls} balls, {checked} against the smallest: at most {worst:.1e} larger");
    assert!(checked > 4_000);
}

/// A node's point is the one of its children's points that is nearest their mean, to f32 rounding of means.
#[test]
fn parents_are_the_points_nearest_the_mean() {
    let mut checked = 0;
    for (name, _, shape) in trees() {
        let tree = shape.tree();
        for l in 0..tree.levels() {
            let mut child = 0;
            for n in 0..tree.nodes(l) {
                let range = tree.points_of(l, n);
                let mut items: Vec<DVec3> = Vec::new();
                if l + 1 < tree.levels() {
                    while child < tree.nodes(l + 1) && tree.points_of(l + 1, child).end <= range.end {
                        items.push(tree.position(tree.parent(l + 1, child).0));
                        child += 1;
                    }
                } else {
                    items.extend(range.map(|i| tree.position(i)));
                    // Entries at one place are one point.
                    items.dedup();
                }
                let mean = items.iter().sum::<DVec3>() / items.len() as f64;
                let least = items.iter().map(|p| (*p - mean).length()).fold(f64::INFINITY, f64::min);
                let own = (tree.position(tree.parent(l, n).0) - mean).length();
                let rounding = 1e-6 * shape.aabb().extent().length();
                assert!(own <= least + rounding, "{name}: level {l}, node {n}: {own} {least}");
                checked += 1;
            }
        }
    }
    assert!(checked > 10_000, "{checked}");
}

/// Levels are uniform: points of nodes are farther apart on each coarser level (at least 1.35 times, K = 4, or 1.7, K = 8, in the
/// median; √K for a perfect one), hardly any pair is much nearer than that, and no point is far from the one that stands for it.
#[test]
fn every_level_is_a_uniform_picture_of_the_surface() {
    let mut levels = 0;
    for (name, k, shape) in trees() {
        let tree = shape.tree();
        let mut finer: Option<f64> = None;
        for l in (0..tree.levels()).rev().filter(|l| tree.nodes(*l) >= 40) {
            let reps: Vec<DVec3> = (0..tree.nodes(l)).map(|n| tree.position(tree.parent(l, n).0)).collect();
            let mut nearest: Vec<f64> = reps
                .iter()
                .enumerate()
                .map(|(i, p)| {
                    let others = reps.iter().enumerate().filter(|(j, _)| *j != i);
                    others.map(|(_, q)| (*p - *q).length()).fold(f64::INFINITY, f64::min)
                })
                .collect();
            nearest.sort_unstable_by(f64::total_cmp);
            let (median, low) = (nearest[nearest.len() / 2], nearest[nearest.len() / 20]);
            let reach = (0..tree.nodes(l))
                .flat_map(|n| tree.points_of(l, n).map(move |i| (n, i)))
                .map(|(n, i)| (tree.position(i) - reps[n]).length())
                .fold(0.0, f64::max);
            let grows = finer.map_or(f64::INFINITY, |f| median / f);
            println!(
                "{name}, K = {k}, level {l}: {} nodes, nearest neighbour {median:.2e}, grows {grows:.2}, low {:.2}, reach {:.2}",
                reps.len(),
                low / median,
                reach / median
            );
            assert!(grows > if k == 4 { 1.35 } else { 1.7 }, "{name}, level {l}");
            assert!(low > 0.3 * median, "{name}, level {l}");
            assert!(reach < 4.0 * median, "{name}, level {l}");
            finer = Some(median);
            levels += 1;
        }
    }
    assert!(levels > 60, "{levels}");
}

#[test]
fn odd_shells_make_valid_trees() {
    let at = |points: &[DVec3]| {
        let normals = vec![glam::Vec3::Z; points.len()];
        Tree::build(
            &Shell::from_points(points, &normals, &vec![1.0; points.len()], 0.1, 0.1),
            &TreeParams::default(),
        )
    };
    let empty = at(&[]);
    assert_eq!((empty.len(), empty.levels(), empty.segments()), (0, 0, 0));
    // One point; many at one place; on a line; two clumps far apart.
    let line: Vec<DVec3> = (0..500).map(|i| DVec3::X * f64::from(i) * 0.1).collect();
    let clumps: Vec<DVec3> =
        (0..200).map(|i| DVec3::new(f64::from(i % 2) * 1e6, f64::from(i / 2), 0.0)).collect();
    for points in [vec![DVec3::ONE], vec![DVec3::ONE; 300], line, clumps] {
        let tree = at(&points);
        assert_eq!(tree.len(), points.len());
        assert!(tree.levels() >= 1 && tree.nodes(0) == 1);
        for l in 0..tree.levels() {
            let area: f32 = (0..tree.nodes(l)).map(|n| tree.parent(l, n).1).sum();
            assert!((area - points.len() as f32).abs() < 1e-3);
        }
    }
    // Parameters out of range are held to it.
    let wild = TreeParams { cluster: 0, outlier: f64::NAN, segments: 0, threads: 0 };
    let shell = Shell::from_points(&[DVec3::ONE; 9], &[glam::Vec3::Z; 9], &[1.0; 9], 0.1, 0.1);
    assert_eq!(Tree::build(&shell, &wild).len(), 9);
}
