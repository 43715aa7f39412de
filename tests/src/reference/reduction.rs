//! Reference of reduction: grid-stride sums per thread, folded per block; then the same over the blocks' sums.

use super::{Case, fold_halves};
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let (blocks, threads) = (case.size("blocks"), case.size("threads"));
    let data = case.buffer::<f32>("data");
    let partial = reduce(&data, blocks, threads);
    let total = reduce(&partial, 1, threads);
    Outputs::from([("partial".into(), Expected::exact(&partial)), ("total".into(), Expected::exact(&total))])
}

fn reduce(data: &[f32], blocks: usize, threads: usize) -> Vec<f32> {
    let thread_sum = |thread| data.iter().skip(thread).step_by(blocks * threads).fold(0.0, |sum, v| sum + v);
    let block_sum = |block| fold_halves((block * threads..(block + 1) * threads).map(thread_sum).collect());
    (0..blocks).map(block_sum).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn ones_are_counted_and_blocks_take_turns() {
        let setup = Setup::scalars([("blocks", 2), ("threads", 64)]).buffer("data", &[1.0_f32; 200]);
        let outputs = setup.run(expected);
        // 128 threads take one element each, the first 64 of them, all of block 0, a second one, and 8 a third.
        assert_eq!(values::<f32>(&outputs, "partial"), [128.0, 72.0]);
        assert_eq!(values::<f32>(&outputs, "total"), [200.0]);
    }

    #[test]
    fn order_is_that_of_the_tree() {
        // 1e8 swallows a lone 1, and cancels first only if elements 0 and 2 meet before 1 and 3 join.
        assert_eq!(reduce(&[1e8, 1.0, -1e8, 1.0], 1, 4), [2.0]);
        assert_eq!(reduce(&[1e8, -1e8, 1.0, 1.0], 1, 4), [0.0]);
    }
}
