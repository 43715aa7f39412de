//! Statistics as JSON.

use super::{EnergyTable, Stats, TechniqueStats};
use serde_json::{Map, Value};

impl Stats {
    /// The JSON object of these statistics under an energy table.
    #[must_use]
    pub fn to_json(&self, energy: &EnergyTable) -> Value {
        let mut object = Map::new();
        self.counters.write_json(&mut object);
        object.insert("ipc".into(), self.counters.ipc().into());
        object.insert("stalls".into(), self.stalls.to_json());
        object.insert("energy_pj".into(), energy.to_json(self));
        object.insert("latency".into(), self.latency.to_json());
        if !self.techniques.is_empty() {
            let of = |one: &TechniqueStats| (one.info.name.to_owned(), one.to_json());
            object.insert("technique".into(), Value::Object(self.techniques.iter().map(of).collect()));
        }
        Value::Object(object)
    }
}
