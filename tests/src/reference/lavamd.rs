//! Reference of lavamd in double precision.
//!
//! Bound: an exponent is at most 0.5 * 7 and off by a few 2^-22, as is ex2.approx; terms are at most e^4 * 2 * 1, and
//! 2700 of them are off by less than 2700 * 110 * 8 * 2^-24.

use super::Case;
use crate::{Expected, Outputs};

const PER_BOX: usize = 100;
const ALPHA: f64 = 0.5;

pub(crate) fn expected(case: &Case) -> Outputs {
    let side = case.size("side");
    let places: Vec<f64> = case.buffer::<f32>("places").into_iter().map(f64::from).collect();
    let charges = case.buffer::<f32>("charges");
    let around = |c: usize| c.saturating_sub(1)..(c + 2).min(side);
    let (mut boxes, mut forces) = (Vec::new(), Vec::new());
    for at in 0..side.pow(3) {
        let (x, y, z) = (at % side, at / side % side, at / (side * side));
        let near: Vec<usize> = around(z)
            .flat_map(|k| around(y).flat_map(move |j| around(x).map(move |i| (k * side + j) * side + i)))
            .collect();
        boxes.push(near.len() as i32);
        boxes.extend((0..27).map(|n| near.get(n).map_or(0, |&number| number as i32)));
        for i in 0..PER_BOX {
            let a = &places[4 * (PER_BOX * at + i)..][..4];
            let particles = near.iter().flat_map(|number| PER_BOX * number..PER_BOX * (number + 1));
            let mut sum = [0.0; 4];
            for j in particles {
                let force = force(a, &places[4 * j..][..4]);
                sum.iter_mut().zip(force).for_each(|(sum, force)| *sum += f64::from(charges[j]) * force);
            }
            forces.extend(sum.map(|force| force as f32));
        }
    }
    Outputs::from([
        ("boxes".into(), Expected::exact(&boxes)),
        ("forces".into(), Expected::within(&forces, 1e-5, 0.15)),
    ])
}

/// Potential and force of particle b on a, without its charge.
fn force(a: &[f64], b: &[f64]) -> [f64; 4] {
    let product = a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    let potential = (-2.0 * ALPHA * ALPHA * (a[0] + b[0] - product)).exp();
    std::array::from_fn(|i| if i == 0 { potential } else { 2.0 * potential * (a[i] - b[i]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_are_opposite() {
        let (a, b) = ([1.0, 0.5, 0.25, 0.0], [2.0, 0.0, 1.0, 0.5]);
        let (one, other) = (force(&a, &b), force(&b, &a));
        assert!(one[0] == other[0] && (1..4).all(|i| one[i] == -other[i]));
    }
}
