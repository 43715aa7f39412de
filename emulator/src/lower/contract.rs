//! Contraction: a product without rounding and the sum that uses it become one fused multiply-add, as ptxas
//! does by default (`-fmad true`). The rules were found by compiling small texts with ptxas:
//!
//! - Neither the `mul` nor the `add` or `sub` names a rounding; they have one type and agree on `.ftz`, and only the
//!   sum may saturate. The product may be copied and negated in between.
//! - Both are in one *run*: statements that follow each other without a label that is jumped to, a branch, a call, a
//!   guarded access to memory, or a division or root with a slow path.
//! - The `mul` executes without a guard, and all uses of its product are such sums: otherwise it must be
//!   computed anyway. A sum of a product with itself is not fused.
//! - Sums choose in the order of the program. Of two products the one with fewer sums is taken, else the
//!   first. A product of several sums is not fused if one of them could use a product with fewer sums. The
//!   other operand of a fused sum is no longer a product for other sums.
//! - Constants are known before: a product of constants in single or double precision is a constant and no product,
//!   and a use whose result does not depend on it is none.

use rustc_hash::{FxHashMap, FxHashSet};

use super::build::half_ty;
use super::cfg;
use super::fold::fold;
use super::truth;
use super::vir::{Func, Fuse, Inst, InstId, PSrc, Src, VOp, VReg, Val};
use trace_format::isa::{Ftz, Lut, Op, Relu, Rnd, Sat};

/// A product and the sums that take it.
#[derive(Default)]
struct Product {
    /// Sums that are not fused yet, in program order.
    sums: Vec<InstId>,
    /// Initial number of sums.
    count: usize,
    /// It must be computed, because not only sums use it.
    kept: bool,
}

/// A product as an operand of a sum.
#[derive(Clone, Copy)]
struct Factor {
    product: InstId,
    negated: bool,
}

/// Fuses products into sums.
pub(super) fn run(f: &mut Func) {
    fold_constants(f);
    let sums: Vec<InstId> = f
        .order
        .iter()
        .flat_map(|&b| f.block(b).insts.iter().copied())
        .filter(|&id| is_sum(f.inst(id)))
        .collect();
    if sums.is_empty() {
        return;
    }
    let factors: FxHashMap<InstId, [Option<Factor>; 2]> =
        sums.iter().map(|&id| (id, [0, 1].map(|i| factor(f, id, i)))).collect();
    let mut products = products(f, &sums, &factors);
    for &sum in &sums {
        let Some(i) = choice(&products, &factors, sum) else { continue };
        let [first, second] = factors[&sum];
        let (Some(taken), other) = (if i == 0 { (first, second) } else { (second, first) }) else { continue };
        if let Some(other) = other.and_then(|other| products.get_mut(&other.product)) {
            other.kept = true;
        }
        if let Some(product) = products.get_mut(&taken.product) {
            product.sums.retain(|&s| s != sum);
        }
        fuse(f, sum, i, taken);
    }
}

/// Replaces instructions whose results are known. The builder has done so where it knew the operands, which it does not
/// in loops.
fn fold_constants(f: &mut Func) {
    loop {
        f.resolve_all();
        let mut gone = FxHashSet::default();
        for b in f.order.clone() {
            for id in f.block(b).insts.clone() {
                let mut inst = f.inst(id).clone();
                inst.map_vals(|v| f.resolve(v));
                inst.map_psrcs(|p| f.presolve(p));
                let wants_pred = inst.pdst[0].is_some();
                if inst.op.is_free()
                    && let Some(known) = fold(&mut inst, wants_pred)
                {
                    let (dst, pdst) = (inst.dst, inst.pdst);
                    dst.into_iter()
                        .zip(known.dst)
                        .for_each(|(d, v)| d.into_iter().for_each(|d| f.replace(d, v)));
                    pdst.into_iter()
                        .zip(known.pdst)
                        .for_each(|(d, p)| d.into_iter().for_each(|d| f.preplace(d, p)));
                    gone.insert(id);
                }
            }
        }
        if gone.is_empty() {
            return;
        }
        for b in f.order.clone() {
            f.block_mut(b).insts.retain(|id| !gone.contains(id));
        }
        cfg::clean(f);
        cfg::remove_dead(f);
    }
}

fn is_sum(inst: &Inst) -> bool {
    inst.fuse.is_some() && matches!(inst.op, VOp::M(Op::Fadd { .. } | Op::Dadd { .. } | Op::Hadd2 { .. }))
}

fn is_product(inst: &Inst) -> bool {
    inst.fuse.is_some() && matches!(inst.op, VOp::M(Op::Fmul { .. } | Op::Dmul { .. } | Op::Hmul2 { .. }))
}

/// Whether subnormals are flushed.
fn flushes(inst: &Inst) -> bool {
    matches!(
        inst.op,
        VOp::M(
            Op::Fadd { ftz: Ftz(true), .. }
                | Op::Fmul { ftz: Ftz(true), .. }
                | Op::Hadd2 { ftz: Ftz(true), .. }
                | Op::Hmul2 { ftz: Ftz(true), .. }
        )
    )
}

/// Whether a product may become part of a sum, according to their opcodes.
fn fits(product: &Inst, sum: &Inst) -> bool {
    is_product(product) && product.fuse == sum.fuse && flushes(product) == flushes(sum)
}

/// The bits that a negation flips in the last word of a number.
fn sign_of(fuse: Fuse) -> u32 {
    if half_ty(fuse.ty).is_some() { 0x8000_8000 } else { 0x8000_0000 }
}

/// The product that a source of a sum is.
fn factor(f: &Func, sum: InstId, i: usize) -> Option<Factor> {
    let inst = f.inst(sum);
    let src = inst.src[i];
    if src.abs {
        return None;
    }
    let words = usize::from(inst.op.shape().src[i]);
    let (top, negated) = under_signs(f, src.v[words - 1], inst);
    let (product, last) = f.def(top)?;
    let whole = words == 1 || f.def(src.v[0]) == Some((product, 0));
    (whole && usize::from(last) + 1 == words && fits(f.inst(product), inst))
        .then_some(Factor { product, negated: negated != src.neg })
}

/// The value under the negations of a number's last word, and whether their number is odd.
fn under_signs(f: &Func, mut v: Val, sum: &Inst) -> (Val, bool) {
    let Some(fuse) = sum.fuse else { return (v, false) };
    let mut negated = false;
    while let Some((id, 0)) = f.def(v) {
        let inst = f.inst(id);
        match negation_of(inst, sign_of(fuse), flushes(sum)) {
            Some((under, flips)) => (v, negated) = (under, negated != flips),
            None => break,
        }
    }
    (v, negated)
}

/// The operand of a negation, or of a flush that comes with one and changes nothing about a flushed product, and
/// whether the sign flips.
fn negation_of(inst: &Inst, sign: u32, flushed: bool) -> Option<(Val, bool)> {
    if inst.guard != PSrc::TRUE || inst.fuse.is_some() {
        return None;
    }
    match inst.op {
        VOp::M(Op::Lop3 { lut }) => {
            let (table, vars) = truth::reduce_words(lut.0, inst.src.map(|s| (s.v[0], s.neg)));
            match (table, vars) {
                (t, [Some(x), Some(Val::Imm(m)), None]) if t == Lut::A ^ Lut::B && m == sign => {
                    Some((x, true))
                }
                _ => None,
            }
        }
        VOp::M(
            Op::Fadd { rnd: Rnd::Rn, ftz: Ftz(true), sat: Sat(false) }
            | Op::Hadd2 { ftz: Ftz(true), sat: Sat(false), .. },
        ) if flushed && inst.src[0].plain() => {
            let zero = inst.src[1];
            let minus_zero = zero.v[0] == Val::ZERO && zero.neg || zero.v[0] == Val::Imm(sign) && !zero.neg;
            (minus_zero && !zero.abs).then_some((inst.src[0].v[0], false))
        }
        _ => None,
    }
}

/// All products with the sums that take them.
fn products(
    f: &Func,
    sums: &[InstId],
    factors: &FxHashMap<InstId, [Option<Factor>; 2]>,
) -> FxHashMap<InstId, Product> {
    let mut products: FxHashMap<InstId, Product> = FxHashMap::default();
    for sum in sums {
        let [a, b] = factors[sum].map(|factor| factor.map(|factor| factor.product));
        for product in [a, b].into_iter().flatten() {
            let entry = products.entry(product).or_default();
            entry.kept |= a == b;
            entry.sums.push(*sum);
            entry.count += 1;
        }
    }
    let uses = Uses::of(f);
    for (&id, product) in &mut products {
        let only_sums = |r: VReg| uses.all(f, r, &|user| product.sums.contains(&user));
        product.kept |= !f.inst(id).dst.iter().flatten().all(|&r| only_sums(r));
    }
    products
}

/// Uses of values.
struct Uses {
    insts: Vec<Vec<InstId>>,
    /// Values that phis and results of subroutines use.
    elsewhere: Vec<bool>,
}

impl Uses {
    fn of(f: &Func) -> Uses {
        let mut uses = Uses { insts: vec![Vec::new(); f.defs.len()], elsewhere: vec![false; f.defs.len()] };
        let mut elsewhere = |v: &Val| {
            if let Val::Reg(r) = v {
                uses.elsewhere[r.index()] = true;
            }
        };
        for &b in &f.order {
            f.block(b).phis.iter().flat_map(|phi| &phi.args).for_each(&mut elsewhere);
        }
        f.subs.iter().flat_map(|sub| &sub.results).for_each(&mut elsewhere);
        for &b in &f.order {
            for &id in &f.block(b).insts {
                f.inst(id).for_each_val(|v| {
                    if let Val::Reg(r) = v {
                        uses.insts[r.index()].push(id);
                    }
                });
            }
        }
        uses
    }

    /// Whether all users of a value are accepted, looking through negations.
    fn all(&self, f: &Func, r: VReg, accepted: &dyn Fn(InstId) -> bool) -> bool {
        !self.elsewhere[r.index()]
            && self.insts[r.index()].iter().all(|&user| {
                let inst = f.inst(user);
                let negates = [0x8000_0000, 0x8000_8000]
                    .iter()
                    .any(|&sign| negation_of(inst, sign, true).is_some_and(|(v, _)| v == Val::Reg(r)));
                accepted(user) || negates && inst.dst[0].is_none_or(|d| self.all(f, d, accepted))
            })
    }
}

/// The operand of a sum that is fused.
fn choice(
    products: &FxHashMap<InstId, Product>,
    factors: &FxHashMap<InstId, [Option<Factor>; 2]>,
    sum: InstId,
) -> Option<usize> {
    let known = |sum: InstId, i: usize| {
        let factor = factors.get(&sum)?[i]?;
        products.get(&factor.product).map(|product| (factor.product, product))
    };
    // Whether a product is wanted less by one of its sums than another one.
    let outbid = |id: InstId, product: &Product| {
        product.count > 1
            && product.sums.iter().any(|&s| {
                [0, 1].iter().any(|&i| {
                    known(s, i).is_some_and(|(other, p)| other != id && !p.kept && p.count < product.count)
                })
            })
    };
    let fusible = |i: usize| known(sum, i).filter(|(id, p)| !p.kept && !outbid(*id, p)).map(|(_, p)| p.count);
    match (fusible(0), fusible(1)) {
        (Some(a), Some(b)) => Some(usize::from(b < a)),
        (Some(_), None) => Some(0),
        (None, Some(_)) => Some(1),
        (None, None) => None,
    }
}

/// Makes a sum the multiply-add of a product.
fn fuse(f: &mut Func, sum: InstId, i: usize, factor: Factor) {
    let [a, b, _] = f.inst(factor.product).src;
    let inst = &mut f.insts[sum.index()];
    let op = match inst.op {
        VOp::M(Op::Fadd { rnd, ftz, sat }) => Op::Ffma { rnd, ftz, sat },
        VOp::M(Op::Dadd { rnd }) => Op::Dfma { rnd },
        VOp::M(Op::Hadd2 { ty, ftz, sat }) => Op::Hfma2 { ty, ftz, sat, relu: Relu(false) },
        _ => return,
    };
    let addend = inst.src[1 - i];
    inst.op = VOp::M(op);
    inst.src = [Src { neg: a.neg != factor.negated, ..a }, b, addend];
    inst.fuse = None;
}
