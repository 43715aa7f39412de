//! Regenerates every warp and checks its path against its values: each lane must follow the branches that it
//! executed, and end at its exit.

use super::report::{Progress, Report};
use crate::container::{Contents, TraceError};
use crate::isa::{Kind, MachineKernel, Op, Pc};
use crate::reader::{Step, Trace, WarpCursor};
use crate::semantics::ExecInst;
use std::sync::atomic::Ordering;

/// Number of instructions between updates of the progress.
const TELL_EVERY: u64 = 1 << 16;

/// Regenerates the blocks that begin in a frame.
pub(super) fn check_frame(trace: &Trace, number: usize, progress: &Progress) -> Report {
    let mut report = Report::default();
    let head = trace.frames()[number].head;
    let first = head.first_block + u64::from(head.first_part != 0);
    // Blocks that end here began here or, the first one, in an earlier frame; one more may only begin here.
    let launch = &trace.launches()[head.launch as usize];
    let next_frame = trace.frames().get(number + 1).filter(|f| f.head.launch == head.launch);
    let end = match next_frame {
        Some(next) => next.head.first_block + u64::from(next.head.first_part != 0),
        None => launch.blocks_recorded(),
    };
    let mut cursor = None;
    for block in first..end.min(launch.blocks_recorded()) {
        for warp in 0..launch.geometry.warps_per_block() {
            match check_warp(trace, &mut cursor, (head.launch, block, warp), progress, &mut report) {
                Ok(()) => report.warps += 1,
                Err(error) => {
                    cursor = None;
                    report.add(
                        format!("frame {number}, launch {}, block {block}, warp {warp}", head.launch),
                        error.to_string(),
                    );
                }
            }
        }
        report.blocks += 1;
    }
    report
}

pub(super) fn check_warp(
    trace: &Trace,
    cursor: &mut Option<WarpCursor>,
    (launch, block, warp): (u32, u64, u32),
    progress: &Progress,
    report: &mut Report,
) -> Result<(), TraceError> {
    match cursor {
        Some(cursor) => cursor.restart(launch, block, warp)?,
        None if trace.header().has_values() => *cursor = Some(trace.warp_cursor(launch, block, warp)?),
        None => *cursor = Some(trace.slice_cursor(launch, block, warp)?),
    }
    let Some(cursor) = cursor else { return Ok(()) };
    let kernel = trace.kernel(trace.launches()[launch as usize].kernel);
    let is_imported = trace.header().contents == Contents::Imported;
    let mut lanes = Lanes::new(trace.launches()[launch as usize].geometry.launched_mask(warp));
    let (mut told, mut fault) = (0, None);
    while let Some(upcoming) = cursor.peek() {
        if fault.is_none() && is_imported {
            fault = lanes.enter_anywhere(upcoming.pc, upcoming.active).map(|what| (cursor.steps(), what));
        } else if fault.is_none() {
            fault = lanes.enter(kernel, upcoming.pc, upcoming.active).map(|what| (cursor.steps(), what));
        }
        let Some(step) = cursor.step()? else { break };
        if is_imported {
            lanes.leave_imported(kernel, step);
        } else {
            lanes.leave(kernel, cursor, step);
        }
        report.warp_instructions += 1;
        report.thread_instructions += u64::from(step.active.count_ones());
        if cursor.steps() - told == TELL_EVERY {
            progress.done.fetch_add(TELL_EVERY, Ordering::Relaxed);
            told = cursor.steps();
        }
    }
    progress.done.fetch_add(cursor.steps() - told, Ordering::Relaxed);
    // An error that was kept is returned by the step after the last.
    cursor.step()?;
    if fault.is_none() && lanes.alive != 0 && !is_imported {
        fault = Some((cursor.steps(), format!("lanes {:#010x} never exit", lanes.alive)));
    }
    if let Some((step, what)) = fault {
        report.add(format!("launch {launch}, block {block}, warp {warp}, step {step}"), what);
    }
    Ok(())
}

/// Position of a lane that goes where values lead that the trace does not hold.
const ANYWHERE: Pc = Pc(u32::MAX - 1);
/// Position of a lane that executes instructions together with others, at one of their places.
const IN_COLLECTIVE: Pc = Pc(u32::MAX - 2);

/// Expected next position of every lane of a warp.
struct Lanes {
    alive: u32,
    next: [Pc; 32],
    returns: [Vec<Pc>; 32],
    /// Where each lane goes on after instructions that it executes together with others.
    behind_collective: [Pc; 32],
    /// All lanes of the mask are at the program counter: the common case within a block.
    together: (u32, Pc),
}

impl Lanes {
    fn new(launched: u32) -> Lanes {
        Lanes {
            alive: launched,
            next: [Pc(0); 32],
            returns: Default::default(),
            behind_collective: [Pc(0); 32],
            together: (launched, Pc(0)),
        }
    }

    /// Describes the error in executing an instruction in these lanes, if there is one.
    fn enter(&mut self, kernel: &MachineKernel, pc: Pc, active: u32) -> Option<String> {
        if (active, pc) == self.together {
            return None;
        }
        self.scatter();
        if active & !self.alive != 0 {
            return Some(format!("lanes {:#010x} execute PC {pc} after their exit", active & !self.alive));
        }
        let gathers = pc.0 > 0 && kernel.insts[pc.index() - 1].op == Op::WarpsyncCollective {};
        let follows = |next: Pc| next == pc || next == ANYWHERE || gathers && next == IN_COLLECTIVE;
        let astray = lanes_of(active).find(|&l| !follows(self.next[l]))?;
        Some(format!("lane {astray} executes PC {pc} but its branches lead to PC {}", self.next[astray]))
    }

    /// As [`Lanes::enter`] in an imported trace, in which branches do not show where lanes go that do not take them.
    fn enter_anywhere(&self, pc: Pc, active: u32) -> Option<String> {
        let dead = active & !self.alive;
        (dead != 0).then(|| format!("lanes {dead:#010x} execute PC {pc} after their exit"))
    }

    /// Ends the lanes of an exit in an imported trace.
    fn leave_imported(&mut self, kernel: &MachineKernel, step: Step) {
        if kernel.insts[step.pc.index()].kind() == Kind::Exit {
            self.alive &= !step.exec;
        }
    }

    fn scatter(&mut self) {
        let (mask, pc) = std::mem::take(&mut self.together);
        lanes_of(mask).for_each(|l| self.next[l] = pc);
    }

    /// Moves the lanes past an executed instruction.
    fn leave(&mut self, kernel: &MachineKernel, cursor: &WarpCursor, step: Step) {
        let inst = cursor.code().inst(step.pc);
        let onward = step.active & self.alive;
        let exec = cursor.warp().acting(inst, step.exec, self.alive);
        if inst.kind.ends_block() || onward != self.together.0 {
            self.scatter();
        }
        match inst.kind {
            // A trace of addresses does not hold the masks that such a branch compares.
            Kind::Branch if matches!(inst.op, Op::BraDiv {}) && !cursor.regenerates_values() => {
                lanes_of(onward).for_each(|l| self.next[l] = ANYWHERE);
            }
            Kind::Branch | Kind::Call => {
                for l in lanes_of(onward) {
                    let jumps = exec >> l & 1 != 0;
                    if jumps && inst.kind == Kind::Call {
                        self.returns[l].push(step.pc.next());
                    }
                    self.next[l] = match inst.op {
                        _ if !jumps => step.pc.next(),
                        // A trace of addresses does not hold addresses of functions.
                        Op::CallInd {} if cursor.regenerates_values() => callee(kernel, cursor, inst, l),
                        Op::CallInd {} => ANYWHERE,
                        _ => inst.target,
                    };
                }
            }
            Kind::Return if matches!(inst.op, Op::RetTo {}) => {
                for l in lanes_of(onward) {
                    self.next[l] = match exec >> l & 1 != 0 {
                        false => step.pc.next(),
                        true if cursor.regenerates_values() => return_place(kernel, cursor, inst, l),
                        true => ANYWHERE,
                    };
                }
            }
            Kind::Return => {
                for l in lanes_of(onward) {
                    self.next[l] = step.pc.next();
                    if exec >> l & 1 != 0 {
                        match self.returns[l].pop() {
                            Some(pc) => self.next[l] = pc,
                            None => self.alive &= !(1 << l),
                        }
                    }
                }
            }
            Kind::Sync if matches!(inst.op, Op::WarpsyncCollective {}) => {
                for l in lanes_of(onward) {
                    self.next[l] = if exec >> l & 1 != 0 { IN_COLLECTIVE } else { step.pc.next() };
                    self.behind_collective[l] = inst.target;
                }
            }
            Kind::Sync if matches!(inst.op, Op::EndCollective {}) => {
                lanes_of(onward).for_each(|l| self.next[l] = self.behind_collective[l]);
            }
            Kind::Exit | Kind::Trap => {
                self.alive &= !exec;
                lanes_of(onward).for_each(|l| self.next[l] = step.pc.next());
            }
            _ => self.together = (onward, step.pc.next()),
        }
    }
}

/// The function that a lane calls through a register; no instruction when there is none.
fn callee(kernel: &MachineKernel, cursor: &WarpCursor, inst: &ExecInst, lane: usize) -> Pc {
    kernel.entry(address(cursor, inst, lane), inst.target).unwrap_or(Pc(u32::MAX))
}

/// The instruction to which a lane returns; none when the address is none of the code.
fn return_place(kernel: &MachineKernel, cursor: &WarpCursor, inst: &ExecInst, lane: usize) -> Pc {
    kernel.instruction_at(address(cursor, inst, lane), inst.target).unwrap_or(Pc(u32::MAX))
}

/// The address of code in a lane's registers.
fn address(cursor: &WarpCursor, inst: &ExecInst, lane: usize) -> u64 {
    let word = |k: u16| u64::from(cursor.warp().row(inst.src[0].row + k).0[lane]);
    word(0) | word(1) << 32
}

fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |l| mask >> l & 1 != 0)
}
