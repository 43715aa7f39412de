//! Studies of other crates: a program adds them once, before it runs studies, and they are then counted in the pass that all
//! studies share.

use super::define::Study;
use super::driver::{Fold, Outcome};
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;
use std::any::Any;
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// Entry of a study of another crate.
#[derive(Clone, Copy, Debug)]
pub struct StudyEntry {
    /// Its definition.
    pub study: &'static Study,
    statics: fn(&Setting<'_>) -> Facts,
    fold: fn(&Setting<'_>, &Facts) -> Box<dyn AnyFold>,
}

impl StudyEntry {
    /// The entry of a study that is counted by a fold.
    #[must_use]
    pub const fn of<F>(study: &'static Study) -> StudyEntry
    where
        F: Fold + fmt::Debug + 'static,
        F::Statics: 'static,
    {
        StudyEntry {
            study,
            statics: |setting| Facts(Box::new(F::statics(setting))),
            fold: |setting, facts| Box::new(Held(F::new(setting, facts.of::<F>()))),
        }
    }
}

/// The static facts of a launch for a study of another crate.
pub(crate) struct Facts(Box<dyn Any + Send + Sync>);

impl Facts {
    fn of<F: Fold>(&self) -> &F::Statics
    where
        F::Statics: 'static,
    {
        self.0.downcast_ref().expect("facts stay with the fold that they were made for")
    }

    fn of_mut<F: Fold>(&mut self) -> &mut F::Statics
    where
        F::Statics: 'static,
    {
        self.0.downcast_mut().expect("facts stay with the fold that they were made for")
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Facts")
    }
}

/// A [`Fold`] of a type that is not known here.
pub(crate) trait AnyFold: Send + fmt::Debug + Any {
    fn begin_block(&mut self, setting: &Setting<'_>, facts: &Facts, block: u64);
    fn before(&mut self, facts: &Facts, at: &mut At<'_>);
    fn after(&mut self, facts: &Facts, at: &mut At<'_>);
    fn end_warp(&mut self, setting: &Setting<'_>, facts: &Facts, warp: usize);
    fn end_turn(&mut self, setting: &Setting<'_>, facts: &Facts);
    fn end_block(&mut self, setting: &Setting<'_>, facts: &Facts);
    fn settle(&mut self, facts: &mut Facts);
    fn merge(&mut self, other: Box<dyn AnyFold>);
    fn finish(
        self: Box<Self>,
        setting: &Setting<'_>,
        facts: &Facts,
        totals: &[Total],
        earlier: &mut Seen,
    ) -> Outcome;
}

/// A fold with its type hidden.
#[derive(Debug)]
struct Held<F>(F);

impl<F> AnyFold for Held<F>
where
    F: Fold + fmt::Debug + 'static,
    F::Statics: 'static,
{
    fn begin_block(&mut self, setting: &Setting<'_>, facts: &Facts, block: u64) {
        self.0.begin_block(setting, facts.of::<F>(), block);
    }

    fn before(&mut self, facts: &Facts, at: &mut At<'_>) {
        self.0.before(facts.of::<F>(), at);
    }

    fn after(&mut self, facts: &Facts, at: &mut At<'_>) {
        self.0.after(facts.of::<F>(), at);
    }

    fn end_warp(&mut self, setting: &Setting<'_>, facts: &Facts, warp: usize) {
        self.0.end_warp(setting, facts.of::<F>(), warp);
    }

    fn end_turn(&mut self, setting: &Setting<'_>, facts: &Facts) {
        self.0.end_turn(setting, facts.of::<F>());
    }

    fn end_block(&mut self, setting: &Setting<'_>, facts: &Facts) {
        self.0.end_block(setting, facts.of::<F>());
    }

    fn settle(&mut self, facts: &mut Facts) {
        self.0.settle(facts.of_mut::<F>());
    }

    fn merge(&mut self, other: Box<dyn AnyFold>) {
        let other: Box<dyn Any> = other;
        let other: Box<Held<F>> = other.downcast().expect("threads count the same studies");
        self.0.merge(other.0);
    }

    fn finish(
        self: Box<Self>,
        setting: &Setting<'_>,
        facts: &Facts,
        totals: &[Total],
        earlier: &mut Seen,
    ) -> Outcome {
        self.0.finish(setting, facts.of::<F>(), totals, earlier)
    }
}

/// The studies of other crates that this program has added.
static STUDIES_ADDED: RwLock<Vec<StudyEntry>> = RwLock::new(Vec::new());

/// Adds a study, unless it is there.
///
/// # Errors
/// What `refuse` says of the study, given those that were added before.
pub(crate) fn add(
    entry: &StudyEntry,
    refuse: impl FnOnce(&[StudyEntry]) -> Option<String>,
) -> Result<(), String> {
    let mut added = STUDIES_ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if added.iter().any(|other| std::ptr::eq(other.study, entry.study)) {
        return Ok(());
    }
    if let Some(why) = refuse(&added) {
        return Err(why);
    }
    added.push(*entry);
    Ok(())
}

/// The studies that were added.
pub(crate) fn entries() -> Vec<StudyEntry> {
    STUDIES_ADDED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The static facts of the studies for which `chosen` holds, with the positions of their entries.
pub(crate) fn facts(setting: &Setting<'_>, chosen: impl Fn(usize) -> bool) -> Vec<(usize, Facts)> {
    let entries = entries().into_iter().enumerate().filter(|(position, _)| chosen(*position));
    entries.map(|(position, entry)| (position, (entry.statics)(setting))).collect()
}

/// Empty folds of the chosen studies.
pub(crate) fn folds(setting: &Setting<'_>, facts: &[(usize, Facts)]) -> Vec<Box<dyn AnyFold>> {
    let entries = entries();
    facts.iter().map(|(position, facts)| (entries[*position].fold)(setting, facts)).collect()
}
