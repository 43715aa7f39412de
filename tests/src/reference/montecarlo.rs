//! Reference of montecarlo in double precision.
//!
//! Bound: draws are off by a few 2^-22 of at most 6; a payoff is at most 80 * e^3 and off by 2^-19 of the end price, of
//! which the mean is below 200; means of squares by twice that share.

use super::Case;
use crate::{Expected, Outputs};
use std::f64::consts::TAU;

pub(crate) fn expected(case: &Case) -> Outputs {
    let bits = case.buffer::<u32>("bits");
    let draws: Vec<f64> = bits.chunks_exact(2).flat_map(|pair| normal(pair[0], pair[1])).collect();
    let paths = case.size("paths");
    let options: Vec<f64> = case.buffer::<f32>("options").into_iter().map(f64::from).collect();
    let prices: Vec<f32> = options
        .chunks_exact(4)
        .flat_map(|option| {
            let payoffs = draws[..paths].iter().map(|draw| payoff(option, *draw));
            let sums = payoffs.fold([0.0, 0.0], |[sum, square], p| [sum + p, square + p * p]);
            sums.map(|sum| (sum / paths as f64) as f32)
        })
        .collect();
    let draws: Vec<f32> = draws.into_iter().map(|draw| draw as f32).collect();
    Outputs::from([
        ("draws".into(), Expected::within(&draws, 1e-5, 1e-5)),
        ("prices".into(), Expected::within(&prices, 2e-5, 2e-3)),
    ])
}

fn normal(first: u32, second: u32) -> [f64; 2] {
    let u = (f64::from(first >> 9) + 0.5) / 8_388_608.0;
    let angle = f64::from(second >> 9) * TAU / 8_388_608.0;
    let radius = (-2.0 * u.ln()).sqrt();
    [radius * angle.cos(), radius * angle.sin()]
}

/// Payoff of a call: spot, strike, drift and volatility.
fn payoff(option: &[f64], draw: f64) -> f64 {
    (option[0] * (option[2] + option[3] * draw).exp() - option[1]).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_normal() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state
        };
        let draws: Vec<f64> = (0..5000).flat_map(|_| normal(next(), next())).collect();
        let square = draws.iter().map(|d| d * d).sum::<f64>() / 10_000.0;
        assert!((square - 1.0).abs() < 0.05, "{square}");
        assert_eq!(payoff(&[100.0, 90.0, 0.0, 0.3], 0.0), 10.0);
    }
}
