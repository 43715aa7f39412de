//! Events of the trace-event format, written one by one and counted.

use crate::observe::record::SlotRun;
use crate::view::Counted;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// An event of the format.
#[derive(Serialize)]
pub(super) struct Event<'a> {
    pub(super) ph: &'a str,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) ts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dur: Option<u64>,
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cat: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u64>,
    /// Binding of the end of an arrow: `e` for the span that lies at its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) args: Value,
}

/// Writes events, and counts what a summary says.
pub(super) struct Writer<W> {
    pub(super) out: Counted<W>,
    pub(super) events: u64,
    pub(super) requests: u64,
    pub(super) tracks: BTreeSet<(u32, String)>,
    pub(super) loads: u64,
    pub(super) arrows: u64,
    pub(super) arrows_left_out: u64,
}

impl<W: Write> Writer<W> {
    /// A writer that has written nothing.
    pub(super) fn new(out: W) -> Writer<W> {
        Writer {
            out: Counted::new(out),
            events: 0,
            requests: 0,
            tracks: BTreeSet::new(),
            loads: 0,
            arrows: 0,
            arrows_left_out: 0,
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.out.write_all(if self.events == 0 { b"\n" } else { b",\n" })?;
        self.events += 1;
        serde_json::to_writer(&mut self.out, event)?;
        Ok(())
    }

    pub(super) fn span(
        &mut self,
        (pid, tid): (u32, u32),
        name: &str,
        (start, end): (u64, u64),
        args: Value,
    ) -> io::Result<()> {
        let dur = Some(end - start);
        self.event(&Event { ph: "X", pid, tid, ts: start, dur, name, cat: None, id: None, bp: None, args })
    }

    pub(super) fn name(&mut self, pid: u32, tid: u32, what: &str, args: Value) -> io::Result<()> {
        self.event(&Event {
            ph: "M",
            pid,
            tid,
            ts: 0,
            dur: None,
            name: what,
            cat: None,
            id: None,
            bp: None,
            args,
        })
    }

    pub(super) fn counter(&mut self, pid: u32, name: &str, ts: u64, args: Value) -> io::Result<()> {
        self.tracks.insert((pid, name.to_owned()));
        self.event(&Event { ph: "C", pid, tid: 0, ts, dur: None, name, cat: None, id: None, bp: None, args })
    }
}

/// Track of a scheduler slot.
pub(super) fn slot_track(run: &SlotRun) -> u32 {
    1 + u32::from(run.scheduler) * 2 + u32::from(run.slot)
}
