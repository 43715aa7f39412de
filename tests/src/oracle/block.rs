//! One block of the oracle: its threads take turns, each running to its next rendezvous.

use super::layout::Layout;
use super::memory::{GlobalMemory, View};
use super::thread::{Coordinates, State, Thread, Wait};
use super::warp::{Lane, together};
use super::{Fault, Launch, matrix};
use emulator::ptx::{BarAction, FuncId, Module, Op, Operand};

/// A block about to run.
pub(super) struct Block<'m> {
    layout: &'m Layout,
    threads: Vec<Thread<'m>>,
    shared: Vec<u8>,
    limit: u64,
}

impl<'m> Block<'m> {
    pub(super) fn new(
        module: &'m Module,
        layout: &'m Layout,
        kernel: FuncId,
        launch: &Launch,
        ctaid: [u32; 3],
    ) -> Result<Self, Fault> {
        let [width, height, depth] = launch.block;
        if width * height * depth == 0 {
            return Err(Fault::new("a block without threads"));
        }
        let threads = (0..width * height * depth).map(|linear| {
            let place = Coordinates {
                tid: [linear % width, linear / width % height, linear / width / height],
                ntid: launch.block,
                ctaid,
                nctaid: launch.grid,
                linear,
                dynamic_shared_bytes: launch.dynamic_shared_bytes as u32,
            };
            Thread::new(module, layout, kernel, place)
        });
        let shared = vec![0; layout.static_shared_bytes + launch.dynamic_shared_bytes + 16];
        Ok(Self { layout, threads: threads.collect(), shared, limit: launch.max_instructions })
    }

    /// Runs the block to its end.
    pub(super) fn run(mut self, global: &mut GlobalMemory, params: &mut [u8]) -> Result<(), Fault> {
        let mut constant = self.layout.constant.clone();
        loop {
            for thread in &mut self.threads {
                let mut local = std::mem::take(&mut thread.local);
                let mut memory = View {
                    global: &mut *global,
                    shared: &mut self.shared,
                    local: &mut local,
                    constant: &mut constant,
                    param: &mut *params,
                };
                thread.run(&mut memory, self.limit)?;
                thread.local = local;
            }
            if self.threads.iter().all(|thread| matches!(thread.state, State::Exited)) {
                return Ok(());
            }
            let mut none = Vec::new();
            let mut memory = View {
                global: &mut *global,
                shared: &mut self.shared,
                local: &mut none,
                constant: &mut constant,
                param: &mut *params,
            };
            let met = warps(&mut self.threads, &mut memory)? | self.barriers()?;
            // Threads whose barrier test failed test it again.
            if !met && !self.threads.iter().any(|thread| matches!(thread.state, State::Ready)) {
                return Err(Fault::new("no thread of the block can go on"));
            }
        }
    }

    /// Opens every barrier at which enough threads have arrived.
    fn barriers(&mut self) -> Result<bool, Fault> {
        let mut met = false;
        for id in 0..16 {
            let waiting: Vec<usize> = (0..self.threads.len())
                .filter(|&at| matches!(&self.threads[at].state, State::Waiting(Wait::Barrier { id: there, .. }) if *there == id))
                .collect();
            let Some(&first) = waiting.first() else { continue };
            let State::Waiting(Wait::Barrier { threads, .. }) = self.threads[first].state else { continue };
            let live = self.threads.iter().filter(|t| !matches!(t.state, State::Exited)).count();
            let wanted = threads.map_or(live, |threads| threads as usize);
            if waiting.len() < wanted {
                continue;
            }
            self.open(&waiting)?;
            met = true;
        }
        Ok(met)
    }

    fn open(&mut self, waiting: &[usize]) -> Result<(), Fault> {
        let mut votes = 0u64;
        for &at in waiting {
            match self.threads[at].state {
                State::Waiting(Wait::Barrier { op, .. }) if op.action == BarAction::Arrive => {
                    return Err(Fault::new("the oracle does not know bar.arrive"));
                }
                State::Waiting(Wait::Barrier { predicate: true, .. }) => votes += 1,
                _ => {}
            }
        }
        for &at in waiting {
            let thread = &mut self.threads[at];
            let State::Waiting(Wait::Barrier { op, .. }) = thread.state else { continue };
            let value = match op.action {
                BarAction::Popc => Some(votes),
                BarAction::And => Some(u64::from(votes == waiting.len() as u64)),
                BarAction::Or => Some(u64::from(votes != 0)),
                BarAction::Sync | BarAction::Arrive => None,
            };
            if let (Some(value), Some(inst)) = (value, thread.last_inst()) {
                thread.write(&inst.dsts()[0], value)?;
            }
            thread.state = State::Ready;
        }
        Ok(())
    }
}

fn is_matrix(op: &Op) -> bool {
    matches!(
        op,
        Op::WmmaLoad(_) | Op::WmmaStore(_) | Op::WmmaMma(_) | Op::Mma(_) | Op::Ldmatrix(_) | Op::Movmatrix
    )
}

/// Executes every warp operation whose participants have all arrived.
fn warps(threads: &mut [Thread<'_>], memory: &mut View<'_>) -> Result<bool, Fault> {
    let mut met = false;
    for warp in threads.chunks_mut(32) {
        for lane in 0..warp.len() {
            let State::Waiting(Wait::Warp { at, mask, .. }) = warp[lane].state else { continue };
            let inst = warp[lane].waiting_inst(at);
            // Threads that wait at other places with the same operation and mask take part; those of matrices are at one.
            let is_same = |thread: &Thread<'_>, there| {
                there == at || !is_matrix(&inst.op) && thread.waiting_inst(there).op == inst.op
            };
            let mut members = Vec::new();
            let mut complete = true;
            for (other, thread) in warp.iter().enumerate() {
                if mask >> other & 1 == 0 {
                    continue;
                }
                match &thread.state {
                    State::Waiting(Wait::Warp { at: there, mask: theirs, sources })
                        if *theirs == mask && is_same(thread, *there) =>
                    {
                        members.push(Lane { lane: other as u32, sources: sources.clone() });
                    }
                    State::Exited => {}
                    _ => complete = false,
                }
            }
            if !complete {
                continue;
            }
            let results = if is_matrix(&inst.op) {
                matrix::together(inst, &members, memory, warp[lane].sm())?
            } else {
                together(inst, &members)?.into_iter().map(|values| values.to_vec()).collect()
            };
            for (member, values) in members.iter().zip(results) {
                let thread = &mut warp[member.lane as usize];
                let State::Waiting(Wait::Warp { at, .. }) = thread.state else { continue };
                let inst = thread.waiting_inst(at);
                for (dst, value) in inst.dsts().iter().flat_map(Operand::elements).zip(values) {
                    thread.write(dst, value)?;
                }
                thread.state = State::Ready;
            }
            met = true;
        }
    }
    Ok(met)
}
