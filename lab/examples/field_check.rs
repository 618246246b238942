use palpate::field::FieldParams;
use palpate::progress::Progress;
use palpate::{Field, Mesh};
use palpate_lab::oracle::{Oracle, points_in_box};
use std::sync::Mutex;
use std::time::Instant;

struct Times(Mutex<(Instant, Vec<(&'static str, f64)>)>);
impl Progress for Times {
    fn stage(&self, name: &'static str, _: u64) {
        let mut t = self.0.lock().unwrap();
        let s = t.0.elapsed().as_secs_f64() * 1e3;
        if let Some(l) = t.1.last_mut() {
            l.1 = s;
        }
        t.0 = Instant::now();
        t.1.push((name, 0.0));
    }
    fn advance(&self, _: u64) {}
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let path = &args[1];
    let n: f64 = args[2].parse().unwrap();
    let threads: usize = args.get(3).map_or(2, |a| a.parse().unwrap());
    let points: usize = args.get(4).map_or(20000, |a| a.parse().unwrap());
    let mesh = Mesh::load(path, 1.0).unwrap();
    let e = mesh.aabb().extent().max_element();
    let h = e / (n - 6.0);
    let mut best = f64::MAX;
    let mut field = None;
    for _ in 0..5 {
        let t = Times(Mutex::new((Instant::now(), vec![])));
        let s = Instant::now();
        let f = Field::build_with(&mesh, h, &FieldParams { threads, ..Default::default() }, &t).unwrap();
        let ms = s.elapsed().as_secs_f64() * 1e3;
        if ms < best {
            best = ms;
            t.stage("end", 0);
            println!("{:.1} ms: {:?}", ms, t.0.lock().unwrap().1);
        }
        field = Some(f);
    }
    let field = field.unwrap();
    println!("{:?} {:?}", field.lattice(), field.report());
    if points == 0 {
        return;
    }
    // capped oracle
    let topo = palpate::mesh::Topology::build(mesh.triangles(), mesh.positions().len());
    let caps = palpate::mesh::cap_holes(mesh.positions(), mesh.triangles(), &topo, &Default::default());
    let pos = [mesh.positions(), &caps.positions].concat();
    let tri = [mesh.triangles(), &caps.triangles].concat();
    let oracle = Oracle::new(&pos, &tri).unwrap();
    if n < 300.0 {
        nodes(&field, &oracle, h);
    }
    let b = field.lattice().aabb();
    let mut pts = points_in_box(b.min, b.max, points, 1);
    pts.extend(oracle.points_near_surface(points, 4.0 * h, 2));
    let exact = oracle.signed_distance_batch(&pts);
    let (mut band, mut far, mut wrong) = (vec![], vec![], 0);
    for (p, d) in pts.iter().zip(&exact) {
        let s = field.sample(*p).distance;
        let e = (s - d).abs() / h;
        if d.abs() < 3.0 * h {
            band.push(e)
        } else {
            far.push(e)
        }
        if d.abs() > h && (s < 0.0) != (*d < 0.0) {
            wrong += 1
        }
    }
    for (n, v) in [("band", &mut band), ("far", &mut far)] {
        v.sort_by(f64::total_cmp);
        let rms = (v.iter().map(|e| e * e).sum::<f64>() / v.len() as f64).sqrt();
        println!(
            "{n}: n {} rms {:.5} p99 {:.4} p99.9 {:.4} max {:.4}",
            v.len(),
            rms,
            v[v.len() * 99 / 100],
            v[v.len() * 999 / 1000],
            v[v.len() - 1]
        );
    }
    println!("wrong signs {wrong} of {}", pts.len());
}
#[allow(dead_code)]
fn nodes(field: &Field, oracle: &Oracle, h: f64) {
    let l = field.lattice();
    let mut bad = 0;
    for k in 0..=l.cells[2] {
        for j in 0..=l.cells[1] {
            for i in 0..=l.cells[0] {
                let p = l.origin + glam::DVec3::new(i as f64, j as f64, k as f64) * 8.0 * h;
                let s = field.sample(p).distance / h;
                let d = oracle.signed_distance(p) / h;
                if (s - d).abs() > 1e-2 {
                    bad += 1;
                    if bad < 20 {
                        println!("node {i} {j} {k}: {s} vs {d}");
                    }
                }
            }
        }
    }
    println!("bad background nodes {bad}");
    let mut bad = 0;
    let d = l.dims();
    for k in 0..=d[2] {
        for j in 0..=d[1] {
            for i in 0..=d[0] {
                let p = l.origin + glam::DVec3::new(i as f64, j as f64, k as f64) * h;
                let s = field.sample(p).distance / h;
                if s.abs() > 12.0 {
                    continue;
                }
                let d = oracle.signed_distance(p) / h;
                let bad_band = d.abs() < 4.7 && (s.abs() - d.abs()).abs() > 1e-3;
                if bad_band || (s - d).abs() > 6.0 {
                    bad += 1;
                    if bad < 30 {
                        println!("fine {i} {j} {k} ({}): {s} vs {d}", if bad_band { "band" } else { "far" });
                    }
                }
            }
        }
    }
    println!("bad fine nodes {bad}");
}
#[allow(dead_code)]
fn explain(oracle: &Oracle, mesh: &Mesh, l: &palpate::field::Lattice, n: [f64; 3]) {
    let p = l.origin + glam::DVec3::from_array(n) * l.voxel;
    let c = oracle.closest(p);
    println!("closest {:?} tri {} at {:?}", c.distance / l.voxel, c.triangle, (c.point - l.origin) / l.voxel);
    let t = c.triangle as usize;
    for v in mesh.corners(t) {
        println!("   corner {:?}", (v - l.origin) / l.voxel);
    }
    let topo = mesh.topology();
    println!("  neighbours {:?}", topo.neighbours[t]);
    let [a, b, cc] = mesh.corners(t);
    let nn = (b - a).cross(cc - a);
    println!("  normal {:?} area {:e}", nn.normalize(), nn.length() / l.voxel / l.voxel);
    for e in 0..3 {
        let o = topo.neighbours[t][e] as usize;
        if o < mesh.triangles().len() {
            let [a, b, c] = mesh.corners(o);
            let n2 = (b - a).cross(c - a);
            println!(
                "  neighbour {e} normal {:?} area {:e} {:?}",
                n2.normalize(),
                n2.length() / l.voxel / l.voxel,
                mesh.corners(o).map(|v| (v - l.origin) / l.voxel)
            );
        }
    }
}
