//! Reference of hotspot3d: two steps of all layers.

use super::Case;
use crate::{Expected, Outputs};

const PER_CAPACITY: f32 = 0.01;
const ALONG: [f32; 3] = [0.05, 0.06, 0.1];
const AMBIENT: f32 = 80.0;

pub(crate) fn expected(case: &Case) -> Outputs {
    let sides = ["nx", "ny", "nz"].map(|name| case.size(name));
    let power = case.buffer::<f32>("power");
    let once = step(&case.buffer("a"), &power, sides);
    let twice = step(&once, &power, sides);
    Outputs::from([("b".into(), Expected::exact(&once)), ("a".into(), Expected::exact(&twice))])
}

fn step(from: &[f32], power: &[f32], [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
    let [x, y, z] = ALONG;
    let centre = 1.0 - (2.0 * x + 2.0 * y + 3.0 * z);
    let at = |i: usize, j: usize, k: usize| (k * ny + j) * nx + i;
    let mut to = Vec::with_capacity(from.len());
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let near = [
                    (x, at(i.saturating_sub(1), j, k)),
                    (x, at((i + 1).min(nx - 1), j, k)),
                    (y, at(i, (j + 1).min(ny - 1), k)),
                    (y, at(i, j.saturating_sub(1), k)),
                    (z, at(i, j, (k + 1).min(nz - 1))),
                    (z, at(i, j, k.saturating_sub(1))),
                ];
                let (first, others) = (near[0], &near[1..]);
                let value = centre.mul_add(from[at(i, j, k)], first.0 * from[first.1]);
                let value = others.iter().fold(value, |sum, (share, other)| share.mul_add(from[*other], sum));
                let value = PER_CAPACITY.mul_add(power[at(i, j, k)], value);
                to.push(z.mul_add(AMBIENT, value));
            }
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_at_ambient_temperature_stays() {
        let to = step(&[AMBIENT; 24], &[0.0; 24], [4, 3, 2]);
        assert!(to.iter().all(|&t| (t - AMBIENT).abs() < 1e-3));
    }
}
