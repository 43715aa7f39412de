//! `timing list`: what there is to choose from, each with its paper.

use super::{CliError, output};
use crate::config::{builtin, load_text};
use crate::stats::{COUNTERS, EnergyTable, LATENCIES, Stall};
use crate::studies;
use crate::techniques::AnyTechnique;
use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};

/// Arguments of `timing list`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Explains the JSON keys and CSV columns of `timing replay` instead.
    #[arg(long)]
    counters: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    if arguments.counters {
        return output::print(&counters());
    }
    let techniques =
        AnyTechnique::ALL.iter().map(|row| [row.name, row.summary, row.paper].map(str::to_owned).to_vec());
    let studies =
        studies::registry().map(|row| [row.name, row.summary, row.paper].map(str::to_owned).to_vec());
    let mut gpus = Vec::new();
    for gpu in builtin::GPUS {
        let config = load_text(gpu.text, gpu.path, None, &[])?.config;
        gpus.push(vec![gpu.name.to_owned(), config.description, gpu.path.to_owned()]);
    }
    let mut tables = Vec::new();
    for table in builtin::ENERGY_TABLES {
        let parsed = EnergyTable::load(table.name).map_err(CliError)?;
        tables.push(vec![table.name.to_owned(), parsed.description, table.path.to_owned()]);
    }
    let text = [
        section("Techniques (--tech a,b; they act in this order)", "paper", techniques),
        section("Studies (timing study NAME)", "paper", studies),
        section("Configurations (--config NAME or FILE.toml)", "file", gpus),
        section("Energy tables (--set energy=NAME or FILE.toml)", "file", tables),
    ];
    output::print(&text.join("\n"))
}

fn counters() -> String {
    let clean = |doc: &str| doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let counters = COUNTERS
        .iter()
        .map(|row| vec![row.name.to_owned(), clean(row.doc), row.component.unwrap_or("-").to_owned()]);
    let stalls =
        Stall::ALL.iter().map(|cause| vec![cause.name().to_owned(), clean(cause.doc()), String::new()]);
    let derived = [
        ["ipc", "warp_instructions / cycles, over the whole GPU", "-"],
        ["energy_pj", "object: energy by component, events times the prices of the energy table", "-"],
    ];
    let derived = derived.map(|row| row.map(str::to_owned).to_vec());
    let latencies = LATENCIES.iter().map(|row| vec![row.name.to_owned(), clean(row.doc), String::new()]);
    [
        section("Counters (JSON keys, CSV columns)", "energy component", counters.chain(derived)),
        section("Stall causes (keys of `stalls`; they sum to the scheduler slots)", "", stalls),
        section(
            "Latency distributions (keys of `latency`; samples, mean, percentiles and maximum in cycles)",
            "",
            latencies,
        ),
    ]
    .join("\n")
}

fn section(title: &str, last: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["name", "what", last]);
    table.add_rows(rows);
    format!("{title}\n{table}\n")
}
