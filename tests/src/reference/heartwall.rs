//! Reference of heartwall: the correlation of every shift.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let side = case.size("side");
    let (first, next) = (case.buffer::<u8>("first"), case.buffer::<u8>("next"));
    let (mut moved, mut scores) = (Vec::new(), Vec::new());
    for place in case.buffer::<i32>("places").chunks_exact(2) {
        let (x, y) = (place[0] as usize, place[1] as usize);
        let pattern = cut(&first, side, x, y);
        let mut best = (i32::MIN, 0, 0);
        for (down, right) in (0..17).flat_map(|down| (0..17).map(move |right| (down, right))) {
            let score = score(&pattern, &cut(&next, side, x + right - 8, y + down - 8));
            if score > best.0 {
                best = (score, right as i32 - 8, down as i32 - 8);
            }
        }
        moved.extend([place[0] + best.1, place[1] + best.2]);
        scores.push(best.0);
    }
    Outputs::from([("moved".into(), Expected::exact(&moved)), ("scores".into(), Expected::exact(&scores))])
}

/// The 11 x 11 pixels around a place.
fn cut(frame: &[u8], side: usize, x: usize, y: usize) -> Vec<i32> {
    (y - 5..y + 6).flat_map(|row| frame[row * side + x - 5..][..11].iter().map(|&v| i32::from(v))).collect()
}

/// Correlation in thousandths.
fn score(a: &[i32], b: &[i32]) -> i32 {
    let dot = |a: &[i32], b: &[i32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i32>();
    let sum = |a: &[i32]| a.iter().sum::<i32>();
    let spread = |a: &[i32]| (121 * dot(a, a) - sum(a) * sum(a)) as f32;
    let covariance = (121 * dot(a, b) - sum(b) * sum(a)) as f32;
    let deviations = spread(b).sqrt() * spread(a).sqrt();
    if deviations > 0.0 { (1000.0 * (covariance / deviations)).round_ties_even() as i32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_windows_correlate_fully() {
        let pattern: Vec<i32> = (0..121).map(|i| i * 37 % 251).collect();
        assert_eq!(score(&pattern, &pattern), 1000);
        assert_eq!(score(&pattern, &[7; 121]), 0);
    }
}
