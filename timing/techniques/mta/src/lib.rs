//! Many-thread aware prefetching: strides of loads within a warp and between warps, found for a few warps and used for all,
//! fetch lines into a buffer beside L1, and prefetches that nobody uses throttle it. The technique that DAC is compared
//! with (DAC, section 5.1.1, after J. Lee et al., MICRO 2010).
//!
//! For each global load, the address of its first lane trains two detectors (`strides`). *Intra-warp:* the distance from
//! the warp's previous execution of the load. A stride that several warps have is promoted to all warps. *Inter-warp:* the
//! distance to the previous warp's execution, divided by the distance of the warps in their block. A trained load
//! prefetches the lines of its lanes, shifted by the intra-warp stride, otherwise by the inter-warp stride, into a buffer
//! of 16 KB (table 1). A load that misses in L1 and finds its line in the buffer takes it from there.
//!
//! Throttling counts, in periods, the prefetched lines that left the buffer unused against those that were used: many
//! stop prefetching for the next period, some drop more of the prefetches, few drop fewer (DAC, section 5.1.1).
//!
//! `[model]` The papers at hand do not give: sizes of the tables, thresholds and the period of throttling, distances,
//! and what is prefetched for warps of other blocks (here nothing, since these run on other SMs).
//!
//! Nothing is supplied in place of memory, so there are no values to compare: a prefetch only moves a line. Accounts of
//! the technique and of the load/store unit, made apart, have to agree, and every prefetch has one end.

mod strides;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use strides::Strides;
use trace_format::isa::space::Space;
use warplab_technique::LINE_BYTES;
use warplab_technique::program::{MemoryKind, Path};
use warplab_technique::{
    AccessVerdict, Claim, Cx, EarlyLoad, InstView, Launch, MemAccess, ParamValue, Params as _, Plan,
    Prefetched, Registration, Shape, Storage, StorageInfo, Technique, TechniqueInfo, ValueMismatch, WarpView,
};
use warplab_technique::{counts, params};

params! {
    /// `[technique.mta]`.
    struct Params {
        /// KiB of the prefetch buffer of an SM.
        buffer_kib: u32 = 16, 1..=1024;
        /// Loads of which each warp has its last address and stride.
        warp_entries: u32 = 32, 1..=256;
        /// Loads of which an SM has a stride for all warps, and loads of which it has one between warps.
        shared_entries: u32 = 64, 1..=1024;
        /// Equal strides in succession after which a stride counts.
        confidence: u32 = 2, 1..=15;
        /// Warps that have the same stride before all warps use it.
        promote: u32 = 3, 1..=64;
        /// Executions of a load that an intra-warp prefetch is ahead.
        distance: u32 = 1, 1..=64;
        /// Warps that an inter-warp prefetch is ahead.
        warp_distance: u32 = 1, 1..=64;
        /// Prefetched lines of an SM that may be on their way.
        in_flight: u32 = 16, 1..=256;
        /// Whether strides between warps are used.
        inter_warp: bool = true;
        /// Whether unused prefetches throttle prefetching.
        throttle: bool = true;
        /// Cycles between decisions of throttling.
        period_cycles: u32 = 10000, 100..=100000000;
        /// Unused lines of 1000 used or unused ones from which on nothing is prefetched in the next period.
        stop_permille: u32 = 500, 1..=1000;
        /// Unused lines of 1000 used or unused ones from which on fewer are prefetched; below it more are.
        fewer_permille: u32 = 100, 1..=1000;
        /// Whether lines are prefetched; if false, the buffer and the tables exist and nothing uses them.
        mechanism: bool = true;
        /// Whether the buffer and the tables have no limits and nothing throttles.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of the prefetcher.
    struct Counts {
        /// Loads from global memory that trained the tables.
        loads in "technique_logic";
        /// Those that prefetched by a stride of their warp, or of all warps.
        intra_warp_loads;
        /// Those that prefetched by a stride between warps.
        inter_warp_loads;
        /// Those without a stride that is trained.
        untrained_loads;
        /// Those whose next line they load themselves: the stride is 0, or no further warp of the block.
        nothing_ahead_loads;
        /// Those that throttling kept from prefetching.
        throttled_loads;
        /// Strides that were promoted to all warps.
        promotions;
        /// Lines that trained loads wanted to prefetch.
        wanted_lines;
        /// Those that were dropped because too many were on their way.
        dropped_lines;
        /// Prefetches that were issued.
        prefetches;
        /// Those whose line was in L1 or in the buffer, or was on its way.
        redundant_prefetches;
        /// Those that arrived in the buffer.
        arrived_prefetches;
        /// Those for which a load waited while they were on their way.
        late_prefetches;
        /// Arrived ones that a load used.
        useful_prefetches;
        /// Arrived ones that left the buffer before a load used them.
        unused_prefetches;
        /// Arrived ones that a store or an atomic of the SM changed.
        overwritten_prefetches;
        /// Periods after which nothing was prefetched.
        stopped_periods;
    }
}

/// Entry in the list of techniques.
pub const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Mta::new(section)?)));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "mta",
    "loads with regular addresses prefetch the next ones into a buffer beside L1",
    "many-thread aware prefetching (J. Lee et al., MICRO 2010) as compared in DAC, section 5.1.1 and table 1",
)
.with_uniform_registers()
.with_claims(&[Claim::Prefetching])
.without_values()
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_storage(&[
    StorageInfo::new("prefetch_buffer", "the prefetch buffer", "technique_storage"),
    StorageInfo::new("stride_tables", "the tables of strides", "technique_storage"),
]);

/// Parts of prefetches that throttling can drop.
const STEPS: u32 = 5;

/// Bits of an entry of the tables: a program counter of 32 bits, an address of 48, a stride of 32, a warp, confidence.
const TABLE_BITS: u32 = 32 + 48 + 32 + 6 + 4;

/// See the module.
#[derive(Clone, Debug)]
struct Mta {
    params: Params,
    buffer: Storage,
    tables: Storage,
    counts: Counts,
    strides: Strides,
    warps_per_block: u32,
    /// Prefetches on their way.
    in_flight: u32,
    /// Lines in the buffer.
    held: u32,
    throttle: Throttle,
    /// Lines and sectors of the load that is asked about.
    lines: Vec<(u64, u8)>,
}

/// The state of throttling.
#[derive(Clone, Copy, Debug, Default)]
struct Throttle {
    /// Of [`STEPS`] loads so many do not prefetch.
    dropped: u32,
    turn: u32,
    period_ends: u64,
    used: u64,
    unused: u64,
}

impl Mta {
    /// Reads `[technique.mta]`.
    fn new(section: &toml::Table) -> Result<Mta, String> {
        let mut params = Params::read(section)?;
        if params.ideal {
            (params.buffer_kib, params.warp_entries, params.shared_entries) = (1024, 256, 1024);
            (params.in_flight, params.throttle) = (256, false);
        }
        Ok(Mta {
            params,
            buffer: Storage::new(Shape::new(1, 0, 1)),
            tables: Storage::new(Shape::new(1, 0, 1)),
            counts: Counts::default(),
            strides: Strides::default(),
            warps_per_block: 1,
            in_flight: 0,
            held: 0,
            throttle: Throttle::default(),
            lines: Vec::new(),
        })
    }

    fn buffer_lines(&self) -> u32 {
        self.params.buffer_kib * 1024 / LINE_BYTES as u32
    }

    /// How far ahead a load prefetches, in bytes, if it does.
    fn ahead(&mut self, warp: &WarpView<'_>, pc: u32, address: u64) -> Option<i64> {
        let Params { distance, warp_distance, inter_warp, .. } = self.params;
        let found = self.strides.train(warp.slot, warp.block, warp.warp, pc, address);
        self.counts.promotions += u64::from(found.promoted);
        let (ahead, counter) = match (found.intra_warp, found.inter_warp) {
            (Some(stride), _) => {
                (stride.wrapping_mul(i64::from(distance)), &mut self.counts.intra_warp_loads)
            }
            (None, Some(stride)) if inter_warp => {
                let exists = warp.warp + warp_distance < self.warps_per_block;
                let ahead = if exists { stride.wrapping_mul(i64::from(warp_distance)) } else { 0 };
                (ahead, &mut self.counts.inter_warp_loads)
            }
            _ => {
                self.counts.untrained_loads += 1;
                return None;
            }
        };
        if ahead == 0 {
            self.counts.nothing_ahead_loads += 1;
            return None;
        }
        if self.throttle.drops() {
            self.counts.throttled_loads += 1;
            return None;
        }
        *counter += 1;
        Some(ahead)
    }

    /// Begins another period, if the last one is over.
    fn decide_throttling(&mut self, now: u64) {
        if now < self.throttle.period_ends || !self.params.throttle {
            return;
        }
        let Throttle { dropped, used, unused, .. } = self.throttle;
        let permille = (unused * 1000).checked_div(used + unused).unwrap_or(0);
        let dropped = match permille {
            _ if permille >= u64::from(self.params.stop_permille) => STEPS,
            _ if permille >= u64::from(self.params.fewer_permille) => (dropped + 1).min(STEPS),
            _ => dropped.saturating_sub(1),
        };
        self.counts.stopped_periods += u64::from(dropped == STEPS);
        let period_ends = now + u64::from(self.params.period_cycles);
        self.throttle = Throttle { dropped, period_ends, used: 0, unused: 0, ..self.throttle };
    }

    /// Prefetches the lines of an access, shifted.
    fn prefetch(&mut self, cx: &mut Cx<'_>, pc: u32, access: &MemAccess<'_>, ahead: i64) {
        self.lines.clear();
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let Some(first) = access.addresses[lane].checked_add_signed(ahead) else { continue };
            let last = first.saturating_add(u64::from(access.bytes.max(1)) - 1);
            for line in first / LINE_BYTES..=last / LINE_BYTES {
                let begin = first.max(line * LINE_BYTES) % LINE_BYTES / 32;
                let end = last.min(line * LINE_BYTES + (LINE_BYTES - 1)) % LINE_BYTES / 32;
                let sectors = (begin..=end).fold(0u8, |sectors, sector| sectors | 1 << sector);
                // Neighbouring lanes mostly share a line.
                match self.lines.iter_mut().rev().find(|(known, _)| *known == line) {
                    Some((_, known)) => *known |= sectors,
                    None => self.lines.push((line, sectors)),
                }
            }
        }
        for (line, sectors) in self.lines.drain(..) {
            self.counts.wanted_lines += 1;
            if self.in_flight >= self.params.in_flight {
                self.counts.dropped_lines += 1;
                continue;
            }
            self.in_flight += 1;
            self.counts.prefetches += 1;
            cx.load_early(EarlyLoad::new(line * LINE_BYTES, sectors, pc).into_buffer());
        }
    }
}

impl Throttle {
    /// Whether the next load does not prefetch.
    fn drops(&mut self) -> bool {
        self.turn = (self.turn + 1) % STEPS;
        self.turn < self.dropped
    }
}

impl Technique for Mta {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.buffer, &self.tables]
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let warps = launch.config.sm.max_warps;
        let Params { warp_entries, shared_entries, confidence, promote, .. } = self.params;
        self.strides = Strides::new(warps, warp_entries, shared_entries, confidence, promote);
        let lines = self.buffer_lines();
        self.buffer = Storage::new(Shape::new(1, lines, LINE_BYTES as u32 * 8 + 48).with_ports(1, 1));
        let entries = warps * warp_entries + 2 * shared_entries;
        self.tables = Storage::new(Shape::new(1, entries, TABLE_BITS).with_ports(1, 1));
        self.counts = Counts::default();
        self.warps_per_block = launch.threads_per_block().div_ceil(32);
        (self.in_flight, self.held) = (0, 0);
        self.throttle = Throttle { period_ends: u64::from(self.params.period_cycles), ..Throttle::default() };
        plan.prefetch_buffer_lines = lines;
        plan.hooks.access = self.params.mechanism;
        Ok(())
    }

    fn start_warp(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.strides.forget(warp.slot);
    }

    fn access(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
    ) -> Result<AccessVerdict, Box<ValueMismatch>> {
        let loads =
            matches!(inst.inst.path, Path::Memory(MemoryKind::Load(_))) && access.space == Space::Global;
        if loads && access.mask != 0 {
            self.decide_throttling(cx.cycle);
            self.counts.loads += 1;
            self.tables.read(cx.cycle, 0);
            self.tables.write(cx.cycle, 0);
            let address = access.addresses[access.mask.trailing_zeros() as usize];
            if let Some(ahead) = self.ahead(warp, inst.pc, address) {
                self.prefetch(cx, inst.pc, access, ahead);
            }
        }
        Ok(AccessVerdict::Access)
    }

    fn prefetched(&mut self, cx: &mut Cx<'_>, _tag: u32, fate: Prefetched) {
        let counts = &mut self.counts;
        match fate {
            Prefetched::Redundant => {
                counts.redundant_prefetches += 1;
                self.in_flight -= 1;
            }
            Prefetched::Late => {
                counts.late_prefetches += 1;
                self.throttle.used += 1;
                self.in_flight -= 1;
            }
            Prefetched::Arrived => {
                counts.arrived_prefetches += 1;
                self.buffer.write(cx.cycle, 0);
                self.in_flight -= 1;
                self.held += 1;
            }
            Prefetched::Used => {
                counts.useful_prefetches += 1;
                self.throttle.used += 1;
                self.buffer.read(cx.cycle, 0);
                self.held -= 1;
            }
            Prefetched::Evicted => {
                counts.unused_prefetches += 1;
                self.throttle.unused += 1;
                self.held -= 1;
            }
            Prefetched::Overwritten => {
                counts.overwritten_prefetches += 1;
                self.held -= 1;
            }
            _ => {}
        }
        self.buffer.set_used(cx.cycle, 0, self.held);
    }

    fn describe(&self) -> String {
        format!("{} prefetches on their way, {} lines in the buffer", self.in_flight, self.held)
    }
}
