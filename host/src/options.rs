//! Reading a command line, with its options that write files or submit jobs ([`WRITING`]): [`parse`] declares the outputs
//! that a command names, so that none of them replaces an input.

use crate::outputs::{self, WRITING, Writes};
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, Parser};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The effect of an option, if it has one.
#[must_use]
pub fn writes(option: &Arg) -> Option<Writes> {
    let name = option.get_long().filter(|_| option.get_action().takes_values())?;
    WRITING.iter().find(|(known, _)| *known == name).map(|(_, writes)| *writes)
}

/// Reads a command line, and declares its outputs.
///
/// # Errors
/// It is wrong, or two of its outputs are one file.
pub fn parse<P: Parser>(words: impl IntoIterator<Item = OsString>) -> Result<P, clap::Error> {
    let mut command = P::command();
    let mut matches = command.try_get_matches_from_mut(words)?;
    let named = outputs_of(&command, &matches);
    outputs::declare(named).map_err(|why| command.error(ErrorKind::ArgumentConflict, why))?;
    P::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// As [`parse`]; prints the help that was asked for, or what is wrong.
///
/// # Errors
/// The exit code of a program that goes no further: 0 for help, 2 for a wrong command line.
pub fn parse_or_exit_code<P: Parser>(words: impl IntoIterator<Item = OsString>) -> Result<P, ExitCode> {
    parse(words).map_err(|error| {
        let failed = error.use_stderr();
        // There is no way to report that the message itself cannot be printed.
        drop(error.print());
        ExitCode::from(if failed { 2 } else { 0 })
    })
}

/// A command line as results tell it: the program's name, and the words behind the one that it was called by.
#[must_use]
pub fn told(program: &str, words: &[OsString]) -> Vec<String> {
    let words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once(program.to_owned()).chain(words).collect()
}

/// The options that write and that a command line names, with their values.
#[must_use]
pub fn written_by(command: &Command, matches: &ArgMatches) -> Vec<(String, Writes, Vec<OsString>)> {
    let mut found = Vec::new();
    for option in command.get_arguments() {
        let (Some(writes), Some(name)) = (writes(option), option.get_long()) else { continue };
        if let Ok(Some(values)) = matches.try_get_raw(option.get_id().as_str())
            && matches.value_source(option.get_id().as_str()) == Some(clap::parser::ValueSource::CommandLine)
        {
            found.push((format!("--{name}"), writes, values.map(ToOwned::to_owned).collect()));
        }
    }
    if let Some((name, inner)) = matches.subcommand()
        && let Some(command) = command.find_subcommand(name)
    {
        found.extend(written_by(command, inner));
    }
    found
}

fn outputs_of(command: &Command, matches: &ArgMatches) -> Vec<(String, PathBuf)> {
    let files = written_by(command, matches).into_iter().filter(|(_, writes, _)| *writes == Writes::Files);
    files
        .flat_map(|(name, _, values)| values.into_iter().map(move |value| (name.clone(), value.into())))
        .collect()
}

/// Options of a command and its subcommands whose value is a path, or is described as one, and that are not known to write
/// and not among those that `reads` names: each as `command --option`. A test of each program demands that there are none.
#[must_use]
pub fn unclassified(command: &Command, reads: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let is_path = |option: &Arg| {
        let shown = option.get_value_names().unwrap_or_default().iter().map(ToString::to_string);
        let described = shown.collect::<Vec<_>>().join(" ");
        let names = ["FILE", "DIR", "FOLDER", "PAGE", "OUT", "PATH", "."];
        option.get_value_parser().type_id() == clap::value_parser!(PathBuf).type_id()
            || names.iter().any(|name| described.contains(name))
    };
    for option in command.get_arguments().filter(|option| option.get_action().takes_values()) {
        let Some(name) = option.get_long() else { continue };
        if is_path(option) && writes(option).is_none() && !reads.contains(&name) {
            found.push(format!("{} --{name}", command.get_name()));
        }
    }
    command.get_subcommands().for_each(|inner| found.extend(unclassified(inner, reads)));
    found
}

#[cfg(test)]
mod tests {
    use super::{parse, unclassified};
    use clap::{CommandFactory, Parser};
    use std::path::PathBuf;

    #[derive(Parser, Debug)]
    struct Example {
        traces: Vec<PathBuf>,
        #[arg(long)]
        json: Option<PathBuf>,
        #[arg(short, long)]
        output: Option<PathBuf>,
        #[arg(long)]
        picture: Option<PathBuf>,
        #[arg(long, value_name = "FILE")]
        before: Option<String>,
    }

    #[test]
    fn two_outputs_of_one_name_are_a_wrong_command_line() {
        let of = |words: &[&str]| parse::<Example>(words.iter().map(Into::into));
        let told = of(&["x", "t", "--json", "a", "-o", "./a"]).expect_err("one file").to_string();
        assert!(told.contains("--output and --json both write ./a"), "{told}");
        let read = of(&["x", "t", "--json", "a", "-ob"]).expect("two files");
        assert_eq!((read.traces.len(), read.json.is_some(), read.output.is_some()), (1, true, true));
        assert!(read.picture.is_none() && read.before.is_none());
    }

    #[test]
    fn an_option_with_a_path_must_be_known() {
        assert_eq!(unclassified(&Example::command(), &["before"]), ["warplab-host --picture"]);
    }
}
