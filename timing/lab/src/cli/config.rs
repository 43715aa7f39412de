//! `timing config`: shows a configuration after inheritance and overrides, with the origin of each value.

use super::error::CliError;
use super::output;
use crate::config::{self, Key, builtin, load};
use clap::Args;
use std::path::PathBuf;
use warplab_host::input;

/// `timing config …`
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Prints every key with its value, its file and line, and the comment on its source.
    Show(ShowArguments),
    /// Prints every key with the numbers that it accepts and its meaning.
    #[command(
        after_help = "Examples:\n  timing config keys\n  timing config keys | grep '^l2'\n  timing list max_warps"
    )]
    Keys,
    /// Converts option files of GPGPU-Sim and Accel-Sim to a configuration, and lists options without effect.
    Import(ImportArguments),
}

/// Arguments of `timing config import`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing config import gpgpusim.config -o mine.toml --compare qv100\n  \
    timing config import gpgpusim.config trace.config -o mine.toml\n\n\
    Values that the files do not set come from the shipped configuration of the same compute capability. Options of \
    later files replace those of earlier ones; latencies of Accel-Sim's trace.config replace the ptx_opcode options.")]
pub(super) struct ImportArguments {
    /// The option files, usually gpgpusim.config, and for Accel-Sim trace.config.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Writes the configuration here instead of to stdout.
    #[arg(short, long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
    /// Name of the configuration; the file's by default.
    #[arg(long)]
    name: Option<String>,
    /// Also lists the values that differ from those of a shipped configuration.
    #[arg(long, value_name = "NAME")]
    compare: Option<String>,
}

/// Arguments of `timing config show`.
#[derive(Args, Debug)]
#[command(after_help = "Example: timing config show titanx-pascal --set l2.ways=8 --set l2.size_bytes=65536")]
pub(super) struct ShowArguments {
    /// A built-in configuration, or a file ending in .toml.
    #[arg(default_value = builtin::MODELLED)]
    config: String,
    /// Overrides one value; may be repeated.
    #[arg(long, value_name = "PATH.TO.KEY=VALUE")]
    set: Vec<String>,
}

pub(super) fn run(command: &Command) -> Result<(), CliError> {
    match command {
        Command::Show(arguments) => show(arguments),
        Command::Keys => keys(),
        Command::Import(arguments) => import(arguments),
    }
}

fn import(arguments: &ImportArguments) -> Result<(), CliError> {
    let origins: Vec<String> = arguments.files.iter().map(|file| file.display().to_string()).collect();
    let read = |file: &PathBuf| {
        input::read_text(file, input::TEXT_BYTES)
            .map_err(|why| format!("cannot read {}: {why}", file.display()))
    };
    let texts = arguments.files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<(&str, &str)> =
        texts.iter().zip(&origins).map(|(text, origin)| (&**text, &**origin)).collect();
    let origin = origins.join(" and ");
    let of = |path: &PathBuf| output::label(path);
    let name = arguments
        .name
        .clone()
        .or_else(|| arguments.output.as_ref().map(of))
        .unwrap_or_else(|| arguments.files.first().map(of).unwrap_or_default());
    let imported = config::import::import_all(&files, &name)?;
    let honoured = imported.values.len();
    let toml = imported.to_toml(&origin);
    match &arguments.output {
        Some(path) => output::write_file(path, &toml)?,
        None => output::print(&toml)?,
    }
    let mut told = format!("{origin}: {honoured} values, based on {}\n", imported.base);
    if !imported.unhonoured.is_empty() {
        told += &format!("{} options have no effect:\n", imported.unhonoured.len());
        for one in &imported.unhonoured {
            told += &format!("  {} {}: {}\n", one.option, one.value, one.why);
        }
    }
    if let Some(shipped) = &arguments.compare {
        let differences = imported.differences(shipped)?;
        told += &format!("{} values differ from {shipped}:\n", differences.len());
        for (key, mine, theirs) in differences {
            told += &format!("  {key} = {mine}, there {theirs}\n");
        }
    }
    eprint!("{told}");
    Ok(())
}

fn show(arguments: &ShowArguments) -> Result<(), CliError> {
    let loaded = load(&arguments.config, &arguments.set)?;
    let values = config::flatten(&toml::Value::try_from(&loaded.config)?);
    let lines: Vec<(String, String, String)> = values
        .iter()
        .map(|(key, value)| {
            // The keys of an inline table have the table's line.
            let mut probe = key.as_str();
            let place = loop {
                match (loaded.places.get(probe), probe.rfind('.')) {
                    (Some(place), _) => break place.as_str(),
                    (None, Some(dot)) => probe = &probe[..dot],
                    (None, None) => break "",
                }
            };
            let source = loaded.sources.get(probe).cloned().unwrap_or_default();
            (format!("{key} = {value}"), source, place.to_owned())
        })
        .collect();
    let width = |column: fn(&(String, String, String)) -> &String, most: usize| {
        lines.iter().map(|line| column(line).chars().count()).max().unwrap_or(0).min(most)
    };
    let (first, second) = (width(|line| &line.0, 60), width(|line| &line.1, 60));
    let mut text = String::new();
    for (value, source, place) in &lines {
        text += &format!("{value:<first$}  # {source:<second$}  {place}\n");
    }
    output::print(&text)
}

fn keys() -> Result<(), CliError> {
    let keys = load(builtin::MODELLED, &[])?.config.keys();
    let accepted = |key: &Key| if key.number.is_some() { key.bounds.to_string() } else { String::new() };
    let first = keys.iter().map(|key| key.path.len()).max().unwrap_or(0);
    let second = keys.iter().map(|key| accepted(key).len()).max().unwrap_or(0);
    let mut text = String::new();
    for key in &keys {
        text += &format!("{:<first$}  {:<second$}  {}\n", key.path, accepted(key), key.doc);
    }
    output::print(&text)
}
