//! Views of a replay: files for viewers, made of the records of observed SMs ([`crate::observe`]) and of samples of the
//! counters.

pub mod konata;
pub mod timeline;

use crate::observe::record::{InstRecord, Origin};
use std::io::{self, Write};
use trace_format::isa::MachineKernel;

/// The lines that an instruction comes from: of the source, if it is known, and of the translated code.
fn places(kernel: &MachineKernel, record: &InstRecord) -> Option<String> {
    let line = kernel.lines.get(record.pc as usize).filter(|_| record.origin == Origin::Program)?;
    let places: Vec<String> = [line.source, line.code]
        .into_iter()
        .filter_map(|at| kernel.place(at))
        .map(|at| at.to_string())
        .collect();
    (!places.is_empty()).then(|| places.join(", "))
}

/// Listing text of an instruction.
fn text(kernel: &MachineKernel, record: &InstRecord) -> String {
    match (record.origin, kernel.insts.get(record.pc as usize)) {
        (Origin::Inserted, _) => "(inserted)".to_owned(),
        (Origin::Program, Some(inst)) => inst.to_string(),
        (Origin::Program, None) => "?".to_owned(),
    }
}

/// Counts the bytes of a file.
struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W> Counted<W> {
    fn new(out: W) -> Counted<W> {
        Counted { out, bytes: 0 }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A size in the unit in which it is short.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..1_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
