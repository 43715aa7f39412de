//! Reference of hotspot: the whole chip advances one time step at a time, without tiles. The manifest's four
//! launches leave the last state in temp_a and the one before their last in temp_b.

use super::Case;
use crate::{Expected, Outputs};

const LAUNCHES: usize = 4;
const PER_CAPACITY: f32 = 0.34;
const PER_R_VERTICAL: f32 = 0.1;
const PER_R_HORIZONTAL: f32 = 0.125;
const PER_R_AMBIENT: f32 = 0.0125;
const AMBIENT: f32 = 80.0;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (rows, cols, steps) = (case.size("rows"), case.size("cols"), case.size("steps"));
    let power = case.buffer::<f32>("power");
    let mut states = vec![case.buffer::<f32>("temp_a")];
    for launch in 0..LAUNCHES {
        let mut temp = states[launch].clone();
        for _ in 0..steps {
            temp = step(&temp, &power, rows, cols);
        }
        states.push(temp);
    }
    Outputs::from([
        ("temp_a".into(), Expected::exact(&states[LAUNCHES])),
        ("temp_b".into(), Expected::exact(&states[LAUNCHES - 1])),
    ])
}

fn step(temp: &[f32], power: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let mut next = vec![0.0; rows * cols];
    for row in 0..rows {
        for col in 0..cols {
            let at = row * cols + col;
            let centre = temp[at];
            let north = if row > 0 { temp[at - cols] } else { centre };
            let south = if row + 1 < rows { temp[at + cols] } else { centre };
            let west = if col > 0 { temp[at - 1] } else { centre };
            let east = if col + 1 < cols { temp[at + 1] } else { centre };
            let vertical = north + south - 2.0 * centre;
            let horizontal = west + east - 2.0 * centre;
            let flow = vertical.mul_add(PER_R_VERTICAL, power[at]);
            let flow = horizontal.mul_add(PER_R_HORIZONTAL, flow);
            let flow = (AMBIENT - centre).mul_add(PER_R_AMBIENT, flow);
            next[at] = flow.mul_add(PER_CAPACITY, centre);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_chip_at_ambient_temperature_without_power_stays_there() {
        let setup = Setup::scalars([("rows", 3), ("cols", 5), ("steps", 2)])
            .buffer("power", &[0.0_f32; 15])
            .buffer("temp_a", &[AMBIENT; 15]);
        assert_eq!(values::<f32>(&setup.run(expected), "temp_a"), [AMBIENT; 15]);
    }

    #[test]
    fn one_warm_cell_gives_to_its_neighbours_by_direction() {
        let mut temp = [AMBIENT; 9];
        temp[4] += 8.0;
        let next = step(&temp, &[0.0; 9], 3, 3);
        // 8 degrees * 1/R * 1/C, and for the centre minus what it gives to all four and to the air.
        let gain = [0.0, 0.272, 0.0, 0.34, -1.258, 0.34, 0.0, 0.272, 0.0];
        for (i, gain) in gain.iter().enumerate() {
            assert!((next[i] - temp[i] - gain).abs() < 1e-4, "cell {i}: {}", next[i] - temp[i]);
        }
    }
}
