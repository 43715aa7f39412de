//! Energy: a table of pJ per counted event, applied to the counters after the run.
//!
//! Tables are data files under `timing/configs/energy/`. An event of a technique that the table does not
//! price has the price that the technique declares, if it declares one; any other event without a price is
//! not in the sum: a total covers only the priced events.

use super::technique::STORAGE_LEAKAGE;
use super::{COUNTERS, Stats, TechniqueStats};
use crate::config::builtin;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use warplab_host::{input, names};
use warplab_technique::TechniqueInfo;

/// Prices of events.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergyTable {
    /// Name of the table.
    pub name: String,
    /// Description.
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

/// Energy components of the register file: its banks, and the structures of techniques that replace them.
const REGISTER_FILE: [&str; 3] = ["register_file", "technique_storage", "technique_logic"];

impl EnergyTable {
    /// Loads a built-in table by name, or a file by path.
    ///
    /// # Errors
    /// The error names the table, and the invalid event or value.
    pub fn load(name: &str) -> Result<EnergyTable, String> {
        let (origin, text) = match builtin::find(builtin::ENERGY_TABLES, name) {
            Some(found) => (found.path.to_owned(), found.text.to_owned()),
            None if name.ends_with(".toml") => {
                let text = input::read_text(name.as_ref(), input::TEXT_BYTES)
                    .map_err(|e| format!("cannot read energy table {name}: {e}"))?;
                (name.to_owned(), text)
            }
            None => {
                let why = names::unknown("energy table", name, &builtin::list(builtin::ENERGY_TABLES));
                return Err(format!("{why}, or give a file ending in .toml"));
            }
        };
        EnergyTable::parse(&text).map_err(|why| format!("{origin}: {why}"))
    }

    /// Parses and checks a table.
    ///
    /// # Errors
    /// The error names the invalid event or value.
    pub fn parse(text: &str) -> Result<EnergyTable, String> {
        let table: EnergyTable = toml::from_str(text).map_err(|e| e.to_string())?;
        for (event, price) in &table.event {
            if let Some(row) = COUNTERS.iter().find(|row| row.name == event)
                && row.component.is_none()
            {
                return Err(format!("`event.{event}`: this counter belongs to no energy component"));
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

    /// Refuses prices of events that neither the model nor one of these techniques counts.
    ///
    /// # Errors
    /// The error names the event.
    pub fn check<'t>(&self, techniques: impl IntoIterator<Item = &'t TechniqueInfo>) -> Result<(), String> {
        let of_techniques: Vec<String> = techniques
            .into_iter()
            .flat_map(super::counter_entries)
            .filter(|row| row.component.is_some())
            .map(|row| row.name)
            .collect();
        let known = |event: &String| {
            event == STORAGE_LEAKAGE
                || COUNTERS.iter().any(|row| row.name == event)
                || of_techniques.iter().any(|name| name == event)
        };
        match self.event.keys().find(|event| !known(event)) {
            Some(event) => {
                Err(format!("energy table {}: `event.{event}`: no counter has that name", self.name))
            }
            None => Ok(()),
        }
    }

    /// Energy of the register file's accesses and of the structures that techniques add, in pJ.
    #[must_use]
    pub fn register_file_pj(&self, stats: &Stats) -> f64 {
        let parts = self.apply(stats);
        parts.iter().filter(|(name, _)| REGISTER_FILE.contains(name)).map(|(_, pj)| pj).sum()
    }

    /// Energy by component in pJ, components in the order of the counters, those of techniques last.
    #[must_use]
    pub fn apply(&self, stats: &Stats) -> Vec<(&'static str, f64)> {
        let mut parts: Vec<(&'static str, f64)> = Vec::new();
        let mut add = |component: &'static str, energy: f64| match parts
            .iter_mut()
            .find(|(name, _)| *name == component)
        {
            Some((_, sum)) => *sum += energy,
            None => parts.push((component, energy)),
        };
        for (row, count) in COUNTERS.iter().zip(stats.counters.values()) {
            if let (Some(component), Some(price)) = (row.component, self.event.get(row.name)) {
                add(component, price.pj * count as f64);
            }
        }
        for (row, count) in stats.techniques.iter().flat_map(TechniqueStats::counters) {
            let of_event = |event: &str| self.event.get(event).map(|price| price.pj);
            let own = of_event(&row.name).or(row.price.map(|price| price.pj));
            let price = own.or(row.priced_as.and_then(of_event));
            if let (Some(component), Some(pj)) = (row.component, price) {
                add(component, pj * count as f64);
            }
        }
        parts
    }

    /// The same as a JSON object.
    #[must_use]
    pub fn to_json(&self, stats: &Stats) -> Value {
        let parts = self.apply(stats).into_iter().map(|(name, pj)| (name.to_owned(), pj.into()));
        Value::Object(parts.collect::<Map<_, _>>())
    }
}
