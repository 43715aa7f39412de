//! Reference of streamcluster: one candidate after the other.

use super::Case;
use crate::{Expected, Outputs};

const STRIDE: usize = 9;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (points, dimensions) = (case.size("points"), case.size("dimensions"));
    let (coordinates, weights) = (case.buffer::<f32>("coordinates"), case.buffer::<f32>("weights"));
    let (costs, assigned, centre_of) =
        (case.buffer::<f32>("costs"), case.buffer::<i32>("assigned"), case.buffer::<i32>("centre_of"));
    let mut work = vec![0.0_f32; points * STRIDE];
    let mut switches = vec![0_u8; points];
    for candidate in 0..case.size("candidates") {
        for point in 0..points {
            let distance = (0..dimensions).fold(0.0_f32, |sum, d| {
                let difference = coordinates[d * points + point] - coordinates[d * points + candidate];
                difference.mul_add(difference, sum)
            });
            let cost = distance * weights[point];
            let row = &mut work[point * STRIDE..][..STRIDE];
            if cost < costs[point] {
                switches[point] = 1;
                row[STRIDE - 1] += cost - costs[point];
            } else {
                row[centre_of[assigned[point] as usize] as usize] += costs[point] - cost;
            }
        }
    }
    Outputs::from([("work".into(), Expected::exact(&work)), ("switches".into(), Expected::exact(&switches))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_candidate_takes_itself() {
        let setup = Setup::scalars([("points", 2), ("dimensions", 1), ("candidates", 1)])
            .buffer("coordinates", &[1.0_f32, 4.0])
            .buffer("weights", &[1.0_f32, 1.0])
            .buffer("costs", &[5.0_f32, 6.0])
            .buffer("assigned", &[0_i32, 1])
            .buffer("centre_of", &[0_i32, 3]);
        let outputs = setup.run(expected);
        assert_eq!(values::<u8>(&outputs, "switches"), [1, 0]);
        let work = values::<f32>(&outputs, "work");
        assert_eq!((work[8], work[9 + 3]), (-5.0, -3.0));
    }
}
