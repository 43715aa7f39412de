//! Arrays, and the texture and surface objects that kernels read and write them through.
//!
//! What texels are and how they are fetched is `emulator::texture`'s; here arrays get their memory and handles, and
//! objects keep what they were made of. Descriptors of driver and runtime API differ in layout only: both come
//! here as [`Texels`] and a [`Sampler`], with the numbers that both share turned by [`shape`], [`address_mode`]
//! and [`filter`].

use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, tell};
use crate::handles::{Handles, Kind};
use crate::memory::Purpose;
use crate::work::Place;
use emulator::texture::{
    AddressMode, ArrayKind, ArrayShape, ChannelFormat, Filter, Object, ObjectError, Resource, Sampler,
};
use std::collections::BTreeMap;

/// Flag of arrays with layers.
pub const LAYERED: u32 = 1;
/// Flag of arrays that surfaces may be bound to.
pub const SURFACE_LOAD_STORE: u32 = 2;
/// Flag of cubes.
pub const CUBEMAP: u32 = 4;
/// Flag of arrays that texture gathers read.
pub const TEXTURE_GATHER: u32 = 8;

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
    levels: BTreeMap<u32, u64>,
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

/// Arrays, and what objects were made of.
#[derive(Debug)]
pub struct Arrays {
    /// Arrays by handle.
    pub arrays: Handles<Array>,
    /// What each texture and surface object reads.
    objects: BTreeMap<u64, Texels>,
}

impl Default for Arrays {
    fn default() -> Arrays {
        Arrays { arrays: Handles::new(Kind::Array), objects: BTreeMap::new() }
    }
}

impl Arrays {
    /// Takes all arrays and objects away.
    pub fn clear(&mut self) {
        self.arrays.clear();
        self.objects.clear();
    }
}

/// The shape that CUDA's extent and flags describe: dimensions that are not there are 0, layers and faces count
/// as depth.
///
/// # Errors
/// `INVALID_VALUE` when there is no such array.
pub fn shape(extent: [usize; 3], levels: u32, flags: u32) -> Outcome<ArrayShape> {
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
pub fn address_mode(number: u32) -> Outcome<AddressMode> {
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
pub fn filter(number: u32) -> Outcome<Filter> {
    match number {
        0 => Ok(Filter::Point),
        1 => Ok(Filter::Linear),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Tells why the emulator takes no such array or object.
#[allow(clippy::needless_pass_by_value, reason = "it is what `map_err` calls")]
fn refused(error: ObjectError) -> Status {
    tell(&error.to_string());
    Status::INVALID_VALUE
}

impl Gpu {
    /// Makes an array, mipmapped if its shape has several levels.
    ///
    /// # Errors
    /// `INVALID_VALUE` for impossible shapes, `MEMORY_ALLOCATION` when there is no room.
    pub fn create_array(&mut self, shape: ArrayShape, format: ChannelFormat, flags: u32) -> Outcome<u64> {
        let bytes = shape.bytes(format).map_err(refused)?;
        let base = self.memory.allocate("array", bytes, Purpose::Array, flags)?;
        let resource = Resource::array(base, &shape, format).map_err(refused)?;
        Ok(self.arrays.arrays.insert(Array {
            resource,
            shape,
            flags,
            level_of: None,
            levels: BTreeMap::new(),
        }))
    }

    /// One level of a mipmapped array as an array; it lives as long as the whole.
    ///
    /// # Errors
    /// When there is no such array or level.
    pub fn array_level(&mut self, array: u64, level: u32) -> Outcome<u64> {
        let whole = self.arrays.arrays.get(array)?;
        if let Some(&known) = whole.levels.get(&level) {
            return Ok(known);
        }
        let &place = whole.resource.levels.get(level as usize).ok_or(Status::INVALID_VALUE)?;
        let [width, height, depth] = place.extent;
        let shape = ArrayShape { width, height, depth, levels: 1, ..whole.shape };
        let resource = Resource { levels: vec![place], ..whole.resource.clone() };
        let part =
            Array { resource, shape, flags: whole.flags, level_of: Some(array), levels: BTreeMap::new() };
        let handle = self.arrays.arrays.insert(part);
        self.arrays.arrays.get_mut(array)?.levels.insert(level, handle);
        Ok(handle)
    }

    /// Checks that a box lies inside of its place, if that is an array.
    ///
    /// # Errors
    /// When there is no such array, or the box does not.
    pub fn check_box(&self, place: &Place, extent: [u64; 3]) -> Outcome {
        match *place {
            Place::Array { array, origin } if !self.arrays.arrays.get(array)?.holds(origin, extent) => {
                Err(Status::INVALID_VALUE)
            }
            _ => Ok(()),
        }
    }

    /// Frees an array with its levels.
    ///
    /// # Errors
    /// When there is no such array, or it is only a level.
    pub fn destroy_array(&mut self, array: u64) -> Outcome {
        if self.arrays.arrays.get(array)?.level_of.is_some() {
            return Err(Status::INVALID_RESOURCE_HANDLE);
        }
        let whole = self.arrays.arrays.remove(array)?;
        for level in whole.levels.into_values() {
            self.arrays.arrays.remove(level)?;
        }
        self.memory.free(whole.resource.levels[0].base, &[Purpose::Array]).map(drop)
    }

    /// Makes a texture object.
    ///
    /// # Errors
    /// When the texels do not exist, or the sampler state does not go with them.
    pub fn create_texture(&mut self, texels: Texels, sampler: Sampler) -> Outcome<u64> {
        let resource = match texels {
            Texels::Array(array) => self.arrays.arrays.get(array)?.resource.clone(),
            Texels::Linear { address, bytes, format } => {
                self.memory.region(address).ok_or(Status::INVALID_VALUE)?;
                Resource::linear(address, bytes, format).map_err(refused)?
            }
            Texels::Pitched { address, width, height, pitch, format } => {
                self.memory.region(address).ok_or(Status::INVALID_VALUE)?;
                Resource::pitched(address, width, height, pitch, format).map_err(refused)?
            }
        };
        let objects = self.memory.global.objects_mut();
        let object = objects.create_texture(resource, sampler).map_err(refused)?;
        self.arrays.objects.insert(object, texels);
        Ok(object)
    }

    /// Makes a surface object on an array.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the array was not made for surfaces.
    pub fn create_surface(&mut self, array: u64) -> Outcome<u64> {
        let found = self.arrays.arrays.get(array)?;
        if found.flags & SURFACE_LOAD_STORE == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let resource = found.resource.clone();
        let object = self.memory.global.objects_mut().create_surface(resource).map_err(refused)?;
        self.arrays.objects.insert(object, Texels::Array(array));
        Ok(object)
    }

    /// What a texture or surface object was made of, and the object.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such object.
    pub fn object(&self, object: u64) -> Outcome<(Texels, &Object)> {
        let texels = self.arrays.objects.get(&object).ok_or(Status::INVALID_VALUE)?;
        Ok((*texels, self.memory.global.objects().get(object).ok_or(Status::INVALID_VALUE)?))
    }

    /// Destroys a texture or surface object.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such object.
    pub fn destroy_object(&mut self, object: u64) -> Outcome {
        self.arrays.objects.remove(&object).ok_or(Status::INVALID_VALUE)?;
        self.memory.global.objects_mut().destroy(object).map(drop).ok_or(Status::INVALID_VALUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::work::Copy;
    use emulator::exec::Options;

    fn gpu() -> Gpu {
        Gpu::new(&Device::all()[0], Options::default()).expect("there are addresses")
    }

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

    #[test]
    fn copies_go_into_arrays_and_their_levels() {
        let mut gpu = gpu();
        let format = ChannelFormat::from_name("u8").expect("a format");
        let array = gpu.create_array(shape([4, 4, 0], 2, 0).unwrap(), format, 0).unwrap();
        let level = gpu.array_level(array, 1).unwrap();
        assert_eq!(gpu.array_level(array, 1), Ok(level));
        assert_eq!(gpu.array_level(array, 2), Err(Status::INVALID_VALUE));
        let host = [1u8, 2, 3, 4];
        let copy = Copy {
            to: Place::Array { array: level, origin: [0; 3] },
            from: Place::Linear { address: host.as_ptr() as u64, pitch: 2, height: 2 },
            extent: [2, 2, 1],
        };
        assert_eq!(gpu.check_box(&copy.to, [2, 2, 1]), Ok(()));
        for beyond in [[3, 2, 1], [2, 3, 1], [2, 2, 2], [u64::MAX, 1, 1]] {
            assert_eq!(gpu.check_box(&copy.to, beyond), Err(Status::INVALID_VALUE));
        }
        gpu.perform_here(&crate::work::Work::Copy(copy)).unwrap();
        let [base, ..] = gpu.arrays.arrays.get(array).unwrap().rows();
        // The second level follows the sixteen texels of the first.
        assert_eq!(gpu.memory.global.bytes(base + 16, 4), Some(host.to_vec()));
        assert_eq!(gpu.destroy_array(level), Err(Status::INVALID_RESOURCE_HANDLE));
        gpu.destroy_array(array).unwrap();
        assert!(gpu.arrays.arrays.get(level).is_err() && gpu.memory.region(base).is_none());
    }

    #[test]
    fn objects_end_once() {
        let mut gpu = gpu();
        let format = ChannelFormat::from_name("f32").expect("a format");
        let array = gpu.create_array(shape([4, 0, 0], 1, 0).unwrap(), format, 0).unwrap();
        assert_eq!(gpu.create_surface(array), Err(Status::INVALID_VALUE));
        let texture = gpu.create_texture(Texels::Array(array), Sampler::default()).unwrap();
        assert!(matches!(gpu.object(texture), Ok((Texels::Array(a), Object::Texture(_))) if a == array));
        assert_eq!(gpu.destroy_object(texture), Ok(()));
        assert_eq!(gpu.destroy_object(texture), Err(Status::INVALID_VALUE));
    }
}
