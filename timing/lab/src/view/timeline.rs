//! Trace-event JSON, which Perfetto and chrome://tracing open: a process per SM, a track per scheduler slot, block
//! slot and warp slot, requests to memory as asynchronous events, launches by stream; counter tracks ([`counters`]); the
//! accesses to L2 with arrows from loads ([`l2`]).
//!
//! A cycle of the SM clock is shown as a microsecond, the unit of the format.

use crate::observe::record::{NEVER, Recording, RequestRecord, SlotRun, Stay};
use crate::provenance::KEY;
use crate::replay::{LaunchStats, Replay};
use crate::stats::{Column, Stall, TechniqueStats};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use trace_format::isa::MachineKernel;
use trace_format::reader::Trace;
use warplab_model::observe::{RequestKind, Token};

mod counters;
mod l2;
mod writer;

use writer::{Event, Writer, slot_track};

/// First tracks of block slots and of warp slots, after those of scheduler slots.
const BLOCK_TRACKS: u32 = 100;
const WARP_TRACKS: u32 = 200;

/// What a timeline contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Events of the format.
    pub events: u64,
    /// Counter tracks.
    pub counter_tracks: u64,
    /// Loads with arrows to L2.
    pub loads: u64,
    /// Arrows.
    pub arrows: u64,
    /// Arrows beyond the limit.
    pub arrows_left_out: u64,
    /// Bytes.
    pub bytes: u64,
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contents { events, counter_tracks, loads, arrows, .. } = self;
        write!(
            f,
            "{events} events, {counter_tracks} counter tracks, {loads} loads with {arrows} arrows to L2"
        )?;
        if self.arrows_left_out > 0 {
            write!(f, " ({} more arrows left out: choose with --window or --sms)", self.arrows_left_out)?;
        }
        write!(f, ", {}", super::size(self.bytes))
    }
}

/// Writes the recordings of observed SMs, the series if there is one, and what produced them. Returns what was written.
/// Without columns, the series becomes tracks of rates.
///
/// # Errors
/// The output cannot be written.
pub fn write(
    out: impl Write,
    trace: &Trace,
    replay: &Replay,
    columns: &[Column],
    produced_by: &Value,
) -> io::Result<Contents> {
    let mut writer = Writer::new(out);
    let about = json!({ "time": "1 us is 1 cycle of the SM clock", KEY: produced_by });
    write!(writer.out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":[")?;
    launches(&mut writer, replay)?;
    counters::of_gpu(&mut writer, replay, columns)?;
    let mut named = BTreeSet::new();
    for (position, recording) in &replay.recordings {
        let launch = replay.launches.get(*position);
        let kernel = trace.kernel(launch.kernel_index);
        let pid = recording.sm as u32 + 1;
        if named.insert((pid, 0)) {
            writer.name(pid, 0, "process_name", json!({ "name": format!("SM {}", recording.sm) }))?;
            writer.name(pid, 0, "process_sort_index", json!({ "sort_index": pid }))?;
        }
        tracks(&mut writer, &mut named, pid, recording)?;
        spans(&mut writer, pid, recording, kernel, &launch.stats.techniques)?;
    }
    counters::of_sms(&mut writer, replay)?;
    l2::write(&mut writer, replay)?;
    writer.out.write_all(b"\n]}\n")?;
    writer.out.flush()?;
    Ok(Contents {
        events: writer.events,
        counter_tracks: writer.tracks.len() as u64,
        loads: writer.loads,
        arrows: writer.arrows,
        arrows_left_out: writer.arrows_left_out,
        bytes: writer.out.bytes,
    })
}

/// The launches by stream, as a separate process.
fn launches<W: Write>(writer: &mut Writer<W>, replay: &Replay) -> io::Result<()> {
    writer.name(0, 0, "process_name", json!({ "name": "GPU" }))?;
    let streams: BTreeSet<u64> = replay.launches.iter().map(|launch| launch.stream).collect();
    let track = |stream: u64| streams.iter().position(|one| *one == stream).map_or(0, |at| at as u32 + 1);
    for stream in &streams {
        writer.name(
            0,
            track(*stream),
            "thread_name",
            json!({ "name": format!("launches of stream {stream}") }),
        )?;
    }
    for launch in replay.launches.iter() {
        let args = launch_args(&launch);
        writer.span(
            (0, track(launch.stream)),
            &warplab_host::symbols::signature(&launch.kernel),
            (launch.launched_at, launch.ended_at),
            args,
        )?;
    }
    Ok(())
}

fn launch_args(launch: &LaunchStats) -> Value {
    json!({
        "launch": launch.launch,
        "kernel": launch.kernel,
        "blocks": launch.blocks,
        "threads per block": launch.threads_per_block,
        "blocks per SM": launch.blocks_per_sm,
    })
}

/// Names the tracks that a recording uses.
fn tracks<W: Write>(
    writer: &mut Writer<W>,
    named: &mut BTreeSet<(u32, u32)>,
    pid: u32,
    recording: &Recording,
) -> io::Result<()> {
    let slots = recording.slots.iter().map(|run| {
        let second = if run.slot == 0 { "" } else { ", second slot" };
        (slot_track(run), format!("scheduler {}{second}", run.scheduler))
    });
    let blocks = recording.blocks.iter().map(|stay| stay.place);
    let blocks = blocks.map(|place| (BLOCK_TRACKS + u32::from(place), format!("block slot {place}")));
    let warps = recording.warps.iter().chain(&recording.barriers).map(|stay| stay.place);
    let warps = warps.map(|place| (WARP_TRACKS + u32::from(place), format!("warp slot {place}")));
    let all: std::collections::BTreeMap<u32, String> = slots.chain(blocks).chain(warps).collect();
    for (tid, name) in all {
        if named.insert((pid, tid)) {
            writer.name(pid, tid, "thread_name", json!({ "name": name }))?;
            writer.name(pid, tid, "thread_sort_index", json!({ "sort_index": tid }))?;
        }
    }
    Ok(())
}

/// Cause for which a slot stayed empty; a technique is named with its cause.
fn lost_to(run: &SlotRun, techniques: &[TechniqueStats]) -> String {
    let own = run.held.and_then(|(by, cause)| {
        let info = techniques.get(usize::from(by))?.info;
        Some(format!("{}: {}", info.name, info.stalls.get(usize::from(cause))?.name))
    });
    own.unwrap_or_else(|| run.cause.name().to_owned()).replace('_', " ")
}

/// The spans of a recording, track by track in order of time.
fn spans<W: Write>(
    writer: &mut Writer<W>,
    pid: u32,
    recording: &Recording,
    kernel: &MachineKernel,
    techniques: &[TechniqueStats],
) -> io::Result<()> {
    let mut slots: Vec<&SlotRun> = recording.slots.iter().collect();
    slots.sort_by_key(|run| (slot_track(run), run.start));
    for run in slots {
        let track = (pid, slot_track(run));
        if run.cause != Stall::Issued {
            writer.span(track, &lost_to(run, techniques), (run.start, run.end), Value::Null)?;
            continue;
        }
        let Some(record) = recording.insts.get(run.inst as usize) else {
            // The instruction is beyond the limit of kept records.
            writer.span(track, "issue", (run.start, run.end), Value::Null)?;
            continue;
        };
        let text = super::text(kernel, record);
        let name = text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or("issue");
        let mut args = json!({
            "instruction": text,
            "pc": format!("{:#06x}", record.pc * 8),
            "block": record.block,
            "warp": record.warp,
            "lanes": record.exec.count_ones(),
        });
        if let Some(places) = super::places(kernel, record) {
            args["lines"] = json!(places);
        }
        writer.span(track, name, (run.start, run.end), args)?;
    }
    for stay in &recording.blocks {
        let track = (pid, BLOCK_TRACKS + u32::from(stay.place));
        writer.span(track, &format!("block {}", stay.block), (stay.start, stay.end), Value::Null)?;
    }
    warps(writer, pid, recording)?;
    requests(writer, pid, &recording.requests)
}

/// Warps with their waits at barriers inside, by warp slot.
fn warps<W: Write>(writer: &mut Writer<W>, pid: u32, recording: &Recording) -> io::Result<()> {
    let all = recording.warps.iter().map(|stay| (stay, false));
    let mut all: Vec<(&Stay, bool)> = all.chain(recording.barriers.iter().map(|stay| (stay, true))).collect();
    all.sort_by_key(|(stay, barrier)| (stay.place, stay.start, *barrier));
    for (stay, barrier) in all {
        let warp = format!("block {} warp {}", stay.block, stay.warp);
        let name = if barrier { "barrier" } else { &warp };
        let track = (pid, WARP_TRACKS + u32::from(stay.place));
        writer.span(track, name, (stay.start, stay.end), Value::Null)?;
    }
    Ok(())
}

fn requests<W: Write>(writer: &mut Writer<W>, pid: u32, requests: &[RequestRecord]) -> io::Result<()> {
    for request in requests {
        writer.requests += 1;
        let name = match (request.token, request.kind) {
            (Token::InstructionCache, _) => "instruction line",
            (Token::ConstantCache, _) => "constant line",
            (_, RequestKind::Read) => "read",
            (_, RequestKind::Write { .. }) => "write",
            (_, RequestKind::Atomic { .. }) => "atomic",
        };
        let args = json!({ "line": format!("{:#x}", request.line), "sectors": request.sectors.count_ones() });
        let event = |ph, ts, args| Event {
            ph,
            pid,
            tid: 0,
            ts,
            dur: None,
            name,
            cat: Some("memory"),
            id: Some(writer.requests),
            bp: None,
            args,
        };
        let begin = event("b", request.sent, args);
        // A request without reply ends in its own cycle.
        let end =
            event("e", if request.answered == NEVER { request.sent } else { request.answered }, Value::Null);
        writer.event(&begin)?;
        writer.event(&end)?;
    }
    Ok(())
}
