//! Reference of mandelbrot: escape times, with the roundings that the kernel spells out.

use super::Case;
use crate::{Expected, Outputs};

const LEFT: f32 = -2.0;
const TOP: f32 = 1.25;
const STEP: f32 = 0.02;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let limit = case.size("limit") as u32;
    let mut iterations = Vec::with_capacity(width * height);
    for py in 0..height {
        for px in 0..width {
            let cx = (px as f32).mul_add(STEP, LEFT);
            let cy = (-(py as f32)).mul_add(STEP, TOP);
            iterations.push(escape_time(cx, cy, limit));
        }
    }
    Outputs::from([("iterations".into(), Expected::exact(&iterations))])
}

fn escape_time(cx: f32, cy: f32, limit: u32) -> u32 {
    let (mut x, mut y) = (0.0_f32, 0.0_f32);
    for count in 0..limit {
        let (xx, yy) = (x * x, y * y);
        if xx + yy > 4.0 {
            return count;
        }
        y = (2.0 * x).mul_add(y, cy);
        x = xx - yy + cx;
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_inside_stay_and_points_outside_leave_on_time() {
        assert_eq!(escape_time(0.0, 0.0, 50), 50);
        assert_eq!(escape_time(-1.0, 0.0, 50), 50);
        // 0, 3: one step suffices. 0, 1, 2, 5: three.
        assert_eq!(escape_time(3.0, 0.0, 50), 1);
        assert_eq!(escape_time(1.0, 0.0, 50), 3);
    }
}
