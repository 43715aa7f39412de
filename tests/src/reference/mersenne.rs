//! Reference of mersenne: generators with growing lists of words, and normal draws in double precision.
//!
//! Bound: the radius is at most 6.7, sin.approx and cos.approx are off by 2^-20.5 in a turn of 2 pi, logf by 2^-22 near
//! zero and, where the number is next to one, by 2^-24 of the number, whose root is 2^-12.

use super::Case;
use crate::{Expected, Outputs};
use std::f64::consts::TAU;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (generators, count) = (case.size("generators"), case.size("count"));
    let parameters = case.buffer::<u32>("parameters");
    let mut uniform = vec![0.0_f32; generators * count];
    for generator in 0..generators {
        let [matrix, b, c, seed] = std::array::from_fn(|list| parameters[list * generators + generator]);
        let numbers = twist(matrix | 0x8000_0000, b & 0xffff_ff80, c & 0xfff8_0000, seed, count);
        for (i, number) in numbers.into_iter().enumerate() {
            uniform[i * generators + generator] = (number as f32 + 1.0) / 4_294_967_296.0;
        }
    }
    let mut normal = uniform.clone();
    for i in (0..count - 1).step_by(2) {
        for at in i * generators..(i + 1) * generators {
            let radius = (-2.0 * f64::from(uniform[at]).ln()).max(0.0).sqrt();
            let angle = TAU * f64::from(uniform[at + generators]);
            normal[at] = (radius * angle.cos()) as f32;
            normal[at + generators] = (radius * angle.sin()) as f32;
        }
    }
    Outputs::from([
        ("uniform".into(), Expected::exact(&uniform)),
        ("normal".into(), Expected::within(&normal, 1e-5, 5e-4)),
    ])
}

fn twist(matrix: u32, b: u32, c: u32, seed: u32, count: usize) -> Vec<u32> {
    let mut words = vec![seed];
    for i in 1..19 {
        let last = words[i - 1];
        words.push(1_812_433_253_u32.wrapping_mul(last ^ last >> 30).wrapping_add(i as u32));
    }
    for i in 0..count {
        let mixed = words[i] & !1 | words[i + 1] & 1;
        words.push(words[i + 9] ^ mixed >> 1 ^ if mixed & 1 == 1 { matrix } else { 0 });
    }
    let temper = |mut x: u32| {
        x ^= x >> 12;
        x ^= x << 7 & b;
        x ^= x << 15 & c;
        x ^ x >> 18
    };
    words[19..].iter().map(|&word| temper(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_even_and_depend_on_the_seed() {
        let numbers = twist(0xf5d0_0bb9, 0x4fd5_a100, 0x65b4_0000, 7, 2000);
        let mean = numbers.iter().map(|&n| f64::from(n)).sum::<f64>() / 2000.0 / 4_294_967_296.0;
        assert!((mean - 0.5).abs() < 0.03, "{mean}");
        assert_ne!(numbers, twist(0xf5d0_0bb9, 0x4fd5_a100, 0x65b4_0000, 8, 2000));
    }
}
