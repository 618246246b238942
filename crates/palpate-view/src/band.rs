//! A value with its certainty along a motion: a line, the band the true value lies in, a limit, and places to look at.

use crate::chart::{Format, Ruler, Scale, WIDTH, escape, open};
use std::fmt::Write;

/// A line with a band below or above it, over a numbered axis.
#[derive(Clone, Debug)]
pub struct BandChart {
    /// What the chart says; also its text for screen readers.
    pub title: String,
    /// Name of the horizontal axis.
    pub x_label: String,
    /// Name of the vertical axis, with unit.
    pub y_label: String,
    /// How values are written.
    pub format: Format,
    /// Name of the line and its band.
    pub line_label: String,
    /// x, the value, and the two ends of what it may be; in drawing order. Where one is not finite the line is broken.
    pub points: Vec<[f64; 4]>,
    /// What the value must not fall below, and its name.
    pub limit: Option<(f64, String)>,
    /// Ranges of x to shade, and what they are.
    pub spans: Vec<(f64, f64)>,
    /// Name of the spans; unused without them.
    pub span_label: String,
    /// Places with a name, on the line: x and value.
    pub marks: Vec<(f64, f64, String)>,
}

/// Narrowest span that is drawn \[units of the chart\].
const NARROW: f64 = 1.5;

impl BandChart {
    /// The chart as one `<svg>` element. Colours follow `prefers-color-scheme`.
    pub fn svg(&self) -> String {
        let limit = self.limit.as_ref().map(|l| l.0);
        let values = || self.points.iter().flat_map(|p| p[1..].iter().copied());
        let xs = Span::of(self.points.iter().map(|p| p[0]));
        let ys = Ruler::new(Scale::Linear, values().chain(limit));
        let (left, right, top, plot) = (82.0, WIDTH - 16.0, 86.0, 300.0);
        let bottom = top + plot;
        let across = |x: f64| xs.place(x).map(|t| left + t * (right - left));
        let down = |y: f64| ys.place(y).map(|t| bottom - t * plot);
        let mut body = String::new();
        for (from, to) in &self.spans {
            if let (Some(a), Some(b)) = (across(*from), across(*to)) {
                let (a, wide) = (a.min(b), (b - a).abs().max(NARROW));
                let _ = write!(
                    body,
                    "<rect x=\"{a:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{plot}\" \
                     fill=\"var(--pv-5)\" opacity=\"0.16\"/>"
                );
            }
        }
        for &tick in &ys.ticks {
            let Some(y) = down(tick) else { continue };
            let _ = write!(
                body,
                "<path class=\"g\" d=\"M{left} {y:.1}H{right}\"/><text class=\"d\" x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                left - 8.0,
                y + 5.0,
                // Sums of steps are not exactly zero.
                escape(&(self.format)(if tick.abs() < 1e-9 * ys.width() { 0.0 } else { tick }))
            );
        }
        for tick in xs.ticks() {
            let Some(x) = across(tick) else { continue };
            let _ = write!(
                body,
                "<text class=\"d\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 20.0,
                crate::units::number(tick)
            );
        }
        let _ = write!(
            body,
            "<text class=\"d\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text class=\"d\" x=\"0\" y=\"{:.1}\">{}</text>",
            0.5 * (left + right),
            bottom + 42.0,
            escape(&self.x_label),
            top - 16.0,
            escape(&self.y_label)
        );
        for run in self.runs() {
            let at = |p: &[f64; 4], k: usize| Some(format!("{:.1},{:.1}", across(p[0])?, down(p[k])?));
            let lower: Vec<String> = run.iter().filter_map(|p| at(p, 2)).collect();
            let upper: Vec<String> = run.iter().rev().filter_map(|p| at(p, 3)).collect();
            let line: Vec<String> = run.iter().filter_map(|p| at(p, 1)).collect();
            let _ = write!(
                body,
                "<polygon points=\"{} {}\" fill=\"var(--pv-0)\" opacity=\"0.22\"/>\
                 <polyline points=\"{}\" fill=\"none\" stroke=\"var(--pv-0)\" stroke-width=\"2.5\" \
                 stroke-linejoin=\"round\" stroke-linecap=\"round\"/>",
                lower.join(" "),
                upper.join(" "),
                line.join(" ")
            );
        }
        if let Some((value, name)) = &self.limit
            && let Some(y) = down(*value)
        {
            let _ = write!(
                body,
                "<path d=\"M{left} {y:.1}H{right}\" stroke=\"var(--pv-1)\" stroke-width=\"2\" stroke-dasharray=\"7 5\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" style=\"fill:var(--pv-1)\">{}</text>",
                right - 4.0,
                y - 6.0,
                escape(name)
            );
        }
        for (x, y, name) in &self.marks {
            let (Some(x), Some(y)) = (across(*x), down(*y)) else { continue };
            let name = escape(name);
            let _ = write!(
                body,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"var(--pv-5)\"><title>{name}</title></circle>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-weight=\"600\">{name}</text>",
                y - 9.0
            );
        }
        let wide = 7.2 * self.line_label.chars().count() as f64;
        if !self.spans.is_empty() {
            let _ = write!(
                body,
                "<rect x=\"{:.1}\" y=\"31\" width=\"14\" height=\"14\" fill=\"var(--pv-5)\" opacity=\"0.3\"/>\
                 <text class=\"d\" x=\"{:.1}\" y=\"43\">{}</text>",
                56.0 + wide,
                76.0 + wide,
                escape(&self.span_label)
            );
        }
        let _ = write!(
            body,
            "<rect x=\"0\" y=\"31\" width=\"20\" height=\"14\" fill=\"var(--pv-0)\" opacity=\"0.22\"/>\
             <path d=\"M0 38H20\" stroke=\"var(--pv-0)\" stroke-width=\"2.5\"/>\
             <text class=\"d\" x=\"26\" y=\"43\">{}</text>",
            escape(&self.line_label)
        );
        open(bottom + 50.0, &self.title) + &body + "</svg>"
    }

    /// Stretches of points that are all finite.
    fn runs(&self) -> impl Iterator<Item = &[[f64; 4]]> {
        self.points.split(|p| p.iter().any(|v| !v.is_finite())).filter(|r| !r.is_empty())
    }
}

/// The horizontal axis: from the first to the last, without room beside them.
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|v| v.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        match (low <= high, low < high) {
            (true, true) => Self { low, high },
            (true, false) => Self { low: low - 0.5, high: low + 0.5 },
            _ => Self { low: 0.0, high: 1.0 },
        }
    }

    fn place(&self, x: f64) -> Option<f64> {
        let t = (x - self.low) / (self.high - self.low);
        (t.is_finite() && (-1e-9..=1.0 + 1e-9).contains(&t)).then_some(t)
    }

    fn ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 6.0;
        let power = 10.0_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|s| *s >= 0.999 * rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step - 1e-9).ceil() * step;
        (0..20).map(|i| first + f64::from(i) * step).take_while(|t| *t <= self.high + 1e-9 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units;

    #[test]
    fn charts_of_any_values_are_sound() {
        let odd = [
            [0.0, 1.0, 0.5, 1.0],
            [1.0, f64::NAN, 0.0, 0.0],
            [2.0, -1.0, -1.5, -0.5],
            [3.0, 1e9, 1e-9, f64::INFINITY],
        ];
        for points in
            [vec![], odd.to_vec(), vec![[4.0; 4]], vec![[0.0, 1e-3, 0.0, 1e-3], [9.0, 2e-3, 1e-3, 2e-3]]]
        {
            let chart = BandChart {
                title: "a<b".into(),
                x_label: "pose".into(),
                y_label: "distance".into(),
                format: units::length,
                line_label: "found".into(),
                points,
                limit: Some((5e-4, "least".into())),
                spans: vec![(1.0, 2.0), (f64::NAN, 3.0)],
                span_label: "in contact".into(),
                marks: vec![(2.0, -1.0, "worst & first".into()), (f64::NAN, 0.0, "no".into())],
            };
            let svg = chart.svg();
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(svg.contains("a&lt;b"));
        }
    }
}
