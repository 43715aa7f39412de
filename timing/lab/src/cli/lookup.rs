//! What `timing list NAME` says of a name that is neither a technique nor a policy: a study, a configuration, an energy
//! table, a key of a configuration or a counter.

use super::study;
use crate::config::{Key, builtin, load, load_text};
use crate::stats::{COUNTERS, EnergyTable, Stall};
use crate::studies;
use crate::techniques::Catalogue;
use warplab_host::names;

/// The text about a name; none if nothing is called so.
pub(super) fn find(name: &str) -> Option<String> {
    of_study(name)
        .or_else(|| machine(name))
        .or_else(|| energy(name))
        .or_else(|| counter(name))
        .or_else(|| keys(name))
}

fn of_study(name: &str) -> Option<String> {
    let found = studies::registry().find(|row| row.name == name)?;
    let studied = studies::find(found.name).ok()?;
    Some(study::explain(studied) + &format!("\nIt is a study: `timing study {name} app.wtrace`.\n"))
}

fn machine(name: &str) -> Option<String> {
    let gpu = builtin::find(builtin::GPUS, name)?;
    let config = load_text(gpu.text, gpu.path, None, &[]).ok()?.config;
    Some(format!(
        "{name}: {}\n{}\nIt is a configuration: --config {name}. `timing config show {name}` prints every value with its source.\n",
        config.description, gpu.path
    ))
}

fn energy(name: &str) -> Option<String> {
    let row = builtin::find(builtin::ENERGY_TABLES, name)?;
    let table = EnergyTable::load(row.name).ok()?;
    Some(format!(
        "{name}: {}\n{}\nIt is an energy table: --set energy={name}.\n",
        table.description, row.path
    ))
}

fn counter(name: &str) -> Option<String> {
    let counters =
        COUNTERS.iter().map(|row| (row.name, row.doc, "a counter: a key of JSON and a column of CSV"));
    let stalls =
        Stall::ALL.iter().map(|cause| (cause.name(), cause.doc(), "a cause of stalls: a key of `stalls`"));
    let (_, doc, what) = counters.chain(stalls).find(|(known, ..)| *known == name)?;
    let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!("{name}: {doc}\nIt is {what}. `timing list --counters` explains all.\n"))
}

/// Keys of that path, or with that last word.
fn keys(name: &str) -> Option<String> {
    let all = all_keys();
    let end = format!(".{name}");
    let found: Vec<&Key> = all.iter().filter(|key| key.path == name || key.path.ends_with(&end)).collect();
    let line = |key: &&Key| {
        let accepts = if key.number.is_some() { format!(" ({})", key.bounds) } else { String::new() };
        format!("{}{accepts}: {}\n", key.path, key.doc)
    };
    let first = found.first()?;
    let text: String = found.iter().map(line).collect();
    Some(format!(
        "{text}A key of a configuration: --set {}=VALUE. `timing config keys` lists all, `timing config show` their values.\n",
        first.path
    ))
}

/// Every key of a configuration.
pub(super) fn all_keys() -> Vec<Key> {
    load(builtin::MODELLED, &[]).map_or(Vec::new(), |loaded| loaded.config.keys())
}

/// The message about a name that nothing has.
pub(super) fn unknown(name: &str, catalogue: &Catalogue) -> String {
    let policies = warplab_model::policy::names();
    let known: Vec<&str> = catalogue.rows().map(|row| row.info.name).chain(policies).collect();
    let keys = all_keys();
    let others = keys.iter().map(|key| key.path.as_str()).chain(studies::registry().map(|row| row.name));
    let others = others.chain(builtin::list(builtin::GPUS)).chain(COUNTERS.iter().map(|row| row.name));
    match names::nearest(name, known.iter().copied()) {
        Some(_) => names::unknown("technique or policy", name, &known),
        None => format!(
            "nothing is called `{name}`{}; `timing list` shows techniques, studies, configurations and policies, `timing list \
             --counters` counters, and `timing config keys` keys",
            names::perhaps(name, others)
        ),
    }
}
