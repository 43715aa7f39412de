//! Reference of stencil: inner cells from their six neighbours, in the kernel's order.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let sides = ["nx", "ny", "nz"].map(|name| case.size(name));
    let to = sweep(&case.buffer("from"), case.buffer("to"), sides);
    Outputs::from([("to".into(), Expected::exact(&to))])
}

fn sweep(from: &[f32], mut to: Vec<f32>, [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
    for k in 1..nz - 1 {
        for j in 1..ny - 1 {
            for i in 1..nx - 1 {
                let at = i + nx * (j + ny * k);
                let near = [nx * ny, 0, nx].map(|step| (from[at + step], from[at - step]));
                let sum = near[0].0 + near[0].1 + near[2].0 + near[2].1 + from[at - 1] + from[at + 1];
                to[at] = sum.mul_add(1.0 / 36.0, -(from[at] * (1.0 / 6.0)));
            }
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_grid_becomes_zero_inside() {
        let to = sweep(&[6.0; 27], vec![1.0; 27], [3, 3, 3]);
        assert!(to[13].abs() < 1e-6 && to[0] == 1.0);
    }
}
