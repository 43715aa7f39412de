//! `timing completions` and `timing man`: the command line for shells and for `man`.

use super::error::CliError;
use super::output;
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

pub(super) fn completions(arguments: &Completions, command: clap::Command) -> Result<(), CliError> {
    output::print(&String::from_utf8(manual::completions(command, arguments.shell))?)
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
