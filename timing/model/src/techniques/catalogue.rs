//! The catalogue of techniques, and the selection from `--tech a,b`.
//!
//! Selection refuses unknown words, duplicates and techniques that claim the same part of the machine.

use super::{Claim, Registration, TechniqueInfo, Techniques};
use crate::config::GpuConfig;
use std::fmt;
use warplab_host::names;

/// Error of a refused selection of techniques.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectError(pub String);

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SelectError {}

/// The techniques that `--tech` can name: the built-in ones, then those of the caller.
#[derive(Clone, Default)]
pub struct Catalogue {
    rows: Vec<Registration>,
    /// How many of them come first and are built in.
    built_in: usize,
}

impl Catalogue {
    /// A catalogue of built-in techniques, in the order in which they act.
    #[must_use]
    pub fn of(built_in: &[Registration]) -> Catalogue {
        Catalogue { rows: built_in.to_vec(), built_in: built_in.len() }
    }

    /// Adds techniques, which act after the built-in ones.
    ///
    /// # Errors
    /// A name is taken, or is not a word of lower-case letters, digits and hyphens.
    pub fn with(mut self, further: &[Registration]) -> Result<Catalogue, SelectError> {
        for row in further {
            let name = row.info.name;
            if !names::is_word(name, "-+") {
                return Err(SelectError(format!(
                    "a technique cannot be called `{name}`: names have small letters, digits, `-` and `+`"
                )));
            }
            if self.info(name).is_some() {
                return Err(SelectError(format!("there are two techniques called `{name}`")));
            }
            self.rows.push(*row);
        }
        Ok(self)
    }

    /// Every technique, in the order in which they act.
    pub fn rows(&self) -> impl Iterator<Item = &Registration> {
        self.rows.iter()
    }

    /// Descriptions of all techniques, in the same order.
    pub fn infos(&self) -> impl Iterator<Item = &'static TechniqueInfo> {
        self.rows.iter().map(|row| row.info)
    }

    /// Description of the technique with that name.
    #[must_use]
    pub fn info(&self, name: &str) -> Option<&'static TechniqueInfo> {
        self.infos().find(|info| info.name == name)
    }

    fn known(&self) -> Vec<&'static str> {
        self.rows.iter().map(|row| row.info.name).collect()
    }

    /// Builds the named techniques, in the order of the catalogue.
    ///
    /// # Errors
    /// An unknown or repeated word, two techniques that claim the same part, one that needs another one, a bad section of the
    /// configuration.
    pub fn select(&self, names: &[String], config: &GpuConfig) -> Result<Techniques, SelectError> {
        for (i, name) in names.iter().enumerate() {
            if self.info(name).is_none() {
                return Err(SelectError(names::unknown("technique", name, &self.known())));
            }
            if names[..i].contains(name) {
                return Err(SelectError(format!("technique `{name}` is named twice")));
            }
        }
        if let Some(section) = config.technique.keys().find(|section| self.info(section).is_none()) {
            let why = names::unknown("technique", section, &self.known());
            return Err(SelectError(format!("[technique.{section}]: {why}")));
        }
        let is_named = |name: &str| names.iter().any(|named| named == name);
        let joint: Vec<&Registration> = self
            .rows
            .iter()
            .filter(|row| !row.joins.is_empty() && row.joins.iter().all(|part| is_named(part)))
            .collect();
        let is_part = |row: &Registration| joint.iter().any(|joint| joint.joins.contains(&row.info.name));
        let is_joint = |row: &Registration| joint.iter().any(|joint| joint.info.name == row.info.name);
        let chosen: Vec<&Registration> = self
            .rows
            .iter()
            .filter(|row| is_joint(row) || (is_named(row.info.name) && !is_part(row)))
            .collect();
        for (i, later) in chosen.iter().enumerate() {
            for earlier in &chosen[..i] {
                if let Some(claim) = contradiction(earlier.info, later.info) {
                    return Err(SelectError(format!(
                        "techniques `{}` and `{}` contradict each other: both decide {claim}",
                        earlier.info.name, later.info.name
                    )));
                }
            }
        }
        for row in &chosen {
            // A technique of another crate may be a partner as well.
            let helps = |other: &&Registration| {
                let named = std::iter::once(&other.info.name).chain(other.joins);
                row.info.partners.iter().any(|partner| named.clone().any(|name| name == partner))
                    || self.rows[..self.built_in].iter().all(|own| own.info.name != other.info.name)
            };
            if let [first, ..] = row.info.partners
                && !chosen.iter().any(helps)
            {
                return Err(SelectError(format!(
                    "technique `{}` changes nothing without `{}`: switch both on with --tech {first},{}",
                    row.info.name,
                    row.info.partners.join("` or `"),
                    names.join(",")
                )));
            }
        }
        let build = |row: &&Registration| {
            let name = row.info.name;
            let own = [name];
            let sections = if is_joint(row) { row.joins } else { &own[..] };
            let found = sections.iter().filter_map(|name| config.technique.get(*name)).flatten();
            let section = found.map(|(key, value)| (key.clone(), value.clone())).collect();
            (row.build)(config, &section).map_err(|why| SelectError(format!("[technique.{name}]: {why}")))
        };
        chosen.iter().map(build).collect()
    }
}

/// The part that both techniques claim.
fn contradiction(a: &TechniqueInfo, b: &TechniqueInfo) -> Option<Claim> {
    a.claims.iter().copied().find(|claim| b.claims.contains(claim))
}
