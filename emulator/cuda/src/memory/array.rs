//! Arrays, and the texture and surface objects that kernels read and write them through.
//!
//! `emulator::texture` defines texels and fetches; this module gives arrays memory and handles, and keeps the
//! resources of objects. Descriptors of driver and runtime API differ in layout only: both come here as
//! [`Texels`] and a sampler, with numbers, equal in both APIs, converted by [`shape`], [`address_mode`] and
//! [`filter`].

use crate::error::{Outcome, Status};
use crate::handles::{Handles, Kind};
use crate::tell::tell;
use emulator::texture::{AddressMode, ArrayKind, ArrayShape, ChannelFormat, Filter, ObjectError, Resource};
use std::collections::BTreeMap;

/// Flag of arrays with layers.
pub(crate) const LAYERED: u32 = 1;
/// Flag of arrays that surfaces may be bound to.
pub(crate) const SURFACE_LOAD_STORE: u32 = 2;
/// Flag of cubes.
pub(crate) const CUBEMAP: u32 = 4;
/// Flag of arrays that texture gathers read.
pub(crate) const TEXTURE_GATHER: u32 = 8;

/// An array, or one level of a mipmapped one.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its texels.
    pub resource: Resource,
    /// Its shape.
    pub shape: ArrayShape,
    /// Flags that it was made with.
    pub flags: u32,
    /// The mipmapped array that it is a level of, which owns the memory.
    pub level_of: Option<u64>,
    /// Handles of its levels that programs have asked for.
    pub(super) levels: BTreeMap<u32, u64>,
}

impl Array {
    /// First byte, and bytes from row to row and from slice to slice.
    #[must_use]
    pub fn rows(&self) -> [u64; 3] {
        let level = &self.resource.levels[0];
        [level.base, level.row_bytes, level.slice_bytes]
    }

    /// Bytes of a row that hold texels.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.resource.levels[0].extent[0]) * self.resource.format.texel_bytes()
    }

    /// Whether a box of bytes, rows and slices lies inside.
    #[must_use]
    pub fn holds(&self, origin: [u64; 3], extent: [u64; 3]) -> bool {
        let [_, height, depth] = self.resource.levels[0].extent;
        let slices = u64::from(depth) * u64::from(self.resource.slices);
        let size = [self.row_bytes(), height.into(), slices];
        let inside = |i: usize| origin[i].checked_add(extent[i]).is_some_and(|end| end <= size[i]);
        (0..3).all(inside)
    }

    /// Width, height and depth as CUDA writes them: 0 for dimensions that it does not have, layers and faces as
    /// depth.
    #[must_use]
    pub fn extent(&self) -> [usize; 3] {
        let ArrayShape { kind, width, height, depth, layers, .. } = self.shape;
        let [width, height, depth, layers] = [width, height, depth, layers].map(|n| n as usize);
        match kind {
            ArrayKind::D1 => [width, 0, 0],
            ArrayKind::D2 => [width, height, 0],
            ArrayKind::D3 => [width, height, depth],
            ArrayKind::Layered1 => [width, 0, layers],
            ArrayKind::Layered2 => [width, height, layers],
            ArrayKind::Cube | ArrayKind::LayeredCube => [width, height, layers * 6],
        }
    }
}

/// What a texture object reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Texels {
    /// An array, mipmapped or not, by handle.
    Array(u64),
    /// Memory as one row.
    Linear {
        /// First byte.
        address: u64,
        /// Length.
        bytes: u64,
        /// Format of the texels.
        format: ChannelFormat,
    },
    /// Memory as rows.
    Pitched {
        /// First byte.
        address: u64,
        /// Texels in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes from row to row.
        pitch: u64,
        /// Format of the texels.
        format: ChannelFormat,
    },
}

/// Arrays, and the resources of objects.
#[derive(Debug)]
pub struct Arrays {
    /// Arrays by handle.
    pub arrays: Handles<Array>,
    /// What each texture and surface object reads.
    pub(super) objects: BTreeMap<u64, Texels>,
}

impl Default for Arrays {
    fn default() -> Arrays {
        Arrays { arrays: Handles::new(Kind::Array), objects: BTreeMap::new() }
    }
}

impl Arrays {
    /// Destroys all arrays and objects.
    pub fn clear(&mut self) {
        self.arrays.clear();
        self.objects.clear();
    }
}

/// The shape that CUDA's extent and flags describe: unused dimensions are 0, layers and faces count as depth.
///
/// # Errors
/// `INVALID_VALUE` when there is no such array.
pub(crate) fn shape(extent: [usize; 3], levels: u32, flags: u32) -> Outcome<ArrayShape> {
    let mut numbers = [0; 3];
    for (to, from) in numbers.iter_mut().zip(extent) {
        *to = u32::try_from(from).map_err(|_| Status::INVALID_VALUE)?;
    }
    let [width, height, depth] = numbers;
    let layered = flags & LAYERED != 0;
    let (kind, depth, layers) = match (flags & CUBEMAP != 0, layered, height, depth) {
        (true, false, _, 6) => (ArrayKind::Cube, 1, 1),
        (true, true, _, faces) if faces.is_multiple_of(6) => (ArrayKind::LayeredCube, 1, faces / 6),
        (true, ..) => return Err(Status::INVALID_VALUE),
        (false, true, 0, layers) => (ArrayKind::Layered1, 1, layers),
        (false, true, _, layers) => (ArrayKind::Layered2, 1, layers),
        (false, false, 0, 0) => (ArrayKind::D1, 1, 1),
        (false, false, _, 0) => (ArrayKind::D2, 1, 1),
        (false, false, _, depth) => (ArrayKind::D3, depth, 1),
    };
    let shape = ArrayShape { kind, width, height: height.max(1), depth, layers, levels };
    shape.check().map(|()| shape).map_err(refused)
}

/// An address mode by its number, which both APIs share.
///
/// # Errors
/// `INVALID_VALUE` for other numbers.
pub(crate) fn address_mode(number: u32) -> Outcome<AddressMode> {
    match number {
        0 => Ok(AddressMode::Wrap),
        1 => Ok(AddressMode::Clamp),
        2 => Ok(AddressMode::Mirror),
        3 => Ok(AddressMode::Border),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// A filter by its number, which both APIs share.
///
/// # Errors
/// `INVALID_VALUE` for other numbers.
pub(crate) fn filter(number: u32) -> Outcome<Filter> {
    match number {
        0 => Ok(Filter::Point),
        1 => Ok(Filter::Linear),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Prints why the emulator refuses an array or object.
#[allow(clippy::needless_pass_by_value, reason = "it is what `map_err` calls")]
pub(super) fn refused(error: ObjectError) -> Status {
    tell(&error.to_string());
    Status::INVALID_VALUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_and_flags_give_shapes() {
        let kind = |extent, flags| shape(extent, 1, flags).map(|s| (s.kind, s.layers));
        assert_eq!(kind([5, 0, 0], 0), Ok((ArrayKind::D1, 1)));
        assert_eq!(kind([5, 4, 0], 0), Ok((ArrayKind::D2, 1)));
        assert_eq!(kind([5, 4, 3], 0), Ok((ArrayKind::D3, 1)));
        assert_eq!(kind([5, 0, 3], LAYERED), Ok((ArrayKind::Layered1, 3)));
        assert_eq!(kind([5, 4, 3], LAYERED), Ok((ArrayKind::Layered2, 3)));
        assert_eq!(kind([4, 4, 6], CUBEMAP), Ok((ArrayKind::Cube, 1)));
        assert_eq!(kind([4, 4, 12], CUBEMAP | LAYERED), Ok((ArrayKind::LayeredCube, 2)));
        for (extent, flags) in
            [([4, 4, 5], CUBEMAP), ([0, 0, 0], 0), ([4, 5, 6], CUBEMAP), ([4, 4, 0], LAYERED)]
        {
            assert_eq!(kind(extent, flags), Err(Status::INVALID_VALUE), "{extent:?}");
        }
    }
}
