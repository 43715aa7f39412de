//! Handles: the opaque pointers that programs hold for streams, events, graphs and the like.
//!
//! A handle names a slot of a table and how often the slot has been used, so that a destroyed handle, or one
//! of another kind, is detected.

use crate::error::{Outcome, Status};

/// What kind of object a handle names; part of its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A context.
    Context = 1,
    /// A stream.
    Stream,
    /// An event.
    Event,
    /// A module or library.
    Module,
    /// A kernel.
    Kernel,
    /// A graph.
    Graph,
    /// A node of a graph.
    Node,
    /// An instantiated graph.
    Executable,
    /// An array.
    Array,
    /// A memory pool.
    Pool,
    /// A linker's state.
    Link,
    /// Memory that may be mapped.
    Physical,
    /// An object of the program.
    UserObject,
}

impl Kind {
    /// CUDA's error for an unknown handle: `INVALID_VALUE` for graphs, pools and their parts.
    fn unknown(self) -> Status {
        match self {
            Kind::Graph | Kind::Node | Kind::Executable | Kind::Pool | Kind::UserObject => {
                Status::INVALID_VALUE
            }
            _ => Status::INVALID_RESOURCE_HANDLE,
        }
    }
}

/// Objects of one kind by handle.
#[derive(Debug)]
pub struct Handles<T> {
    kind: Kind,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    uses: u16,
    value: Option<T>,
}

/// Handles have this in their upper bits, where no pointer has.
const MARK: u64 = 0x57 << 56;

impl<T> Handles<T> {
    /// An empty table.
    #[must_use]
    pub const fn new(kind: Kind) -> Handles<T> {
        Handles { kind, slots: Vec::new(), free: Vec::new() }
    }

    /// Adds an object and returns its handle, which is never zero.
    pub fn insert(&mut self, value: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { uses: 0, value: None });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.uses = slot.uses.wrapping_add(1);
        slot.value = Some(value);
        MARK | (self.kind as u64) << 48 | u64::from(slot.uses) << 32 | u64::from(index)
    }

    fn index(&self, handle: u64) -> Option<usize> {
        let slot = self.slots.get(handle as u32 as usize)?;
        let expected = MARK | (self.kind as u64) << 48 | u64::from(slot.uses) << 32 | handle & 0xFFFF_FFFF;
        (handle == expected && slot.value.is_some()).then_some(handle as u32 as usize)
    }

    /// The object of a handle.
    ///
    /// # Errors
    /// `INVALID_RESOURCE_HANDLE`, or `INVALID_VALUE` for graphs and pools, when it names none.
    pub fn get(&self, handle: u64) -> Outcome<&T> {
        let index = self.index(handle).ok_or(self.kind.unknown())?;
        self.slots[index].value.as_ref().ok_or(self.kind.unknown())
    }

    /// The object of a handle, to change.
    ///
    /// # Errors
    /// `INVALID_RESOURCE_HANDLE`, or `INVALID_VALUE` for graphs and pools, when it names none.
    pub fn get_mut(&mut self, handle: u64) -> Outcome<&mut T> {
        let index = self.index(handle).ok_or(self.kind.unknown())?;
        self.slots[index].value.as_mut().ok_or(self.kind.unknown())
    }

    /// Takes an object out; its handle becomes invalid.
    ///
    /// # Errors
    /// `INVALID_RESOURCE_HANDLE`, or `INVALID_VALUE` for graphs and pools, when it names none.
    pub fn remove(&mut self, handle: u64) -> Outcome<T> {
        let index = self.index(handle).ok_or(self.kind.unknown())?;
        let value = self.slots[index].value.take().ok_or(self.kind.unknown())?;
        self.free.push(index as u32);
        Ok(value)
    }

    /// Takes all objects out.
    pub fn clear(&mut self) {
        let live: Vec<u64> = self.iter().map(|(handle, _)| handle).collect();
        for handle in live {
            let _ = self.remove(handle);
        }
    }

    /// All objects, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| slot.value.as_mut())
    }

    /// All objects with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let handle = MARK | (self.kind as u64) << 48 | u64::from(slot.uses) << 32 | index as u64;
            slot.value.as_ref().map(|value| (handle, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_and_foreign_handles_are_recognised() {
        let mut streams = Handles::new(Kind::Stream);
        let mut events = Handles::new(Kind::Event);
        let (a, e) = (streams.insert("a"), events.insert("e"));
        assert_ne!(a, e);
        assert_eq!(streams.get(a), Ok(&"a"));
        assert_eq!(streams.get(e), Err(Status::INVALID_RESOURCE_HANDLE));
        assert_eq!(streams.remove(a), Ok("a"));
        let b = streams.insert("b");
        assert_ne!(a, b);
        assert!(streams.get(a).is_err() && streams.get(0).is_err() && streams.get(u64::MAX).is_err());
        assert_eq!(streams.iter().collect::<Vec<_>>(), [(b, &"b")]);
    }
}
