//! Energy: a table of pJ per counted event, applied to the counters after the run.
//!
//! Tables are data files under `timing/configs/energy/`; an event that a table does not price is not in the
//! sum, so a total says what its table covers and no more.

use super::{COUNTERS, Counters};
use crate::config::builtin;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use trace_format::input;

/// Prices of events.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergyTable {
    /// Name of the table.
    pub name: String,
    /// What it describes.
    pub description: String,
    /// Price by counter name.
    pub event: BTreeMap<String, Price>,
}

/// Price of one event.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Energy of one event in pJ.
    pub pj: f64,
    /// Where the value is published.
    pub source: String,
}

impl EnergyTable {
    /// Loads a built-in table by name, or a file by path.
    ///
    /// # Errors
    /// A sentence that names the table, and the event or value at fault.
    pub fn load(name: &str) -> Result<EnergyTable, String> {
        let (origin, text) = match builtin::find(builtin::ENERGY_TABLES, name) {
            Some(found) => (found.path.to_owned(), found.text.to_owned()),
            None if name.ends_with(".toml") => {
                let text = input::read_text(name.as_ref(), input::TEXT_BYTES)
                    .map_err(|e| format!("cannot read energy table {name}: {e}"))?;
                (name.to_owned(), text)
            }
            None => {
                let known = builtin::names(builtin::ENERGY_TABLES);
                return Err(format!(
                    "unknown energy table `{name}`; known are {known}, or give a file ending in .toml"
                ));
            }
        };
        EnergyTable::parse(&text).map_err(|why| format!("{origin}: {why}"))
    }

    /// Parses and checks a table.
    ///
    /// # Errors
    /// A sentence that names the event or value at fault.
    pub fn parse(text: &str) -> Result<EnergyTable, String> {
        let table: EnergyTable = toml::from_str(text).map_err(|e| e.to_string())?;
        for (event, price) in &table.event {
            match COUNTERS.iter().find(|row| row.name == event) {
                None => return Err(format!("`event.{event}`: no counter has that name")),
                Some(row) if row.component.is_none() => {
                    return Err(format!("`event.{event}`: this counter belongs to no energy component"));
                }
                Some(_) => {}
            }
            if !(price.pj.is_finite() && price.pj >= 0.0) {
                return Err(format!(
                    "`event.{event}.pj`: {} is refused: it must be a number of at least 0",
                    price.pj
                ));
            }
        }
        Ok(table)
    }

    /// Energy by component in pJ, components in the order of the counter list.
    #[must_use]
    pub fn apply(&self, counters: &Counters) -> Vec<(&'static str, f64)> {
        let mut parts: Vec<(&'static str, f64)> = Vec::new();
        for (row, count) in COUNTERS.iter().zip(counters.values()) {
            let Some(component) = row.component else { continue };
            let Some(price) = self.event.get(row.name) else { continue };
            let energy = price.pj * count as f64;
            match parts.iter_mut().find(|(name, _)| *name == component) {
                Some((_, sum)) => *sum += energy,
                None => parts.push((component, energy)),
            }
        }
        parts
    }

    /// The same as a JSON object.
    #[must_use]
    pub fn to_json(&self, counters: &Counters) -> Value {
        let parts = self.apply(counters).into_iter().map(|(name, pj)| (name.to_owned(), pj.into()));
        Value::Object(parts.collect::<Map<_, _>>())
    }
}
