//! `timing why`: what limits each kernel of a trace, in words.

use super::progress::LateBar;
use super::{CliError, output};
use crate::config::load;
use crate::engine::Progress;
use crate::replay::{ReplayOptions, Selection, replay};
use crate::techniques::select;
use crate::why::{Diagnosis, diagnose, text};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `timing why`.
#[derive(Args, Debug)]
#[command(after_help = "Example: timing why matmul.wtrace --config qv100\n\n\
    The slots are those that `timing replay` counts under `stalls`, grouped. JSON: one object per trace under `traces`, \
    one per kernel under `kernels`, with `limited_by`, `limits` (each with its share, the reason, what to try), `notes` \
    and `figures`.")]
pub struct WhyArguments {
    /// Traces to look at.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// A built-in configuration, or a file ending in .toml.
    #[arg(long, default_value = "titanx-pascal", value_name = "NAME|FILE.toml")]
    config: String,
    /// Techniques to switch on, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    tech: Vec<String>,
    /// Overrides one value of the configuration; may be repeated.
    #[arg(long, value_name = "PATH.TO.KEY=VALUE")]
    set: Vec<String>,
    /// Only launches of kernels whose name has a match of this regular expression.
    #[arg(long, value_name = "REGEX")]
    kernels: Option<String>,
    /// Only these launches, numbered from 0: 3-10,12 or 20-.
    #[arg(long, value_name = "NUMBERS")]
    launches: Option<String>,
    /// Threads; the result does not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Writes the diagnosis as JSON; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn run(arguments: &WhyArguments) -> Result<(), CliError> {
    let config = load(&arguments.config, &arguments.set)?.config;
    let techniques = select(&arguments.tech, &config)?;
    let selection = Selection::parse(arguments.kernels.as_deref(), arguments.launches.as_deref())?;
    let to_stdout = arguments.json.as_ref().is_some_and(|path| path.as_os_str() == "-");
    let mut traces = Vec::new();
    for path in &arguments.traces {
        let trace = output::open_trace(path)?;
        let bar = LateBar::new(output::label(path));
        let progress = |launch: usize, launches: usize, p: Progress| {
            bar.update(p.blocks_placed, p.blocks, &format!("launch {} of {launches}", launch + 1));
        };
        let options = ReplayOptions {
            threads: arguments.threads.map_or_else(output::default_threads, usize::from),
            selection: selection.clone(),
            progress: &progress,
            ..ReplayOptions::default()
        };
        let replay = replay(&trace, &config, &techniques, &options)
            .map_err(|why| CliError(format!("{}: {why}", path.display())))?;
        drop(bar);
        let found = diagnose(&replay, &config);
        if !to_stdout {
            let parts: Vec<String> = found.iter().map(|one| text::render(one, &config.name)).collect();
            output::print(&(parts.join("\n") + "\n"))?;
        }
        let kernels: Vec<Value> = found.iter().map(Diagnosis::to_json).collect();
        traces.push(json!({ "trace": path.display().to_string(), "kernels": kernels }));
    }
    if let Some(path) = &arguments.json {
        let value = json!({
            "schema": "warplab-why/1",
            "config": config.name,
            "techniques": arguments.tech,
            "traces": traces,
        });
        output::write_file(path, &format!("{value:#}\n"))?;
    }
    Ok(())
}
