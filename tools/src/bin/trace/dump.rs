//! `trace dump`: a listing of what one warp executed.

use super::failure::Failure;
use super::summary;
use std::io::Write;
use trace_format::container::Contents;
use trace_format::isa::{Pred, Reg, Unit};
use trace_format::reader::{Step, Trace, WarpCursor};

/// Lists up to `limit` instructions of a warp after the first `skip`.
pub(crate) fn run(
    trace: &Trace,
    (launch, block, warp): (u32, u64, u32),
    skip: u64,
    limit: u64,
    out: &mut impl Write,
) -> Result<(), Failure> {
    // Blocks are selected by their number in the grid; the trace may hold a sample of them.
    let recorded = |l: &trace_format::reader::Launch| l.recorded_block(block);
    let position = trace.launches().get(launch as usize).and_then(recorded).unwrap_or(block);
    let mut cursor = match trace.header().contents {
        Contents::Values => trace.warp_cursor(launch, position, warp)?,
        Contents::Addresses | Contents::Imported => trace.slice_cursor(launch, position, warp)?,
    };
    let kernel = trace.kernel_of(launch);
    let geometry = trace.launches()[launch as usize].geometry;
    let [x, y, z] = geometry.block_index(block);
    writeln!(
        out,
        "{}: launch {launch} of {}, block {block} ({x}, {y}, {z}), warp {warp}",
        trace.path().display(),
        warplab_host::symbols::both(&kernel.name)
    )?;
    if let Some(why) = trace.header().contents.lack_of_values() {
        writeln!(out, "the trace {why} to see them")?;
    }
    writeln!(out, "{:>8}  {:<7} {:<10} {:<52} results", "step", "PC", "active", "instruction")?;
    let mut shown = None;
    let mut listed = 0;
    while listed < limit {
        let number = cursor.steps();
        let Some(step) = cursor.step()? else {
            writeln!(out, "end of the warp after {number} instructions")?;
            return Ok(());
        };
        if number >= skip {
            let inst = &kernel.insts[step.pc.index()];
            let line = kernel.lines[step.pc.index()];
            let places = [line.source, line.code].into_iter().filter_map(|at| kernel.place(at));
            let from = places.collect::<Vec<_>>().join(", ");
            if !from.is_empty() && shown != Some(line) {
                let text =
                    kernel.code_text(step.pc).map_or_else(String::new, |text| format!(": {}", text.trim()));
                writeln!(out, "          // {from}{text}")?;
                shown = Some(line);
            }
            let text = inst.to_string();
            let results = results(&cursor, trace, launch, step);
            writeln!(
                out,
                "{number:>8}  {:<7} {:#010x} {text:<52} {results}",
                step.pc.to_string(),
                step.active
            )?;
            listed += 1;
        }
    }
    Ok(())
}

/// Addresses, destination registers and predicates of the last step.
fn results(cursor: &WarpCursor, trace: &Trace, launch: u32, step: Step) -> String {
    let inst = &trace.kernel_of(launch).insts[step.pc.index()];
    if step.exec == 0 {
        return "no lane".into();
    }
    let mut parts = Vec::new();
    if step.exec != step.active {
        parts.push(format!("lanes {:#010x}", step.exec));
    }
    parts.extend(cursor.mem().map(summary::access));
    if !trace.header().has_values() {
        return parts.join(", ");
    }
    let float = matches!(inst.info().unit, Unit::Fp32);
    for Reg(n) in inst.dst_regs() {
        let row = cursor.warp().row(u16::from(n));
        parts.push(format!("R{n}={}", summary::row(row, step.exec, float)));
    }
    for Pred(n) in inst.dst_preds() {
        parts.push(format!("P{n}={:#010x}", cursor.warp().pred(n)));
    }
    parts.join(", ")
}
