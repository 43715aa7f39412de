//! Operands of a traced instruction in the shape of a row.
//!
//! A trace lists the first register of each operand and leaves out constants, immediates and predicates. So which
//! operand a register belongs to is not always known; registers fill the operands of the row from the left.

use crate::line::Registers;
use trace_format::isa::{Inst, Kind, Op, Reg, Src, Unit};

/// How a row's operands differ from those of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// Operands that begin below their register, because the row wants it aligned.
    pub widened: u32,
    /// Registers for which the row has no operand.
    pub dropped: u32,
}

/// The instruction of a row with the registers of a line.
pub(crate) fn fit(op: Op, destinations: &Registers, sources: &Registers, barrier: u32) -> (Inst, Misfit) {
    let mut misfit = Misfit::default();
    let real = |registers: &Registers| registers.as_slice().iter().filter(|number| **number != 255).count();
    let op = roomy(op, real(destinations), real(sources), sources.as_slice().len());
    let info = op.info();
    let mut inst = Inst::new(op);
    if let Some(first) = destinations.as_slice().first() {
        inst.dst = aligned(*first, info.dst_regs, &mut misfit);
    }
    if info.dst_regs == 0 {
        misfit.dropped += real(destinations) as u32;
        inst.dst = Reg::RZ;
    }
    let slots: Vec<usize> = (0..3).filter(|slot| info.src_regs[*slot] > 0).collect();
    slots.iter().for_each(|slot| inst.src[*slot] = Src::RZ);
    if info.kind == Kind::Barrier {
        inst.src[0] = Src::imm(barrier);
        inst.src[1] = Src::imm(0);
        return (inst, misfit);
    }
    let listed = operands(sources, &op, destinations);
    for (i, first) in listed.iter().enumerate() {
        match (slots.get(i), first) {
            (_, None) => {}
            (Some(slot), Some(first)) => {
                inst.src[*slot] = Src::reg(aligned(*first, info.src_regs[*slot], &mut misfit));
            }
            (None, Some(255)) => {}
            (None, Some(_)) => misfit.dropped += 1,
        }
    }
    (inst, misfit)
}

/// The first register of each operand in the order of the row's; `None` for a constant between registers.
fn operands(sources: &Registers, op: &Op, destinations: &Registers) -> Vec<Option<u8>> {
    let listed = sources.as_slice();
    // a * constant + (the pair that is written) is a step of a pointer; otherwise the addend is the constant.
    if let (Op::ImadWide { .. }, [factor, pair], [written]) = (op, listed, destinations.as_slice())
        && pair == written
    {
        return vec![Some(*factor), None, Some(*pair)];
    }
    listed.iter().map(|number| Some(*number)).collect()
}

/// A row of the same unit that has room for the registers of a line.
fn roomy(op: Op, destinations: usize, sources: usize, listed: usize) -> Op {
    let info = op.info();
    let room = info.src_regs.iter().filter(|count| **count > 0).count();
    let fits = (destinations == 0 || info.dst_regs > 0) && (sources == 0 || listed <= room);
    if fits || info.kind != Kind::Pure {
        return op;
    }
    let wider = match info.unit {
        Unit::Int => "IADD3",
        Unit::Fp32 => "FFMA",
        _ => return op,
    };
    crate::opcode::row_of(wider, false, true).0
}

/// A register at which an operand of so many may begin.
fn aligned(first: u8, count: u8, misfit: &mut Misfit) -> Reg {
    if first == 255 || count < 2 {
        return Reg(first);
    }
    let begin = (first - first % count).min(255 - count);
    let begin = begin - begin % count;
    misfit.widened += u32::from(begin != first);
    Reg(begin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;
    use crate::line;
    use crate::opcode::row_of;

    fn fitted(text: &str) -> (Inst, Misfit) {
        let text = format!("0000 ffffffff {text} 0");
        let line = line::read(text.as_bytes(), &Header { tracer_version: 3, ..Header::default() }, [0; 3], 0)
            .expect("a line");
        let opcode = std::str::from_utf8(line.what.opcode).expect("text");
        let has_result = !line.what.destinations.as_slice().is_empty();
        let (inst, misfit) =
            fit(row_of(opcode, false, has_result).0, &line.what.destinations, &line.what.sources, 0);
        inst.check().expect("a well-formed instruction");
        (inst, misfit)
    }

    fn sources(text: &str) -> Vec<u8> {
        fitted(text).0.src_regs().map(|register| register.0).collect()
    }

    #[test]
    fn registers_fill_operands_from_the_left() {
        assert_eq!(sources("1 R6 FFMA 3 R6 R12 R7"), [6, 12, 7]);
        assert_eq!(sources("1 R5 LEA 2 R5 R23"), [5, 23]);
        assert_eq!(sources("1 R25 IADD3.X 3 R255 R25 R255"), [25]);
        assert_eq!(sources("0 STG.E.64 2 R6 R8"), [6, 7, 8, 9]);
        assert_eq!(fitted("1 R4 IMAD.WIDE 2 R6 R7").0.dst_regs().count(), 2);
        assert_eq!(sources("1 R4 IMAD.WIDE 2 R6 R7"), [6, 7]);
        assert_eq!(sources("1 R20 IMAD.WIDE 2 R27 R20"), [27, 20, 21]);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let (inst, misfit) = fitted("1 R4 LDG.E 1 R7");
        assert_eq!((inst.src[0].as_reg(), misfit.widened), (Some(Reg(6)), 1));
        let (inst, misfit) = fitted("1 R253 LDG.E.128 1 R2");
        assert_eq!((inst.dst, misfit.widened), (Reg(248), 1));
        assert_eq!(fitted("1 R1 SHFL.IDX 4 R1 R2 R3 R4").1.dropped, 1);
        assert_eq!(fitted("1 R1 SHFL.IDX 4 R1 R2 R3 R255").1, Misfit::default());
        // Another row of the unit has room.
        assert_eq!(fitted("1 R1 MOV 2 R2 R3").0.op.info().mnemonic, "IADD3");
        assert_eq!(fitted("1 R1 ISETP.GE 1 R2").0.dst, Reg(1));
        assert_eq!(fitted("1 R1 EXIT 0").1.dropped, 1);
    }
}
