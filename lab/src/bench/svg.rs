//! Line charts with logarithmic axes, and tables, as SVG text that needs no fonts of its own.

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
    /// Points; both coordinates positive.
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
    let (x0, x1) = decades(all().map(|p| p.0).chain(labels.marks.iter().map(|m| m.0)));
    let (y0, y1) = decades(all().map(|p| p.1));
    let (w, h) = (WIDTH - ROOM[0] - ROOM[1], HEIGHT - ROOM[2] - ROOM[3]);
    let px = |x: f64| ROOM[0] + w * (x.log10() - x0) / (x1 - x0);
    let py = |y: f64| ROOM[2] + h * (1.0 - (y.log10() - y0) / (y1 - y0));

    let mut out = head(WIDTH, HEIGHT);
    text(&mut out, WIDTH / 2.0, 20.0, "middle", "bold", &labels.title);
    text(&mut out, ROOM[0] + w / 2.0, HEIGHT - 12.0, "middle", "normal", &labels.x);
    text(&mut out, 8.0, ROOM[2] - 10.0, "start", "normal", &labels.y);
    for e in x0 as i32..=x1 as i32 {
        let x = px(10f64.powi(e));
        line(&mut out, (x, ROOM[2]), (x, ROOM[2] + h), "#ddd", "");
        text(&mut out, x, ROOM[2] + h + 18.0, "middle", "normal", &format!("1e{e}"));
    }
    for e in y0 as i32..=y1 as i32 {
        let y = py(10f64.powi(e));
        line(&mut out, (ROOM[0], y), (ROOM[0] + w, y), "#ddd", "");
        text(&mut out, ROOM[0] - 8.0, y + 4.0, "end", "normal", &format!("1e{e}"));
    }
    for (i, (x, name)) in labels.marks.iter().enumerate() {
        line(&mut out, (px(*x), ROOM[2]), (px(*x), ROOM[2] + h), "#888", "2 3");
        text(&mut out, px(*x) + 3.0, ROOM[2] + h - 6.0 - 14.0 * i as f64, "start", "normal", name);
    }
    for (i, s) in series.iter().enumerate() {
        let points: Vec<String> = s
            .points
            .iter()
            .filter(|p| p.0 > 0.0 && p.1 > 0.0)
            .map(|&(x, y)| format!("{:.1},{:.1}", px(x), py(y)))
            .collect();
        let dash = if s.dashed { "6 4" } else { "" };
        let _ = writeln!(
            out,
            "<polyline points='{}' fill='none' stroke='{}' stroke-width='2' stroke-dasharray='{dash}'/>",
            points.join(" "),
            s.colour
        );
        let y = ROOM[2] + 16.0 + 18.0 * i as f64;
        line(&mut out, (ROOM[0] + 10.0, y - 4.0), (ROOM[0] + 36.0, y - 4.0), s.colour, dash);
        text(&mut out, ROOM[0] + 42.0, y, "start", "normal", &s.name);
    }
    out + "</svg>\n"
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
            let svg = chart(&Labels::default(), &series);
            assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.ends_with("</svg>\n"));
        }
    }
}
