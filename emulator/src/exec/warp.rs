//! Execution of one warp: basic block by basic block, instruction by instruction.
//!
//! Within a basic block the active mask is fixed; guards narrow it per instruction.
//! [`trace_format::semantics`] does the arithmetic, `super::access` memory accesses, [`super::paths`] control
//! flow.

use super::access;
use super::barrier::{Arrival, BARRIERS};
use super::executable::{Calls, Executable, Run, Worker};
use super::fault::{FaultKind, Location};
use super::paths::{NEVER, Path, Wait};
use super::state::{BlockShared, WarpState};
use super::trouble::{Stop, Trouble};
use super::{system, texture};
use crate::memory::lanes::lanes_of;
use crate::record::BlockSink;
use crate::view::global::GlobalView;
use trace_format::isa::{BarMode, Convergence, Kind, Lanes, Op, Pc, SpecialReg};
#[cfg(target_arch = "x86_64")]
use trace_format::semantics::VectorLevel;
use trace_format::semantics::{ExecInst, Row, Warp, execute};

/// Runs the warp until no path can run or it has executed about `limit` instructions in total.
pub(crate) fn run<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    w: u32,
    limit: u64,
) -> Result<Stop, Trouble> {
    match worker.executable.level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Executable::new` takes the level from `VectorLevel::detect`, which found these features.
        VectorLevel::Avx512 => unsafe { run_avx512(worker, block, warp, w, limit) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        VectorLevel::Avx2 => unsafe { run_avx2(worker, block, warp, w, limit) },
        _ => run_body(worker, block, warp, w, limit),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx512<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    w: u32,
    limit: u64,
) -> Result<Stop, Trouble> {
    run_body(worker, block, warp, w, limit)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx2<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    w: u32,
    limit: u64,
) -> Result<Stop, Trouble> {
    run_body(worker, block, warp, w, limit)
}

#[inline(always)]
fn run_body<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    w: u32,
    limit: u64,
) -> Result<Stop, Trouble> {
    let executable = worker.executable;
    warp.turn_end = limit;
    loop {
        let path = *warp.paths.current();
        let mask = path.mask;
        if mask == 0 {
            return Ok(Stop::Idle);
        }
        let Run { id, end, guards, reduces } = executable.blocks[path.pc as usize];
        if reduces {
            reduce(worker, block, warp, w, &path)?;
            continue;
        }
        let mut first = path.pc;
        if warp.resume == NEVER {
            if warp.instructions >= warp.turn_end {
                return Ok(Stop::Share);
            }
            worker.sink.enter(w, id, mask);
            let length = u64::from(end - first);
            warp.instructions += length;
            block.thread_instructions += length * u64::from(mask.count_ones());
        } else {
            first = std::mem::replace(&mut warp.resume, NEVER);
        }
        let mut falls_through = true;
        for (at, inst) in (first..).zip(&executable.code.insts[first as usize..end as usize]) {
            let guard = warp.regs.pred(inst.guard.index);
            let exec = mask & if inst.guard.not { !guard } else { guard };
            match inst.kind {
                Kind::Pure => {
                    if exec != 0 {
                        if guards {
                            check_divisor(worker, block, at, inst, &warp.regs, w, exec)?;
                        }
                        if let Some((checker, _)) = worker.memory.watch()
                            && inst.op.info().lanes == Lanes::Members
                        {
                            checker.sync_warp(block.linear, w);
                        }
                        execute(&executable.code, inst, &mut warp.regs, exec);
                        worker.sink.retire(w, Pc(at), inst, &warp.regs, exec);
                    }
                }
                Kind::Load(_) | Kind::Store(_) | Kind::Atomic(_) | Kind::Reduction(_) => {
                    if exec != 0 {
                        if let Err(trouble) =
                            access::access(worker, block, warp, w, at, inst, exec | inst.spread)
                        {
                            warp.resume = at;
                            return Err(trouble);
                        }
                        worker.sink.retire(w, Pc(at), inst, &warp.regs, exec);
                    }
                }
                Kind::External if matches!(inst.op, Op::Syscall { .. }) => {
                    if exec != 0 {
                        let place = Location { pc: at, warp: w, lane: None };
                        let result = match system::call(worker, block, warp, place, inst, exec) {
                            Ok(result) => result,
                            Err(trouble) => {
                                warp.resume = at;
                                return Err(trouble);
                            }
                        };
                        for i in 0..inst.dst_rows {
                            warp.regs.write_row(inst.dst + u16::from(i), &result[usize::from(i)], exec);
                        }
                        worker.sink.externals(w, Pc(at), inst, &warp.regs, exec);
                    }
                    worker.sink.retire(w, Pc(at), inst, &warp.regs, exec);
                }
                Kind::External => {
                    let clock = warp.instructions - u64::from(end - at);
                    let value = match inst.op {
                        Op::Txq { query, .. } => {
                            texture::ask(&executable.objects, &warp.regs, inst, query, exec).map_err(
                                |(lane, what)| {
                                    let place = Location { pc: at, warp: w, lane: Some(lane) };
                                    Trouble::fault(FaultKind::Texture(what), place)
                                },
                            )?
                        }
                        Op::BmovFrom { at: register, clear } => {
                            let lanes = warp.paths.convergence(register);
                            if clear.0 {
                                warp.paths.set_convergence(register, exec, |_| 0);
                            }
                            Row(lanes)
                        }
                        op => Row::splat(external(op, clock, block.linear, executable)),
                    };
                    warp.regs.write_row(inst.dst, &value, inst.written_lanes(exec));
                    worker.sink.externals(w, Pc(at), inst, &warp.regs, exec);
                    worker.sink.retire(w, Pc(at), inst, &warp.regs, exec);
                }
                Kind::Fence => worker.sink.retire(w, Pc(at), inst, &warp.regs, exec),
                Kind::Branch
                | Kind::Call
                | Kind::Return
                | Kind::Exit
                | Kind::Barrier
                | Kind::Sync
                | Kind::Trap => {
                    control(worker, block, warp, w, at, inst, exec)?;
                    falls_through = false;
                }
            }
        }
        if falls_through {
            warp.paths.goto(end);
        }
        if warp.paths.meets() {
            warp.paths.meet();
        }
    }
}

/// Faults when the instruction is the selection of a division's result and a divisor is zero.
#[inline(never)]
fn check_divisor<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &BlockShared,
    at: u32,
    inst: &ExecInst,
    regs: &Warp,
    w: u32,
    exec: u32,
) -> Result<(), Trouble> {
    let lanes = worker.executable.zero_divisors(at, inst, regs, exec);
    if lanes == 0 {
        return Ok(());
    }
    if let Some((checker, _)) = worker.memory.watch()
        && checker.wants_divisions()
    {
        checker.zero_division(block.actor(worker.executable, w, at), lanes);
        return Ok(());
    }
    let place = Location { pc: at, warp: w, lane: Some(lanes.trailing_zeros() as u8) };
    Err(Trouble::fault(FaultKind::ZeroDivision, place))
}

/// Value of a special register that comes from outside the warp. Clocks count the warp's own instructions.
fn external(op: Op, clock: u64, block: u64, executable: &Executable<'_>) -> u32 {
    let Op::S2r { sr } = op else { return 0 };
    match sr {
        SpecialReg::SmId => (block % u64::from(executable.sms)) as u32,
        SpecialReg::NSmId => executable.sms,
        SpecialReg::ClockLo | SpecialReg::GlobalTimerLo => clock as u32,
        SpecialReg::ClockHi | SpecialReg::GlobalTimerHi => (clock >> 32) as u32,
        SpecialReg::GridId => executable.launch_index,
        _ => 0,
    }
}

/// Executes the last instruction of a basic block.
fn control<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    w: u32,
    at: u32,
    inst: &ExecInst,
    exec: u32,
) -> Result<(), Trouble> {
    worker.sink.retire(w, Pc(at), inst, &warp.regs, exec);
    let next = at + 1;
    let paths = &mut warp.paths;
    let mask = paths.current().mask;
    let exec = warp.regs.acting(inst, exec, paths.live());
    if exec == 0 {
        paths.goto(next);
        return Ok(());
    }
    let place = Location { pc: at, warp: w, lane: Some(exec.trailing_zeros() as u8) };
    match inst.kind {
        Kind::Branch if exec == mask => paths.goto(inst.target.0),
        Kind::Branch => paths.diverge(exec, inst.target.0, next, inst.reconv.map(|r| r.0)),
        Kind::Call if matches!(inst.op, Op::CallInd {}) => {
            call_through_register(worker, warp, at, inst, exec, place)?;
        }
        Kind::Call if worker.executable.calls == Calls::Jumps => {
            paths.jump_each(&[(inst.target.0, exec)], next);
        }
        Kind::Call => {
            if !paths.call(exec, inst.target.0, next) {
                return Err(Trouble::fault(FaultKind::CallDepth(super::paths::MAX_CALL_DEPTH), place));
            }
        }
        Kind::Return => {
            if matches!(inst.op, Op::RetTo {}) {
                return return_through_register(worker.executable, warp, at, inst, exec, place);
            }
            paths.goto(next);
            paths.ret(exec);
        }
        Kind::Exit => {
            paths.goto(next);
            paths.exit(exec);
        }
        Kind::Barrier => barrier(worker, block, warp, w, at, inst, exec)?,
        Kind::Trap => {
            let why = worker.executable.kernel.trap(Pc(at));
            let kind = why.map_or(FaultKind::Trap, |what| FaultKind::Unsupported(what.to_owned()));
            return Err(Trouble::fault(kind, place));
        }
        Kind::Pure
        | Kind::External
        | Kind::Load(_)
        | Kind::Store(_)
        | Kind::Atomic(_)
        | Kind::Reduction(_)
        | Kind::Fence => {}
        Kind::Sync => {
            if let Some((checker, _)) = worker.memory.watch()
                && inst.op.info().lanes == Lanes::Members
            {
                checker.sync_warp(block.linear, w);
            }
            match inst.op.convergence() {
                Some(register) => convergence(warp, at, inst, register, exec),
                None => warp_sync(worker.executable, warp, at, inst, exec),
            }
        }
    }
    Ok(())
}

/// Instructions of machine code on convergence registers, in the lanes of `exec`.
fn convergence(warp: &mut WarpState, at: u32, inst: &ExecInst, register: Convergence, exec: u32) {
    let paths = &mut warp.paths;
    match inst.op {
        Op::Bsync { .. } => {
            paths.wait_at(register, exec, at);
            return;
        }
        Op::Bssy { .. } => paths.set_convergence(register, exec, |_| exec),
        Op::BmovTo { .. } => {
            let lanes = warp.regs.row(inst.src[0].row);
            paths.set_convergence(register, exec, |lane| lanes.0[lane]);
        }
        _ => {}
    }
    paths.goto(at + 1);
    if matches!(inst.op, Op::Break { .. } | Op::BreakIf { .. }) {
        paths.leave_convergence(register, exec);
    }
}

/// `RET.REL.NODEC`: each lane goes to the place whose address is in its registers.
fn return_through_register(
    executable: &Executable<'_>,
    warp: &mut WarpState,
    at: u32,
    inst: &ExecInst,
    exec: u32,
    place: Location,
) -> Result<(), Trouble> {
    let to = |address| executable.return_place(address, inst.target);
    let targets = by_target(warp, inst, exec, to).map_err(|(lane, address)| {
        let what = format!("returning to {address:#x}, which is behind no call");
        Trouble::fault(FaultKind::Unsupported(what), Location { lane: Some(lane), ..place })
    })?;
    warp.paths.jump_each(&targets, at + 1);
    Ok(())
}

/// The places to which the addresses in lanes' registers lead, with the lanes of each; or a lane and its address that leads
/// nowhere.
fn by_target(
    warp: &WarpState,
    inst: &ExecInst,
    exec: u32,
    to: impl Fn(u64) -> Option<Pc>,
) -> Result<Vec<(u32, u32)>, (u8, u64)> {
    let (low, high) = (warp.regs.row(inst.src[0].row), warp.regs.row(inst.src[0].row + 1));
    let mut targets: Vec<(u32, u32)> = Vec::new();
    for lane in lanes_of(exec) {
        let address = u64::from(low.0[lane]) | u64::from(high.0[lane]) << 32;
        let target = to(address).ok_or((lane as u8, address))?;
        match targets.iter_mut().find(|(pc, _)| *pc == target.0) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => targets.push((target.0, 1 << lane)),
        }
    }
    Ok(targets)
}

/// `CALL.IND`: lanes that call the same function run it together, one function after the other.
fn call_through_register<V, S: BlockSink>(
    worker: &Worker<'_, V, S>,
    warp: &mut WarpState,
    at: u32,
    inst: &ExecInst,
    exec: u32,
    place: Location,
) -> Result<(), Trouble> {
    let executable = worker.executable;
    let to = |address| executable.kernel.entry(address, inst.target);
    let targets = by_target(warp, inst, exec, to).map_err(|(lane, address)| {
        Trouble::fault(FaultKind::BadFunction(address), Location { lane: Some(lane), ..place })
    })?;
    if executable.calls == Calls::Jumps {
        warp.paths.jump_each(&targets, at + 1);
        return Ok(());
    }
    if warp.paths.call_each(&targets, at + 1) {
        return Ok(());
    }
    Err(Trouble::fault(FaultKind::CallDepth(super::paths::MAX_CALL_DEPTH), place))
}

/// Lanes of `exec` arrive at a barrier and wait, unless they only signal. Each may name a barrier of its own.
fn barrier<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    w: u32,
    at: u32,
    inst: &ExecInst,
    exec: u32,
) -> Result<(), Trouble> {
    let Op::Bar { mode } = inst.op else { return Ok(()) };
    let next = at + 1;
    // Lanes that wait for the result of a reduction stay at it.
    let resume = if inst.op.is_barrier_reduction() { at } else { next };
    let (ids, counts) = (*warp.regs.row(inst.src[0].row), *warp.regs.row(inst.src[1].row));
    let psrc = inst.psrc[0];
    let predicate = warp.regs.pred(psrc.index) ^ if psrc.not { u32::MAX } else { 0 };
    let live = warp.paths.live();
    let stays = warp.paths.current().mask & !exec != 0 || mode == BarMode::Arrive;
    let mut left = exec;
    while left != 0 {
        let first = left.trailing_zeros() as usize & 31;
        let (id, expected) = (ids.0[first], counts.0[first]);
        let lanes =
            lanes_of(left).filter(|&l| ids.0[l] == id && counts.0[l] == expected).fold(0, |m, l| m | 1 << l);
        left &= !lanes;
        let place = Location { pc: at, warp: w, lane: Some(first as u8) };
        let fail = |what: String| Err(Trouble::fault(FaultKind::Barrier(what), place));
        if id as usize >= BARRIERS {
            return fail(format!("there is no barrier {id}, only 0 to {}", BARRIERS - 1));
        }
        let threads = worker.executable.geometry.warps_per_block() * 32;
        if expected % 32 != 0 || expected > threads {
            return fail(format!(
                "{expected} threads is not a multiple of 32 up to the {threads} of the block"
            ));
        }
        if let Some((checker, _)) = worker.memory.watch() {
            let here = warp.paths.waiting().filter(|p| p.wait == Wait::Barrier { id: id as u8, at });
            let missing = here.fold(live & !lanes, |missing, p| missing & !p.mask);
            let (actor, shared_bytes) = (block.actor(worker.executable, w, at), block.memory.len());
            checker.arrive(actor, id as u8, lanes, missing, expected == 0, shared_bytes);
        }
        let arrival = Arrival { warp: w, lanes, live, expected, mode, predicate };
        if let Err(what) = block.barriers.arrive(id as u8, &arrival) {
            return fail(what);
        }
        if mode != BarMode::Arrive {
            warp.paths.park(lanes, resume, Wait::Barrier { id: id as u8, at });
        }
    }
    if stays {
        warp.paths.goto(next);
    }
    Ok(())
}

/// Lanes of a path arrive at a barrier with a reduction, which is a basic block of its own. Those in which its guard
/// holds have entered it when `super::block` gives them the result; the others pass it now.
#[cold]
fn reduce<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    w: u32,
    path: &Path,
) -> Result<(), Trouble> {
    let (executable, at) = (worker.executable, path.pc);
    let inst = &executable.code.insts[at as usize];
    let guard = warp.regs.pred(inst.guard.index);
    let exec = path.mask & if inst.guard.not { !guard } else { guard };
    let others = path.mask & !exec;
    if others != 0 {
        worker.sink.enter(w, executable.blocks[at as usize].id, others);
        warp.instructions += 1;
        block.thread_instructions += u64::from(others.count_ones());
    }
    if exec == 0 {
        warp.paths.goto(at + 1);
    } else {
        barrier(worker, block, warp, w, at, inst, exec)?;
    }
    if warp.paths.meets() {
        warp.paths.meet();
    }
    Ok(())
}

/// `WARPSYNC`: lanes wait until all members that have not exited have arrived. Other kinds of `Sync` do
/// nothing.
fn warp_sync(executable: &Executable<'_>, warp: &mut WarpState, at: u32, inst: &ExecInst, exec: u32) {
    let paths = &mut warp.paths;
    match inst.op {
        _ if exec == 0 => paths.goto(at + 1),
        Op::Warpsync {} => paths.wait_together(exec, at, &warp.regs.row(inst.src[0].row).0),
        Op::WarpsyncCollective {} => {
            let first = executable.leader(Pc(at)).next();
            let members = &warp.regs.row(inst.src[0].row).0;
            paths.wait_collectively(exec, at, members, [first.0, inst.target.0]);
        }
        Op::EndCollective {} => paths.end_collective(),
        _ => paths.goto(at + 1),
    }
}
