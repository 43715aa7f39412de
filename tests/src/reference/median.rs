//! Reference of median: the upper median of the part of a 5x5 window that lies in the image.

use super::Case;
use crate::{Expected, Outputs};

const RADIUS: usize = 2;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let image = case.buffer::<u16>("image");
    let mut filtered = Vec::with_capacity(image.len());
    for y in 0..height {
        for x in 0..width {
            let rows = y.saturating_sub(RADIUS)..(y + RADIUS + 1).min(height);
            let cols = x.saturating_sub(RADIUS)..(x + RADIUS + 1).min(width);
            let mut window: Vec<u16> = rows
                .flat_map(|row| &image[row * width + cols.start..row * width + cols.end])
                .copied()
                .collect();
            window.sort_unstable();
            filtered.push(window[window.len() / 2]);
        }
    }
    Outputs::from([("filtered".into(), Expected::exact(&filtered))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn windows_are_clipped_and_outliers_vanish() {
        let outputs = Setup::scalars([("width", 4), ("height", 1)])
            .buffer("image", &[9_u16, 1, 60000, 4])
            .run(expected);
        // Windows: {9,1,60000}, all four, all four, {1,60000,4}.
        assert_eq!(values::<u16>(&outputs, "filtered"), [9, 9, 9, 4]);
    }
}
