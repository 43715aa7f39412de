//! Reference of nlm in double precision.
//!
//! Bound: pixels are between 0 and 1; distances of 25 pixels are off by 25 * 2^-24 and weights by 2^-21, so that a mean
//! of values up to 1 is off by less than 1e-5.

use super::Case;
use crate::{Expected, Outputs};

const NOISE: f64 = 2.0;
const BLEND: f64 = 0.75;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let pixels = case.buffer::<f32>("image");
    let image = Image { pixels, width: width as i64, height: height as i64 };
    let each = |compared: fn(i64) -> i64| {
        let pixel = |at: usize| {
            let (x, y) = ((at % width) as i64, (at / width) as i64);
            image.denoised(x, y, compared(x), compared(y)) as f32
        };
        Expected::within(&(0..width * height).map(pixel).collect::<Vec<_>>(), 0.0, 2e-5)
    };
    Outputs::from([("plain".into(), each(|c| c)), ("blocks".into(), each(|c| c / 8 * 8 + 4))])
}

struct Image {
    pixels: Vec<f32>,
    width: i64,
    height: i64,
}

impl Image {
    fn at(&self, x: i64, y: i64) -> f64 {
        let (x, y) = (x.clamp(0, self.width - 1), y.clamp(0, self.height - 1));
        self.pixels[(y * self.width + x) as usize].into()
    }

    /// Pixel (x, y) with the weights of the shifts of the window around (cx, cy).
    fn denoised(&self, x: i64, y: i64, cx: i64, cy: i64) -> f64 {
        let (mut weights, mut sum) = (0.0, 0.0);
        for (i, j) in (-3..=3).flat_map(|i| (-3..=3).map(move |j| (i, j))) {
            let near = (-2..=2).flat_map(|n| (-2..=2).map(move |m| (n, m)));
            let differ =
                |(n, m): (i64, i64)| (self.at(cx + j + m, cy + i + n) - self.at(cx + m, cy + n)).powi(2);
            let distance: f64 = near.map(differ).sum();
            let weight = (-(distance * NOISE + (i * i + j * j) as f64 / 49.0)).exp();
            sum += weight * self.at(x + j, y + i);
            weights += weight;
        }
        let own = self.at(x, y);
        own + BLEND * (sum / weights - own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_image_stays() {
        let image = Image { pixels: vec![0.5; 12], width: 4, height: 3 };
        assert!((image.denoised(1, 1, 1, 1) - 0.5).abs() < 1e-12);
    }
}
