//! The list of studies, and the pass that runs any selection of them together.
//!
//! An entry names the counting module, its fold, and the studies based on its counts: usually one. Studies of other crates
//! ([`further`](super::further)) have the numbers after those entries.

use super::define::Study;
use super::driver::{Fold, Folded, Outcome, fold_launch};
use super::error::StudyError;
use super::further::{self, AnyFold, Facts, StudyEntry};
use super::sample::Seen;
use super::setting::{At, Setting};
use super::source::LaunchPaths;
use super::total::Total;
use warplab_host::names::is_word;

macro_rules! studies {
    ($($module:ident $fold:ident: $($study:ident)+;)+) => {
        /// Every study with the number of its counting entry, in the order in which they are listed.
        pub(crate) static STUDIES: &[(Study, usize)] = &[$($((super::$study::STUDY, Number::$fold as usize)),+),+];

        /// Numbers of the entries.
        #[derive(Clone, Copy, Debug)]
        enum Number { $($fold),+ }

        /// Number of counting entries.
        pub(crate) const ROWS: usize = [$(stringify!($fold)),+].len();

        /// One thread's folds of the chosen entries.
        #[derive(Debug)]
        pub(crate) struct Pass {
            $($module: Option<super::$module::$fold>,)+
            /// Those of other crates.
            further: Vec<Box<dyn AnyFold>>,
        }

        /// The static facts of the chosen entries.
        #[derive(Debug)]
        pub(crate) struct AllStatics {
            $($module: Option<<super::$module::$fold as Fold>::Statics>,)+
            /// The entry, if only one is chosen; then no other is called.
            alone: Option<Number>,
            /// Those of other crates, with the positions of their entries.
            further: Vec<(usize, Facts)>,
        }

        impl AllStatics {
            fn further(&self) -> impl Iterator<Item = &Facts> {
                self.further.iter().map(|(_, facts)| facts)
            }
        }

        impl Fold for Pass {
            type Statics = AllStatics;

            fn statics(setting: &Setting<'_>) -> AllStatics {
                let alone = [$(Number::$fold),+].into_iter().find(|row| setting.chosen == 1 << *row as u32);
                AllStatics {
                    $($module: chosen(setting, Number::$fold).then(|| super::$module::$fold::statics(setting)),)+
                    alone,
                    further: further::facts(setting, |position| setting.chosen >> (ROWS + position) & 1 != 0),
                }
            }

            fn new(setting: &Setting<'_>, all: &AllStatics) -> Pass {
                Pass {
                    $($module: all.$module.as_ref().map(|statics| Fold::new(setting, statics)),)+
                    further: further::folds(setting, &all.further),
                }
            }

            fn begin_block(&mut self, setting: &Setting<'_>, all: &AllStatics, block: u64) {
                $(if let (Some(fold), Some(statics)) = (&mut self.$module, &all.$module) {
                    fold.begin_block(setting, statics, block);
                })+
                for (fold, facts) in self.further.iter_mut().zip(all.further()) {
                    fold.begin_block(setting, facts, block);
                }
            }

            #[inline]
            fn before(&mut self, all: &AllStatics, at: &mut At<'_>) {
                match all.alone {
                    $(Some(Number::$fold) => {
                        if let (Some(fold), Some(statics)) = (&mut self.$module, &all.$module) {
                            fold.before(statics, at);
                        }
                        return;
                    })+
                    None => {}
                }
                $(if let (Some(fold), Some(statics)) = (&mut self.$module, &all.$module) {
                    fold.before(statics, at);
                })+
                for (fold, facts) in self.further.iter_mut().zip(all.further()) {
                    fold.before(facts, at);
                }
            }

            #[inline]
            fn after(&mut self, all: &AllStatics, at: &mut At<'_>) {
                match all.alone {
                    $(Some(Number::$fold) => {
                        if let (Some(fold), Some(statics)) = (&mut self.$module, &all.$module) {
                            fold.after(statics, at);
                        }
                        return;
                    })+
                    None => {}
                }
                $(if let (Some(fold), Some(statics)) = (&mut self.$module, &all.$module) {
                    fold.after(statics, at);
                })+
                for (fold, facts) in self.further.iter_mut().zip(all.further()) {
                    fold.after(facts, at);
                }
            }

            fn end_warp(&mut self, setting: &Setting<'_>, all: &AllStatics, warp: usize) {
                $(if let (Some(fold), Some(statics)) = (&mut self.$module, &all.$module) {
                    fold.end_warp(setting, statics, warp);
                })+
                for (fold, facts) in self.further.iter_mut().zip(all.further()) {
                    fold.end_warp(setting, facts, warp);
                }
            }

            fn end_turn(&mut self, setting: &Setting<'_>, all: &AllStatics) {
                $(if let (Some(fold), Some(statics)) = (&mut self.$module, &all.$module) {
                    fold.end_turn(setting, statics);
                })+
                for (fold, facts) in self.further.iter_mut().zip(all.further()) {
                    fold.end_turn(setting, facts);
                }
            }

            fn end_block(&mut self, setting: &Setting<'_>, all: &AllStatics) {
                $(if let (Some(fold), Some(statics)) = (&mut self.$module, &all.$module) {
                    fold.end_block(setting, statics);
                })+
                for (fold, facts) in self.further.iter_mut().zip(all.further()) {
                    fold.end_block(setting, facts);
                }
            }

            fn settle(&mut self, all: &mut AllStatics) {
                $(if let (Some(fold), Some(statics)) = (&mut self.$module, &mut all.$module) {
                    fold.settle(statics);
                })+
                for (fold, (_, facts)) in self.further.iter_mut().zip(&mut all.further) {
                    fold.settle(facts);
                }
            }

            fn merge(&mut self, other: Pass) {
                $(if let (Some(mine), Some(theirs)) = (&mut self.$module, other.$module) {
                    mine.merge(theirs);
                })+
                for (mine, theirs) in self.further.iter_mut().zip(other.further) {
                    mine.merge(theirs);
                }
            }

            fn finish(self, _: &Setting<'_>, _: &AllStatics, _: &[Total], _: &mut Seen) -> Outcome {
                Outcome::default()
            }
        }

        /// Results of each chosen entry for a launch, in the order of the entries; `None` for the others.
        ///
        /// # Errors
        /// A damaged recording.
        pub(crate) fn outcomes<S: LaunchPaths>(
            source: &S,
            setting: &Setting<'_>,
            threads: usize,
            on_block: &(dyn Fn(u64) + Sync),
            earlier: &mut Seen,
        ) -> Result<Vec<Option<Outcome>>, StudyError> {
            let Folded { fold, statics, totals }: Folded<Pass> = fold_launch(source, setting, threads, on_block)?;
            let mut outcomes = vec![$(match (fold.$module, &statics.$module) {
                (Some(fold), Some(statics)) => Some(fold.finish(setting, statics, &totals, earlier)),
                _ => None,
            }),+];
            for (fold, (position, facts)) in fold.further.into_iter().zip(&statics.further) {
                outcomes.resize(ROWS + position, None);
                outcomes.push(Some(fold.finish(setting, facts, &totals, earlier)));
            }
            Ok(outcomes)
        }
    };
}

/// Counting entries that a pass can have: bits of [`Setting::chosen`].
const MOST: usize = u32::BITS as usize;

/// Adds studies of other crates. Adding a study again changes nothing.
///
/// # Errors
/// A name is taken, is not a word of lower-case letters, digits and `-`, or there are too many studies.
pub fn add(studies: &[StudyEntry]) -> Result<(), String> {
    for entry in studies {
        let name = entry.study.name;
        if !is_word(name, "-") || name == "all" || name == "none" {
            return Err(format!(
                "a study cannot be called `{name}`: names have small letters, digits and `-`, and are neither `all` nor `none`"
            ));
        }
        further::add(entry, |added| {
            let own = STUDIES.iter().map(|(study, _)| study.name);
            if own.chain(added.iter().map(|other| other.study.name)).any(|other| other == name) {
                return Some(format!("there are two studies called `{name}`"));
            }
            let too_many = || format!("there are more than {} studies of other crates", MOST - ROWS);
            (ROWS + added.len() >= MOST).then(too_many)
        })?;
    }
    Ok(())
}

/// Every study with the number of its counting entry, those of other crates last.
pub(crate) fn all() -> impl Iterator<Item = (&'static Study, usize)> {
    let further = further::entries().into_iter().enumerate();
    let further = further.map(|(position, entry)| (entry.study, ROWS + position));
    STUDIES.iter().map(|(study, number)| (study, *number)).chain(further)
}

fn chosen(setting: &Setting<'_>, number: Number) -> bool {
    setting.chosen >> number as u32 & 1 != 0
}

studies! {
    redundancy Redundancy: redundancy taxonomy;
    uniform Uniform: uniform;
    affine Affine: affine;
    width Width: width;
    reuse Reuse: reuse;
    liveness Liveness: liveness;
    sharing Sharing: sharing;
    entropy Entropy: entropy;
    dead Dead: dead;
    memo Memo: memo;
    divergence Divergence: divergence;
    memory Memory: memory;
    lifetime Lifetime: lifetime;
    copies Copies: copies;
}
