//! Creates and destroys arrays and texture and surface objects.

use super::allocations::{Memory, Purpose};
use super::array::{Array, SURFACE_LOAD_STORE, Texels, refused};
use super::copy::Endpoint;
use crate::error::{Outcome, Status};
use emulator::texture::{ArrayShape, ChannelFormat, Object, Resource, Sampler};
use std::collections::BTreeMap;

impl Memory {
    /// Makes an array, mipmapped if its shape has several levels.
    ///
    /// # Errors
    /// `INVALID_VALUE` for impossible shapes, `MEMORY_ALLOCATION` when there is too little memory.
    pub fn create_array(&mut self, shape: ArrayShape, format: ChannelFormat, flags: u32) -> Outcome<u64> {
        let bytes = shape.tiled_bytes(format).map_err(refused)?;
        let base = self.allocate("array", bytes, Purpose::Array, flags)?;
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

    /// Checks that a box lies inside its array; memory is not checked.
    ///
    /// # Errors
    /// When there is no such array, or the box does not.
    pub fn check_box(&self, place: &Endpoint, extent: [u64; 3]) -> Outcome {
        match *place {
            Endpoint::Array { array, origin } if !self.arrays.arrays.get(array)?.holds(origin, extent) => {
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
        self.free(whole.resource.levels[0].base, &[Purpose::Array]).map(drop)
    }

    /// Makes a texture object.
    ///
    /// # Errors
    /// When the texels do not exist, or the sampler state does not fit them.
    pub fn create_texture(&mut self, texels: Texels, sampler: Sampler) -> Outcome<u64> {
        let resource = match texels {
            Texels::Array(array) => self.arrays.arrays.get(array)?.resource.clone(),
            Texels::Linear { address, bytes, format } => {
                self.region(address).ok_or(Status::INVALID_VALUE)?;
                Resource::linear(address, bytes, format).map_err(refused)?
            }
            Texels::Pitched { address, width, height, pitch, format } => {
                self.region(address).ok_or(Status::INVALID_VALUE)?;
                Resource::pitched(address, width, height, pitch, format).map_err(refused)?
            }
        };
        let objects = self.global.objects_mut();
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
        let object = self.global.objects_mut().create_surface(resource).map_err(refused)?;
        self.arrays.objects.insert(object, Texels::Array(array));
        Ok(object)
    }

    /// The resource of a texture or surface object, and the object.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such object.
    pub fn object(&self, object: u64) -> Outcome<(Texels, &Object)> {
        let texels = self.arrays.objects.get(&object).ok_or(Status::INVALID_VALUE)?;
        Ok((*texels, self.global.objects().get(object).ok_or(Status::INVALID_VALUE)?))
    }

    /// Destroys a texture or surface object.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such object.
    pub fn destroy_object(&mut self, object: u64) -> Outcome {
        self.arrays.objects.remove(&object).ok_or(Status::INVALID_VALUE)?;
        self.global.objects_mut().destroy(object).map(drop).ok_or(Status::INVALID_VALUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::array::shape;
    use crate::memory::copy::Copy;

    fn memory() -> Memory {
        Memory::new(1 << 30).expect("there are addresses")
    }

    #[test]
    fn copies_go_into_arrays_and_their_levels() {
        let mut memory = memory();
        let format = ChannelFormat::from_name("u8").expect("a format");
        let array = memory.create_array(shape([4, 4, 0], 2, 0).unwrap(), format, 0).unwrap();
        let level = memory.array_level(array, 1).unwrap();
        assert_eq!(memory.array_level(array, 1), Ok(level));
        assert_eq!(memory.array_level(array, 2), Err(Status::INVALID_VALUE));
        let host = [1u8, 2, 3, 4];
        let copy = Copy {
            to: Endpoint::Array { array: level, origin: [0; 3] },
            from: Endpoint::Linear { address: host.as_ptr() as u64, pitch: 2, height: 2 },
            extent: [2, 2, 1],
        };
        assert_eq!(memory.check_box(&copy.to, [2, 2, 1]), Ok(()));
        for beyond in [[3, 2, 1], [2, 3, 1], [2, 2, 2], [u64::MAX, 1, 1]] {
            assert_eq!(memory.check_box(&copy.to, beyond), Err(Status::INVALID_VALUE));
        }
        memory.copy(&copy).unwrap();
        let [base, ..] = memory.arrays.arrays.get(array).unwrap().rows();
        // The second level follows the sixteen texels of the first.
        assert_eq!(memory.global.bytes(base + 16, 4), Some(host.to_vec()));
        assert_eq!(memory.destroy_array(level), Err(Status::INVALID_RESOURCE_HANDLE));
        memory.destroy_array(array).unwrap();
        assert!(memory.arrays.arrays.get(level).is_err() && memory.region(base).is_none());
    }

    #[test]
    fn objects_end_once() {
        let mut memory = memory();
        let format = ChannelFormat::from_name("f32").expect("a format");
        let array = memory.create_array(shape([4, 0, 0], 1, 0).unwrap(), format, 0).unwrap();
        assert_eq!(memory.create_surface(array), Err(Status::INVALID_VALUE));
        let texture = memory.create_texture(Texels::Array(array), Sampler::default()).unwrap();
        assert!(matches!(memory.object(texture), Ok((Texels::Array(a), Object::Texture(_))) if a == array));
        assert_eq!(memory.destroy_object(texture), Ok(()));
        assert_eq!(memory.destroy_object(texture), Err(Status::INVALID_VALUE));
    }
}
