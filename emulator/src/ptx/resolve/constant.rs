//! Constants and the arithmetic of constant expressions.
//!
//! As the ISA has it: integers are 64 bits wide, signed unless a `U` or the value makes one operand
//! unsigned; floats are computed in double precision. A `0f` literal keeps its exact bits.

use super::super::ast::{BinaryOp, UnaryOp};
use super::super::types::ScalarType;

/// A constant value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Const {
    /// An integer in 64-bit two's complement.
    Int { value: u64, unsigned: bool },
    /// A `0f` literal, by its bits.
    Single(u32),
    /// Any other float.
    Double(f64),
}

impl Const {
    /// A signed integer.
    pub(in super::super) const fn signed(value: i64) -> Self {
        Self::Int { value: value as u64, unsigned: false }
    }

    fn as_f64(self) -> f64 {
        match self {
            Self::Int { value, unsigned: true } => value as f64,
            Self::Int { value, unsigned: false } => value as i64 as f64,
            Self::Single(bits) => f64::from(f32::from_bits(bits)),
            Self::Double(value) => value,
        }
    }

    fn is_true(self) -> bool {
        match self {
            Self::Int { value, .. } => value != 0,
            other => other.as_f64() != 0.0,
        }
    }

    /// The value as an offset or count, if it is an integer.
    pub(in super::super) const fn as_i64(self) -> Option<i64> {
        match self {
            Self::Int { value, .. } => Some(value as i64),
            _ => None,
        }
    }

    /// The bits of the constant in a type, in the low end.
    ///
    /// # Errors
    /// Why the type cannot represent the constant.
    pub(in super::super) fn bits_as(self, ty: ScalarType) -> Result<u64, &'static str> {
        use ScalarType as T;
        let mask = if ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
        match (self, ty) {
            (Self::Int { value, .. }, T::Pred) => Ok(u64::from(value != 0)),
            (Self::Int { .. }, T::F32 | T::F64 | T::Tf32) => {
                Err("an integer cannot stand for a floating-point value; write `1.0` or `0f3F800000`")
            }
            (Self::Int { value, .. }, _) => Ok(value & mask),
            (_, T::F64) => match self {
                // Widening in the processor could quiet a signalling NaN; so could nothing else matter.
                Self::Single(bits) => Ok(f64::from(f32::from_bits(bits)).to_bits()),
                _ => Ok(self.as_f64().to_bits()),
            },
            (Self::Single(bits), T::F32 | T::Tf32 | T::B32 | T::U32 | T::S32 | T::F16x2 | T::Bf16x2) => {
                Ok(u64::from(bits))
            }
            (Self::Double(value), T::F32 | T::Tf32 | T::B32) => Ok(u64::from((value as f32).to_bits())),
            (Self::Double(value), T::B64 | T::U64 | T::S64) => Ok(value.to_bits()),
            (_, T::F16) => Ok(u64::from(half::f16::from_f64(self.as_f64()).to_bits())),
            (_, T::Bf16) => Ok(u64::from(half::bf16::from_f64(self.as_f64()).to_bits())),
            _ => Err("a floating-point constant of this width does not fit the type"),
        }
    }

    /// Applies a unary operator.
    pub(super) fn unary(self, op: UnaryOp) -> Result<Self, &'static str> {
        Ok(match (op, self) {
            (UnaryOp::Plus, value) => value,
            (UnaryOp::Minus, Self::Int { value, unsigned }) => {
                Self::Int { value: value.wrapping_neg(), unsigned }
            }
            (UnaryOp::Minus, Self::Single(bits)) => Self::Single(bits ^ (1 << 31)),
            (UnaryOp::Minus, Self::Double(value)) => Self::Double(-value),
            (UnaryOp::Not, value) => Self::signed(i64::from(!value.is_true())),
            (UnaryOp::Complement, Self::Int { value, unsigned }) => Self::Int { value: !value, unsigned },
            (UnaryOp::Complement, _) => return Err("`~` needs an integer"),
            (UnaryOp::ToSigned, Self::Int { value, .. }) => Self::Int { value, unsigned: false },
            (UnaryOp::ToUnsigned, Self::Int { value, .. }) => Self::Int { value, unsigned: true },
            (UnaryOp::ToSigned, value) => Self::signed(value.as_f64() as i64),
            (UnaryOp::ToUnsigned, value) => Self::Int { value: value.as_f64() as u64, unsigned: true },
        })
    }

    /// Applies a binary operator.
    pub(super) fn binary(self, op: BinaryOp, right: Self) -> Result<Self, &'static str> {
        let truth = |value: bool| Ok(Self::signed(i64::from(value)));
        match (op, self, right) {
            (BinaryOp::AndAnd, a, b) => truth(a.is_true() && b.is_true()),
            (BinaryOp::OrOr, a, b) => truth(a.is_true() || b.is_true()),
            (_, Self::Int { value: a, unsigned: ua }, Self::Int { value: b, unsigned: ub }) => {
                integer_binary(op, a, b, ua, ua || ub)
            }
            _ => float_binary(op, self.as_f64(), right.as_f64()),
        }
    }

    /// `self ? then : otherwise`.
    pub(super) fn select(self, then: Self, otherwise: Self) -> Self {
        if self.is_true() { then } else { otherwise }
    }
}

fn integer_binary(
    op: BinaryOp,
    a: u64,
    b: u64,
    left_unsigned: bool,
    unsigned: bool,
) -> Result<Const, &'static str> {
    let (sa, sb) = (a as i64, b as i64);
    let truth = |value: bool| Const::signed(i64::from(value));
    let order = if unsigned { a.cmp(&b) } else { sa.cmp(&sb) };
    if matches!(op, BinaryOp::Div | BinaryOp::Rem) && b == 0 {
        return Err("division by zero in a constant expression");
    }
    // Amounts from 64 on shift everything out.
    let amount = u32::try_from(b).unwrap_or(64);
    let value = match op {
        BinaryOp::Less => return Ok(truth(order.is_lt())),
        BinaryOp::LessEqual => return Ok(truth(order.is_le())),
        BinaryOp::Greater => return Ok(truth(order.is_gt())),
        BinaryOp::GreaterEqual => return Ok(truth(order.is_ge())),
        BinaryOp::Equal => return Ok(truth(a == b)),
        BinaryOp::NotEqual => return Ok(truth(a != b)),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Div if unsigned => a / b,
        BinaryOp::Div => sa.wrapping_div(sb) as u64,
        BinaryOp::Rem if unsigned => a % b,
        BinaryOp::Rem => sa.wrapping_rem(sb) as u64,
        // A shift has the type of its left side alone.
        BinaryOp::ShiftLeft => {
            return Ok(Const::Int { value: a.checked_shl(amount).unwrap_or(0), unsigned: left_unsigned });
        }
        BinaryOp::ShiftRight => {
            let value = if left_unsigned {
                a.checked_shr(amount).unwrap_or(0)
            } else {
                (sa >> amount.min(63)) as u64
            };
            return Ok(Const::Int { value, unsigned: left_unsigned });
        }
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::AndAnd | BinaryOp::OrOr => return Ok(truth(false)),
    };
    Ok(Const::Int { value, unsigned })
}

fn float_binary(op: BinaryOp, a: f64, b: f64) -> Result<Const, &'static str> {
    let truth = |value: bool| Ok(Const::signed(i64::from(value)));
    match op {
        BinaryOp::Mul => Ok(Const::Double(a * b)),
        BinaryOp::Div => Ok(Const::Double(a / b)),
        BinaryOp::Add => Ok(Const::Double(a + b)),
        BinaryOp::Sub => Ok(Const::Double(a - b)),
        BinaryOp::Less => truth(a < b),
        BinaryOp::LessEqual => truth(a <= b),
        BinaryOp::Greater => truth(a > b),
        BinaryOp::GreaterEqual => truth(a >= b),
        BinaryOp::Equal => truth(a == b),
        BinaryOp::NotEqual => truth(a != b),
        _ => Err("this operator needs integers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i64) -> Const {
        Const::signed(value)
    }

    #[test]
    fn signedness_follows_the_operands() {
        let unsigned = Const::Int { value: 1, unsigned: true };
        assert_eq!(int(-1).binary(BinaryOp::Less, int(1)), Ok(int(1)));
        assert_eq!(int(-1).binary(BinaryOp::Less, unsigned), Ok(int(0)));
        assert_eq!(int(-8).binary(BinaryOp::ShiftRight, unsigned), Ok(int(-4)));
        assert_eq!(int(-7).binary(BinaryOp::Div, int(2)), Ok(int(-3)));
        assert_eq!(int(i64::MIN).binary(BinaryOp::Div, int(-1)), Ok(int(i64::MIN)));
        assert!(int(1).binary(BinaryOp::Rem, int(0)).is_err());
        assert_eq!(int(1).binary(BinaryOp::ShiftLeft, int(64)), Ok(int(0)));
        assert_eq!(int(-1).binary(BinaryOp::ShiftRight, int(1 << 40)), Ok(int(-1)));
    }

    #[test]
    fn literals_become_bits_of_their_type() {
        assert_eq!(int(-1).bits_as(ScalarType::U16), Ok(0xffff));
        assert_eq!(int(-1).bits_as(ScalarType::S64), Ok(u64::MAX));
        assert!(int(1).bits_as(ScalarType::F32).is_err());
        let one = Const::Single(0x3f80_0000);
        assert_eq!(one.bits_as(ScalarType::F32), Ok(0x3f80_0000));
        assert_eq!(one.bits_as(ScalarType::F64), Ok(0x3ff0_0000_0000_0000));
        assert_eq!(one.bits_as(ScalarType::F16), Ok(0x3c00));
        assert_eq!(Const::Double(0.1).bits_as(ScalarType::F32), Ok(u64::from(0.1f32.to_bits())));
        assert_eq!(Const::Double(1.0).bits_as(ScalarType::B64), Ok(0x3ff0_0000_0000_0000));
        assert!(Const::Double(1.0).bits_as(ScalarType::B16).is_err());
    }
}
