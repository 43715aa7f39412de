//! The list of studies, and the pass that runs any selection of them together.
//!
//! An entry names the counting module, its fold, and the studies based on its counts: usually one. A new
//! study is one file and one entry.

use super::define::Study;
use super::driver::{Fold, Folded, Outcome, fold_launch};
use super::error::StudyError;
use super::sample::Seen;
use super::setting::{At, Setting};
use super::source::LaunchPaths;
use super::total::Total;

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
        pub(crate) struct Pass { $($module: Option<super::$module::$fold>),+ }

        /// The plans of the chosen entries.
        #[derive(Debug)]
        pub(crate) struct Plans {
            $($module: Option<<super::$module::$fold as Fold>::Plan>,)+
            /// The entry, if only one is chosen; then no other is called.
            alone: Option<Number>,
        }

        impl Fold for Pass {
            type Plan = Plans;

            fn plan(setting: &Setting<'_>) -> Plans {
                let alone = [$(Number::$fold),+].into_iter().find(|row| setting.chosen == 1 << *row as u32);
                Plans {
                    $($module: chosen(setting, Number::$fold).then(|| super::$module::$fold::plan(setting)),)+
                    alone,
                }
            }

            fn new(setting: &Setting<'_>, plans: &Plans) -> Pass {
                Pass { $($module: plans.$module.as_ref().map(|plan| Fold::new(setting, plan))),+ }
            }

            fn begin_block(&mut self, setting: &Setting<'_>, plans: &Plans, block: u64) {
                $(if let (Some(fold), Some(plan)) = (&mut self.$module, &plans.$module) {
                    fold.begin_block(setting, plan, block);
                })+
            }

            #[inline]
            fn before(&mut self, plans: &Plans, at: &mut At<'_>) {
                match plans.alone {
                    $(Some(Number::$fold) => {
                        if let (Some(fold), Some(plan)) = (&mut self.$module, &plans.$module) {
                            fold.before(plan, at);
                        }
                        return;
                    })+
                    None => {}
                }
                $(if let (Some(fold), Some(plan)) = (&mut self.$module, &plans.$module) {
                    fold.before(plan, at);
                })+
            }

            #[inline]
            fn after(&mut self, plans: &Plans, at: &mut At<'_>) {
                match plans.alone {
                    $(Some(Number::$fold) => {
                        if let (Some(fold), Some(plan)) = (&mut self.$module, &plans.$module) {
                            fold.after(plan, at);
                        }
                        return;
                    })+
                    None => {}
                }
                $(if let (Some(fold), Some(plan)) = (&mut self.$module, &plans.$module) {
                    fold.after(plan, at);
                })+
            }

            fn end_warp(&mut self, setting: &Setting<'_>, plans: &Plans, warp: usize) {
                $(if let (Some(fold), Some(plan)) = (&mut self.$module, &plans.$module) {
                    fold.end_warp(setting, plan, warp);
                })+
            }

            fn end_turn(&mut self, setting: &Setting<'_>, plans: &Plans) {
                $(if let (Some(fold), Some(plan)) = (&mut self.$module, &plans.$module) {
                    fold.end_turn(setting, plan);
                })+
            }

            fn end_block(&mut self, setting: &Setting<'_>, plans: &Plans) {
                $(if let (Some(fold), Some(plan)) = (&mut self.$module, &plans.$module) {
                    fold.end_block(setting, plan);
                })+
            }

            fn settle(&mut self, plans: &mut Plans) {
                $(if let (Some(fold), Some(plan)) = (&mut self.$module, &mut plans.$module) {
                    fold.settle(plan);
                })+
            }

            fn merge(&mut self, other: Pass) {
                $(if let (Some(mine), Some(theirs)) = (&mut self.$module, other.$module) {
                    mine.merge(theirs);
                })+
            }

            fn finish(self, _: &Setting<'_>, _: &Plans, _: &[Total], _: &mut Seen) -> Outcome {
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
            let Folded { fold, plan, totals }: Folded<Pass> = fold_launch(source, setting, threads, on_block)?;
            Ok(vec![$(match (fold.$module, &plan.$module) {
                (Some(fold), Some(plan)) => Some(fold.finish(setting, plan, &totals, earlier)),
                _ => None,
            }),+])
        }
    };
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
}
