//! JSON of replays with one object per launch, written launch by launch: a recording may have a hundred thousand of them, and
//! their objects take ten times the memory of their counts.

use super::Replay;
use crate::stats::EnergyTable;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Value, json};

/// Key of an object that stands for the launches of a replay.
const PLACE: &str = "\0launches";

/// The replays whose launches belong to a JSON value that is being put together.
#[derive(Default)]
pub struct Launches<'a>(Vec<(&'a Replay, &'a EnergyTable)>);

impl<'a> Launches<'a> {
    /// As [`Replay::to_json`], with a place for the launches, which [`Streamed`] fills.
    pub fn placed(&mut self, replay: &'a Replay, energy: &'a EnergyTable) -> Value {
        self.0.push((replay, energy));
        replay.to_json_with(energy, json!({ PLACE: self.0.len() - 1 }))
    }
}

/// A value with the launches in their places.
pub struct Streamed<'v, 'a> {
    /// The value.
    pub value: &'v Value,
    /// The launches that it refers to.
    pub launches: &'v Launches<'a>,
}

impl Serialize for Streamed<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Streamed { value, launches } = *self;
        let inner = |value| Streamed { value, launches };
        match value {
            Value::Object(object) => {
                let place = object.get(PLACE).and_then(Value::as_u64);
                if let Some((replay, energy)) = place.and_then(|at| launches.0.get(at as usize)) {
                    let mut list = serializer.serialize_seq(Some(replay.launches.len()))?;
                    for launch in replay.launches.iter() {
                        list.serialize_element(&launch.to_json(energy))?;
                    }
                    return list.end();
                }
                let mut map = serializer.serialize_map(Some(object.len()))?;
                object.iter().try_for_each(|(key, value)| map.serialize_entry(key, &inner(value)))?;
                map.end()
            }
            Value::Array(array) => {
                let mut list = serializer.serialize_seq(Some(array.len()))?;
                array.iter().try_for_each(|value| list.serialize_element(&inner(value)))?;
                list.end()
            }
            other => other.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_the_whole_value() {
        let config = crate::config::load("qv100", &[]).expect("a built-in configuration").config;
        let energy = EnergyTable::load(&config.energy).expect("its energy table");
        let replay = Replay::default();
        let whole = json!({ "schema": "x", "traces": [replay.to_json(&energy), { "a": [1, null, "b"] }] });
        let mut launches = Launches::default();
        let placed = launches.placed(&replay, &energy);
        let value = json!({ "schema": "x", "traces": [placed, { "a": [1, null, "b"] }] });
        let streamed = Streamed { value: &value, launches: &launches };
        assert_eq!(serde_json::to_string_pretty(&streamed).expect("text"), format!("{whole:#}"));
    }
}
