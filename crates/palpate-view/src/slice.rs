//! A plane through a signed distance field, as a picture with lines of equal distance, a scale and a legend.

use crate::font;
use crate::image::{Image, Rgb};
use crate::units;
use glam::DVec3;
use palpate::math::Aabb;
use palpate::par;

/// Most lines of equal distance in one picture; more merge into a grey.
const MAX_LINES: f64 = 26.0;
/// Width of the line of distance zero and of the others \[pixels at 1000 pixels width\].
const ZERO_WIDTH: f32 = 3.4;
const LINE_WIDTH: f32 = 1.1;
/// Colour of lettering that can be read on white and on black.
const NEUTRAL: Rgb = [122, 128, 138];

/// The axis a plane is perpendicular to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The plane x = constant: y to the right, z up.
    X,
    /// The plane y = constant: x to the right, z up.
    Y,
    /// The plane z = constant: x to the right, y up.
    Z,
}

impl Axis {
    /// Indices of the plane's own axis and of those drawn to the right and up.
    fn indices(self) -> [usize; 3] {
        match self {
            Self::X => [0, 1, 2],
            Self::Y => [1, 0, 2],
            Self::Z => [2, 0, 1],
        }
    }

    /// `x`, `y` or `z`.
    pub fn name(self) -> &'static str {
        ["x", "y", "z"][self.indices()[0]]
    }
}

/// Which plane, how large, and what the lines mean.
#[derive(Clone, Copy, Debug)]
pub struct SliceParams {
    /// Axis the plane is perpendicular to.
    pub axis: Axis,
    /// Position on that axis, 0 = lower and 1 = upper face of the box \[1\].
    pub at: f64,
    /// Width of the picture \[pixels\]; the height follows from the box.
    pub width: u32,
    /// Size of a voxel \[m\]: lines are drawn every 1, 2, 4, … voxels, as fine as stays readable.
    pub voxel: f64,
    /// Whether to add the legend below.
    pub legend: bool,
    /// Colour behind the legend; none: transparent.
    pub background: Option<Rgb>,
}

impl Default for SliceParams {
    fn default() -> Self {
        Self { axis: Axis::Z, at: 0.5, width: 1000, voxel: 0.0, legend: true, background: None }
    }
}

/// Draws `field` (signed distance at a point, both in metres, negative inside) on a plane through `frame`.
///
/// Blue is inside, orange outside, pale near the surface; the thick line is distance 0. Values that are not
/// finite are grey. Cost: one call of `field` a pixel, in parallel.
pub fn slice(field: impl Fn(DVec3) -> f64 + Sync, frame: Aabb, params: &SliceParams) -> Image {
    let [axis, right, up] = params.axis.indices();
    let extent = frame.extent();
    let width = params.width.clamp(64, crate::image::MAX_SIDE);
    let aspect = (extent[up] / extent[right]).clamp(0.05, 4.0);
    let aspect = if aspect.is_finite() { aspect } else { 1.0 };
    let height = ((f64::from(width) * aspect).round() as u32).clamp(16, crate::image::MAX_SIDE);
    // Same scale along both directions, so that circles stay circles even where the aspect was clamped.
    let pixel = (extent[right] / f64::from(width)).max(extent[up] / f64::from(height));
    let centre = frame.centre();
    let place = |x: usize, y: usize| {
        let mut p = centre;
        p[axis] = frame.min[axis] + params.at * extent[axis];
        p[right] += (x as f64 + 0.5 - 0.5 * f64::from(width)) * pixel;
        p[up] -= (y as f64 + 0.5 - 0.5 * f64::from(height)) * pixel;
        p
    };
    let (w, h) = (width as usize, height as usize);
    let rows = par::map(h, |y| (0..w).map(|x| field(place(x, y))).collect::<Vec<f64>>());
    let finite = || rows.iter().flatten().copied().filter(|v| v.is_finite());
    let range = Range { low: finite().fold(0.0, f64::min), high: finite().fold(0.0, f64::max) };
    let step = line_step(params.voxel, &range);
    let strip = if params.legend { Strip::height(width) } else { 0 };
    let mut image = Image::new(width, height + strip);
    let pen = f64::from(width) / 1000.0;
    par::chunks_mut(&mut image.rgba_mut()[..w * h * 4], w * 4, |y, out| {
        for (x, rgba) in out.chunks_exact_mut(4).enumerate() {
            let colour = pixel_colour(&rows, x, y, pixel, step, &range, pen as f32);
            rgba.copy_from_slice(&[colour[0], colour[1], colour[2], 255]);
        }
    });
    if let Some(colour) = params.background {
        image = image.over(colour);
    }
    if params.legend {
        let at = frame.min[axis] + params.at * extent[axis];
        let strip = Strip { top: height, pixel, step, voxel: params.voxel, range };
        strip.draw(&mut image, params, at);
    }
    image
}

#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
}

/// Distance between lines: the voxel doubled until few enough fit; without a voxel a round number.
fn line_step(voxel: f64, range: &Range) -> f64 {
    let whole = range.high - range.low;
    if whole <= 0.0 || !whole.is_finite() {
        return 0.0;
    }
    let mut step = if voxel > 0.0 && voxel.is_finite() { voxel } else { round_down(whole / MAX_LINES) };
    while whole / step > MAX_LINES && step.is_finite() {
        step *= 2.0;
    }
    step
}

/// The largest 1, 2 or 5 times a power of ten that is not above `x`.
fn round_down(x: f64) -> f64 {
    let power = 10.0_f64.powf(x.abs().max(1e-300).log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|m| m * power).find(|v| *v <= x * (1.0 + 1e-9)).unwrap_or(power)
}

fn pixel_colour(
    rows: &[Vec<f64>],
    x: usize,
    y: usize,
    pixel: f64,
    step: f64,
    range: &Range,
    pen: f32,
) -> Rgb {
    let d = rows[y][x];
    if !d.is_finite() {
        return if ((x + y) / 6).is_multiple_of(2) { [150; 3] } else { [170; 3] };
    }
    // Slope in distance per pixel turns a difference of values into a width on screen.
    let (left, right) = (rows[y][x.saturating_sub(1)], rows[y][(x + 1).min(rows[y].len() - 1)]);
    let (above, below) = (rows[y.saturating_sub(1)][x], rows[(y + 1).min(rows.len() - 1)][x]);
    let slope = (0.5 * (right - left).hypot(below - above)).clamp(0.05 * pixel, 2.0 * pixel);
    let mut colour = map(d, range).map(f32::from);
    let mut lay = |over: [f32; 3], off: f64, width: f32, strength: f32| {
        let cover = (0.5 * width + 0.5 - (off / slope) as f32).clamp(0.0, 1.0) * strength;
        for c in 0..3 {
            colour[c] += (over[c] - colour[c]) * cover;
        }
    };
    if step > 0.0 {
        let off = (d - (d / step).round() * step).abs();
        let ink = if d < 0.0 { [14.0, 40.0, 92.0] } else { [122.0, 52.0, 10.0] };
        lay(ink, off, LINE_WIDTH * pen.max(0.8), 0.36);
    }
    lay([18.0, 20.0, 26.0], d.abs(), ZERO_WIDTH * pen.max(0.6), 1.0);
    colour.map(|c| (c + 0.5) as u8)
}

/// The colour of signed distance `d` where distances run from `low` (negative) to `high`, all in one unit: blue
/// inside, orange outside, pale near 0.
pub fn colour(d: f64, low: f64, high: f64) -> Rgb {
    map(d, &Range { low, high })
}

/// The diverging colour map: blue inside, orange outside, each side with its own full scale.
fn map(d: f64, range: &Range) -> Rgb {
    const INSIDE: [[f32; 3]; 4] =
        [[232.0, 240.0, 250.0], [150.0, 190.0, 232.0], [66.0, 120.0, 196.0], [22.0, 58.0, 128.0]];
    const OUTSIDE: [[f32; 3]; 4] =
        [[253.0, 244.0, 232.0], [250.0, 204.0, 150.0], [238.0, 142.0, 66.0], [184.0, 84.0, 24.0]];
    let (stops, full) = if d < 0.0 { (&INSIDE, -range.low) } else { (&OUTSIDE, range.high) };
    let t = if full > 0.0 { (d.abs() / full).clamp(0.0, 1.0).powf(0.8) as f32 } else { 0.0 };
    let at = t * (stops.len() - 1) as f32;
    let i = (at as usize).min(stops.len() - 2);
    let f = at - i as f32;
    [0, 1, 2].map(|c| (stops[i][c] + f * (stops[i + 1][c] - stops[i][c]) + 0.5) as u8)
}

/// The legend below the picture.
struct Strip {
    top: u32,
    pixel: f64,
    step: f64,
    voxel: f64,
    range: Range,
}

impl Strip {
    fn height(width: u32) -> u32 {
        (f64::from(width) * 0.1).round().max(44.0) as u32
    }

    fn draw(&self, image: &mut Image, params: &SliceParams, at: f64) {
        let width = image.width() as f32;
        let size = (width * 0.0185).max(8.5);
        let top = self.top as f32 + size * 1.1;
        let ink = match params.background {
            Some(c) if c.iter().map(|c| u32::from(*c)).sum::<u32>() > 384 => [60, 64, 72],
            Some(_) => [200, 204, 212],
            None => NEUTRAL,
        };
        // Colour bar: the left half is inside, the right half outside.
        let bar = 0.29 * width;
        let pad = 0.012 * width;
        let thick = size * 1.1;
        for x in 0..bar as i64 {
            let t = (x as f64 + 0.5) / f64::from(bar) * 2.0 - 1.0;
            let d = if t < 0.0 { -t * self.range.low } else { t * self.range.high };
            let colour = map(if t < 0.0 { d.min(-1e-300) } else { d }, &self.range);
            image.fill_rect(x + pad as i64, top as i64, 1, thick as i64, colour);
        }
        let base = top + thick + size * 1.7;
        let zero = pad + 0.5 * bar;
        image.line([zero, top - 3.0], [zero, top + thick + 3.0], 0.2 * size, [18, 20, 26]);
        let label = |image: &mut Image, centre: f32, text: &str| {
            let wide = font::width(text, size);
            let left = (centre - 0.5 * wide).clamp(pad, (width - wide - pad).max(pad));
            font::draw(image, left, base, size, ink, text);
        };
        label(image, 0.0, &units::length(self.range.low));
        label(image, zero, "0");
        label(image, pad + bar, &format!("+{}", units::length(self.range.high)));
        // What the lines are.
        let middle = 0.59 * width;
        let lines = if self.voxel > 0.0 {
            format!("lines every {} voxels", units::number(self.step / self.voxel))
        } else {
            format!("lines every {}", units::length(self.step))
        };
        let lines = if lines.ends_with(" 1 voxels") { "lines every voxel".to_owned() } else { lines };
        let plane = format!("{} = {}", params.axis.name(), units::length(at));
        let text = |image: &mut Image, y: f32, text: &str| {
            font::draw(image, middle - 0.5 * font::width(text, size), y, size, ink, text);
        };
        text(image, top + thick * 0.9, &plane);
        if self.step > 0.0 {
            text(image, base, &lines);
        }
        // Scale bar at the right: the roundest length that fits.
        let metres = round_down(0.2 * f64::from(width) * self.pixel);
        let long = (metres / self.pixel) as f32;
        let (right, y) = (width - pad, top + 0.5 * thick);
        let thin = 0.16 * size;
        image.line([right - long, y], [right, y], thin, ink);
        for x in [right - long, right] {
            image.line([x, y - 0.4 * size], [x, y + 0.4 * size], thin, ink);
        }
        label(image, right - 0.5 * long, &units::length(metres));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Aabb = Aabb { min: DVec3::splat(-2.0), max: DVec3::new(2.0, 1.0, 2.0) };

    #[test]
    fn colours_say_inside_outside_and_zero() {
        let params = SliceParams { width: 200, legend: false, voxel: 0.1, ..Default::default() };
        let image = slice(|p| p.length() - 1.0, FRAME, &params);
        assert_eq!((image.width(), image.height()), (200, 150));
        // y runs from -2 to 1, so the centre of the circle is a third below the top.
        let [r, _, b, _] = image.pixel(100, 50);
        assert!(b > r, "blue inside");
        let [r, _, b, _] = image.pixel(5, 5);
        assert!(r > b, "orange outside");
        let [r, g, b, _] = image.pixel(149, 50);
        assert!(r < 90 && g < 90 && b < 90, "dark at distance 0: {r} {g} {b}");
    }

    #[test]
    fn strange_values_and_frames_do_not_panic() {
        for frame in [FRAME, Aabb::EMPTY, Aabb { min: DVec3::ZERO, max: DVec3::ZERO }] {
            for value in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
                let params = SliceParams { width: 80, axis: Axis::X, ..Default::default() };
                let _ = slice(|_| value, frame, &params);
            }
        }
    }

    #[test]
    fn round_numbers() {
        for (x, y) in [(0.3, 0.2), (7.0, 5.0), (1.0, 1.0), (1999.0, 1000.0), (2e-5, 2e-5)] {
            assert!((round_down(x) - y).abs() < 1e-9 * y, "{x}: {}", round_down(x));
        }
    }
}
