//! The picture type: 8-bit RGBA, rows from the top, and the few drawing verbs that labels need.

/// A colour: red, green, blue, sRGB-encoded.
pub type Rgb = [u8; 3];

/// Pixels in sRGB with straight (not premultiplied) alpha, row by row from the top left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    rgba: Vec<u8>,
}

/// Largest side of a picture \[pixels\]. Larger is refused by clamping: 16384² RGBA is 1 GiB already.
pub const MAX_SIDE: u32 = 16_384;

impl Image {
    /// A transparent picture; each side is clamped to 1..=[`MAX_SIDE`].
    pub fn new(width: u32, height: u32) -> Self {
        let (width, height) = (width.clamp(1, MAX_SIDE), height.clamp(1, MAX_SIDE));
        Self { width, height, rgba: vec![0; width as usize * height as usize * 4] }
    }

    /// Width \[pixels\].
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height \[pixels\].
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The bytes, four a pixel, row by row from the top left.
    pub fn rgba(&self) -> &[u8] {
        &self.rgba
    }

    /// The same bytes, writable.
    pub fn rgba_mut(&mut self) -> &mut [u8] {
        &mut self.rgba
    }

    /// The pixel at column `x`, row `y`; transparent black outside.
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 4] {
        if x >= self.width || y >= self.height {
            return [0; 4];
        }
        let at = (y as usize * self.width as usize + x as usize) * 4;
        [self.rgba[at], self.rgba[at + 1], self.rgba[at + 2], self.rgba[at + 3]]
    }

    /// Lays `colour` over the pixel with weight `alpha` in [0, 1]; outside the picture does nothing.
    pub fn blend(&mut self, x: i64, y: i64, colour: Rgb, alpha: f32) {
        if x < 0 || y < 0 || x >= i64::from(self.width) || y >= i64::from(self.height) || alpha.is_nan() {
            return;
        }
        let a = alpha.clamp(0.0, 1.0);
        let at = (y as usize * self.width as usize + x as usize) * 4;
        let below = f32::from(self.rgba[at + 3]) / 255.0;
        let out = a + below * (1.0 - a);
        if out <= 0.0 {
            return;
        }
        for (old, over) in self.rgba[at..at + 3].iter_mut().zip(colour) {
            let new = (f32::from(over) * a + f32::from(*old) * below * (1.0 - a)) / out;
            *old = (new + 0.5) as u8;
        }
        self.rgba[at + 3] = (out * 255.0 + 0.5) as u8;
    }

    /// Fills the rectangle from (`x`, `y`) with `colour`, fully opaque.
    pub fn fill_rect(&mut self, x: i64, y: i64, width: i64, height: i64, colour: Rgb) {
        for row in y.max(0)..(y + height).min(i64::from(self.height)) {
            for column in x.max(0)..(x + width).min(i64::from(self.width)) {
                self.blend(column, row, colour, 1.0);
            }
        }
    }

    /// Draws a line with round ends and smooth edges; coordinates in pixels, pixel centres at .5.
    pub fn line(&mut self, from: [f32; 2], to: [f32; 2], width: f32, colour: Rgb) {
        let reach = 0.5 * width + 1.0;
        let low = |a: f32, b: f32| (a.min(b) - reach).floor() as i64;
        let high = |a: f32, b: f32| (a.max(b) + reach).ceil() as i64;
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let length_sq = (dx * dx + dy * dy).max(1e-12);
        let rows = low(from[1], to[1]).max(0)..high(from[1], to[1]).min(i64::from(self.height));
        for y in rows {
            for x in low(from[0], to[0]).max(0)..high(from[0], to[0]).min(i64::from(self.width)) {
                let (px, py) = (x as f32 + 0.5 - from[0], y as f32 + 0.5 - from[1]);
                let t = ((px * dx + py * dy) / length_sq).clamp(0.0, 1.0);
                let off = (px - t * dx).hypot(py - t * dy);
                self.blend(x, y, colour, 0.5 * width + 0.5 - off);
            }
        }
    }

    /// Copies `other` to where its top left corner is at (`x`, `y`), transparency included; what is outside is cut off.
    pub fn paste(&mut self, other: &Self, x: u32, y: u32) {
        let wide = other.width.min(self.width.saturating_sub(x)) as usize * 4;
        for row in 0..other.height.min(self.height.saturating_sub(y)) {
            let to = ((y + row) as usize * self.width as usize + x as usize) * 4;
            let from = row as usize * other.width as usize * 4;
            self.rgba[to..to + wide].copy_from_slice(&other.rgba[from..from + wide]);
        }
    }

    /// This picture on an opaque background of one colour.
    #[must_use]
    pub fn over(&self, background: Rgb) -> Self {
        let mut out = self.clone();
        for pixel in out.rgba.chunks_exact_mut(4) {
            let a = u32::from(pixel[3]);
            for c in 0..3 {
                pixel[c] =
                    ((u32::from(pixel[c]) * a + u32::from(background[c]) * (255 - a) + 127) / 255) as u8;
            }
            pixel[3] = 255;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blending_over_nothing_gives_the_colour_itself() {
        let mut image = Image::new(2, 1);
        image.blend(0, 0, [200, 100, 50], 0.5);
        assert_eq!(image.pixel(0, 0), [200, 100, 50, 128]);
        image.blend(-1, 0, [1, 2, 3], 1.0);
        image.blend(2, 0, [1, 2, 3], 1.0);
        assert_eq!(image.pixel(1, 0), [0; 4]);
    }

    #[test]
    fn over_makes_every_pixel_opaque() {
        let image = Image::new(3, 3).over([10, 20, 30]);
        assert!(image.rgba().chunks(4).all(|p| p == [10, 20, 30, 255]));
    }

    #[test]
    fn pasting_cuts_at_the_border() {
        let mut image = Image::new(3, 2);
        image.paste(&Image::new(2, 2).over([9; 3]), 2, 1);
        assert_eq!(
            (image.pixel(2, 1), image.pixel(1, 1), image.pixel(2, 0)),
            ([9, 9, 9, 255], [0; 4], [0; 4])
        );
        image.paste(&Image::new(2, 2), 7, 7);
    }

    #[test]
    fn sides_are_never_zero() {
        assert_eq!(Image::new(0, 0).rgba().len(), 4);
    }
}
