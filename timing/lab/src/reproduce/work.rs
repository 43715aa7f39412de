//! The work of a reproduction: a task per recording, on all cores, that goes on where an earlier run stopped.

use super::answer::Answer;
use super::cache::Cache;
use super::experiment::{Experiment, Figure};
use super::question::{Question, questions, recording};
use super::recorder::Recorder;
use super::workloads::{Recording, Workloads};
use crate::config::load;
use crate::pool;
use crate::replay::{ReplayOptions, replay};
use crate::stats::EnergyTable;
use crate::store::Key;
use crate::studies::{self, Input, Options};
use crate::techniques::Catalogue;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use trace_format::reader::Trace;

/// All questions of one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The recording.
    pub recording: Recording,
    /// The questions.
    pub questions: Vec<Question>,
}

/// What a reproduction works with.
pub struct Plan<'a> {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The workloads.
    pub workloads: &'a Workloads,
    /// The recorder.
    pub recorder: &'a Recorder,
    /// The cache.
    pub cache: &'a Cache,
    /// The techniques.
    pub catalogue: &'a Catalogue,
    /// Content of this program: its answers hold for no other.
    pub program: String,
    /// Threads.
    pub threads: usize,
    /// Whether recordings are deleted after their last question.
    pub discard: bool,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Questions answered.
    pub done: usize,
    /// Of so many.
    pub of: usize,
    /// Of these answers, those that the cache had.
    pub kept: usize,
    /// What is done next.
    pub now: &'a str,
}

/// Answers, or why there is none, by recording and question.
#[derive(Debug, Default)]
pub struct Answers {
    answers: BTreeMap<(Recording, Question), Result<Answer, String>>,
}

impl Answers {
    /// The answer of a recording to a question.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(&self, recording: &Recording, question: &Question) -> Result<&Answer, String> {
        match self.answers.get(&(recording.clone(), question.clone())) {
            Some(answer) => answer.as_ref().map_err(Clone::clone),
            None => Err("it was not asked".into()),
        }
    }

    /// Recordings with unanswered questions, each with its first reason.
    #[must_use]
    pub fn failures(&self) -> Vec<(&Recording, &str)> {
        let mut failures: Vec<(&Recording, &str)> = Vec::new();
        for ((recording, _), answer) in &self.answers {
            if let Err(why) = answer
                && failures.last().is_none_or(|(last, _)| *last != recording)
            {
                failures.push((recording, why));
            }
        }
        failures
    }
}

/// The tasks of some figures: every recording once, with every question once.
#[must_use]
pub fn plan(experiment: &Experiment, figures: &[&Figure], defaults: &Recording) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for figure in figures {
        for program in experiment.programs_of(figure) {
            for series in &figure.series {
                let recording = recording(program, series, defaults);
                let place = tasks.iter().position(|task| task.recording == recording).unwrap_or_else(|| {
                    tasks.push(Task { recording, questions: Vec::new() });
                    tasks.len() - 1
                });
                for question in questions(experiment, figure, series) {
                    if !tasks[place].questions.contains(&question) {
                        tasks[place].questions.push(question);
                    }
                }
            }
        }
    }
    tasks
}

/// Works through the tasks. What fails is in the answers, and the rest goes on.
pub fn run(plan: &Plan<'_>, progress: &(dyn Fn(Progress<'_>) + Sync)) -> Answers {
    let of = plan.tasks.iter().map(|task| task.questions.len()).sum();
    let (done, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let answers = Mutex::new(BTreeMap::new());
    let tell = |now: &str| {
        progress(Progress {
            done: done.load(Ordering::Relaxed),
            of,
            kept: kept.load(Ordering::Relaxed),
            now,
        });
    };
    let work = |position: usize, threads: usize| {
        let task: &Task = &plan.tasks[position];
        let mut found: BTreeMap<Question, Result<Answer, String>> = BTreeMap::new();
        let mut answered = |question: &Question, answer, was_kept| {
            done.fetch_add(1, Ordering::Relaxed);
            kept.fetch_add(usize::from(was_kept), Ordering::Relaxed);
            found.insert(question.clone(), answer);
        };
        let name = &task.recording.workload;
        let outcome = one(plan, task, threads, &mut answered, &|what| tell(&format!("{name}: {what}")));
        if let Err(why) = outcome {
            for question in &task.questions {
                if !found.contains_key(question) {
                    done.fetch_add(1, Ordering::Relaxed);
                    found.insert(question.clone(), Err(why.clone()));
                }
            }
        }
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.extend(found.into_iter().map(|(asked, answer)| ((task.recording.clone(), asked), answer)));
        drop(answers);
        tell("");
        true
    };
    pool::each(plan.threads, plan.tasks.len(), &work);
    Answers { answers: answers.into_inner().unwrap_or_else(PoisonError::into_inner) }
}

/// Takes an answer, and whether the cache had it.
type Answered<'a> = dyn FnMut(&Question, Result<Answer, String>, bool) + 'a;

/// Answers the questions of a recording.
fn one(
    plan: &Plan<'_>,
    task: &Task,
    threads: usize,
    answered: &mut Answered<'_>,
    tell: &dyn Fn(&str),
) -> Result<(), String> {
    let recorded = plan.recorder.key(&task.recording, plan.workloads)?;
    let depends_on = Key::default().with(plan.program.as_bytes()).with(recorded.as_bytes());
    let mut open: Vec<(&Question, String)> = Vec::new();
    for question in &task.questions {
        let key = question.key(depends_on.clone())?;
        match plan.cache.answer(&key) {
            Some(answer) => answered(question, Ok(answer), true),
            None => open.push((question, key)),
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    tell("recording");
    let path = plan.cache.trace(&recorded)?;
    plan.recorder.record(&task.recording, plan.workloads, &path, threads)?;
    let trace = Trace::open(&path).map_err(|why| why.to_string())?;
    let study = |question: &Question| match question {
        Question::Study(name) => Some(*name),
        Question::Replay { .. } => None,
    };
    let studies: Vec<&'static str> = open.iter().filter_map(|(question, _)| study(question)).collect();
    if !studies.is_empty() {
        tell("studies");
        let inputs = [Input { label: &task.recording.workload, trace: &trace }];
        let options = Options { threads, ..Options::default() };
        let results = studies::run(&studies, &inputs, &options).map_err(|why| why.to_string())?;
        let asked = open.iter().filter(|(question, _)| study(question).is_some());
        for ((question, key), result) in asked.zip(&results) {
            let answer = Answer::of_study(result);
            plan.cache.keep(key, &answer)?;
            answered(question, Ok(answer), false);
        }
    }
    for (question, key) in &open {
        let Question::Replay { machine, set, tech } = question else { continue };
        tell(&question.describe());
        let config = load(machine, set).map_err(|why| why.to_string())?.config;
        let energy = EnergyTable::load(&config.energy)?;
        let techniques = plan.catalogue.select(tech, &config).map_err(|why| why.to_string())?;
        let options = ReplayOptions { threads, ..ReplayOptions::default() };
        let answer = replay(&trace, &config, &techniques, &options)
            .map(|done| Answer::of_replay(&done, &energy))
            .map_err(|why| format!("{}: {why}", question.describe()));
        if let Ok(answer) = &answer {
            plan.cache.keep(key, answer)?;
        }
        answered(question, answer, false);
    }
    drop(trace);
    if plan.discard {
        std::fs::remove_file(&path).map_err(|why| format!("cannot delete {}: {why}", path.display()))?;
    }
    Ok(())
}
