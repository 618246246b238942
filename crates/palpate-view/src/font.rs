//! A small engraved lettering for labels in pictures, drawn with strokes so that any size is sharp.
//!
//! It has digits, lower-case letters and the signs that measures need; capitals are drawn as lower case and
//! anything else as a space.

use crate::image::{Image, Rgb};

/// Height of a digit in grid units; glyphs are drawn on a grid 4 wide and 8 high, baseline at 6.
const CAP: f32 = 6.0;
/// Space after a glyph and width of a blank, in grid units.
const GAP: f32 = 1.9;
const BLANK: f32 = 2.6;

/// Strokes of a glyph: points as two digits (column, row), strokes separated by `/`.
fn strokes(c: char) -> &'static str {
    match c.to_ascii_lowercase() {
        '0' => "10 30 41 45 36 16 05 01 10",
        '1' => "11 20 26/16 36",
        '2' => "01 10 30 41 42 06 46",
        '3' => "01 10 30 41 42 33 23/33 44 45 36 16 05",
        '4' => "36 30 04 44",
        '5' => "40 00 02 32 43 45 36 16 05",
        '6' => "30 10 01 05 16 36 45 43 32 12 03",
        '7' => "00 40 16",
        '8' => "13 02 01 10 30 41 42 33 13 04 05 16 36 45 44 33",
        '9' => "16 36 45 41 30 10 01 03 14 34 43",
        '.' => "26 26",
        ',' => "26 17",
        '-' | '−' => "03 33",
        '+' => "03 43/21 25",
        '=' => "02 42/04 44",
        ':' => "22 22/26 26",
        '/' => "06 40",
        '(' => "30 21 25 36",
        ')' => "10 21 25 16",
        '%' => "06 40/00 10 11 01 00/35 45 46 36 35",
        'a' => "42 46/43 32 12 03 05 16 36 45",
        'b' => "00 06/03 12 32 43 45 36 16 05",
        'c' => "43 32 12 03 05 16 36 45",
        'd' => "40 46/43 32 12 03 05 16 36 45",
        'e' => "04 44 43 32 12 03 05 16 36 45",
        'f' => "30 20 11 16/02 22",
        'g' => "42 47 38 18 07/43 32 12 03 05 16 36 45",
        'h' => "00 06/03 12 32 43 46",
        'i' => "22 26/20 20",
        'j' => "22 27 18/20 20",
        'k' => "00 06/32 04/14 36",
        'l' => "20 26",
        'm' => "02 06/03 12 23 26/23 32 43 46",
        'n' => "02 06/03 12 32 43 46",
        'o' => "12 32 43 45 36 16 05 03 12",
        'p' => "02 08/03 12 32 43 45 36 16 05",
        'q' => "42 48/43 32 12 03 05 16 36 45",
        'r' => "02 06/03 12 32",
        's' => "42 12 03 14 34 45 36 06",
        't' => "10 15 26 36/02 32",
        'u' => "02 05 16 36 45/42 46",
        'v' => "02 26 42",
        'w' => "02 16 23 36 42",
        'x' => "02 46/42 06",
        'y' => "02 26/42 26 18 08",
        'z' => "02 42 06 46",
        'µ' | 'μ' => "02 08/05 16 36 45/42 46",
        _ => "",
    }
}

fn points(stroke: &str) -> impl Iterator<Item = [f32; 2]> + '_ {
    stroke.split(' ').filter_map(|p| match p.as_bytes() {
        [x, y] => Some([f32::from(x.wrapping_sub(b'0')), f32::from(y.wrapping_sub(b'0'))]),
        _ => None,
    })
}

/// Leftmost and rightmost column of a glyph.
fn extent(glyph: &str) -> Option<(f32, f32)> {
    let columns = || glyph.split('/').flat_map(points).map(|p| p[0]);
    let (low, high) = (columns().fold(f32::MAX, f32::min), columns().fold(f32::MIN, f32::max));
    (low <= high).then_some((low, high))
}

/// Width of `text` when a digit is `size` pixels high \[pixels\].
pub fn width(text: &str, size: f32) -> f32 {
    let units: f32 =
        text.chars().map(|c| extent(strokes(c)).map_or(BLANK, |(low, high)| high - low + GAP)).sum();
    (units - GAP).max(0.0) * size / CAP
}

/// Draws `text` with its baseline's left end at (`x`, `y`); a digit is `size` pixels high.
pub fn draw(image: &mut Image, x: f32, y: f32, size: f32, colour: Rgb, text: &str) {
    let scale = size / CAP;
    let pen = (0.135 * size).max(1.0);
    let mut left = x;
    for c in text.chars() {
        let glyph = strokes(c);
        let Some((low, high)) = extent(glyph) else {
            left += BLANK * scale;
            continue;
        };
        for stroke in glyph.split('/') {
            let at = |p: [f32; 2]| [left + (p[0] - low) * scale, y + (p[1] - CAP) * scale];
            let path: Vec<[f32; 2]> = points(stroke).map(at).collect();
            path.windows(2).for_each(|ends| image.line(ends[0], ends[1], pen, colour));
        }
        left += (high - low + GAP) * scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_glyph_stays_in_its_box_and_leaves_ink() {
        for c in "0123456789.,-+=:/()%abcdefghijklmnopqrstuvwxyzµ".chars() {
            let all: Vec<[f32; 2]> = strokes(c).split('/').flat_map(points).collect();
            assert!(all.len() >= 2, "{c}");
            assert!(all.iter().all(|p| p[0] <= 4.0 && p[1] <= 8.0), "{c}");
            let mut image = Image::new(40, 40);
            draw(&mut image, 10.0, 25.0, 12.0, [0; 3], &c.to_string());
            assert!(image.rgba().chunks(4).any(|p| p[3] > 100), "{c}");
        }
        assert!(width("12 mm", 12.0) > width("12", 12.0));
        assert_eq!(width("", 12.0), 0.0);
    }
}
