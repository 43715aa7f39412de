//! Reference of lbm: cell by cell, with the kernel's order of operations.

use super::Case;
use crate::{Expected, Outputs};

const OMEGA: f32 = 1.6;
const MOVES: [[i32; 3]; 19] = [
    [0, 0, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 1, 0],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 0, 1],
    [0, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
];

pub(crate) fn expected(case: &Case) -> Outputs {
    let sides = ["nx", "ny", "nz"].map(|name| case.size(name));
    let solid = case.buffer::<u8>("solid");
    let once = step(&case.buffer("a"), &solid, sides);
    let twice = step(&once, &solid, sides);
    Outputs::from([("b".into(), Expected::exact(&once)), ("a".into(), Expected::exact(&twice))])
}

fn step(from: &[f32], solid: &[u8], sides: [usize; 3]) -> Vec<f32> {
    let cells = solid.len();
    let mut to = vec![0.0; from.len()];
    for cell in 0..cells {
        let place = [cell % sides[0], cell / sides[0] % sides[1], cell / (sides[0] * sides[1])];
        let f: [f32; 19] = std::array::from_fn(|d| from[d * cells + cell]);
        let after = if solid[cell] < 26 { std::array::from_fn(|d| f[opposite(d)]) } else { collide(&f) };
        for (d, value) in after.into_iter().enumerate() {
            let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| {
                (place[axis] as i32 + MOVES[d][axis]).rem_euclid(sides[axis] as i32) as usize
            });
            to[d * cells + x + sides[0] * (y + sides[1] * z)] = value;
        }
    }
    to
}

fn opposite(d: usize) -> usize {
    if d == 0 { 0 } else { d + 2 * (d % 2) - 1 }
}

fn collide(f: &[f32; 19]) -> [f32; 19] {
    let density = f.iter().fold(0.0_f32, |sum, value| sum + value);
    let speed: [f32; 3] = std::array::from_fn(|axis| {
        (1..19).fold(0.0_f32, |sum, d| (MOVES[d][axis] as f32).mul_add(f[d], sum)) / density
    });
    let [x, y, z] = speed;
    let square = 1.5 * x.mul_add(x, y.mul_add(y, z * z));
    std::array::from_fn(|d| {
        let weight = if d == 0 {
            1.0 / 3.0
        } else if d < 7 {
            1.0 / 18.0
        } else {
            1.0 / 36.0
        };
        let [mx, my, mz] = MOVES[d].map(|m| m as f32);
        let along = mx.mul_add(x, my.mul_add(y, mz * z));
        let shape = along.mul_add(4.5_f32.mul_add(along, 3.0), 1.0 - square);
        OMEGA.mul_add(weight * density * shape, (1.0 - OMEGA) * f[d])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collisions_keep_mass_and_momentum() {
        let f: [f32; 19] = std::array::from_fn(|d| 1.0 + d as f32 / 19.0);
        let after = collide(&f);
        assert!((f.iter().sum::<f32>() - after.iter().sum::<f32>()).abs() < 1e-4);
        let along = |f: &[f32; 19]| (0..19).map(|d| MOVES[d][0] as f32 * f[d]).sum::<f32>();
        assert!((along(&f) - along(&after)).abs() < 1e-4);
        assert!((1..19).all(|d| MOVES[opposite(d)] == MOVES[d].map(|m| -m)));
    }
}
