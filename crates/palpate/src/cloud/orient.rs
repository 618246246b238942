//! Normals that agree: each connected part of a cloud faces one way.
//!
//! Based on: hoppe92 (a minimum spanning tree over neighbours, weight 1 − |n·n'|), konig09 (how one normal says the next).
//! Differs: a neighbour's normal is compared as a circle through both points would have it, n·n' − 2 (n·d)(n'·d) with d from one to
//! the other: on a ball no edge costs anything, a right-angled edge is turned around as it should be, and so are the two sides
//! of a thin wall. Normals that are known, and points that face a sensor, hold their ground; the tree grows from them. Stray points
//! follow others but lead none, and have no say in which way a part faces.

use super::normals::{CHUNK, Fit, Graph};
use super::surfels::Sites;
use crate::par;
use glam::{DVec3, Vec3};

/// What a surface faces.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Towards {
    /// Nothing is known.
    #[default]
    Unknown,
    /// One sensor saw all points, from here, in the cloud's frame [m].
    Point(DVec3),
    /// Each point was seen from here, by id, in the cloud's frame [m]; missing ones and those that are not finite are not known.
    Each(Vec<DVec3>),
}

/// How it was decided which way a part faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Facing {
    /// By normals that were given.
    Given,
    /// By the sensors.
    Sensor,
    /// Outward: so that the volume it encloses is positive.
    Volume,
    /// Open: towards the outside of its bend, away from its middle.
    Bend,
    /// Open and flat: towards the positive end of the axis it faces most.
    Axis,
}

/// A connected part of a cloud.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// Lowest id of its points.
    pub id: u32,
    /// Number of positions.
    pub entries: usize,
    /// About [m²].
    pub area: f64,
    /// How it was decided which way it faces.
    pub facing: Facing,
    /// Share of neighbours that agree, times how clear the decision was: 1 is certain, 0 a guess [1].
    pub confidence: f64,
    /// Length of the mean normal: 0 for a closed surface, 1 for a flat sheet [1].
    pub openness: f64,
}

/// Points that see their sensor at a smaller angle from their plane than this do not hold their ground [sine]: 10°.
const GRAZING: f64 = 0.17;

/// Parts with a longer mean normal than this are open [1]: half a ball has 1/2.
const OPEN: f64 = 0.4;

/// Open parts with less of the flux of a ball than this are flat [1].
const BENT: f64 = 0.15;

/// Turns normals so that they agree, and says how sure that is.
pub(super) fn orient(
    sites: &Sites,
    graph: &Graph,
    fits: &[Fit],
    known: &[bool],
    towards: &Towards,
    origin: DVec3,
    normals: &mut [Vec3],
) -> Vec<Component> {
    let n = sites.points.len();
    let mut held = known.to_vec();
    for i in 0..n {
        let seen = match towards {
            Towards::Unknown => None,
            Towards::Point(p) => Some(*p),
            Towards::Each(all) => all.get(sites.ids[i] as usize).copied(),
        };
        let way = seen.and_then(|s| (s - origin - sites.points[i].as_dvec3()).try_normalize());
        if let Some(way) = way.filter(|_| !known[i]) {
            let sine = way.dot(normals[i].as_dvec3());
            if sine.abs() > GRAZING {
                held[i] = true;
                if sine < 0.0 {
                    normals[i] = -normals[i];
                }
            }
        }
    }
    let edges = edges(sites, graph, fits, normals);
    let (tree, parts) = span(fits, &edges, &held);
    // Along the tree, from those that hold their ground, then from the first of each part.
    let mut done = held.clone();
    let mut queue: std::collections::VecDeque<u32> = (0..n as u32).filter(|i| done[*i as usize]).collect();
    let mut next_root = 0;
    loop {
        while let Some(i) = queue.pop_front() {
            for j in tree.of(i) {
                if !core::mem::replace(&mut done[j as usize], true) {
                    let agree = agreement(
                        sites.points[i as usize],
                        normals[i as usize],
                        sites.points[j as usize],
                        normals[j as usize],
                    );
                    if agree < 0.0 {
                        normals[j as usize] = -normals[j as usize];
                    }
                    queue.push_back(j);
                }
            }
        }
        while next_root < n && done[next_root] {
            next_root += 1;
        }
        if next_root == n {
            break;
        }
        done[next_root] = true;
        queue.push_back(next_root as u32);
    }
    decide(sites, fits, known, &held, &edges, &parts, normals)
}

/// How far the normal at `q` agrees with the one at `p`, −1 to 1.
fn agreement(p: Vec3, n: Vec3, q: Vec3, m: Vec3) -> f32 {
    let d = (q - p).normalize_or_zero();
    n.dot(m) - 2.0 * n.dot(d) * m.dot(d)
}

/// A pair of neighbours: how much it costs to go from one to the other, in 2⁻³⁰, and who they are, the lower first.
type Edge = (u32, u32, u32);

/// What pairs with a stray point cost more: they come after all others.
const STRAY: u32 = 1 << 31;

/// All pairs of neighbours, cheapest first.
fn edges(sites: &Sites, graph: &Graph, fits: &[Fit], normals: &[Vec3]) -> Vec<Edge> {
    let n = sites.points.len();
    let parts = par::map(n.div_ceil(CHUNK), |c| {
        let mut out = Vec::with_capacity(CHUNK * graph.k * 2 / 3);
        for i in c * CHUNK..n.min((c + 1) * CHUNK) {
            for j in graph.of(i) {
                let j = j as usize;
                // Once for pairs that are each other's neighbours.
                if j < i && graph.of(j).any(|k| k as usize == i) {
                    continue;
                }
                let agree = agreement(sites.points[i], normals[i], sites.points[j], normals[j]).abs();
                let cost = ((1.0 - f64::from(agree).min(1.0)) * f64::from(1 << 30)) as u32;
                let more = if fits[i].stray || fits[j].stray { STRAY } else { 0 };
                out.push((cost + more, i.min(j) as u32, i.max(j) as u32));
            }
        }
        out
    });
    let mut all = parts.concat();
    par::sort_unstable(&mut all);
    all
}

/// A tree, or several, as lists of neighbours.
struct Forest {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Forest {
    fn of(&self, i: u32) -> impl Iterator<Item = u32> + '_ {
        let range = self.starts[i as usize] as usize..self.starts[i as usize + 1] as usize;
        self.list[range].iter().copied()
    }
}

/// The cheapest trees that connect all that is connected, where `held` ones count as connected; and the part each belongs to, by its
/// first entry. A stray point belongs to the part of one neighbour: it does not connect parts.
fn span(fits: &[Fit], edges: &[Edge], held: &[bool]) -> (Forest, Vec<u32>) {
    let n = fits.len();
    // Those that are held are one; the parts are those of the neighbours alone.
    let (mut trees, mut parts) = (Sets::new(n), Sets::new(n));
    let mut first_held = None;
    for i in (0..n).filter(|i| held[*i]) {
        trees.join(*first_held.get_or_insert(i) as u32, i as u32);
    }
    let mut kept = Vec::with_capacity(n);
    let mut join = |i: u32, j: u32| {
        parts.join(i, j);
        if trees.join(i, j) {
            kept.push((i, j));
        }
    };
    let (clear, mut strays) = {
        let (clear, strays) = edges.split_at(edges.partition_point(|e| e.0 < STRAY));
        (clear, strays.to_vec())
    };
    clear.iter().for_each(|e| join(e.1, e.2));
    // Strays in turn: those beside parts, those beside these, and so on; each is done with one neighbour.
    let mut placed: Vec<bool> = fits.iter().map(|f| !f.stray).collect();
    loop {
        let before = strays.len();
        strays.retain(|&(_, i, j)| {
            let there = [placed[i as usize], placed[j as usize]];
            if there[0] != there[1] {
                join(i, j);
                (placed[i as usize], placed[j as usize]) = (true, true);
            }
            !there[0] && !there[1]
        });
        if strays.len() == before {
            break;
        }
    }
    let mut starts = vec![0u32; n + 1];
    for (i, j) in &kept {
        starts[*i as usize + 1] += 1;
        starts[*j as usize + 1] += 1;
    }
    for i in 0..n {
        starts[i + 1] += starts[i];
    }
    let mut at = starts.clone();
    let mut list = vec![0; 2 * kept.len()];
    for (i, j) in kept {
        for (i, j) in [(i, j), (j, i)] {
            list[at[i as usize] as usize] = j;
            at[i as usize] += 1;
        }
    }
    (Forest { starts, list }, (0..n as u32).map(|i| parts.find(i)).collect())
}

/// Disjoint sets, each named by its lowest member.
struct Sets(Vec<u32>);

impl Sets {
    fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    fn find(&mut self, mut i: u32) -> u32 {
        while self.0[i as usize] != i {
            self.0[i as usize] = self.0[self.0[i as usize] as usize];
            i = self.0[i as usize];
        }
        i
    }

    /// Whether they were apart.
    fn join(&mut self, i: u32, j: u32) -> bool {
        let (i, j) = (self.find(i), self.find(j));
        self.0[i.max(j) as usize] = i.min(j);
        i != j
    }
}

/// Sums over a part.
#[derive(Clone, Copy, Default)]
struct Sum {
    entries: usize,
    id: u32,
    known: usize,
    held: usize,
    area: f64,
    /// Area times position and normal.
    middle: DVec3,
    normal: DVec3,
    /// Flux about the middle, and the sum of its sizes.
    flux: f64,
    size: f64,
    /// What the flux would be if all normals pointed away from the middle.
    most: f64,
    /// Pairs of neighbours, and how far they agree.
    pairs: f64,
    agree: f64,
}

/// Turns whole parts as they should face.
fn decide(
    sites: &Sites,
    fits: &[Fit],
    known: &[bool],
    held: &[bool],
    edges: &[Edge],
    parts: &[u32],
    normals: &mut [Vec3],
) -> Vec<Component> {
    let n = parts.len();
    let area_of = |i: usize| if fits[i].stray { 0.0 } else { f64::from(fits[i].scale).powi(2) };
    // The number of each part, by its first entry.
    let mut number = vec![0u32; n];
    let mut sums: Vec<Sum> = Vec::new();
    for i in 0..n {
        if parts[i] as usize == i {
            number[i] = sums.len() as u32;
            sums.push(Sum { id: sites.ids[i], ..Default::default() });
        }
        let s = &mut sums[number[parts[i] as usize] as usize];
        let area = area_of(i);
        s.entries += 1;
        s.id = s.id.min(sites.ids[i]);
        s.known += usize::from(known[i]);
        s.held += usize::from(held[i]);
        s.area += area;
        s.middle += area * sites.points[i].as_dvec3();
        s.normal += area * normals[i].as_dvec3();
    }
    for s in &mut sums {
        s.middle /= s.area.max(f64::MIN_POSITIVE);
    }
    for i in 0..n {
        let s = &mut sums[number[parts[i] as usize] as usize];
        let area = area_of(i);
        let flux = area * (sites.points[i].as_dvec3() - s.middle).dot(normals[i].as_dvec3());
        s.flux += flux;
        s.size += flux.abs();
        s.most += area * (sites.points[i].as_dvec3() - s.middle).length();
    }
    for &(_, i, j) in edges.iter().take_while(|e| e.0 < STRAY) {
        let (i, j) = (i as usize, j as usize);
        let a = agreement(sites.points[i], normals[i], sites.points[j], normals[j]);
        let s = &mut sums[number[parts[i] as usize] as usize];
        s.pairs += f64::from(a.abs());
        s.agree += f64::from(a.max(0.0));
    }
    let decided: Vec<(Component, bool)> = sums.iter().map(Sum::decide).collect();
    for i in 0..n {
        if decided[number[parts[i] as usize] as usize].1 {
            normals[i] = -normals[i];
        }
    }
    decided.into_iter().map(|d| d.0).collect()
}

impl Sum {
    /// How the part faces, and whether it has to be turned for that.
    fn decide(&self) -> (Component, bool) {
        let share = |a: f64, b: f64| if b > 0.0 { (a / b).clamp(-1.0, 1.0) } else { 0.0 };
        let openness = share(self.normal.length(), self.area);
        let flux = share(self.flux, self.size);
        let bend = share(self.flux, self.most);
        let axis = (0..3).fold(0, |m, a| if self.normal[a].abs() > self.normal[m].abs() { a } else { m });
        let (facing, sure, turn) = if self.known > 0 {
            (Facing::Given, 1.0, false)
        } else if self.held > 0 {
            (Facing::Sensor, 1.0, false)
        } else if openness < OPEN {
            (Facing::Volume, flux.abs(), flux < 0.0)
        } else if bend.abs() > BENT {
            (Facing::Bend, 0.5 * bend.abs(), flux < 0.0)
        } else {
            (Facing::Axis, 0.0, self.normal[axis] < 0.0)
        };
        let agree = share(self.agree, self.pairs);
        // Half of the pairs agree by chance.
        let confidence = (2.0 * agree - 1.0).max(0.0) * sure;
        let Self { id, entries, area, .. } = *self;
        (Component { id, entries, area, facing, confidence, openness }, turn)
    }
}
