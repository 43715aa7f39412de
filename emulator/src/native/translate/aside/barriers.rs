//! Barrier objects in shared memory (`mbarrier`): ATOMS.ARRIVE and ARRIVES of sm_80 to sm_89, SYNCS of sm_90 and later targets.
//!
//! The code initialises and reads the objects itself, in the layouts of [`trace_format::isa::barrier_state`]. A copy has ended when
//! the next instruction begins, so what arrives when copies have ended arrives at once.

use super::super::args::{Address, Args};
use super::super::code::{Aside, Place, Refusal, moved};
use super::super::memory;
use super::parts::{compared, lop3};
use sass::{Instruction, RZ, Value};
use trace_format::isa::{BarrierLayout, BarrierUpdate, ICmp, Inst, MemWidth, Op, Reg, Scale, Sign, Src};

/// Whether an atomic is an arrival at a barrier object.
pub(super) fn arrives(word: &Instruction) -> bool {
    matches!(word.mnemonic, "ATOMS" | "ATOM") && word.has("ARRIVE")
}

/// The address of an object: a generic one falls into the window of shared memory, so its low word is the address.
fn address(inst: &mut Inst, args: &mut Args<'_>) -> Result<(), Refusal> {
    let Address { register, base, offset, .. } = args.address()?;
    (inst.src[0], inst.base, inst.offset) = (Src::reg(register), base, offset);
    Ok(())
}

fn update(layout: BarrierLayout, update: BarrierUpdate, operand: Src) -> Inst {
    let mut inst = Inst::new(Op::SyncsIn { layout, update });
    inst.src[1] = operand;
    inst
}

/// An arrival of one lane, in the layout of sm_80: of the atomic that gives the state, or when copies have ended.
pub(super) fn arrival(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    memory::order(args);
    for modifier in ["ARRIVE", "64", "LDGSTSBAR"] {
        args.has(modifier);
    }
    let kinds = [
        ("ARVCNT", (BarrierLayout::Hopper, BarrierUpdate::Arrive)),
        ("TRANSCNT", (BarrierLayout::Hopper, BarrierUpdate::CompleteTx)),
    ];
    let (layout, kind) = args.pick(&kinds).unwrap_or((BarrierLayout::Ampere, BarrierUpdate::Arrive));
    let mut inst = update(layout, kind, Src::imm(1));
    if word.mnemonic != "ARRIVES" {
        args.no_pred_dst("its predicate is not known")?;
        args.dst(&mut inst)?;
    }
    address(&mut inst, args)?;
    Ok(Place::Here(inst))
}

/// SYNCS of sm_90 and later targets.
pub(super) fn syncs(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("TRANS64");
    if args.has("CCTL") {
        // An object that is no longer one: memory stays as it is.
        args.has("IV");
        args.skip(args.rest().len());
        return Ok(Place::Here(Inst::new(Op::Nop {})));
    }
    if args.has("EXCH") {
        return exchange(args);
    }
    if args.has("PHASECHK") {
        return phase(args);
    }
    if !args.has("ARRIVE") {
        return Err("what it does to a barrier object is not known".into());
    }
    args.has("RED");
    let drops = args.has("OPTOUT");
    let (one, register) = (Src::imm(1), word.operands.last().map(|operand| operand.value));
    let operand = match register {
        Some(Value::Register(RZ)) => Src::RZ,
        Some(Value::Register(number)) => Src::reg(Reg(number)),
        _ => return Err("its operand is no register".into()),
    };
    let arrive = if drops { BarrierUpdate::ArriveDrop } else { BarrierUpdate::Arrive };
    // How many arrive, and by how much the bytes change that the phase awaits.
    let updates = if args.has("A1T0") {
        vec![(arrive, one)]
    } else if args.has("ART0") {
        vec![(arrive, operand)]
    } else if args.has("A0T1") {
        vec![(BarrierUpdate::ExpectTx, one)]
    } else if args.has("A0TR") {
        vec![(BarrierUpdate::ExpectTx, operand)]
    } else if args.has("A0TX") {
        vec![(BarrierUpdate::CompleteTx, operand)]
    } else {
        vec![(BarrierUpdate::ExpectTx, operand), (arrive, one)]
    };
    let mut place = Inst::new(Op::Nop {});
    args.dst(&mut place)?;
    address(&mut place, args)?;
    args.skip(1);
    let mut insts: Vec<Inst> = Vec::new();
    for (kind, operand) in updates {
        let mut inst = update(BarrierLayout::Hopper, kind, operand);
        (inst.src[0], inst.base, inst.offset) = (place.src[0], place.base, place.offset);
        insts.push(inst);
    }
    if let Some(last) = insts.last_mut() {
        last.dst = place.dst;
    }
    match insts[..] {
        [inst] => Ok(Place::Here(inst)),
        _ => Ok(Aside::of(insts)),
    }
}

/// Stores a fresh object, which is in two uniform registers.
fn exchange(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("64");
    let mut store = Inst::new(Op::Sts { width: MemWidth::B64, scale: Scale::X1 });
    args.dst(&mut store)?;
    if !store.udst.is_zero() || !store.dst.is_zero() {
        return Err("the state before it is not known of it".into());
    }
    address(&mut store, args)?;
    let Value::Uniform(number) = args.take()?.value else {
        return Err("its state is in no uniform register".into());
    };
    let state = args.uniform(number);
    let [low, high] = [args.temporary(0), args.temporary(1)];
    store.src[1] = Src::reg(low);
    let word = |number: u8| if state.is_zero() { Src::RZ } else { Src::uniform(state.nth(number)) };
    Ok(Aside::of([moved(word(0), low), moved(word(1), high), store]))
}

/// Whether the phase is over whose parity is the highest bit of a word.
fn phase(args: &mut Args<'_>) -> Result<Place, Refusal> {
    // Waiting for a while first changes no result.
    args.has("TRYWAIT");
    let pred = args.pred_dst().ok_or("its predicate is missing")?;
    let [state, differs] = [args.temporary(0), args.temporary(1)];
    let mut load = Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::X1 }).dst(state);
    address(&mut load, args)?;
    load.offset += 4;
    let parity = args.src()?;
    let differ = lop3(0x3C, [Src::reg(state), parity, Src::RZ], differs);
    let over = compared(pred, ICmp::Lt, Sign::S32, Src::reg(differs), Src::RZ);
    Ok(Aside::of([load, differ, over]))
}
