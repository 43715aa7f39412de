//! Kanata log, version 0004, which the Konata viewer opens: a row per warp instruction with its stages.
//!
//! Stages: `F` fetch and decode, `D` in the I-buffer until issue, `Oc` operand collection, `Du` collected and
//! waiting for a unit, `X` executing or `M` in the load/store unit and memory, `Wb` writeback. Control
//! instructions have `X` in the cycle of their issue. Fetched and discarded instructions are flushed. A
//! thread of the log is a warp slot.
//!
//! Lane 1 lies over these stages. It shows for what the warp waits while the instruction is its next one: the cause of a
//! stall (`memory_dependency`; `bow:window_full` for that of a technique), or `not_selected` if the warp could have issued
//! and its scheduler chose another one.

use super::Counted;
use crate::observe::record::{Fate, InstRecord, NEVER, Origin, Recording, Wait, WaitRun};
use crate::replay::Replay;
use crate::stats::{Stall, TechniqueStats};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, Write};
use trace_format::isa::{MachineKernel, Pc};
use trace_format::reader::Trace;
use warplab_host::symbols::signature;

/// Content of a log line, in the order of the lines of one cycle and instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Begin,
    /// End of a wait, by its name's position.
    WaitEnd(u16),
    Stage(&'static str),
    /// Start of a wait.
    Wait(u16),
    /// The instruction waited for another instruction's result.
    Woken(u32),
    End(bool),
}

/// What a log contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Instructions.
    pub instructions: usize,
    /// Waits on lane 1.
    pub waits: usize,
    /// Bytes.
    pub bytes: u64,
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contents { instructions, waits, bytes } = self;
        write!(
            f,
            "{instructions} instructions, {waits} waits with their causes on lane 1, {}",
            super::size(*bytes)
        )
    }
}

/// An instruction with its kernel and SM.
struct Shown<'a> {
    record: &'a InstRecord,
    kernel: &'a MachineKernel,
    sm: usize,
    /// Positions of its recording and within it.
    at: (usize, usize),
}

/// Writes the instructions recorded by observed SMs. The command that produced them is in the tooltip of the first one,
/// because the format has no comments. Returns what was written.
///
/// # Errors
/// The output cannot be written.
pub fn write(out: impl Write, trace: &Trace, replay: &Replay, command: &str) -> io::Result<Contents> {
    let mut out = Counted::new(out);
    let (mut rows, mut recordings) = (Vec::new(), Vec::new());
    for (position, recording) in &replay.recordings {
        let kernel = trace.kernel(replay.launches.get(*position).kernel_index);
        let insts = recording.insts.iter().enumerate();
        let place = recordings.len();
        rows.extend(insts.map(|(index, record)| Shown {
            record,
            kernel,
            sm: recording.sm,
            at: (place, index),
        }));
        recordings.push(recording);
    }
    rows.sort_by_key(|row| (row.record.fetched, row.sm));
    let mut ids: Vec<Vec<u32>> = recordings.iter().map(|recording| vec![0; recording.insts.len()]).collect();
    for (id, Shown { at: (place, index), .. }) in rows.iter().enumerate() {
        ids[*place][*index] = id as u32;
    }
    let mut lines: Vec<(u64, u32, Line)> = Vec::new();
    for (id, row) in rows.iter().enumerate() {
        row_lines(row, id as u32, &mut lines);
    }
    wake_ups(&rows, &mut lines);
    let techniques = &replay.total.techniques;
    let mut waits = Waits { techniques, lines: &mut lines, names: Vec::new(), count: 0 };
    for (recording, ids) in recordings.iter().zip(&ids) {
        waits.of(recording, ids);
    }
    let Waits { names, count: waits, .. } = waits;
    lines.sort_unstable();
    writeln!(out, "Kanata\t0004")?;
    let mut now = lines.first().map_or(0, |(cycle, ..)| *cycle);
    writeln!(out, "C=\t{now}")?;
    let mut retired = 0u64;
    for (cycle, id, line) in lines {
        if cycle > now {
            writeln!(out, "C\t{}", cycle - now)?;
            now = cycle;
        }
        match line {
            Line::Begin => {
                begin(&mut out, id, &rows[id as usize])?;
                if id == 0 && !command.is_empty() {
                    writeln!(out, "L\t{id}\t1\t\\nproduced by {}", in_one_line(command))?;
                }
            }
            Line::Stage(name) => writeln!(out, "S\t{id}\t0\t{name}")?,
            Line::Wait(name) => writeln!(out, "S\t{id}\t1\t{}", names[usize::from(name)])?,
            Line::WaitEnd(name) => writeln!(out, "E\t{id}\t1\t{}", names[usize::from(name)])?,
            Line::Woken(producer) => writeln!(out, "W\t{id}\t{producer}\t0")?,
            Line::End(flushed) => {
                writeln!(out, "R\t{id}\t{retired}\t{}", u8::from(flushed))?;
                retired += u64::from(!flushed);
            }
        }
    }
    out.flush()?;
    Ok(Contents { instructions: rows.len(), waits, bytes: out.bytes })
}

/// A text for a field of the log: without tabs and line ends, and without backslashes that viewers take for one.
fn in_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || c == '\\' { ' ' } else { c }).collect()
}

fn begin(out: &mut impl Write, id: u32, row: &Shown<'_>) -> io::Result<()> {
    let record = row.record;
    let thread = row.sm * 64 + usize::from(record.warp_slot);
    writeln!(out, "I\t{id}\t{id}\t{thread}")?;
    let text = super::text(row.kernel, record);
    writeln!(out, "L\t{id}\t0\tSM {} w{:02} {}: {text}", row.sm, record.warp_slot, Pc(record.pc))?;
    let (block, warp, lanes) = (record.block, record.warp, record.exec);
    let places = super::places(row.kernel, record).map_or(String::new(), |places| format!(", {places}"));
    writeln!(
        out,
        "L\t{id}\t1\t{}, block {block}, warp {warp}, lanes {lanes:#010x}{places}",
        signature(&row.kernel.name)
    )
}

/// The stages of an instruction, and its end.
fn row_lines(row: &Shown<'_>, id: u32, lines: &mut Vec<(u64, u32, Line)>) {
    let r = row.record;
    lines.push((r.fetched, id, Line::Begin));
    let last = match r.fate {
        Fate::Retired => r.ended + u64::from(has_writeback(row)),
        Fate::Flushed | Fate::Skipped => r.ended.max(r.fetched + 1),
        Fate::InFlight => [r.completed, r.started, r.collected, r.issued, r.decoded]
            .into_iter()
            .filter(|cycle| *cycle != NEVER)
            .max()
            .map_or(r.fetched, |cycle| cycle + 1),
    };
    let memory = row.kernel.insts.get(r.pc as usize).is_some_and(|inst| inst.kind().space().is_some());
    let control = r.collected == NEVER && r.started == NEVER;
    let stages = [
        (r.fetched, "F"),
        (r.decoded, "D"),
        (r.issued, if control { "X" } else { "Oc" }),
        (r.collected, "Du"),
        (r.started, if memory { "M" } else { "X" }),
        (if has_writeback(row) { r.completed } else { NEVER }, "Wb"),
    ];
    // A stage of zero cycles is not shown.
    for (index, (start, name)) in stages.iter().enumerate() {
        let next = stages[index + 1..].iter().map(|(cycle, _)| *cycle).filter(|cycle| *cycle != NEVER).min();
        if *start < last && next.is_none_or(|next| next > *start) {
            lines.push((*start, id, Line::Stage(name)));
        }
    }
    lines.push((last, id, Line::End(!matches!(r.fate, Fate::Retired))));
}

/// Whether an instruction ends with its results in registers.
fn has_writeback(row: &Shown<'_>) -> bool {
    let r = row.record;
    let writes = |pc: u32| {
        let inst = row.kernel.insts.get(pc as usize);
        inst.is_some_and(|inst| inst.dst_regs().next().is_some() || inst.dst_preds().next().is_some())
    };
    r.fate == Fate::Retired && r.completed != NEVER && r.origin == Origin::Program && writes(r.pc)
}

/// Arrows from an instruction to those that had to wait for its results.
fn wake_ups(rows: &[Shown<'_>], lines: &mut Vec<(u64, u32, Line)>) {
    let mut order: Vec<usize> = (0..rows.len()).filter(|id| rows[*id].record.issued != NEVER).collect();
    order.sort_by_key(|id| (rows[*id].record.issued, *id));
    // Latest writer of each register by warp.
    let mut writers: BTreeMap<(usize, u8, u32, u32), BTreeMap<u8, u32>> = BTreeMap::new();
    for id in order {
        let row = &rows[id];
        let r = row.record;
        let Some(inst) = row.kernel.insts.get(r.pc as usize).filter(|_| r.origin == Origin::Program) else {
            continue;
        };
        let writers = writers.entry((row.sm, r.warp_slot, r.block, r.warp)).or_default();
        let mut producers: Vec<u32> =
            inst.src_regs().filter_map(|reg| writers.get(&reg.0).copied()).collect();
        producers.sort_unstable();
        producers.dedup();
        for producer in producers {
            // It had to wait if it was decoded before the result was available.
            if rows[producer as usize].record.ended > r.decoded {
                lines.push((r.issued, id as u32, Line::Woken(producer)));
            }
        }
        writers.extend(inst.dst_regs().map(|reg| (reg.0, id as u32)));
    }
}

/// Lane 1, as it is made.
struct Waits<'a> {
    techniques: &'a [TechniqueStats],
    lines: &'a mut Vec<(u64, u32, Line)>,
    names: Vec<String>,
    count: usize,
}

impl Waits<'_> {
    /// Divides the waits of an SM's warps among the instructions that were next; `ids` has the rows of its instructions.
    fn of(&mut self, recording: &Recording, ids: &[u32]) {
        let mut by_warp: Vec<VecDeque<&WaitRun>> = vec![VecDeque::new(); 64];
        recording.waits.iter().for_each(|run| by_warp[usize::from(run.warp_slot)].push_back(run));
        let mut left = [0; 64];
        // Instructions leave an I-buffer in the order of their records.
        for (inst, id) in recording.insts.iter().zip(ids) {
            let warp = usize::from(inst.warp_slot);
            let leaves = if inst.issued == NEVER { inst.ended } else { inst.issued };
            let next_from = std::mem::replace(&mut left[warp], leaves).max(inst.fetched);
            while let Some(run) = by_warp[warp].front().filter(|run| run.start < leaves) {
                let (from, to) = (run.start.max(next_from), run.end.min(leaves));
                if from < to {
                    let name = self.name(run.wait);
                    self.lines.push((from, *id, Line::Wait(name)));
                    self.lines.push((to, *id, Line::WaitEnd(name)));
                    self.count += 1;
                }
                if run.end > leaves {
                    break;
                }
                by_warp[warp].pop_front();
            }
        }
    }

    /// Position of a wait's name.
    fn name(&mut self, wait: Wait) -> u16 {
        let own = |by: u8, cause: u8| {
            let info = self.techniques.get(usize::from(by))?.info;
            Some(format!("{}:{}", info.name, info.stalls.get(usize::from(cause))?.name))
        };
        let name = match wait {
            Wait::NotSelected => "not_selected".to_owned(),
            Wait::Cause(cause) => cause.name().to_owned(),
            Wait::Held(by, cause) => own(by, cause).unwrap_or_else(|| Stall::Technique.name().to_owned()),
        };
        let known = self.names.iter().position(|one| *one == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        }) as u16
    }
}
