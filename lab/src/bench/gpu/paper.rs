//! Table 2 of the 2008 paper [morvan08]: mean times on a GeForce 8800 GTX [ms].

/// Whom figures are compared with.
pub(super) const PEER: &str = "morvan08 (GeForce 8800 GTX)";

/// A row of the table; three framebuffers each: 512, 1024, 2048.
struct Line {
    model: &'static str,
    /// Basic, early-Z, geometry shader.
    collision: [[f64; 3]; 3],
    /// Basic, geometry shader.
    proximity: [[f64; 3]; 2],
}

const TABLE: [Line; 5] = [
    Line {
        model: "cow",
        collision: [[0.68, 1.58, 5.78], [0.57, 1.26, 4.62], [0.58, 1.32, 4.88]],
        proximity: [[0.60, 1.15, 4.03], [0.57, 1.09, 3.82]],
    },
    Line {
        model: "bunny",
        collision: [[1.17, 1.79, 5.26], [1.14, 1.68, 4.30], [1.15, 1.60, 4.52]],
        proximity: [[1.13, 1.74, 4.47], [1.22, 1.73, 4.34]],
    },
    Line {
        model: "horse",
        collision: [[1.21, 1.90, 5.50], [1.19, 1.76, 4.69], [1.11, 1.59, 4.67]],
        proximity: [[1.18, 1.68, 4.12], [1.34, 1.80, 4.18]],
    },
    Line {
        model: "dragon",
        collision: [[4.86, 5.54, 9.32], [4.84, 5.52, 8.83], [4.63, 5.33, 8.23]],
        proximity: [[4.42, 4.96, 8.07], [5.52, 6.04, 8.67]],
    },
    // The paper's blade of 1.765 million triangles; ours is a knot of as many.
    Line {
        model: "knot",
        collision: [[5.63, 5.96, 7.89], [5.61, 5.93, 7.58], [5.01, 5.27, 6.62]],
        proximity: [[12.0, 12.5, 15.6], [14.6, 15.1, 17.6]],
    },
];

/// How the paper asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Basic,
    EarlyZ,
    SinglePass,
    /// The best of them: beside paths that the paper does not have.
    Best,
}

/// The paper's mean time [s]; none for other models and framebuffers.
pub(super) fn time(model: &str, collision: bool, way: Way, size: u32) -> Option<f64> {
    let line = TABLE.iter().find(|l| l.model == model)?;
    let at = [512, 1024, 2048].iter().position(|s| *s == size)?;
    let ways: &[[f64; 3]] = if collision { &line.collision } else { &line.proximity };
    let ms = match way {
        Way::Basic => ways.first()?[at],
        Way::EarlyZ if collision => ways.get(1)?[at],
        Way::EarlyZ => return None,
        Way::SinglePass => ways.last()?[at],
        Way::Best => ways.iter().map(|w| w[at]).fold(f64::INFINITY, f64::min),
    };
    Some(1e-3 * ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_issue() {
        assert_eq!(time("bunny", true, Way::Best, 1024), Some(1.60e-3));
        assert_eq!(time("dragon", false, Way::Best, 1024), Some(4.96e-3));
        assert_eq!(time("knot", false, Way::SinglePass, 2048), Some(17.6e-3));
        assert_eq!(time("knot", false, Way::EarlyZ, 2048), None);
        assert_eq!(time("teapot", true, Way::Basic, 512), None);
    }
}
