//! Answers: numbers by key, of a whole recording and of each of its kernels.

use crate::numbers::{Numbers, flat, of_stats};
use crate::replay::Replay;
use crate::stats::EnergyTable;
use crate::studies::StudyResult;
use serde::{Deserialize, Serialize};

/// What a study or a replay found in one recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Of all launches.
    pub total: Numbers,
    /// Of each kernel, in order of appearance.
    pub kernels: Vec<(String, Numbers)>,
    /// Curves over the course of a warp, by kernel.
    pub courses: Vec<(String, Vec<(f64, f64)>)>,
}

impl Answer {
    /// Of a study over one recording.
    #[must_use]
    pub fn of_study(result: &StudyResult) -> Answer {
        let json = result.to_json();
        let rows = |key: &str| json[key].as_array().cloned().unwrap_or_default();
        let mut kernels: Vec<(String, Numbers)> = Vec::new();
        for row in rows("kernels") {
            let name = row["kernel"].as_str().unwrap_or_default().to_owned();
            let shaped = format!("{name} {}", row["block"].as_str().unwrap_or_default());
            let name = if kernels.iter().any(|(other, _)| *other == name) { shaped } else { name };
            kernels.push((name, flat(&row)));
        }
        let mut courses: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for row in rows("course") {
            let (name, x, y) = (row["kernel"].as_str().unwrap_or_default(), &row["x"], &row["y"]);
            let (Some(x), Some(y)) = (x.as_f64(), y.as_f64()) else { continue };
            match courses.iter_mut().find(|(kernel, _)| kernel == name) {
                Some((_, points)) => points.push((x, y)),
                None => courses.push((name.to_owned(), vec![(x, y)])),
            }
        }
        Answer { total: rows("traces").first().map(flat).unwrap_or_default(), kernels, courses }
    }

    /// Of a replay.
    #[must_use]
    pub fn of_replay(replay: &Replay, energy: &EnergyTable) -> Answer {
        let mut kernels: Vec<(String, Numbers)> = Vec::new();
        for launch in replay.launches.iter() {
            let numbers = of_stats(&launch.stats, energy);
            match kernels.iter_mut().find(|(name, _)| *name == launch.kernel) {
                Some((_, sum)) => numbers.iter().for_each(|(k, v)| *sum.entry(k.clone()).or_default() += v),
                None => kernels.push((launch.kernel.clone(), numbers)),
            }
        }
        Answer { total: of_stats(&replay.total, energy), kernels, courses: Vec::new() }
    }
}
