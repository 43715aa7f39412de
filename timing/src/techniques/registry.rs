//! From the list of techniques to one enum with static dispatch, and from `--tech a,b` to a checked selection.
//!
//! Selection refuses unknown words, duplicates and techniques that claim the same part of the machine.

use super::{AnyTechnique, Claim};
use crate::config::GpuConfig;
use std::fmt;

/// What the list of techniques shows.
#[derive(Clone, Copy, Debug)]
pub struct TechniqueInfo {
    /// The word that `--tech` takes.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// Parts of the machine that it decides alone.
    pub claims: &'static [Claim],
}

/// Declares the module of each technique and the enum that dispatches to them, in order.
macro_rules! techniques {
    ($($module:ident :: $ty:ident),+ $(,)?) => {
        $(pub mod $module;)+

        /// One technique of the list.
        #[derive(Clone)]
        #[allow(missing_docs, reason = "each variant is documented by its type")]
        #[allow(clippy::large_enum_variant, reason = "a handful exist per SM")]
        pub enum AnyTechnique {
            $($ty($module::$ty)),+
        }

        impl AnyTechnique {
            /// Every technique's row, in the order in which they act.
            pub const ALL: &'static [TechniqueInfo] = &[$(<$module::$ty as Technique>::INFO),+];

            /// Builds the technique of that name.
            pub(crate) fn build(
                name: &str,
                config: &GpuConfig,
                section: &toml::Table,
            ) -> Option<Result<AnyTechnique, String>> {
                $(if name == <$module::$ty as Technique>::INFO.name {
                    return Some(<$module::$ty as Technique>::new(config, section).map(AnyTechnique::$ty));
                })+
                None
            }

            /// Its row.
            #[must_use]
            pub fn info(&self) -> TechniqueInfo {
                match self { $(AnyTechnique::$ty(_) => <$module::$ty as Technique>::INFO),+ }
            }

            pub(crate) fn prepare(
                &mut self,
                program: &Program,
                config: &GpuConfig,
                plan: &mut Plan,
            ) -> Result<(), String> {
                match self { $(AnyTechnique::$ty(t) => t.prepare(program, config, plan)),+ }
            }

            pub(crate) fn start_block(&mut self, cx: &mut Cx<'_>, block_slot: usize, block: u32) {
                match self { $(AnyTechnique::$ty(t) => t.start_block(cx, block_slot, block)),+ }
            }

            pub(crate) fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
                match self { $(AnyTechnique::$ty(t) => t.start_warp(cx, warp)),+ }
            }

            pub(crate) fn fetch(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
                match self { $(AnyTechnique::$ty(t) => t.fetch(cx, warp, pc)),+ }
            }

            pub(crate) fn skipped(
                &mut self,
                cx: &mut Cx<'_>,
                warp: &WarpView<'_>,
                inst: &InstView<'_>,
            ) -> Result<(), Box<ValueMismatch>> {
                match self { $(AnyTechnique::$ty(t) => t.skipped(cx, warp, inst)),+ }
            }

            pub(crate) fn issue(
                &mut self,
                cx: &mut Cx<'_>,
                warp: &WarpView<'_>,
                what: &Issuing<'_>,
            ) -> IssueVerdict {
                match self { $(AnyTechnique::$ty(t) => t.issue(cx, warp, what)),+ }
            }

            pub(crate) fn collect(
                &mut self,
                cx: &mut Cx<'_>,
                warp: &WarpView<'_>,
                inst: &InstView<'_>,
                operands: &mut [OperandRead],
            ) -> Result<(), Box<ValueMismatch>> {
                match self { $(AnyTechnique::$ty(t) => t.collect(cx, warp, inst, operands)),+ }
            }

            pub(crate) fn write_back(
                &mut self,
                cx: &mut Cx<'_>,
                warp: &WarpView<'_>,
                inst: &InstView<'_>,
                writes: &mut [RegisterWrite<'_>],
            ) -> Result<(), Box<ValueMismatch>> {
                match self { $(AnyTechnique::$ty(t) => t.write_back(cx, warp, inst, writes)),+ }
            }

            pub(crate) fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
                match self { $(AnyTechnique::$ty(t) => t.end_warp(cx, warp_slot)),+ }
            }

            pub(crate) fn end_block(&mut self, cx: &mut Cx<'_>, block_slot: usize) {
                match self { $(AnyTechnique::$ty(t) => t.end_block(cx, block_slot)),+ }
            }

            pub(crate) fn describe(&self) -> String {
                match self { $(AnyTechnique::$ty(t) => t.describe()),+ }
            }
        }
    };
}

/// Why a selection of techniques was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectError(pub String);

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SelectError {}

/// The row of a technique by name.
#[must_use]
pub fn info(name: &str) -> Option<&'static TechniqueInfo> {
    AnyTechnique::ALL.iter().find(|row| row.name == name)
}

/// Builds the named techniques, in the order of the list whatever the order of the words.
///
/// # Errors
/// An unknown or repeated word, two techniques that claim the same part, a bad section of the configuration.
pub fn select(names: &[String], config: &GpuConfig) -> Result<Vec<AnyTechnique>, SelectError> {
    let known = || AnyTechnique::ALL.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    for (i, name) in names.iter().enumerate() {
        if info(name).is_none() {
            return Err(SelectError(format!("unknown technique `{name}`; known are {}", known())));
        }
        if names[..i].contains(name) {
            return Err(SelectError(format!("technique `{name}` is named twice")));
        }
    }
    for section in config.technique.keys() {
        if info(section).is_none() {
            return Err(SelectError(format!(
                "[technique.{section}]: unknown technique; known are {}",
                known()
            )));
        }
    }
    let chosen: Vec<&TechniqueInfo> =
        AnyTechnique::ALL.iter().filter(|row| names.iter().any(|name| name == row.name)).collect();
    for (i, later) in chosen.iter().enumerate() {
        for earlier in &chosen[..i] {
            if let Some(claim) = contradiction(earlier, later) {
                return Err(SelectError(format!(
                    "techniques `{}` and `{}` contradict each other: both decide {claim}",
                    earlier.name, later.name
                )));
            }
        }
    }
    let empty = toml::Table::new();
    let build = |row: &&TechniqueInfo| {
        let section = config.technique.get(row.name).unwrap_or(&empty);
        AnyTechnique::build(row.name, config, section)
            .expect("every row of the list builds")
            .map_err(|why| SelectError(format!("[technique.{}]: {why}", row.name)))
    };
    chosen.iter().map(build).collect()
}

/// The part that both techniques claim.
fn contradiction(a: &TechniqueInfo, b: &TechniqueInfo) -> Option<Claim> {
    a.claims.iter().copied().find(|claim| b.claims.contains(claim))
}
