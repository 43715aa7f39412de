//! Orders the instructions of each block before register allocation.
//!
//! [`Schedule::Latency`] starts long latencies early if registers allow: a block is issued cycle by cycle on a simple
//! in-order model with the latencies of a current GPU (`forward`). While registers are plentiful the instruction with
//! the longest path to the end of the block goes first; near the limit the one that frees most registers does.
//! Instructions that would then wait for their users are issued later instead (`late`). A block that takes too many
//! registers is ordered again with lower limits (`choose`). [`Schedule::Reuse`] places instructions close to the last
//! access of their operands (`reuse`); [`Schedule::Source`] leaves the order of the PTX.
//!
//! Memory accesses that may touch the same bytes, barriers and reads of clocks keep their order (`effects`).

mod choose;
mod effects;
mod forward;
mod graph;
mod late;
mod latency;
mod live;
mod reuse;

pub(super) use live::Liveness;

use super::options::Schedule;
use super::vir::{Func, InstId};
use graph::Scheduler;

/// Live 32-bit values per thread that are fine if the kernel may have that many registers.
const BUDGET: i32 = 60;
/// Registers that allocation may need beyond the values that are live at once.
const SPARE: i32 = 4;
/// Instructions of a block that are ordered at once: dependences among memory accesses grow with the square.
const WINDOW: usize = 2048;

/// Orders all blocks for a number of registers.
pub(super) fn run(f: &mut Func, registers: u16, schedule: Schedule) {
    if schedule == Schedule::Source {
        return;
    }
    let live = Liveness::of(f);
    let most = i32::from(registers) - SPARE;
    for b in f.order.clone() {
        let insts = &f.block(b).insts;
        if insts.len() <= 2 {
            continue;
        }
        let mut order: Vec<InstId> = Vec::with_capacity(insts.len());
        let mut scheduler = Scheduler::new(f, &live, b);
        for window in insts.chunks(WINDOW) {
            scheduler.start(window);
            let found = match schedule {
                Schedule::Reuse => scheduler.by_reuse(most),
                _ => scheduler.by_latency(BUDGET.min(most), most < BUDGET, insts.len() > WINDOW),
            };
            order.extend(scheduler.finish(&found));
        }
        f.block_mut(b).insts = order;
    }
}
