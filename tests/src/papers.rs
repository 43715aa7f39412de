//! The papers that Warplab reproduces: the machine with which each measured.

use crate::Manifest;

/// A paper by the name of its first technique, as in a manifest's `[workload] papers`, and its machine, a
/// configuration of the timing model. Machines that hold more threads come first.
pub const PAPERS: &[(&str, &str)] = &[
    ("bow", "bow-titanx"),
    ("darsie", "darsie-pascal"),
    ("larf", "larf-pascal"),
    ("uv", "uv-gt200"),
    ("dac", "dac-fermi"),
    ("regmutex", "regmutex-fermi"),
    ("corf", "corf-fermi"),
];

/// The machine of a workload that no paper evaluates.
pub const OTHERS: &str = "titanx-pascal";

/// The machines of the papers that evaluate a workload, the largest first.
pub fn machines(manifest: &Manifest) -> Vec<&'static str> {
    let evaluates = |paper: &str| manifest.about.papers.contains_key(paper);
    let found = PAPERS.iter().filter(|(paper, _)| evaluates(paper)).map(|(_, machine)| *machine);
    let mut machines: Vec<&str> = found.collect();
    if machines.is_empty() {
        machines.push(OTHERS);
    }
    machines
}
