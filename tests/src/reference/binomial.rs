//! Reference of binomial in double precision.
//!
//! Bound: a leaf is off by 2^-20 of at most 30 * e^10 at the far end, where its weight is 2^-512; the leaves that count
//! are below 100 and off by 2^-21 of themselves; 512 steps of a mean add 512 * 2^-24 of the value.

use super::Case;
use crate::{Expected, Outputs};

const STEPS: usize = 512;
const UP: f64 = 0.502_f32 as f64;
const DOWN: f64 = 0.497_9_f32 as f64;

pub(crate) fn expected(case: &Case) -> Outputs {
    let wide = |name| case.buffer::<f32>(name).into_iter().map(f64::from).collect::<Vec<f64>>();
    let (spots, strikes, volatilities) = (wide("spots"), wide("strikes"), wide("volatilities"));
    let prices: Vec<f32> =
        (0..spots.len()).map(|i| price(spots[i], strikes[i], volatilities[i]) as f32).collect();
    Outputs::from([("prices".into(), Expected::within(&prices, 1e-4, 1e-4))])
}

fn price(spot: f64, strike: f64, volatility: f64) -> f64 {
    let leaf = |i: usize| (spot * (volatility * (2.0 * i as f64 - STEPS as f64)).exp() - strike).max(0.0);
    let mut values: Vec<f64> = (0..=STEPS).map(leaf).collect();
    for step in (1..=STEPS).rev() {
        for i in 0..step {
            values[i] = UP * values[i + 1] + DOWN * values[i];
        }
    }
    values[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_volatility_a_call_is_worth_its_discounted_difference() {
        let discount = (UP + DOWN).powi(STEPS as i32);
        assert!((price(30.0, 20.0, 0.0) - 10.0 * discount).abs() < 1e-9);
        assert!(price(20.0, 30.0, 0.01) > 0.0);
    }
}
