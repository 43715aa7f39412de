//! Reference of wsm5: column after column, with the kernel's order of operations.

use super::Case;
use crate::{Expected, Outputs};

const LEVELS: usize = 24;
const STEP: f32 = 60.0;
const FREEZING: f32 = 273.15;

pub(crate) fn expected(case: &Case) -> Outputs {
    let columns = case.size("columns");
    let field = |name| case.buffer::<f32>(name);
    let (density, thickness, temperature) = (field("density"), field("thickness"), field("temperature"));
    let (mut rain, mut snow) = (field("rain"), field("snow"));
    let mut ground = vec![0.0_f32; 2 * columns];
    for column in 0..columns {
        let of = |field: &[f32]| -> [f32; LEVELS] { std::array::from_fn(|k| field[k * columns + column]) };
        let air = Air { density: of(&density), thickness: of(&thickness), temperature: of(&temperature) };
        let (mut wet, mut white) = (of(&rain), of(&snow));
        let fallen = air.fall(&mut wet, &mut white);
        for k in 0..LEVELS {
            rain[k * columns + column] = wet[k];
            snow[k * columns + column] = white[k];
        }
        ground[column] = fallen.0;
        ground[columns + column] = fallen.1;
    }
    Outputs::from([
        ("rain".into(), Expected::exact(&rain)),
        ("snow".into(), Expected::exact(&snow)),
        ("ground".into(), Expected::exact(&ground)),
    ])
}

/// A column of air, the lowest level first.
struct Air {
    density: [f32; LEVELS],
    thickness: [f32; LEVELS],
    temperature: [f32; LEVELS],
}

impl Air {
    /// Lets rain and snow fall for a step; returns what reaches the ground.
    fn fall(&self, rain: &mut [f32; LEVELS], snow: &mut [f32; LEVELS]) -> (f32, f32) {
        let speeds: [(f32, f32); LEVELS] = std::array::from_fn(|k| self.speeds(k, rain[k], snow[k]));
        let rate =
            (0..LEVELS).fold(0.0_f32, |rate, k| rate.max(speeds[k].0.max(speeds[k].1) / self.thickness[k]));
        let parts = ((rate * STEP).ceil() as i32).max(1);
        let part = STEP / parts as f32;
        let mut fallen = (0.0_f32, 0.0_f32);
        for _ in 0..parts {
            let mut above = (0.0_f32, 0.0_f32);
            for k in (0..LEVELS).rev() {
                let rho = self.density[k];
                let out = (rho * rain[k] * speeds[k].0, rho * snow[k] * speeds[k].1);
                let scale = part / (rho * self.thickness[k]);
                rain[k] = (above.0 - out.0).mul_add(scale, rain[k]).max(0.0);
                snow[k] = (above.1 - out.1).mul_add(scale, snow[k]).max(0.0);
                if self.temperature[k] > FREEZING && snow[k] > 0.0 {
                    let melted = snow[k].min(snow[k] * (self.temperature[k] - FREEZING) * part * 0.002);
                    snow[k] -= melted;
                    rain[k] += melted;
                }
                above = out;
            }
            fallen = (above.0.mul_add(part, fallen.0), above.1.mul_add(part, fallen.1));
        }
        fallen
    }

    /// Speeds of rain and snow.
    fn speeds(&self, k: usize, rain: f32, snow: f32) -> (f32, f32) {
        let rho = self.density[k];
        let thin = (1.28 / rho).sqrt();
        let (wet, white) = ((rho * rain).max(0.0), (rho * snow).max(0.0));
        let rain = if wet > 1.0e-9 { 36.0 * thin * wet.sqrt().sqrt() } else { 0.0 };
        let supercool = (FREEZING - self.temperature[k]).clamp(0.0, 40.0);
        let aged = (-0.01_f32).mul_add(supercool, 1.0);
        let snow = if white > 1.0e-9 { 3.0 * thin * aged * white.sqrt().sqrt().sqrt() } else { 0.0 };
        (rain, snow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_falls_and_is_conserved() {
        let air = Air { density: [1.0; LEVELS], thickness: [300.0; LEVELS], temperature: [260.0; LEVELS] };
        let (mut rain, mut snow) = ([1e-3_f32; LEVELS], [0.0; LEVELS]);
        let (fallen, white) = air.fall(&mut rain, &mut snow);
        let left = rain.iter().sum::<f32>() * 300.0;
        assert!((left + fallen - 7.2).abs() < 1e-4 && fallen > 0.1 && white == 0.0, "{left} {fallen}");
        assert!(rain[LEVELS - 1] < rain[0]);
    }
}
