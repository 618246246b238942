//! The linear system of a step: (M + h² K + h D) Δv = b over all bodies, by conjugate gradients.

use super::pair::{Pair, cross};
use glam::{DMat3, DVec3};

/// Linear and angular part.
pub(super) type Six = [DVec3; 2];

/// A symmetric 6×6 matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) ll: DMat3,
    /// Upper right.
    pub(super) la: DMat3,
    pub(super) aa: DMat3,
}

impl Default for Block {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Block {
    pub(super) const ZERO: Self = Self { ll: DMat3::ZERO, la: DMat3::ZERO, aa: DMat3::ZERO };

    pub(super) fn apply(&self, [l, a]: Six) -> Six {
        [self.ll * l + self.la * a, self.la.transpose() * l + self.aa * a]
    }

    fn add(&mut self, o: &Self) {
        self.ll += o.ll;
        self.la += o.la;
        self.aa += o.aa;
    }

    /// The same about a point from which this one's lies `arm` away.
    fn about(&self, arm: DVec3) -> Self {
        let arm = cross(arm);
        let la = self.la - self.ll * arm;
        Self { ll: self.ll, la, aa: self.aa + arm * la - self.la.transpose() * arm }
    }

    /// The inverse of a positive definite one; zero where rounding leaves none.
    fn inverse(&self) -> Self {
        let ll = self.ll.inverse();
        let mixed = ll * self.la;
        let aa = (self.aa - self.la.transpose() * mixed).inverse();
        let la = -(mixed * aa);
        let inverse = Self { ll: ll - la * mixed.transpose(), la, aa };
        let finite = inverse.ll.is_finite() && la.is_finite() && aa.is_finite();
        if finite { inverse } else { Self::ZERO }
    }
}

/// Velocity at a place `arm` from the one it is given for.
pub(super) fn carried([l, a]: Six, arm: DVec3) -> Six {
    [l + a.cross(arm), a]
}

pub(super) fn dot(a: &[Six], b: &[Six]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a[0].dot(b[0]) + a[1].dot(b[1])).sum()
}

/// Velocity of B against A at a pair's place.
pub(super) fn relative(pair: &Pair, v: &[Six], centres: &[DVec3]) -> Six {
    let [a, b] = [pair.key.0, pair.key.1]
        .map(|i| carried(v[i as usize], pair.about - centres[i as usize]));
    [b[0] - a[0], b[1] - a[1]]
}

/// Adds a wrench on B, and the opposite on A, to those about the centres.
pub(super) fn scatter(pair: &Pair, [force, torque]: Six, out: &mut [Six], centres: &[DVec3]) {
    for (i, sign) in [(pair.key.0 as usize, -1.0), (pair.key.1 as usize, 1.0)] {
        out[i][0] += force * sign;
        out[i][1] += (torque + (pair.about - centres[i]).cross(force)) * sign;
    }
}

/// Memory of the solver, by place of the body.
#[derive(Debug, Default)]
pub(super) struct Solver {
    /// Centres, masses and velocities; a body that forces do not move has no mass here, and is left out.
    pub(super) centres: Vec<DVec3>,
    pub(super) mass: Vec<Block>,
    pub(super) free: Vec<Six>,
    pub(super) v: Vec<Six>,
    /// Right side, then what is left of it.
    pub(super) r: Vec<Six>,
    pub(super) x: Vec<Six>,
    inverse: Vec<Block>,
    z: Vec<Six>,
    p: Vec<Six>,
    q: Vec<Six>,
}

impl Solver {
    /// Solves for `x`, from the right side in `r`, to a residual of `tolerance` times the first (squared, preconditioned);
    /// preconditioned with the blocks of single bodies. Returns the iterations.
    pub(super) fn solve(&mut self, pairs: &[Pair], tolerance: f64, most: usize) -> usize {
        self.inverse.clone_from(&self.mass);
        for pair in pairs {
            for i in [pair.key.0 as usize, pair.key.1 as usize] {
                if self.mass[i].ll != DMat3::ZERO {
                    self.inverse[i].add(&pair.block.about(pair.about - self.centres[i]));
                }
            }
        }
        self.inverse.iter_mut().for_each(|b| *b = if b.ll == DMat3::ZERO { *b } else { b.inverse() });
        let n = self.mass.len();
        for v in [&mut self.x, &mut self.z, &mut self.p, &mut self.q] {
            v.clear();
            v.resize(n, [DVec3::ZERO; 2]);
        }
        let mut last = self.precondition();
        let goal = last * tolerance;
        self.p.clone_from(&self.z);
        for iteration in 0..most {
            if last <= goal || last.is_nan() {
                return iteration;
            }
            for (q, (m, p)) in self.q.iter_mut().zip(self.mass.iter().zip(&self.p)) {
                *q = m.apply(*p);
            }
            for pair in pairs {
                let push = pair.block.apply(relative(pair, &self.p, &self.centres));
                scatter(pair, push, &mut self.q, &self.centres);
            }
            let step = last / dot(&self.p, &self.q);
            for i in 0..n {
                for k in 0..2 {
                    self.x[i][k] += self.p[i][k] * step;
                    self.r[i][k] -= self.q[i][k] * step;
                }
            }
            let next = self.precondition();
            let turn = next / last;
            last = next;
            for (p, z) in self.p.iter_mut().zip(&self.z) {
                *p = [z[0] + p[0] * turn, z[1] + p[1] * turn];
            }
        }
        most
    }

    /// `z` from `r`; their product.
    fn precondition(&mut self) -> f64 {
        for (z, (m, r)) in self.z.iter_mut().zip(self.inverse.iter().zip(&self.r)) {
            *z = m.apply(*r);
        }
        dot(&self.z, &self.r)
    }
}
