//! Reference of kmeans: nearest centres, and the mean of each centre's points, summed block by block.

use super::Case;
use crate::{Expected, Outputs};

const FEATURES: usize = 34;
const CENTRES: usize = 5;
const BLOCK: usize = 256;

pub(crate) fn expected(case: &Case) -> Outputs {
    let n = case.size("n");
    let points = case.buffer::<f32>("points");
    let points: Vec<&[f32]> = points.chunks_exact(FEATURES).collect();
    let centres = centres();
    let nearest: Vec<usize> = points.iter().map(|point| nearest(point, &centres)).collect();
    let (mut sums, mut counts) = (Vec::new(), Vec::new());
    for (points, nearest) in points.chunks(BLOCK).zip(nearest.chunks(BLOCK)) {
        let mut sum = vec![[0.0_f32; FEATURES]; CENTRES];
        let mut count = [0_i32; CENTRES];
        for (point, &centre) in points.iter().zip(nearest) {
            sum[centre].iter_mut().zip(*point).for_each(|(sum, value)| *sum += value);
            count[centre] += 1;
        }
        sums.extend(sum.into_iter().flatten());
        counts.extend(count);
    }
    let moved: Vec<f32> = (0..CENTRES * FEATURES)
        .map(|at| {
            let sum = sums.chunks_exact(CENTRES * FEATURES).fold(0.0_f32, |sum, block| sum + block[at]);
            let count: i32 = counts.chunks_exact(CENTRES).map(|block| block[at / FEATURES]).sum();
            if count > 0 { sum / count as f32 } else { centres[at / FEATURES][at % FEATURES] }
        })
        .collect();
    let features: Vec<f32> = (0..FEATURES).flat_map(|f| points.iter().map(move |point| point[f])).collect();
    let membership: Vec<i32> = nearest[..n].iter().map(|&centre| centre as i32).collect();
    Outputs::from([
        ("features".into(), Expected::exact(&features)),
        ("membership".into(), Expected::exact(&membership)),
        ("sums".into(), Expected::exact(&sums)),
        ("counts".into(), Expected::exact(&counts)),
        ("moved".into(), Expected::exact(&moved)),
    ])
}

fn centres() -> Vec<[f32; FEATURES]> {
    let mut state = 88_172_645_u32;
    let mut draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as f32 / 256.0
    };
    (0..CENTRES).map(|_| std::array::from_fn(|_| draw())).collect()
}

/// The first of the nearest centres.
fn nearest(point: &[f32], centres: &[[f32; FEATURES]]) -> usize {
    let distance = |centre: &[f32; FEATURES]| {
        point.iter().zip(centre).fold(0.0_f32, |sum, (a, b)| (a - b).mul_add(a - b, sum))
    };
    let mut best = (0, f32::MAX);
    for (at, centre) in centres.iter().enumerate() {
        let distance = distance(centre);
        if distance < best.1 {
            best = (at, distance);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_centre_is_nearest_to_itself() {
        let centres = centres();
        for (at, centre) in centres.iter().enumerate() {
            assert_eq!(nearest(centre, &centres), at);
        }
    }
}
