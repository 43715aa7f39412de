//! The memory system outside and inside the SM: coalescing, caches, MSHRs, crossbar packets, L2 and DRAM.
//!
//! Everything works on 128-byte lines with a mask of four 32-byte sectors. The SM's side (L1, shared memory) is
//! driven by the load/store unit of [`crate::sm`]; the other side is a [`partition::Partition`] per DRAM channel.
//! Both sides only exchange the packets below, stamped with their arrival, so that they can run in parallel.

pub(crate) mod address;
pub(crate) mod cache;
pub(crate) mod coalesce;
pub(crate) mod dram;
pub(crate) mod hash;
pub(crate) mod mshr;
pub(crate) mod partition;
#[cfg(test)]
mod partition_tests;
pub(crate) mod port;
pub(crate) mod replacement;
pub(crate) mod shared;
pub(crate) mod write;

pub(crate) use warplab_technique::LINE_BYTES;
/// Bytes of a sector.
pub(crate) const SECTOR_BYTES: u64 = 32;
/// Mask of all sectors of a line.
pub(crate) const ALL_SECTORS: u8 = 0b1111;

/// Kind of a request to L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Return the sectors.
    Read,
    /// Store into the sectors; acknowledged.
    Write {
        /// Words of four bytes that are written completely, one bit each.
        words: u32,
    },
    /// Read-modify-write; the old values return.
    Atomic {
        /// Maximum number of lanes with the same address, served one after another.
        collisions: u8,
    },
}

/// Marks a request that no instruction in flight waits for.
pub(crate) const NO_FLIGHT: u16 = u16::MAX;

/// Level of the hierarchy that served a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Served {
    /// In the SM.
    #[default]
    L1,
    /// In L2.
    L2,
    /// In DRAM.
    Dram,
}

/// Receiver of a reply within the SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// Fill of L1; the line identifies the miss.
    L1Fill,
    /// Fill of the texture cache, likewise.
    TextureFill,
    /// Acknowledgement of a line that L1 has written back.
    WriteBack,
    /// A load that bypassed L1, or an atomic: the instruction in flight.
    Instruction(u16),
    /// Fill of the instruction cache.
    InstructionCache,
    /// Fill of the constant cache.
    ConstantCache,
    /// Acknowledgement of a warp's store.
    StoreDone(u8),
}

/// A packet from an SM to a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Core cycle at which its last flit is at the slice's port.
    pub arrival: u64,
    /// Sender.
    pub sm: u16,
    /// Line address.
    pub line: u64,
    /// Sectors concerned.
    pub sectors: u8,
    /// Flits.
    pub flits: u8,
    /// What to do.
    pub kind: RequestKind,
    /// Receiver of the reply.
    pub token: Token,
    /// Level that served the request.
    pub served: Served,
    /// Core cycle at which it left the SM.
    pub sent_at: u64,
    /// Cycles from then to its lookup in the slice.
    pub looked_up_after: u32,
    /// The instruction in flight that first needed the sectors, or [`NO_FLIGHT`]; for views.
    pub flight: u16,
}

/// A packet from a slice to an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Core cycle at which its last flit is at the SM's port.
    pub arrival: u64,
    /// Receiving SM.
    pub sm: u16,
    /// Line address.
    pub line: u64,
    /// Sectors delivered.
    pub sectors: u8,
    /// Flits.
    pub flits: u8,
    /// Receiver within the SM.
    pub token: Token,
    /// Level that served the request.
    pub served: Served,
    /// Core cycle at which the request left the SM.
    pub sent_at: u64,
    /// Cycles from then to the lookup in the slice.
    pub looked_up_after: u32,
}

/// A slice has taken packets out of the crossbar: the SM may send as many again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credit {
    /// Core cycle from which the SM may use it.
    pub arrival: u64,
    /// Receiving SM.
    pub sm: u16,
}

/// Flits of a packet that carries `data_bytes` besides its header.
#[must_use]
pub(crate) fn flits(data_bytes: u32, header_bytes: u32, flit_bytes: u32) -> u8 {
    (data_bytes + header_bytes).div_ceil(flit_bytes).clamp(1, 255) as u8
}

/// Bytes in the sectors of a mask.
#[must_use]
pub(crate) fn sector_bytes(sectors: u8) -> u32 {
    sectors.count_ones() * SECTOR_BYTES as u32
}
