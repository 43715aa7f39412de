//! Element types of buffers and arguments.

use half::f16;

/// Type of a buffer's elements or of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the variants are the types that they are named after")]
pub enum ElementType {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
}

use ElementType::*;

impl ElementType {
    /// Every type with its name.
    pub const ALL: [(&'static str, ElementType); 11] = [
        ("u8", U8),
        ("s8", S8),
        ("u16", U16),
        ("s16", S16),
        ("u32", U32),
        ("s32", S32),
        ("u64", U64),
        ("s64", S64),
        ("f16", F16),
        ("f32", F32),
        ("f64", F64),
    ];

    /// The type of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ElementType> {
        ElementType::ALL.iter().find(|(n, _)| *n == name).map(|(_, ty)| *ty)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        ElementType::ALL.iter().find(|(_, ty)| *ty == self).map_or("", |(n, _)| n)
    }

    /// Bytes per element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            U8 | S8 => 1,
            U16 | S16 | F16 => 2,
            U32 | S32 | F32 => 4,
            U64 | S64 | F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, F16 | F32 | F64)
    }

    /// Smallest and largest integer of an integer type.
    #[must_use]
    pub const fn range(self) -> (i128, i128) {
        match self {
            U8 => (0, u8::MAX as i128),
            S8 => (i8::MIN as i128, i8::MAX as i128),
            U16 => (0, u16::MAX as i128),
            S16 => (i16::MIN as i128, i16::MAX as i128),
            U32 => (0, u32::MAX as i128),
            S32 => (i32::MIN as i128, i32::MAX as i128),
            U64 => (0, u64::MAX as i128),
            S64 | F16 | F32 | F64 => (i64::MIN as i128, i64::MAX as i128),
        }
    }

    /// Little-endian bytes of an integer cast to the type: its low bits, or the nearest float.
    #[must_use]
    pub fn encode_integer(self, value: i128) -> Vec<u8> {
        if self.is_float() {
            self.encode_float(value as f64)
        } else {
            value.to_le_bytes()[..self.bytes()].to_vec()
        }
    }

    /// Little-endian bytes of a float rounded to a floating-point type.
    #[must_use]
    pub fn encode_float(self, value: f64) -> Vec<u8> {
        match self {
            F16 => f16::from_f64(value).to_le_bytes().to_vec(),
            F32 => (value as f32).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        }
    }

    /// An element as people read it.
    #[must_use]
    pub fn show(self, bytes: &[u8]) -> String {
        let mut word = [0; 8];
        let n = self.bytes().min(bytes.len());
        word[..n].copy_from_slice(&bytes[..n]);
        let u = u64::from_le_bytes(word);
        match self {
            U8 | U16 | U32 | U64 => u.to_string(),
            S8 => (u as i8).to_string(),
            S16 => (u as i16).to_string(),
            S32 => (u as i32).to_string(),
            S64 => (u as i64).to_string(),
            F16 => format!("{:?}", f16::from_bits(u as u16).to_f32()),
            F32 => format!("{:?}", f32::from_bits(u as u32)),
            F64 => format!("{:?}", f64::from_bits(u)),
        }
    }

    /// Place of a float among all floats of the type, such that neighbours differ by one; `None` for NaN.
    pub(super) fn ordinal(self, bytes: &[u8]) -> Option<i128> {
        let mut word = [0; 8];
        word[..self.bytes()].copy_from_slice(&bytes[..self.bytes()]);
        let bits = u64::from_le_bytes(word);
        let (nan, sign) = match self {
            F16 => (f16::from_bits(bits as u16).is_nan(), 1 << 15),
            F32 => (f32::from_bits(bits as u32).is_nan(), 1 << 31),
            _ => (f64::from_bits(bits).is_nan(), 1 << 63),
        };
        let magnitude = i128::from(bits & (sign - 1));
        (!nan).then_some(if bits & sign != 0 { -magnitude } else { magnitude })
    }
}
