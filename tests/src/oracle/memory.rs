//! Memory of the oracle: named byte arrays in one generic address space.
//!
//! Every buffer is its own array with a gap behind it, and every access looks its array up: slow, and without
//! a way to reach the wrong one. Shared, local, constant and parameter arrays live in windows of the generic
//! address space; an address inside such a space counts from its window's start.

use super::Fault;
use emulator::ptx::StateSpace;

/// Where shared memory begins in the generic address space.
pub(super) const SHARED_WINDOW: u64 = 0x0100_0000_0000_0000;
/// Where local memory begins.
pub(super) const LOCAL_WINDOW: u64 = 0x0200_0000_0000_0000;
/// Where constant memory begins.
pub(super) const CONST_WINDOW: u64 = 0x0300_0000_0000_0000;
/// Where kernel parameters begin.
pub(super) const PARAM_WINDOW: u64 = 0x0400_0000_0000_0000;
const WINDOW_MASK: u64 = 0xFF00_0000_0000_0000;
/// Buffers begin at multiples of this.
const ALIGN: u64 = 256;

/// One buffer of global memory.
#[derive(Clone, Debug)]
struct Buffer {
    base: u64,
    bytes: Vec<u8>,
}

/// Global memory: buffers in ascending order of their addresses.
#[derive(Clone, Debug, Default)]
pub struct GlobalMemory {
    buffers: Vec<Buffer>,
}

impl GlobalMemory {
    /// Adds a buffer; its address.
    pub fn add(&mut self, bytes: Vec<u8>) -> u64 {
        let end = self.buffers.last().map_or(0x10_0000_0000, |last| last.base + last.bytes.len() as u64);
        let base = (end + ALIGN).next_multiple_of(ALIGN);
        self.buffers.push(Buffer { base, bytes });
        base
    }

    /// Contents of the buffer that begins at an address.
    pub fn contents(&self, base: u64) -> Option<&[u8]> {
        self.buffers.iter().find(|buffer| buffer.base == base).map(|buffer| &buffer.bytes[..])
    }

    /// Replaces the contents of the buffer that begins at an address.
    pub fn replace(&mut self, base: u64, bytes: Vec<u8>) {
        if let Some(buffer) = self.buffers.iter_mut().find(|buffer| buffer.base == base) {
            buffer.bytes = bytes;
        }
    }

    fn slice(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let after = self.buffers.partition_point(|buffer| buffer.base <= address);
        let buffer = self.buffers.get_mut(after.checked_sub(1)?)?;
        window(&mut buffer.bytes, address - buffer.base, size)
    }
}

fn window(bytes: &mut [u8], at: u64, size: usize) -> Option<&mut [u8]> {
    let at = usize::try_from(at).ok()?;
    bytes.get_mut(at..at.checked_add(size)?)
}

/// The memory that one thread sees.
pub(super) struct View<'a> {
    /// Of the device.
    pub global: &'a mut GlobalMemory,
    /// Of the block.
    pub shared: &'a mut [u8],
    /// Of the thread.
    pub local: &'a mut [u8],
    /// `.const` variables.
    pub constant: &'a mut [u8],
    /// Parameters of the kernel.
    pub param: &'a mut [u8],
}

impl View<'_> {
    /// The bytes at an address of a space.
    ///
    /// # Errors
    /// If they lie outside of all arrays, or are not aligned to their size.
    pub(super) fn bytes(&mut self, space: StateSpace, address: u64, size: usize) -> Result<&mut [u8], Fault> {
        let (space, at) = match space {
            StateSpace::Generic => generic(address),
            other => (other, address),
        };
        if at % size as u64 != 0 {
            return Err(Fault::new(format!("{address:#x} in .{space} is not aligned to {size} bytes")));
        }
        let found = match space {
            StateSpace::Global => self.global.slice(at, size),
            StateSpace::Shared => window(self.shared, at, size),
            StateSpace::Local => window(self.local, at, size),
            StateSpace::Const => window(self.constant, at, size),
            StateSpace::Param | StateSpace::ParamEntry => window(self.param, at, size),
            _ => None,
        };
        found.ok_or_else(|| Fault::new(format!("{size} bytes at {address:#x} in .{space} are out of bounds")))
    }

    /// Up to eight bytes as a little-endian number.
    ///
    /// # Errors
    /// As [`Self::bytes`].
    pub(super) fn load(&mut self, space: StateSpace, address: u64, size: usize) -> Result<u64, Fault> {
        let bytes = self.bytes(space, address, size)?;
        Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// Stores the low bytes of a number.
    ///
    /// # Errors
    /// As [`Self::bytes`].
    pub(super) fn store(
        &mut self,
        space: StateSpace,
        address: u64,
        size: usize,
        value: u64,
    ) -> Result<(), Fault> {
        self.bytes(space, address, size)?.copy_from_slice(&value.to_le_bytes()[..size]);
        Ok(())
    }
}

/// The start of a space in the generic address space.
pub(super) fn window_of(space: StateSpace) -> u64 {
    match space {
        StateSpace::Shared => SHARED_WINDOW,
        StateSpace::Local => LOCAL_WINDOW,
        StateSpace::Const => CONST_WINDOW,
        StateSpace::Param | StateSpace::ParamEntry => PARAM_WINDOW,
        _ => 0,
    }
}

/// Space and address within it of a generic address.
pub(super) fn generic(address: u64) -> (StateSpace, u64) {
    let space = match address & WINDOW_MASK {
        SHARED_WINDOW => StateSpace::Shared,
        LOCAL_WINDOW => StateSpace::Local,
        CONST_WINDOW => StateSpace::Const,
        PARAM_WINDOW => StateSpace::Param,
        _ => StateSpace::Global,
    };
    (space, address - window_of(space))
}
