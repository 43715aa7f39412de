//! `timing study`: runs limit studies over traces in one pass and writes their results.

use super::error::CliError;
use super::left_out::LeftOut;
use super::output;
use super::progress::LateBar;
use super::shared::Threads;
use crate::provenance::{KEY, Provenance};
use crate::studies::{self, By, Input, Options, Progress, Selection, StudyError, StudyResult};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use warplab_host::shell;

/// Arguments of `timing study`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing study redundancy matmul.wtrace hotspot.wtrace\n  \
    timing study all *.wtrace --json studies.json\n  \
    timing study width,reuse matmul.wtrace --by line\n  \
    timing study dead *.wtrace --by pc --top 20\n  \
    timing study memo train.wtrace --kernels 'gemm|conv' --launches 20-\n  \
    timing study redundancy --explain")]
pub(super) struct Arguments {
    /// Names of studies, separated by commas, or `all`; `timing list` shows them.
    names: String,
    /// Traces to study.
    traces: Vec<PathBuf>,
    /// Prints the definitions of the counts and columns instead of running.
    #[arg(long)]
    explain: bool,
    /// Also breaks the counts down.
    #[arg(long, value_enum)]
    by: Option<By>,
    /// Shows this many rows of the breakdown, worst first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Only launches of kernels whose name has a match of this regular expression; traces without any are left out.
    #[arg(long, value_name = "REGEX")]
    kernels: Option<String>,
    /// Only these launches of each trace, numbered from 0 as in `trace info`: 3-10,12 or 20-.
    #[arg(long, value_name = "NUMBERS")]
    launches: Option<String>,
    /// Values are always compared with their checksum; commands of older results name this option.
    #[arg(long, hide = true)]
    checked: bool,
    #[command(flatten)]
    threads: Threads,
    /// Writes the data as JSON; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the data as CSV; `-` for stdout. With several studies, each gets a file with its name before
    /// the extension.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, command: &[String]) -> Result<(), CliError> {
    let is_trace = Path::new(&arguments.names).extension().is_some_and(|extension| extension == "wtrace");
    if is_trace || arguments.names.contains(std::path::MAIN_SEPARATOR) {
        let traces =
            std::iter::once(&*arguments.names).chain(arguments.traces.iter().filter_map(|p| p.to_str()));
        let traces = traces.map(shell::quoted).collect::<Vec<_>>().join(" ");
        return Err(CliError(format!(
            "the first word is the name of a study, and {} is a file; write `timing study redundancy {traces}`, or \
             `timing study all {traces}` (`timing list` shows all studies)",
            arguments.names
        )));
    }
    let names = studies::choose(&arguments.names)?;
    if arguments.explain {
        let texts = names.iter().map(|name| Ok(explain(studies::find(name)?)));
        return output::print(&texts.collect::<Result<Vec<_>, CliError>>()?.join("\n\n"));
    }
    if arguments.traces.is_empty() {
        return Err(CliError(format!(
            "there are no traces to study: name one, as in `timing study {} app.wtrace`, or add --explain",
            arguments.names
        )));
    }
    if arguments.top.is_some() && arguments.by.is_none() {
        return Err("--top needs --by kernel, line, class or pc".into());
    }
    let mut select = Selection::parse(arguments.kernels.as_deref(), arguments.launches.as_deref())?;
    if names.len() > 1 && output::is_stdout(arguments.csv.as_deref()) {
        return Err("--csv - takes one study; several need a file name".into());
    }
    output::check(arguments.json.as_deref())?;
    for name in &names {
        output::check(arguments.csv.as_deref().map(|path| csv_of(path, name, names.len())).as_deref())?;
    }
    let (mut opened, mut left_out) = (Vec::new(), LeftOut::of(arguments.traces.len()));
    for path in &arguments.traces {
        let trace = left_out.unless(path, output::open_trace(path))?;
        opened.extend(trace.map(|trace| (path, output::label(path), trace)));
    }
    let bar = LateBar::new(&arguments.names);
    let progress = |p: Progress| bar.update(p.warp_instructions, p.of, "");
    // If a trace or a launch is damaged, it is left out and the studies run again on the others.
    let results = loop {
        let options = Options {
            threads: arguments.threads.count(),
            progress: &progress,
            by: arguments.by,
            top: arguments.top.map(|top| top as usize),
            select: &select,
        };
        let inputs: Vec<Input<'_>> = opened.iter().map(|(_, label, trace)| Input { label, trace }).collect();
        match studies::run(&names, &inputs, &options) {
            Ok(results) => break results,
            Err(StudyError::Trace { input, why, .. }) => {
                let (path, ..) = opened.remove(input);
                select.remove_input(input);
                let told = CliError(format!("{}: {why}", path.display()));
                left_out.unless::<()>(path, Err(told))?;
            }
            Err(StudyError::Launches { input, unreadable, .. }) => {
                select.leave_out(input, unreadable.launches.iter().map(|(launch, ..)| *launch));
                let path = opened[input].0;
                if let Err(told) = left_out.launches(path, *unreadable) {
                    // None of its launches is left.
                    opened.remove(input);
                    select.remove_input(input);
                    left_out.unless::<()>(path, Err(told))?;
                }
            }
            Err(other) => return Err(other.into()),
        }
    };
    drop(bar);
    let mut provenance = Provenance::new(command);
    opened.iter().try_for_each(|(.., trace)| provenance.add(trace))?;
    write(arguments, &results, &left_out, &provenance)?;
    left_out.verdict()
}

fn write(
    arguments: &Arguments,
    results: &[StudyResult],
    left_out: &LeftOut,
    provenance: &Provenance,
) -> Result<(), CliError> {
    if !output::is_stdout(arguments.json.as_deref()) && !output::is_stdout(arguments.csv.as_deref()) {
        output::print(&results.iter().map(StudyResult::to_text).collect::<Vec<_>>().join("\n"))?;
    }
    if let Some(path) = &arguments.json {
        let mut value = match results {
            [result] => result.to_json(),
            _ => {
                let studies: Vec<_> = results.iter().map(StudyResult::to_json).collect();
                json!({ "schema": "warplab-studies/1", "studies": studies })
            }
        };
        left_out.add_to(&mut value);
        value[KEY] = provenance.to_json();
        output::write_file(path, &format!("{value:#}\n"))?;
    }
    let Some(path) = &arguments.csv else { return Ok(()) };
    let by = provenance.to_json();
    results
        .iter()
        .try_for_each(|r| output::write_table(&csv_of(path, r.study, results.len()), &r.to_csv(), &by))
}

/// File of a study's CSV; with several studies, its name is put before the extension.
fn csv_of(path: &Path, study: &str, studies: usize) -> PathBuf {
    if studies == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map_or("csv".into(), |e| e.to_string_lossy());
    path.with_file_name(format!("{stem}-{study}.{extension}"))
}

/// Columns of text that `--explain` fills.
const EXPLAIN_WIDTH: usize = 100;

pub(super) fn explain(study: &studies::Study) -> String {
    let mut text = wrap(&format!("{}: {} ({})", study.name, study.summary, study.paper), 0);
    for paragraph in study.text {
        text += &format!("\n{}", wrap(paragraph, 0));
    }
    let keys = study.counters.iter().map(|c| c.key.len()).chain(study.shares.iter().map(|s| s.key.len()));
    let keys = keys.max().unwrap_or(0);
    let mut section = |title: &str, rows: Vec<(&str, String)>| {
        text += &format!("\n{title}\n");
        for (key, meaning) in rows {
            text += &format!("  {key:<keys$}  {}", wrap(&meaning, keys + 4).trim_start());
        }
    };
    let counters = study.counters.iter().map(|c| {
        let unit = if c.unit == "warp instructions" { String::new() } else { format!("{}: ", c.unit) };
        (c.key, format!("{unit}{}", c.meaning))
    });
    section("Columns: counts", counters.collect());
    let shares = study.shares.iter().map(|share| {
        let formula = format!("= {}", share.formula(study.counters));
        let parts = [formula, share.meaning.to_owned(), share.figure.to_owned()];
        (share.key, parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; "))
    });
    section("Columns: quotients, the denominator behind the stroke", shares.collect());
    text
}

/// Fills lines with the words of a text, each line indented.
fn wrap(text: &str, indent: usize) -> String {
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() > indent && line.len() + 1 + word.len() > EXPLAIN_WIDTH => {
                lines.push(" ".repeat(indent) + word);
            }
            Some(line) if line.len() > indent => *line += &format!(" {word}"),
            Some(line) => *line += word,
            None => {}
        }
    }
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_fit_the_width_and_lose_no_word() {
        for study in studies::registry() {
            let text = explain(study);
            assert!(text.lines().all(|line| line.chars().count() <= EXPLAIN_WIDTH), "{text}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let meanings =
                study.counters.iter().map(|c| c.meaning).chain(study.shares.iter().map(|s| s.meaning));
            for meaning in meanings.filter(|meaning| !meaning.is_empty()) {
                let found = words(&text).windows(words(meaning).len()).any(|found| {
                    // A meaning may be followed by a figure, behind a semicolon.
                    let joined = found.join(" ");
                    joined == meaning || joined == format!("{meaning};")
                });
                assert!(found, "{}: {meaning}\n{text}", study.name);
            }
        }
    }

    #[test]
    fn keys_of_a_study_are_distinct() {
        for study in studies::registry() {
            let mut keys: Vec<_> = study.counters.iter().map(|c| c.key).collect();
            keys.extend(study.shares.iter().map(|share| share.key));
            let count = keys.len();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), count, "{}: {keys:?}", study.name);
            assert!(study.worst_by < study.shares.len());
            let headline = study.headline.map(|headline| &study.shares[headline.share]);
            assert!(headline.is_none_or(|share| share.shown == studies::Shown::Percent), "{}", study.name);
            let positions = study.figures.iter().flat_map(|figure| figure.shares);
            assert!(positions.into_iter().all(|&i| i < study.shares.len()), "{}", study.name);
        }
    }
}
