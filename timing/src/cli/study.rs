//! `timing study`: runs one limit study over traces and writes what it found.

use super::progress::LateBar;
use super::{CliError, output};
use crate::studies::{self, Input, Options, Progress};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `timing study`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing study redundancy matmul.wtrace hotspot.wtrace\n  \
    timing study redundancy *.wtrace --json redundancy.json --csv redundancy.csv\n  \
    timing study redundancy --explain")]
pub struct Arguments {
    /// Name of the study; `timing list` shows all.
    name: String,
    /// Traces to study.
    traces: Vec<PathBuf>,
    /// Says what is counted and how each column is defined, instead of running.
    #[arg(long)]
    explain: bool,
    /// Threads; the result does not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Writes the data as JSON; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the data as CSV; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let info = studies::find(&arguments.name)?;
    if arguments.explain {
        return output::print(&explain(info));
    }
    let labels: Vec<String> = arguments.traces.iter().map(|path| output::label(path)).collect();
    let traces =
        arguments.traces.iter().map(|path| output::open_trace(path)).collect::<Result<Vec<_>, _>>()?;
    let inputs: Vec<Input<'_>> =
        labels.iter().zip(&traces).map(|(label, trace)| Input { label, trace }).collect();
    let bar = LateBar::new(info.name);
    let progress = |p: Progress| bar.update(p.warp_instructions, p.of, "");
    let threads = arguments.threads.map_or_else(output::default_threads, usize::from);
    let results = studies::run(&[info.name], &inputs, &Options { threads, progress: &progress })?;
    drop(bar);
    for result in &results {
        let to_stdout = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path.as_os_str() == "-");
        if !to_stdout(&arguments.json) && !to_stdout(&arguments.csv) {
            output::print(&result.to_text())?;
        }
        if let Some(path) = &arguments.json {
            output::write_file(path, &format!("{:#}\n", result.to_json()))?;
        }
        if let Some(path) = &arguments.csv {
            output::write_file(path, &result.to_csv())?;
        }
    }
    Ok(())
}

/// Columns of text that `--explain` fills.
const EXPLAIN_WIDTH: usize = 100;

fn explain(info: &studies::StudyInfo) -> String {
    let mut text = wrap(&format!("{}: {} ({})", info.name, info.summary, info.paper), 0);
    for paragraph in info.explain.text {
        text += &format!("\n{}", wrap(paragraph, 0));
    }
    text += "\nColumns\n";
    let keys = info.explain.columns.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    for (key, meaning) in info.explain.columns {
        let indent = keys + 4;
        text += &format!("  {key:<keys$}  {}", wrap(meaning, indent).trim_start());
    }
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
        for info in studies::registry() {
            let text = explain(info);
            assert!(text.lines().all(|line| line.chars().count() <= EXPLAIN_WIDTH), "{text}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            for (key, meaning) in info.explain.columns {
                assert!(words(&text).windows(words(meaning).len()).any(|w| w == words(meaning)), "{key}");
            }
        }
    }
}
