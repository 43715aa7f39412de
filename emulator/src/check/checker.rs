//! Checks accesses, barriers and divisions, and records findings.

use super::Checks;
use super::finding::{CheckKind, Findings, Site};
use super::race::{BlockShadow, Entry, Touch};
use super::written::Written;
use crate::memory::GlobalMemory;
use crate::memory::lanes::{Addresses, lanes_of};
use std::collections::HashMap;
use trace_format::isa::space::Space;
use trace_format::isa::{AtomOp, Kind, MachineKernel, MemData, MemOp, Pc};
use trace_format::semantics::{ExecInst, Geometry, Warp};

/// The warp and instruction of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor<'k> {
    pub kernel: &'k MachineKernel,
    pub geometry: &'k Geometry,
    /// Linear index of the block.
    pub block: u64,
    pub warp: u32,
    pub pc: u32,
}

impl Actor<'_> {
    fn site(&self, pc: u32, warp: u32, lane: u32) -> Site {
        Site::new(self.kernel, pc, self.geometry.block_index(self.block), self.geometry.block, warp, lane)
    }
}

/// An access of some lanes to one space.
#[derive(Clone, Copy)]
pub(crate) struct Accessed<'a> {
    pub inst: &'a ExecInst,
    pub regs: &'a Warp,
    pub space: Space,
    pub at: &'a Addresses,
    pub exec: u32,
    /// Shared memory of the block before the access.
    pub shared: &'a [u8],
    pub local_bytes: u64,
}

/// The checker of a run, over all its launches.
#[derive(Default)]
pub struct Checker {
    checks: Option<Checks>,
    findings: Findings,
    /// By allocation: the written bytes, for allocations without initial contents.
    global: HashMap<usize, Written>,
    blocks: HashMap<u64, Box<BlockShadow>>,
    /// By program counter: whether the PTX access is volatile or has a memory order.
    strong: Vec<bool>,
    /// By program counter: whether lanes may arrive at a barrier one after the other.
    unaligned: Vec<bool>,
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checker").field("checks", &self.checks).field("findings", &self.findings).finish()
    }
}

impl Checker {
    /// A checker that makes these checks and keeps at most `limit` different findings.
    #[must_use]
    pub fn new(checks: Checks, limit: usize) -> Checker {
        Checker { checks: Some(checks), findings: Findings::new(limit), ..Checker::default() }
    }

    /// The findings.
    #[must_use]
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Marks the bytes of an allocation as never written.
    pub fn forget(&mut self, allocation: crate::memory::AllocationId, bytes: u64) {
        self.global.insert(allocation.0, Written::none_of(bytes));
    }

    fn wants(&self, of: impl Fn(&Checks) -> bool) -> bool {
        self.checks.as_ref().is_some_and(of)
    }

    /// Whether divisions by zero are findings.
    #[must_use]
    pub fn wants_divisions(&self) -> bool {
        self.wants(|c| c.division)
    }

    pub(crate) fn start_launch(&mut self, kernel: &MachineKernel) {
        let texts = || (0..kernel.insts.len()).map(|pc| kernel.code_text(Pc(pc as u32)).unwrap_or(""));
        let orders = [".volatile", ".relaxed", ".acquire", ".release", ".mmio"];
        self.strong = texts().map(|t| orders.iter().any(|o| t.contains(o))).collect();
        self.unaligned = texts().map(|t| t.contains("barrier.") && !t.contains(".aligned")).collect();
        self.blocks.clear();
    }

    pub(crate) fn end_block(&mut self, block: u64) {
        self.blocks.remove(&block);
    }

    fn shadow<'b>(
        blocks: &'b mut HashMap<u64, Box<BlockShadow>>,
        actor: &Actor<'_>,
        shared_bytes: usize,
    ) -> &'b mut BlockShadow {
        blocks.entry(actor.block).or_insert_with(|| {
            let warps = actor.geometry.warps_per_block() as usize;
            Box::new(BlockShadow::new(shared_bytes, warps, actor.kernel.local_bytes as usize))
        })
    }

    /// Checks an access; returns the lanes in which it is valid.
    pub(crate) fn access(&mut self, actor: Actor<'_>, a: &Accessed<'_>, memory: &GlobalMemory) -> u32 {
        let matrices = matches!(a.inst.memory, Some(MemOp { data: MemData::Matrices(..), .. }));
        let lanes = if matrices { a.inst.address_lanes() } else { a.exec };
        let mut good = a.exec;
        if self.wants(|c| c.memory) {
            for l in lanes_of(lanes) {
                if let Some(what) = misplaced(a, l, memory) {
                    good &= !(1 << l);
                    self.findings.add(CheckKind::Memcheck, actor.kernel, actor.pc, None, || {
                        (what, actor.site(actor.pc, actor.warp, l as u32), None)
                    });
                }
            }
        }
        let inside = lanes & if lanes == a.exec { good } else { lanes };
        for l in lanes_of(inside) {
            if misplaced(a, l, memory).is_none() {
                match a.space {
                    Space::Shared => self.shared(actor, a, l),
                    Space::Local => self.local(actor, a, l),
                    Space::Global => self.global(actor, a, l, memory),
                    _ => {}
                }
            }
        }
        good
    }

    fn unwritten(&mut self, actor: Actor<'_>, l: usize, what: impl FnOnce() -> String) {
        self.findings.add(CheckKind::Initcheck, actor.kernel, actor.pc, None, || {
            (what(), actor.site(actor.pc, actor.warp, l as u32), None)
        });
    }

    fn global(&mut self, actor: Actor<'_>, a: &Accessed<'_>, l: usize, memory: &GlobalMemory) {
        if !self.wants(|c| c.init) || self.global.is_empty() {
            return;
        }
        let bytes = u64::from(a.inst.mem_bytes());
        let Some(id) = memory.find(a.at[l], bytes) else { return };
        let Some(written) = self.global.get_mut(&id.0) else { return };
        let allocation = memory.allocation(id);
        let first = (a.at[l] - allocation.base) as usize;
        let is_read = reads(a.inst);
        let accessed = first..first + bytes as usize;
        let missing = accessed.clone().find(|byte| !written.contains(*byte));
        if writes(a.inst) {
            written.insert(accessed);
        }
        if let (true, Some(byte)) = (is_read, missing) {
            self.unwritten(actor, l, || {
                format!(
                    "{} of `{}` + {byte} ({:#x}), which has never been written",
                    verb(a.inst),
                    allocation.name,
                    a.at[l]
                )
            });
        }
    }

    fn local(&mut self, actor: Actor<'_>, a: &Accessed<'_>, l: usize) {
        // Spilled registers and stack frames of functions are not checked.
        let own =
            u64::from(actor.kernel.local_bytes - actor.kernel.spill_bytes.min(actor.kernel.local_bytes));
        let (first, bytes) = (a.at[l], u64::from(a.inst.mem_bytes()));
        if !self.wants(|c| c.init) || actor.kernel.stack_bytes > 0 || first + bytes > own {
            return;
        }
        let shadow = Self::shadow(&mut self.blocks, &actor, a.shared.len());
        let Some(written) = shadow.local.get_mut(actor.warp as usize) else { return };
        let range = first as usize..(first + bytes) as usize;
        let missing = written[range.clone()].iter().any(|lanes| lanes >> l & 1 == 0);
        if writes(a.inst) {
            written[range].iter_mut().for_each(|lanes| *lanes |= 1 << l);
        }
        if reads(a.inst) && missing {
            self.unwritten(actor, l, || {
                format!("{} of local memory at {first:#x}, which the thread has not written", verb(a.inst))
            });
        }
    }

    fn shared(&mut self, actor: Actor<'_>, a: &Accessed<'_>, l: usize) {
        let (init, race) = (self.wants(|c| c.init), self.wants(|c| c.race));
        let shadow = Self::shadow(&mut self.blocks, &actor, a.shared.len());
        let first = a.at[l] as usize;
        let range = first..first + usize::from(a.inst.mem_bytes());
        let (is_read, is_write) = (reads(a.inst), writes(a.inst));
        let missing = init && is_read && range.clone().any(|b| shadow.is_unwritten(b));
        if is_write {
            range.clone().for_each(|b| shadow.note_written(b));
        }
        let mut hazard: Option<(Entry, usize)> = None;
        if race {
            let atomic = matches!(a.inst.kind, Kind::Atomic(_) | Kind::Reduction(_));
            let strong = atomic || self.strong.get(actor.pc as usize) == Some(&true);
            let touch = Touch { warp: actor.warp, lane: l as u32, pc: actor.pc, strong };
            if strong && is_read && (!atomic || a.inst.dst_rows > 0) {
                shadow.acquire(a.at[l], actor.warp);
            }
            for byte in range {
                let found = if is_write {
                    shadow.write(byte, touch, |lane| is_same_value(a, l, byte - first, lane))
                } else {
                    shadow.read(byte, touch)
                };
                hazard = hazard.or(found.map(|entry| (entry, byte)));
            }
            if strong && is_write {
                shadow.release(a.at[l], actor.warp);
            }
        }
        if missing {
            self.unwritten(actor, l, || {
                format!("{} of shared memory at {first:#x}, which has never been written", verb(a.inst))
            });
        }
        if let Some((entry, byte)) = hazard {
            self.findings.add(CheckKind::Racecheck, actor.kernel, actor.pc, Some(entry.pc()), || {
                let what = format!(
                    "race on shared memory at {byte:#x}: a {} and, by another thread with no barrier in between, the access below",
                    verb(a.inst)
                );
                let other = actor.site(entry.pc(), entry.warp(), entry.lane());
                (what, actor.site(actor.pc, actor.warp, l as u32), Some(other))
            });
        }
    }

    /// Lanes `exec` of a warp arrive at a barrier of all threads while others, `missing`, are at other
    /// instructions.
    pub(crate) fn arrive(
        &mut self,
        actor: Actor<'_>,
        id: u8,
        exec: u32,
        missing: u32,
        all: bool,
        shared_bytes: usize,
    ) {
        let sync = self.wants(|c| c.sync);
        let before = Self::shadow(&mut self.blocks, &actor, shared_bytes).arrive(id, actor.warp, actor.pc);
        if !sync || self.unaligned.get(actor.pc as usize) == Some(&true) {
            return;
        }
        let lane = exec.trailing_zeros();
        if missing != 0 {
            self.findings.add(CheckKind::Synccheck, actor.kernel, actor.pc, None, || {
                let what = format!(
                    "divergent barrier {id}: lanes {exec:#010x} of warp {} arrive without lanes {missing:#010x}",
                    actor.warp
                );
                (what, actor.site(actor.pc, actor.warp, lane), None)
            });
        } else if let (Some(first), true) = (before, all) {
            self.findings.add(CheckKind::Synccheck, actor.kernel, actor.pc, Some(first), || {
                let what = format!("threads of the block are at different instructions for barrier {id}");
                (what, actor.site(actor.pc, actor.warp, lane), Some(actor.site(first, actor.warp, lane)))
            });
        }
    }

    /// A barrier completes for these warps.
    pub(crate) fn complete(&mut self, block: u64, id: u8, warps: impl Iterator<Item = u32>) {
        if let Some(shadow) = self.blocks.get_mut(&block) {
            shadow.complete(id, warps);
        }
    }

    /// Lanes of a warp synchronise.
    pub(crate) fn sync_warp(&mut self, block: u64, warp: u32) {
        if let Some(shadow) = self.blocks.get_mut(&block) {
            shadow.sync_warp(warp);
        }
    }

    /// Lanes divide by zero.
    pub(crate) fn zero_division(&mut self, actor: Actor<'_>, lanes: u32) {
        for l in lanes_of(lanes) {
            self.findings.add(CheckKind::Divcheck, actor.kernel, actor.pc, None, || {
                let what = "integer division by zero, whose result PTX leaves undefined".to_string();
                (what, actor.site(actor.pc, actor.warp, l as u32), None)
            });
        }
    }
}

fn reads(inst: &ExecInst) -> bool {
    let exchanges = matches!(inst.memory, Some(MemOp { data: MemData::Modify(AtomOp::Exch, _), .. }));
    !matches!(inst.kind, Kind::Store(_)) && !exchanges
}

fn writes(inst: &ExecInst) -> bool {
    !matches!(inst.kind, Kind::Load(_))
}

fn verb(inst: &ExecInst) -> &'static str {
    match inst.kind {
        Kind::Load(_) => "read",
        Kind::Store(_) => "write",
        _ => "atomic",
    }
}

/// Describes an error of a lane's address.
fn misplaced(a: &Accessed<'_>, l: usize, memory: &GlobalMemory) -> Option<String> {
    let (address, width) = (a.at[l], u64::from(a.inst.mem_bytes().max(1)));
    let (what, space) = (
        verb(a.inst),
        match a.space {
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Global => "global",
            _ => return None,
        },
    );
    if address & (width - 1) != 0 {
        return Some(format!("misaligned {what} of {width} bytes of {space} memory at {address:#x}"));
    }
    let size = match a.space {
        Space::Shared => a.shared.len() as u64,
        Space::Local => a.local_bytes,
        _ => return misplaced_globally(what, address, width, memory),
    };
    let inside = address.checked_add(width).is_some_and(|end| end <= size);
    (!inside).then(|| format!("{what} of {width} bytes out of bounds: {space} memory has {size} bytes, the address is {address:#x}"))
}

fn misplaced_globally(what: &str, address: u64, width: u64, memory: &GlobalMemory) -> Option<String> {
    if memory.find(address, width).is_some() {
        let stale = memory.heap().is_some_and(|heap| heap.contains(address) && !heap.is_used(address, width));
        return stale.then(|| {
            format!(
                "{what} of {width} bytes of heap memory at {address:#x} that is freed or was never allocated"
            )
        });
    }
    let nearest = memory.nearest(address).map_or_else(
        || "nothing is allocated".to_string(),
        |n| {
            let (name, len) = (&n.name, n.len);
            match n.distance {
                d if d < 0 => format!("{} bytes before `{name}` ({len} bytes)", d.unsigned_abs()),
                _ if address < n.base + n.len => format!("reaching past the end of `{name}` ({len} bytes)"),
                d => {
                    format!("{} bytes past the end of `{name}` ({len} bytes), the nearest allocation", d - 1)
                }
            }
        },
    );
    Some(format!("{what} of {width} bytes out of bounds: {address:#x} lies {nearest}"))
}

/// Whether a store writes the same value as another lane of the same instruction, or as the previous writer.
fn is_same_value(a: &Accessed<'_>, l: usize, byte: usize, lane: Option<u32>) -> bool {
    if !matches!(a.inst.kind, Kind::Store(_)) || a.inst.memory.is_none_or(|memory| memory.width().is_none()) {
        return false;
    }
    let put = |l: usize| (a.regs.row(a.inst.src[1].row + (byte / 4) as u16).0[l] >> (8 * (byte % 4))) as u8;
    match lane {
        Some(other) => a.at[other as usize & 31] == a.at[l] && put(other as usize & 31) == put(l),
        None => a.shared.get(a.at[l] as usize + byte) == Some(&put(l)),
    }
}
