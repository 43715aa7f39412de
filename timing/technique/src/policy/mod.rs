//! Policies that a configuration names: which warp issues, which line leaves a cache.
//!
//! A policy is one type, which declares its name and a description and implements the interface of its kind, and one entry of
//! a list. It can be in any crate: the `timing` library's command line takes the entries of its caller. Configurations,
//! `timing list`, error messages and the import of GPGPU-Sim's files take names and texts from the declarations.

mod replacement;
mod scheduler;

pub use replacement::Replace;
pub use scheduler::{Waits, WarpPolicy, Warps};

use crate::config::GpuConfig;
use crate::{ParamInfo, Params};

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

/// What policies of all kinds have.
pub trait Policy: Sized {
    /// Name and texts.
    const INFO: PolicyInfo;
    /// Parameters, `[policy.NAME]` of a configuration; [`NoParams`](crate::declare::NoParams) for none.
    type Params: Params;
    /// The policy in its first state.
    fn new(config: &GpuConfig, params: Self::Params) -> Self;
}

/// The declarations of a policy of any kind.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRow {
    /// Name and texts.
    pub info: PolicyInfo,
    /// Parameters.
    pub params: fn() -> Vec<ParamInfo>,
    /// Checks the values of the parameters.
    pub check: fn(&toml::Table) -> Result<(), String>,
}

impl PolicyRow {
    /// The declarations of a policy.
    #[must_use]
    pub const fn of<P: Policy>() -> PolicyRow {
        PolicyRow {
            info: P::INFO,
            params: P::Params::declared,
            check: |section| P::Params::read(section).map(drop),
        }
    }
}

/// Entry of a list of policies of the kind `T`.
#[derive(Debug)]
pub struct PolicyEntry<T: ?Sized> {
    /// Its declarations.
    pub row: PolicyRow,
    /// Makes the policy for a checked configuration.
    pub build: fn(&GpuConfig) -> Box<T>,
}

impl<T: ?Sized> Clone for PolicyEntry<T> {
    fn clone(&self) -> PolicyEntry<T> {
        *self
    }
}

impl<T: ?Sized> Copy for PolicyEntry<T> {}

/// Entry of a warp scheduling policy.
pub type WarpPolicyEntry = PolicyEntry<dyn WarpPolicy>;

impl WarpPolicyEntry {
    /// The entry of a policy.
    #[must_use]
    pub const fn of<P: Policy + WarpPolicy + 'static>() -> WarpPolicyEntry {
        PolicyEntry { row: PolicyRow::of::<P>(), build: |config| Box::new(build::<P>(config)) }
    }
}

/// Entry of a replacement policy.
pub type ReplaceEntry = PolicyEntry<dyn Replace>;

impl ReplaceEntry {
    /// The entry of a policy.
    #[must_use]
    pub const fn of<P: Policy + Replace + 'static>() -> ReplaceEntry {
        PolicyEntry { row: PolicyRow::of::<P>(), build: |config| Box::new(build::<P>(config)) }
    }
}

/// The policy of a type with the parameters of a checked configuration.
pub fn build<P: Policy>(config: &GpuConfig) -> P {
    let section = config.policy.get(P::INFO.name);
    let params = section.map_or_else(|| Ok(P::Params::default()), P::Params::read);
    P::new(config, params.unwrap_or_default())
}
