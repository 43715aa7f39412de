//! Reference of cfd: cell after cell, with the kernel's order of operations.

use super::Case;
use crate::{Expected, Outputs};

type Vector = [f32; 3];

struct State {
    density: f32,
    energy: f32,
    momentum: Vector,
    velocity: Vector,
    pressure: f32,
    speed: f32,
    sound: f32,
}

pub(crate) fn expected(case: &Case) -> Outputs {
    let cells = case.size("cells");
    let field = |name| case.buffer::<f32>(name);
    let (random, areas, normals) = (field("random"), field("areas"), field("normals"));
    let offsets = [1.0, -0.5, -0.5, -0.5, 2.5];
    let variables: Vec<f32> = (0..5 * cells).map(|at| random[at] + offsets[at / cells]).collect();
    let neighbours = case.buffer::<i32>("neighbours");
    let states: Vec<State> = (0..cells)
        .map(|cell| {
            let v = |at: usize| variables[at * cells + cell];
            State::new(v(0), [v(1), v(2), v(3)], v(4))
        })
        .collect();
    let factors: Vec<f32> =
        states.iter().zip(areas).map(|(s, area)| 0.5 / (area.sqrt() * (s.speed + s.sound))).collect();
    let mut fluxes = vec![0.0_f32; 5 * cells];
    for cell in 0..cells {
        let mut sums = [0.0_f32; 5];
        for at in (0..4).map(|face| face * cells + cell) {
            let normal: Vector = std::array::from_fn(|axis| normals[4 * axis * cells + at]);
            add_face(&mut sums, &states, cell, neighbours[at], normal);
        }
        sums.iter().enumerate().for_each(|(v, sum)| fluxes[v * cells + cell] = *sum);
    }
    let advanced: Vec<f32> =
        (0..5 * cells).map(|at| factors[at % cells].mul_add(fluxes[at], variables[at])).collect();
    Outputs::from([
        ("variables".into(), Expected::exact(&variables)),
        ("factors".into(), Expected::exact(&factors)),
        ("fluxes".into(), Expected::exact(&fluxes)),
        ("advanced".into(), Expected::exact(&advanced)),
    ])
}

fn length(v: Vector) -> f32 {
    v[0].mul_add(v[0], v[1].mul_add(v[1], v[2] * v[2])).sqrt()
}

impl State {
    fn new(density: f32, momentum: Vector, energy: f32) -> Self {
        let velocity = momentum.map(|m| m / density);
        let [x, y, z] = velocity;
        let square = x.mul_add(x, y.mul_add(y, z * z));
        let pressure = (1.4 - 1.0) * (-0.5 * density).mul_add(square, energy);
        let sound = (1.4 * pressure / density).sqrt();
        Self { density, energy, momentum, velocity, pressure, speed: square.sqrt(), sound }
    }

    /// Density, momentum and energy.
    fn variables(&self) -> [f32; 5] {
        let [x, y, z] = self.momentum;
        [self.density, x, y, z, self.energy]
    }

    /// Fluxes of these along an axis.
    fn fluxes(&self, axis: usize) -> [f32; 5] {
        let along = |other: usize| {
            let (low, high) = (axis.min(other), axis.max(other));
            let product = self.velocity[low] * self.momentum[high];
            if low == high { self.velocity[low].mul_add(self.momentum[low], self.pressure) } else { product }
        };
        let energy = self.velocity[axis] * (self.energy + self.pressure);
        [self.momentum[axis], along(0), along(1), along(2), energy]
    }
}

fn add_face(sums: &mut [f32; 5], states: &[State], cell: usize, neighbour: i32, normal: Vector) {
    let own = &states[cell];
    let add = |sums: &mut [f32; 5], share: f32, values: [f32; 5]| {
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = share.mul_add(value, *sum));
    };
    if neighbour == -1 {
        sums[1..4].iter_mut().zip(normal).for_each(|(sum, along)| *sum = along.mul_add(own.pressure, *sum));
        return;
    }
    let far = State::new(1.4, [1.68, 0.0, 0.0], 3.508);
    let its = usize::try_from(neighbour).map_or(&far, |other| &states[other]);
    if neighbour >= 0 {
        let factor = -length(normal) * 0.2 * 0.5 * (own.speed + its.speed + own.sound + its.sound);
        let (a, b) = (own.variables(), its.variables());
        add(sums, factor, std::array::from_fn(|i| a[i] - b[i]));
    }
    for (axis, along) in normal.into_iter().enumerate() {
        let (a, b) = (own.fluxes(axis), its.fluxes(axis));
        add(sums, 0.5 * along, std::array::from_fn(|i| a[i] + b[i]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn air_at_rest_has_only_pressure() {
        let air = State::new(1.4, [0.0; 3], 2.5);
        assert!((air.pressure - 1.0).abs() < 1e-6 && (air.sound - 1.0).abs() < 1e-6);
        let fluxes = air.fluxes(1);
        assert_eq!((fluxes[0], fluxes[1], fluxes[2], fluxes[4]), (0.0, 0.0, air.pressure, 0.0));
    }
}
