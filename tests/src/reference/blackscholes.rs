//! Reference of blackscholes in double precision.
//!
//! Bound: prices are differences of s * N(d1) and x * exp(-r t) * N(d2), where s is at most 30 and x at most
//! 100. In single precision N(d) is off by at most a few 2^-24 from its own roundings and by |d| * pdf(d) <=
//! 0.25 times the relative error of d, which the logarithm and the division leave at about eight 2^-24; with
//! ex2.approx (2^-22) in both factors, 12 * 2^-24 of (s + x) covers it.

use super::Case;
use crate::{Expected, Outputs};

const RATE: f64 = 0.02_f32 as f64;
const VOLATILITY: f64 = 0.3_f32 as f64;

pub(crate) fn expected(case: &Case) -> Outputs {
    let price = case.buffer::<f32>("price");
    let strike = case.buffer::<f32>("strike");
    let years = case.buffer::<f32>("years");
    let (mut call, mut put) = (Vec::new(), Vec::new());
    let mut largest = 0.0_f64;
    for ((&s, &x), &t) in price.iter().zip(&strike).zip(&years) {
        let (s, x, t) = (f64::from(s), f64::from(x), f64::from(t));
        let (c, p) = prices(s, x, t);
        call.push(c as f32);
        put.push(p as f32);
        largest = largest.max(s + x);
    }
    let bound = 12.0 * (-24.0_f64).exp2() * largest;
    Outputs::from([
        ("call".into(), Expected::within(&call, 0.0, bound)),
        ("put".into(), Expected::within(&put, 0.0, bound)),
    ])
}

/// Prices of the call and the put on an asset at `s` with strike `x` in `t` years.
fn prices(s: f64, x: f64, t: f64) -> (f64, f64) {
    let spread = VOLATILITY * t.sqrt();
    let d1 = ((s / x).ln() + (RATE + 0.5 * VOLATILITY * VOLATILITY) * t) / spread;
    let d2 = d1 - spread;
    let discounted = x * (-RATE * t).exp();
    let (n1, n2) = (cumulative_normal(d1), cumulative_normal(d2));
    (s * n1 - discounted * n2, discounted * (1.0 - n2) - s * (1.0 - n1))
}

/// Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17 (error below 7.5e-8).
fn cumulative_normal(d: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let coefficients = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let polynomial = coefficients.iter().rev().fold(0.0, |sum, c| (sum + c) * t);
    let tail = (-0.5 * d * d).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial;
    if d > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_has_its_known_values() {
        for (d, area) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.959_963_985, 0.025), (3.0, 0.998_650_102)] {
            assert!((cumulative_normal(d) - area).abs() < 1e-7, "N({d}) = {}", cumulative_normal(d));
        }
    }

    #[test]
    fn calls_and_puts_keep_their_parity() {
        for (s, x, t) in [(20.0, 25.0, 1.0), (30.0, 2.0, 5.0), (5.0, 100.0, 0.25)] {
            let (call, put) = prices(s, x, t);
            assert!((call - put - (s - x * (-RATE * t).exp())).abs() < 1e-9);
            assert!(call > -1e-5 && put > -1e-5);
        }
    }
}
