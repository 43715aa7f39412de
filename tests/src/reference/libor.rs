//! Reference of libor in double precision; the derivative comes from a difference quotient of the value.
//!
//! Bound: a path is at most 40 steps of a product with an exponential that is exact to a few 2^-23 (ex2.approx), so that
//! rates are exact to 100 * 2^-23 and values, sums of 15 terms of up to 100 times a difference of nearly equal
//! numbers, to 1e-2. The quotient and the adjoint in single precision differ by less than 1e-3 of 100 * DELTA * 40.

use super::Case;
use crate::{Expected, Outputs};

/// Rates that are left after the steps.
const TERMS: usize = 40;
const DELTA: f64 = 0.25;
const SHOCK: f64 = 0.3_f32 as f64;

pub(crate) fn expected(case: &Case) -> Outputs {
    let paths = case.size("paths");
    let wide = |name| case.buffer::<f32>(name).into_iter().map(f64::from).collect::<Vec<f64>>();
    let (lambda, initial) = (wide("lambda"), wide("initial"));
    let value = price(&lambda, &initial);
    let delta = last_delta(&lambda, &initial);
    let values = Expected::within(&vec![value as f32; paths], 0.0, 1e-2);
    let deltas = Expected::within(&vec![delta as f32; paths], 1e-3, 1e-2);
    Outputs::from([
        ("values".into(), values.clone()),
        ("greek_values".into(), values),
        ("deltas".into(), deltas),
    ])
}

/// Value of the swaptions after one path from the initial rates.
fn price(lambda: &[f64], initial: &[f64]) -> f64 {
    let mut rates = initial.to_vec();
    let steps = rates.len() - TERMS;
    for n in 0..steps {
        let mut drift = 0.0;
        for i in n + 1..rates.len() {
            let scaled = DELTA * lambda[i - n - 1];
            drift += scaled * rates[i] / (1.0 + DELTA * rates[i]);
            let step = scaled * drift + lambda[i - n - 1] * (DELTA.sqrt() * SHOCK - 0.5 * scaled);
            rates[i] *= step.exp();
        }
    }
    let (mut bonds, mut bond, mut sum) = (Vec::new(), 1.0, 0.0);
    for rate in &rates[steps..] {
        bond /= 1.0 + DELTA * rate;
        sum += DELTA * bond;
        bonds.push((bond, sum));
    }
    let mut value = 0.0;
    for maturity in [4, 8, 20, 28, 40] {
        for rate in [0.045_f32, 0.05, 0.055] {
            let (bond, sum) = bonds[maturity - 1];
            value -= 100.0 * (bond + f64::from(rate) * sum - 1.0).min(0.0);
        }
    }
    rates[..steps].iter().fold(value, |value, rate| value / (1.0 + DELTA * rate))
}

/// Derivative of the price by the last initial rate.
fn last_delta(lambda: &[f64], initial: &[f64]) -> f64 {
    let at = |change: f64| {
        let mut moved = initial.to_vec();
        *moved.last_mut().expect("there are rates") += change;
        price(lambda, &moved)
    };
    (at(1e-6) - at(-1e-6)) / 2e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_volatility_rates_stay_and_swaptions_are_worth_their_difference() {
        // At a flat rate of 5 % only swaptions struck below the par rate of 5 % have a positive payoff.
        let value = price(&[0.0; 80], &[0.05; 80]);
        let discounted = |maturity: i32| 1.0125_f64.powi(-maturity);
        let payoff: f64 = [4, 8, 20, 28, 40]
            .map(|m| 100.0 * (1.0 - discounted(m)) * (1.0 - f64::from(0.045_f32) / 0.05))
            .iter()
            .sum();
        assert!((value - payoff * discounted(40)).abs() < 1e-5, "{value}");
    }
}
