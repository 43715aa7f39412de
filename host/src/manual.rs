//! Completions for shells and pages for `man`, from the declaration of a command line.

use crate::destination::Destination;
use clap::Command;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Shells for which completions can be written.
pub use clap_complete::Shell;

/// Words that an argument takes, by the argument's name; `study.names` is that of the command `study` alone.
pub type Values = [(&'static str, Vec<String>)];

/// The completions of a command for a shell, to be read by it. Arguments offer their values.
#[must_use]
pub fn completions(command: Command, shell: Shell, values: &Values) -> Vec<u8> {
    let mut command = offering(command, values);
    let (name, mut text) = (command.get_name().to_owned(), Vec::new());
    clap_complete::generate(shell, &mut command, name, &mut text);
    text
}

/// A command whose arguments name their values. The command line itself takes others as well, such as files.
fn offering(mut command: Command, values: &Values) -> Command {
    for (place, words) in values {
        let (of, argument) = place.split_once('.').unwrap_or(("", place));
        let is_here = of.is_empty() || command.get_name() == of;
        if is_here && command.get_arguments().any(|known| known.get_id() == argument) {
            // Names live as long as the program.
            let words = words.iter().map(|word| PossibleValue::new(&*word.clone().leak()));
            let parser = PossibleValuesParser::new(words);
            command = command.mut_arg(argument, |known| known.value_parser(parser));
        }
    }
    let inner: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    inner
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, |inner| offering(inner, values)))
}

/// The page of a command itself.
///
/// # Errors
/// The page cannot be made.
pub fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(text)
}

/// Writes the pages of a command and of its subcommands into a folder, which is created if needed: `emu.1`, `emu-run.1` and
/// so on. Returns their paths.
///
/// # Errors
/// A page cannot be written.
pub fn pages(command: Command, folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)?;
    let (mut written, mut waiting) = (Vec::new(), vec![command.disable_help_subcommand(true)]);
    waiting[0].build();
    while let Some(command) = waiting.pop() {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            let name = format!("{}-{}", command.get_name(), inner.get_name());
            // Names of commands live as long as the program.
            let shown: &'static str = Box::leak(name.into_boxed_str());
            waiting.push(inner.clone().name(shown));
        }
        let path = folder.join(format!("{}.1", command.get_name()));
        let text = page(command)?;
        Destination::within(&path).write(|out| out.write_all(&text))?;
        written.push(path);
    }
    written.sort();
    Ok(written)
}
