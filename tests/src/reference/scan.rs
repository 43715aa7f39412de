//! Reference of scan: a running sum modulo 2^32, and the sums of the spans of 512 that the kernels pass on.

use super::Case;
use crate::{Expected, Outputs};

const SPAN: usize = 512;

pub(crate) fn expected(case: &Case) -> Outputs {
    let data = case.buffer::<u32>("data");
    let total = |values: &[u32]| values.iter().fold(0_u32, |sum, value| sum.wrapping_add(*value));
    let totals: Vec<u32> = data.chunks(SPAN).map(total).collect();
    Outputs::from([
        ("prefix".into(), Expected::exact(&exclusive_sums(&data))),
        ("offsets".into(), Expected::exact(&exclusive_sums(&totals))),
        ("totals".into(), Expected::exact(&totals)),
        ("total".into(), Expected::exact(&[total(&data)])),
    ])
}

fn exclusive_sums(values: &[u32]) -> Vec<u32> {
    let mut sum = 0_u32;
    values
        .iter()
        .map(|value| {
            let before = sum;
            sum = sum.wrapping_add(*value);
            before
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn sums_of_ones_count() {
        let outputs = Setup::scalars([("n", 1000)]).buffer("data", &[1_u32; 1000]).run(expected);
        assert_eq!(values::<u32>(&outputs, "prefix"), (0..1000).collect::<Vec<u32>>());
        assert_eq!(values::<u32>(&outputs, "totals"), [512, 488]);
        assert_eq!(values::<u32>(&outputs, "offsets"), [0, 512]);
        assert_eq!(values::<u32>(&outputs, "total"), [1000]);
    }

    #[test]
    fn sums_wrap() {
        assert_eq!(exclusive_sums(&[u32::MAX, 2, 5]), [0, u32::MAX, 1]);
    }
}
