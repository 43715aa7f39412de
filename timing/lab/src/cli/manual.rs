//! `timing completions` and `timing man`: the command line for shells and for `man`.

use super::error::CliError;
use super::{lookup, output};
use crate::config::builtin;
use crate::stats::COUNTERS;
use crate::studies;
use crate::techniques::Catalogue;
use clap::Args;
use std::path::PathBuf;
use warplab_host::manual::{self, Shell};

/// Arguments of `timing completions`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  timing completions bash > ~/.local/share/bash-completion/completions/timing\n  \
    timing completions zsh > ~/.zfunc/_timing"
)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

/// Arguments of `timing man`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing man | man -l -\n  timing man -o ~/.local/share/man/man1")]
pub(super) struct Man {
    /// Writes the pages of all commands into this folder; created if needed.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(super) fn completions(
    arguments: &Completions,
    command: clap::Command,
    catalogue: &Catalogue,
) -> Result<(), CliError> {
    let text = manual::completions(command, arguments.shell, &values(catalogue));
    output::print(&String::from_utf8(text)?)
}

/// What arguments take, by their names.
fn values(catalogue: &Catalogue) -> Vec<(&'static str, Vec<String>)> {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<String>>();
    let machines = owned(builtin::list(builtin::GPUS));
    let techniques: Vec<String> = catalogue.infos().map(|info| info.name.to_owned()).collect();
    let studies: Vec<String> = studies::registry().map(|row| row.name.to_owned()).collect();
    let with = |names: &[String], further: &[&str]| [names, &owned(further.to_vec())].concat();
    let policies = warplab_model::policy::names();
    let of_techniques = catalogue.infos().flat_map(|info| {
        (info.params)().into_iter().map(|param| format!("technique.{}.{}=", info.name, param.name))
    });
    let of_machines = lookup::all_keys().into_iter().map(|key| format!("{}=", key.path));
    let keys: Vec<String> = of_machines.chain(of_techniques).collect();
    let listed =
        with(&[&techniques[..], &studies, &machines].concat(), &[&policies[..], &["workloads"]].concat());
    vec![
        ("machine", [&machines[..], &techniques].concat()),
        ("import.compare", machines.clone()),
        ("config", machines),
        ("tech", techniques),
        ("study.names", with(&studies, &["all"])),
        ("report.studies", with(&studies, &["all", "none"])),
        ("list.name", listed),
        ("columns", COUNTERS.iter().map(|row| row.name.to_owned()).chain(["ipc".to_owned()]).collect()),
        ("set", keys.clone()),
        ("vary", keys),
    ]
}

pub(super) fn man(arguments: &Man, command: clap::Command) -> Result<(), CliError> {
    let Some(folder) = &arguments.output else {
        return output::print(&String::from_utf8(manual::page(command)?)?);
    };
    output::check_folder(folder)?;
    let written = manual::pages(command, folder);
    let written =
        written.map_err(|why| CliError(format!("cannot write into {}: {why}", folder.display())))?;
    output::print(&format!("{} pages in {}\n", written.len(), folder.display()))
}
