//! Tests of DAC on machine code: uniform registers and predicates, sums with carries, addresses with a uniform part.

use super::Dac;
use super::sums::{Carry, high_of_sum};
use super::tests::{Moment, caught_in, closes, count, run};
use super::tuple::{Extents, Place, Tuple, Word};
use crate::testing::{Builder, Hand, by_hand, r};
use proptest::prelude::*;
use trace_format::isa::{
    BoolOp, Extended, ICmp, Inst, MemOrder, MemWidth, Op, Pc, Pred, PredSrc, ReadOnly, Reg, ShiftBy, Sign,
    SpecialReg, Src, UniformReg,
};
use trace_format::semantics::Geometry;

fn u(n: u8) -> Src {
    Src::uniform(UniformReg(n))
}

/// An instruction with a uniform result.
fn uniform(op: Op, dst: u8) -> Inst {
    Inst { udst: UniformReg(dst), ..Inst::new(op) }
}

fn below(pred: Pred, a: Src, b: u32) -> Inst {
    let op = Op::Isetp { cmp: ICmp::Lt, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
    let mut set = Inst::new(op).srcs([a, Src::imm(b)]);
    set.pdst[0] = pred;
    set
}

fn load(dst: u8, address: Src, base: u8) -> Inst {
    let op = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(false) };
    Inst { base: UniformReg(base), ..Inst::new(op).dst(Reg(dst)).srcs([address]) }
}

fn carrying(x: bool, dst: u8, srcs: [Src; 3]) -> Inst {
    let mut inst = Inst::new(Op::Iadd3Carries { x: Extended(x) }).dst(Reg(dst)).srcs(srcs);
    inst.psrc[..2].fill(PredSrc::FALSE);
    if x {
        inst.psrc[0] = PredSrc::of(Pred(0));
    } else {
        inst.pdst[0] = Pred(0);
    }
    inst
}

/// Four blocks load at addresses whose parts are in uniform registers, of the block and of the grid.
fn kernel() -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX);
    b.push(uniform(Op::S2r { sr: SpecialReg::CtaidX }, 0));
    b.push(uniform(Op::Mov {}, 1).srcs([Src::imm(256)]));
    b.push(uniform(Op::Imad {}, 2).srcs([u(0), u(1), Src::imm(0xFFFF_FF80)]));
    b.push(uniform(Op::MovPair {}, 4).srcs([Src::imm(0x1000)]));
    b.shl(2, 0, 2);
    // A sum of 64 bits whose lower word wraps around in some blocks, with its upper words in another order.
    b.push(carrying(false, 4, [r(2), u(2), Src::RZ]));
    b.push(carrying(true, 5, [Src::RZ, Src::RZ, Src::imm(3)]));
    b.push(load(6, r(4), 4));
    assert_eq!(b.here(), 9);
    let narrow = Op::LdgNarrow { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(false) };
    b.push(Inst { base: UniformReg(4), ..Inst::new(narrow).dst(Reg(7)).srcs([r(2)]) });
    // A uniform predicate guards a uniform result and a branch.
    b.push(uniform(Op::Mov {}, 6).srcs([Src::imm(128)]));
    b.push(below(Pred::uniform(0), u(0), 2));
    b.push(uniform(Op::Mov {}, 6).srcs([Src::imm(512)]).guarded(PredSrc::of(Pred::uniform(0))));
    b.iadd(8, r(2), u(6), Src::RZ).lds(9, 8);
    assert_eq!(b.here(), 15);
    // A register of lanes that holds the block's index, in a uniform one.
    b.special(10, SpecialReg::CtaidX).push(uniform(Op::R2ur {}, 7).srcs([r(10)]));
    b.push(uniform(Op::Imad {}, 7).srcs([u(7), Src::imm(64), Src::RZ]));
    b.push(Inst { base: UniformReg(7), ..Inst::new(lds()).dst(Reg(11)).srcs([r(2)]) });
    b.push(Inst { base: UniformReg(7), ..Inst::new(lds()).dst(Reg(12)).srcs([Src::RZ]) });
    assert_eq!(b.here(), 20);
    let mut bra = Inst::new(Op::Bra {}).guarded(PredSrc::not(Pred::uniform(0)));
    bra.target = Pc(23);
    b.push(bra).push(load(13, r(4), 4)).iadd(14, r(13), r(9), Src::RZ);
    b.iadd(15, r(6), r(7), r(11)).iadd(15, r(15), r(12), r(9)).stg(4, 15, 0);
    by_hand(b.exit(), 4, 64)
}

fn lds() -> Op {
    Op::Lds { width: MemWidth::B32, scale: trace_format::isa::Scale::X1 }
}

#[test]
fn uniform_registers_are_computed_once_for_all_warps() {
    let stats = run(&kernel(), &[]);
    closes(&stats);
    // All but loads, the store, the branch, the sums of loaded values and the exit.
    let removed = 4 * 2 * (8 + 4 + 3);
    assert_eq!(count(&stats, "removed_instructions"), removed);
    let loads = 4 * 2 * 2 + 2 * 2;
    assert_eq!((count(&stats, "loads"), count(&stats, "affine_loads")), (loads, loads));
    assert_eq!(count(&stats, "other_affine_accesses"), 4 * 2 * 4);
    assert_eq!(count(&stats, "expanded_operations"), 0);
}

#[test]
fn queues_of_any_size_change_no_result_of_uniform_registers() {
    for set in [
        &["technique.dac.tuple_entries=1", "technique.dac.predicate_entries=1"][..],
        &["technique.dac.ideal=true"],
        &["technique.dac.data_dependent=false"],
    ] {
        closes(&run(&kernel(), set));
    }
}

fn caught(break_it: fn(&mut Dac, usize)) {
    caught_in(&kernel(), Moment::Start, break_it);
}

#[test]
fn a_wrong_uniform_product_is_caught() {
    caught(|dac, _| dac.affine.inst_mut(3).src[1] = Src::imm(255));
}

#[test]
fn a_uniform_register_of_another_block_is_caught() {
    caught(|dac, slot| {
        let geometry = Geometry { grid: [4, 1, 1], block: [64, 1, 1] };
        let (block, warp) = (slot as u32 / 2 % 4, slot as u32 % 2);
        dac.affine.lanes_mut(slot).place = Place::of(&geometry, 3 - block, warp);
    });
}

#[test]
fn a_uniform_part_of_an_address_left_out_is_caught() {
    caught(|dac, _| dac.affine.inst_mut(8).base = UniformReg::URZ);
}

#[test]
fn a_wrong_uniform_predicate_is_caught() {
    caught(|dac, _| dac.affine.inst_mut(11).src[0] = u(1));
}

#[test]
fn a_carry_taken_from_other_words_is_caught() {
    caught(|dac, _| dac.affine.inst_mut(6).src[1] = u(1));
}

#[test]
fn a_uniform_result_whose_guard_is_ignored_is_caught() {
    caught(|dac, _| (dac.roles[12].in_stream, dac.roles[12].removed) = (false, false));
}

const GEOMETRY: Geometry = Geometry { grid: [5, 3, 2], block: [12, 6, 2] };

proptest! {
    /// Pairs, of which some are negated, added word by word in any order.
    #[test]
    fn upper_words_of_sums_are_those_of_every_thread(
        parts in prop::array::uniform2((prop_oneof![-300i64..300, any::<i64>()], prop::array::uniform6(-70_000i64..70_000))),
        negated in prop::array::uniform2(any::<bool>()),
        constant in any::<bool>(),
        swapped in any::<bool>(),
        block in 0u32..30,
        warp in 0u32..4,
    ) {
        prop_assume!(!(negated[0] && negated[1]));
        let (place, extents) = (Place::of(&GEOMETRY, block, warp), Extents::of(&GEOMETRY));
        let tuple = |(base, offsets): (i64, [i64; 6])| {
            let mut axes = offsets.iter().enumerate().map(|(axis, offset)| Tuple::axis(axis).times(*offset as u64));
            axes.try_fold(Tuple::constant(base as u64), Tuple::plus).expect("linear")
        };
        let mut pairs = parts.map(tuple);
        if constant {
            pairs[1] = Tuple::constant(parts[1].0 as u64);
        }
        let negated = [negated[0], negated[1], false];
        let carry = Carry { terms: [pairs[0], pairs[1], Tuple::constant(0)], negated };
        let mut highs = [(Word::high(pairs[0]), negated[0]), (Word::high(pairs[1]), negated[1])];
        if swapped {
            highs.swap(0, 1);
        }
        let sum = high_of_sum(&carry, &highs, &extents).expect("a tuple");
        let (sum, values) = (place.expand(&sum), pairs.map(|pair| place.expand(&pair)));
        for lane in 0..32 {
            let term = |i: usize| if negated[i] { values[i][lane].wrapping_neg() } else { values[i][lane] };
            prop_assert_eq!(sum[lane] >> 32, term(0).wrapping_add(term(1)) >> 32);
            // The carry of the lower words is what the upper ones lack.
            let upper = |i: usize| if negated[i] { !(values[i][lane] >> 32) } else { values[i][lane] >> 32 } as u32;
            let bit = carry.bit([values[0][lane], values[1][lane], 0]);
            prop_assert_eq!((sum[lane] >> 32) as u32, upper(0).wrapping_add(upper(1)).wrapping_add(bit));
        }
    }
}

/// Thread by thread, upper words that a shifted and sign-extended index gives.
#[test]
fn an_index_that_is_extended_in_the_sum_gives_an_address() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).iadd(1, r(0), Src::imm(u32::MAX - 30), Src::RZ);
    b.push(uniform(Op::MovPair {}, 4).srcs([Src::imm(0x1_0000)]));
    let mut lea = Inst::new(Op::Lea { shift: ShiftBy(2) }).dst(Reg(2)).srcs([r(1), u(4)]);
    lea.pdst[0] = Pred(1);
    let mut high =
        Inst::new(Op::LeaHiSx32 { shift: ShiftBy(2), x: Extended(true) }).dst(Reg(3)).srcs([r(1), u(5)]);
    high.psrc[0] = PredSrc::of(Pred(1));
    b.push(lea).push(high).push(load(6, r(2), 255));
    // The same upper word as a move, and as a product with one.
    b.push(Inst::new(Op::Imad {}).dst(Reg(9)).srcs([Src::RZ, Src::RZ, r(3)]));
    b.push(Inst::new(Op::Mov {}).dst(Reg(8)).srcs([r(2)])).push(load(7, r(8), 4));
    let mut sum = carrying(false, 10, [r(2), Src::imm(64), Src::RZ]);
    sum.pdst[0] = Pred(0);
    let mut upper = Inst::new(Op::ImadX {}).dst(Reg(11)).srcs([r(3), Src::imm(1), Src::RZ]);
    upper.psrc[0] = PredSrc::of(Pred(0));
    b.push(sum).push(upper).push(load(12, r(10), 255)).iadd(13, r(12), r(6), r(7)).stg(2, 13, 0);
    // An index is extended and added to a pair: its upper word is that of the index shifted by one bit. Then one more.
    let mut upper =
        Inst::new(Op::LeaHiSx32 { shift: ShiftBy(1), x: Extended(true) }).dst(Reg(15)).srcs([r(1), r(3)]);
    upper.psrc[0] = PredSrc::of(Pred(0));
    b.push(carrying(false, 14, [r(1), r(2), Src::RZ])).push(upper);
    let mut more = Inst::new(Op::Iadd3Carries { x: Extended(true) }).dst(Reg(14)).srcs([
        r(14),
        Src::imm(16).negated(),
        Src::RZ,
    ]);
    more.psrc[..2].copy_from_slice(&[PredSrc::TRUE, PredSrc::FALSE]);
    b.push(more).push(load(16, r(14), 255));
    let stats = run(&by_hand(b.exit(), 2, 64), &[]);
    closes(&stats);
    assert_eq!((count(&stats, "loads"), count(&stats, "affine_loads")), (2 * 2 * 4, 2 * 2 * 4));
    assert_eq!(count(&stats, "expanded_operations"), 0);
}
