//! Line charts with logarithmic or linear axes, and tables, as SVG text that needs no fonts of its own.

use std::fmt::Write;

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name for the legend.
    pub name: String,
    /// CSS colour.
    pub colour: &'static str,
    /// Whether the line is dashed.
    pub dashed: bool,
    /// Points. Logarithmic axes have no place for those that are not positive.
    pub points: Vec<(f64, f64)>,
}

/// A picture to keep beside a run's tables.
#[derive(Clone, Debug)]
pub struct Picture {
    /// File name.
    pub name: String,
    /// SVG text.
    pub svg: String,
}

/// What a chart says around its lines.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Above the chart.
    pub title: String,
    /// Below the horizontal axis, with its unit.
    pub x: String,
    /// Beside the vertical axis, with its unit.
    pub y: String,
    /// Vertical marks: position and text.
    pub marks: Vec<(f64, String)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
/// Room around the plotting area: left, right, top, bottom [px].
const ROOM: [f64; 4] = [70.0, 20.0, 44.0, 56.0];

/// A chart with both axes logarithmic. No point at all gives axes from 1 to 10.
pub fn chart(labels: &Labels, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|s| s.points.iter()).filter(|p| p.0 > 0.0 && p.1 > 0.0);
    let x = Axis::logarithmic(all().map(|p| p.0).chain(labels.marks.iter().map(|m| m.0)));
    let y = Axis::logarithmic(all().map(|p| p.1));
    draw(labels, series, &x, &y)
}

/// A chart with both axes linear, both from 0 on where no value is negative. No point at all gives axes from 0 to 1.
pub fn plot(labels: &Labels, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|s| s.points.iter());
    let x = Axis::linear(all().map(|p| p.0).chain(labels.marks.iter().map(|m| m.0)));
    let y = Axis::linear(all().map(|p| p.1));
    draw(labels, series, &x, &y)
}

/// A chart with a linear horizontal and a logarithmic vertical axis. No point at all gives axes from 0 to 1 and from 1 to 10.
pub fn semilog(labels: &Labels, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|s| s.points.iter()).filter(|p| p.1 > 0.0);
    let x = Axis::linear(all().map(|p| p.0).chain(labels.marks.iter().map(|m| m.0)));
    let y = Axis::logarithmic(all().map(|p| p.1));
    draw(labels, series, &x, &y)
}

/// One direction of a chart.
struct Axis {
    log: bool,
    /// Ends: powers of ten if `log`.
    ends: (f64, f64),
    /// Values with a line, and what is written there.
    ticks: Vec<(f64, String)>,
}

impl Axis {
    fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = decades(values);
        // Few decades have room for more lines.
        let steps: &[f64] = if high - low <= 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let all = (low as i32..=high as i32).flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e)));
        let name = |v: f64| if high - low <= 3.0 { number(v) } else { format!("{v:.0e}") };
        let ticks = all.filter(|v| v.log10() <= high + 1e-9).map(|v| (v, name(v))).collect();
        Self { log: true, ends: (low, high), ticks }
    }

    fn linear(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|v| v.is_finite());
        let (low, high) = finite.fold((0.0f64, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
        let high = if high > low { high } else { low + 1.0 };
        // About six lines, at 1, 2 or 5 times a power of ten.
        let rough = (high - low) / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|s| s * power >= rough).unwrap_or(10.0) * power;
        let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
        let ticks = (first..=last).map(|i| i as f64 * step).map(|v| (v, number(v))).collect();
        Self { log: false, ends: (first as f64 * step, last as f64 * step), ticks }
    }

    /// Where a value is, 0 to 1; none where a logarithm has no place for it.
    fn place(&self, value: f64) -> Option<f64> {
        let value = if self.log { value.log10() } else { value };
        let at = (value - self.ends.0) / (self.ends.1 - self.ends.0);
        at.is_finite().then_some(at)
    }
}

/// Short: 0.05, 20, 3000, 1e5.
fn number(v: f64) -> String {
    if v == 0.0 || (1e-3..1e5).contains(&v.abs()) {
        // Rounds what a product of steps leaves.
        format!("{}", (v * 1e6).round() / 1e6)
    } else {
        format!("{v:.0e}")
    }
}

fn draw(labels: &Labels, series: &[Series], x: &Axis, y: &Axis) -> String {
    let (w, h) = (WIDTH - ROOM[0] - ROOM[1], HEIGHT - ROOM[2] - ROOM[3]);
    let px = |v: f64| x.place(v).map(|at| ROOM[0] + w * at);
    let py = |v: f64| y.place(v).map(|at| ROOM[2] + h * (1.0 - at));
    let mut out = head(WIDTH, HEIGHT);
    text(&mut out, WIDTH / 2.0, 20.0, "middle", "bold", &labels.title);
    text(&mut out, ROOM[0] + w / 2.0, HEIGHT - 12.0, "middle", "normal", &labels.x);
    text(&mut out, 8.0, ROOM[2] - 10.0, "start", "normal", &labels.y);
    for (at, name) in x.ticks.iter().filter_map(|t| Some((px(t.0)?, &t.1))) {
        line(&mut out, (at, ROOM[2]), (at, ROOM[2] + h), "#ddd", "");
        text(&mut out, at, ROOM[2] + h + 18.0, "middle", "normal", name);
    }
    for (at, name) in y.ticks.iter().filter_map(|t| Some((py(t.0)?, &t.1))) {
        line(&mut out, (ROOM[0], at), (ROOM[0] + w, at), "#ddd", "");
        text(&mut out, ROOM[0] - 8.0, at + 4.0, "end", "normal", name);
    }
    for (i, (at, name)) in labels.marks.iter().filter_map(|m| Some((px(m.0)?, &m.1))).enumerate() {
        line(&mut out, (at, ROOM[2]), (at, ROOM[2] + h), "#888", "2 3");
        // On the side where there is room.
        let (shift, anchor) = if at < ROOM[0] + 0.75 * w { (3.0, "start") } else { (-3.0, "end") };
        text(&mut out, at + shift, ROOM[2] + h - 6.0 - 14.0 * i as f64, anchor, "normal", name);
    }
    let mut all = Vec::new();
    for s in series {
        let points: Vec<(f64, f64)> = s.points.iter().filter_map(|p| Some((px(p.0)?, py(p.1)?))).collect();
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            out,
            "<polyline points='{}' fill='none' stroke='{}' stroke-width='2' stroke-dasharray='{}'/>",
            list.join(" "),
            s.colour,
            if s.dashed { "6 4" } else { "" }
        );
        all.push(points);
    }
    legend(&mut out, series, &all, (w, h));
    out + "</svg>\n"
}

/// The lines' names, in the corner where they hide the least.
fn legend(out: &mut String, series: &[Series], lines: &[Vec<(f64, f64)>], (w, h): (f64, f64)) {
    let longest = series.iter().map(|s| s.name.chars().count()).max().unwrap_or(0);
    let size = (50.0 + 6.6 * longest as f64, 8.0 + 18.0 * series.len() as f64);
    let (left, right) = (ROOM[0] + 8.0, ROOM[0] + w - 8.0 - size.0);
    let (top, bottom) = (ROOM[2] + 6.0, ROOM[2] + h - 6.0 - size.1);
    // Ten places on each piece of a line tell where it runs.
    let hidden = |corner: &(f64, f64)| {
        let pieces = lines.iter().flat_map(|l| l.windows(2));
        let on_lines = pieces.flat_map(|p| {
            let (a, b) = (p[0], p[1]);
            (0..=10).map(move |i| {
                let t = f64::from(i) / 10.0;
                (a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1))
            })
        });
        on_lines
            .filter(|(x, y)| {
                (*x - corner.0).clamp(0.0, size.0) == *x - corner.0
                    && (*y - corner.1).clamp(0.0, size.1) == *y - corner.1
            })
            .count()
    };
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
    let (x, y) = corners.into_iter().min_by_key(hidden).unwrap_or((left, top));
    let _ = writeln!(
        out,
        "<rect x='{x:.1}' y='{y:.1}' width='{:.1}' height='{:.1}' fill='white' fill-opacity='0.85'/>",
        size.0, size.1
    );
    for (i, s) in series.iter().enumerate() {
        let y = y + 16.0 + 18.0 * i as f64;
        line(out, (x + 4.0, y - 4.0), (x + 30.0, y - 4.0), s.colour, if s.dashed { "6 4" } else { "" });
        text(out, x + 36.0, y, "start", "normal", &s.name);
    }
}

/// A table: the first row is the head, the first column is left-aligned, the others right-aligned.
pub fn table(title: &str, rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    // About 6.6 px a character of 12 px text.
    let width = |c: usize| {
        16.0 + 6.6 * rows.iter().filter_map(|r| r.get(c)).map(|t| t.chars().count()).max().unwrap_or(0) as f64
    };
    let widths: Vec<f64> = (0..columns).map(width).collect();
    let total = widths.iter().sum::<f64>() + 20.0;
    let mut out = head(total.max(7.5 * title.chars().count() as f64 + 20.0), 44.0 + 22.0 * rows.len() as f64);
    text(&mut out, 10.0, 20.0, "start", "bold", title);
    for (i, row) in rows.iter().enumerate() {
        let y = 46.0 + 22.0 * i as f64;
        let mut x = 10.0;
        for (c, cell) in row.iter().enumerate() {
            let weight = if i == 0 { "bold" } else { "normal" };
            let (at, anchor) = if c == 0 { (x, "start") } else { (x + widths[c] - 8.0, "end") };
            text(&mut out, at, y, anchor, weight, cell);
            x += widths[c];
        }
        line(&mut out, (10.0, y + 7.0), (total - 10.0, y + 7.0), if i == 0 { "#444" } else { "#ddd" }, "");
    }
    out + "</svg>\n"
}

/// Whole powers of ten around the values.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.filter(|v| v.is_finite() && *v > 0.0).fold((f64::MAX, 0.0), |(a, b), v| (v.min(a), v.max(b)));
    if high <= 0.0 {
        return (0.0, 1.0);
    }
    let (low, high) = (low.log10().floor(), high.log10().ceil());
    (low, if high > low { high } else { low + 1.0 })
}

fn head(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0} {height:.0}' width='{width:.0}' \
         height='{height:.0}' font-family='sans-serif' font-size='12'>\n\
         <rect width='100%' height='100%' fill='white'/>\n"
    )
}

fn line(out: &mut String, a: (f64, f64), b: (f64, f64), colour: &str, dash: &str) {
    let _ = writeln!(
        out,
        "<line x1='{:.1}' y1='{:.1}' x2='{:.1}' y2='{:.1}' stroke='{colour}' stroke-dasharray='{dash}'/>",
        a.0, a.1, b.0, b.1
    );
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, weight: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}' font-weight='{weight}'>{words}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_stay_finite_for_no_points_and_for_one() {
        let one = Series {
            name: "a < b".into(),
            colour: "red",
            dashed: true,
            points: vec![(1e6, 0.1), (0.0, 1.0)],
        };
        for series in [vec![], vec![one]] {
            let labels = Labels::default();
            for svg in [chart(&labels, &series), plot(&labels, &series), semilog(&labels, &series)] {
                assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.ends_with("</svg>\n"));
            }
        }
    }
}
