//! `timing accuracy`: how near the model's cycles are to silicon and to other simulators.

use super::error::CliError;
use super::output;
use crate::accuracy::{Reference, page, references, to_json, to_text};
use crate::provenance::{KEY, Provenance};
use clap::Args;
use std::path::{Path, PathBuf};

/// Arguments of `timing accuracy`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing accuracy\n  timing accuracy base-clock --rows\n  \
    timing accuracy --json accuracy.json\n  timing accuracy -o docs/src/project/accuracy.md\n\n\
    The figures are those that were measured with the revision of Warplab that the tables name, and not replayed. They say whether \
    values of the model were chosen with their rows. For results of your own beside a profile there is `timing correlate`.")]
pub(super) struct Arguments {
    /// Ids of references, such as base-clock; all of them by default.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Also shows every launch or kernel.
    #[arg(long)]
    rows: bool,
    /// Writes all figures and rows as JSON; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes a page in Markdown, and its charts beside it as PAGE-ID.svg.
    #[arg(short, long, value_name = "PAGE.md")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, command: &[String]) -> Result<(), CliError> {
    let outputs = [&arguments.json, &arguments.output].map(Option::as_deref);
    outputs.iter().try_for_each(|path| output::check(*path))?;
    if output::is_stdout(arguments.output.as_deref()) {
        return Err("--output: the page has charts beside it; name a file".into());
    }
    let chosen = chosen(references()?, &arguments.ids)?;
    if let Some(path) = &arguments.json {
        let mut value = to_json(&chosen);
        value[KEY] = Provenance::new(command).to_json();
        output::write_file(path, &format!("{value:#}\n"))?;
    }
    if let Some(path) = &arguments.output {
        write_page(path, &chosen)?;
    }
    if outputs.iter().any(|path| output::is_stdout(*path)) {
        return Ok(());
    }
    output::print(&to_text(&chosen, arguments.rows))
}

/// The references with these ids, in the order of the list.
fn chosen(all: Vec<Reference>, ids: &[String]) -> Result<Vec<Reference>, CliError> {
    let names: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
    if let Some(unknown) = ids.iter().find(|id| !names.contains(&id.as_str())) {
        let known = warplab_host::names::among(unknown, "expected", &names);
        return Err(format!("unknown reference {unknown}{known}").into());
    }
    Ok(all.into_iter().filter(|one| ids.is_empty() || ids.contains(&one.id)).collect())
}

fn write_page(path: &Path, chosen: &[Reference]) -> Result<(), CliError> {
    let made = page(chosen, &output::label(path));
    for (suffix, chart) in &made.charts {
        output::write_file(&path.with_file_name(output::label(path) + suffix), chart)?;
    }
    output::write_file(path, &made.text)
}
