//! Answers to `txq` and `suq`. Channel types and orders are the numbers that the PTX ISA takes over from
//! OpenCL, address modes count in the order in which the PTX ISA lists them.

use crate::texture::resource::{Level, Resource, ResourceKind};
use crate::texture::sampler::{AddressMode, Filter, ReadMode, Sampler};
use crate::texture::table::Object;
use crate::texture::{ChannelFormat, ChannelKind};
use trace_format::isa::TexQuery as Q;

/// The answer of an object at a mipmap level; `None` when the object has none.
#[must_use]
pub(crate) fn answer(object: &Object, query: Q, level: u32) -> Option<u32> {
    match object {
        Object::Texture(texture) => {
            let fraction = texture.sampler.read_mode == ReadMode::NormalizedFloat;
            of_resource(&texture.resource, query, level, fraction)
                .or_else(|| of_sampler(&texture.sampler, query))
        }
        Object::Surface(resource) => of_resource(resource, query, level, false),
        Object::Sampler(sampler) => of_sampler(sampler, query),
    }
}

fn of_resource(resource: &Resource, query: Q, level: u32, fraction: bool) -> Option<u32> {
    let dimensions = match resource.kind {
        ResourceKind::Linear => 1,
        ResourceKind::Pitched => 2,
        ResourceKind::Array(kind) => kind.dimensions(),
    };
    let Level { extent, .. } = *resource.levels.get(level as usize)?;
    let along = |d: usize| if d < dimensions { extent[d] } else { 0 };
    Some(match query {
        Q::Width => along(0),
        Q::Height => along(1),
        Q::Depth => along(2),
        Q::ChannelDataType => data_type(resource.format, fraction),
        Q::ChannelOrder => match resource.format.channels() {
            1 => 0x10B0,
            2 => 0x10B2,
            _ => 0x10B5,
        },
        Q::ArraySize => resource.layers(),
        Q::NumMipmapLevels => resource.levels.len() as u32,
        Q::NumSamples => 1,
        Q::MemoryLayout => u32::from(!matches!(resource.kind, ResourceKind::Array(_))),
        _ => return None,
    })
}

fn data_type(format: ChannelFormat, fraction: bool) -> u32 {
    match (format.kind(), format.bits(), fraction) {
        (ChannelKind::Signed, 8, true) => 0x10D0,
        (ChannelKind::Signed, 16, true) => 0x10D1,
        (ChannelKind::Unsigned, 8, true) => 0x10D2,
        (ChannelKind::Unsigned, 16, true) => 0x10D3,
        (ChannelKind::Signed, 8, _) => 0x10D7,
        (ChannelKind::Signed, 16, _) => 0x10D8,
        (ChannelKind::Signed, ..) => 0x10D9,
        (ChannelKind::Unsigned, 8, _) => 0x10DA,
        (ChannelKind::Unsigned, 16, _) => 0x10DB,
        (ChannelKind::Unsigned, ..) => 0x10DC,
        (ChannelKind::Float, 16, _) => 0x10DD,
        (ChannelKind::Float, ..) => 0x10DE,
    }
}

fn of_sampler(sampler: &Sampler, query: Q) -> Option<u32> {
    let mode = |d: usize| match sampler.address[d] {
        AddressMode::Wrap => 0,
        AddressMode::Mirror => 1,
        AddressMode::Clamp => 3,
        AddressMode::Border => 4,
    };
    Some(match query {
        Q::NormalizedCoords => u32::from(sampler.normalized_coords),
        Q::ForceUnnormalizedCoords => u32::from(!sampler.normalized_coords),
        Q::FilterMode => u32::from(sampler.filter == Filter::Linear),
        Q::AddrMode0 => mode(0),
        Q::AddrMode1 => mode(1),
        Q::AddrMode2 => mode(2),
        _ => return None,
    })
}
