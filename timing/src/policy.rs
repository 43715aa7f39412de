//! Policies that a configuration names: warp scheduling, cache replacement, writes to L1.
//!
//! A policy is one file with one type, which says its name and what it does, and one row of the list of its kind.
//! Configurations, `timing list`, refusals and the import of GPGPU-Sim's files take names and texts from there.

use crate::config::GpuConfig;
use warplab_technique::{ParamInfo, Params};

/// What a policy says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Its name in configurations; no two policies share one.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it is published.
    pub paper: &'static str,
    /// What GPGPU-Sim's option files call it.
    pub gpgpusim: &'static [&'static str],
}

/// What policies of every kind have.
pub trait Policy: Sized {
    /// Name and texts.
    const INFO: PolicyInfo;
    /// Parameters, `[policy.NAME]` of a configuration; [`NoParams`](warplab_technique::declare::NoParams) for none.
    type Params: Params;
    /// The policy in its first state.
    fn new(config: &GpuConfig, params: Self::Params) -> Self;
}

/// A row of a list of policies.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRow {
    /// Name and texts.
    pub info: PolicyInfo,
    /// Its parameters.
    pub params: fn() -> Vec<ParamInfo>,
    /// Checks the values of its parameters.
    pub check: fn(&toml::Table) -> Result<(), String>,
}

impl PolicyRow {
    /// The row of a policy.
    #[must_use]
    pub const fn of<P: Policy>() -> PolicyRow {
        PolicyRow {
            info: P::INFO,
            params: P::Params::declared,
            check: |section| P::Params::read(section).map(drop),
        }
    }
}

/// The rows of every kind, with the keys of a configuration that take their names.
pub const KINDS: &[(&str, &str, &[PolicyRow])] = &[
    ("Warp schedulers", "scheduler.policy", crate::sched::POLICIES),
    ("Cache replacement", "l1.replacement, l2.replacement, …", crate::memory::replacement::POLICIES),
    ("Writes to L1", "l1.write_policy, l1.local_write_policy", crate::memory::write::POLICIES),
];

/// Names of a list of policies.
#[must_use]
pub fn names(rows: &[PolicyRow]) -> String {
    rows.iter().map(|row| row.info.name).collect::<Vec<_>>().join(", ")
}

/// What GPGPU-Sim's word for a policy is called here.
#[must_use]
pub fn from_gpgpusim(rows: &[PolicyRow], word: &str) -> Option<&'static str> {
    rows.iter().find(|row| row.info.gpgpusim.contains(&word)).map(|row| row.info.name)
}

/// The policy of a type with the parameters of a checked configuration.
pub fn build<P: Policy>(config: &GpuConfig) -> P {
    let section = config.policy.get(P::INFO.name);
    let params = section.map_or_else(|| Ok(P::Params::default()), P::Params::read);
    P::new(config, params.unwrap_or_default())
}

/// Makes a list of policies: an enum over their types, the rows, and a macro that calls the policy of a value.
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
        pub const POLICIES: &[$crate::policy::PolicyRow] =
            &[$($crate::policy::PolicyRow::of::<$module::$Policy>()),+];

        impl $Name {
            /// The policy of that name, which a checked configuration has.
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
            for PolicyRow { info, .. } in *rows {
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
