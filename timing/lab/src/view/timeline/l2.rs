//! The accesses of shown SMs to L2: a process with a track per slice, and an arrow to each access of a load from the issue
//! of the load.

use super::writer::{Event, Writer, slot_track};
use crate::observe::record::{NEVER, Recording, RequestRecord};
use crate::replay::Replay;
use crate::stats::Stall;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};
use warplab_model::observe::{RequestKind, Served};

/// Process of the slices, behind those of the SMs.
const L2: u32 = 1_000_000;
/// Most arrows of a timeline: as many as a viewer draws at once.
const MOST_ARROWS: u64 = 200_000;

/// An access of a shown SM.
struct Access<'a> {
    recording: &'a Recording,
    request: &'a RequestRecord,
    /// Process, track and cycle of the load's issue.
    load: Option<(u32, u32, u64)>,
}

/// Writes the slices, their accesses and the arrows.
pub(super) fn write<W: Write>(writer: &mut Writer<W>, replay: &Replay) -> io::Result<()> {
    let mut accesses = Vec::new();
    for (_, recording) in &replay.recordings {
        collect(recording, &mut accesses);
    }
    accesses.sort_by_key(|access| (access.request.slice, access.request.looked_up));
    if accesses.is_empty() {
        return Ok(());
    }
    writer.name(L2, 0, "process_name", json!({ "name": "L2 (accesses of the SMs shown)" }))?;
    writer.name(L2, 0, "process_sort_index", json!({ "sort_index": L2 }))?;
    let slices: BTreeSet<u16> = accesses.iter().map(|access| access.request.slice).collect();
    for slice in slices {
        let tid = u32::from(slice) + 1;
        writer.name(L2, tid, "thread_name", json!({ "name": format!("slice {slice}") }))?;
        writer.name(L2, tid, "thread_sort_index", json!({ "sort_index": tid }))?;
    }
    let mut loads = BTreeSet::new();
    for access in &accesses {
        let request = access.request;
        let tid = u32::from(request.slice) + 1;
        let args = json!({
            "SM": access.recording.sm,
            "line": format!("{:#x}", request.line),
            "sectors": request.sectors.count_ones(),
            "cycles until the reply": request.answered - request.sent,
        });
        let at = request.looked_up;
        writer.span((L2, tid), name(request), (at, at + 1), args)?;
        let Some(load) = access.load else { continue };
        if writer.arrows == MOST_ARROWS {
            writer.arrows_left_out += 1;
            continue;
        }
        loads.insert(load);
        writer.arrows += 1;
        let (pid, track, issued) = load;
        arrow(writer, ("s", None), (pid, track), issued)?;
        arrow(writer, ("f", Some("e")), (L2, tid), at)?;
    }
    writer.loads += loads.len() as u64;
    Ok(())
}

/// The answered accesses of an SM, each with the issue of the load that first needed its sectors.
fn collect<'a>(recording: &'a Recording, accesses: &mut Vec<Access<'a>>) {
    let mut issues = vec![None; recording.insts.len()];
    for run in recording.slots.iter().filter(|run| run.cause == Stall::Issued) {
        if let Some(issue) = issues.get_mut(run.inst as usize) {
            *issue = Some((recording.sm as u32 + 1, slot_track(run), run.start));
        }
    }
    let answered = recording.requests.iter().filter(|request| request.answered != NEVER);
    accesses.extend(answered.map(|request| {
        let load = issues.get(request.inst as usize).copied().flatten();
        Access { recording, request, load: load.filter(|_| !is_store(request)) }
    }));
}

fn is_store(request: &RequestRecord) -> bool {
    matches!(request.kind, RequestKind::Write { .. })
}

fn name(request: &RequestRecord) -> &'static str {
    match (request.kind, request.served) {
        (RequestKind::Write { .. }, _) => "write",
        (RequestKind::Read, Served::Dram) => "read, from DRAM",
        (RequestKind::Read, _) => "read, hit",
        (RequestKind::Atomic { .. }, Served::Dram) => "atomic, from DRAM",
        (RequestKind::Atomic { .. }, _) => "atomic, hit",
    }
}

/// An end of an arrow: it belongs to the span that lies at its cycle on the track.
fn arrow<W: Write>(
    writer: &mut Writer<W>,
    (ph, bp): (&str, Option<&str>),
    (pid, tid): (u32, u32),
    ts: u64,
) -> io::Result<()> {
    let id = Some(writer.arrows);
    let args = Value::Null;
    writer.event(&Event { ph, pid, tid, ts, dur: None, name: "load", cat: Some("to L2"), id, bp, args })
}
