//! An RGB picture, written as PNG.

use std::convert::Infallible;

use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::ascii::FONT_6X10;
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{PrimitiveStyle, Rectangle};
use embedded_graphics::text::{Baseline, Text};

/// Pixels per line of text, with spacing.
pub const LINE: u32 = 12;

/// In pixels.
pub fn width_of(text: &str) -> u32 {
    text.len() as u32 * FONT_6X10.character_size.width
}

const NEUTRAL: Rgb888 = Rgb888::new(247, 247, 247);
/// Ends of the colour scale (ColorBrewer's RdBu, colour-blind safe).
const BELOW: Rgb888 = Rgb888::new(33, 102, 172);
const ABOVE: Rgb888 = Rgb888::new(178, 24, 43);
const NOTHING: Rgb888 = Rgb888::new(208, 208, 208);
const INK: Rgb888 = Rgb888::new(32, 32, 32);

pub struct Canvas {
    size: Size,
    pixels: Vec<u8>,
}

impl Canvas {
    pub fn new(width: u32, height: u32) -> Canvas {
        Canvas { size: Size::new(width, height), pixels: vec![255; (width * height * 3) as usize] }
    }

    /// White for 0, full red from 1 up, full blue from −1 down, grey for `None`.
    pub fn square(&mut self, [x, y]: [u32; 2], side: u32, value: Option<f32>) {
        let colour = value.map_or(NOTHING, colour);
        self.fill(Rectangle::new(point(x, y), Size::new(side, side)), PrimitiveStyle::with_fill(colour));
    }

    pub fn outline(&mut self, [x, y]: [u32; 2], side: u32) {
        let area = Rectangle::new(point(x, y), Size::new(side, side));
        self.fill(area, PrimitiveStyle::with_stroke(INK, 1));
    }

    /// `x`, `y` is the upper left corner. ASCII only.
    pub fn text(&mut self, [x, y]: [u32; 2], text: &str) {
        let style = MonoTextStyle::new(&FONT_6X10, INK);
        let drawn = Text::with_baseline(text, point(x, y), style, Baseline::Top).draw(self);
        drawn.map_or_else(|never| match never {}, drop);
    }

    fn fill(&mut self, area: Rectangle, style: PrimitiveStyle<Rgb888>) {
        area.into_styled(style).draw(self).unwrap_or_else(|never| match never {});
    }

    pub fn png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.size.width, self.size.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().expect("writing to memory succeeds");
        writer.write_image_data(&self.pixels).expect("the buffer has the size of the picture");
        writer.finish().expect("writing to memory succeeds");
        bytes
    }
}

fn point(x: u32, y: u32) -> Point {
    Point::new(x.cast_signed(), y.cast_signed())
}

fn colour(value: f32) -> Rgb888 {
    let end = if value < 0.0 { BELOW } else { ABOVE };
    let share = value.abs().min(1.0);
    let mixed =
        |from: u8, to: u8| (f32::from(from) + share * (f32::from(to) - f32::from(from))).round() as u8;
    Rgb888::new(mixed(NEUTRAL.r(), end.r()), mixed(NEUTRAL.g(), end.g()), mixed(NEUTRAL.b(), end.b()))
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        self.size
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        let area = self.bounding_box();
        for Pixel(place, colour) in pixels.into_iter().filter(|Pixel(place, _)| area.contains(*place)) {
            let index = place.y as usize * self.size.width as usize + place.x as usize;
            self.pixels[3 * index..][..3].copy_from_slice(&[colour.r(), colour.g(), colour.b()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_squares_are_in_the_file() {
        let mut canvas = Canvas::new(20, 10);
        canvas.square([2, 3], 4, Some(2.0));
        canvas.square([8, 3], 4, Some(-1.0));
        canvas.square([14, 3], 4, None);
        let png = canvas.png();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (20, 10));
        let at = |x: usize, y: usize| &pixels[3 * (20 * y + x)..][..3];
        assert_eq!(at(0, 0), [255, 255, 255]);
        assert_eq!((at(2, 3), at(5, 6)), (&[178, 24, 43][..], &[178, 24, 43][..]));
        assert_eq!((at(8, 3), at(14, 6)), (&[33, 102, 172][..], &[208, 208, 208][..]));
        assert_eq!(at(6, 3), [255, 255, 255]);
        assert_eq!(colour(0.0), NEUTRAL);
    }

    #[test]
    fn shapes_beyond_the_edge_are_clipped() {
        let mut canvas = Canvas::new(4, 4);
        canvas.square([2, 2], 8, Some(1.0));
        canvas.text([0, 0], "much too long");
        assert!(!canvas.png().is_empty());
    }
}
