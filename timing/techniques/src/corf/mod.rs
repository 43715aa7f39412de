//! Register files with a renaming table: packing, virtualization, CORF and CORF++ (CORF, chapter 2).
//!
//! Packing stores narrow registers in shared physical registers; virtualization releases a register after its last use.
//! CORF, the coalescing operand register file, does both, and two operands of an instruction that lie in one physical
//! register take one bank access (sections 2.4 and 2.6). In CORF++ all registers of a warp lie in one bank whose sub-banks
//! take two addresses, so that two operands share an access wherever their slices do not overlap (section 2.5).
//!
//! The compiler pass chooses exclusive pairs of registers (`analysis::affinity`) or the side of each register
//! (`analysis::alignment`), and where registers die (`analysis::release`). `allocator` decides where a value goes,
//! `rename` is the table, `physical` holds the packed bytes, `coalescing` reads them, `variants` declares the techniques.
//! Every operand is looked up in the renaming table, in the bank of the architectural register; the lookup overlaps with the
//! move to the collector, but waiting for a port of the table does not (section 2.6).

pub(super) mod account;
pub(super) mod allocator;
pub(super) mod coalescing;
pub(super) mod packing;
pub(super) mod physical;
mod profile;
pub(super) mod rename;
#[cfg(test)]
mod tests;
pub(crate) mod variants;

use super::deaths::Deaths;
use super::renaming_table;
use super::{
    Cx, Edge, InstView, Launch, MicroOp, OperandRead, ParamValue, Plan, Profiled, RegisterWrite, Rewritten,
    Shape, Storage, Technique, TechniqueInfo, ValueMismatch, WarpView, WriteTo,
};
use account::Counts;
use allocator::{Allocator, Buddies, Hints, Packing};
use coalescing::{Coalescing, Sharing};
use physical::{Allocation, PhysicalFile};
use profile::Profile;
use rename::Renaming;
use warplab_analysis::affinity::Affinity;
use warplab_analysis::alignment;
use warplab_analysis::release::Release;

/// What the compiler tells the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Nothing.
    Nothing,
    /// Pairs of registers.
    Pairs,
    /// The side of each register.
    Sides,
}

/// Where the weights of the register affinity graph come from.
#[derive(Clone, Copy, Debug)]
enum Weights {
    /// The code: how often the compiler expects an instruction to execute.
    Static {
        /// Weight of a loop without a constant trip count.
        unknown_trips: u32,
    },
    /// A recorded launch: how often two registers were read together whose values fitted one register.
    Recorded(Profiled),
}

/// What distinguishes the techniques.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// What the compiler tells.
    wanted: Wanted,
    /// Registers that one metadata instruction speaks of.
    registers_per_instruction: u32,
    /// Where the weights of the graph come from.
    weights: Weights,
    /// How values are stored.
    packing: Packing,
    /// Where registers are allocated.
    allocation: Allocation,
    /// Whether registers are released when they are no longer live.
    pub(super) releases: bool,
    /// Reads that can share an access.
    sharing: Sharing,
    /// Whether they do.
    shares: bool,
    /// Whether physical registers without contents are switched off.
    pub(super) gates: bool,
    /// Cycles that the table lookup adds before the first register read.
    pub(super) renaming_cycles: u32,
    /// Lookups that a bank of the renaming table serves per cycle.
    pub(super) table_ports: u32,
}

impl Settings {
    /// The compiler's pass for a launch: what it tells the allocator, in metadata instructions, and the empty file.
    pub(super) fn compile(&self, launch: &Launch<'_>, plan: &mut Plan) -> Result<Allocator, String> {
        let program = launch.program;
        let file = PhysicalFile::new(launch.config, self.allocation)?;
        let needs_graph = self.wanted != Wanted::Nothing || self.allocation.is_bank_aware();
        let Profile { fitting: graph, all: reads } = match self.weights {
            _ if !needs_graph => Profile::default(),
            Weights::Static { unknown_trips } => {
                let flow = program.kernel.flow();
                let graph = Affinity::of(&program.kernel, &flow, u64::from(unknown_trips));
                Profile { all: graph.clone(), fitting: graph }
            }
            Weights::Recorded(of) => Profile::of(launch, of)?,
        };
        let (hints, told) = match self.wanted {
            Wanted::Nothing => (Hints::Pairs(Box::new([None; 256])), 0),
            Wanted::Pairs => {
                let pairs = graph.exclusive_pairs();
                let mut buddies: Buddies = [None; 256];
                for pair in &pairs {
                    buddies[usize::from(pair.low)] = Some(pair.high);
                    buddies[usize::from(pair.high)] = Some(pair.low);
                }
                (Hints::Pairs(Box::new(buddies)), 2 * pairs.len() as u32)
            }
            Wanted::Sides => (Hints::Sides(Box::new(alignment::sides(&graph))), program.registers_per_thread),
        };
        let carriers = told.div_ceil(self.registers_per_instruction);
        if carriers > 0 {
            let op = plan.micro_op(MicroOp::marker("register hints", 0));
            (0..carriers).for_each(|_| plan.insert(0, Edge::Every, op));
        }
        // Reads that do not fit one register conflict, and never share an access.
        let neighbours = allocator::neighbours(if self.wanted == Wanted::Sides { &graph } else { &reads });
        Ok(Allocator::new(hints, neighbours, file, self.packing))
    }

    /// Bits that hold what the compiler says: the allocation vector has two for each of 64 registers (section 2.6).
    pub(super) fn hint_bits(&self) -> u64 {
        if self.wanted == Wanted::Sides { 128 } else { 0 }
    }

    /// Which reads share an access.
    pub(super) fn coalescing(&self) -> Coalescing {
        Coalescing { sharing: self.sharing, shares: self.shares }
    }
}

/// Bits of an entry of the renaming table: a physical register, four slices, and a valid bit.
const TABLE_BITS: u32 = 10 + 4 + 1;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Corf {
    info: &'static TechniqueInfo,
    params: Vec<(&'static str, ParamValue)>,
    settings: Settings,
    /// Death points of registers, if they are released.
    deaths: Option<Deaths>,
    renaming: Option<Renaming>,
    registers_per_warp: u64,
    resident_warps: u64,
    /// Cycle up to which occupied registers have been accounted.
    accounted: u64,
    /// Storage model of the renaming table.
    table: Storage,
    counts: Counts,
}

impl Technique for Corf {
    fn info(&self) -> &'static TechniqueInfo {
        self.info
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.clone()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.table]
    }

    fn further_bits(&self) -> u64 {
        // The free map has one bit per slice.
        let free_map =
            self.renaming.as_ref().map_or(0, |renaming| renaming.allocator.file.rows.len() as u64 * 4);
        free_map + self.settings.hint_bits()
    }

    fn powered_register_cycles(&self) -> Option<u64> {
        self.settings.gates.then_some(self.counts.physical_register_cycles)
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let (program, config) = (launch.program, launch.config);
        let settings = self.settings;
        let warps = config.sm.max_warps as usize;
        let flow = program.kernel.flow();
        self.deaths = settings.releases.then(|| Deaths::new(warps, Release::of(&program.kernel, &flow)));
        let registers = program.registers_per_thread as usize;
        self.renaming = Some(Renaming::new((warps, registers), settings.compile(launch, plan)?));
        self.registers_per_warp = u64::from(program.registers_per_thread);
        self.resident_warps = 0;
        self.accounted = 0;
        self.counts = Counts::default();
        self.table = renaming_table::storage(config, TABLE_BITS, settings.table_ports);
        plan.extra_collect_cycles += settings.renaming_cycles;
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.account(cx);
        self.resident_warps += 1;
        self.renaming().clear(warp.slot);
        if let Some(deaths) = &mut self.deaths {
            deaths.start(warp.slot);
        }
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let coalescing = self.settings.coalescing();
        let Corf { renaming, table, counts, .. } = self;
        let renaming = renaming.as_ref().expect("a technique is prepared before its hooks are called");
        coalescing.read(cx, warp, inst, operands, renaming, table, counts, |cause| cause)?;
        if let Some(deaths) = &mut self.deaths {
            let kept = deaths.kept(warp.slot, inst.pc, inst.active);
            self.account(cx);
            // Entries are marked free in a bit vector beside the table.
            let Corf { renaming, counts, .. } = self;
            renaming.as_mut().expect("prepared").release_all_but(warp.slot, &kept, counts);
        }
        Ok(())
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.write(cx, warp.slot, writes, inst.exec);
        Ok(())
    }

    /// A micro-operation of another technique has put values back into the banks, in every lane.
    fn rewritten(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        writes: &mut [RegisterWrite<'_>],
        how: Rewritten,
    ) -> Result<(), Box<ValueMismatch>> {
        if how == Rewritten::Moved {
            self.write(cx, warp.slot, writes, u32::MAX);
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.account(cx);
        self.resident_warps -= 1;
        self.renaming().clear(warp_slot);
    }

    fn describe(&self) -> String {
        self.renaming.as_ref().map_or_else(String::new, |renaming| {
            let (used, all) = (renaming.allocator.file.in_use(), renaming.allocator.file.rows.len());
            format!("{used} of {all} physical registers allocated to {} warps", self.resident_warps)
        })
    }
}

impl Corf {
    /// What distinguishes the technique, and its parameters.
    pub(super) fn into_settings(self) -> (Settings, Vec<(&'static str, ParamValue)>) {
        (self.settings, self.params)
    }

    /// The technique with its declarations, parameters and what follows from them.
    fn new(
        info: &'static TechniqueInfo,
        params: Vec<(&'static str, ParamValue)>,
        settings: Settings,
    ) -> Corf {
        Corf {
            info,
            params,
            settings,
            deaths: None,
            renaming: None,
            registers_per_warp: 0,
            resident_warps: 0,
            accounted: 0,
            table: Storage::new(Shape::new(1, 0, 0).with_ports(1, 1)),
            counts: Counts::default(),
        }
    }

    fn renaming(&mut self) -> &mut Renaming {
        self.renaming.as_mut().expect("a technique is prepared before its hooks are called")
    }

    /// Allocates registers for the results that go to banks; another technique keeps the others, which have none here.
    fn write(&mut self, cx: &mut Cx<'_>, slot: usize, writes: &mut [RegisterWrite<'_>], lanes: u32) {
        self.account(cx);
        let Corf { renaming, counts, table, .. } = self;
        let renaming = renaming.as_mut().expect("a technique is prepared before its hooks are called");
        for write in writes.iter_mut() {
            if !matches!(write.to, WriteTo::Bank(_)) {
                renaming.release(slot, write.reg);
                continue;
            }
            let written = renaming.write(slot, write.reg, write.row(), lanes, counts);
            table.write(cx.cycle, usize::from(renaming.allocator.file.home_bank(slot, write.reg)));
            write.to = WriteTo::Bank(written.bank);
            if let Some(bank) = written.fetched_from {
                cx.read_bank(bank);
            }
        }
    }

    /// Adds the registers occupied since the last call to the counters.
    fn account(&mut self, cx: &mut Cx<'_>) {
        let passed = cx.cycle - std::mem::replace(&mut self.accounted, cx.cycle);
        if passed > 0 {
            let in_use = u64::from(self.renaming().allocator.file.in_use());
            self.counts.physical_register_cycles += in_use * passed;
            self.counts.architectural_register_cycles +=
                self.resident_warps * self.registers_per_warp * passed;
        }
    }
}
