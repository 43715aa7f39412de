//! Reference of sph: the same sums over the particles of 27 cells.

use super::Case;
use crate::{Expected, Outputs};

const REST: f32 = 2.5;
const STIFFNESS: f32 = 3.0;
const POLY6: f32 = 1.566_681_5;
const SPIKY: f32 = -14.323_945;

pub(crate) fn expected(case: &Case) -> Outputs {
    let side = case.size("side");
    let random = case.buffer::<f32>("random");
    let (mut places, mut speeds, mut starts) = (Vec::<[f32; 3]>::new(), Vec::<[f32; 3]>::new(), vec![0]);
    for cell in 0..side.pow(3) {
        let corner = [cell % side, cell / side % side, cell / (side * side)].map(|c| c as f32);
        for _ in 0..5 * (cell % 8) % 8 + 1 {
            let draws = &random[6 * places.len()..];
            places.push(std::array::from_fn(|i| corner[i] + draws[i]));
            speeds.push(std::array::from_fn(|i| draws[3 + i] - 0.5));
        }
        starts.push(places.len());
    }
    let particles = case.size("particles");
    assert_eq!(places.len(), particles, "side and particles belong together");
    let grid = Grid { side, starts };
    let density: Vec<f32> = (0..particles)
        .map(|i| {
            let near =
                grid.near(places[i]).map(|j| square(places[i], places[j])).filter(|&square| square < 1.0);
            near.fold(0.0_f32, |sum, square| ((1.0 - square) * (1.0 - square)).mul_add(1.0 - square, sum))
                * POLY6
        })
        .collect();
    let forces: Vec<f32> = (0..particles).flat_map(|i| force(&grid, &places, &speeds, &density, i)).collect();
    let wide =
        |values: &[[f32; 3]]| -> Vec<f32> { values.iter().flat_map(|&[x, y, z]| [x, y, z, 0.0]).collect() };
    let starts: Vec<i32> = grid.starts.iter().map(|&start| start as i32).collect();
    Outputs::from([
        ("places".into(), Expected::exact(&wide(&places))),
        ("speeds".into(), Expected::exact(&wide(&speeds))),
        ("starts".into(), Expected::exact(&starts)),
        ("density".into(), Expected::exact(&density)),
        ("forces".into(), Expected::exact(&forces)),
    ])
}

struct Grid {
    side: usize,
    /// First particle of each cell, and the end of the last one.
    starts: Vec<usize>,
}

impl Grid {
    /// Particles of the cells around a place, in the order of the cells.
    fn near(&self, place: [f32; 3]) -> impl Iterator<Item = usize> {
        let [x, y, z] = place.map(|c| c as usize);
        let around = move |c: usize| c.saturating_sub(1)..(c + 2).min(self.side);
        let rows = around(z).flat_map(move |z| around(y).map(move |y| (z * self.side + y) * self.side));
        rows.flat_map(move |row| self.starts[row + around(x).start]..self.starts[row + around(x).end])
    }
}

fn square(a: [f32; 3], b: [f32; 3]) -> f32 {
    let [dx, dy, dz] = std::array::from_fn(|i| a[i] - b[i]);
    dx.mul_add(dx, dy.mul_add(dy, dz * dz))
}

fn force(grid: &Grid, places: &[[f32; 3]], speeds: &[[f32; 3]], density: &[f32], i: usize) -> [f32; 4] {
    let own_pressure = STIFFNESS * (density[i] - REST);
    let mut force = [0.0_f32; 3];
    for j in grid.near(places[i]) {
        let square = square(places[i], places[j]);
        if j == i || square >= 1.0 || square == 0.0 {
            continue;
        }
        let distance = square.sqrt();
        let left = 1.0 - distance;
        let pressure = STIFFNESS * (density[j] - REST);
        let push = -(own_pressure + pressure) / (2.0 * density[j]) * SPIKY * left * left / distance;
        let drag = 0.5 / density[j] * -SPIKY * left;
        for (axis, force) in force.iter_mut().enumerate() {
            let apart = places[i][axis] - places[j][axis];
            *force = push.mul_add(apart, drag.mul_add(speeds[j][axis] - speeds[i][axis], *force));
        }
    }
    [force[0], force[1], force[2], own_pressure]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lonely_pair_repels_along_its_line() {
        let grid = Grid { side: 1, starts: vec![0, 2] };
        let places = [[0.25, 0.5, 0.5], [0.5, 0.5, 0.5]];
        let density = [3.0, 3.0];
        let force = force(&grid, &places, &[[0.0; 3]; 2], &density, 0);
        assert!(force[0] < 0.0 && force[1] == 0.0 && force[2] == 0.0, "{force:?}");
    }
}
