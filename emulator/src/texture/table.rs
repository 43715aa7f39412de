//! Handles: a table of texture, surface and sampler objects that kernels name by a 64-bit number.

use super::resource::Resource;
use super::sampler::Sampler;
use super::{ObjectError, refuse};

/// The first handle: small numbers and device addresses are no handles. All handles fit 32 bits, which is what
/// texture instructions take.
const FIRST: u64 = 0x7E00_0000;
/// Objects that a table may ever hold.
const MOST: usize = 1 << 24;

/// A resource with the sampler state to read it by.
#[derive(Clone, PartialEq, Debug)]
pub struct Texture {
    /// What is read.
    pub resource: Resource,
    /// How.
    pub sampler: Sampler,
}

/// What a handle stands for.
#[derive(Clone, PartialEq, Debug)]
pub enum Object {
    /// A texture.
    Texture(Texture),
    /// A surface.
    Surface(Resource),
    /// Sampler state on its own (`.samplerref`).
    Sampler(Sampler),
}

/// All objects of a device; a handle is never given out twice.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ObjectTable {
    slots: Vec<Option<Object>>,
}

impl ObjectTable {
    /// No objects.
    #[must_use]
    pub fn new() -> ObjectTable {
        ObjectTable::default()
    }

    /// Makes a texture object.
    ///
    /// # Errors
    /// When the sampler state does not go with the resource.
    pub fn create_texture(&mut self, resource: Resource, sampler: Sampler) -> Result<u64, ObjectError> {
        sampler.check(resource.format, resource.levels.len())?;
        self.add(Object::Texture(Texture { resource, sampler }))
    }

    /// Makes a surface object.
    ///
    /// # Errors
    /// When the table is full.
    pub fn create_surface(&mut self, resource: Resource) -> Result<u64, ObjectError> {
        self.add(Object::Surface(resource))
    }

    /// Makes a sampler object.
    ///
    /// # Errors
    /// When the table is full.
    pub fn create_sampler(&mut self, sampler: Sampler) -> Result<u64, ObjectError> {
        self.add(Object::Sampler(sampler))
    }

    fn add(&mut self, object: Object) -> Result<u64, ObjectError> {
        if self.slots.len() >= MOST {
            return refuse(format!("more than {MOST} texture and surface objects"));
        }
        self.slots.push(Some(object));
        Ok(FIRST + self.slots.len() as u64 - 1)
    }

    /// Destroys an object and returns it; `None` when the handle stands for nothing.
    pub fn destroy(&mut self, handle: u64) -> Option<Object> {
        let at = usize::try_from(handle.checked_sub(FIRST)?).ok()?;
        self.slots.get_mut(at)?.take()
    }

    /// What a handle stands for.
    #[must_use]
    #[inline]
    pub fn get(&self, handle: u64) -> Option<&Object> {
        let at = usize::try_from(handle.checked_sub(FIRST)?).ok()?;
        self.slots.get(at)?.as_ref()
    }
}
