//! Line and bar charts as SVG text, readable on light and dark pages and alone.

use std::fmt::Write;

/// How numbers are written at ticks and bars, for example [`crate::units::seconds`].
pub type Format = fn(f64) -> String;

/// Width of every chart in its own units; the text is 14 high, so a chart stays readable on a phone.
pub(crate) const WIDTH: f64 = 600.0;
/// Series beyond this many repeat colours.
const COLOURS: usize = 6;

/// How values become places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equal lengths.
    Linear,
    /// Equal ratios are equal lengths; values that are not positive are left out.
    Log,
}

/// One axis: what it shows and how.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Name and unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// How ticks are written.
    pub format: Format,
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name for the legend.
    pub name: String,
    /// Points (x, y), in drawing order. Non-finite ones are left out.
    pub points: Vec<[f64; 2]>,
    /// Dashed, for quoted figures such as a paper's.
    pub dashed: bool,
}

/// Lines over two axes.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// What the chart says; also its text for screen readers.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// A group of bars of a bar chart.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Name at the left.
    pub label: String,
    /// One value for each series; a value that is not finite is shown as "not available".
    pub values: Vec<f64>,
}

/// Horizontal bars, grouped.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// What the chart says; also its text for screen readers.
    pub title: String,
    /// Names of the series; one name needs no legend.
    pub series: Vec<String>,
    /// Linear bars start at 0; logarithmic ones a little below the smallest value.
    pub scale: Scale,
    /// How values are written.
    pub format: Format,
    /// The groups, from the top.
    pub groups: Vec<Bars>,
}

/// Text made safe for HTML and SVG, attributes included.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

const STYLE: &str = "<style>.pv{--pv-ink:#1c2128;--pv-dim:#5b6470;--pv-line:#d9dde3;--pv-0:#2f6fc4;--pv-1:#d9731a;\
--pv-2:#2c8a5b;--pv-3:#9b4fb5;--pv-4:#b8860b;--pv-5:#c0392b;font:14px system-ui,sans-serif;max-width:100%;height:auto}\
@media(prefers-color-scheme:dark){.pv{--pv-ink:#e6e9ee;--pv-dim:#9aa4b2;--pv-line:#39404b;--pv-0:#6ea8f2;\
--pv-1:#f0984a;--pv-2:#5cc08c;--pv-3:#c98be0;--pv-4:#e0b84a;--pv-5:#ec7063}}\
.pv text{fill:var(--pv-ink)}.pv .d{fill:var(--pv-dim)}.pv .g{stroke:var(--pv-line);fill:none}\
.pv .t{font-weight:600;font-size:15px}</style>";

pub(crate) fn open(height: f64, title: &str) -> String {
    let title = escape(title);
    format!(
        "<svg class=\"pv\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>{STYLE}\
         <text class=\"t\" x=\"0\" y=\"16\">{title}</text>"
    )
}

/// Where values lie along one axis.
pub(crate) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    pub(crate) ticks: Vec<f64>,
}

impl Ruler {
    pub(crate) fn new(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let fits = |v: &f64| v.is_finite() && (scale == Scale::Linear || *v > 0.0);
        let (mut low, mut high) =
            values.filter(fits).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        let ticks = match scale {
            Scale::Linear => {
                low = low.min(0.0);
                if high <= low {
                    high = low + 1.0;
                }
                let rough = (high - low) / 5.0;
                let power = 10.0_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|m| m * power).find(|s| *s >= rough * 0.999);
                let step = step.unwrap_or(rough);
                high = (high / step - 1e-9).ceil() * step;
                low = (low / step + 1e-9).floor() * step;
                (0..=20).map(|i| low + f64::from(i) * step).take_while(|t| *t <= high + 0.01 * step).collect()
            }
            Scale::Log => {
                let wide = (high / low).log10();
                let marks: &[f64] = if wide < 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
                let all: Vec<f64> =
                    (first..=last).flat_map(|p| marks.iter().map(move |m| m * 10.0_f64.powi(p))).collect();
                let below = all.iter().rev().find(|t| **t <= low * 1.001).copied().unwrap_or(low);
                let above = all.iter().find(|t| **t >= high * 0.999).copied().unwrap_or(high);
                (low, high) = (below, if above > below { above } else { below * 10.0 });
                let kept: Vec<f64> =
                    all.into_iter().filter(|t| *t >= low * 0.999 && *t <= high * 1.001).collect();
                let skip = kept.len().div_ceil(8).max(1);
                kept.into_iter().step_by(skip).collect()
            }
        };
        Self { scale, low, high, ticks }
    }

    /// From the lowest to the highest tick.
    pub(crate) fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Place of a value, 0 at the low end and 1 at the high end.
    pub(crate) fn place(&self, v: f64) -> Option<f64> {
        let t = match self.scale {
            Scale::Linear => (v - self.low) / (self.high - self.low),
            Scale::Log if v > 0.0 => (v / self.low).ln() / (self.high / self.low).ln(),
            Scale::Log => return None,
        };
        t.is_finite().then_some(t)
    }
}

/// Legend entries in a row, wrapped; returns its height.
fn legend(out: &mut String, names: &[(&str, bool)], top: f64) -> f64 {
    let (mut x, mut y) = (0.0, top);
    for (i, (name, dashed)) in names.iter().enumerate() {
        let wide = 34.0 + 7.6 * name.chars().count() as f64;
        if x > 0.0 && x + wide > WIDTH {
            (x, y) = (0.0, y + 20.0);
        }
        let dash = if *dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let _ = write!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"var(--pv-{})\" stroke-width=\"4\"{dash}/>\
             <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            x + 20.0,
            y - 5.0,
            y - 5.0,
            i % COLOURS,
            x + 26.0,
            escape(name)
        );
        x += wide + 8.0;
    }
    y - top + 22.0
}

impl LineChart {
    /// The chart as one `<svg>` element. Colours follow `prefers-color-scheme`.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|s| s.points.iter());
        let xs = Ruler::new(self.x.scale, points().map(|p| p[0]));
        let ys = Ruler::new(self.y.scale, points().map(|p| p[1]));
        let names: Vec<(&str, bool)> = self.series.iter().map(|s| (s.name.as_str(), s.dashed)).collect();
        let mut body = String::new();
        let used = if names.len() > 1 { legend(&mut body, &names, 42.0) } else { 0.0 };
        let (left, right, top, plot) = (72.0, WIDTH - 16.0, 54.0 + used, 280.0);
        let bottom = top + plot;
        let across = |t: f64| left + t * (right - left);
        let down = |t: f64| bottom - t * plot;
        for &tick in &ys.ticks {
            let Some(y) = ys.place(tick).map(down) else { continue };
            let _ = write!(
                body,
                "<path class=\"g\" d=\"M{left} {y:.1}H{right}\"/><text class=\"d\" x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                left - 8.0,
                y + 5.0,
                escape(&(self.y.format)(tick))
            );
        }
        for &tick in &xs.ticks {
            let Some(x) = xs.place(tick).map(across) else { continue };
            let _ = write!(
                body,
                "<path class=\"g\" d=\"M{x:.1} {top}V{bottom}\"/><text class=\"d\" x=\"{x:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                bottom + 20.0,
                escape(&(self.x.format)(tick))
            );
        }
        let _ = write!(
            body,
            "<text class=\"d\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text class=\"d\" x=\"0\" y=\"{:.1}\">{}</text>",
            0.5 * (left + right),
            bottom + 42.0,
            escape(&self.x.label),
            top - 12.0,
            escape(&self.y.label)
        );
        for (i, series) in self.series.iter().enumerate() {
            let at = |p: &[f64; 2]| Some((across(xs.place(p[0])?), down(ys.place(p[1])?)));
            let places: Vec<(f64, f64)> = series.points.iter().filter_map(at).collect();
            let dash = if series.dashed { " stroke-dasharray=\"7 5\"" } else { "" };
            let colour = i % COLOURS;
            let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = write!(
                body,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--pv-{colour})\" stroke-width=\"2.5\" \
                 stroke-linejoin=\"round\"{dash}/>",
                path.join(" ")
            );
            for (x, y) in places {
                let _ = write!(
                    body,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\" fill=\"var(--pv-{colour})\"/>"
                );
            }
        }
        open(bottom + 50.0, &self.title) + &body + "</svg>"
    }
}

impl BarChart {
    /// The chart as one `<svg>` element. Colours follow `prefers-color-scheme`.
    pub fn svg(&self) -> String {
        const THICK: f64 = 20.0;
        let values = || self.groups.iter().flat_map(|g| g.values.iter().copied());
        let ruler = Ruler::new(self.scale, values());
        let names: Vec<(&str, bool)> = self.series.iter().map(|s| (s.as_str(), false)).collect();
        let mut body = String::new();
        let used = if names.len() > 1 { legend(&mut body, &names, 42.0) } else { 0.0 };
        let longest = self.groups.iter().map(|g| g.label.chars().count()).max().unwrap_or(0);
        let left = (8.6 * longest as f64 + 18.0).clamp(60.0, 0.45 * WIDTH);
        // Room at the right for the value of the longest bar.
        let right = WIDTH - 88.0;
        let mut y = 34.0 + used;
        for group in &self.groups {
            let tall = THICK * group.values.len().max(1) as f64;
            let _ = write!(
                body,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 10.0,
                y + 0.5 * tall + 5.0,
                escape(&group.label)
            );
            for (i, &value) in group.values.iter().enumerate() {
                let place = if value.is_finite() { ruler.place(value) } else { None };
                // A bar too small to see still shows that it is there.
                let wide = place.map_or(0.0, |t| (t.clamp(0.0, 1.0) * (right - left)).max(2.0));
                let text = if value.is_finite() { (self.format)(value) } else { "not available".to_owned() };
                let _ = write!(
                    body,
                    "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{:.1}\" rx=\"3\" \
                     fill=\"var(--pv-{})\"/><text class=\"d\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    y + 2.0,
                    THICK - 4.0,
                    i % COLOURS,
                    left + wide + 8.0,
                    y + 0.5 * THICK + 5.0,
                    escape(&text)
                );
                y += THICK;
            }
            y += 10.0;
        }
        open(y + 6.0, &self.title) + &body + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units;

    fn axis(scale: Scale) -> Axis {
        Axis { label: "x [m]".into(), scale, format: units::number }
    }

    /// Every number in the text is finite, so a viewer can draw it.
    fn sound(svg: &str) {
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn charts_of_any_values_are_sound() {
        let odd = [[1.0, 1e-9], [2.0, 0.0], [3.0, f64::NAN], [f64::INFINITY, 1.0], [1e9, 1e12]];
        for scale in [Scale::Linear, Scale::Log] {
            for points in [vec![], odd.to_vec(), vec![[5.0, 5.0]], vec![[-1.0, -2.0], [1.0, 2.0]]] {
                let series = vec![
                    Series { name: "a<b".into(), points: points.clone(), dashed: false },
                    Series { name: "c".into(), points, dashed: true },
                ];
                let chart = LineChart { title: "t & \"q\"".into(), x: axis(scale), y: axis(scale), series };
                sound(&chart.svg());
                assert!(chart.svg().contains("a&lt;b"));
            }
            let groups = vec![Bars { label: "one".into(), values: vec![1.0, f64::NAN, 0.0, 250.0] }];
            let series = ["p", "q", "r", "s"].map(String::from).to_vec();
            let chart = BarChart { title: "bars".into(), series, scale, format: units::seconds, groups };
            sound(&chart.svg());
            assert!(chart.svg().contains("not available"));
        }
    }

    #[test]
    fn ticks_hold_the_values() {
        for (low, high) in [(1e-3, 7.0), (3.0, 4.0), (1.0, 1.0), (2e-9, 3e9)] {
            let ruler = Ruler::new(Scale::Log, [low, high].into_iter());
            assert!((2..=9).contains(&ruler.ticks.len()), "{low} {high}: {:?}", ruler.ticks);
            for v in [low, high] {
                let t = ruler.place(v).unwrap();
                assert!((-1e-9..=1.0 + 1e-9).contains(&t), "{low} {high}: {t}");
            }
        }
    }
}
