//! The memory side of a configuration: load/store path, shared memory, caches, crossbar, L2 slices and DRAM.
//!
//! As in the parent, sizes are per SM unless they say otherwise; rules that connect several keys are in `timing`.

use super::bounds::{Bounds, not_numbers, sections};
use super::{ENTRIES, LATENCY, MSHRS, SM_BYTES};
use serde::{Deserialize, Serialize};

/// Default replacement policy of caches.
fn lru() -> String {
    "lru".to_owned()
}

sections! {
    /// A read-only cache whose misses go to L2.
    pub struct SmallCache {
        /// Total size in bytes = sets × ways × line_bytes.
        size_bytes: u32, Bounds::Between(1, SM_BYTES);
        /// Sets.
        sets: u32, Bounds::Between(1, SM_BYTES);
        /// Ways.
        ways: u32, Bounds::Between(1, SM_BYTES);
        /// Line in bytes.
        line_bytes: u32, Bounds::PowerOfTwo(16, 256);
        /// Name of the replacement policy; `timing list` shows all.
        #[serde(default = "lru")]
        replacement: String;
        /// Outstanding misses.
        mshrs: u32, Bounds::Between(1, MSHRS);
        /// Cycles of a hit.
        hit_latency_cycles: u32, Bounds::Between(1, LATENCY);
    }

    /// L0, an instruction cache for the warps of each scheduler in front of the SM's, of the same lines.
    pub struct L0 {
        /// Size for one scheduler in bytes = sets × ways × line_bytes of the SM's instruction cache; 0 if there is none.
        size_bytes: u32, Bounds::Between(0, SM_BYTES);
        /// Sets.
        sets: u32, Bounds::Between(1, SM_BYTES);
        /// Ways.
        ways: u32, Bounds::Between(1, SM_BYTES);
        /// Name of the replacement policy; `timing list` shows all.
        #[serde(default = "lru")]
        replacement: String;
        /// Cycles of a request from L0 to the SM's instruction cache, and of a line back.
        latency_cycles: u32, Bounds::Between(1, LATENCY);
        /// Lines of its stream buffer; 0 if there is none.
        stream_lines: u32, Bounds::Between(0, 64);
    }

    /// L1.5, a cache of 128-byte lines of code and constants between an SM's instruction and constant caches and L2.
    pub struct L15 {
        /// Total size in bytes = sets × ways × 128; 0 if there is none.
        size_bytes: u32, Bounds::Between(0, SM_BYTES);
        /// Sets.
        sets: u32, Bounds::Between(1, SM_BYTES);
        /// Ways.
        ways: u32, Bounds::Between(1, SM_BYTES);
        /// Name of the replacement policy; `timing list` shows all.
        #[serde(default = "lru")]
        replacement: String;
        /// Cycles from a miss in the first cache to the answer.
        hit_latency_cycles: u32, Bounds::Between(1, LATENCY);
    }

    /// The texture cache: lines of 128 bytes, misses to L2.
    pub struct TextureCache {
        /// Total size in bytes = sets × ways × line_bytes.
        size_bytes: u32, Bounds::Between(1, SM_BYTES);
        /// Sets.
        sets: u32, Bounds::Between(1, SM_BYTES);
        /// Ways.
        ways: u32, Bounds::Between(1, SM_BYTES);
        /// Line in bytes.
        line_bytes: u32, Bounds::PowerOfTwo(16, 256);
        /// Name of the replacement policy; `timing list` shows all.
        #[serde(default = "lru")]
        replacement: String;
        /// Bytes that one miss fetches: 32 in a sectored cache, the line otherwise.
        sector_bytes: u32;
        /// How a line finds its set.
        set_hash: SetHash;
        /// Outstanding misses.
        mshrs: u32, Bounds::Between(1, MSHRS);
        /// Accesses to lines in flight, hits and misses. They are answered in order.
        fragments: u32, Bounds::Between(32, ENTRIES);
        /// Cycles of a hit, address calculation and filtering included.
        hit_latency_cycles: u32, Bounds::Between(1, LATENCY);
        /// Lanes for which the unit fetches texels per cycle; a warp's fetch holds it for 32 / lanes cycles at least.
        lanes_per_cycle: u32, Bounds::Divisor(32);
    }
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

sections! {
    /// Load/store path of the SM.
    pub struct LoadStore {
        /// Memory instructions waiting between the collectors and the unit.
        queue_entries: u32, Bounds::Between(1, ENTRIES);
        /// Coalescing rules.
        coalescing: Coalescing;
        /// Line accesses, or look-ups of several lines, that the unit sends to L1 per cycle.
        accesses_per_cycle: u32, Bounds::Between(1, 32);
        /// Cycles that a load of constants holds the unit for each different address of its lanes.
        constant_address_cycles: u32, Bounds::Between(1, 64);
        /// Cycles more for each further word that it loads from an address.
        constant_word_cycles: u32, Bounds::Between(0, 64);
        /// Requests waiting between L1 and the interconnect.
        miss_queue_entries: u32, Bounds::Between(1, ENTRIES);
    }

    /// Shared memory.
    pub struct SharedMemory {
        /// Banks, each 4 bytes wide.
        banks: u32, Bounds::PowerOfTwo(1, 64);
        /// Cycles of a conflict-free load.
        latency_cycles: u32, Bounds::Between(1, LATENCY);
        /// Parts in which a warp is served (2 = half warps).
        warp_parts: u32, Bounds::OneOf(&[1, 2, 4]);
        /// Possible sizes of shared memory within `l1.unified_bytes`, ascending; a kernel gets the smallest that
        /// does not reduce its resident blocks.
        carveouts_bytes: Vec<u32>;
        /// Whether a wide load takes half its passes if all lane pairs n and n^1, or n and n^2, have the same
        /// address: the results of two passes then fit the return path.
        uniform_pairs_merge: bool;
        /// Additional cycles that one atomic on shared memory holds the unit per conflicting lane.
        atomic_cycles: u32, Bounds::Between(0, LATENCY);
    }

    /// First-level data cache.
    pub struct L1 {
        /// Total size in bytes = sets × ways × line_bytes.
        size_bytes: u32, Bounds::Between(1, SM_BYTES);
        /// Sets.
        sets: u32, Bounds::Between(1, SM_BYTES);
        /// Ways.
        ways: u32, Bounds::Between(1, SM_BYTES);
        /// Line in bytes.
        line_bytes: u32, Bounds::PowerOfTwo(16, 256);
        /// Name of the replacement policy; `timing list` shows all.
        #[serde(default = "lru")]
        replacement: String;
        /// Bytes that one miss fetches: 32 in a sectored cache, the line otherwise.
        sector_bytes: u32;
        /// Outstanding misses.
        mshrs: u32, Bounds::Between(1, MSHRS);
        /// Requests that one MSHR merges.
        mshr_merges: u32, Bounds::Between(1, ENTRIES);
        /// Cycles of a hit.
        hit_latency_cycles: u32, Bounds::Between(1, LATENCY);
        /// Neighbouring lines, aligned to their number, with one tag: lines of a load are one look-up if they share a tag.
        tag_lines: u32, Bounds::PowerOfTwo(1, 32);
        /// Banks of tags, of which the digits of a tag's number, xored, choose one: lines of a load are one look-up if their tags
        /// are in different banks.
        tag_banks: u32, Bounds::PowerOfTwo(1, 32);
        /// Whether the data have a bank for each word of a line, so that a load holds the unit for as many cycles as the fullest
        /// bank has words.
        word_banks: bool;
        /// How a line finds its set.
        set_hash: SetHash;
        /// Name of the write policy of stores to global memory; `timing list` shows all.
        write_policy: String;
        /// Whether a write-through store also allocates its line; the unwritten bytes are fetched when read.
        write_allocate: bool;
        /// Name of the write policy of stores to local memory, or `as_global`.
        local_write_policy: String;
        /// Whether global loads bypass L1.
        bypass_global: bool;
        /// Whether local memory is cached in L1.
        caches_local: bool;
        /// Size of the array that L1 and shared memory share: a kernel's L1 has the ways that the carve-out
        /// leaves. 0 if L1 has its own memory.
        unified_bytes: u32, Bounds::Between(0, SM_BYTES);
    }

    /// Crossbar.
    pub struct Interconnect {
        /// Bytes of one flit; a port moves one flit per interconnect cycle.
        flit_bytes: u32, Bounds::Between(4, 256);
        /// Header of a packet in bytes.
        header_bytes: u32, Bounds::Between(0, 256);
        /// Core cycles from an SM's port to a slice's port.
        request_latency_cycles: u32, Bounds::Between(1, LATENCY);
        /// Core cycles from a slice's port to an SM's port.
        reply_latency_cycles: u32, Bounds::Between(1, LATENCY);
        /// Packets that one SM may have between its port and the slices' queues.
        sm_credits: u32, Bounds::Between(1, ENTRIES);
        /// Replies waiting at a slice.
        reply_queue_entries: u32, Bounds::Between(1, ENTRIES);
    }

    /// One L2 slice.
    pub struct L2 {
        /// Slices per DRAM channel.
        slices_per_channel: u32, Bounds::Between(1, 16);
        /// Size of a slice in bytes = sets × ways × line_bytes.
        size_bytes: u32, Bounds::Between(1, SM_BYTES);
        /// Sets.
        sets: u32, Bounds::Between(1, SM_BYTES);
        /// Ways.
        ways: u32, Bounds::Between(1, SM_BYTES);
        /// Line in bytes.
        line_bytes: u32, Bounds::PowerOfTwo(16, 256);
        /// Name of the replacement policy; `timing list` shows all.
        #[serde(default = "lru")]
        replacement: String;
        /// Sector in bytes.
        sector_bytes: u32;
        /// How a line finds its set.
        set_hash: SetHash;
        /// Outstanding misses.
        mshrs: u32, Bounds::Between(1, MSHRS);
        /// Requests that one MSHR merges.
        mshr_merges: u32, Bounds::Between(1, ENTRIES);
        /// Percent of a set's lines that may be dirty. Beyond, the line among them that would be evicted first is
        /// written to DRAM and stays. 100 writes only evicted lines.
        dirty_percent: u32, Bounds::Between(1, 100);
        /// Requests waiting for the slice.
        queue_entries: u32, Bounds::Between(1, ENTRIES);
        /// Requests waiting between the slice and its DRAM channel.
        dram_queue_entries: u32, Bounds::Between(1, ENTRIES);
        /// L2 cycles from a request's arrival to the end of its tag lookup.
        latency_cycles: u32, Bounds::Between(1, LATENCY);
        /// How line addresses are spread over channels and slices.
        partition_hash: PartitionHash;
        /// Bytes of consecutive addresses in one slice.
        interleave_bytes: u32, Bounds::PowerOfTwo(16, SM_BYTES);
        /// Whether L2 serves only read-only caches, and all other requests go to DRAM.
        texture_only: bool;
        /// L2 cycles that each further lane on the same address of an atomic holds the slice.
        atomic_cycles: u32, Bounds::Between(0, LATENCY);
        /// Bytes, aligned to their number, that a miss reads from DRAM at least; 32 reads the missing sectors alone.
        fetch_bytes: u32, Bounds::PowerOfTwo(32, 128);
        /// Bytes that stores put into a slice per L2 cycle.
        store_bytes_per_cycle: u32, Bounds::PowerOfTwo(1, 128);
        /// Bytes that pass between a DRAM channel and its slices per L2 cycle, in both directions together; 0 sets no bound
        /// beside the channel's own.
        dram_bytes_per_cycle: u32, Bounds::Between(0, 1024);
    }
}

/// Address hash over memory partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionHash {
    /// Consecutive chunks go to consecutive slices.
    Linear,
    /// As linear, rotated by the higher address bits.
    Xor,
    /// The chunk's number modulo an irreducible polynomial over GF(2) (Rau, ISCA 1991). If the slices are no power of two, the
    /// places of the next one beyond them fold back on the first slices, as in GPGPU-Sim.
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

sections! {
    /// One DRAM channel; timing parameters are in command clock cycles.
    pub struct Dram {
        /// Channels of the GPU.
        channels: u32, Bounds::Between(1, 256);
        /// Request scheduler.
        scheduler: DramScheduler;
        /// Requests that the scheduler chooses among.
        queue_entries: u32, Bounds::Between(1, 1024);
        /// Width of the data bus in bytes (chips × bytes per chip).
        bus_bytes: u32, Bounds::PowerOfTwo(1, 1024);
        /// Beats per burst.
        burst_length: u32, Bounds::PowerOfTwo(1, 1024);
        /// Beats per command clock.
        data_rate: u32, Bounds::PowerOfTwo(1, 1024);
        /// Fixed core cycles outside the DRAM chips (controller, PHY) on the way back.
        fixed_latency_cycles: u32, Bounds::Between(0, LATENCY);
        /// Banks.
        banks: u32, Bounds::PowerOfTwo(1, 64);
        /// Bank groups.
        bank_groups: u32, Bounds::Between(1, ENTRIES);
        /// How the bank bits of the address map become a bank.
        bank_hash: BankHash;
        /// Whether a row and a column command can go out in the same cycle.
        dual_command_bus: bool;
        /// Entries for completed reads that wait for their slice; a channel with a full queue starts no further
        /// read.
        return_queue_entries: u32, Bounds::Between(1, ENTRIES);
        /// Address bits of a channel from the highest to the lowest: R row, B bank, C column, S burst.
        address_map: String;
        /// Column to column, different groups.
        ccd_cycles: u32, Bounds::Between(0, LATENCY);
        /// Column to column, same group.
        ccdl_cycles: u32, Bounds::Between(0, LATENCY);
        /// Activate to activate, different banks.
        rrd_cycles: u32, Bounds::Between(0, LATENCY);
        /// Activate to column command.
        rcd_cycles: u32, Bounds::Between(0, LATENCY);
        /// Activate to precharge.
        ras_cycles: u32, Bounds::Between(0, LATENCY);
        /// Precharge to activate.
        rp_cycles: u32, Bounds::Between(0, LATENCY);
        /// Activate to activate, same bank.
        rc_cycles: u32, Bounds::Between(0, LATENCY);
        /// Read command to first data.
        cl_cycles: u32, Bounds::Between(0, LATENCY);
        /// Write command to first data.
        wl_cycles: u32, Bounds::Between(0, LATENCY);
        /// End of write data to read command.
        cdlr_cycles: u32, Bounds::Between(0, LATENCY);
        /// End of write data to precharge.
        wr_cycles: u32, Bounds::Between(0, LATENCY);
        /// Read command to precharge.
        rtp_cycles: u32, Bounds::Between(0, LATENCY);
    }
}

not_numbers! { SetHash, Coalescing, PartitionHash, BankHash, DramScheduler }
