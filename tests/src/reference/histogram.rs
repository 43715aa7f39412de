//! Reference of histogram: how often each byte occurs.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let mut bins = case.buffer::<u32>("bins");
    for byte in case.buffer::<u8>("data") {
        bins[usize::from(byte)] += 1;
    }
    Outputs::from([("bins".into(), Expected::exact(&bins))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn bytes_are_counted_onto_what_is_there() {
        let setup = Setup::default().buffer("data", &[7_u8, 255, 7]).buffer("bins", &[1_u32; 256]);
        let bins = values::<u32>(&setup.run(expected), "bins");
        assert_eq!((bins[7], bins[255], bins[0]), (3, 2, 1));
    }
}
