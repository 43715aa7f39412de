//! Channel formats: how many channels of which width and kind a texel has, and what their bits mean.

use super::{ObjectError, refuse};
use half::f16;
use trace_format::isa::MemWidth;

/// How the bits of a channel are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChannelKind {
    /// An unsigned integer.
    Unsigned,
    /// A signed integer in two's complement.
    Signed,
    /// An IEEE float: binary16 or binary32.
    Float,
}

/// The channels of a texel: 1, 2 or 4 of 8, 16 or 32 bits, all alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChannelFormat {
    kind: ChannelKind,
    bits: u8,
    channels: u8,
}

impl ChannelFormat {
    /// A format.
    ///
    /// # Errors
    /// When hardware has no such format: other than 1, 2 or 4 channels, or other widths than 8, 16 and 32 bits
    /// (16 and 32 for floats).
    pub fn new(kind: ChannelKind, bits: u8, channels: u8) -> Result<ChannelFormat, ObjectError> {
        if !matches!(channels, 1 | 2 | 4) {
            return refuse(format!("a texel has 1, 2 or 4 channels, not {channels}"));
        }
        let least = if kind == ChannelKind::Float { 16 } else { 8 };
        if !matches!(bits, 8 | 16 | 32) || bits < least {
            let name = match kind {
                ChannelKind::Float => "a float channel has 16 or 32 bits",
                _ => "an integer channel has 8, 16 or 32 bits",
            };
            return refuse(format!("{name}, not {bits}"));
        }
        Ok(ChannelFormat { kind, bits, channels })
    }

    /// The format of a name such as `u8x4`, `f16` or `s32x2`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ChannelFormat> {
        let (channel, channels) = name.split_once('x').unwrap_or((name, "1"));
        let kind = match channel.get(..1)? {
            "u" => ChannelKind::Unsigned,
            "s" => ChannelKind::Signed,
            "f" => ChannelKind::Float,
            _ => return None,
        };
        ChannelFormat::new(kind, channel.get(1..)?.parse().ok()?, channels.parse().ok()?).ok()
    }

    /// Kind of every channel.
    #[must_use]
    pub const fn kind(self) -> ChannelKind {
        self.kind
    }

    /// Width of a channel in bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// Number of channels.
    #[must_use]
    pub const fn channels(self) -> u8 {
        self.channels
    }

    /// Size of a texel in bytes, a power of two from 1 to 16.
    #[must_use]
    pub const fn texel_bytes(self) -> u64 {
        self.bits as u64 / 8 * self.channels as u64
    }

    /// The memory access that reads a whole texel.
    pub(crate) const fn texel_width(self) -> MemWidth {
        match self.texel_bytes() {
            1 => MemWidth::U8,
            2 => MemWidth::U16,
            4 => MemWidth::B32,
            8 => MemWidth::B64,
            _ => MemWidth::B128,
        }
    }

    /// Whether channels can be read as fractions of their range.
    #[must_use]
    pub const fn normalizes(self) -> bool {
        !matches!(self.kind, ChannelKind::Float) && self.bits < 32
    }

    /// The bits of channel `c` out of a texel's words; 0 beyond the last channel.
    pub(crate) fn channel(self, texel: &[u32; 4], c: usize) -> u32 {
        if c >= usize::from(self.channels) {
            return 0;
        }
        let bit = c * usize::from(self.bits);
        let word = texel[bit / 32] >> (bit % 32);
        if self.bits == 32 { word } else { word & ((1 << self.bits) - 1) }
    }

    /// The bits of channel values converted to the format, as `sust.p` stores them: words of the channels' type, whose
    /// integers saturate.
    pub(crate) fn encode(self, values: &[u32; 4]) -> [u32; 4] {
        let mut texel = [0; 4];
        for (c, value) in values.iter().enumerate().take(usize::from(self.channels)) {
            let bits = self.encode_channel(*value);
            let at = c * usize::from(self.bits);
            texel[at / 32] |= bits << (at % 32);
        }
        texel
    }

    fn encode_channel(self, value: u32) -> u32 {
        let low = if self.bits == 32 { u32::MAX } else { (1 << self.bits) - 1 };
        match self.kind {
            ChannelKind::Float if self.bits == 32 => value,
            ChannelKind::Float => u32::from(f16::from_f32(f32::from_bits(value)).to_bits()),
            ChannelKind::Signed => {
                let most = (low >> 1) as i32;
                ((value as i32).clamp(-most - 1, most) as u32) & low
            }
            ChannelKind::Unsigned => value.min(low),
        }
    }
}

impl std::fmt::Display for ChannelFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            ChannelKind::Unsigned => 'u',
            ChannelKind::Signed => 's',
            ChannelKind::Float => 'f',
        };
        write!(f, "{kind}{}", self.bits)?;
        if self.channels > 1 { write!(f, "x{}", self.channels) } else { Ok(()) }
    }
}
