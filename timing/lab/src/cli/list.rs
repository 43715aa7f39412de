//! `timing list`: lists techniques, studies, configurations and policies, with their papers.

use super::error::CliError;
use super::{lookup, output, workloads};
use crate::config::{builtin, load_text};
use crate::stats::counter_entries;
use crate::stats::{COUNTERS, EnergyTable, LATENCIES, Stall};
use crate::studies;
use crate::techniques::{Catalogue, ParamInfo, TechniqueInfo};
use clap::Args;
use warplab_host::tables;
use warplab_model::policy::{Kind, PolicyRow};

/// Arguments of `timing list`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing list\n  timing list bow\n  timing list --counters\n  \
    timing list workloads              the bundled programs, at the size of the papers\n  \
    timing list workloads darsie       those of a paper, of a suite, or with a name\n  \
    timing list workloads --size test")]
pub(super) struct Arguments {
    /// Explains this technique (parameters, counters, structures, stall causes, causes of lost opportunities), policy, study,
    /// configuration, energy table, key of a configuration or counter; `workloads` lists the bundled programs.
    #[arg(conflicts_with = "counters")]
    name: Option<String>,
    /// With `workloads`: a paper, a suite or part of a name.
    #[arg(requires = "name")]
    filter: Option<String>,
    /// With `workloads`: the size of the programs.
    #[arg(long, value_name = "NAME", requires = "name", default_value = "paper")]
    size: String,
    /// Explains the JSON keys and CSV columns of `timing replay` instead.
    #[arg(long)]
    counters: bool,
}

pub(super) fn run(arguments: &Arguments, catalogue: &Catalogue) -> Result<(), CliError> {
    if arguments.name.as_deref() == Some("workloads") {
        return output::print(&workloads::list(&arguments.size, arguments.filter.as_deref())?);
    }
    if let Some(filter) = &arguments.filter {
        return Err(CliError(format!("only `timing list workloads` takes a further word, here {filter}")));
    }
    if let Some(name) = &arguments.name {
        let of_catalogue = catalogue.info(name).map(|info| technique(name, info));
        return match of_catalogue.or_else(|| policy(name)).or_else(|| lookup::find(name)) {
            Some(text) => output::print(&text),
            None => Err(CliError(lookup::unknown(name, catalogue))),
        };
    }
    if arguments.counters {
        return output::print(&counters());
    }
    let techniques = catalogue
        .rows()
        .map(|row| [row.info.name, row.info.summary, row.info.paper].map(str::to_owned).to_vec());
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
    let mut text = vec![
        section(
            "Techniques (--tech a,b; they act in this order; `timing list NAME` explains one)",
            "paper",
            techniques,
        ),
        section("Studies (timing study NAME)", "paper", studies),
        section("Configurations (--config NAME or FILE.toml)", "file", gpus),
        section("Energy tables (--set energy=NAME or FILE.toml)", "file", tables),
    ];
    text.extend(warplab_model::policy::kinds().iter().map(|Kind { title, keys, rows }| {
        let row =
            |row: &PolicyRow| [row.info.name, row.info.summary, row.info.paper].map(str::to_owned).to_vec();
        section(&format!("{title} (--set KEY=NAME; keys are {keys})"), "paper", rows.iter().map(row))
    }));
    output::print(&text.join("\n"))
}

fn clean(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Description of a policy; none if there is no policy with this name.
fn policy(name: &str) -> Option<String> {
    let found = |kind: Kind| Some((kind.keys, *kind.rows.iter().find(|row| row.info.name == name)?));
    let (keys, row) = warplab_model::policy::kinds().into_iter().find_map(found)?;
    let mut text = format!("{name}: {}\n{}\nIt is a value of {keys}.\n", row.info.summary, row.info.paper);
    let params = (row.params)();
    if !params.is_empty() {
        let rows = params.iter().map(parameter);
        text += &format!(
            "\n{}",
            section(&format!("Parameters (--set policy.{name}.NAME=VALUE)"), "values", rows)
        );
    }
    Some(text)
}

/// A parameter as a row of a table.
fn parameter(row: &ParamInfo) -> Vec<String> {
    vec![row.name.to_owned(), clean(row.doc), format!("{} (default {})", row.accepts, row.default)]
}

/// Description of a technique.
fn technique(name: &str, info: &TechniqueInfo) -> String {
    let claims: Vec<String> = info.claims.iter().map(ToString::to_string).collect();
    let mut text = format!("{name}: {}\n{}\n", info.summary, info.paper);
    if !claims.is_empty() {
        text += &format!("It decides alone: {}.\n", claims.join("; "));
    }
    if !info.opportunity.is_empty() {
        text += &format!("An opportunity is {}.\n", info.opportunity);
    }
    if !info.partners.is_empty() {
        text += &format!("It changes nothing without {}.\n", info.partners.join(" or "));
    }
    let params = (info.params)();
    let params = params.iter().map(parameter);
    let causes = |rows: &'static [crate::techniques::CauseInfo]| {
        rows.iter().map(|row| vec![row.name.to_owned(), clean(row.doc), String::new()])
    };
    let counters = counter_entries(info)
        .into_iter()
        .map(|row| vec![row.name, clean(&row.doc), row.component.unwrap_or("-").to_owned()]);
    let parts: Vec<(String, &str, Vec<Vec<String>>)> = vec![
        (format!("Parameters (--set technique.{name}.NAME=VALUE)"), "values", params.collect()),
        ("Stall causes".into(), "", causes(info.stalls).collect()),
        ("Why opportunities are lost".into(), "", causes(info.losses).collect()),
        (format!("Counters (JSON: technique.{name}.counters)"), "energy component", counters.collect()),
    ];
    for (title, last, rows) in parts.into_iter().filter(|(.., rows)| !rows.is_empty()) {
        text += "\n";
        text += &section(&title, last, rows);
    }
    text
}

fn counters() -> String {
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
    let mut table = tables::table();
    table.set_header(["name", "what", last]);
    table.add_rows(rows);
    format!("{title}\n{table}\n")
}
