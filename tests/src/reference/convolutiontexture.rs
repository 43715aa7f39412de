//! Reference of convolutiontexture: pixels outside take those of the border.

use super::Case;
use crate::{Expected, Outputs};

const TAPS: [f32; 17] =
    [0.01, 0.02, 0.03, 0.05, 0.06, 0.08, 0.09, 0.1, 0.12, 0.1, 0.09, 0.08, 0.06, 0.05, 0.03, 0.02, 0.01];

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let rows = filter(&case.buffer("image"), [width, height], [1, 0]);
    let columns = filter(&rows, [width, height], [0, 1]);
    Outputs::from([("rows".into(), Expected::exact(&rows)), ("columns".into(), Expected::exact(&columns))])
}

/// Sums 17 pixels along a direction.
fn filter(image: &[f32], [width, height]: [usize; 2], [dx, dy]: [i64; 2]) -> Vec<f32> {
    let at = |x: i64, y: i64| {
        image[y.clamp(0, height as i64 - 1) as usize * width + x.clamp(0, width as i64 - 1) as usize]
    };
    let pixel = |i: usize| {
        let (x, y) = ((i % width) as i64, (i / width) as i64);
        (-8..=8).fold(0.0_f32, |sum, k| at(x + k * dx, y + k * dy).mul_add(TAPS[(8 - k) as usize], sum))
    };
    (0..width * height).map(pixel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_sum_to_one() {
        let filtered = filter(&[2.0; 12], [4, 3], [1, 0]);
        assert!(filtered.iter().all(|v| (v - 2.0).abs() < 1e-5));
    }
}
