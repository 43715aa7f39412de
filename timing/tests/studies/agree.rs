//! Compares a study with its twin: every count of every instruction, at several numbers of threads.

use super::decode::{Launch, decode};
use super::twins::TWINS;
use timing::internals::LaunchPaths;
use timing::studies::{self, Outcome, Study};

/// Whether a study has only estimated its counts of a launch that is too large for it. Twins count exactly; the studies' own
/// tests hold estimates to exact counts.
fn is_estimated(study: &Study, outcome: &Outcome) -> bool {
    let level = study.counters.iter().position(|counter| counter.key == "sampled_level");
    level.is_some_and(|level| {
        outcome.counts.chunks_exact(study.counters.len()).any(|counts| counts[level] > 0)
    })
}

/// The first count in which a study differs from its twin.
fn difference(study: &Study, outcome: &Outcome, twin: &super::decode::Counts) -> Option<String> {
    for (pc, (counts, expected)) in outcome.counts.chunks_exact(study.counters.len()).zip(&twin.0).enumerate()
    {
        if let Some(key) = expected.keys().find(|key| study.counters.iter().all(|c| c.key != key.as_str())) {
            return Some(format!("the twin counts `{key}`, which the study does not know"));
        }
        for (counter, &count) in study.counters.iter().zip(counts) {
            let expected = expected.get(counter.key).copied().unwrap_or(0);
            if count != expected {
                return Some(format!("PC {pc}: `{}` is {count}, of the twin {expected}", counter.key));
            }
        }
    }
    (outcome.counts.len() != study.counters.len() * twin.0.len()).then(|| "counts are missing".into())
}

/// Checks every study that has a twin on a launch; returns the decoded launch and the sums of all counts.
///
/// # Errors
/// The first difference.
pub(crate) fn check<S: LaunchPaths>(source: &S, threads: &[usize]) -> Result<Launch, String> {
    let launch = decode(source);
    let names: Vec<&str> = TWINS.iter().map(|(name, _)| *name).collect();
    let twins: Vec<_> = TWINS.iter().map(|(_, twin)| twin(&launch)).collect();
    for &threads in threads {
        let outcomes = studies::of_launch(source, &names, threads).map_err(|e| e.to_string())?;
        for ((name, outcome), twin) in names.iter().zip(&outcomes).zip(&twins) {
            let study = studies::find(name).map_err(|e| e.to_string())?;
            if !is_estimated(study, outcome)
                && let Some(difference) = difference(study, outcome, twin)
            {
                return Err(format!("{name}, {threads} threads: {difference}"));
            }
        }
    }
    Ok(launch)
}
