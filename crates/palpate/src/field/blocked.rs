//! For which lengths of a straight motion two triangles share a point.
//!
//! Based on: Gottschalk, Lin and Manocha, OBBTree: a hierarchical structure for rapid interference detection, 1996
//! [gottschalk96] (separating axes).
//! Differs: of triangles, one of which moves.
//!
//! Two triangles are apart exactly if their shadows on a line are, for one of a few lines: along their normals, along the cross
//! products of their edges and, in a common plane, across their edges. When one of them moves, each line gives a range of lengths for
//! which the shadows meet; what all ranges share is the answer. A line that rounding has turned only makes the answer longer, as
//! any line is right to exclude; so nothing is missed.

use glam::DVec3;

/// The lengths t, of those from `within.0` to `within.1`, for which `b` moved by t·`way` comes within `slack` of `a`, and perhaps a
/// little beyond: from first to last, which may be outside of `within`. None if there are none.
pub(crate) fn blocked(
    a: [DVec3; 3],
    b: [DVec3; 3],
    way: DVec3,
    slack: f64,
    within: (f64, f64),
) -> Option<(f64, f64)> {
    // Near to the origin products are precise.
    let origin = a[0];
    let (a, b) = (a.map(|p| p - origin), b.map(|p| p - origin));
    let edges = |t: [DVec3; 3]| [t[1] - t[0], t[2] - t[1], t[0] - t[2]];
    let (ea, eb) = (edges(a), edges(b));
    let (na, nb) = (ea[0].cross(ea[1]), eb[0].cross(eb[1]));
    let mut range = Range { a, b, way, slack, within, first: f64::NEG_INFINITY, last: f64::INFINITY };
    let normals = range.cut(na) && range.cut(nb);
    let edges = normals && ea.iter().all(|e| eb.iter().all(|f| range.cut(e.cross(*f))));
    let sides =
        edges && ea.iter().all(|e| range.cut(na.cross(*e))) && eb.iter().all(|f| range.cut(nb.cross(*f)));
    sides.then_some((range.first, range.last))
}

struct Range {
    a: [DVec3; 3],
    b: [DVec3; 3],
    way: DVec3,
    slack: f64,
    within: (f64, f64),
    first: f64,
    last: f64,
}

impl Range {
    /// Keeps the lengths for which the shadows along `n`, of any length, meet. False if none are left.
    #[inline]
    fn cut(&mut self, n: DVec3) -> bool {
        let (a, b) = (self.a.map(|p| n.dot(p)), self.b.map(|p| n.dot(p)));
        let least = |v: [f64; 3]| v[0].min(v[1]).min(v[2]);
        let most = |v: [f64; 3]| v[0].max(v[1]).max(v[2]);
        // The sum of the components is at least the length.
        let slack = self.slack * n.abs().element_sum();
        let (low, high) = (least(a) - most(b) - slack, most(a) - least(b) + slack);
        let speed = n.dot(self.way);
        if speed == 0.0 {
            return low <= 0.0 && high >= 0.0;
        }
        let (first, last) =
            if speed > 0.0 { (low / speed, high / speed) } else { (high / speed, low / speed) };
        self.first = self.first.max(first);
        self.last = self.last.min(last);
        self.first <= self.last && self.first <= self.within.1 && self.last >= self.within.0
    }
}

#[cfg(test)]
#[path = "blocked_tests.rs"]
mod tests;
