//! One small kernel for every opcode form that real programs use, in the dialects of both compiler generations.
//!
//! `data/forms.txt` lists the forms. [`sample`] makes of a form a [`Sample`]: an instruction with the
//! operands that PTX wants, and the code around it that makes its result visible. [`run::run`] runs a sample
//! in the emulator and, where the oracle knows the form, compares.

mod arith;
mod matrix;
mod memory;
pub mod run;
mod sample;
mod sync;
mod texture;
mod words;

pub use sample::{BLOCK, Dialect, SLICE, Sample, Verdict};

use words::Words;

/// A kernel's worth of code around a form; `None` if there is no way known to use it.
#[must_use]
pub fn sample(form: &str) -> Option<Sample> {
    let words = Words::of(form);
    arith::sample(form, &words)
        .or_else(|| memory::sample(form, &words))
        .or_else(|| sync::sample(form, &words))
        .or_else(|| matrix::sample(form, &words))
        .or_else(|| texture::sample(form, &words))
}

/// The forms of `data/forms.txt`, each with the number of programs that use it.
#[must_use]
pub fn forms() -> Vec<(&'static str, u32)> {
    listed(include_str!("../../data/forms.txt"))
}

/// The forms of `data/pending.txt`: those that the emulator does not know yet.
#[must_use]
pub fn pending() -> Vec<(&'static str, u32)> {
    listed(include_str!("../../data/pending.txt"))
}

fn listed(text: &'static str) -> Vec<(&'static str, u32)> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.filter_map(|line| line.split_once(' ')).map(|(form, n)| (form, n.parse().unwrap_or(0))).collect()
}
