//! Statistics as numbers by dotted key, such as `stalls.issued`: what tables, figures and kept results are made of.

use crate::compare::{Leaf, flatten};
use crate::stats::{EnergyTable, LATENCIES, Stats};
use serde_json::Value;
use std::collections::BTreeMap;

/// Numbers by key.
pub type Numbers = BTreeMap<String, f64>;

/// The numbers of statistics, and of each latency distribution also the sum, `total_cycles`.
pub(crate) fn of_stats(stats: &Stats, energy: &EnergyTable) -> Numbers {
    let mut numbers = flat(&stats.to_json(energy));
    let sum = |name: &str, numbers: &Numbers| {
        let key = |what: &str| numbers.get(&format!("latency.{name}.{what}")).copied().unwrap_or(0.0);
        key("samples") * key("mean_cycles")
    };
    for name in LATENCIES.iter().map(|row| row.name) {
        let total = sum(name, &numbers);
        numbers.insert(format!("latency.{name}.total_cycles"), total);
    }
    numbers
}

/// The numbers of a JSON object, by dotted path.
pub(crate) fn flat(value: &Value) -> Numbers {
    let number = |(path, leaf): (String, Leaf)| match leaf {
        Leaf::Number(number) => Some((path.replace(" / ", "."), number)),
        Leaf::Text(_) | Leaf::Missing => None,
    };
    flatten(value).into_iter().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_have_dotted_paths_and_texts_are_left_out() {
        let numbers = flat(&json!({"cycles": 3, "stalls": {"issued": 2}, "kernel": "k", "none": null}));
        let expected = [("cycles", 3.0), ("stalls.issued", 2.0)];
        assert_eq!(numbers, expected.map(|(key, number)| (key.to_owned(), number)).into());
    }
}
