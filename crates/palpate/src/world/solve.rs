//! The linear system of a round: (M + h² K + h D) Δv = b over all bodies, by conjugate gradients.

use super::pair::{Pair, cross};
use super::step::for_pairs;
use crate::math::Wrench;
use glam::{DMat3, DVec3};

/// Most shorter ways that are tried in a round.
const TURNS: usize = 4;
/// What may be lacking along the way at its end, over what was at its beginning [1].
const OVERSHOT: f64 = 0.3;

/// Linear and angular part.
pub(super) type Six = [DVec3; 2];

/// A symmetric 6×6 matrix: its corners, `la` the upper right.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    pub(super) ll: DMat3,
    pub(super) la: DMat3,
    pub(super) aa: DMat3,
}

impl Block {
    pub(super) const ZERO: Self = Self { ll: DMat3::ZERO, la: DMat3::ZERO, aa: DMat3::ZERO };

    pub(super) fn apply(&self, [l, a]: Six) -> Six {
        let across = DVec3::new(self.la.x_axis.dot(l), self.la.y_axis.dot(l), self.la.z_axis.dot(l));
        [self.ll * l + self.la * a, across + self.aa * a]
    }

    fn add(&mut self, o: &Self) {
        (self.ll, self.la, self.aa) = (self.ll + o.ll, self.la + o.la, self.aa + o.aa);
    }

    /// The same about a point from which this one's lies `arm` away.
    fn about(&self, arm: DVec3) -> Self {
        let arm = cross(arm);
        let la = self.la - self.ll * arm;
        Self { ll: self.ll, la, aa: self.aa + arm * la - self.la.transpose() * arm }
    }

    /// The inverse of a positive definite one; zero where rounding leaves none, and of zero.
    pub(super) fn inverse(&self) -> Self {
        let ll = self.ll.inverse();
        let mixed = ll * self.la;
        let aa = (self.aa - self.la.transpose() * mixed).inverse();
        let la = -(mixed * aa);
        let ll = ll - la * mixed.transpose();
        if ll.is_finite() && la.is_finite() && aa.is_finite() { Self { ll, la, aa } } else { Self::ZERO }
    }
}

/// How two bodies hang together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link {
    pub(super) a: usize,
    pub(super) b: usize,
    /// From A's centre to B's [m].
    pub(super) arm: DVec3,
    /// How the impulse of a step on B, about B's centre, falls with B's velocity against A.
    pub(super) block: Block,
}

impl Link {
    /// Velocity of B against A, at B's centre.
    pub(super) fn relative(&self, v: &[Six]) -> Six {
        let ([la, aa], [lb, ab]) = (v[self.a], v[self.b]);
        [lb - la - aa.cross(self.arm), ab - aa]
    }

    /// Adds a wrench on B about its centre, and its opposite on A.
    fn scatter(&self, [force, torque]: Six, out: &mut [Six]) {
        out[self.b] = [out[self.b][0] + force, out[self.b][1] + torque];
        out[self.a] = [out[self.a][0] - force, out[self.a][1] - torque - self.arm.cross(force)];
    }
}

/// Memory of the solver, by place of the body.
#[derive(Debug, Default)]
pub(super) struct Solver {
    /// Mass; zero for a body that forces do not move, whose velocity never changes here.
    pub(super) mass: Vec<Block>,
    /// Its inverse.
    pub(super) per_mass: Vec<Block>,
    /// Velocity without contacts, and the one that is sought.
    pub(super) free: Vec<Six>,
    /// The one bodies are taken to have where contacts are looked for.
    pub(super) aim: Vec<Six>,
    pub(super) v: Vec<Six>,
    /// The solution, the right side, and what is left of it.
    pub(super) x: Vec<Six>,
    b: Vec<Six>,
    r: Vec<Six>,
    links: Vec<Link>,
    /// Whether the last rounds were few: then the first is solved exactly, as it may be the only one.
    pub(super) calm: bool,
    inverse: Vec<Block>,
    p: Vec<Six>,
    q: Vec<Six>,
}

impl Solver {
    /// Sets wrenches and links of the pairs, and the right side: the momentum that the velocities lack.
    pub(super) fn lacking(&mut self, pairs: &mut [Box<Pair>], h: f64) {
        let v = &self.v;
        for_pairs(pairs, |pair| pair.assemble(pair.link.relative(v), h));
        self.b.clear();
        for (mass, (free, v)) in self.mass.iter().zip(self.free.iter().zip(&self.v)) {
            self.b.push(mass.apply([free[0] - v[0], free[1] - v[1]]));
        }
        self.links.clear();
        for pair in pairs.iter().filter(|p| p.wrench != Wrench::ZERO) {
            pair.link.scatter([pair.wrench.force * h, pair.wrench.torque * h], &mut self.b);
            self.links.push(pair.link);
        }
    }

    /// Solves for `x` until the residual is `tolerance` of the first (squared, preconditioned), or for `most` iterations; returns
    /// how many. Preconditioned with the blocks of single bodies.
    pub(super) fn solve(&mut self, tolerance: f64, most: usize) -> usize {
        self.inverse.clone_from(&self.mass);
        for link in &self.links {
            self.inverse[link.a].add(&link.block.about(link.arm));
            self.inverse[link.b].add(&link.block);
        }
        for (inverse, mass) in self.inverse.iter_mut().zip(&self.mass) {
            *inverse = if mass.ll == DMat3::ZERO { Block::ZERO } else { inverse.inverse() };
        }
        self.r.clone_from(&self.b);
        for v in [&mut self.x, &mut self.p, &mut self.q] {
            v.clear();
            v.resize(self.mass.len(), [DVec3::ZERO; 2]);
        }
        let (mut last, mut goal) = (0.0, 0.0);
        for iteration in 0..=most {
            // q is the preconditioned residual, then the product with p.
            let mut left = 0.0;
            for (q, (m, r)) in self.q.iter_mut().zip(self.inverse.iter().zip(&self.r)) {
                *q = m.apply(*r);
                left += q[0].dot(r[0]) + q[1].dot(r[1]);
            }
            let turn = if iteration == 0 { 0.0 } else { left / last };
            goal = if iteration == 0 { left * tolerance } else { goal };
            last = left;
            if !left.is_finite() {
                // Overflow: bodies that could have moved are told from their velocity.
                let movable = self.x.iter_mut().zip(&self.mass).filter(|(_, m)| m.ll != DMat3::ZERO);
                movable.for_each(|(x, _)| *x = [DVec3::NAN; 2]);
            }
            if left <= goal || !left.is_finite() || iteration == most {
                return iteration;
            }
            for (p, q) in self.p.iter_mut().zip(&self.q) {
                *p = [q[0] + p[0] * turn, q[1] + p[1] * turn];
            }
            for (q, (m, p)) in self.q.iter_mut().zip(self.mass.iter().zip(&self.p)) {
                *q = m.apply(*p);
            }
            for link in &self.links {
                link.scatter(link.block.apply(link.relative(&self.p)), &mut self.q);
            }
            let bend: f64 = self.p.iter().zip(&self.q).map(|(p, q)| p[0].dot(q[0]) + p[1].dot(q[1])).sum();
            let step = left / bend;
            for i in 0..self.x.len() {
                for k in 0..2 {
                    self.x[i][k] += self.p[i][k] * step;
                    self.r[i][k] -= self.q[i][k] * step;
                }
            }
        }
        most
    }

    /// Adds `x` to the velocities, or less of it: where contacts begin on the way, momentum is lacking the other way before its end. Sets
    /// wrenches and links as [`lacking`](Self::lacking).
    pub(super) fn go(&mut self, pairs: &mut [Box<Pair>], h: f64) {
        let along =
            |s: &Self| -> f64 { s.b.iter().zip(&s.x).map(|(b, x)| b[0].dot(x[0]) + b[1].dot(x[1])).sum() };
        let (first, mut at, mut share) = (along(self), 0.0, 1.0);
        let (mut near, mut far) = ((0.0, first), (1.0, 0.0));
        for turn in 0..=TURNS {
            for (v, x) in self.v.iter_mut().zip(&self.x) {
                *v = [v[0] + x[0] * (share - at), v[1] + x[1] * (share - at)];
            }
            at = share;
            self.lacking(pairs, h);
            let left = along(self);
            let near_enough = left.is_nan() || left.abs() <= OVERSHOT * first;
            if turn == TURNS || near_enough || (left > 0.0 && turn == 0) {
                break;
            }
            *(if left > 0.0 { &mut near } else { &mut far }) = (share, left);
            share = near.0 + (far.0 - near.0) * (near.1 / (near.1 - far.1)).clamp(0.1, 0.9);
        }
    }

    /// The velocity that the most unbalanced body lacks, of its fastest point at the radius told [m/s].
    pub(super) fn unbalanced(&self, radius: impl Fn(usize) -> f64) -> f64 {
        let lack = self.b.iter().zip(&self.per_mass).enumerate();
        lack.map(|(i, (b, m))| (m.ll * b[0]).length() + (m.aa * b[1]).length() * radius(i))
            .fold(0.0, f64::max)
    }
}
