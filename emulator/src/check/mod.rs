//! The checker: finds what goes wrong in a kernel without stopping it at the first place.
//!
//! [`Checker`] hears of every access and barrier of a run that is checked and collects [`Finding`]s: accesses outside
//! of everything allocated, reads of memory that nobody wrote, races of a block's threads on shared memory, barriers
//! that only some of the threads reach, divisions by zero. `race` knows what the threads of one block did to shared
//! memory and how barriers order them. A run that is not checked is compiled without any of this.

mod checker;
mod finding;
mod race;

pub use checker::Checker;
pub(crate) use checker::{Accessed, Actor};
pub use finding::{CheckKind, Finding, Findings, Site};

/// Which checks are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checks {
    /// Accesses out of bounds, misaligned, or to heap memory that is not allocated.
    pub memory: bool,
    /// Reads of memory never written.
    pub init: bool,
    /// Races on shared memory.
    pub race: bool,
    /// Divergent barriers.
    pub sync: bool,
    /// Integer divisions by zero.
    pub division: bool,
}

impl Checks {
    /// All of them.
    pub const ALL: Checks = Checks { memory: true, init: true, race: true, sync: true, division: true };

    /// The checks of a comma-separated list of names: `memcheck`, `initcheck`, `racecheck`, `synccheck`, `divcheck`
    /// or `all`.
    ///
    /// # Errors
    /// A sentence, when a name is unknown.
    pub fn parse(list: &str) -> Result<Checks, String> {
        let mut checks = Checks { memory: false, init: false, race: false, sync: false, division: false };
        for name in list.split(',') {
            match name.trim() {
                "all" => checks = Checks::ALL,
                "memcheck" => checks.memory = true,
                "initcheck" => checks.init = true,
                "racecheck" => checks.race = true,
                "synccheck" => checks.sync = true,
                "divcheck" => checks.division = true,
                other => {
                    return Err(format!(
                        "there is no check `{other}`\n  help: checks are memcheck, initcheck, racecheck, synccheck, \
                         divcheck and all"
                    ));
                }
            }
        }
        Ok(checks)
    }
}
