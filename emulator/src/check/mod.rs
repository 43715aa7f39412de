//! The checker: finds errors in a kernel without stopping at the first one.
//!
//! [`Checker`] gets every access and barrier of a checked run and collects [`Finding`]s: accesses outside of
//! all allocations, reads of unwritten memory, races of a block's threads on shared memory, barriers that
//! only some threads reach, divisions by zero. `race` tracks the shared-memory accesses of one block and
//! their order. Unchecked runs are compiled without it.

mod checker;
mod finding;
mod race;
mod written;

pub use checker::Checker;
pub(crate) use checker::{Accessed, Actor};
pub use finding::{CheckKind, Finding, Findings, Site};

/// The enabled checks.
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
    /// A name is unknown.
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
                    let known = ["memcheck", "initcheck", "racecheck", "synccheck", "divcheck", "all"];
                    let guess = warplab_host::names::perhaps(other, known);
                    return Err(format!(
                        "there is no check `{other}`{guess}\n  help: checks are memcheck, initcheck, racecheck, synccheck, \
                         divcheck and all"
                    ));
                }
            }
        }
        Ok(checks)
    }
}
