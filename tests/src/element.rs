//! Element types of buffers and the step between typed values and the little-endian bytes of device memory.
//! The callers interpret the values.

use std::str::FromStr;

/// The type of a buffer's elements, as a manifest names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    S8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    S16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    S32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    S64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl ElementType {
    /// Size of one element in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
            Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }
}

impl FromStr for ElementType {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "u8" => Self::U8,
            "s8" => Self::S8,
            "u16" => Self::U16,
            "s16" => Self::S16,
            "u32" => Self::U32,
            "s32" => Self::S32,
            "u64" => Self::U64,
            "s64" => Self::S64,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return Err(format!("no workload uses the element type `{name}`")),
        })
    }
}

/// A Rust type that is the image of an [`ElementType`].
pub trait Element: Copy {
    /// The element type that this Rust type stands for.
    const TYPE: ElementType;

    /// Appends the value's little-endian bytes to `out`.
    fn append_to(self, out: &mut Vec<u8>);

    /// The value of exactly [`ElementType::bytes`] little-endian bytes.
    ///
    /// # Panics
    /// If `bytes` has another length.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($rust:ty => $variant:ident),+ $(,)?) => {$(
        impl Element for $rust {
            const TYPE: ElementType = ElementType::$variant;

            fn append_to(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("one element's bytes"))
            }
        }
    )+};
}

elements! {
    u8 => U8, i8 => S8, u16 => U16, i16 => S16, u32 => U32, i32 => S32, u64 => U64, i64 => S64,
    f32 => F32, f64 => F64,
}

/// The bytes of `values`, one after the other.
pub fn encode<T: Element>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::TYPE.bytes());
    for &value in values {
        value.append_to(&mut bytes);
    }
    bytes
}

/// The values that `bytes` hold; bytes beyond the last whole element are ignored.
pub fn decode<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(T::TYPE.bytes()).map(T::from_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_little_endian_and_come_back() {
        assert_eq!(encode(&[0x0102_0304_u32]), [4, 3, 2, 1]);
        assert_eq!(encode(&[-2_i16, 3]), [0xfe, 0xff, 3, 0]);
        assert_eq!(decode::<f64>(&encode(&[1.5_f64, -0.0])), [1.5, -0.0]);
    }
}
