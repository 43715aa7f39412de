//! Instructions as nvdisasm prints them.

use crate::float;
use crate::instruction::{Control, Instruction, Operand, PT, RZ, Value};
use std::fmt;

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.guard.is_always() {
            let (not, kind) =
                (if self.guard.negated { "!" } else { "" }, if self.guard.uniform { "UP" } else { "P" });
            match self.guard.predicate {
                PT => write!(f, "@{not}{kind}T ")?,
                n => write!(f, "@{not}{kind}{n} ")?,
            }
        }
        f.write_str(self.mnemonic)?;
        if let Some(alias) = self.alias() {
            write!(f, ".{alias}")?;
        }
        for modifier in self.modifiers.iter() {
            write!(f, ".{modifier}")?;
        }
        let spaced = matches!(self.mnemonic, "RET" | "BRX" | "CALL" | "JMX");
        for (at, operand) in self.operands.iter().enumerate() {
            let target = spaced && matches!(operand.value, Value::Target(_) | Value::Integer(_));
            f.write_str(if at == 0 || target { " " } else { ", " })?;
            self.operand(f, operand)?;
        }
        Ok(())
    }
}

impl Instruction {
    /// The name by which nvdisasm calls a multiply-add of which a factor or the summand is trivial: a move, a shift or a sum.
    #[must_use]
    pub fn alias(&self) -> Option<&'static str> {
        if self.mnemonic != "IMAD" || self.operands.len() != 4 || self.modifiers.iter().any(|m| *m != "U32") {
            return None;
        }
        if self.operands.iter().any(|operand| matches!(operand.value, Value::Uniform(_))) {
            return None;
        }
        let zero = |at: usize| matches!(self.operands[at].value, Value::Register(RZ) | Value::Integer(0));
        match self.operands[2].value {
            _ if zero(1) || zero(2) => Some("MOV"),
            Value::Integer(1) => Some(if zero(3) { "MOV" } else { "IADD" }),
            // nvdisasm leaves out the shift by 16.
            Value::Integer(n) if zero(3) && n > 0 && n & (n - 1) == 0 && n != 0x10000 => Some("SHL"),
            _ => None,
        }
    }

    fn operand(&self, f: &mut fmt::Formatter<'_>, operand: &Operand) -> fmt::Result {
        if operand.not {
            f.write_str("!")?;
        }
        if operand.negate {
            f.write_str("-")?;
        }
        if operand.complement {
            f.write_str("~")?;
        }
        if operand.absolute {
            f.write_str("|")?;
        }
        self.value(f, &operand.value)?;
        if operand.absolute {
            f.write_str("|")?;
        }
        if operand.reuse {
            f.write_str(".reuse")?;
        }
        if !operand.suffix.is_empty() {
            write!(f, ".{}", operand.suffix)?;
        }
        Ok(())
    }

    fn value(&self, f: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
        match *value {
            Value::Register(n) => register(f, n),
            Value::Uniform(n) => self.uniform(f, n),
            Value::Predicate(PT) => f.write_str("PT"),
            Value::Predicate(n) => write!(f, "P{n}"),
            Value::UniformPredicate(PT) => f.write_str("UPT"),
            Value::UniformPredicate(n) => write!(f, "UP{n}"),
            Value::Convergence(n) => write!(f, "B{n}"),
            Value::Scoreboard(n) => write!(f, "SB{n}"),
            Value::Constant { bank, register: r, uniform, offset, spaced } => {
                write!(f, "c[{bank:#x}]{}[", if spaced { " " } else { "" })?;
                let mut plus = false;
                if let Some(r) = r.filter(|r| *r != RZ || offset == 0) {
                    register(f, r)?;
                    plus = true;
                }
                if let Some(u) = uniform.filter(|u| *u != self.uniform_zero || offset == 0) {
                    self.uniform(f, u)?;
                    plus = true;
                }
                self.offset(f, offset, plus)?;
                f.write_str("]")
            }
            Value::Address { descriptor, register: r, width, uniform, offset } => {
                if let Some(d) = descriptor {
                    f.write_str("desc[")?;
                    self.uniform(f, d)?;
                    f.write_str("]")?;
                }
                f.write_str("[")?;
                let mut plus = false;
                if let Some(r) = r.filter(|r| *r != RZ || uniform.is_none() && offset == 0) {
                    register(f, r)?;
                    if !width.is_empty() {
                        write!(f, ".{width}")?;
                    }
                    plus = true;
                }
                if let Some(u) = uniform {
                    f.write_str(if plus { "+" } else { "" })?;
                    self.uniform(f, u)?;
                    plus = true;
                }
                self.offset(f, offset, plus)?;
                f.write_str("]")
            }
            Value::Integer(n) => hex(f, n),
            Value::Wide(n) => write!(f, "{n:#x}"),
            Value::Single(bits) => {
                let value = f32::from_bits(bits);
                float::write(f, f64::from(value).copysign(sign(bits >> 31)), bits >> 22 & 1 == 1)
            }
            Value::Double(bits) => float::write(f, f64::from_bits(bits), bits >> 51 & 1 == 1),
            Value::Half(bits) => float::write(f, float::half(bits), bits >> 9 & 1 == 1),
            Value::BFloat16(bits) => {
                float::write(f, f64::from(f32::from_bits(u32::from(bits) << 16)), bits >> 6 & 1 == 1)
            }
            Value::Target(address) => write!(f, "{address:#x}"),
            Value::Name(name) => f.write_str(name),
            Value::None => f.write_str("?"),
        }
    }

    fn uniform(&self, f: &mut fmt::Formatter<'_>, n: u8) -> fmt::Result {
        if n == self.uniform_zero { f.write_str("URZ") } else { write!(f, "UR{n}") }
    }

    fn offset(&self, f: &mut fmt::Formatter<'_>, offset: i32, plus: bool) -> fmt::Result {
        if plus && offset == 0 {
            return Ok(());
        }
        f.write_str(if plus { "+" } else { "" })?;
        hex(f, offset.into())
    }
}

fn sign(bit: u32) -> f64 {
    if bit == 1 { -1.0 } else { 1.0 }
}

fn register(f: &mut fmt::Formatter<'_>, n: u8) -> fmt::Result {
    if n == RZ { f.write_str("RZ") } else { write!(f, "R{n}") }
}

fn hex(f: &mut fmt::Formatter<'_>, n: i64) -> fmt::Result {
    let minus = if n < 0 { "-" } else { "" };
    write!(f, "{minus}{:#x}", n.unsigned_abs())
}

/// `B012345:R0:W1:Y:S04`: counters to wait for, counters decremented at the read of operands and at write-back, yield, stall.
impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("B")?;
        for n in 0..6u32 {
            f.write_str(if self.wait_mask >> n & 1 == 1 {
                ["0", "1", "2", "3", "4", "5"][n as usize]
            } else {
                "-"
            })?;
        }
        let counter = |f: &mut fmt::Formatter<'_>, name: &str, n: Option<u8>| match n {
            Some(n) => write!(f, ":{name}{n}"),
            None => write!(f, ":{name}-"),
        };
        counter(f, "R", self.read_counter)?;
        counter(f, "W", self.write_counter)?;
        write!(f, ":{}:S{:02}", if self.yields { "Y" } else { "-" }, self.stall_cycles)
    }
}
