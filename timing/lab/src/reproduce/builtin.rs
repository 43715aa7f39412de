//! The papers whose experiments are built in.

/// Names and texts of the experiments.
pub const PAPERS: &[(&str, &str)] = &[
    ("bow", include_str!("../../../experiments/bow.toml")),
    ("corf", include_str!("../../../experiments/corf.toml")),
    ("dac", include_str!("../../../experiments/dac.toml")),
    ("darsie", include_str!("../../../experiments/darsie.toml")),
    ("larf", include_str!("../../../experiments/larf.toml")),
    ("regmutex", include_str!("../../../experiments/regmutex.toml")),
    ("uv", include_str!("../../../experiments/uv.toml")),
];

/// The text of a paper's experiments.
#[must_use]
pub fn paper(name: &str) -> Option<&'static str> {
    PAPERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, text)| *text)
}
