//! Policies that a configuration names: warp scheduling, cache replacement, writes to L1.
//!
//! A policy is one file with one type, which declares its name and a description, and one entry of the list
//! of its kind. Configurations, `timing list`, error messages and the import of GPGPU-Sim's files take names
//! and texts from these declarations.

use crate::config::GpuConfig;
use warplab_technique::{ParamInfo, Params};

/// Description of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Name in configurations, unique among all policies.
    pub name: &'static str,
    /// One-line summary.
    pub summary: &'static str,
    /// Publication.
    pub paper: &'static str,
    /// Names in GPGPU-Sim's option files.
    pub gpgpusim: &'static [&'static str],
}

/// Interface common to all kinds of policies.
pub trait Policy: Sized {
    /// Name and texts.
    const INFO: PolicyInfo;
    /// Parameters, `[policy.NAME]` of a configuration; [`NoParams`](warplab_technique::declare::NoParams) for none.
    type Params: Params;
    /// The policy in its first state.
    fn new(config: &GpuConfig, params: Self::Params) -> Self;
}

/// Entry of a list of policies.
#[derive(Clone, Copy, Debug)]
pub struct PolicyEntry {
    /// Name and texts.
    pub info: PolicyInfo,
    /// Parameters.
    pub params: fn() -> Vec<ParamInfo>,
    /// Checks the values of the parameters.
    pub check: fn(&toml::Table) -> Result<(), String>,
}

impl PolicyEntry {
    /// The entry of a policy.
    #[must_use]
    pub const fn of<P: Policy>() -> PolicyEntry {
        PolicyEntry {
            info: P::INFO,
            params: P::Params::declared,
            check: |section| P::Params::read(section).map(drop),
        }
    }
}

/// All lists of policies, each with the configuration keys that take its names.
pub const KINDS: &[(&str, &str, &[PolicyEntry])] = &[
    ("Warp schedulers", "scheduler.policy", crate::sched::POLICIES),
    ("Cache replacement", "l1.replacement, l2.replacement, …", crate::memory::replacement::POLICIES),
    ("Writes to L1", "l1.write_policy, l1.local_write_policy", crate::memory::write::POLICIES),
];

/// Our name of the policy that GPGPU-Sim calls `word`.
#[must_use]
pub fn from_gpgpusim(rows: &[PolicyEntry], word: &str) -> Option<&'static str> {
    rows.iter().find(|row| row.info.gpgpusim.contains(&word)).map(|row| row.info.name)
}

/// The policy of a type with the parameters of a checked configuration.
pub fn build<P: Policy>(config: &GpuConfig) -> P {
    let section = config.policy.get(P::INFO.name);
    let params = section.map_or_else(|| Ok(P::Params::default()), P::Params::read);
    P::new(config, params.unwrap_or_default())
}

/// Makes a list of policies: an enum over their types, the entries, and a macro that calls the policy of a
/// value.
///
/// `$call!(policy, one => expression)` is a match over the enum: no call is dynamic.
macro_rules! policies {
    ($d:tt $call:ident, $(#[$meta:meta])* enum $Name:ident { $($module:ident :: $Policy:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        enum $Name {
            $(#[allow(missing_docs)] $Policy($module::$Policy)),+
        }

        /// Every policy of this kind, in the order in which they are listed.
        pub(crate) const POLICIES: &[$crate::policy::PolicyEntry] =
            &[$($crate::policy::PolicyEntry::of::<$module::$Policy>()),+];

        impl $Name {
            /// The policy with a name; every name in a checked configuration is known.
            fn named(config: &$crate::config::GpuConfig, name: &str) -> Option<$Name> {
                $(if name == <$module::$Policy as $crate::policy::Policy>::INFO.name {
                    return Some($Name::$Policy($crate::policy::build(config)));
                })+
                None
            }
        }

        macro_rules! $call {
            ($d policy:expr, $d one:ident => $d then:expr) => {
                match $d policy { $($Name::$Policy($d one) => $d then),+ }
            };
        }
    };
}
pub(crate) use policies;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_gpgpusims_words_are_of_one_policy_each() {
        let mut names = HashSet::new();
        for (kind, _, rows) in KINDS {
            let mut words = HashSet::new();
            for PolicyEntry { info, .. } in *rows {
                assert!(names.insert(info.name), "two policies are called {}", info.name);
                assert!(!info.summary.is_empty() && !info.paper.is_empty(), "{kind}: {}", info.name);
                for word in info.gpgpusim {
                    assert!(words.insert(*word), "{kind}: GPGPU-Sim's {word} is two policies");
                    assert_eq!(from_gpgpusim(rows, word), Some(info.name));
                }
            }
        }
    }
}
