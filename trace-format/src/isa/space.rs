//! Address spaces: the windows of shared and local memory in the generic address space, and the contents of
//! constant banks. Lowering puts these constants into code; the emulator's memory uses the same ones.
//!
//! The windows start at a multiple of 4 GiB, so converting between a generic address and a shared or local
//! one only touches the upper word. They lie outside the addresses that a 64-bit host gives to user programs.

/// Upper 32 bits of every generic address that falls into the block's shared memory.
pub const SHARED_WINDOW_HI: u32 = 0xFFFF_0001;
/// Upper 32 bits of every generic address that falls into the thread's local memory.
pub const LOCAL_WINDOW_HI: u32 = 0xFFFF_0002;

/// Upper 32 bits of every function address; the lower 32 identify the function
/// ([`super::kernel::MachineKernel::entries`]).
pub const CODE_WINDOW_HI: u32 = 0xFFFF_0003;
/// Upper 32 bits of every generic address that falls into the module's `.const` variables.
pub const CONST_WINDOW_HI: u32 = 0xFFFF_0004;
/// Upper 32 bits of every generic address that falls into constant bank 0, which holds the kernel's parameters.
pub const PARAM_WINDOW_HI: u32 = 0xFFFF_0005;
/// Distance between the addresses of a module's functions, the address of the first, and the bytes of an instruction of
/// machine code.
pub const CODE_STRIDE: u32 = 16;

/// Constant bank that holds launch geometry and kernel parameters.
pub const BANK_PARAM: u8 = 0;
/// Constant bank that holds literals that the lowering placed in memory (64-bit constants).
pub const BANK_LITERAL: u8 = 2;
/// Constant bank that holds the module's `.const` variables.
pub const BANK_USER: u8 = 3;
/// Constant bank that holds addresses of variables and functions, in machine code.
pub const BANK_ADDRESSES: u8 = 4;

/// Byte offset in bank 0 of the block dimensions (`%ntid.x/y/z`, three words).
pub const PARAM_NTID: u16 = 0x00;
/// Byte offset in bank 0 of the grid dimensions (`%nctaid.x/y/z`, three words).
pub const PARAM_NCTAID: u16 = 0x0c;
/// Byte offset in bank 0 of the initial stack pointer (size of the thread's local memory).
pub const PARAM_STACK: u16 = 0x28;
/// Byte offset in bank 0 of the launch's dynamic shared memory in bytes.
pub const PARAM_DYNAMIC_SHARED: u16 = 0x2c;
/// Byte offset in bank 0 of the address of the grid's workspace ([`GRID_WORKSPACE_BYTES`]), low word first;
/// 0 when there is none.
pub const PARAM_WORKSPACE: u16 = 0x30;
/// Bytes of the workspace through which the blocks of a grid synchronise (the word at 4 is their barrier); zero
/// before the first launch.
pub const GRID_WORKSPACE_BYTES: usize = 64;
/// Byte offset in bank 0 at which kernel parameters begin.
pub const PARAM_BASE: u16 = 0x160;

/// An address space that a memory instruction can name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum Space {
    /// Device memory, 64-bit addresses.
    Global,
    /// Per-block memory, 32-bit addresses from 0.
    Shared,
    /// Per-thread memory, 32-bit addresses from 0.
    Local,
    /// 64-bit addresses that may fall into any of the above, or (loads) into a constant bank, lane by lane.
    Generic,
    /// A constant bank, 32-bit byte offsets.
    Const,
    /// Device memory that a texture object describes: addresses follow from coordinates and the object, which
    /// is outside of the warp, so that traces hold them.
    Texture,
    /// The same for a surface object.
    Surface,
}

/// Address of a lane whose texture or surface access touches no memory: beyond the edge, or the border.
pub const NO_ADDRESS: u64 = u64::MAX;

impl Space {
    /// Whether addresses come from outside of the warp, by way of texture or surface objects.
    #[must_use]
    #[inline]
    pub const fn is_remote(self) -> bool {
        matches!(self, Space::Texture | Space::Surface)
    }

    /// Resolves a generic address: the space that it falls into and the address within that space.
    #[must_use]
    pub const fn of_generic(address: u64) -> (Space, u64) {
        match (address >> 32) as u32 {
            SHARED_WINDOW_HI => (Space::Shared, address & 0xFFFF_FFFF),
            LOCAL_WINDOW_HI => (Space::Local, address & 0xFFFF_FFFF),
            _ => (Space::Global, address),
        }
    }
}
