use palpate_lab::scenes::*;
use palpate_sim::*;
use std::path::Path;
fn main() {
    let arg = |i: usize, d: &str| std::env::args().nth(i).unwrap_or(d.into());
    let models = std::env::var("PALPATE_MODELS").unwrap();
    let m = Path::new(&models);
    let mu: f64 = arg(4, "0").parse().unwrap();
    let engine = match arg(2, "own").as_str() { "own" => Engine::Own, "rapier" => Engine::Rapier, _ => Engine::Bullet };
    let seconds: f64 = arg(3, "2").parse().unwrap();
    let sp: f64 = arg(5, "2e-4").parse().unwrap();
    let scene = match arg(1, "nut").as_str() {
        "nut" => nut_on_bolt(m, mu, sp),
        "peg" => peg_in_hole(m, "round", 3e-4, 0.5f64.to_radians(), mu, sp),
        "pegc" => peg_in_hole(m, "round", 0.0, 0.0, mu, sp),
        "rect" => peg_in_hole(m, "rect", 3e-4, 0.5f64.to_radians(), mu, sp),
        "gear" => gear_on_peg(m, 3e-4, 0.5f64.to_radians(), mu, sp),
        _ => panic!(),
    }.unwrap();
    let patches: usize = arg(6, "16").parse().unwrap();
    let options = Options { rate: 240.0, both: arg(7, "1") == "1", choice: Some(palpate::manifold::Choice::Patches(patches)), iterations: arg(8, "0").parse().unwrap() };
    let mut sim = start(engine, &scene, &options).unwrap();
    let mut referee = depth::Referee::new(&scene);
    let last = scene.bodies.len() - 1;
    let (mut worst, mut us, mut nus) = (0.0f64, 0.0, 0.0);
    println!("start depth {:?}", referee.deepest(&*sim));
    let n = (seconds * 240.0) as usize;
    for i in 0..n {
        let s = sim.step().unwrap();
        us += s.step_us; nus += s.narrow_us.unwrap_or(0.0);
        let d = referee.deepest(&*sim).0;
        worst = worst.max(d);
        if i % (n / 24).max(1) == 0 || i + 1 == n {
            let st = sim.state(last);
            let z = st.pose.rotation * glam::DVec3::Z;
            let x = st.pose.rotation * glam::DVec3::X;
            println!("t {:.3} pos {:.5} {:.5} {:.5} yaw {:.3} tilt {:.4} v {:.4} w {:.2} depth {:.2} um told {:.2} um", i as f64 / 240.0, st.pose.translation.x, st.pose.translation.y, st.pose.translation.z, x.y.atan2(x.x), z.z.min(1.0).acos().to_degrees(), st.linear.length(), st.angular.length(), d * 1e6, s.deepest * 1e6);
        }
    }
    println!("worst depth {:.2} um, step {:.1} us, narrow {:.1} us", worst * 1e6, us / n as f64, nus / n as f64);
}
