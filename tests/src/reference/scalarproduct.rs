//! Reference of scalarproduct: 1024 partial sums, folded in halves.

use super::{Case, fold_halves};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let elements = case.size("elements");
    let (a, b) = (case.buffer::<f32>("a"), case.buffer::<f32>("b"));
    let pairs = a.chunks_exact(elements).zip(b.chunks_exact(elements));
    let products: Vec<f32> = pairs.map(|(a, b)| product(a, b)).collect();
    Outputs::from([("products".into(), Expected::exact(&products))])
}

fn product(a: &[f32], b: &[f32]) -> f32 {
    let sum =
        |first: usize| (first..a.len()).step_by(1024).fold(0.0_f32, |sum, at| a[at].mul_add(b[at], sum));
    fold_halves((0..1024).map(sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_counts_once() {
        assert_eq!(product(&[2.0; 1500], &[3.0; 1500]), 9000.0);
    }
}
