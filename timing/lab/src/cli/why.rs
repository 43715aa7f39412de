//! `timing why`: what limits each kernel of a trace, in words.

use super::error::CliError;
use super::left_out::LeftOut;
use super::output;
use super::progress::LateBar;
use super::shared::{ReplayArguments, TechniqueArguments};
use crate::provenance::{KEY, Provenance};
use crate::replay::{Replay, ReplayOptions, replay};
use crate::techniques::Catalogue;
use crate::why::{Diagnosis, diagnose, text};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use trace_format::reader::Trace;
use warplab_model::replay::Progress;

/// Arguments of `timing why`.
#[derive(Args, Debug)]
#[command(after_help = "Example: timing why matmul.wtrace --config qv100\n\n\
    The slots are those that `timing replay` counts under `stalls`, grouped. JSON: one object per trace under `traces`, \
    one per kernel under `kernels`, with `limited_by`, `limits` (each with its share, the reason, what to try), `notes` \
    and `figures`.")]
pub(super) struct WhyArguments {
    /// Traces to look at.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    techniques: TechniqueArguments,
    #[command(flatten)]
    replayed: ReplayArguments,
    /// Writes the diagnosis as JSON; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(
    arguments: &WhyArguments,
    catalogue: &Catalogue,
    command: &[String],
) -> Result<(), CliError> {
    let named = arguments.techniques.only()?;
    let loaded = arguments.techniques.load(&arguments.replayed, catalogue)?;
    let provenance =
        Provenance::new(command).on(&loaded, &arguments.techniques.overrides(&arguments.replayed));
    let config = loaded.config;
    let techniques = catalogue.select(&named, &config)?;
    let mut provenance = provenance.running(&techniques);
    let selection = arguments.replayed.selection()?;
    let to_stdout = output::is_stdout(arguments.json.as_deref());
    output::check(arguments.json.as_deref())?;
    let replayed = |path: &Path, left_out: &mut LeftOut| -> Result<(Trace, Replay), CliError> {
        let trace = output::open_trace(path)?;
        let bar = LateBar::new(output::label(path));
        let progress = |launch: usize, launches: usize, p: Progress| {
            bar.update(p.blocks_placed, p.blocks, &format!("launch {} of {launches}", launch + 1));
        };
        let replayed = left_out.readable(path, &selection, |selection| {
            let options = ReplayOptions {
                threads: arguments.replayed.threads(),
                selection: selection.clone(),
                progress: &progress,
                ..ReplayOptions::default()
            };
            replay(&trace, &config, &techniques, &options)
        })?;
        drop(bar);
        Ok((trace, replayed))
    };
    let (mut traces, mut left_out) = (Vec::new(), LeftOut::of(arguments.traces.len()));
    for path in &arguments.traces {
        let done = replayed(path, &mut left_out);
        let Some((trace, replay)) = left_out.unless(path, done)? else { continue };
        provenance.add(&trace)?;
        output::warn_of_registers(path, &replay, &config);
        let found = diagnose(&replay, &config);
        if !to_stdout {
            let parts: Vec<String> = found.iter().map(|one| text::render(one, &config.name)).collect();
            output::print(&(parts.join("\n") + "\n"))?;
        }
        let kernels: Vec<Value> = found.iter().map(Diagnosis::to_json).collect();
        traces.push(json!({ "trace": path.display().to_string(), "kernels": kernels }));
    }
    if let Some(path) = &arguments.json {
        let mut value = json!({
            "schema": "warplab-why/1",
            "config": config.name,
            "techniques": named,
            "traces": traces,
        });
        left_out.add_to(&mut value);
        value[KEY] = provenance.to_json();
        output::write_file(path, &format!("{value:#}\n"))?;
    }
    left_out.verdict()
}
