//! Loads, stores, atomics, cache hints and asynchronous copies.

use super::super::op::Op;
use super::super::op_data::{AtomicOp, CacheLevel, CpAsyncOp, CpAsyncTail, LdOp, StOp};
use super::super::resolve::{ArgKind, Const};
use super::super::types::{AtomOp, CacheOp, MemOrder, MemScope, ScalarType as T, StateSpace};
use super::cursor::{Decoder, Width};
use super::movement::vector_width;
use super::raw::Decode;

const STORED: &[T] = &[
    T::B8,
    T::B16,
    T::B32,
    T::B64,
    T::B128,
    T::U8,
    T::U16,
    T::U32,
    T::U64,
    T::S8,
    T::S16,
    T::S32,
    T::S64,
    T::F16,
    T::Bf16,
    T::F16x2,
    T::Bf16x2,
    T::F32,
    T::F64,
];
const ATOMIC: &[T] = &[
    T::B16,
    T::B32,
    T::B64,
    T::B128,
    T::U16,
    T::U32,
    T::U64,
    T::S32,
    T::S64,
    T::F16,
    T::F16x2,
    T::Bf16,
    T::Bf16x2,
    T::F32,
    T::F64,
];

/// Modifiers that loads and stores share.
struct Access {
    space: StateSpace,
    ty: T,
    vec: u8,
    order: MemOrder,
    scope: Option<MemScope>,
    cache: Option<CacheOp>,
    cache_policy: bool,
}

/// The named space; generic where none is.
pub(super) fn space(d: &mut Decoder<'_, '_>) -> StateSpace {
    d.take(StateSpace::from_keyword).unwrap_or(StateSpace::Generic)
}

/// `.cta`, `.cluster`, `.gpu`, `.sys`.
pub(super) fn scope(d: &mut Decoder<'_, '_>) -> Option<MemScope> {
    d.take(|word| MemScope::from_keyword(word).filter(|_| word != "gl"))
}

/// Drops eviction priorities and prefetch sizes, which are hints; returns whether a cache policy operand
/// follows.
fn cache_hints(d: &mut Decoder<'_, '_>) -> bool {
    let policy = d.flag("L2::cache_hint");
    let is_hint = |word: &str| {
        let hint = word.strip_prefix("L1::").or_else(|| word.strip_prefix("L2::"))?;
        let known = matches!(
            hint,
            "evict_normal"
                | "evict_unchanged"
                | "evict_first"
                | "evict_last"
                | "no_allocate"
                | "64B"
                | "128B"
                | "256B"
        );
        known.then_some(())
    };
    while d.take(is_hint).is_some() {}
    policy
}

fn access(d: &mut Decoder<'_, '_>, orders: &[MemOrder]) -> Decode<Access> {
    let order = d.take(|word| MemOrder::from_keyword(word).filter(|order| orders.contains(order)));
    let order = order.unwrap_or(MemOrder::Weak);
    let scope = scope(d);
    let space = space(d);
    let cache = d.take(CacheOp::from_keyword);
    let cache_policy = cache_hints(d);
    let vec = d.take(vector_width).unwrap_or(1);
    let ty = d.ty(STORED)?;
    let ordered = matches!(order, MemOrder::Relaxed | MemOrder::Acquire | MemOrder::Release);
    if ordered && scope.is_none() {
        return Err(d.whole("lacks a scope", "add `.cta`, `.cluster`, `.gpu` or `.sys`"));
    }
    if u32::from(vec) * ty.bits() > 256 {
        return Err(d.whole("moves more than 256 bits", "use fewer or smaller elements"));
    }
    Ok(Access { space, ty, vec, order, scope, cache, cache_policy })
}

pub(super) fn ld(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let nc = d.flag("nc") || d.opcode() == "ldu";
    d.flag("unified");
    let orders = [MemOrder::Weak, MemOrder::Volatile, MemOrder::Relaxed, MemOrder::Acquire, MemOrder::Mmio];
    // `.mmio` comes as `.mmio.relaxed.sys`.
    let mmio = d.flag("mmio");
    let Access { space, ty, vec, order, scope, cache, cache_policy } = access(d, &orders)?;
    let order = if mmio { MemOrder::Mmio } else { order };
    d.dst_elements(ty, vec, Width::AtLeast)?;
    d.mem()?;
    if cache_policy {
        d.src(T::B64)?;
    }
    Ok(Op::Ld(LdOp { space, ty, vec, order, scope, cache, nc, cache_policy }))
}

pub(super) fn st(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let orders = [MemOrder::Weak, MemOrder::Volatile, MemOrder::Relaxed, MemOrder::Release];
    let mmio = d.flag("mmio");
    let Access { space, ty, vec, order, scope, cache, cache_policy } = access(d, &orders)?;
    let order = if mmio { MemOrder::Mmio } else { order };
    if space == StateSpace::Const {
        return Err(d.whole("writes constant memory", "`.const` variables are written by the host alone"));
    }
    d.mem()?;
    d.src_elements(ty, vec, Width::AtLeast)?;
    if cache_policy {
        d.src(T::B64)?;
    }
    Ok(Op::St(StOp { space, ty, vec, order, scope, cache, cache_policy }))
}

/// `atom` (which has a result) and `red` (which has none).
pub(super) fn atomic(d: &mut Decoder<'_, '_>, has_result: bool) -> Decode<AtomicOp> {
    let orders = [MemOrder::Relaxed, MemOrder::Acquire, MemOrder::Release, MemOrder::AcqRel];
    let order = d.take(|word| MemOrder::from_keyword(word).filter(|order| orders.contains(order)));
    let scope = scope(d).unwrap_or(MemScope::Gpu);
    let space = space(d);
    let op = d.need("its operation", AtomOp::from_keyword)?;
    let cache_policy = cache_hints(d);
    let ty = d.ty(ATOMIC)?;
    if !matches!(
        space,
        StateSpace::Generic | StateSpace::Global | StateSpace::Shared | StateSpace::SharedCluster
    ) {
        return Err(d.whole("acts on one thread's memory", "atomics are for global and shared memory"));
    }
    let half = matches!(ty, T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2);
    let noftz = (half || ty == T::F32) && d.flag("noftz");
    let vec = if half || ty == T::F32 { d.take(vector_width).unwrap_or(1) } else { 1 };
    check_atomic(d, op, ty, vec, has_result)?;
    if has_result {
        d.dst_elements(ty, vec, Width::Exact)?;
    }
    d.mem()?;
    d.src_elements(ty, vec, Width::Exact)?;
    if op == AtomOp::Cas {
        d.src(ty)?;
    }
    if cache_policy {
        d.src(T::B64)?;
    }
    let order = order.unwrap_or(MemOrder::Relaxed);
    Ok(AtomicOp { op, ty, vec, space, order, scope, noftz, cache_policy })
}

/// Which operations exist for which types.
fn check_atomic(d: &Decoder<'_, '_>, op: AtomOp, ty: T, vec: u8, has_result: bool) -> Decode<()> {
    let exists = match op {
        AtomOp::And | AtomOp::Or | AtomOp::Xor => matches!(ty, T::B32 | T::B64),
        AtomOp::Cas => {
            has_result && matches!(ty, T::B16 | T::U16 | T::B32 | T::B64 | T::B128 | T::U32 | T::U64 | T::S32)
        }
        AtomOp::Exch => {
            has_result && matches!(ty, T::B32 | T::B64 | T::B128 | T::U32 | T::U64 | T::S32 | T::F32)
        }
        AtomOp::Add => !matches!(ty, T::B16 | T::B32 | T::B64 | T::B128 | T::U16),
        AtomOp::Inc | AtomOp::Dec => ty == T::U32,
        AtomOp::Min | AtomOp::Max => {
            ty.is_integer() && ty != T::U16 || (vec > 1 && ty.is_float() && ty != T::F32)
        }
    };
    if exists {
        return Ok(());
    }
    Err(d.whole(
        &format!("does not exist: no `.{op}` of `.{ty}`"),
        "logic takes bits, arithmetic takes numbers",
    ))
}

/// `prefetch`, `prefetchu`.
pub(super) fn prefetch(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let space = space(d);
    let uniform = d.opcode() == "prefetchu";
    let level = d.need("`.L1` or `.L2`", |word| match word {
        "L1" if uniform => Some(CacheLevel::Uniform),
        "L1" => Some(CacheLevel::L1),
        "L2" | "L2::evict_last" | "L2::evict_normal" => Some(CacheLevel::L2),
        "tensormap" => Some(CacheLevel::Other),
        _ => None,
    })?;
    d.mem()?;
    Ok(Op::Prefetch { space, level })
}

/// `discard`, `applypriority`: over 128 bytes.
pub(super) fn cache_hint(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let discard = d.opcode() == "discard";
    let space = space(d);
    d.need_flag(if discard { "L2" } else { "L2::evict_normal" })?;
    d.mem()?;
    if d.constant()? != 128 {
        return Err(d.whole("covers 128 bytes", "write 128 as size"));
    }
    Ok(Op::CacheHint { space, discard })
}

/// `createpolicy` makes an opaque value of whatever it is given.
pub(super) fn createpolicy(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    d.need("its kind", |word| matches!(word, "fractional" | "range" | "cvt").then_some(()))?;
    space(d);
    cache_hints(d);
    d.flag("L2");
    d.ty(&[T::B64])?;
    d.dst(T::B64)?;
    while d.remaining() > 0 {
        let ty = match d.peek() {
            Some(ArgKind::Mem(_)) => {
                d.mem()?;
                continue;
            }
            Some(&ArgKind::Reg(reg)) => d.register_type(reg),
            Some(ArgKind::Const(Const::Int { .. })) => T::B64,
            _ => T::F32,
        };
        d.src(ty)?;
    }
    Ok(Op::Createpolicy)
}

/// `cp.async` and its groups.
pub(super) fn cp(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    d.need_flag("async")?;
    if d.flag("bulk") {
        return Err(d.whole("is not supported", "bulk copies need the tensor memory accelerator of sm_90"));
    }
    if d.flag("commit_group") {
        return Ok(Op::CpAsyncCommitGroup);
    }
    if d.flag("wait_all") {
        return Ok(Op::CpAsyncWait { pending: None });
    }
    if d.flag("wait_group") {
        let pending = d.constant()?;
        let pending = Some(u32::try_from(pending).unwrap_or(u32::MAX));
        return Ok(Op::CpAsyncWait { pending });
    }
    if d.flag("mbarrier") {
        d.need_flag("arrive")?;
        let noinc = d.flag("noinc");
        let space = space(d);
        d.ty(&[T::B64])?;
        d.mem()?;
        return Ok(Op::CpAsyncMbarrierArrive { noinc, space });
    }
    copy(d)
}

/// `cp.async.ca.shared.global [dst], [src], size, src_size or ignore_src, policy`.
fn copy(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let cache = d.need("`.ca` or `.cg`", |word| {
        CacheOp::from_keyword(word).filter(|cache| matches!(cache, CacheOp::Ca | CacheOp::Cg))
    })?;
    if !(d.flag("shared") || d.flag("shared::cta")) {
        d.need_flag("shared")?;
    }
    d.need_flag("global")?;
    let cache_policy = cache_hints(d);
    d.mem()?;
    d.mem()?;
    let bytes = match d.constant()? {
        bytes @ (4 | 8) if cache == CacheOp::Ca => bytes as u8,
        16 => 16,
        _ => return Err(d.whole("copies 4, 8 or 16 bytes, with `.cg` only 16", "change the size")),
    };
    let mut tail = CpAsyncTail::None;
    if d.remaining() > usize::from(cache_policy) {
        let predicate = match d.peek() {
            Some(&(ArgKind::Reg(reg) | ArgKind::NotReg(reg))) => d.register_type(reg) == T::Pred,
            _ => false,
        };
        tail = if predicate { CpAsyncTail::IgnoreSource } else { CpAsyncTail::SourceSize };
        d.src(if predicate { T::Pred } else { T::U32 })?;
    }
    if cache_policy {
        d.src(T::B64)?;
    }
    Ok(Op::CpAsync(CpAsyncOp { cache, bytes, tail, cache_policy }))
}
