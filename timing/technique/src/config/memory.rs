//! The memory side of a configuration: load/store path, shared memory, caches, crossbar, L2 slices and DRAM.
//!
//! As in the parent, sizes are per SM unless they say otherwise; the rules for values are in `timing`.

use serde::{Deserialize, Serialize};

/// Default replacement policy of caches.
fn lru() -> String {
    "lru".to_owned()
}

/// A read-only cache whose misses go to L2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallCache {
    /// Total size in bytes = sets × ways × line_bytes.
    pub size_bytes: u32,
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Line in bytes.
    pub line_bytes: u32,
    /// Name of the replacement policy; `timing list` shows all.
    #[serde(default = "lru")]
    pub replacement: String,
    /// Outstanding misses.
    pub mshrs: u32,
    /// Cycles of a hit.
    pub hit_latency_cycles: u32,
}

/// The texture cache: lines of 128 bytes, misses to L2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextureCache {
    /// Total size in bytes = sets × ways × line_bytes.
    pub size_bytes: u32,
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Line in bytes.
    pub line_bytes: u32,
    /// Name of the replacement policy; `timing list` shows all.
    #[serde(default = "lru")]
    pub replacement: String,
    /// Bytes that one miss fetches: 32 in a sectored cache, the line otherwise.
    pub sector_bytes: u32,
    /// How a line finds its set.
    pub set_hash: SetHash,
    /// Outstanding misses.
    pub mshrs: u32,
    /// Requests that one MSHR merges.
    pub mshr_merges: u32,
    /// Cycles of a hit, address calculation and filtering included.
    pub hit_latency_cycles: u32,
    /// Lanes for which the unit fetches texels per cycle; a warp's fetch holds it for 32 / lanes cycles at least.
    pub lanes_per_cycle: u32,
}

/// Set index function of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetHash {
    /// The low bits of the line's number.
    Linear,
    /// The low bits xor the bits above them.
    Xor,
    /// GF100's: bits of the address picked by Nugteren et al. (HPCA 2014), for 32 or 64 sets.
    Fermi,
    /// The line's number modulo an irreducible polynomial over GF(2) (Rau, ISCA 1991).
    Ipoly,
}

/// Coalescing rules by generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coalescing {
    /// Compute capability 1.2/1.3: half warps, segments of 32, 64 or 128 bytes shrunk to what is used.
    Segments,
    /// Compute capability 2.x and 3.x: whole 128-byte lines for cached loads, 32-byte sectors otherwise.
    Lines,
    /// Compute capability 5.0 and later: 32-byte sectors.
    Sectors,
}

/// Load/store path of the SM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadStore {
    /// Memory instructions waiting between the collectors and the unit.
    pub queue_entries: u32,
    /// Coalescing rules.
    pub coalescing: Coalescing,
    /// Line accesses that the unit sends to L1 per cycle.
    pub accesses_per_cycle: u32,
    /// Requests waiting between L1 and the interconnect.
    pub miss_queue_entries: u32,
}

/// Shared memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedMemory {
    /// Banks, each 4 bytes wide.
    pub banks: u32,
    /// Cycles of a conflict-free load.
    pub latency_cycles: u32,
    /// Parts in which a warp is served (2 = half warps).
    pub warp_parts: u32,
    /// Possible sizes of shared memory within `l1.unified_bytes`, ascending; a kernel gets the smallest that
    /// does not reduce its resident blocks.
    pub carveouts_bytes: Vec<u32>,
    /// Whether a wide load takes half its passes if all lane pairs n and n^1, or n and n^2, have the same
    /// address: the results of two passes then fit the return path.
    pub uniform_pairs_merge: bool,
    /// Additional cycles that one atomic on shared memory holds the unit per conflicting lane.
    pub atomic_cycles: u32,
}

/// First-level data cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1 {
    /// Total size in bytes = sets × ways × line_bytes.
    pub size_bytes: u32,
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Line in bytes.
    pub line_bytes: u32,
    /// Name of the replacement policy; `timing list` shows all.
    #[serde(default = "lru")]
    pub replacement: String,
    /// Bytes that one miss fetches: 32 in a sectored cache, the line otherwise.
    pub sector_bytes: u32,
    /// Outstanding misses.
    pub mshrs: u32,
    /// Requests that one MSHR merges.
    pub mshr_merges: u32,
    /// Cycles of a hit.
    pub hit_latency_cycles: u32,
    /// How a line finds its set.
    pub set_hash: SetHash,
    /// Name of the write policy of stores to global memory; `timing list` shows all.
    pub write_policy: String,
    /// Whether a write-through store also allocates its line; the unwritten bytes are fetched when read.
    pub write_allocate: bool,
    /// Name of the write policy of stores to local memory, or `as_global`.
    pub local_write_policy: String,
    /// Whether global loads bypass L1.
    pub bypass_global: bool,
    /// Whether local memory is cached in L1.
    pub caches_local: bool,
    /// Size of the array that L1 and shared memory share: a kernel's L1 has the ways that the carve-out
    /// leaves. 0 if L1 has its own memory.
    pub unified_bytes: u32,
}

/// Crossbar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interconnect {
    /// Bytes of one flit; a port moves one flit per interconnect cycle.
    pub flit_bytes: u32,
    /// Header of a packet in bytes.
    pub header_bytes: u32,
    /// Core cycles from an SM's port to a slice's port.
    pub request_latency_cycles: u32,
    /// Core cycles from a slice's port to an SM's port.
    pub reply_latency_cycles: u32,
    /// Packets that one SM may have between its port and the slices' queues.
    pub sm_credits: u32,
    /// Replies waiting at a slice.
    pub reply_queue_entries: u32,
}

/// One L2 slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2 {
    /// Slices per DRAM channel.
    pub slices_per_channel: u32,
    /// Size of a slice in bytes = sets × ways × line_bytes.
    pub size_bytes: u32,
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Line in bytes.
    pub line_bytes: u32,
    /// Name of the replacement policy; `timing list` shows all.
    #[serde(default = "lru")]
    pub replacement: String,
    /// Sector in bytes.
    pub sector_bytes: u32,
    /// How a line finds its set.
    pub set_hash: SetHash,
    /// Outstanding misses.
    pub mshrs: u32,
    /// Requests that one MSHR merges.
    pub mshr_merges: u32,
    /// Requests waiting for the slice.
    pub queue_entries: u32,
    /// Requests waiting between the slice and its DRAM channel.
    pub dram_queue_entries: u32,
    /// L2 cycles from a request's arrival to the end of its tag lookup.
    pub latency_cycles: u32,
    /// How line addresses are spread over channels and slices.
    pub partition_hash: PartitionHash,
    /// Bytes of consecutive addresses in one slice.
    pub interleave_bytes: u32,
    /// Whether L2 serves only read-only caches, and all other requests go to DRAM.
    pub texture_only: bool,
    /// L2 cycles that each further lane on the same address of an atomic holds the slice.
    pub atomic_cycles: u32,
}

/// Address hash over memory partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionHash {
    /// Consecutive chunks go to consecutive slices.
    Linear,
    /// As linear, rotated by the higher address bits.
    Xor,
    /// The chunk's number modulo an irreducible polynomial over GF(2) (Rau, ISCA 1991); for a power of two of slices.
    Ipoly,
}

/// Address hash over the banks of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BankHash {
    /// The bank bits as they are.
    Linear,
    /// The bank bits xor the low bits of the row.
    Xor,
    /// Row and bank bits modulo an irreducible polynomial over GF(2).
    Ipoly,
}

/// Order in which a channel serves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DramScheduler {
    /// In order of arrival.
    Fifo,
    /// Row hits first, then in order of arrival.
    FrFcfs,
}

/// One DRAM channel; timing parameters are in command clock cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Channels of the GPU.
    pub channels: u32,
    /// Request scheduler.
    pub scheduler: DramScheduler,
    /// Requests that the scheduler chooses among.
    pub queue_entries: u32,
    /// Width of the data bus in bytes (chips × bytes per chip).
    pub bus_bytes: u32,
    /// Beats per burst.
    pub burst_length: u32,
    /// Beats per command clock.
    pub data_rate: u32,
    /// Fixed core cycles outside the DRAM chips (controller, PHY) on the way back.
    pub fixed_latency_cycles: u32,
    /// Banks.
    pub banks: u32,
    /// Bank groups.
    pub bank_groups: u32,
    /// How the bank bits of the address map become a bank.
    pub bank_hash: BankHash,
    /// Whether a row and a column command can go out in the same cycle.
    pub dual_command_bus: bool,
    /// Entries for completed reads that wait for their slice; a channel with a full queue starts no further
    /// read.
    pub return_queue_entries: u32,
    /// Address bits of a channel from the highest to the lowest: R row, B bank, C column, S burst.
    pub address_map: String,
    /// Column to column, different groups.
    pub ccd_cycles: u32,
    /// Column to column, same group.
    pub ccdl_cycles: u32,
    /// Activate to activate, different banks.
    pub rrd_cycles: u32,
    /// Activate to column command.
    pub rcd_cycles: u32,
    /// Activate to precharge.
    pub ras_cycles: u32,
    /// Precharge to activate.
    pub rp_cycles: u32,
    /// Activate to activate, same bank.
    pub rc_cycles: u32,
    /// Read command to first data.
    pub cl_cycles: u32,
    /// Write command to first data.
    pub wl_cycles: u32,
    /// End of write data to read command.
    pub cdlr_cycles: u32,
    /// End of write data to precharge.
    pub wr_cycles: u32,
    /// Read command to precharge.
    pub rtp_cycles: u32,
}
