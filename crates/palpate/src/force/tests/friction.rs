use crate::contact::{Contact, Contacts};
use crate::field::analytic::Analytic;
use crate::field::source::random::Random;
use crate::force::friction::{creep, creep_plain, rub, rub_plain};
use crate::force::penalty::{Job, Sums};
use crate::force::referee::{self, Anchors, contacts, exact, grid, random, swapped};
use crate::force::{ContactState, Direction, ForceParams, FrictionParams, Law, Twist, penalty};
use crate::math::Pose;
use glam::{DQuat, DVec3};

const K: f64 = 1e9;

fn rough(mu_static: f64, mu_dynamic: f64) -> ForceParams {
    ForceParams {
        friction: FrictionParams {
            static_coefficient: mu_static,
            dynamic_coefficient: mu_dynamic,
            ..Default::default()
        },
        ..ForceParams::new(K)
    }
}

/// Slides a block of 1 kg down a plane for a second; how far it gets [m], and how fast it is at the end.
fn slide(angle: f64, mu: f64, points_of_a: bool) -> (f64, f64) {
    let (mass, g, dt) = (1.0, 9.81, 1e-4);
    let normal = DVec3::new(angle.sin(), 0.0, angle.cos());
    let down = DVec3::new(angle.cos(), 0.0, -angle.sin());
    let tilt = DQuat::from_rotation_arc(DVec3::Z, normal);
    let plane = Analytic::half_space(normal, 0.0).unwrap();
    let face = grid(0.04, 0.04, 5, 5, DVec3::NEG_Z);
    // With A's points the block has a face without end, and the plane a few points under it.
    let under = Analytic::half_space(DVec3::NEG_Z, 0.0).unwrap();
    let pads: Vec<_> = face.iter().map(|&(p, _, area)| (tilt * p, normal, area)).collect();
    let params = ForceParams {
        damping: 3e5,
        friction: FrictionParams { damping: 3e5, ..rough(mu, mu).friction },
        ..rough(mu, mu)
    };
    let depth = mass * g * angle.cos() / (K * 0.04 * 0.04);
    let (mut at, mut velocity) = (normal * -depth, DVec3::ZERO);
    let start = at;
    let mut state = ContactState::with_capacity(25);
    for _ in 0..10_000 {
        let pose = Pose::new(tilt, at);
        let found = if points_of_a {
            swapped(&under, &pads, &pose, 0.0)
        } else {
            contacts(&plane, &face, &pose, 0.0)
        };
        assert_eq!(found.list.len(), 25);
        let motion = Twist { linear: velocity, angular: DVec3::ZERO };
        let force = penalty(&found, &params, &pose, Some(&motion), Some(&mut state));
        velocity += (force.wrench.force / mass - DVec3::Z * g) * dt;
        at += velocity * dt;
    }
    ((at - start).dot(down), velocity.dot(down))
}

/// Sticking means: at rest after the springs took up the load, which they do within 0.1 mm. Sliding means: g (sin − μ cos), within 1 %.
#[test]
fn a_block_sticks_below_the_angle_of_friction_and_slides_above() {
    let mu: f64 = 0.5;
    let limit = mu.atan();
    for points_of_a in [false, true] {
        for angle in [0.5 * limit, 0.97 * limit] {
            let (way, speed) = slide(angle, mu, points_of_a);
            assert!(way.abs() < 1e-4 && speed.abs() < 1e-6, "{angle}: {way} m, {speed} m/s");
        }
        for angle in [1.05 * limit, 1.5 * limit] {
            let (way, speed) = slide(angle, mu, points_of_a);
            let a = 9.81 * (angle.sin() - mu * angle.cos());
            assert!((speed / a - 1.0).abs() < 0.01, "{angle}: {speed} m/s, {a}");
            // Before the springs pull, it falls freely for a moment.
            assert!((way / (0.5 * a) - 1.0).abs() < 0.03, "{angle}: {way} m, {a}");
        }
    }
}

/// A frame: contacts come and go, move, and change their depth; the same history for both laws.
fn frame(r: &mut Random, n: usize, from: &Contacts) -> Contacts {
    let mut list = from.list.clone();
    for c in &mut list {
        for x in &mut c.point {
            *x += r.range(-5e-4, 5e-4) as f32;
        }
        c.distance += r.range(-5e-4, 5e-4) as f32;
        c.normal = (c.normal().as_dvec3() + r.point(0.02)).normalize().as_vec3().to_array();
    }
    list.retain(|_| !r.bits().is_multiple_of(16));
    while list.len() < n {
        let id = (r.bits() % 4096) as u32;
        if !list.iter().any(|c| c.id == id) {
            list.push(Contact { id, ..random(r.bits(), 1, false).list[0] });
        }
    }
    list.sort_by_key(|c| c.id);
    Contacts { list, ..from.clone() }
}

/// Against the plain law with a map of anchors in f64. 2e-5 of the sum of lengths: anchors are f32, 8e-9 m apart at 0.1 m,
/// under springs that give 1 mm. The f32 anchors stay within that of the exact ones for the whole history.
#[test]
fn histories_agree_with_the_plain_law() {
    let (mut used, mut sliding, mut known, mut skipped) = (0, 0, 0, 0);
    for seed in 0..40 {
        let mut r = Random(seed);
        let is_swapped = seed % 2 == 0;
        let params = ForceParams {
            direction: if seed % 3 == 0 { Direction::Shell } else { Direction::Field },
            law: if seed % 5 == 0 { Law::Averaged } else { Law::Integrated },
            damping: 1e5,
            friction: FrictionParams { damping: 1e5, stiffness_ratio: 0.7, ..rough(0.6, 0.4).friction },
            ..rough(0.6, 0.4)
        };
        let mut found = Contacts { list: Vec::new(), ..random(seed, 0, is_swapped) };
        let (mut state, mut anchors) = (ContactState::new(), Anchors::new());
        let start = Pose::new(r.rotation(), found.origin + r.point(0.1));
        for step in 0..20 {
            found = frame(&mut r, 90, &found);
            // From another origin: anchors must not notice.
            let moved = Contacts { origin: found.origin + r.point(5e-4), ..found.clone() };
            let a_from_b = Pose::new(
                DQuat::from_scaled_axis(r.point(5e-4)) * start.rotation,
                start.translation + r.point(5e-4),
            );
            let motion = Twist { linear: r.point(0.1), angular: r.point(0.1) };
            known += exact(&moved).iter().filter(|c| c.distance < 0.0 && anchors.contains_key(&c.id)).count();
            let wanted = referee::force(
                &exact(&moved),
                is_swapped,
                &params,
                &a_from_b,
                &motion,
                Some(&mut anchors),
                false,
            );
            let force = penalty(&moved, &params, &a_from_b, Some(&motion), Some(&mut state));
            if wanted.edge < 1e-4 {
                // Rounding decides whether it sticks: both start anew.
                state.clear();
                anchors.clear();
                skipped += 1;
                continue;
            }
            let off = force.wrench + -wanted.wrench;
            assert!(off.force.length() <= 2e-5 * wanted.force_scale, "{seed} {step}: {}", off.force);
            assert!(off.torque.length() <= 2e-5 * wanted.torque_scale, "{seed} {step}: {}", off.torque);
            assert!(force.sliding == wanted.sliding && !force.unsorted);
            assert_eq!((force.used, force.sticking + force.sliding), (wanted.used, wanted.used));
            assert_eq!(state.len(), force.used);
            // Coulomb's cone, for each contact.
            assert!(wanted.steepest <= 0.6 * (1.0 + 1e-12));
            used += force.used;
            sliding += force.sliding;
        }
    }
    let share = |n: usize| n as f64 / used as f64;
    assert!((0.2..0.8).contains(&share(sliding)), "{}", share(sliding));
    assert!(skipped < 40, "{skipped} of 800");
    assert!((0.6..0.98).contains(&share(known)), "{}", share(known));
}

/// One contact pulled about at random: never more than μ times the normal force, beyond f32 rounding.
#[test]
fn friction_stays_in_its_cone() {
    let (mut slid, mut stuck) = (0, 0);
    for seed in 0..50 {
        let mut r = Random(seed);
        let mut found = random(seed, 1, false);
        let mut state = ContactState::new();
        let params = rough(0.5, 0.3);
        for _ in 0..40 {
            found.list[0].distance = -r.range(0.0, 2e-3) as f32;
            for x in &mut found.list[0].point {
                *x += r.range(-4e-4, 4e-4) as f32;
            }
            let force = penalty(&found, &params, &Pose::IDENTITY, None, Some(&mut state));
            let n = found.list[0].normal().as_dvec3();
            let normal = force.wrench.force.dot(n);
            let friction = (force.wrench.force - n * normal).length();
            let mu = if force.sliding > 0 { 0.3 } else { 0.5 };
            assert!(
                friction <= mu * force.normal_force * (1.0 + 1e-6) + 1e-6 * normal,
                "{friction} {normal}"
            );
            slid += force.sliding;
            stuck += force.sticking;
        }
    }
    assert!(slid > 300 && stuck > 300, "{slid} {stuck}");
}

fn pad(n: usize) -> Vec<referee::Patch> {
    grid(0.02, 0.02, n, n, DVec3::NEG_Z)
}

/// Work of friction on B, by the mean of the forces at both ends of each step, which is exact for springs. It is never
/// positive, as the springs start without stretch; around a loop that slides it is negative, and around one that only
/// sticks it is 0.
#[test]
fn loops_never_gain_energy() {
    let plane = Analytic::half_space(DVec3::Z, 0.0).unwrap();
    let face = pad(4);
    let params = rough(0.4, 0.4);
    let depth = 1e-3;
    let most = 0.4 * K * depth * 4e-4;
    let run = |path: &dyn Fn(usize) -> DVec3, steps: usize| {
        let (mut state, mut work, mut peak) = (ContactState::new(), 0.0, f64::NEG_INFINITY);
        let (mut last, mut slid) = (None::<(DVec3, DVec3)>, 0);
        for step in 0..steps {
            let at = path(step) - DVec3::Z * depth;
            let found = contacts(&plane, &face, &Pose::from_translation(at), 0.0);
            let force = penalty(&found, &params, &Pose::from_translation(at), None, Some(&mut state));
            let f = force.wrench.force.with_z(0.0);
            if let Some((from, f_from)) = last {
                work += 0.5 * (f + f_from).dot(at - from);
            }
            last = Some((at, f));
            peak = f64::max(peak, work);
            slid += force.sliding;
        }
        (work, peak, slid)
    };
    let circle = |radius: f64| {
        move |step: usize| {
            let angle = step as f64 * 0.01 * std::f64::consts::TAU;
            DVec3::new(angle.cos() - 1.0, angle.sin(), 0.0) * radius
        }
    };
    // Springs give 0.4 mm: a large circle slides, a small one does not.
    let (once, peak, slid) = run(&circle(5e-3), 101);
    let (thrice, ..) = run(&circle(5e-3), 301);
    assert!(slid > 1000 && peak <= 1e-7 && once < -0.8 * most * 0.0314);
    assert!(thrice < 2.9 * once);
    let (work, _, slid) = run(&circle(1e-4), 301);
    assert!(slid == 0 && work.abs() < 1e-6 * most * 1e-4, "{work}");
    // Walks that come back to where they began, by any steps.
    let mut slides = 0;
    for seed in 0..30 {
        let mut r = Random(seed);
        let mut way = vec![DVec3::ZERO];
        for _ in 0..60 {
            way.push(way[way.len() - 1] + r.point(6e-4).with_z(0.0));
        }
        way.push(DVec3::ZERO);
        let (work, peak, slid) = run(&|step| way[step], way.len());
        assert!(work < 0.0 && peak <= 1e-6 * most * 4e-4, "{seed}: {work} {peak}");
        slides += slid;
    }
    assert!((0.2..0.9).contains(&(slides as f64 / (30.0 * 62.0 * 16.0))));
}

#[test]
fn rest_is_not_undefined() {
    let plane = Analytic::half_space(DVec3::Z, 0.0).unwrap();
    let pose = Pose::from_translation(DVec3::Z * -1e-3);
    let found = contacts(&plane, &pad(4), &pose, 0.0);
    for params in [rough(0.5, 0.5), ForceParams { stiffness: 0.0, ..rough(0.5, 0.5) }] {
        let mut state = ContactState::new();
        for motion in [None, Some(&Twist::ZERO)] {
            for state in [None, Some(&mut state)] {
                let force = penalty(&found, &params, &pose, motion, state);
                assert!(!force.non_finite && force.wrench.force.truncate().length() == 0.0);
                assert_eq!((force.sticking, force.sliding), (16, 0));
            }
        }
    }
    // Without memory friction grows with the speed up to the creep speed, then no more.
    let along = |speed: f64| {
        let motion = Twist { linear: DVec3::X * speed, angular: DVec3::ZERO };
        penalty(&found, &rough(0.5, 0.5), &pose, Some(&motion), None).wrench.force.x
    };
    let most = -0.5 * K * 1e-3 * 4e-4;
    assert!((along(5e-4) / (0.5 * most) - 1.0).abs() < 1e-6 && along(-5e-4) == -along(5e-4));
    assert!((along(1.0) / most - 1.0).abs() < 1e-6);
}

#[test]
fn memory_is_kept_swapped_and_forgotten() {
    let (n, params) = (1000, rough(0.5, 0.5));
    let found = random(5, n, false);
    let mut state = ContactState::with_capacity(n);
    let buffers = |s: &ContactState| {
        let mut all = [&s.last, &s.next].map(|m| (m.ids.as_ptr(), m.anchors.as_ptr()));
        all.sort();
        all
    };
    let before = buffers(&state);
    let first = penalty(&found, &params, &Pose::IDENTITY, None, Some(&mut state));
    assert_eq!(first.sticking, first.used);
    for step in 0..10 {
        let shift = DVec3::X * 1e-5 * f64::from(step);
        let moved = Contacts { origin: found.origin + shift, ..found.clone() };
        let force = penalty(&moved, &params, &Pose::from_translation(shift), None, Some(&mut state));
        assert_eq!(force.used, state.len());
        assert!(step == 0 || force.wrench.force != first.wrench.force);
    }
    assert_eq!(before, buffers(&state), "a state with room allocates nothing");
    // Cleared, or used for the other direction, it starts anew.
    let mut other = state.clone();
    other.clear();
    let again = penalty(&found, &params, &Pose::IDENTITY, None, Some(&mut other));
    assert_eq!(again, first);
    let turned = Contacts { swapped: true, ..found.clone() };
    let force = penalty(&turned, &params, &Pose::IDENTITY, None, Some(&mut state));
    assert_eq!((force.wrench, force.sticking), (first.wrench, first.used));
    // Friction switched off forgets too.
    penalty(&turned, &ForceParams::new(K), &Pose::IDENTITY, None, Some(&mut state));
    assert!(state.is_empty());
    // Out of order: an answer, and a flag.
    let mut mixed = found.clone();
    mixed.list.reverse();
    for _ in 0..2 {
        let force = penalty(&mixed, &params, &Pose::IDENTITY, None, Some(&mut state));
        assert!(force.unsorted && !force.non_finite && force.used == first.used);
    }
}

#[test]
fn lanes_do_not_change_bits() {
    let mut slid = 0;
    for n in (0..40).chain([515]) {
        for (is_swapped, direction) in [(false, Direction::Field), (true, Direction::Shell)] {
            let found = random(n as u64, n, is_swapped);
            let motion = Twist { linear: DVec3::new(0.1, 0.2, 0.3), angular: DVec3::X };
            let friction = FrictionParams { damping: 1e5, ..rough(0.5, 0.3).friction };
            let params = ForceParams { direction, friction, ..rough(0.5, 0.3) };
            let mut state = ContactState::new();
            penalty(&found, &params, &Pose::IDENTITY, None, Some(&mut state));
            let pose = Pose::new(DQuat::from_rotation_y(1e-3), DVec3::X * 1e-3);
            let moved = Contacts { origin: found.origin + DVec3::Y * 1e-3, ..found };
            let job = Job::new(&moved, &params, &pose, &motion);
            let frame = state.begin(&moved, &pose);
            let last = (&*state.last.ids, &*state.last.anchors);
            let (mut a, mut b) = (Sums::default(), Sums::default());
            let (mut next_a, mut next_b) = (state.next.clone(), state.next.clone());
            rub(&job, &moved.list, &frame, last, &mut next_a, &mut a);
            rub_plain(&job, &moved.list, &frame, last, &mut next_b, &mut b);
            assert_eq!((&a, &next_a.ids, &next_a.anchors), (&b, &next_b.ids, &next_b.anchors));
            slid += a.sliding;
            creep(&job, &moved.list, &mut a);
            creep_plain(&job, &moved.list, &mut b);
            assert_eq!(a, b);
        }
    }
    assert!(slid > 100);
}
