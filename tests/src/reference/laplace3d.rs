//! Reference of laplace3d: the mean of six neighbours, two sweeps.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let sides = ["nx", "ny", "nz"].map(|name| case.size(name));
    let once = sweep(&case.buffer("a"), sides);
    let twice = sweep(&once, sides);
    Outputs::from([("b".into(), Expected::exact(&once)), ("a".into(), Expected::exact(&twice))])
}

fn sweep(from: &[f32], [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
    let mut to = from.to_vec();
    for k in 1..nz - 1 {
        for j in 1..ny - 1 {
            for i in 1..nx - 1 {
                let at = (k * ny + j) * nx + i;
                let plane = nx * ny;
                let sides = from[at - 1] + from[at + 1] + from[at - nx] + from[at + nx];
                to[at] = (sides + from[at - plane] + from[at + plane]) * (1.0 / 6.0);
            }
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_stay_and_the_middle_is_a_mean() {
        let from: Vec<f32> = (0..27).map(|v| v as f32).collect();
        let mut to = sweep(&from, [3, 3, 3]);
        assert!((to[13] - 13.0).abs() < 1e-5);
        to[13] = from[13];
        assert_eq!(to, from);
    }
}
