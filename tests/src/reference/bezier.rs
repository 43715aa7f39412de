//! Reference of bezier: the same sums and interpolations, point by point.

use super::Case;
use crate::{Expected, Outputs};

type Vector = [f32; 3];

pub(crate) fn expected(case: &Case) -> Outputs {
    let (points, normals) = patches(&case.buffer("controls"), case.size("steps"));
    Outputs::from([
        ("surface".into(), Expected::exact(&surface(case))),
        ("points".into(), Expected::exact(&points)),
        ("normals".into(), Expected::exact(&normals)),
    ])
}

fn surface(case: &Case) -> Vec<f32> {
    let net = case.buffer::<f32>("net");
    let (columns, rows) = (case.size("columns"), case.size("rows"));
    let (degree_u, degree_v) = (case.size("degree_u"), case.size("degree_v"));
    let mut points = Vec::with_capacity(3 * columns * rows);
    for row in 0..rows {
        let v = row as f32 / (rows - 1) as f32;
        for column in 0..columns {
            let u = column as f32 / (columns - 1) as f32;
            let mut point = [0.0_f32; 3];
            for i in 0..=degree_u {
                for j in 0..=degree_v {
                    let weight = blend(i, degree_u, u) * blend(j, degree_v, v);
                    let control = &net[3 * (i * (degree_v + 1) + j)..];
                    point.iter_mut().zip(control).for_each(|(p, c)| *p = c.mul_add(weight, *p));
                }
            }
            points.extend(point);
        }
    }
    points
}

/// A Bernstein polynomial; the binomial coefficient is multiplied and divided in turn.
fn blend(k: usize, degree: usize, u: f32) -> f32 {
    let (mut low, mut high) = (k, degree - k);
    let mut value = 1.0_f32;
    for top in (1..=degree).rev() {
        value *= top as f32;
        for below in [&mut low, &mut high] {
            if *below > 1 {
                value /= *below as f32;
                *below -= 1;
            }
        }
    }
    let value = (0..k).fold(value, |value, _| value * u);
    (k..degree).fold(value, |value, _| value * (1.0 - u))
}

fn patches(controls: &[f32], steps: usize) -> (Vec<f32>, Vec<f32>) {
    let (mut points, mut normals) = (Vec::new(), Vec::new());
    for patch in controls.chunks_exact(48) {
        let net: Vec<Vector> = patch.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect();
        for row in 0..steps {
            for column in 0..steps {
                let (u, v) = (column as f32 / (steps - 1) as f32, row as f32 / (steps - 1) as f32);
                let curves: Vec<(Vector, Vector)> = net.chunks_exact(4).map(|c| cubic(c, u)).collect();
                let across: Vec<Vector> = curves.iter().map(|curve| curve.0).collect();
                let slopes: Vec<Vector> = curves.iter().map(|curve| curve.1).collect();
                let (point, along_v) = cubic(&across, v);
                let (along_u, _) = cubic(&slopes, v);
                points.extend(point);
                normals.extend(normal(along_u, along_v));
            }
        }
    }
    (points, normals)
}

/// The point of a cubic curve and a vector along it.
fn cubic(control: &[Vector], t: f32) -> (Vector, Vector) {
    let between = |a: Vector, b: Vector| -> Vector { std::array::from_fn(|i| t.mul_add(b[i] - a[i], a[i])) };
    let first = between(control[0], control[1]);
    let second = between(control[1], control[2]);
    let third = between(control[2], control[3]);
    let (left, right) = (between(first, second), between(second, third));
    (between(left, right), std::array::from_fn(|i| right[i] - left[i]))
}

fn normal(a: Vector, b: Vector) -> Vector {
    let cross: Vector = std::array::from_fn(|i| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        a[j].mul_add(b[k], -(a[k] * b[j]))
    });
    let length = cross[0].mul_add(cross[0], cross[1].mul_add(cross[1], cross[2] * cross[2])).sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    cross.map(|c| c * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blends_sum_to_one_and_curves_end_at_their_control_points() {
        for degree in 1..6 {
            let sum: f32 = (0..=degree).map(|k| blend(k, degree, 0.3)).sum();
            assert!((sum - 1.0).abs() < 1e-6, "degree {degree}: {sum}");
        }
        let control = [[0.0, 1.0, 2.0], [3.0, 4.0, 4.0], [1.0, 2.0, 5.0], [7.0, 8.0, 9.0]];
        assert_eq!(cubic(&control, 0.0).0, control[0]);
        assert_eq!(cubic(&control, 1.0).0, control[3]);
        assert_eq!(normal([1.0, 0.0, 0.0], [0.0, 2.0, 0.0]), [0.0, 0.0, 1.0]);
    }
}
