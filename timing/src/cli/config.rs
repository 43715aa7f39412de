//! `timing config`: what a configuration says after inheritance and overrides, and where each value is from.

use super::{CliError, output};
use crate::config::load;
use clap::Args;

/// `timing config …`
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Prints every key with its value and the file and line it comes from.
    Show(ShowArguments),
}

/// Arguments of `timing config show`.
#[derive(Args, Debug)]
#[command(after_help = "Example: timing config show titanx-pascal --set l2.ways=8 --set l2.size_bytes=65536")]
pub struct ShowArguments {
    /// A built-in configuration, or a file ending in .toml.
    #[arg(default_value = "titanx-pascal")]
    config: String,
    /// Overrides one value; may be repeated.
    #[arg(long, value_name = "PATH.TO.KEY=VALUE")]
    set: Vec<String>,
}

pub fn run(command: &Command) -> Result<(), CliError> {
    let Command::Show(arguments) = command;
    let loaded = load(&arguments.config, &arguments.set)?;
    let value = toml::Value::try_from(&loaded.config)?;
    let mut lines = Vec::new();
    flatten("", &value, &mut lines);
    let width = lines.iter().map(|(key, value)| key.len() + value.len() + 3).max().unwrap_or(0).min(90);
    let mut text = String::new();
    for (key, value) in lines {
        let mut probe = key.as_str();
        let place = loop {
            match (loaded.places.get(probe), probe.rfind('.')) {
                (Some(place), _) => break place.as_str(),
                (None, Some(dot)) => probe = &probe[..dot],
                (None, None) => break "",
            }
        };
        text += &format!("{:<width$}  # {place}\n", format!("{key} = {value}"));
    }
    output::print(&text)
}

fn flatten(prefix: &str, value: &toml::Value, lines: &mut Vec<(String, String)>) {
    match value {
        toml::Value::Table(table) => {
            for (key, inner) in table {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&path, inner, lines);
            }
        }
        other => lines.push((prefix.to_owned(), other.to_string())),
    }
}
