//! Whole inferences of networks for the references: layer after layer, from a buffer `input` to `probabilities`.

use super::{Case, layers};
use crate::{Expected, Outputs};

/// Relative error of the kernels' probabilities, which come from approximate exponentials in single precision.
const SOFTMAX_RELATIVE: f64 = 1e-5;

/// A network of which some layers have run.
pub(super) struct Inference<'a> {
    case: &'a Case<'a>,
    images: usize,
    /// Results of the last layer.
    values: Vec<f32>,
    outputs: Outputs,
}

impl<'a> Inference<'a> {
    /// The case's input, before the first layer.
    pub(super) fn new(case: &'a Case<'a>) -> Self {
        Self { case, images: case.size("images"), values: case.buffer("input"), outputs: Outputs::new() }
    }

    /// A layer that is a function of the last results. Its own are the buffer `output`; if earlier layers have
    /// the same buffer, they follow theirs.
    pub(super) fn layer(&mut self, output: &str, of: impl FnOnce(&[f32]) -> Vec<f32>) {
        self.values = of(&self.values);
        let results = Expected::exact(&self.values);
        match self.outputs.get_mut(output) {
            Some(earlier) => earlier.bytes.extend(results.bytes),
            None => drop(self.outputs.insert(output.to_owned(), results)),
        }
    }

    /// A convolution with the buffers `filters` and `bias`.
    pub(super) fn convolve(&mut self, output: &str, by: &layers::Convolution, filters: &str, bias: &str) {
        let (filters, bias) = (self.case.buffer(filters), self.case.buffer(bias));
        let images = self.images;
        self.layer(output, |values| by.run(values, &filters, &bias, images));
    }

    /// A fully connected layer with the buffers `weights` and `bias`.
    pub(super) fn connect(&mut self, output: &str, weights: &str, bias: &str, rectify: bool) {
        let (weights, bias) = (self.case.buffer(weights), self.case.buffer(bias));
        self.layer(output, |values| layers::connect(values, &weights, &bias, rectify));
    }

    /// The outputs of all layers, and the probabilities of the classes by the last results, the scores.
    pub(super) fn classify(mut self) -> Outputs {
        let probabilities = layers::softmax(&self.values, self.values.len() / self.images);
        let probabilities = Expected::within(&probabilities, SOFTMAX_RELATIVE, 0.0);
        self.outputs.insert("probabilities".into(), probabilities);
        self.outputs
    }
}
