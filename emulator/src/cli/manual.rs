//! `emu completions` and `emu man`: the command line for shells and for `man`.

use super::args::{Arguments, Completions, Man};
use super::error::CliError;
use clap::CommandFactory;
use std::io::Write as _;
use warplab_host::console;
use warplab_host::manual;

/// Prints completions.
pub(super) fn completions(args: &Completions) -> Result<(), CliError> {
    let devices = warplab_gpus::Device::all().iter().map(|device| device.name.clone()).collect();
    let text = manual::completions(Arguments::command(), args.shell, &[("device", devices)]);
    Ok(console::out(true).write_all(&text)?)
}

/// Prints the page of the command, or writes all pages.
pub(super) fn man(args: &Man) -> Result<(), CliError> {
    let Some(folder) = &args.output else {
        return Ok(console::out(true).write_all(&manual::page(Arguments::command())?)?);
    };
    let written = manual::pages(Arguments::command(), folder)
        .map_err(|why| CliError::Usage(format!("cannot write into {}: {why}", folder.display())))?;
    writeln!(console::out(true), "{} pages in {}", written.len(), folder.display())?;
    Ok(())
}
