//! The lists of policies that a configuration names: warp scheduling, cache replacement, writes to L1.
//!
//! The interface is [`warplab_technique::policy`]. The model's own policies are called without dynamic dispatch; a program adds
//! those of other crates once, before it reads a configuration ([`add`]).

use std::sync::RwLock;
use warplab_host::names::is_word;
use warplab_technique::policy::PolicyEntry;
pub use warplab_technique::policy::{
    Policy, PolicyInfo, PolicyRow, Replace, ReplaceEntry, Waits, WarpPolicy, WarpPolicyEntry, Warps,
};

/// Policies of other crates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Further<'a> {
    /// Warp schedulers.
    pub schedulers: &'a [WarpPolicyEntry],
    /// Cache replacement policies.
    pub replacement: &'a [ReplaceEntry],
}

/// The policies of other crates that this program has added.
static SCHEDULERS: RwLock<Vec<WarpPolicyEntry>> = RwLock::new(Vec::new());
static REPLACEMENT: RwLock<Vec<ReplaceEntry>> = RwLock::new(Vec::new());

/// Adds policies of other crates, which configurations that are read from then on can name. Adding a policy again changes
/// nothing.
///
/// # Errors
/// A name is taken, or is not a word of lower-case letters, digits and `_`.
pub fn add(further: Further<'_>) -> Result<(), String> {
    for entry in further.schedulers {
        add_to(&SCHEDULERS, entry)?;
    }
    for entry in further.replacement {
        add_to(&REPLACEMENT, entry)?;
    }
    Ok(())
}

type Entries<T> = RwLock<Vec<PolicyEntry<T>>>;

fn add_to<T: ?Sized>(list: &Entries<T>, entry: &PolicyEntry<T>) -> Result<(), String> {
    let name = entry.row.info.name;
    if !is_word(name, "_") {
        return Err(format!("a policy cannot be called `{name}`: names have small letters, digits and `_`"));
    }
    let is_this = |other: &&PolicyEntry<T>| {
        other.row.info == entry.row.info && std::ptr::fn_addr_eq(other.build, entry.build)
    };
    if read(list).iter().any(|other| is_this(&other)) {
        return Ok(());
    }
    if kinds().iter().flat_map(|kind| &kind.rows).any(|row| row.info.name == name) {
        return Err(format!("there are two policies called `{name}`"));
    }
    list.write().unwrap_or_else(std::sync::PoisonError::into_inner).push(*entry);
    Ok(())
}

fn read<T: ?Sized>(list: &Entries<T>) -> Vec<PolicyEntry<T>> {
    list.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
}

/// Warp schedulers of other crates.
pub(crate) fn schedulers() -> Vec<WarpPolicyEntry> {
    read(&SCHEDULERS)
}

/// Replacement policies of other crates.
pub(crate) fn replacement() -> Vec<ReplaceEntry> {
    read(&REPLACEMENT)
}

/// A list of policies.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Heading.
    pub title: &'static str,
    /// The configuration keys that take their names.
    pub keys: &'static str,
    /// The policies, those of other crates last.
    pub rows: Vec<PolicyRow>,
}

/// All lists of policies.
#[must_use]
pub fn kinds() -> [Kind; 3] {
    let kind = |title, keys, rows| Kind { title, keys, rows };
    [
        kind("Warp schedulers", "scheduler.policy", crate::sched::rows()),
        kind("Cache replacement", "l1.replacement, l2.replacement, …", crate::memory::replacement::rows()),
        kind("Writes to L1", "l1.write_policy, l1.local_write_policy", crate::memory::write::rows()),
    ]
}

/// The names of all policies.
#[must_use]
pub fn names() -> Vec<&'static str> {
    kinds().iter().flat_map(|kind| &kind.rows).map(|row| row.info.name).collect()
}

/// Our name of the policy that GPGPU-Sim calls `word`.
#[must_use]
pub fn from_gpgpusim(rows: &[PolicyRow], word: &str) -> Option<&'static str> {
    rows.iter().find(|row| row.info.gpgpusim.contains(&word)).map(|row| row.info.name)
}

/// Makes a list of policies: an enum over their types, the entries, and a macro that calls the policy of a value.
///
/// `$call!(policy, one => expression)` is a match over the enum: no call of the model's own policies is dynamic. Kinds that
/// other crates add to name the function of this module that has those policies, and the type of one.
macro_rules! policies {
    (
        $d:tt $call:ident,
        $(#[$meta:meta])* enum $Name:ident { $($module:ident :: $Policy:ident),+ $(,)? }
        $(further $further:ident: $Further:ty)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        enum $Name {
            $(#[allow(missing_docs)] $Policy($module::$Policy),)+
            $(
                /// A policy of another crate.
                Further($Further),
            )?
        }

        /// The model's policies of this kind, in the order in which they are listed.
        pub(crate) const POLICIES: &[warplab_technique::policy::PolicyRow] =
            &[$(warplab_technique::policy::PolicyRow::of::<$module::$Policy>()),+];

        /// Every policy of this kind, those of other crates last.
        pub(crate) fn rows() -> Vec<warplab_technique::policy::PolicyRow> {
            let own = POLICIES.iter().copied();
            $(let own = own.chain($crate::policy::$further().into_iter().map(|entry| entry.row));)?
            own.collect()
        }

        impl $Name {
            /// The policy with a name; every name in a checked configuration is known.
            fn named(config: &$crate::config::GpuConfig, name: &str) -> Option<$Name> {
                $(if name == <$module::$Policy as warplab_technique::policy::Policy>::INFO.name {
                    return Some($Name::$Policy(warplab_technique::policy::build(config)));
                })+
                $(
                    let further = $crate::policy::$further();
                    if let Some(entry) = further.iter().find(|entry| entry.row.info.name == name) {
                        return Some($Name::Further((entry.build)(config)));
                    }
                )?
                None
            }
        }

        macro_rules! $call {
            ($d policy:expr, $d one:ident => $d then:expr) => {
                match $d policy {
                    $($Name::$Policy($d one) => $d then,)+
                    $($crate::policy::further!($further $Name $d one) => $d then,)?
                }
            };
        }
    };
}
/// The pattern of a policy of another crate.
macro_rules! further {
    ($kind:ident $Name:ident $one:ident) => {
        $Name::Further($one)
    };
}
pub(crate) use {further, policies};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GpuConfig;
    use std::collections::HashSet;
    use std::ops::Range;
    use warplab_technique::declare::NoParams;

    /// Greedy then oldest, as a policy of another crate.
    #[derive(Clone, Debug)]
    struct Gto;

    impl Policy for Gto {
        const INFO: PolicyInfo = PolicyInfo { name: "copied_gto", summary: "s", paper: "p", gpgpusim: &[] };
        type Params = NoParams;

        fn new(_: &GpuConfig, _: NoParams) -> Gto {
            Gto
        }
    }

    impl WarpPolicy for Gto {
        fn pick(&self, warps: &Warps, ready: u64) -> Option<u8> {
            warps.same_or_oldest(ready)
        }
    }

    /// Least recently used, likewise.
    #[derive(Clone, Debug, Default)]
    struct Lru(Vec<u64>, u64);

    impl Policy for Lru {
        const INFO: PolicyInfo = PolicyInfo { name: "copied_lru", summary: "s", paper: "p", gpgpusim: &[] };
        type Params = NoParams;

        fn new(_: &GpuConfig, _: NoParams) -> Lru {
            Lru::default()
        }
    }

    impl Replace for Lru {
        fn reset(&mut self, ways: usize) {
            self.0 = vec![0; ways];
        }

        fn used(&mut self, way: usize) {
            self.1 += 1;
            self.0[way] = self.1;
        }

        fn placed(&mut self, _: Range<usize>, way: usize) {
            self.used(way);
        }

        fn filled(&mut self, way: usize) {
            self.used(way);
        }

        fn victim(&self, set: Range<usize>, may_leave: &dyn Fn(usize) -> bool) -> Option<usize> {
            set.filter(|way| may_leave(*way)).min_by_key(|way| self.0[*way])
        }
    }

    #[test]
    fn a_policy_of_another_crate_gives_what_the_same_one_of_the_model_gives() {
        let further = Further {
            schedulers: &[WarpPolicyEntry::of::<Gto>()],
            replacement: &[ReplaceEntry::of::<Lru>()],
        };
        add(further).expect("their names are free");
        add(further).expect("they are added once");
        let listed = |name: &str| names().iter().filter(|listed| **listed == name).count();
        assert_eq!(["copied_gto", "copied_lru"].map(listed), [1, 1]);
        let hand = crate::testing::stream(24);
        for gpu in ["gtx480", "rtx2060"] {
            let run = |policy: &str, replacement: &str| {
                let set = [
                    format!("scheduler.policy={policy}"),
                    format!("l1.replacement={replacement}"),
                    format!("l2.replacement={replacement}"),
                ];
                let set: Vec<&str> = set.iter().map(String::as_str).collect();
                hand.run(gpu, &set, &[])
            };
            let (own, copied) = (run("gto", "lru"), run("copied_gto", "copied_lru"));
            assert_eq!(own.counters.values(), copied.counters.values(), "{gpu}");
            assert_eq!(own.stalls, copied.stalls, "{gpu}");
        }
    }

    #[test]
    fn names_and_gpgpusims_words_are_of_one_policy_each() {
        let mut names = HashSet::new();
        for Kind { title, rows, .. } in &kinds() {
            let mut words = HashSet::new();
            for PolicyRow { info, .. } in rows {
                assert!(names.insert(info.name), "two policies are called {}", info.name);
                assert!(!info.summary.is_empty() && !info.paper.is_empty(), "{title}: {}", info.name);
                for word in info.gpgpusim {
                    assert!(words.insert(*word), "{title}: GPGPU-Sim's {word} is two policies");
                    assert_eq!(from_gpgpusim(rows, word), Some(info.name));
                }
            }
        }
    }
}
