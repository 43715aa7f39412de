//! GPU configurations: the data files under `timing/configs/`.
//!
//! [`load`] reads, inherits and overrides; `rules` refuses contradictions. The keys, their units and
//! meanings are defined in the interface crate, because techniques read them: [`GpuConfig`].

mod clock;
pub mod import;
pub mod load;
#[cfg(test)]
mod occupancy_tests;
#[cfg(test)]
mod rule_tests;
pub mod rules;
#[cfg(test)]
mod tests;

pub use load::{ConfigError, Loaded, load, load_text};
pub use warplab_gpus::builtin;
pub use warplab_technique::config::*;

use std::collections::BTreeMap;

/// Values by dotted key path.
#[must_use]
pub fn flatten(value: &toml::Value) -> BTreeMap<String, toml::Value> {
    fn walk(prefix: &str, value: &toml::Value, out: &mut BTreeMap<String, toml::Value>) {
        match value {
            toml::Value::Table(table) => {
                for (key, inner) in table {
                    let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                    walk(&path, inner, out);
                }
            }
            other => {
                out.insert(prefix.to_owned(), other.clone());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk("", value, &mut out);
    out
}
