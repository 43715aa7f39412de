//! Counter tracks: the GPU's from samples of the counters, and those of each shown SM from its records.

use super::writer::Writer;
use crate::observe::record::{NEVER, Recording};
use crate::replay::Replay;
use crate::stats::{Column, Counters, Sample, Series, Stall};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use warplab_model::observe::RequestKind;

/// Most points of all counter tracks of SMs, and points that each track may have in any case.
const MOST_POINTS: usize = 100_000;
const FEWEST_POINTS: usize = 50;
/// Most rows of all series together that become points.
const MOST_ROWS: usize = 20_000;

/// Counter tracks of the GPU: name, and value of an interval.
type Track = (&'static str, fn(&Counters) -> f64);
const TRACKS: &[Track] = &[
    ("instructions per cycle", Counters::ipc),
    ("resident warps", |c| per(c.resident_warp_cycles, c.cycles)),
    ("L1 hits, % of accesses", |c| 100.0 * per(c.l1_hits, c.l1_accesses)),
    ("L2 hits, % of accesses", |c| 100.0 * per(c.l2_hits, c.l2_accesses)),
    ("DRAM bytes per cycle", |c| per(c.dram_bytes, c.cycles)),
];

fn per(amount: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { amount as f64 / of as f64 }
}

/// The samples as counters of the GPU, each value at the beginning of its interval. Without chosen columns the tracks
/// are rates in words and the use of the issue slots.
pub(super) fn of_gpu<W: Write>(
    writer: &mut Writer<W>,
    replay: &Replay,
    columns: &[Column],
) -> io::Result<()> {
    let rows: usize = replay.series.iter().map(|(_, series)| series.rows.len()).sum();
    let together = rows.div_ceil(MOST_ROWS).max(1);
    for (launches, series) in &replay.series {
        let start = replay.launches.get(launches.start).launched_at;
        if columns.is_empty() {
            let own =
                Column::default_of(&replay.total.techniques.iter().map(|one| one.info).collect::<Vec<_>>());
            let own: Vec<Column> =
                own.into_iter().filter(|one| matches!(one, Column::Technique(..))).collect();
            rates(writer, series, start, together, &own)?;
        } else {
            chosen(writer, series, start, columns)?;
        }
    }
    Ok(())
}

/// The columns that the user chose, by their names.
fn chosen<W: Write>(
    writer: &mut Writer<W>,
    series: &Series,
    start: u64,
    columns: &[Column],
) -> io::Result<()> {
    for (index, row) in series.rows.iter().enumerate() {
        let ts = start + index as u64 * series.interval;
        for column in columns {
            writer.counter(0, &column.name(), ts, json!({ "value": column.value(row) }))?;
        }
    }
    Ok(())
}

/// The default tracks, of several rows together where there are too many.
fn rates<W: Write>(
    writer: &mut Writer<W>,
    series: &Series,
    start: u64,
    together: usize,
    own: &[Column],
) -> io::Result<()> {
    let occurs = |cause: &&Stall| series.rows.iter().any(|row| row.stalls.get(**cause) > 0);
    let causes: Vec<Stall> = Stall::ALL.iter().filter(occurs).copied().collect();
    for (index, rows) in series.rows.chunks(together).enumerate() {
        let ts = start + (index * together) as u64 * series.interval;
        let mut row = Sample::default();
        rows.iter().for_each(|one| row.merge(one));
        for (name, value) in TRACKS {
            writer.counter(0, name, ts, json!({ "value": rounded(value(&row.counters)) }))?;
        }
        let slots = row.stalls.total();
        let shares = causes.iter().map(|cause| {
            let share = rounded(100.0 * per(row.stalls.get(*cause), slots));
            (cause.name().replace('_', " "), share.into())
        });
        writer.counter(0, "issue slots, %", ts, Value::Object(shares.collect::<Map<_, _>>()))?;
        for column in own {
            writer.counter(0, &column.name(), ts, json!({ "value": column.value(&row) }))?;
        }
    }
    // A counter keeps its last value; the launch ends here.
    let end = start + series.cycles;
    for (name, _) in TRACKS {
        writer.counter(0, name, end, json!({ "value": 0 }))?;
    }
    let none = causes.iter().map(|cause| (cause.name().replace('_', " "), 0.into()));
    writer.counter(0, "issue slots, %", end, Value::Object(none.collect::<Map<_, _>>()))
}

fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// Points that each counter track of an SM may have.
fn points_of_each(replay: &Replay) -> usize {
    let recordings: usize = replay.recordings.len();
    (MOST_POINTS / (3 * recordings.max(1))).clamp(FEWEST_POINTS, 1000)
}

/// The counter tracks of the shown SMs: averages over intervals of equal length within what is shown of a launch.
pub(super) fn of_sms<W: Write>(writer: &mut Writer<W>, replay: &Replay) -> io::Result<()> {
    let points = points_of_each(replay);
    for (_, recording) in &replay.recordings {
        let start = recording.slots.iter().map(|run| run.start).min();
        let end = recording.slots.iter().map(|run| run.end).max();
        let Some((start, end)) = start.zip(end) else { continue };
        let width = (end - start).div_ceil(points as u64).max(1);
        let pid = recording.sm as u32 + 1;
        for (name, spans) in tracks_of(recording) {
            let mut sums = Intervals::new(start, end, width);
            spans.into_iter().for_each(|(from, to)| sums.add(from, to));
            sums.write(writer, pid, name)?;
        }
    }
    Ok(())
}

/// Counter tracks of an SM: each counts the spans that lie over a cycle.
fn tracks_of(recording: &Recording) -> [(&'static str, Vec<(u64, u64)>); 3] {
    let issued = recording.insts.iter().map(|inst| inst.issued).filter(|issued| *issued != NEVER);
    let loads = recording.requests.iter().filter(|one| !matches!(one.kind, RequestKind::Write { .. }));
    [
        ("instructions issued per cycle", issued.map(|at| (at, at + 1)).collect()),
        // One without a reply is still on its way at the end of what is shown.
        ("reads of L2 in flight", loads.map(|one| (one.sent, one.answered)).collect()),
        ("resident warps", recording.warps.iter().map(|stay| (stay.start, stay.end)).collect()),
    ]
}

/// Sums of spans by interval.
struct Intervals {
    start: u64,
    end: u64,
    width: u64,
    cycles: Vec<u64>,
}

impl Intervals {
    fn new(start: u64, end: u64, width: u64) -> Intervals {
        Intervals { start, end, width, cycles: vec![0; (end - start).div_ceil(width) as usize] }
    }

    /// Adds the cycles of a span to the intervals that it touches.
    fn add(&mut self, from: u64, to: u64) {
        let (mut from, to) = (from.max(self.start), to.min(self.end));
        while from < to {
            let index = (from - self.start) / self.width;
            let next = (self.start + (index + 1) * self.width).min(to);
            self.cycles[index as usize] += next - from;
            from = next;
        }
    }

    /// Writes the averages, each where it differs from the one before, and zero at the end.
    fn write<W: Write>(&self, writer: &mut Writer<W>, pid: u32, name: &str) -> io::Result<()> {
        let mut before = None;
        for (index, cycles) in self.cycles.iter().enumerate() {
            let ts = self.start + index as u64 * self.width;
            let value = rounded(per(*cycles, self.width.min(self.end - ts)));
            if before.replace(value) != Some(value) {
                writer.counter(pid, name, ts, json!({ "value": value }))?;
            }
        }
        writer.counter(pid, name, self.end, json!({ "value": 0 }))
    }
}
