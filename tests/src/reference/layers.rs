//! Layers of networks for the references: images are [image][channel][row][column], all square.

/// A convolution of square images.
pub(super) struct Convolution {
    /// Channels of the input.
    pub(super) channels: usize,
    /// Side of the input.
    pub(super) side: usize,
    /// Channels of the output.
    pub(super) filters: usize,
    /// Side of the filter.
    pub(super) k: usize,
    /// Distance of neighbouring windows.
    pub(super) stride: usize,
    /// Rows and columns of zeros around the input.
    pub(super) padding: usize,
    /// Whether negative results become zero.
    pub(super) rectify: bool,
}

impl Default for Convolution {
    fn default() -> Self {
        Self { channels: 1, side: 1, filters: 1, k: 1, stride: 1, padding: 0, rectify: false }
    }
}

impl Convolution {
    /// Side of the output.
    pub(super) fn out_side(&self) -> usize {
        (self.side + 2 * self.padding - self.k) / self.stride + 1
    }

    /// Starts at the bias and adds products channel after channel, row after row.
    pub(super) fn run(&self, input: &[f32], filters: &[f32], bias: &[f32], images: usize) -> Vec<f32> {
        let mut output = Vec::new();
        for image in 0..images {
            for filter in 0..self.filters {
                for y in 0..self.out_side() {
                    for x in 0..self.out_side() {
                        let mut sum = bias[filter];
                        for c in 0..self.channels {
                            let plane = &input[(image * self.channels + c) * self.side * self.side..];
                            let kernel = &filters[(filter * self.channels + c) * self.k * self.k..];
                            sum = self.window(plane, kernel, [y, x], sum);
                        }
                        output.push(if self.rectify { sum.max(0.0) } else { sum });
                    }
                }
            }
        }
        output
    }

    /// Adds the products of one window.
    pub(super) fn window(&self, plane: &[f32], kernel: &[f32], [y, x]: [usize; 2], mut sum: f32) -> f32 {
        for (i, j) in (0..self.k).flat_map(|i| (0..self.k).map(move |j| (i, j))) {
            let (row, column) = (y * self.stride + i, x * self.stride + j);
            let inside = |at: usize| (self.padding..self.padding + self.side).contains(&at);
            if inside(row) && inside(column) {
                let at = (row - self.padding) * self.side + column - self.padding;
                sum = plane[at].mul_add(kernel[i * self.k + j], sum);
            }
        }
        sum
    }
}

/// Largest values of windows of `k` x `k`, cut off at the border; there are `side / stride` windows a row, or as many
/// as fit if the stride is smaller than the window.
pub(super) fn pool(input: &[f32], side: usize, k: usize, stride: usize) -> Vec<f32> {
    windows(input, side, k, stride, |window| window.iter().copied().fold(f32::NEG_INFINITY, f32::max))
}

/// A function of the values of every window; there are `side / stride` windows in each direction.
pub(super) fn windows(
    input: &[f32],
    side: usize,
    k: usize,
    stride: usize,
    of: impl Fn(&[f32]) -> f32,
) -> Vec<f32> {
    let count = side / stride;
    let mut output = Vec::new();
    for plane in input.chunks_exact(side * side) {
        for (y, x) in (0..count).flat_map(|y| (0..count).map(move |x| (y, x))) {
            let rows = y * stride..(y * stride + k).min(side);
            let columns = x * stride..(x * stride + k).min(side);
            let values: Vec<f32> =
                rows.flat_map(|row| plane[row * side..][columns.clone()].to_vec()).collect();
            output.push(of(&values));
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_ones_sums_its_window() {
        let layer = Convolution { side: 3, k: 3, padding: 1, ..Convolution::default() };
        assert_eq!(layer.run(&[1.0; 9], &[1.0; 9], &[0.0], 1), [4.0, 6.0, 4.0, 6.0, 9.0, 6.0, 4.0, 6.0, 4.0]);
        let every_second = Convolution { stride: 2, ..layer };
        assert_eq!(every_second.run(&[1.0; 9], &[1.0; 9], &[0.5], 1), [4.5; 4]);
    }

    #[test]
    fn windows_are_cut_off_at_the_border() {
        let values: Vec<f32> = (0..16).map(|v| v as f32).collect();
        assert_eq!(pool(&values, 4, 2, 2), [5.0, 7.0, 13.0, 15.0]);
        assert_eq!(pool(&values, 4, 3, 2), [10.0, 11.0, 14.0, 15.0]);
    }
}
