//! Counts of the techniques of a run: their counters and structures, and their accounts.
//!
//! The rows are generated from each technique's declarations ([`TechniqueInfo`]); this file names no
//! technique.

use crate::config::GpuConfig;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use warplab_technique::{Ledger, ParamValue, Price, Proofs, Technique, TechniqueInfo};

/// A counter of a technique, for tables and for the energy join.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterEntry {
    /// JSON key.
    pub name: String,
    /// Description.
    pub doc: String,
    /// Energy component of an event, if it costs energy.
    pub component: Option<&'static str>,
    /// Price if the energy table has none.
    pub price: Option<Price>,
    /// The event whose price the energy table may have instead.
    pub priced_as: Option<&'static str>,
}

/// The event that prices the leakage of techniques' structures for which an energy table has no price of their own.
pub(super) const STORAGE_LEAKAGE: &str = "storage_powered_kib_ns";

/// The counters of a technique: its own, four of each structure, and what each structure and its further state leak by.
#[must_use]
pub fn counter_entries(info: &TechniqueInfo) -> Vec<CounterEntry> {
    counted(info).into_iter().chain(leaking(info)).collect()
}

/// The capacity of each structure, and of the further state, over the time of a launch.
fn leaking(info: &TechniqueInfo) -> impl Iterator<Item = CounterEntry> {
    let powered = |name: &str, what: &str| CounterEntry {
        name: format!("{name}_powered_kib_ns"),
        doc: format!(
            "Capacity of {what} in all SMs in KiB, times the nanoseconds from the launch to its end."
        ),
        component: Some("technique_leakage"),
        price: None,
        priced_as: Some(STORAGE_LEAKAGE),
    };
    let structures = info.storage.iter().map(move |storage| powered(storage.name, storage.doc.trim()));
    structures.chain([powered("state", "the state besides its structures")])
}

/// The counters of events.
fn counted(info: &TechniqueInfo) -> Vec<CounterEntry> {
    let own = info.counters.iter().map(|row| CounterEntry {
        name: row.name.to_owned(),
        doc: row.doc.to_owned(),
        component: row.component,
        price: row.price,
        priced_as: None,
    });
    let structures = info.storage.iter().flat_map(|storage| {
        let name = storage.doc.trim();
        let row = |event: &str, doc: String, costs: bool| CounterEntry {
            name: format!("{}_{event}", storage.name),
            doc,
            component: costs.then_some(storage.component),
            price: storage.price.filter(|_| costs),
            priced_as: None,
        };
        [
            row("reads", format!("Reads of {name}."), true),
            row("writes", format!("Writes to {name}."), true),
            row("wait_cycles", format!("Cycles that accesses to {name} waited for a port."), false),
            row("entry_cycles", format!("Entries of {name} in use, summed over cycles."), false),
        ]
    });
    own.chain(structures).collect()
}

/// Counts of one technique in one SM, or in several.
#[derive(Clone, Debug)]
pub struct TechniqueStats {
    /// Declarations of the technique.
    pub info: &'static TechniqueInfo,
    /// The values of its parameters.
    pub parameters: Vec<(&'static str, ParamValue)>,
    /// Bits that it stores in one SM.
    pub bits_per_sm: u64,
    /// Its accounts.
    pub ledger: Ledger,
    /// Counts of events.
    values: Vec<u64>,
    /// Bits in one SM of each structure, and of the further state.
    bits: Vec<u64>,
    /// Of each, KiB times nanoseconds.
    powered: Vec<u64>,
}

/// What differs between the launches of a replay.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Counts {
    /// Position of the technique among those of the replay.
    technique: usize,
    bits_per_sm: u64,
    ledger: Ledger,
    values: Vec<u64>,
    bits: Vec<u64>,
    powered: Vec<u64>,
}

impl Counts {
    /// The inverse of [`TechniqueStats::into_counts`].
    pub(super) fn restore(self, shared: &[TechniqueStats]) -> Option<TechniqueStats> {
        let Counts { technique, bits_per_sm, ledger, values, bits, powered } = self;
        let TechniqueStats { info, parameters, .. } = shared.get(technique)?;
        Some(TechniqueStats {
            info,
            parameters: parameters.clone(),
            bits_per_sm,
            ledger,
            values,
            bits,
            powered,
        })
    }
}

impl TechniqueStats {
    /// The counts alone; declarations and parameters go into `shared` where they are not there already.
    pub(super) fn into_counts(self, shared: &mut Vec<TechniqueStats>) -> Counts {
        let known = shared.iter().position(|one| one.info.name == self.info.name);
        let technique = known.unwrap_or_else(|| {
            shared.push(self.clone());
            shared.len() - 1
        });
        let TechniqueStats { bits_per_sm, ledger, values, bits, powered, .. } = self;
        Counts { technique, bits_per_sm, ledger, values, bits, powered }
    }

    /// Counts of a technique in its SM.
    #[must_use]
    pub fn of(technique: &dyn Technique, ledger: &Ledger) -> TechniqueStats {
        let storage = technique.storage();
        let mut values = technique.counts();
        debug_assert_eq!(values.len(), technique.info().counters.len(), "one value per declared counter");
        values.extend(storage.iter().flat_map(|storage| storage.counts()));
        let mut bits: Vec<u64> = storage.iter().map(|storage| storage.bits()).collect();
        // A variant of a technique may lack a structure.
        bits.resize(technique.info().storage.len(), 0);
        bits.push(technique.further_bits());
        TechniqueStats {
            info: technique.info(),
            parameters: technique.params(),
            bits_per_sm: bits.iter().sum(),
            ledger: {
                let mut ledger = ledger.clone();
                ledger.proofs = Proofs::default();
                ledger
            },
            values,
            powered: vec![0; bits.len()],
            bits,
        }
    }

    /// Sets the counters that follow from the length of a launch.
    pub(super) fn set_cycles(&mut self, cycles: u64, config: &GpuConfig) {
        for (powered, bits) in self.powered.iter_mut().zip(&self.bits) {
            let bit_cycles = u128::from(*bits) * u128::from(config.gpu.sms) * u128::from(cycles);
            let kib_ns = bit_cycles * 1_000_000 / (8 * 1024 * u128::from(config.gpu.core_clock_khz));
            *powered = u64::try_from(kib_ns).unwrap_or(u64::MAX);
        }
    }

    /// Adds counts of the same technique in another SM.
    pub fn merge(&mut self, other: &TechniqueStats) {
        self.ledger.merge(&other.ledger);
        self.values.resize(self.values.len().max(other.values.len()), 0);
        self.values.iter_mut().zip(&other.values).for_each(|(mine, theirs)| *mine += theirs);
        self.powered.iter_mut().zip(&other.powered).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Counters with their values.
    pub fn counters(&self) -> impl Iterator<Item = (CounterEntry, u64)> + '_ {
        let events = counted(self.info).into_iter().zip(self.values.iter().copied());
        events.chain(leaking(self.info).zip(self.powered.iter().copied()))
    }

    /// The counter of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.counters().find(|(row, _)| row.name == name).map(|(_, value)| value)
    }

    /// Opportunities that were lost, by cause.
    pub fn lost(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.info.losses.iter().zip(&self.ledger.lost).map(|(cause, count)| (cause.name, *count))
    }

    /// Causes for which opportunities were lost, largest first, each with its share of all opportunities.
    #[must_use]
    pub fn losses(&self) -> Vec<(String, f64)> {
        let mut lost: Vec<(&str, u64)> = self.lost().filter(|(_, count)| *count > 0).collect();
        lost.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all = self.ledger.opportunities as f64;
        lost.into_iter().map(|(cause, count)| (cause.replace('_', " "), count as f64 / all)).collect()
    }

    /// Scheduler slots in which it stalled a warp, by cause.
    pub fn stalls(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.info.stalls.iter().zip(&self.ledger.stalls).map(|(cause, count)| (cause.name, *count))
    }

    /// Parameters, accounts, counters and stalls as an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let parameter = |(name, value): &(&'static str, ParamValue)| {
            let value = match *value {
                ParamValue::Number(value) => json!(value),
                ParamValue::Switch(value) => json!(value),
                ParamValue::Word(value) => json!(value),
            };
            ((*name).to_owned(), value)
        };
        let named = |pairs: &mut dyn Iterator<Item = (&'static str, u64)>| {
            Value::Object(pairs.map(|(name, value)| (name.to_owned(), value.into())).collect())
        };
        let counters = self.counters().map(|(row, value)| (row.name, value.into()));
        json!({
            "parameters": self.parameters.iter().map(parameter).collect::<Map<_, _>>(),
            "storage_bits_per_sm": self.bits_per_sm,
            "supplied": self.ledger.supplied,
            "taken": self.ledger.taken,
            "kept": self.ledger.kept,
            "checked": self.ledger.checked,
            "opportunities": self.ledger.opportunities,
            "lost": named(&mut self.lost()),
            "stalls": named(&mut self.stalls()),
            "counters": counters.collect::<Map<_, _>>(),
        })
    }

    /// CSV columns, each with its value.
    #[must_use]
    pub fn columns(&self) -> Vec<(String, u64)> {
        column_names(self.info).into_iter().zip(self.column_values()).collect()
    }

    /// Values of [`column_names`].
    #[must_use]
    pub fn column_values(&self) -> Vec<u64> {
        let ledger = &self.ledger;
        let of = |values: &[u64], count: usize| {
            let mut values = values.to_vec();
            values.resize(count, 0);
            values
        };
        let mut all = vec![ledger.supplied, ledger.checked, ledger.opportunities];
        all.extend(of(&ledger.lost, self.info.losses.len()));
        all.extend(of(&ledger.stalls, self.info.stalls.len()));
        all.extend(&self.values);
        all
    }
}

/// Names of the columns that a technique has in CSV and in series: accounts, lost by cause, stalls by cause, counters.
#[must_use]
pub fn column_names(info: &TechniqueInfo) -> Vec<String> {
    let name = info.name;
    let accounts = ["supplied", "checked", "opportunities"].map(|what| format!("{name}.{what}"));
    let lost = info.losses.iter().map(|cause| format!("{name}.lost_{}", cause.name));
    let stalls = info.stalls.iter().map(|cause| format!("{name}.stall_{}", cause.name));
    let counters = counted(info).into_iter().map(|row| format!("{name}.{}", row.name));
    accounts.into_iter().chain(lost).chain(stalls).chain(counters).collect()
}
