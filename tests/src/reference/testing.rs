//! Helpers of the references' tests: a case from a handful of values, and typed outputs.

use super::Case;
use crate::element::{Element, decode, encode};
use crate::{Buffers, Outputs, Scalars};

/// A case under construction.
#[derive(Default)]
pub(super) struct Setup {
    buffers: Buffers,
    scalars: Scalars,
}

impl Setup {
    /// Sets the scalars.
    pub(super) fn scalars<const N: usize>(scalars: [(&str, i64); N]) -> Self {
        let scalars = scalars.map(|(name, value)| (name.to_owned(), value)).into();
        Self { scalars, ..Self::default() }
    }

    /// Adds a buffer.
    pub(super) fn buffer<T: Element>(mut self, name: &str, values: &[T]) -> Self {
        self.buffers.insert(name.to_owned(), encode(values));
        self
    }

    /// Runs a reference.
    pub(super) fn run(&self, reference: fn(&Case) -> Outputs) -> Outputs {
        reference(&Case::new(&self.buffers, &self.scalars))
    }
}

/// The values that an output must hold.
pub(super) fn values<T: Element>(outputs: &Outputs, name: &str) -> Vec<T> {
    assert_eq!(outputs[name].element, T::TYPE, "type of {name}");
    decode(&outputs[name].bytes)
}
