//! Structure of the file, from its bytes alone: records without gaps from preamble to footer, hashes, the
//! index against what is really there, frame directories.

use super::Report;
use crate::container::TraceError;
use crate::container::format::{self, FOOTER_BYTES, PREAMBLE_BYTES, RecordRef};
use crate::container::frame::{Frame, FrameHead, FrameValues};
use crate::reader::Trace;

/// Walks the file and adds what is wrong to the report.
pub(super) fn check(trace: &Trace, report: &mut Report) -> Result<(), TraceError> {
    let path = trace.path();
    let file = std::fs::File::open(path).map_err(|e| TraceError::io(path, "open", e))?;
    // SAFETY: read only; `Trace::open` already asks that the file does not change.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| TraceError::io(path, "map", e))?;
    let mut offset = PREAMBLE_BYTES as u64;
    let end = map.len().saturating_sub(FOOTER_BYTES) as u64;
    let (mut records, mut frames) = (Vec::new(), Vec::new());
    while let Some(record) = RecordRef::at(&map, offset) {
        let name = String::from_utf8_lossy(&record.tag).into_owned();
        let place = format!("record {name} at byte {offset}");
        if !record.is_intact() {
            report.add(place, "its bytes do not fit its hash");
            break;
        }
        report.records += 1;
        match record.tag {
            format::FRAME => {
                frames.push((offset, record.bytes(), FrameHead::of(record.payload)));
                check_frame(trace, frames.len() - 1, record.payload, report);
            }
            format::INDEX => {
                offset += record.bytes();
                break;
            }
            tag => records.push((tag, offset, record.bytes())),
        }
        offset += record.bytes();
    }
    if trace.incomplete().is_none() {
        if offset != end {
            report.add("file", format!("records end at byte {offset}, the footer begins at byte {end}"));
        }
        let indexed: Vec<_> = trace.frames().iter().map(|f| (f.offset, f.bytes, Some(f.head))).collect();
        if indexed != frames {
            report.add("index", "it does not list the frames that are in the file");
        }
        if trace.records() != records {
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
