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
    /// Equal parts of channels and filters: a filter sees the channels of its own part only.
    pub(super) groups: usize,
    /// Whether negative results become zero.
    pub(super) rectify: bool,
}

impl Default for Convolution {
    fn default() -> Self {
        Self { channels: 1, side: 1, filters: 1, k: 1, stride: 1, padding: 0, groups: 1, rectify: false }
    }
}

impl Convolution {
    /// Side of the output.
    pub(super) fn out_side(&self) -> usize {
        (self.side + 2 * self.padding - self.k) / self.stride + 1
    }

    /// Starts at the bias and adds products channel after channel, row after row.
    pub(super) fn run(&self, input: &[f32], filters: &[f32], bias: &[f32], images: usize) -> Vec<f32> {
        let own = self.channels / self.groups;
        let mut output = Vec::new();
        for image in 0..images {
            for filter in 0..self.filters {
                let first = image * self.channels + filter / (self.filters / self.groups) * own;
                for y in 0..self.out_side() {
                    for x in 0..self.out_side() {
                        let mut sum = bias[filter];
                        for c in 0..own {
                            let plane = &input[(first + c) * self.side * self.side..];
                            let kernel = &filters[(filter * own + c) * self.k * self.k..];
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

/// Largest of 3 x 3 values, every second one; windows that do not fit are left out.
pub(super) fn overlapping_pool(input: &[f32], side: usize) -> Vec<f32> {
    let count = (side - 3) / 2 + 1;
    let plane = |plane: &[f32]| {
        let most = |at: usize| {
            let (y, x) = (at / count * 2, at % count * 2);
            let window = (0..9).map(|i| plane[(y + i / 3) * side + x + i % 3]);
            window.fold(0.0_f32, f32::max)
        };
        (0..count * count).map(most).collect::<Vec<f32>>()
    };
    input.chunks_exact(side * side).flat_map(plane).collect()
}

/// Neurons that see all inputs of an image: a warp sums the products, and the bias comes last.
pub(super) fn connect(input: &[f32], weights: &[f32], bias: &[f32], rectify: bool) -> Vec<f32> {
    let inputs = weights.len() / bias.len();
    let neuron = |image: &[f32], weights: &[f32], bias: f32| {
        let sum = bias + warp_sum(inputs, |sum, i| image[i].mul_add(weights[i], sum));
        if rectify { sum.max(0.0) } else { sum }
    };
    let neurons = |image| weights.chunks_exact(inputs).zip(bias).map(move |(w, b)| neuron(image, w, *b));
    input.chunks_exact(inputs).flat_map(neurons).collect()
}

/// Means of groups of `pixels` values, each summed by a warp.
pub(super) fn average(input: &[f32], pixels: usize) -> Vec<f32> {
    let mean = |map: &[f32]| warp_sum(pixels, |sum, i| sum + map[i]) / pixels as f32;
    input.chunks_exact(pixels).map(mean).collect()
}

/// Sum of `count` terms as a warp forms it: `add` adds every 32nd term to a lane's sum, and a butterfly adds the lanes.
fn warp_sum(count: usize, add: impl Fn(f32, usize) -> f32) -> f32 {
    let lane = |lane: usize| (lane..count).step_by(32).fold(0.0_f32, &add);
    let mut lanes: Vec<f32> = (0..32).map(lane).collect();
    for distance in [16, 8, 4, 2, 1] {
        lanes = (0..32).map(|lane| lanes[lane] + lanes[lane ^ distance]).collect();
    }
    lanes[0]
}

/// Shares of the classes by the exponentials of their scores, in double precision.
pub(super) fn softmax(scores: &[f32], classes: usize) -> Vec<f32> {
    let of_image = |scores: &[f32]| {
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = scores.iter().map(|&score| f64::from(score - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(|power| (power / sum) as f32).collect::<Vec<f32>>()
    };
    scores.chunks_exact(classes).flat_map(of_image).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_see_their_group_only() {
        let layer = Convolution { channels: 4, filters: 2, groups: 2, ..Convolution::default() };
        let weights = [1.0, 10.0, 100.0, 1000.0];
        assert_eq!(layer.run(&[1.0, 2.0, 3.0, 4.0], &weights, &[0.0, 0.5], 1), [21.0, 4300.5]);
    }

    #[test]
    fn windows_overlap() {
        let plane: Vec<f32> = (0..25).map(|v| v as f32).collect();
        assert_eq!(overlapping_pool(&plane, 5), [12.0, 14.0, 22.0, 24.0]);
    }

    #[test]
    fn neurons_sum_all_inputs() {
        assert_eq!(connect(&[1.0; 70], &[2.0; 70], &[3.0], true), [143.0]);
        assert_eq!(connect(&[1.0; 70], &[-2.0; 70], &[3.0], true), [0.0]);
        assert_eq!(average(&[3.0; 70], 35), [3.0, 3.0]);
    }

    #[test]
    fn shares_of_an_image_add_up_to_one() {
        let shares = softmax(&[0.0, 2.0_f32.ln(), 5.0, 5.0], 2);
        assert_eq!(shares[2..], [0.5, 0.5]);
        assert!((shares[0] - 1.0 / 3.0).abs() < 1e-6 && (shares[1] - 2.0 / 3.0).abs() < 1e-6);
    }

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
