//! Boxes of boxes of triangles, fitted anew to where the vertices are.
//!
//! Based on: van den Bergen, 1997, Efficient collision detection of complex deformable models using AABB trees.
//! Differs: eight boxes a node, compared with another at once; a leaf has eight triangles, and its box is that of the vertices they
//! share, so that fitting reads each vertex about once; boxes of single triangles are made only where leaves meet.

use super::SoftMesh;
use super::mesh::Version;
use crate::par;
use crate::simd::{LANES, Lanes, dispatch};
use glam::Vec4;

/// No triangle: fills the last leaf.
pub(super) const NONE: u32 = u32::MAX;
/// Leaves that are fitted, and triangles that are sorted, by one task.
const CHUNK: usize = 2048;

/// Eight boxes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(super) struct Boxes {
    pub(super) low: [[f32; LANES]; 3],
    pub(super) high: [[f32; LANES]; 3],
}

impl Boxes {
    /// Boxes of nothing, which meet nothing.
    pub(super) const EMPTY: Self =
        Self { low: [[f32::INFINITY; LANES]; 3], high: [[f32::NEG_INFINITY; LANES]; 3] };

    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, [low, high]: [Vec4; 2]) {
        let (low, high) = (low.to_array(), high.to_array());
        for axis in 0..3 {
            self.low[axis][lane] = low[axis];
            self.high[axis][lane] = high[axis];
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, lane: usize) -> [Vec4; 2] {
        let of = |v: &[[f32; LANES]; 3]| Vec4::new(v[0][lane], v[1][lane], v[2][lane], 0.0);
        [of(&self.low), of(&self.high)]
    }

    /// Which of them share a point with another, one bit for each.
    #[inline(always)]
    pub(super) fn meet<L: Lanes>(&self, [low, high]: [Vec4; 2]) -> u32 {
        let (low, high) = (low.to_array(), high.to_array());
        let mut meet = L::splat(high[0]).ge(L::load(&self.low[0]));
        meet = L::and(meet, L::load(&self.high[0]).ge(L::splat(low[0])));
        for axis in 1..3 {
            meet = L::and(meet, L::splat(high[axis]).ge(L::load(&self.low[axis])));
            meet = L::and(meet, L::load(&self.high[axis]).ge(L::splat(low[axis])));
        }
        L::bits(meet)
    }
}

/// The box of nothing.
pub(super) const NOTHING: [Vec4; 2] = [Vec4::INFINITY, Vec4::NEG_INFINITY];

#[inline(always)]
pub(super) fn join([low, high]: [Vec4; 2], [l, h]: [Vec4; 2]) -> [Vec4; 2] {
    [low.min(l), high.max(h)]
}

/// The tree of one mesh. Node `i` of level 0 is a leaf of eight triangles; of level `k`, the parent of the nodes `8 i` to `8 i + 7`
/// of the level below.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    made: Version,
    fitted: Version,
    /// Triangles, eight for each leaf.
    order: Vec<u32>,
    /// Vertices of each leaf: from which place on, and which.
    first: Vec<u32>,
    vertices: Vec<u32>,
    /// Of each level: the box of each node, and the same in eights.
    bounds: Vec<Vec<[Vec4; 2]>>,
    boxes: Vec<Vec<Boxes>>,
}

impl Tree {
    /// Makes the tree fit the mesh as it is now; says how many operations that took.
    pub(super) fn update(&mut self, mesh: &SoftMesh) -> Fitting {
        let now = mesh.version();
        let mut fitting = Fitting::default();
        if !self.is_of(mesh) {
            self.build(mesh);
            self.made = now;
            self.fitted = Version::default();
            fitting.built = mesh.triangles().len();
        }
        if self.fitted != now {
            let packed = mesh.packed();
            self.fit(|v| packed.get(v).map(|p| [*p, *p]));
            self.fitted = now;
            fitting.fitted = self.vertices.len() + self.boxes.iter().map(|b| b.len() * LANES).sum::<usize>();
        }
        fitting
    }

    /// Makes the tree hold a box of each vertex; those without any are left out.
    pub(super) fn sweep(&mut self, mesh: &SoftMesh, vertex: impl Fn(usize) -> Option<[Vec4; 2]> + Sync) {
        if !self.is_of(mesh) {
            self.build(mesh);
            self.made = mesh.version();
        }
        self.fitted = Version::default();
        self.fit(vertex);
    }

    /// Whether nothing has to be done.
    pub(super) fn fits(&self, mesh: &SoftMesh) -> bool {
        self.is_of(mesh) && self.fitted == mesh.version()
    }

    /// Whether it was built of the mesh's triangles as they are now.
    pub(super) fn is_of(&self, mesh: &SoftMesh) -> bool {
        let of = |v: Version| (v.id, v.shape);
        of(self.made) == of(mesh.version())
    }

    /// Level and number of the node that holds all; none without triangles.
    pub(super) fn root(&self) -> Option<[u32; 2]> {
        (!self.order.is_empty()).then(|| [self.bounds.len() as u32 - 1, 0])
    }

    /// The eight triangles of a leaf.
    pub(super) fn leaf(&self, leaf: usize) -> &[u32] {
        &self.order[leaf * LANES..][..LANES]
    }

    pub(super) fn leaves(&self) -> usize {
        self.order.len() / LANES
    }

    /// The box of a node.
    pub(super) fn bounds(&self, level: usize, node: usize) -> [Vec4; 2] {
        self.bounds[level][node]
    }

    /// The boxes of the children of a node of a level above 0.
    pub(super) fn children(&self, level: usize, node: usize) -> &Boxes {
        &self.boxes[level - 1][node]
    }

    fn build(&mut self, mesh: &SoftMesh) {
        let packed = mesh.packed();
        let at = |v: u32| packed.get(v as usize).copied().unwrap_or(Vec4::ZERO);
        let middles: Vec<Vec4> = mesh.triangles().iter().map(|t| at(t[0]) + at(t[1]) + at(t[2])).collect();
        self.order.clear();
        self.order.extend(0..middles.len() as u32);
        arrange(&mut self.order, &middles);
        self.order.resize(self.order.len().next_multiple_of(LANES), NONE);
        (self.first, self.vertices) = (vec![0], Vec::new());
        let mut own = Vec::with_capacity(3 * LANES);
        for leaf in self.order.chunks(LANES) {
            own.clear();
            own.extend(leaf.iter().filter_map(|t| mesh.triangles().get(*t as usize)).flatten());
            own.sort_unstable();
            own.dedup();
            self.vertices.extend_from_slice(&own);
            self.first.push(self.vertices.len() as u32);
        }
        let (mut nodes, mut level) = (self.leaves(), 0);
        self.bounds.clear();
        self.boxes.clear();
        while nodes > 0 {
            self.bounds.push(vec![NOTHING; nodes]);
            level += 1;
            if nodes == 1 {
                break;
            }
            nodes = nodes.div_ceil(LANES);
            self.boxes.push(vec![Boxes::EMPTY; nodes]);
        }
        debug_assert_eq!(level, self.bounds.len());
    }

    /// Leaves from the boxes of their vertices, then each level from the one below.
    fn fit(&mut self, vertex: impl Fn(usize) -> Option<[Vec4; 2]> + Sync) {
        let Self { first, vertices, bounds, boxes, .. } = self;
        let Some((leaves, above)) = bounds.split_first_mut() else { return };
        let leaf = |i: usize| {
            let own = &vertices[first[i] as usize..first[i + 1] as usize];
            own.iter().fold(NOTHING, |b, v| match vertex(*v as usize) {
                Some(p) => join(b, p),
                None => b,
            })
        };
        if leaves.len() > 2 * CHUNK {
            par::chunks_mut(leaves, CHUNK, |c, chunk| {
                chunk.iter_mut().enumerate().for_each(|(i, b)| *b = leaf(c * CHUNK + i));
            });
        } else {
            leaves.iter_mut().enumerate().for_each(|(i, b)| *b = leaf(i));
        }
        let mut below = &mut *leaves;
        for (level, eights) in above.iter_mut().zip(boxes) {
            for ((node, children), eight) in level.iter_mut().zip(below.chunks(LANES)).zip(eights) {
                let mut all = NOTHING;
                for (lane, child) in children.iter().enumerate() {
                    eight.set(lane, *child);
                    all = join(all, *child);
                }
                *node = all;
            }
            below = level;
        }
    }
}

/// What fitting a tree took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fitting {
    /// Triangles it was built of; 0 if it was there.
    pub(super) built: usize,
    /// Vertices and boxes read.
    pub(super) fitted: usize,
}

/// Sorts triangles so that each eight, each eight of eights and so on are near each other: halves by the longest axis of their
/// middles, at multiples of the largest such number below.
fn arrange(part: &mut [u32], middles: &[Vec4]) {
    if part.len() <= LANES {
        return;
    }
    let mut size = LANES;
    while size * LANES < part.len() {
        size *= LANES;
    }
    let middle = size * part.len().div_ceil(size).div_ceil(2).min((part.len() - 1) / size);
    let all = part.iter().fold(NOTHING, |b, t| join(b, [middles[*t as usize]; 2]));
    let extent = (all[1] - all[0]).to_array();
    let axis = (1..3).fold(0, |best, i| if extent[i] > extent[best] { i } else { best });
    part.select_nth_unstable_by(middle, |s, t| {
        let key = |t: u32| middles[t as usize].to_array()[axis];
        key(*s).total_cmp(&key(*t)).then(s.cmp(t))
    });
    let large = part.len() > CHUNK;
    let (low, high) = part.split_at_mut(middle);
    if large {
        par::join(|| arrange(low, middles), || arrange(high, middles));
    } else {
        arrange(low, middles);
        arrange(high, middles);
    }
}

/// A search through two trees, or one with itself.
pub(super) struct Walk<'a> {
    pub(super) a: &'a Tree,
    pub(super) b: &'a Tree,
    /// From A's packed positions to B's, and how far off a box can be [m].
    pub(super) shift: Vec4,
    pub(super) slack: f32,
    /// Whether it is one tree: each pair of leaves once.
    pub(super) own: bool,
    /// It ends when so many are left to look at.
    pub(super) until: usize,
    /// Pairs of nodes to look at: level and number of each.
    pub(super) stack: &'a mut Vec<[u32; 4]>,
    /// Pairs of leaves whose boxes meet.
    pub(super) leaves: &'a mut Vec<[u32; 2]>,
    /// Pairs of nodes that were looked at.
    pub(super) visits: usize,
}

dispatch! {
    /// Goes down from the pairs on the stack to leaves.
    pub(super) fn walk / walk_plain = walk_kernel(walk: &mut Walk<'_>)
}

#[inline(always)]
fn walk_kernel<L: Lanes>(walk: &mut Walk<'_>) {
    let grown = Vec4::splat(walk.slack);
    while walk.stack.len() < walk.until
        && let Some([level_a, i, level_b, j]) = walk.stack.pop()
    {
        walk.visits += 1;
        let (ka, ia, kb, jb) = (level_a as usize, i as usize, level_b as usize, j as usize);
        if ka == 0 && kb == 0 {
            walk.leaves.push([i, j]);
            continue;
        }
        let [low, high] = walk.a.bounds(ka, ia);
        let a = [low + walk.shift - grown, high + walk.shift + grown];
        if ka < kb {
            let mut bits = walk.b.children(kb, jb).meet::<L>(a);
            while bits != 0 {
                let lane = bits.trailing_zeros();
                bits &= bits - 1;
                walk.stack.push([level_a, i, level_b - 1, j * LANES as u32 + lane]);
            }
            continue;
        }
        let [low, high] = walk.b.bounds(kb, jb);
        let b = [low - walk.shift - grown, high - walk.shift + grown];
        let of_a = walk.a.children(ka, ia);
        let mut bits = of_a.meet::<L>(b);
        if ka > kb {
            while bits != 0 {
                let lane = bits.trailing_zeros();
                bits &= bits - 1;
                walk.stack.push([level_a - 1, i * LANES as u32 + lane, level_b, j]);
            }
            continue;
        }
        let of_b = walk.b.children(kb, jb);
        let within = of_b.meet::<L>(a);
        while bits != 0 {
            let lane = bits.trailing_zeros();
            bits &= bits - 1;
            let [low, high] = of_a.get(lane as usize);
            let mut others = of_b.meet::<L>([low + walk.shift - grown, high + walk.shift + grown]) & within;
            if walk.own && i == j {
                others &= u32::MAX << lane;
            }
            while others != 0 {
                let other = others.trailing_zeros();
                others &= others - 1;
                let [c, d] = [i * LANES as u32 + lane, j * LANES as u32 + other];
                walk.stack.push([level_a - 1, c, level_b - 1, d]);
            }
        }
    }
}
