//! Reference of dwt2d: components, and the 5/3 transform of whole columns and then rows.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let pixels = case.buffer::<u8>("pixels");
    let component =
        |c: usize| pixels.chunks_exact(3).map(|pixel| i32::from(pixel[c]) - 128).collect::<Vec<_>>();
    let red = component(0);
    let bands = transform(&red, width, height);
    Outputs::from([
        ("red".into(), Expected::exact(&red)),
        ("green".into(), Expected::exact(&component(1))),
        ("blue".into(), Expected::exact(&component(2))),
        ("bands".into(), Expected::exact(&bands)),
    ])
}

fn transform(image: &[i32], width: usize, height: usize) -> Vec<i32> {
    let mut bands = vec![0; width * height];
    for column in 0..width {
        let lifted = lift(&(0..height).map(|row| image[row * width + column]).collect::<Vec<_>>());
        lifted.iter().enumerate().for_each(|(row, value)| bands[row * width + column] = *value);
    }
    bands.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(&lift(row)));
    bands
}

/// The low band and then the high band of a line of even length.
fn lift(line: &[i32]) -> Vec<i32> {
    let half = line.len() / 2;
    let next = |i: usize| line[if 2 * i + 2 < line.len() { 2 * i + 2 } else { line.len() - 2 }];
    let high: Vec<i32> = (0..half).map(|i| line[2 * i + 1] - ((line[2 * i] + next(i)) >> 1)).collect();
    let low = (0..half).map(|i| line[2 * i] + ((high[i.saturating_sub(1)] + high[i] + 2) >> 2));
    low.chain(high.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_has_no_high_band_inside() {
        assert_eq!(lift(&[0, 1, 2, 3, 4, 5, 6, 7])[4..7], [0, 0, 0]);
        assert_eq!(lift(&[5; 6]), [5, 5, 5, 0, 0, 0]);
    }
}
