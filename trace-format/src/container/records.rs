//! Contents of all records except frames: header, kernels, launches, copies between them, index. Payloads are
//! compressed postcard.

use super::format::{MAX_SECTION_BYTES, Packer, Tag, unpack, word32};
use super::frame::FrameHead;
use super::sample::Sample;
use crate::encode::layout::StreamLayout;
use crate::isa::MachineKernel;
use crate::semantics::{Banks, Geometry};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Maximum number of threads in a block.
pub(crate) const MAX_THREADS_PER_BLOCK: u64 = 1024;
/// Maximum number of blocks in a grid, far above what can be recorded.
pub(crate) const MAX_BLOCKS: u64 = 1 << 40;

/// Maximum size of a copy or fill: the address space of a GPU has 49 bits, and half of it is far more than its memory.
const MAX_TRANSFER_BYTES: u64 = 1 << 48;

/// Header of a trace: its origin and contents.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Program and version that recorded or imported the trace, what it recorded, and seeds ([`Header::recorded`]).
    pub tool: String,
    /// Hash of the opcode table that kernels are written in ([`crate::isa::table_hash`]).
    pub isa: u64,
    /// The values that readers can regenerate.
    pub contents: Contents,
}

/// Between the parts of [`Header::tool`], and before seeds there.
const PART: &str = "; ";
const SEEDS: &str = "seeds ";

/// The values of a recorded program that its trace can regenerate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Contents {
    /// Every register value and every address.
    Values,
    /// Paths, addresses, barriers and the lanes that take part; no other values.
    Addresses,
    /// Paths, lanes and addresses, all as another tool has traced them: nothing is regenerated, since kernels that
    /// were read off such a trace lack constants, predicates and values.
    Imported,
}

impl Contents {
    /// The layout of a kernel, which recorder and reader must share.
    pub(crate) fn layout(self, kernel: &MachineKernel) -> StreamLayout {
        match self {
            Contents::Values => StreamLayout::of(kernel),
            Contents::Addresses => StreamLayout::of_addresses(kernel),
            Contents::Imported => StreamLayout::of_imported(kernel),
        }
    }

    /// Why register values are missing and what to do, if they are.
    #[must_use]
    pub const fn lack_of_values(self) -> Option<&'static str> {
        match self {
            Contents::Values => None,
            Contents::Addresses => Some(
                "was recorded with --addresses-only and holds no register values; record it without that option, with `emu record`",
            ),
            Contents::Imported => Some(
                "was imported from a trace that holds no register values; record the program with `emu record`",
            ),
        }
    }
}

impl Header {
    /// The text of [`Header::tool`]: the recorder, what it recorded, and the seeds of random data.
    ///
    /// ```
    /// use trace_format::container::Header;
    /// let tool = Header::recorded("warplab 0.1.0", "emu record a.ptx", &[5, 7]);
    /// assert_eq!(tool, "warplab 0.1.0; emu record a.ptx; seeds 5, 7");
    /// let header = Header { tool, ..Header::default() };
    /// assert_eq!((header.recorder(), header.origin()), ("warplab 0.1.0", Some("emu record a.ptx")));
    /// assert_eq!(header.seeds(), [5, 7]);
    /// ```
    #[must_use]
    pub fn recorded(recorder: &str, origin: &str, seeds: &[u64]) -> String {
        let mut text = format!("{recorder}{PART}{}", origin.replace(PART, ";"));
        if !seeds.is_empty() {
            let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
            text += &format!("{PART}{SEEDS}{}", seeds.join(", "));
        }
        text
    }

    /// Program and version that recorded or imported the trace.
    #[must_use]
    pub fn recorder(&self) -> &str {
        self.tool.split(PART).next().unwrap_or_default()
    }

    /// The command that recorded the trace, if it is known.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        self.tool.split(PART).nth(1)
    }

    /// Seeds of the random data that the recorded program worked on, as far as they are known.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        let seeds = self.tool.split(PART).nth(2).and_then(|part| part.strip_prefix(SEEDS));
        seeds.map_or_else(Vec::new, |seeds| seeds.split(", ").filter_map(|seed| seed.parse().ok()).collect())
    }

    /// Whether every register value can be regenerated.
    #[must_use]
    pub fn has_values(&self) -> bool {
        self.contents == Contents::Values
    }
}

impl Default for Header {
    fn default() -> Self {
        Header {
            tool: concat!("warplab ", env!("CARGO_PKG_VERSION")).to_string(),
            isa: crate::isa::table_hash(),
            contents: Contents::Values,
        }
    }
}

/// A named allocation, to make addresses readable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BufferNote {
    /// Name in the launch manifest.
    pub name: String,
    /// Device address.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// A kernel launch; launches are numbered in the order in which they ran.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LaunchRecord {
    /// Index of the kernel.
    pub kernel: u32,
    /// Grid and block.
    pub geometry: Geometry,
    /// Dynamic shared memory, bytes per block.
    pub dynamic_shared_bytes: u32,
    /// Contents of the constant banks.
    pub banks: Banks,
    /// Allocations that the launch could reach.
    pub buffers: Vec<BufferNote>,
    /// Number of the launch within the run, which also counts launches that were not recorded.
    pub number: u64,
    /// Stream that it ran on; 0 is the default stream.
    pub stream: u64,
    /// Blocks that were recorded.
    pub sample: Sample,
    /// Part of an SM's largest shared memory that the program prefers for the launch, in percent, if it prefers any; the rest of
    /// the memory that both share is L1. It has a record of its own.
    #[serde(skip)]
    pub shared_carveout_percent: Option<u8>,
}

/// What a reader keeps of a launch in memory; constants and allocations are read when they are asked for
/// ([`Trace::launch_record`](crate::reader::Trace::launch_record)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchHead {
    /// As [`LaunchRecord::kernel`].
    pub kernel: u32,
    /// As [`LaunchRecord::geometry`].
    pub geometry: Geometry,
    /// As [`LaunchRecord::dynamic_shared_bytes`].
    pub dynamic_shared_bytes: u32,
    /// As [`LaunchRecord::number`].
    pub number: u64,
    /// As [`LaunchRecord::stream`].
    pub stream: u64,
    /// As [`LaunchRecord::sample`].
    pub sample: Sample,
    /// As [`LaunchRecord::shared_carveout_percent`].
    pub shared_carveout_percent: Option<u8>,
}

impl From<&LaunchRecord> for LaunchHead {
    fn from(launch: &LaunchRecord) -> LaunchHead {
        let LaunchRecord { kernel, geometry, dynamic_shared_bytes, number, stream, sample, .. } = *launch;
        let shared_carveout_percent = launch.shared_carveout_percent;
        LaunchHead { kernel, geometry, dynamic_shared_bytes, number, stream, sample, shared_carveout_percent }
    }
}

impl LaunchHead {
    /// Number of blocks in the trace if the launch was recorded to its end.
    #[must_use]
    pub fn sampled_blocks(&self) -> u64 {
        self.sample.count(self.geometry.blocks())
    }
}

/// Preferences of a launch, in a record of their own, so that launches without any are stored as ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Preferences {
    /// [`LaunchRecord::shared_carveout_percent`].
    pub shared_carveout_percent: Option<u8>,
}

impl Preferences {
    /// The preferences of a launch that has any.
    pub(crate) fn of(launch: &LaunchRecord) -> Option<Preferences> {
        let shared_carveout_percent = launch.shared_carveout_percent;
        shared_carveout_percent.map(|_| Preferences { shared_carveout_percent })
    }

    /// Checks that the preferences are possible.
    pub(crate) fn check(self) -> Result<(), String> {
        match self.shared_carveout_percent.filter(|percent| *percent > 100) {
            Some(percent) => {
                Err(format!("a carve-out of {percent} percent of shared memory cannot be preferred"))
            }
            None => Ok(()),
        }
    }
}

/// Kind of transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum TransferKind {
    /// A copy from the host's memory to the GPU's.
    HostToDevice,
    /// A copy from the GPU's memory to the host's.
    DeviceToHost,
    /// A copy within the GPU's memory.
    DeviceToDevice,
    /// A copy within the host's memory.
    HostToHost,
    /// A fill with one value.
    Fill,
}

/// A copy or a fill between launches. The bytes themselves are not recorded, because loads are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransferRecord {
    /// Kind.
    pub kind: TransferKind,
    /// Bytes moved.
    pub bytes: u64,
    /// Address of the first byte that is written; 0 in memory that only the host knows.
    pub to: u64,
    /// Address of the first byte that is read, likewise; of a fill, the value.
    pub from: u64,
    /// Stream that it ran on; 0 is the default stream.
    pub stream: u64,
    /// Number of earlier launches of the run, including those that were not recorded.
    pub after_launches: u64,
}

impl TransferRecord {
    /// Checks that the bytes fit into an address space.
    ///
    /// # Errors
    /// There are more bytes than any GPU addresses, or they go past the last address.
    pub fn check(&self) -> Result<(), String> {
        if self.bytes > MAX_TRANSFER_BYTES {
            let most = MAX_TRANSFER_BYTES >> 40;
            return Err(format!("a copy or fill of {} bytes is larger than {most} TiB", self.bytes));
        }
        // Of a fill, `from` is a value.
        let from = if self.kind == TransferKind::Fill { 0 } else { self.from };
        match [self.to, from].into_iter().find(|first| first.checked_add(self.bytes).is_none()) {
            Some(first) => Err(format!(
                "a copy or fill of {} bytes at {first:#x} goes past the last address",
                self.bytes
            )),
            None => Ok(()),
        }
    }
}

/// A synchronisation between launches: a stream, or the program itself, waited for all earlier work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitRecord {
    /// Stream that waited; 0 if the program waited, which delays all its later work.
    pub stream: u64,
    /// Number of earlier launches of the run, including those that were not recorded.
    pub after_launches: u64,
}

/// Marks a launch that ended before all of its blocks were recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CutRecord {
    /// The launch, by its number within the trace.
    pub launch: u32,
    /// Blocks that were recorded whole.
    pub blocks: u64,
    /// The reason.
    pub why: String,
}

impl LaunchRecord {
    /// Number of blocks in the trace if the launch was recorded to its end.
    #[must_use]
    pub fn sampled_blocks(&self) -> u64 {
        LaunchHead::from(self).sampled_blocks()
    }

    /// Checks that grid and block can be launched.
    ///
    /// # Errors
    /// Grid or block is invalid; the error says how.
    pub fn check(&self) -> Result<(), String> {
        Preferences { shared_carveout_percent: self.shared_carveout_percent }.check()?;
        let product = |of: [u32; 3]| of.iter().try_fold(1u64, |p, &n| p.checked_mul(u64::from(n)));
        match product(self.geometry.block) {
            Some(1..=MAX_THREADS_PER_BLOCK) => {}
            _ => return Err(format!("a block of {:?} threads cannot be launched", self.geometry.block)),
        }
        match product(self.geometry.grid) {
            Some(1..=MAX_BLOCKS) if self.sampled_blocks() > 0 => Ok(()),
            Some(1..=MAX_BLOCKS) => Err("none of its blocks is to be recorded".into()),
            _ => Err(format!("a grid of {:?} blocks cannot be launched", self.geometry.grid)),
        }
    }
}

/// Position and summary of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FrameEntry {
    /// Offset of its record.
    pub offset: u64,
    /// Bytes of the record.
    pub bytes: u64,
    /// The frame's own head.
    pub head: FrameHead,
}

/// Positions of all records.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Index {
    /// Records other than frames, in file order: tag and offset.
    pub records: Vec<(Tag, u64)>,
    /// Frames in file order.
    pub frames: Vec<FrameEntry>,
}

/// Serialises and packs a value as a record's payload: its length before packing, then the packed bytes.
///
/// # Errors
/// Serialisation or compression fails.
pub(crate) fn encode<T: Serialize>(value: &T, packer: &mut Packer) -> Result<Vec<u8>, String> {
    pack(&postcard::to_stdvec(value).map_err(|e| e.to_string())?, packer)
}

/// Packs serialised bytes as a record's payload.
///
/// # Errors
/// Compression fails.
pub(crate) fn pack(raw: &[u8], packer: &mut Packer) -> Result<Vec<u8>, String> {
    if raw.len() > MAX_SECTION_BYTES {
        return Err(format!("{} bytes are more than a section can hold", raw.len()));
    }
    let mut payload = (raw.len() as u32).to_le_bytes().to_vec();
    packer.pack(raw, &mut payload).map_err(|e| e.to_string())?;
    Ok(payload)
}

/// The inverse of [`encode`].
///
/// # Errors
/// The record is damaged; the error describes how.
pub(crate) fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, String> {
    let raw_bytes = word32(payload, 0).ok_or("it has no length")? as usize;
    let raw = unpack(&payload[4..], raw_bytes)?;
    let (value, rest) = postcard::take_from_bytes(&raw).map_err(|e| e.to_string())?;
    if rest.is_empty() { Ok(value) } else { Err(format!("{} bytes too many", rest.len())) }
}
