//! Reference of compact: the elements above the threshold in order, and how many each block of 256 keeps.

use super::Case;
use crate::{Expected, Outputs};

const BLOCK: usize = 256;

pub(crate) fn expected(case: &Case) -> Outputs {
    let threshold = case.scalar("threshold");
    let data = case.buffer::<i32>("data");
    let keep = |value: &&i32| i64::from(**value) > threshold;

    let mut kept: Vec<i32> = data.iter().filter(keep).copied().collect();
    kept.resize(data.len(), 0);
    let counts: Vec<u32> = data.chunks(BLOCK).map(|block| block.iter().filter(keep).count() as u32).collect();
    let mut offsets = vec![0_u32];
    for count in &counts {
        offsets.push(offsets[offsets.len() - 1] + count);
    }
    Outputs::from([
        ("counts".into(), Expected::exact(&counts)),
        ("offsets".into(), Expected::exact(&offsets)),
        ("kept".into(), Expected::exact(&kept)),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn every_second_element_of_three_hundred() {
        let data: Vec<i32> = (0..300).map(|i| if i % 2 == 1 { i } else { -i }).collect();
        let outputs = Setup::scalars([("threshold", 0)]).buffer("data", &data).run(expected);
        assert_eq!(values::<u32>(&outputs, "counts"), [128, 22]);
        assert_eq!(values::<u32>(&outputs, "offsets"), [0, 128, 150]);
        let kept = values::<i32>(&outputs, "kept");
        assert_eq!(kept[..3], [1, 3, 5]);
        assert_eq!((kept[149], kept[150], kept.len()), (299, 0, 300));
    }
}
