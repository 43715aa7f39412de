//! Structure of the file, from its bytes alone: records without gaps from preamble to footer, hashes, the
//! index against the file's records, frame directories.

use super::report::Report;
use crate::container::TraceError;
use crate::container::format::{self, FOOTER_BYTES, PREAMBLE_BYTES, RecordRef};
use crate::container::frame::{Frame, FrameHead, FrameValues};
use crate::reader::Trace;
use std::ops::ControlFlow;

/// Walks the file and adds problems to the report.
pub(super) fn check(trace: &Trace, report: &mut Report) -> Result<(), TraceError> {
    let mut offset = PREAMBLE_BYTES as u64;
    let end = trace.file_bytes().saturating_sub(FOOTER_BYTES as u64);
    // What the index lists, taken one by one: a list of what is in the file would grow with it.
    let (mut records, mut frames) = (trace.records().iter(), trace.frames().iter());
    let (mut same_records, mut same_frames, mut number) = (true, true, 0);
    let mut look = |offset: u64, record: RecordRef<'_>| {
        if !record.is_intact() {
            let name = String::from_utf8_lossy(&record.tag).into_owned();
            report.add(format!("record {name} at byte {offset}"), "its bytes do not match its hash");
            return ControlFlow::Break(0);
        }
        report.records += 1;
        match record.tag {
            format::FRAME => {
                let listed = frames.next().map(|f| (f.offset, f.bytes, Some(f.head)));
                same_frames &= listed == Some((offset, record.bytes(), FrameHead::of(record.payload)));
                check_frame(trace, number, record.payload, report);
                number += 1;
            }
            format::INDEX => return ControlFlow::Break(record.bytes()),
            tag => same_records &= records.next() == Some(&(tag, offset, record.bytes())),
        }
        ControlFlow::Continue(record.bytes())
    };
    let failed = |error| TraceError::io(trace.path(), "read", error);
    while let Some(flow) = trace.source().record(offset, |r| look(offset, r)).map_err(failed)? {
        offset += match flow {
            ControlFlow::Continue(bytes) | ControlFlow::Break(bytes) => bytes,
        };
        if flow.is_break() {
            break;
        }
    }
    if trace.incomplete().is_none() {
        if offset != end {
            report.add("file", format!("records end at byte {offset}, the footer begins at byte {end}"));
        }
        if !same_frames || frames.next().is_some() {
            report.add("index", "it does not list the frames that are in the file");
        }
        if !same_records || records.next().is_some() {
            report.add("index", "it does not list the records that are in the file");
        }
    }
    Ok(())
}

fn check_frame(trace: &Trace, number: usize, payload: &[u8], report: &mut Report) {
    let launch = FrameHead::of(payload).and_then(|h| trace.launches().get(h.launch as usize));
    let Some(launch) = launch else {
        report.add(format!("frame {number}"), "it belongs to no launch");
        return;
    };
    report.frames += 1;
    let parsed = Frame::parse(payload, launch.geometry.warps_per_block())
        .and_then(|_| FrameValues::parse(payload).map(|_| ()));
    if let Err(what) = parsed {
        report.add(format!("frame {number}"), what);
    }
}
