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
use super::vir::{Blk, Func, InstId};
use graph::Scheduler;

/// Live 32-bit values per thread that are fine if the kernel may have that many registers.
const BUDGET: i32 = 60;
/// Registers that allocation may need beyond the values that are live at once.
const SPARE: i32 = 4;
/// Live values beyond those of the order with the fewest that a block may have where that costs no resident warp.
const ROOM: i32 = 32;
/// Instructions of a block that are ordered at once: dependences among memory accesses grow with the square.
const WINDOW: usize = 2048;

/// Orders all blocks for a number of registers; where a kernel has so many, `room` says how many leave as many warps resident.
pub(super) fn run(f: &mut Func, registers: u16, room: &dyn Fn(u16) -> u16, schedule: Schedule) {
    if schedule == Schedule::Source {
        return;
    }
    let live = Liveness::of(f);
    let most = i32::from(registers) - SPARE;
    let mut needed = BUDGET;
    // Blocks that need many registers whatever their order, with how many.
    let mut heavy: Vec<(Blk, i32)> = Vec::new();
    for b in f.order.clone() {
        let mut least = 0;
        order(f, &live, b, |scheduler, long| match schedule {
            Schedule::Reuse => scheduler.by_reuse(most),
            _ => {
                let (cost, order) = scheduler.by_latency(BUDGET.min(most), most < BUDGET, long);
                least = least.max(cost.registers);
                order
            }
        });
        if least > BUDGET {
            heavy.push((b, least));
        }
        needed = needed.max(least);
    }
    // The one that needs the most decides how many warps are resident; what that leaves free hides latencies.
    let free = i32::from(room((needed + SPARE).min(i32::from(registers)) as u16)) - SPARE;
    for (b, least) in heavy {
        let budget = (least + ROOM).min(free).min(most);
        if budget > least {
            order(f, &live, b, |scheduler, _| scheduler.with_room(budget));
        }
    }
}

/// Orders a block, at most [`WINDOW`] instructions at a time; `choose` is told whether there are more.
fn order(
    f: &mut Func,
    live: &Liveness,
    b: Blk,
    mut choose: impl FnMut(&mut Scheduler<'_>, bool) -> Vec<usize>,
) {
    let insts = &f.block(b).insts;
    if insts.len() <= 2 {
        return;
    }
    let mut order: Vec<InstId> = Vec::with_capacity(insts.len());
    let mut scheduler = Scheduler::new(f, live, b);
    for window in insts.chunks(WINDOW) {
        scheduler.start(window);
        let found = choose(&mut scheduler, insts.len() > WINDOW);
        order.extend(scheduler.finish(&found));
    }
    f.block_mut(b).insts = order;
}
