//! Reads the options of just-in-time compilation.

use super::In;
use crate::error::Outcome;
use crate::modules::jit::Options;

/// Reads options: their numbers, and as many values; results overwrite values.
pub(super) fn read(count: u32, numbers: In<u32>, values: In<usize>) -> Outcome<Options> {
    let mut options = Options::default();
    let numbers = numbers.list(count as usize)?;
    let read = values.list(count as usize)?;
    for (i, (number, value)) in numbers.into_iter().zip(read).enumerate() {
        let place = values.0 as usize + i * size_of::<usize>();
        options.set(number, value, place)?;
    }
    Ok(options)
}
