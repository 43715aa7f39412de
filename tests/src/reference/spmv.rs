//! Reference of spmv: every row's products summed in order by one thread, and by 32 lanes in turn whose sums a
//! butterfly of shuffles adds.

use super::{Case, fold_halves};
use crate::{Expected, Outputs};

const LENGTHS: [usize; 8] = [3, 17, 1, 40, 8, 0, 25, 66];
const LANES: usize = 32;

pub(crate) fn expected(case: &Case) -> Outputs {
    let rows = case.size("rows");
    let cols = u32::try_from(case.size("cols")).expect("columns are numbered in 32 bits");
    let columns: Vec<u32> = case.buffer::<u32>("columns").iter().map(|column| column % cols).collect();
    let matrix = case.buffer::<f32>("values");
    let x = case.buffer::<f32>("x");

    let mut offsets = vec![0_usize];
    let (mut y_thread, mut y_warp) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let start = offsets[row];
        let end = start + LENGTHS[row % LENGTHS.len()];
        let step = |sum: f32, i: usize| matrix[i].mul_add(x[columns[i] as usize], sum);
        y_thread.push((start..end).fold(0.0, step));
        let lane_sum = |lane| (start..end).skip(lane).step_by(LANES).fold(0.0, step);
        y_warp.push(fold_halves((0..LANES).map(lane_sum).collect()));
        offsets.push(end);
    }
    let row_offsets: Vec<i32> = offsets.iter().map(|&offset| offset as i32).collect();
    Outputs::from([
        ("row_offsets".into(), Expected::exact(&row_offsets)),
        ("columns".into(), Expected::exact(&columns)),
        ("y_thread".into(), Expected::exact(&y_thread)),
        ("y_warp".into(), Expected::exact(&y_warp)),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn small_integers_make_the_same_sums_both_ways() {
        let outputs = Setup::scalars([("rows", 8), ("cols", 5)])
            .buffer("columns", &(0..160).collect::<Vec<u32>>())
            .buffer("values", &[2.0_f32; 160])
            .buffer("x", &[0.0_f32, 1.0, 2.0, 3.0, 4.0])
            .run(expected);
        assert_eq!(values::<i32>(&outputs, "row_offsets"), [0, 3, 20, 21, 61, 69, 69, 94, 160]);
        // Entries 0..3 have columns 0, 1, 2; entry 20 has column 0; 21..61 eight times all columns.
        let y = values::<f32>(&outputs, "y_thread");
        assert_eq!((y[0], y[2], y[3], y[5]), (6.0, 0.0, 160.0, 0.0));
        assert_eq!(values::<f32>(&outputs, "y_warp"), y);
    }
}
