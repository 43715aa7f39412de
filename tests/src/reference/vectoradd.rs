//! Reference of vectoradd: c = a + b.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let (a, b) = (case.buffer::<f32>("a"), case.buffer::<f32>("b"));
    let c: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    Outputs::from([("c".into(), Expected::exact(&c))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn adds() {
        let setup = Setup::scalars([("n", 2)]).buffer("a", &[1.0_f32, -2.0]).buffer("b", &[0.5_f32, 2.0]);
        assert_eq!(values::<f32>(&setup.run(expected), "c"), [1.5, 0.0]);
    }
}
