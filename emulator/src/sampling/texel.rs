//! Converts a texel, or the border colour, to the values that a fetch returns.

use super::srgb::SRGB;
use crate::texture::{ChannelFormat, ChannelKind, ReadMode, Sampler};
use half::f16;

/// What a fetch returns for channel `c`: the bits of a binary32, or an extended integer. Channels that the
/// format does not have are 0, the fourth 1.
pub(super) fn decode(format: ChannelFormat, texel: &[u32; 4], c: usize, sampler: &Sampler) -> u32 {
    let real = format.kind() == ChannelKind::Float || sampler.read_mode == ReadMode::NormalizedFloat;
    if c >= usize::from(format.channels()) {
        return match (c, real) {
            (3, true) => 1f32.to_bits(),
            (3, false) => 1,
            _ => 0,
        };
    }
    let bits = format.channel(texel, c);
    let sign_extended = ((bits << (32 - format.bits())) as i32) >> (32 - format.bits());
    match format.kind() {
        ChannelKind::Float if format.bits() == 16 => f16::from_bits(bits as u16).to_f32().to_bits(),
        ChannelKind::Float => bits,
        ChannelKind::Unsigned if !real => bits,
        ChannelKind::Signed if !real => sign_extended as u32,
        ChannelKind::Unsigned if sampler.srgb && c < 3 => SRGB[(bits & 0xFF) as usize],
        // The quotient of two integers below 2^16, rounded to binary64 and then to binary32, is the one that
        // is rounded once: it never lies that close to the middle of two floats.
        ChannelKind::Unsigned => {
            let most = (1u32 << format.bits()) - 1;
            ((f64::from(bits) / f64::from(most)) as f32).to_bits()
        }
        ChannelKind::Signed => {
            let most = (1i32 << (format.bits() - 1)) - 1;
            let value = f64::from(sign_extended) / f64::from(most);
            (value.max(-1.0) as f32).to_bits()
        }
    }
}

/// What a fetch returns for channel `c` of the border colour.
pub(super) fn border(format: ChannelFormat, c: usize, sampler: &Sampler) -> u32 {
    let real = format.kind() == ChannelKind::Float || sampler.read_mode == ReadMode::NormalizedFloat;
    if c >= usize::from(format.channels()) {
        return decode(format, &[0; 4], c, sampler);
    }
    let colour = sampler.border[c];
    match format.kind() {
        _ if real => colour.to_bits(),
        ChannelKind::Signed => (colour as i32) as u32,
        _ => colour as u32,
    }
}
