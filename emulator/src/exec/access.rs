//! Memory instructions of a warp: addresses, the space they fall into, data to and from registers.

use super::executable::Worker;
use super::fault::{Access, FaultKind, Location};
use super::lenient;
use super::matrix;
use super::request::{Request, blame};
use super::spin::Poll;
use super::state::{BlockShared, WarpState};
use super::texture;
use super::trouble::Trouble;
use crate::check::Accessed;
use crate::memory::atomic;
use crate::memory::lanes::lanes_of;
use crate::memory::lanes::{self, Addresses, Rows, fill_idle};
use crate::record::BlockSink;
use crate::view::access::{Modify, Refusal, modify_bytes, put_words};
use crate::view::global::GlobalView;
use trace_format::isa::space::{
    BANK_PARAM, BANK_USER, CONST_WINDOW_HI, LOCAL_WINDOW_HI, PARAM_WINDOW_HI, SHARED_WINDOW_HI, Space,
};
use trace_format::isa::{
    Address, BarrierLayout, BarrierUpdate, Kind, MemData, MemOp, MemWidth, Pc, barrier_state,
};
use trace_format::semantics::{ExecInst, Row, addresses};

/// Executes a memory instruction in the lanes of `exec`, which is not empty, and reports what it loaded.
#[inline(always)]
pub(crate) fn access<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    w: u32,
    pc: u32,
    inst: &ExecInst,
    exec: u32,
) -> Result<(), Trouble> {
    let mut at: Addresses = [0; 32];
    addresses(inst, &warp.regs, &mut at);
    let request = Request { inst, warp: w, pc, exec };
    let (Kind::Load(space) | Kind::Store(space) | Kind::Atomic(space) | Kind::Reduction(space)) = inst.kind
    else {
        return Ok(());
    };
    match space {
        Space::Generic => generic(worker, block, warp, &request, &at)?,
        space if space.is_remote() => return remote(worker, block, warp, &request, space),
        space => {
            fill_idle(&mut at, exec);
            in_space(worker, block, warp, &request, space, &at)?;
        }
    }
    worker.sink.access(w, Pc(pc), inst, &warp.regs, exec, &at);
    if matches!(inst.kind, Kind::Load(_) | Kind::Atomic(_)) {
        warp.has_read = true;
        if worker.executable.polls.get(pc as usize) == Some(&true) {
            poll(worker, warp, &request, &at);
        }
    } else {
        worker.changes += 1;
    }
    Ok(())
}

/// Texture fetches and surface accesses, whose addresses are recorded with what they load.
#[inline(never)]
fn remote<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    request: &Request<'_>,
    space: Space,
) -> Result<(), Trouble> {
    if let Err(refusal) = texture::access(worker, &mut block.rows, warp, request)? {
        return Err(trouble(worker, block, warp, request, space, refusal));
    }
    let loads = matches!(request.inst.kind, Kind::Load(_));
    warp.has_read |= loads;
    worker.changes += u64::from(!loads);
    let mut at: Addresses = [0; 32];
    warp.regs.addresses(&mut at);
    worker.sink.access(request.warp, Pc(request.pc), request.inst, &warp.regs, request.exec, &at);
    Ok(())
}

/// A warp that polls memory gives up its turn when the values do not change.
#[cold]
#[inline(never)]
fn poll<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    warp: &mut WarpState,
    request: &Request<'_>,
    at: &Addresses,
) {
    let Request { inst, pc, exec, .. } = *request;
    if matches!(inst.kind, Kind::Atomic(_)) && std::mem::replace(&mut warp.has_changed, false) {
        worker.changes += 1;
        return;
    }
    let (poll, digest) = Poll::new(pc, inst, at, &warp.regs, exec);
    if warp.spin.poll(poll, digest, worker.changes) {
        warp.turn_end = 0;
    }
}

/// Splits lanes by the window that their generic address falls into.
fn generic<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    request: &Request<'_>,
    at: &Addresses,
) -> Result<(), Trouble> {
    let lanes_with = |test: &dyn Fn(u32) -> bool| {
        (0..32).fold(0u32, |m, l| m | u32::from(test((at[l] >> 32) as u32)) << l) & request.exec
    };
    let windows = lanes_with(&|high| high >= SHARED_WINDOW_HI);
    let mut global = request.exec;
    if windows != 0 {
        for (space, high) in [(Space::Shared, SHARED_WINDOW_HI), (Space::Local, LOCAL_WINDOW_HI)] {
            let lanes = lanes_with(&|h| h == high);
            global &= !lanes;
            if lanes != 0 {
                let at = low_words(at, lanes);
                in_space(worker, block, warp, &Request { exec: lanes, ..*request }, space, &at)?;
            }
        }
        for (bank, high) in [(BANK_USER, CONST_WINDOW_HI), (BANK_PARAM, PARAM_WINDOW_HI)] {
            let lanes = lanes_with(&|h| h == high);
            global &= !lanes;
            if lanes != 0 {
                let at = low_words(at, lanes);
                constant(worker, block, warp, &Request { exec: lanes, ..*request }, bank, &at)?;
            }
        }
    }
    if global != 0 {
        let mut at = *at;
        fill_idle(&mut at, global);
        in_space(worker, block, warp, &Request { exec: global, ..*request }, Space::Global, &at)?;
    }
    Ok(())
}

/// Addresses within a window.
fn low_words(at: &Addresses, lanes: u32) -> Addresses {
    let mut at = at.map(|a| a & 0xFFFF_FFFF);
    fill_idle(&mut at, lanes);
    at
}

/// A generic access to a constant bank, which can only be loaded from.
#[cold]
fn constant<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    request: &Request<'_>,
    bank: u8,
    at: &Addresses,
) -> Result<(), Trouble> {
    let Request { inst, exec, .. } = *request;
    let bytes = worker.executable.banks.bank(bank);
    let outcome = match inst.kind {
        Kind::Load(_) => load_plain(bytes, at, exec, inst.width(), &mut block.rows),
        _ => {
            let lane = exec.trailing_zeros() & 31;
            Err(Refusal::OutOfBounds { lane: lane as u8, address: at[lane as usize] })
        }
    };
    outcome.map_err(|refusal| trouble(worker, block, warp, request, Space::Const, refusal))?;
    for i in 0..inst.dst_rows {
        warp.regs.write_row(inst.dst + u16::from(i), &block.rows[usize::from(i)], exec);
    }
    Ok(())
}

#[inline(always)]
fn in_space<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    request: &Request<'_>,
    space: Space,
    at: &Addresses,
) -> Result<(), Trouble> {
    if let Some((checker, memory)) = worker.memory.watch() {
        let (actor, shared) = (block.actor(worker.executable, request.warp, request.pc), &block.memory);
        let (inst, exec, local_bytes) = (request.inst, request.exec, warp.local.bytes());
        let accessed = Accessed { inst, regs: &warp.regs, space, at, exec, shared, local_bytes };
        let good = checker.access(actor, &accessed, memory);
        if good != exec {
            if good == 0 {
                return Ok(());
            }
            let mut at = *at;
            fill_idle(&mut at, good);
            return perform(worker, block, warp, &Request { exec: good, ..*request }, space, &at);
        }
    }
    perform(worker, block, warp, request, space, at)
}

#[inline(always)]
fn perform<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    request: &Request<'_>,
    space: Space,
    at: &Addresses,
) -> Result<(), Trouble> {
    let outcome = match request.inst.kind {
        Kind::Load(_) => load(worker, block, warp, request, space, at),
        Kind::Store(_) => store(worker, block, warp, request, space, at),
        _ => modify(worker, block, warp, request, space, at),
    };
    outcome.map_err(|refusal| trouble(worker, block, warp, request, space, refusal))
}

/// Loads from plain bytes that start at address 0.
#[inline(always)]
fn load_plain(
    bytes: &[u8],
    at: &Addresses,
    exec: u32,
    width: MemWidth,
    out: &mut Rows,
) -> Result<(), Refusal> {
    let n = u64::from(width.bytes());
    let survey = lanes::survey(at, 0, bytes.len() as u64, n);
    if !survey.inside || !survey.aligned {
        return Err(blame(bytes, at, exec, n));
    }
    lanes::load(bytes, 0, at, width, survey, out);
    Ok(())
}

#[inline(always)]
fn load<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    request: &Request<'_>,
    space: Space,
    at: &Addresses,
) -> Result<(), Refusal> {
    let Request { inst, exec, .. } = *request;
    let width = inst.width();
    let out = &mut block.rows;
    let Some(MemOp { data, address, .. }) = inst.memory else { return Ok(()) };
    match (space, data, address) {
        (_, MemData::Matrices(count, trans), _) => matrix::load(&block.memory, at, count, trans, out)?,
        (Space::Shared, ..) => load_plain(&block.memory, at, exec, width, out)?,
        (Space::Local, ..) => warp.local.load(at, exec, width, out)?,
        (_, _, Address::Bank(bank)) => {
            load_plain(worker.executable.banks.bank(bank.0), at, exec, width, out)?;
        }
        _ => {
            if let Err(refusal) = worker.memory.load(request.pc as usize, at, exec, width, out) {
                lenient::load(worker, block, request, at, refusal)?;
            }
        }
    }
    let out = &block.rows;
    for i in 0..inst.dst_rows {
        warp.regs.write_row(inst.dst + u16::from(i), &out[usize::from(i)], exec);
    }
    Ok(())
}

#[inline(always)]
fn store<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    request: &Request<'_>,
    space: Space,
    at: &Addresses,
) -> Result<(), Refusal> {
    let Request { inst, exec, .. } = *request;
    if let Some(MemOp { data: MemData::Matrices(count, trans), .. }) = inst.memory {
        let source = inst.src[1].row;
        let data: [&Row; 4] =
            std::array::from_fn(|i| warp.regs.row(source + u16::from(count.get() - 1).min(i as u16)));
        return matrix::store(&mut block.memory, at, count, trans, &data);
    }
    let width = inst.width();
    let (row, last) = (inst.src[1].row, u16::from(width.regs()) - 1);
    let data: [&Row; 4] = std::array::from_fn(|i| warp.regs.row(row + last.min(i as u16)));
    match space {
        Space::Shared => {
            let n = u64::from(width.bytes());
            let survey = lanes::survey(at, 0, block.memory.len() as u64, n);
            if !survey.inside || !survey.aligned {
                return Err(blame(&block.memory, at, exec, n));
            }
            lanes::store(&mut block.memory[..], 0, at, exec, width, survey, &data);
            Ok(())
        }
        Space::Local => warp.local.store(at, exec, width, &data),
        _ => worker.memory.store(request.pc as usize, at, exec, width, &data),
    }
}

fn modify<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    request: &Request<'_>,
    space: Space,
    at: &Addresses,
) -> Result<(), Refusal> {
    let Request { inst, exec, .. } = *request;
    let Some(MemOp { data, .. }) = inst.memory else { return Ok(()) };
    if let MemData::BarrierObject(layout, update) = data {
        update_barriers(block, warp, request, (layout, update), at)?;
        warp.has_changed = true;
        for i in 0..inst.dst_rows {
            warp.regs.write_row(inst.dst + u16::from(i), &block.rows[usize::from(i)], exec);
        }
        return Ok(());
    }
    let MemData::Modify(op, ty) = data else { return Ok(()) };
    let last = u16::from(ty.regs() - 1);
    let words = |s: usize| [0, 1, 2, 3].map(|i| warp.regs.row(inst.src[s].row + last.min(i)));
    let modify = Modify { op, ty, b: words(1), c: words(2) };
    let (old, site) = (&mut block.rows, request.pc as usize);
    match space {
        Space::Shared => {
            let n = u64::from(ty.bytes());
            let survey = lanes::survey(at, 0, block.memory.len() as u64, n);
            if !survey.inside || !survey.aligned {
                return Err(blame(&block.memory, at, exec, n));
            }
            for l in lanes_of(exec) {
                let before = modify_bytes(&mut block.memory[..], at[l] as usize, l, &modify, false);
                put_words(old, l, before);
            }
        }
        Space::Local => warp.local.modify(at, exec, &modify, old)?,
        _ if matches!(inst.kind, Kind::Reduction(_)) => worker.memory.reduce(site, at, exec, &modify)?,
        _ => worker.memory.atomic(site, at, exec, &modify, old)?,
    }
    if matches!(inst.kind, Kind::Atomic(_)) {
        warp.has_changed |= lanes_of(exec).any(|l| changes(&modify, old, l));
        for i in 0..inst.dst_rows {
            warp.regs.write_row(inst.dst + u16::from(i), &old[usize::from(i)], exec);
        }
    }
    Ok(())
}

/// `SYNCS`: lanes change barrier objects one after the other.
fn update_barriers(
    block: &mut BlockShared,
    warp: &WarpState,
    request: &Request<'_>,
    (layout, update): (BarrierLayout, BarrierUpdate),
    at: &Addresses,
) -> Result<(), Refusal> {
    let exec = request.exec;
    let survey = lanes::survey(at, 0, block.memory.len() as u64, 8);
    if !survey.inside || !survey.aligned {
        return Err(blame(&block.memory, at, exec, 8));
    }
    let operands = warp.regs.row(request.inst.src[1].row);
    for l in lanes_of(exec) {
        let from = at[l] as usize;
        let Some(place) = block.memory.get_mut(from..from + 8) else { continue };
        let mut bytes = [0; 8];
        bytes.copy_from_slice(place);
        let state = u64::from_le_bytes(bytes);
        place.copy_from_slice(&barrier_state::updated(layout, state, update, operands.0[l]).to_le_bytes());
        block.rows[0].0[l] = state as u32;
        block.rows[1].0[l] = (state >> 32) as u32;
    }
    Ok(())
}

/// Whether the operation changes the old value.
fn changes(modify: &Modify<'_>, old: &Rows, l: usize) -> bool {
    let words = usize::from(modify.ty.regs());
    let wide =
        |word: &dyn Fn(usize) -> u32| (0..words).fold(0u128, |v, i| v | u128::from(word(i)) << (32 * i));
    let before = wide(&|i| old[i].0[l]);
    let (b, c) = (wide(&|i| modify.b[i].0[l]), wide(&|i| modify.c[i].0[l]));
    atomic::apply(modify.op, modify.ty, false, before, b, c) != before
}

/// Converts a refused access to a fault with its place, or reports that the order of blocks matters.
#[cold]
fn trouble<V, S: BlockSink>(
    worker: &Worker<'_, V, S>,
    block: &BlockShared,
    warp: &WarpState,
    request: &Request<'_>,
    space: Space,
    refusal: Refusal,
) -> Trouble {
    let inst = request.inst;
    let access = match inst.kind {
        Kind::Load(_) => Access::Load,
        Kind::Store(_) => Access::Store,
        _ => Access::Atomic,
    };
    let width = inst.mem_bytes();
    let place = |lane| Location { pc: request.pc, warp: request.warp, lane: Some(lane) };
    match refusal {
        Refusal::OutOfBounds { lane, address }
            if space == Space::Local
                && worker.executable.kernel.stack_bytes > 0
                && address > u64::from(u32::MAX / 2) =>
        {
            // The stack grows downwards, past address 0.
            Trouble::fault(FaultKind::StackOverflow(worker.executable.kernel.stack_bytes), place(lane))
        }
        Refusal::OutOfBounds { lane, address } => {
            let size = match (space, inst.memory.map(|memory| memory.address)) {
                (Space::Shared, _) => Some(block.memory.len() as u64),
                (Space::Local, _) => Some(warp.local.bytes()),
                (Space::Const, Some(Address::Bank(bank))) => {
                    Some(worker.executable.banks.bank(bank.0).len() as u64)
                }
                _ => None,
            };
            let kind = FaultKind::OutOfBounds { access, space, address, width, size, nearest: None };
            Trouble::fault(kind, place(lane))
        }
        Refusal::Misaligned { lane, address } => {
            Trouble::fault(FaultKind::Misaligned { access, space, address, width }, place(lane))
        }
        Refusal::NewlyWritten(_) | Refusal::Order => Trouble::Order(refusal),
    }
}
