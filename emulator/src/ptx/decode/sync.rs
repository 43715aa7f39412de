//! Barriers, fences, and data exchange between the threads of a warp.

use super::super::inst::Operand;
use super::super::op::Op;
use super::super::op_data::{BarAction, BarOp, FenceOp, MbarrierAction, MbarrierOp};
use super::super::resolve::ArgKind;
use super::super::types::{MemOrder, MemScope, ProxyKind, ReduxOp, ScalarType as T, ShflMode, VoteMode};
use super::cursor::Decoder;
use super::memory::{scope, space};
use super::raw::Decode;

/// `bar`, `barrier`.
pub(super) fn barrier(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    if d.flag("warp") {
        d.need_flag("sync")?;
        d.src(T::B32)?;
        return Ok(Op::BarWarpSync);
    }
    if d.flag("cluster") {
        return cluster_barrier(d);
    }
    d.flag("cta");
    let aligned = d.flag("aligned") || d.opcode() == "bar";
    let action = match d.need("`.sync`, `.arrive` or `.red`", bar_word)? {
        "sync" => BarAction::Sync,
        "arrive" => BarAction::Arrive,
        _ => reduction(d)?,
    };
    match action {
        BarAction::Popc => d.dst(T::B32)?,
        BarAction::And | BarAction::Or => d.dst(T::Pred)?,
        BarAction::Sync | BarAction::Arrive => {}
    }
    let reduces = matches!(action, BarAction::Popc | BarAction::And | BarAction::Or);
    d.src(T::U32)?;
    let threads = d.remaining() > usize::from(reduces) || action == BarAction::Arrive;
    if threads {
        d.src(T::U32)?;
    }
    if reduces {
        d.src(T::Pred)?;
    }
    Ok(Op::Bar(BarOp { action, aligned, threads }))
}

fn bar_word(word: &str) -> Option<&'static str> {
    ["sync", "arrive", "red"].into_iter().find(|known| *known == word)
}

/// `.popc.u32`, `.and.pred`, `.or.pred`.
fn reduction(d: &mut Decoder<'_, '_>) -> Decode<BarAction> {
    let action = d.need("`.popc`, `.and` or `.or`", |word| match word {
        "popc" => Some(BarAction::Popc),
        "and" => Some(BarAction::And),
        "or" => Some(BarAction::Or),
        _ => None,
    })?;
    d.ty(if action == BarAction::Popc { &[T::U32] } else { &[T::Pred] })?;
    Ok(action)
}

fn cluster_barrier(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let arrive = d.need("`.arrive` or `.wait`", |word| match word {
        "arrive" => Some(true),
        "wait" => Some(false),
        _ => None,
    })?;
    let order = d.take(|word| {
        MemOrder::from_keyword(word).filter(|order| match order {
            MemOrder::Release | MemOrder::Relaxed => arrive,
            MemOrder::Acquire => !arrive,
            _ => false,
        })
    });
    let aligned = d.flag("aligned");
    Ok(Op::BarrierCluster { arrive, order, aligned })
}

/// `membar`, `fence`.
pub(super) fn fence(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    if d.flag("mbarrier_init") {
        d.need_flag("release")?;
        d.need_flag("cluster")?;
        return Ok(Op::Fence(FenceOp::MbarrierInit));
    }
    if d.flag("proxy") {
        return proxy_fence(d);
    }
    if d.opcode() == "membar" {
        let scope = d.need("`.cta`, `.gl` or `.sys`", |word| match word {
            "cta" | "gl" | "sys" => MemScope::from_keyword(word),
            _ => None,
        })?;
        return Ok(Op::Fence(FenceOp::Thread { order: MemOrder::Sc, scope }));
    }
    let orders = [MemOrder::Sc, MemOrder::AcqRel, MemOrder::Acquire, MemOrder::Release];
    let order = d.take(|word| MemOrder::from_keyword(word).filter(|order| orders.contains(order)));
    let Some(scope) = scope(d) else {
        return Err(d.whole("lacks a scope", "add `.cta`, `.cluster`, `.gpu` or `.sys`"));
    };
    Ok(Op::Fence(FenceOp::Thread { order: order.unwrap_or(MemOrder::AcqRel), scope }))
}

fn proxy_fence(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let mut kind = d.need("its kind of proxy", ProxyKind::from_keyword)?;
    if kind == ProxyKind::Async {
        let narrower = d.take(|word| match word {
            "global" => Some(ProxyKind::AsyncGlobal),
            "shared::cta" | "shared::cluster" => Some(ProxyKind::AsyncShared),
            _ => None,
        });
        kind = narrower.unwrap_or(kind);
    }
    let order = d.take(|word| {
        MemOrder::from_keyword(word).filter(|order| matches!(order, MemOrder::Acquire | MemOrder::Release))
    });
    let scope = scope(d);
    if order == Some(MemOrder::Acquire) {
        d.mem()?;
        d.src(T::U32)?;
    }
    Ok(Op::Fence(FenceOp::Proxy { kind, order, scope }))
}

pub(super) fn vote(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let sync = d.flag("sync");
    let mode = d.need("`.all`, `.any`, `.uni` or `.ballot`", VoteMode::from_keyword)?;
    let ty = d.ty(if mode == VoteMode::Ballot { &[T::B32] } else { &[T::Pred] })?;
    d.dst(ty)?;
    d.src(T::Pred)?;
    if sync {
        d.src(T::B32)?;
    }
    Ok(Op::Vote { mode, sync })
}

pub(super) fn shfl(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let sync = d.flag("sync");
    let mode = d.need("`.up`, `.down`, `.bfly` or `.idx`", ShflMode::from_keyword)?;
    d.ty(&[T::B32])?;
    d.dst_dual(T::B32)?;
    d.src(T::B32)?;
    d.src(T::U32)?;
    d.src(T::U32)?;
    if sync {
        d.src(T::B32)?;
    }
    Ok(Op::Shfl { mode, sync })
}

pub(super) fn match_lanes(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let all = d.need("`.any` or `.all`", |word| match word {
        "any" => Some(false),
        "all" => Some(true),
        _ => None,
    })?;
    d.need_flag("sync")?;
    let ty = d.ty(&[T::B32, T::B64])?;
    if d.dst_dual(T::B32)? && !all {
        return Err(d.whole("has one destination", "only `.all` has a predicate as well"));
    }
    d.src(ty)?;
    d.src(T::B32)?;
    Ok(Op::Match { all, ty })
}

pub(super) fn activemask(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    d.uniform(&[T::B32], 0)?;
    Ok(Op::Activemask)
}

pub(super) fn redux(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    d.need_flag("sync")?;
    let op = d.need("its operation", ReduxOp::from_keyword)?;
    let (abs, nan) = (d.flag("abs"), d.flag("NaN"));
    let ty = d.ty(match op {
        ReduxOp::And | ReduxOp::Or | ReduxOp::Xor => &[T::B32],
        ReduxOp::Add => &[T::U32, T::S32],
        ReduxOp::Min | ReduxOp::Max => &[T::U32, T::S32, T::F32],
    })?;
    d.dst(ty)?;
    d.src(ty)?;
    d.src(T::B32)?;
    Ok(Op::Redux { op, ty, abs, nan })
}

pub(super) fn elect(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    d.need_flag("sync")?;
    if !d.dst_dual(T::B32)? {
        return Err(d.whole("has two destinations", "write `_|p` where only the predicate is wanted"));
    }
    d.src(T::B32)?;
    Ok(Op::Elect)
}

const MBARRIER_WORDS: &[&str] = &[
    "init",
    "inval",
    "expect_tx",
    "complete_tx",
    "arrive",
    "arrive_drop",
    "test_wait",
    "try_wait",
    "pending_count",
];

pub(super) fn mbarrier(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let verb = d.need("its operation", |word| MBARRIER_WORDS.iter().copied().find(|known| *known == word))?;
    let arrives = matches!(verb, "arrive" | "arrive_drop");
    let waits = matches!(verb, "test_wait" | "try_wait");
    let expect_tx = arrives && d.flag("expect_tx");
    let no_complete = arrives && d.flag("noComplete");
    let parity = waits && d.flag("parity");
    let order = d.take(|word| {
        let orders = [MemOrder::Acquire, MemOrder::Release, MemOrder::Relaxed];
        MemOrder::from_keyword(word).filter(|order| orders.contains(order))
    });
    let scope = scope(d);
    let space = space(d);
    d.ty(&[T::B64])?;
    let action = match verb {
        "init" | "expect_tx" | "complete_tx" => {
            d.mem()?;
            d.src(T::U32)?;
            match verb {
                "init" => MbarrierAction::Init,
                "expect_tx" => MbarrierAction::ExpectTx,
                _ => MbarrierAction::CompleteTx,
            }
        }
        "inval" => {
            d.mem()?;
            MbarrierAction::Inval
        }
        "pending_count" => {
            d.dst(T::B32)?;
            d.src(T::B64)?;
            MbarrierAction::PendingCount
        }
        "test_wait" | "try_wait" => {
            d.dst(T::Pred)?;
            d.mem()?;
            d.src(if parity { T::U32 } else { T::B64 })?;
            let try_wait = verb == "try_wait";
            let hint = try_wait && d.maybe_src(T::U32)?;
            MbarrierAction::Wait { try_wait, parity, hint }
        }
        _ => {
            // On a barrier of another block there is no state to return, and the sink may be left out.
            if !matches!(d.peek(), Some(ArgKind::Mem(_))) {
                d.dst(T::B64)?;
            } else {
                d.push_dst(Operand::Sink);
            }
            d.mem()?;
            let count = d.maybe_src(T::U32)?;
            if !count && (expect_tx || no_complete) {
                return Err(d.whole("lacks its count", "add the count of bytes or arrivals"));
            }
            MbarrierAction::Arrive { drop: verb == "arrive_drop", expect_tx, no_complete, count }
        }
    };
    Ok(Op::Mbarrier(MbarrierOp { action, space, order, scope }))
}
