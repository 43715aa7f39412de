//! Reference of cp in double precision.
//!
//! Bound: places are small multiples of 1/64, so that squares of distances are exact to 2^-24; rsqrt.approx is off by
//! 2^-22.9, and each of up to 512 sums of up to 2 / 1 by 2^-24 of the sum so far, which is at most 200 here.

use super::Case;
use crate::{Expected, Outputs};

const SPACING: f64 = 0.125;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let atoms = atoms(case.size("atoms"));
    let mut energies = Vec::with_capacity(width * height);
    for row in 0..height {
        for column in 0..width {
            energies.push(energy(&atoms, SPACING * column as f64, SPACING * row as f64) as f32);
        }
    }
    let energies = Expected::within(&energies, 0.0, 5e-3);
    Outputs::from([("plain".into(), energies.clone()), ("unrolled".into(), energies)])
}

/// x, y, square of z and charge of the first atoms.
fn atoms(count: usize) -> Vec<[f64; 4]> {
    let mut state = 2_463_534_242_u32;
    let mut draw = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from((state >> 16) % below) / 16.0
    };
    let mut atom = || {
        let (x, y, z) = (draw(1024), draw(1024), 1.0 + draw(256));
        [x, y, z * z, draw(64) - 2.0]
    };
    (0..count).map(|_| atom()).collect()
}

fn energy(atoms: &[[f64; 4]], x: f64, y: f64) -> f64 {
    atoms.iter().map(|[ax, ay, z, charge]| charge / ((x - ax).powi(2) + (y - ay).powi(2) + z).sqrt()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn potential_falls_with_distance() {
        let one = [[3.0, 4.0, 0.0, 2.0]];
        assert_eq!(energy(&one, 0.0, 0.0), 0.4);
        let atoms = atoms(512);
        assert!(atoms.iter().all(|a| a[0] < 64.0 && (1.0..=289.0).contains(&a[2]) && a[3].abs() <= 2.0));
    }
}
