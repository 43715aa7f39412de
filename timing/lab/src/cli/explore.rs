//! `timing explore`: techniques and settings over the same traces, and those that no other one beats.

use super::error::CliError;
use super::left_out::LeftOut;
use super::output;
use super::progress::{GOES_ON, LateBar, on_interrupt, time_left};
use super::shared::{RefusedArguments, ReplayArguments, words};
use crate::config::load;
use crate::explore::{self, Base, Explored, Space};
use crate::named::NamedMachine;
use crate::provenance::{KEY, Provenance};
use crate::reports::unique_labels;
use crate::store::Store;
use crate::sweep::{Progress, Requested, Sweep, Vary};
use crate::techniques::Catalogue;
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `timing explore`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    timing explore *.wtrace --tech bow --vary technique.bow.window=2..4 --vary technique.bow.entries=6,12\n  \
    timing explore *.wtrace --tech bow --tech corf --tech corf++ --pairs --config gtx480\n  \
    timing explore *.wtrace --vary collectors.ports=1,2,3 --vary register_file.banks=16,32 -o explored\n  \
    timing explore *.wtrace --machine \"w5: bow, technique.bow.window=5\" --machine gtx480 --machine qv100 --tech corf\n\n\
    A key of a technique varies where the technique is on; other keys vary everywhere. With --machine each of the named \
    machines is explored, alone and with every list of techniques. Speed and energy are geometric means over the traces, beside \
    the plain machine, which is the configuration of the point without techniques and changes; storage is what the techniques add to an SM. On the front are the \
    points that no other one equals in all three and beats in one. Written with -o are DIR/index.html, DIR/data.json, and \
    tables and the chart as CSV, Parquet, SVG and PNG; finished replays are kept in DIR/runs, so that an interrupted or larger \
    exploration goes on from there. `timing sweep` has all metrics of all launches in one table. `timing report --combine A,B` shows a pair beside the product of what each \
    does alone.")]
pub(super) struct Arguments {
    /// Traces to replay.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// Techniques of a point, such as bow,corf; may be repeated for further points.
    #[arg(long, value_name = "A,B")]
    tech: Vec<String>,
    /// Also combines each two of the named techniques that do not contradict each other.
    #[arg(long, requires = "tech")]
    pairs: bool,
    /// A key of the configuration and its values; may be repeated, and all combinations are replayed.
    #[arg(long, value_name = "KEY=V1,V2|A..B")]
    vary: Vec<String>,
    /// Takes the values of all keys by position instead of in all combinations.
    #[arg(long)]
    zip: bool,
    /// A machine to explore: a configuration, techniques and key=value, separated by commas, after a name and a colon if it is
    /// to have one; may be repeated. Without it the machine is that of --config and --set.
    #[arg(long, value_name = "NAME: A, B, KEY=VALUE")]
    machine: Vec<String>,
    #[command(flatten)]
    replayed: ReplayArguments,
    /// Folder for a page with the chart, and for all data; created if needed.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Writes the points as JSON; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    refused: RefusedArguments,
}

pub(super) fn run(arguments: &Arguments, catalogue: &Catalogue, command: &[String]) -> Result<(), CliError> {
    let replayed = &arguments.replayed;
    let vary = arguments.vary.iter().map(|text| Vary::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let machine = |text: &String| NamedMachine::parse(text, &replayed.config, &[], catalogue);
    let space = Space {
        machines: arguments.machine.iter().map(machine).collect::<Result<_, _>>()?,
        techniques: arguments.tech.iter().map(|list| words(list)).collect(),
        pairs: arguments.pairs,
        vary,
        zip: arguments.zip,
    };
    let set = replayed.set();
    let base = Base { config: &replayed.config, set: &set };
    let points = space.points(base, catalogue)?;
    replayed.selection()?;
    output::check(arguments.json.as_deref())?;
    arguments.output.as_deref().map_or(Ok(()), output::check_page)?;
    let mut left_out = LeftOut::of(arguments.traces.len());
    let mut traces = Vec::new();
    for (path, label) in arguments.traces.iter().zip(unique_labels(&arguments.traces)) {
        traces.extend(left_out.unless(path, output::open_trace(path))?.map(|trace| (label, trace)));
    }
    let loaded = load(&replayed.config, &set)?;
    let mut provenance = Provenance::new(command).on(&loaded, &set);
    let mut names: Vec<String> = space.machines.iter().map(|machine| machine.name.clone()).collect();
    if names.is_empty() {
        names.push(loaded.config.name.clone());
    }
    for machine in &space.machines {
        let set = [base.set_of(&machine.config), &machine.set].concat();
        let loaded = load(&machine.config, &set)?;
        let techniques = catalogue.select(&machine.tech, &loaded.config).map_err(|why| why.to_string())?;
        provenance = provenance.beside(&machine.name, &loaded, &techniques);
    }
    traces.iter().try_for_each(|(_, trace)| provenance.add(trace))?;
    let requested = Requested {
        traces: traces
            .iter()
            .map(|(label, trace)| (label.clone(), trace.path().to_owned(), Ok(trace)))
            .collect(),
        kernels: replayed.kernels.as_deref(),
        launches: replayed.launches.as_deref(),
    };
    let plan = explore::plan(base, &points, requested, catalogue)?;
    arguments.refused.check(&plan)?;
    let store = arguments.output.clone().map(Store::at);
    let sweep =
        Sweep { plan: &plan, store: store.as_ref(), catalogue, threads: replayed.threads(), retry: false };
    if store.is_some() {
        on_interrupt(GOES_ON);
    }
    let bar = LateBar::new(format!("{} points", points.len()));
    let started = Instant::now();
    let progress = |at: Progress| {
        let left = time_left(at.worked as usize, at.left as usize, started.elapsed());
        bar.update(at.done as u64, at.of as u64, &format!("{} of {} replays{left}", at.done, at.of));
    };
    let all: Vec<usize> = (0..plan.runs.len()).collect();
    let results = sweep.run(&all, &progress);
    drop(bar);
    store.iter().for_each(output::warn_of_damage);
    if let Some(why) = results.stopped {
        return Err(CliError(format!("{why}; the same command goes on from what is finished")));
    }
    let explored = explore::explored(&plan, &points, &results)?;
    if !output::is_stdout(arguments.json.as_deref()) {
        output::print(&format!("{}\n", explore::table(&explored).to_text()))?;
    }
    let labels: Vec<String> = traces.into_iter().map(|(label, _)| label).collect();
    if let Some(folder) = &arguments.output {
        let about = [
            (if names.len() == 1 { "Machine" } else { "Machines" }, names.join("; ")),
            ("Traces", labels.join(", ")),
            ("Points", points.len().to_string()),
        ];
        let written =
            explore::page(&explored, &labels, &about).produced_by(provenance.to_json()).write(folder)?;
        output::print(&format!("{}\n{}\n", written.html.display(), written.json.display()))?;
    }
    if let Some(path) = &arguments.json {
        let mut value = to_json(&explored, &labels);
        value["config"] = json!(loaded.config.name);
        left_out.add_to(&mut value);
        value[KEY] = provenance.to_json();
        output::write_file(path, &(serde_json::to_string_pretty(&value)? + "\n"))?;
    }
    let mut failed = 0;
    for one in &explored {
        if let Err(why) = &one.score {
            warplab_host::say!("error: {} is left out: {why}", one.point.label);
            failed += 1;
        }
    }
    match failed {
        0 => left_out.verdict(),
        1 => Err("one point is left out".into()),
        many => Err(CliError(format!("{many} points are left out"))),
    }
}

fn to_json(explored: &[Explored], traces: &[String]) -> Value {
    let (marks, plain) = explore::marks(explored);
    let point = |(one, mark): (&Explored, &Option<bool>)| {
        let mut value = json!({ "label": one.point.label, "config": one.point.config, "techniques": one.point.tech, "set": one.point.set });
        match &one.score {
            Ok(score) => {
                value["ipc_ratio"] = json!(score.speed);
                value["rf_energy_ratio"] = json!(score.energy);
                value["storage_bits_per_sm"] = json!(score.storage_bits);
                value["front"] = json!(mark);
                value["ipc_ratio_by_trace"] =
                    traces.iter().cloned().zip(one.speeds.iter().map(|s| json!(s))).collect();
            }
            Err(why) => value["left_out"] = json!(why),
        }
        value
    };
    let points: Vec<Value> = explored.iter().zip(&marks).map(point).collect();
    json!({ "schema": "warplab-explore/1", "points": points, "plain_on_front": plain })
}
