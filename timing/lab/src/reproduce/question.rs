//! Questions that figures ask of recordings.

use super::experiment::{Experiment, Figure, Program, Relation, Series};
use super::workloads::Recording;
use crate::config::load;
use crate::stats::EnergyTable;
use crate::store::Key;
use crate::studies;

/// A question of one recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// The counts of a study.
    Study(&'static str),
    /// The statistics of a replay.
    Replay {
        /// Configuration.
        machine: String,
        /// Overrides.
        set: Vec<String>,
        /// Techniques.
        tech: Vec<String>,
    },
}

impl Question {
    /// Key of its answer beside the key of the recording and of this program's content.
    pub(super) fn key(&self, key: Key) -> Result<String, String> {
        Ok(match self {
            Question::Study(name) => key.with(b"study").with(name.as_bytes()),
            Question::Replay { machine, set, tech } => {
                // Of the machine its values count, and not where they come from.
                let config = load(machine, set).map_err(|why| why.to_string())?.config;
                let energy = EnergyTable::load(&config.energy)?;
                let key = key.with(b"replay").with(format!("{config:?}").as_bytes());
                let key = key.with(format!("{energy:?}").as_bytes());
                tech.iter().fold(key, |key, word| key.with(word.as_bytes()))
            }
        }
        .text())
    }

    /// In words.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Question::Study(name) => format!("study {name}"),
            Question::Replay { tech, .. } if tech.is_empty() => "replay".into(),
            Question::Replay { tech, .. } => format!("replay with {}", tech.join(",")),
        }
    }
}

/// The recording of a program that a series is measured on.
pub(super) fn recording(program: &Program, series: &Series, defaults: &Recording) -> Recording {
    Recording {
        workload: program.workload.clone(),
        size: defaults.size.clone(),
        schedule: series.schedule.clone().or_else(|| defaults.schedule.clone()),
        maxregs: series.maxregs.or(program.maxregs).or(defaults.maxregs),
    }
}

/// What a series asks of each recording; of a relation, the baseline last.
#[must_use]
pub fn questions(experiment: &Experiment, figure: &Figure, series: &Series) -> Vec<Question> {
    let study = series.study.as_deref().and_then(|name| studies::find(name).ok());
    let mut asked: Vec<Question> = study.map(|study| Question::Study(study.name)).into_iter().collect();
    if let Some(replayed) = &series.replay {
        let machine = experiment.machine(figure).to_owned();
        asked.push(Question::Replay {
            machine: machine.clone(),
            set: experiment.overrides(figure, &replayed.set),
            tech: replayed.tech.clone(),
        });
        if replayed.relation != Relation::None {
            asked.push(Question::Replay {
                machine,
                set: experiment.overrides(figure, &[]),
                tech: Vec::new(),
            });
        }
    }
    asked
}
