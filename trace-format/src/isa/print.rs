//! Listing of instructions in SASS's notation, e.g. `@!P0 IMAD.WIDE R4, R0, R3, c[0x0][0x168]`.

use super::facts::{Address, Kind};
use super::inst::{Inst, Operand, PredSrc, Src};
use super::modifiers::{Extended, Scale};
use super::regs::Pred;
use super::table::Op;
use std::fmt;

impl fmt::Display for PredSrc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.not { "!" } else { "" }, self.pred)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operand::None => Ok(()),
            Operand::Reg(r) => r.fmt(f),
            Operand::Uniform(r) => r.fmt(f),
            Operand::Imm(v) if (v as i32) < 0 && (v as i32) > -0x10000 => {
                write!(f, "-{:#x}", (v as i32).unsigned_abs())
            }
            Operand::Imm(v) => write!(f, "{v:#x}"),
            Operand::Const { bank, offset } => write!(f, "c[{bank:#x}][{offset:#x}]"),
        }
    }
}

impl fmt::Display for Src {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.neg { "-" } else { "" };
        if self.abs { write!(f, "{sign}|{}|", self.operand) } else { write!(f, "{sign}{}", self.operand) }
    }
}

impl Inst {
    fn address(&self) -> String {
        let memory = self.info().memory;
        let scale = match memory.map_or(Scale::X1, |memory| memory.scale()) {
            Scale::X1 => String::new(),
            scale => format!(".X{}", 1u32 << scale.shift()),
        };
        let base = match self.src[0].as_reg() {
            Some(r) => format!("{r}{scale}"),
            None if matches!(self.src[0].operand, Operand::Const { .. } | Operand::Imm(_)) => {
                self.src[0].to_string()
            }
            None => String::new(),
        };
        let base = match (self.base.is_zero(), base.is_empty()) {
            (true, _) => base,
            (false, true) => self.base.to_string(),
            (false, false) => format!("{base}+{}", self.base),
        };
        let body = match (base.as_str(), self.offset) {
            ("", o) => format!("{o:#x}"),
            (b, 0) => b.to_string(),
            (b, o) if o < 0 => format!("{b}+-{:#x}", o.unsigned_abs()),
            (b, o) => format!("{b}+{o:#x}"),
        };
        match memory.map(|memory| memory.address) {
            Some(Address::Bank(bank)) => format!("c[{:#x}][{body}]", bank.0),
            _ => format!("[{body}]"),
        }
    }

    fn operands(&self) -> Vec<String> {
        let info = self.info();
        let mut list = Vec::with_capacity(8);
        let n = info.pred_dsts as usize;
        let preds_shown = if info.dst_regs == 0 {
            // The complement is rarely used; PT stands for it as in SASS.
            n
        } else {
            self.pdst[..n].iter().rposition(|p| *p != Pred::PT).map_or(0, |i| i + 1)
        };
        if info.dst_regs > 0 && info.kind != Kind::Barrier {
            list.push(if self.udst.is_zero() { self.dst.to_string() } else { self.udst.to_string() });
        }
        list.extend(self.pdst[..preds_shown].iter().map(ToString::to_string));
        if let Op::S2r { sr } = self.op {
            list.push(super::modifiers::Modifier::suffix(&sr).trim().to_string());
        }
        let first_src = if info.kind.is_memory() {
            list.push(self.address());
            1
        } else {
            0
        };
        for (i, src) in self.src.iter().enumerate().skip(first_src) {
            if info.src_regs[i] > 0 {
                list.push(src.to_string());
            }
        }
        match self.op {
            Op::Lop3 { lut } | Op::Plop3 { lut } => {
                if matches!(self.op, Op::Plop3 { .. }) {
                    list.extend(self.psrc.iter().map(ToString::to_string));
                }
                list.push(format!("{:#04x}", lut.0));
            }
            Op::Lea { shift } | Op::LeaHi { shift, .. } => list.push(format!("{:#x}", shift.0)),
            _ => {}
        }
        if !matches!(self.op, Op::Plop3 { .. }) {
            let n = info.pred_srcs as usize;
            let used = self.psrc[..n].iter().rposition(|p| *p != PredSrc::TRUE).map_or(0, |i| i + 1);
            list.extend(self.psrc[..used.max(self.op.pred_srcs_shown())].iter().map(ToString::to_string));
        }
        if let Some(target) = self.jumps_to() {
            list.push(target.to_string());
        }
        list
    }
}

impl Op {
    /// Predicates that are listed as sources even if they are true: those that the opcode reads with its modifiers.
    fn pred_srcs_shown(self) -> usize {
        let info = self.info();
        let all = info.pred_srcs as usize;
        match self.with(Extended(true)) {
            // The last one is the carry.
            Some(extended) => all - usize::from(extended != self),
            None if info.kind == Kind::Barrier => 0,
            None => all,
        }
    }
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has_no_guard() {
            write!(f, "@{} ", self.guard)?;
        }
        let name = match self.op {
            Op::S2r { .. } => "S2R".to_string(),
            _ => self.op.mnemonic(),
        };
        f.write_str(&name)?;
        let operands = self.operands();
        if !operands.is_empty() {
            write!(f, " {}", operands.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::modifiers::{BoolOp, Lut};
    use super::super::regs::Reg;
    use super::*;

    /// An instruction of a row, in its first or another variant.
    fn listed(op: Op) -> String {
        let mut inst = Inst::new(op).srcs([Src::reg(Reg(4)), Src::reg(Reg(6))]);
        inst.pdst[0] = Pred(1);
        inst.to_string()
    }

    #[test]
    fn every_comparison_lists_its_complement_and_the_predicate_that_it_combines_with() {
        let mut listings = Vec::new();
        Op::samples(|op| {
            // A comparison has no other result: LOP3, which has one, combines what its word says.
            let compares = op.info().pred_dsts > 0 && op.info().dst_regs == 0;
            if op.with(BoolOp::And) == Some(op) && compares {
                listings.push(listed(op));
            }
        });
        assert!(listings.iter().any(|text| text.starts_with("HSETP2")), "{listings:?}");
        for text in listings {
            let operands: &[&str] =
                if text.contains(".EX") || text.contains(".X") { &["PT", "PT"] } else { &["PT"] };
            let expected = [&["P1", "PT", "R4", "R6"], operands].concat().join(", ");
            assert!(text.ends_with(&format!(" {expected}")), "{text} should end in {expected}");
        }
    }

    #[test]
    fn a_lop3_lists_the_predicate_that_it_combines_with() {
        let op = Op::Lop3With { lut: Lut(0xC0), bop: BoolOp::And };
        let mut inst = Inst::new(op).dst(Reg(1)).srcs([Src::reg(Reg(4)), Src::reg(Reg(6)), Src::RZ]);
        (inst.pdst[0], inst.psrc[0]) = (Pred(1), PredSrc::of(Pred(3)));
        assert!(inst.to_string().ends_with(" R1, P1, R4, R6, RZ, P3"), "{inst}");
    }

    #[test]
    fn a_carry_is_listed_where_it_is_read() {
        let mut add = Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(1)).srcs([
            Src::reg(Reg(2)),
            Src::RZ,
            Src::RZ,
        ]);
        assert_eq!(add.to_string(), "IADD3 R1, R2, RZ, RZ");
        add.op = Op::Iadd3 { x: Extended(true) };
        add.psrc[0] = PredSrc::of(Pred(3));
        assert!(add.to_string().ends_with(" R1, R2, RZ, RZ, P3"), "{add}");
    }
}
