//! Reference of transpose: rows become columns.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let matrix = case.buffer::<f32>("matrix");
    let transposed: Vec<f32> = (0..width)
        .flat_map(|col| (0..height).map(move |row| row * width + col))
        .map(|at| matrix[at])
        .collect();
    Outputs::from([("transposed".into(), Expected::exact(&transposed))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn two_by_three() {
        let matrix = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let outputs = Setup::scalars([("width", 3), ("height", 2)]).buffer("matrix", &matrix).run(expected);
        assert_eq!(values::<f32>(&outputs, "transposed"), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
