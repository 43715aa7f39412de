//! Reference of sad: sums of absolute differences of every 4x4 square at 81 displacements, and the first best.

use super::Case;
use crate::{Expected, Outputs};

const SIDE: usize = 4;
const RADIUS: isize = 4;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let current = case.buffer::<u8>("current");
    let reference = case.buffer::<u8>("reference");
    let clamped = |y: isize, x: isize| {
        let y = y.clamp(0, height as isize - 1) as usize;
        let x = x.clamp(0, width as isize - 1) as usize;
        reference[y * width + x]
    };

    let (mut sads, mut best) = (Vec::<u16>::new(), Vec::<u32>::new());
    for top in (0..height).step_by(SIDE) {
        for left in (0..width).step_by(SIDE) {
            let first = sads.len();
            for dy in -RADIUS..=RADIUS {
                for dx in -RADIUS..=RADIUS {
                    let pixels = (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (top + y, left + x)));
                    let differences = pixels.map(|(y, x)| {
                        let moved = clamped(y as isize + dy, x as isize + dx);
                        u16::from(current[y * width + x].abs_diff(moved))
                    });
                    sads.push(differences.sum());
                }
            }
            let candidates = sads[first..].iter().zip(0_u32..);
            best.extend(candidates.map(|(&sad, number)| u32::from(sad) << 8 | number).min());
        }
    }
    Outputs::from([("sads".into(), Expected::exact(&sads)), ("best".into(), Expected::exact(&best))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_shifted_picture_is_found_where_it_went() {
        // The reference is the current frame moved two to the right and one down.
        let (width, height) = (16_usize, 12_usize);
        let pixel = |y: isize, x: isize| ((y * 31 + x * 17) * (y + 3 * x + 5)).rem_euclid(251) as u8;
        let frame = |dy, dx| {
            let at = move |i: usize| pixel((i / width) as isize + dy, (i % width) as isize + dx);
            (0..width * height).map(at).collect::<Vec<u8>>()
        };
        let setup = Setup::scalars([("width", 16), ("height", 12)])
            .buffer("current", &frame(0, 0))
            .buffer("reference", &frame(-1, -2));
        let outputs = setup.run(expected);
        // Square (1, 1) is far enough from the rim; displacement (dy, dx) = (1, 2) has number 5 * 9 + 6.
        assert_eq!(values::<u32>(&outputs, "best")[5], 51);
        assert_eq!(values::<u16>(&outputs, "sads")[5 * 81 + 51], 0);
    }

    #[test]
    fn flat_frames_differ_by_their_levels_and_the_first_candidate_wins() {
        let setup = Setup::scalars([("width", 4), ("height", 4)])
            .buffer("current", &[10_u8; 16])
            .buffer("reference", &[250_u8; 16]);
        let outputs = setup.run(expected);
        assert_eq!(values::<u16>(&outputs, "sads"), [240 * 16; 81]);
        assert_eq!(values::<u32>(&outputs, "best"), [(240 * 16) << 8]);
    }
}
