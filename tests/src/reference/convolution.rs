//! Reference of convolution: nine taps along rows, then along columns; beyond the rim there are zeros.

use super::Case;
use crate::{Expected, Outputs};

const TAPS: [f32; 9] = [0.02, 0.06, 0.12, 0.19, 0.22, 0.19, 0.12, 0.06, 0.02];
const RADIUS: isize = 4;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let image = case.buffer::<f32>("image");
    let rows = filter(&image, width, height, 1, 0);
    let both = filter(&rows, width, height, 0, 1);
    Outputs::from([
        ("blurred_rows".into(), Expected::exact(&rows)),
        ("blurred".into(), Expected::exact(&both)),
    ])
}

/// Applies the taps in the direction (dx, dy).
fn filter(image: &[f32], width: usize, height: usize, dx: isize, dy: isize) -> Vec<f32> {
    let (w, h) = (width as isize, height as isize);
    let pixel = |x: isize, y: isize| {
        if (0..w).contains(&x) && (0..h).contains(&y) { image[(y * w + x) as usize] } else { 0.0 }
    };
    let mut out = Vec::with_capacity(image.len());
    for y in 0..h {
        for x in 0..w {
            let taps = TAPS.iter().zip(-RADIUS..);
            out.push(taps.fold(0.0, |sum, (&tap, k)| tap.mul_add(pixel(x + k * dx, y + k * dy), sum)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_lone_pixel_becomes_the_product_of_the_taps() {
        let mut image = [0.0_f32; 12 * 11];
        image[5 * 12 + 6] = 1.0;
        let outputs = Setup::scalars([("width", 12), ("height", 11)]).buffer("image", &image).run(expected);
        let rows = values::<f32>(&outputs, "blurred_rows");
        assert_eq!(rows[5 * 12 + 2..5 * 12 + 11], TAPS);
        assert_eq!(rows.iter().filter(|&&v| v != 0.0).count(), 9);
        let both = values::<f32>(&outputs, "blurred");
        assert_eq!(both[3 * 12 + 5], TAPS[2] * TAPS[3]);
        assert_eq!(both[0], 0.0);
    }
}
