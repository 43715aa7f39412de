//! Reference of dxt: every cut of the sorted pixels, in the order in which the threads of a group try them.

use super::Case;
use crate::{Expected, Outputs};

type Colour = [i32; 3];

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let pixels = case.buffer::<u32>("pixels");
    let square = |at: usize| -> [Colour; 16] {
        let (x, y) = (at % (width / 4) * 4, at / (width / 4) * 4);
        std::array::from_fn(|lane| {
            let pixel = pixels[(y + lane / 4) * width + x + lane % 4];
            [pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255].map(|c| c as i32)
        })
    };
    let compressed: Vec<u32> = (0..width * height / 16).flat_map(|at| compress(&square(at))).collect();
    Outputs::from([("compressed".into(), Expected::exact(&compressed))])
}

fn compress(pixels: &[Colour; 16]) -> [u32; 2] {
    let apart = |a: &Colour, b: &Colour| (0..3).map(|c| (a[c] - b[c]).pow(2)).sum::<i32>();
    let far = (0..16).rev().max_by_key(|&i| apart(&pixels[i], &pixels[0])).expect("sixteen pixels");
    let axis: Colour = std::array::from_fn(|c| pixels[far][c] - pixels[0][c]);
    let mut order: Vec<usize> = (0..16).collect();
    order.sort_by_key(|&i| (0..3).map(|c| axis[c] * pixels[i][c]).sum::<i32>());

    let cuts = (1..=15).flat_map(|a| (a..=15).flat_map(move |b| (b..=15).map(move |c| [a, b, c])));
    // The first of the best ones of each thread; then those of threads are compared in a tree.
    let mut best = [(u32::MAX, [0; 3]); 16];
    for (number, cut) in cuts.enumerate() {
        let error = error(pixels, &order, cut);
        if error < best[number % 16].0 {
            best[number % 16] = (error, cut);
        }
    }
    for distance in [8, 4, 2, 1] {
        for lane in 0..distance {
            if best[lane + distance].0 < best[lane].0 {
                best[lane] = best[lane + distance];
            }
        }
    }
    let cut = best[0].1;
    let packed = |[r, g, b]: Colour| (r >> 3 << 11 | g >> 2 << 5 | b >> 3) as u32;
    let [low, high] = ends(pixels, &order, cut);
    let indices =
        order.iter().enumerate().fold(0, |sum, (i, p)| sum | [0, 2, 3, 1][cluster(cut, i)] << (2 * p));
    [packed(low) | packed(high) << 16, indices]
}

fn cluster(cut: [usize; 3], at: usize) -> usize {
    cut.iter().filter(|&&cut| at >= cut).count()
}

/// Means of the first and the last cluster.
fn ends(pixels: &[Colour; 16], order: &[usize], [first, _, third]: [usize; 3]) -> [Colour; 2] {
    let mean = |from: &[usize]| {
        std::array::from_fn(|c| from.iter().map(|&p| pixels[p][c]).sum::<i32>() / from.len() as i32)
    };
    [mean(&order[..first]), mean(&order[third..])]
}

fn error(pixels: &[Colour; 16], order: &[usize], cut: [usize; 3]) -> u32 {
    let [low, high] = ends(pixels, order, cut);
    let of = |(i, &p): (usize, &usize)| {
        let share = cluster(cut, i) as i32;
        (0..3)
            .map(|c| (((low[c] * (3 - share) + high[c] * share) / 3 - pixels[p][c]).pow(2)) as u32)
            .sum::<u32>()
    };
    order.iter().enumerate().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_colours_are_kept() {
        let pixels: [Colour; 16] =
            std::array::from_fn(|i| if i % 2 == 0 { [0, 0, 0] } else { [248, 252, 248] });
        let [colours, indices] = compress(&pixels);
        assert_eq!((colours, indices), (0xffff_0000, 0x4444_4444));
    }
}
