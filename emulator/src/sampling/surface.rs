//! Surface accesses: from integer coordinates to device addresses, with what lies out of range.
//!
//! Unformatted accesses count bytes along x and texels along the other dimensions; formatted ones count texels
//! everywhere.

use super::sample::geometry_suits;
use crate::texture::resource::Resource;
use trace_format::isa::{SurfClamp, TexGeometry};

/// A surface access of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SurfaceAccess {
    /// Geometry.
    pub geometry: TexGeometry,
    /// What happens out of range.
    pub clamp: SurfClamp,
    /// Bytes accessed.
    pub bytes: u64,
    /// Whether x counts texels.
    pub formatted: bool,
}

/// Address of a surface access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TexelAddress {
    /// To this device address, with the address that hardware gives the texel.
    At { address: u64, recorded: u64 },
    /// Out of range: the access reads zero or writes nothing.
    Nowhere,
    /// Out of range, which is a fault.
    Fault,
}

impl SurfaceAccess {
    /// Whether the geometry suits the surface.
    #[must_use]
    pub(crate) fn suits(&self, resource: &Resource) -> bool {
        geometry_suits(self.geometry, resource.kind)
    }

    /// Where the access with these coordinates (the layer first, if there is one) goes.
    #[must_use]
    pub(crate) fn place(&self, resource: &Resource, words: [u32; 4]) -> TexelAddress {
        let level = &resource.levels[0];
        let layered = usize::from(self.geometry.is_layered());
        let dimensions = usize::from(self.geometry.coordinates()) - layered;
        let texel = resource.format.texel_bytes();
        let unit = if self.formatted { texel } else { 1 };
        // Positions along x, y and z (or the layer), in units of x, rows and slices, with how many there are.
        let mut at = [0i64; 4];
        let mut most = [0i64; 4];
        for d in 0..dimensions {
            at[d] = i64::from(words[layered + d] as i32);
            most[d] = i64::from(level.extent[d]) - 1;
        }
        at[0] *= unit as i64;
        most[0] = (u64::from(level.extent[0]) * texel) as i64 - self.bytes as i64;
        if layered > 0 {
            at[3] = i64::from(words[0]);
            most[3] = i64::from(resource.slices) - 1;
        }
        if most[0] < 0 {
            return if self.clamp == SurfClamp::Zero { TexelAddress::Nowhere } else { TexelAddress::Fault };
        }
        let outside = (0..4).any(|d| at[d] < 0 || at[d] > most[d]);
        match self.clamp {
            SurfClamp::Trap if outside => return TexelAddress::Fault,
            SurfClamp::Zero if outside => return TexelAddress::Nowhere,
            _ => {}
        }
        let [x, y, z, layer]: [u64; 4] = std::array::from_fn(|d| at[d].clamp(0, most[d]) as u64);
        TexelAddress::At {
            address: level.base + x + y * level.row_bytes + (z + layer) * level.slice_bytes,
            recorded: level.recorded(x, y, z, layer),
        }
    }
}
