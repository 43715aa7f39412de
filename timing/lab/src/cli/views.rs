//! The flags of `timing replay` that look into the pipeline: timelines, the Konata log and time series.

use super::error::CliError;
use super::output;
use crate::config::GpuConfig;
use crate::observe::ViewOptions;
use crate::observe::record::MOST_RECORDS;
use crate::provenance::{KEY, Provenance};
use crate::replay::{LaunchStats, Replay};
use crate::stats::Column;
use crate::techniques::{Technique, TechniqueInfo};
use crate::view::{konata, timeline};
use clap::Args;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use trace_format::reader::Trace;
use warplab_host::text::cell;
use xxhash_rust::xxh3::Xxh3;

/// Interval in cycles of the samples for a timeline when none is requested; it doubles whenever a launch has this many.
const FIRST_INTERVAL: u64 = 32;
const MOST_SAMPLES: usize = 512;

/// The views to record, and their files.
#[derive(Args, Debug)]
#[command(next_help_heading = "Views")]
pub(super) struct ViewArguments {
    /// Writes a timeline that Perfetto and chrome://tracing open: schedulers, blocks, warps, requests, counters, and
    /// accesses to L2 with arrows from their loads.
    #[arg(long, value_name = "OUT.json")]
    timeline: Option<PathBuf>,
    /// Writes the stages of every instruction and what it waited for, as the Konata pipeline viewer opens them.
    #[arg(long, value_name = "OUT")]
    konata: Option<PathBuf>,
    /// Cycles that --timeline and --konata show, counted from the beginning of the replay; the end is not included.
    #[arg(long, value_name = "A-B")]
    window: Option<String>,
    /// SMs that --timeline and --konata show: 0 or 2-5.
    #[arg(long, value_name = "A-B")]
    sms: Option<String>,
    /// Samples counters at this interval in cycles.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..))]
    interval: Option<u64>,
    /// Writes the samples as CSV, or as JSON where the name ends in .json; `-` for CSV on stdout.
    #[arg(long, value_name = "FILE", requires = "interval")]
    series: Option<PathBuf>,
    /// Columns of the samples: counters, stall_CAUSE, ipc (`timing list --counters` shows all), and what a technique
    /// declares: NAME.COUNTER, NAME.stall_CAUSE, NAME.lost_CAUSE, NAME.supplied (`timing list NAME`).
    #[arg(long, value_delimiter = ',', value_name = "A,B", requires = "interval")]
    columns: Vec<String>,
}

impl ViewArguments {
    fn shows_pipeline(&self) -> bool {
        self.timeline.is_some() || self.konata.is_some()
    }

    /// The files that are written.
    pub(super) fn files(&self) -> impl Iterator<Item = Option<&Path>> {
        [&self.timeline, &self.konata, &self.series].map(Option::as_deref).into_iter()
    }

    /// The views that must be recorded.
    pub(super) fn check(
        &self,
        traces: usize,
        json: bool,
        config: &GpuConfig,
        techniques: &[Box<dyn Technique>],
    ) -> Result<ViewOptions, CliError> {
        if traces > 1 && (self.shows_pipeline() || self.series.is_some()) {
            return Err("--timeline, --konata and --series show one trace at a time".into());
        }
        if !self.shows_pipeline() && (self.window.is_some() || self.sms.is_some()) {
            return Err("--window and --sms apply to --timeline or --konata; give one of these".into());
        }
        let infos: Vec<&TechniqueInfo> = techniques.iter().map(|technique| technique.info()).collect();
        self.columns(&infos)?;
        if self.interval.is_some() && self.series.is_none() && self.timeline.is_none() && !json {
            return Err(
                "--interval takes samples, which nothing shows; add --series, --timeline or --json".into()
            );
        }
        self.files().try_for_each(output::check)?;
        let count = config.gpu.sms as usize;
        let sms = self.sms.as_deref().map_or(Ok(0..count), |text| sm_range(text, count))?;
        let window = self.window.as_deref().map_or(Ok(0..u64::MAX), window)?;
        Ok(ViewOptions {
            most_records: MOST_RECORDS / sms.len().max(1),
            window: self.shows_pipeline().then_some(window),
            sms,
            // The counter tracks of a timeline; without a requested interval, one that grows with the kernel.
            interval: self.interval.or(self.timeline.is_some().then_some(FIRST_INTERVAL)),
            most_samples: if self.interval.is_some() { usize::MAX } else { MOST_SAMPLES },
            waits: self.konata.is_some(),
        })
    }

    fn columns(&self, techniques: &[&TechniqueInfo]) -> Result<Vec<Column>, CliError> {
        if self.columns.is_empty() {
            return Ok(Column::default_of(techniques));
        }
        let find = |name: &String| Column::find(name, techniques);
        Ok(self.columns.iter().map(find).collect::<Result<Vec<_>, _>>()?)
    }

    /// The columns of a replay.
    fn columns_of(&self, replay: &Replay) -> Result<Vec<Column>, CliError> {
        let infos: Vec<&TechniqueInfo> = replay.total.techniques.iter().map(|one| one.info).collect();
        self.columns(&infos)
    }

    /// Writes the requested files.
    pub(super) fn write(&self, trace: &Trace, replay: &Replay, by: &Provenance) -> Result<(), CliError> {
        let columns = self.columns_of(replay)?;
        if let Some(text) = self.window.as_deref() {
            let (window, cycles) = (window(text)?, replay.total.counters.cycles);
            if window.start >= cycles {
                return Err(CliError(format!(
                    "--window {text}: the replay ends at cycle {cycles}; nothing is shown"
                )));
            }
        }
        if let Some(path) = &self.timeline {
            // Columns that nobody chose would hide rates behind sums.
            let columns = if self.columns.is_empty() { &[][..] } else { &columns };
            let mut contents = None;
            output::write_with(path, |out| {
                contents = Some(timeline::write(out, trace, replay, columns, &by.to_json())?);
                Ok(())
            })?;
            let contents = contents.map_or(String::new(), |contents| contents.to_string());
            self.tell(path, replay, &format!("{contents}; for ui.perfetto.dev or chrome://tracing"));
        }
        if let Some(path) = &self.konata {
            let (mut contents, mut hash) = (None, Xxh3::new());
            output::write_with(path, |out| {
                let out = Hashed { out, hash: &mut hash };
                contents = Some(konata::write(out, trace, replay, &by.command())?);
                Ok(())
            })?;
            let bytes = contents.map_or(0, |contents| contents.bytes);
            output::write_sidecar(path, hash.digest(), bytes, &by.to_json())?;
            let contents = contents.map_or(String::new(), |contents| contents.to_string());
            self.tell(path, replay, &format!("{contents}; for the Konata pipeline viewer"));
        }
        let full = replay.recordings.iter().map(|(_, one)| one);
        if let Some((sm, cycle)) =
            full.filter_map(|one| Some((one.sm, one.full_at?))).min_by_key(|full| full.1)
        {
            warplab_host::say!(
                "note: more events than a viewer can show; SM {sm} is shown only up to cycle {cycle}, others up to \
                 about there. Choose with --window, --sms or --launches"
            );
        }
        if let Some(path) = &self.series {
            if path.extension().is_some_and(|extension| extension == "json") {
                let series = replay.series_to_json(&columns);
                let value = json!({ "schema": "warplab-series/1", "series": series, KEY: by.to_json() });
                output::write_file(path, &format!("{value:#}\n"))?;
            } else {
                output::write_table(path, &csv(replay, &columns)?, &by.to_json())?;
            }
        }
        Ok(())
    }

    /// Says what a view shows, unless it is standard output.
    fn tell(&self, path: &Path, replay: &Replay, what: &str) {
        if output::is_stdout(Some(path)) {
            return;
        }
        let sms: std::collections::BTreeSet<usize> =
            replay.recordings.iter().map(|(_, one)| one.sm).collect();
        let sms = match (sms.first(), sms.last()) {
            (Some(first), Some(last)) if first != last => format!("SMs {first}-{last}"),
            (Some(only), _) => format!("SM {only}"),
            _ => "no SM".into(),
        };
        let window = self.window.as_deref().map_or(String::new(), |text| format!(", cycles {text}"));
        warplab_host::say!("{}: {sms}{window}: {what}", path.display());
    }

    /// Adds the samples of each trace to the JSON of a replay.
    pub(super) fn add_series<'a>(
        &self,
        value: &mut Value,
        replays: impl Iterator<Item = &'a Replay>,
    ) -> Result<(), CliError> {
        let asked = |replay: &&Replay| self.interval.is_some() && !replay.series.is_empty();
        for (index, replay) in replays.enumerate().filter(|(_, replay)| asked(replay)) {
            let columns = self.columns_of(replay)?;
            value["traces"][index]["series"] = replay.series_to_json(&columns);
        }
        Ok(())
    }
}

/// Hashes what is written.
struct Hashed<'a, W> {
    out: W,
    hash: &'a mut Xxh3,
}

impl<W: Write> Write for Hashed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A row per interval: the launch, the cycle at which it ends, and the columns.
fn csv(replay: &Replay, columns: &[Column]) -> Result<String, CliError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let start = ["launch", "kernel", "end_cycle"].map(str::to_owned);
    writer.write_record(start.into_iter().chain(columns.iter().map(Column::name)))?;
    for (launches, series) in &replay.series {
        let launches: Vec<LaunchStats> = replay.launches.range(launches.clone()).collect();
        let numbers = launches.iter().map(|launch| launch.launch.to_string()).collect::<Vec<_>>().join("+");
        let names = launches.iter().map(|launch| launch.kernel.as_str()).collect::<Vec<_>>().join("+");
        for (end, row) in series.ends().zip(&series.rows) {
            let start = [numbers.clone(), names.clone(), end.to_string()];
            let values = columns.iter().map(|column| match column.value(row) {
                Value::Number(number) if number.is_f64() => format!("{:.6}", number.as_f64().unwrap_or(0.0)),
                value => value.to_string(),
            });
            let row = start.into_iter().chain(values);
            writer.write_record(row.map(|text| cell(&text).into_owned()))?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn window(text: &str) -> Result<Range<u64>, CliError> {
    let wrong = || {
        CliError(format!(
            "--window {text}: expected two cycles, the first below the second, such as 5000-8000"
        ))
    };
    let (from, to) = text.split_once('-').ok_or_else(wrong)?;
    let from: u64 = from.trim().parse().map_err(|_| wrong())?;
    let to = if to.trim().is_empty() { u64::MAX } else { to.trim().parse().map_err(|_| wrong())? };
    if from < to { Ok(from..to) } else { Err(wrong()) }
}

fn sm_range(text: &str, count: usize) -> Result<Range<usize>, CliError> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let range = from.trim().parse::<usize>().ok().zip(to.trim().parse::<usize>().ok());
    range.filter(|(from, to)| from <= to && *to < count).map(|(from, to)| from..to + 1).ok_or_else(|| {
        CliError(format!(
            "--sms {text}: expected a number or a range of the SMs 0-{}, such as 0 or 2-5",
            count - 1
        ))
    })
}
