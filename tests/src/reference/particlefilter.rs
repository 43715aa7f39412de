//! Reference of particlefilter: one frame, particle after particle.

use super::Case;
use crate::{Expected, Outputs};

const BLOCK: usize = 128;
const OFFSET: u32 = 77_777;

pub(crate) fn expected(case: &Case) -> Outputs {
    let side = case.size("side");
    let frame = case.buffer::<u8>("frame");
    let mut seeds = case.buffer::<i32>("seeds");
    let (mut x, mut y) = (case.buffer::<f32>("x"), case.buffer::<f32>("y"));
    let mut weights = Vec::new();
    for ((seed, x), y) in seeds.iter_mut().zip(&mut x).zip(&mut y) {
        *x += 1.0 + (noise(seed) - 126) as f32 * 0.03125;
        *y += -2.0 + (noise(seed) - 126) as f32 * 0.03125;
        weights.push(weight(&frame, side, x.round_ties_even() as i64, y.round_ties_even() as i64));
    }
    let mut running = 0;
    let mut sums: Vec<u32> = Vec::new();
    for block in weights.chunks(BLOCK) {
        sums.push(running);
        running += block.iter().sum::<u32>();
    }
    sums.push(running);
    let cumulated: Vec<u32> = weights
        .iter()
        .scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let step = running / weights.len() as u32;
    let chosen: Vec<usize> = (0..weights.len() as u32)
        .map(|i| OFFSET % step.max(1) + i * step)
        .map(|wanted| cumulated.partition_point(|&sum| sum <= wanted).min(weights.len() - 1))
        .collect();
    let pick = |from: &[f32]| Expected::exact(&chosen.iter().map(|&at| from[at]).collect::<Vec<_>>());
    Outputs::from([
        ("new_x".into(), pick(&x)),
        ("new_y".into(), pick(&y)),
        ("x".into(), Expected::exact(&x)),
        ("y".into(), Expected::exact(&y)),
        ("seeds".into(), Expected::exact(&seeds)),
        ("weights".into(), Expected::exact(&weights)),
        ("sums".into(), Expected::exact(&sums)),
        ("cumulated".into(), Expected::exact(&cumulated)),
    ])
}

/// Sum of four draws below 64.
fn noise(seed: &mut i32) -> i32 {
    let mut draw = || {
        *seed = (1_103_515_245_u32.wrapping_mul(*seed as u32).wrapping_add(12_345) & 0x7fff_ffff) as i32;
        (*seed >> 16) % 64
    };
    draw() + draw() + draw() + draw()
}

/// Weight of a particle: how much more its pixels are like the object than like the background.
fn weight(frame: &[u8], side: usize, column: i64, row: i64) -> u32 {
    let likelihood = |d: i64| {
        let at = (row + d / 3 - 1) * side as i64 + column + d % 3 - 1;
        let value = i32::from(frame[at.clamp(0, (side * side) as i64 - 1) as usize]);
        (value - 100).pow(2) - (value - 228).pow(2)
    };
    ((0..9).map(likelihood).sum::<i32>() / 450 + 400).max(1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_of_the_object_weigh_more() {
        assert!(weight(&[228; 16], 4, 1, 1) > weight(&[100; 16], 4, 1, 1));
        let mut seed = 1;
        assert!((0..252).contains(&noise(&mut seed)) && seed != 1);
    }
}
