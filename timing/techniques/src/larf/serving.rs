//! Loads that are served from the registers of other loads, wholly or in parts, and loads that are entered for others (LARF,
//! sections 5.3 and 5.5.2).

use super::accesses::global_lanes;
use super::registers::Physical;
use super::table::{End, Entry, Found, Loaded};
use super::vector::{Part, Vector, lines};
use super::{Fate, Larf, Lost};
use crate::{AccessVerdict, Cx, InFlightId, InstView, MemAccess, WarpView};
use trace_format::isa::MemOrder;
use warplab_technique::Row;

impl Larf {
    /// Whether an entry may serve a block.
    pub(super) fn serves(&self, block: u32) -> impl Fn(&Entry) -> bool + use<> {
        let across = self.params.across_blocks;
        move |entry| across || entry.block == block
    }

    /// Looks a vector up.
    pub(super) fn find(&self, vector: &Vector, block: u32) -> Found {
        let registers = self.registers.as_ref().expect("prepared");
        let is_loading =
            |entry: &Entry| entry.registers.first().is_some_and(|first| registers.loading(*first).is_some());
        match self.table.find(vector, self.serves(block), is_loading) {
            Found::Parts(..) | Found::Loading if !self.params.partial => Found::Nothing,
            found => found,
        }
    }

    /// The vector of a load that may be shared, and its region.
    pub(super) fn vector(&self, inst: &InstView<'_>, access: &MemAccess<'_>) -> Result<(Vector, u32), Lost> {
        let memory = inst.inst.inst.info().memory;
        let weak = memory.filter(|memory| matches!(memory.order, MemOrder::Weak));
        let width = weak.and_then(|memory| memory.width());
        let width = width.ok_or(Lost::Ordered)?;
        if global_lanes(access.space, access.addresses, access.mask) != access.mask {
            return Err(Lost::Elsewhere);
        }
        let (vector, region) = Vector::of(access, width, self.numbering).ok_or(Lost::Irregular)?;
        if !self.table.takes_region(region) {
            return Err(Lost::Region);
        }
        Ok((vector, region))
    }

    /// Serves a load from the registers of other loads, or enters it in the table.
    pub(super) fn serve(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
        overtaken: bool,
    ) -> Result<AccessVerdict, Lost> {
        let (vector, region) = self.vector(inst, access)?;
        self.counts.strides_computed += 1;
        if overtaken {
            return Err(Lost::Overtaken);
        }
        let looked_up = self.map.read(cx.cycle, 0);
        let parts: Vec<(u32, Part)> = match self.find(&vector, warp.block) {
            Found::Whole(at) => vec![(at, Part { lanes: vector.lanes, shift: 0 })],
            Found::Parts(first, second) => std::iter::once(first).chain(second).collect(),
            missing => {
                let cause = match (missing, self.table.end_of(&vector)) {
                    (Found::Loading, _) => Lost::Loading,
                    (_, None) => Lost::New,
                    (_, Some(End::Evicted)) => Lost::Evicted,
                    (_, Some(End::Released)) => Lost::Released,
                    (_, Some(End::Changed)) => Lost::Changed,
                };
                self.enter(cx, warp, inst, access, (vector, region));
                return Err(cause);
            }
        };
        let regs = inst.inst.destinations();
        self.answer = self.merged(&parts, regs.len());
        if self.other_block_changed(warp, inst, access, &parts) {
            for (at, _) in &parts {
                self.remove(cx, *at, End::Changed);
            }
            self.enter(cx, warp, inst, access, (vector, region));
            return Err(Lost::OtherBlock);
        }
        let entry = |at: u32| self.table.entry(at).expect("it was found");
        let sources: Vec<Vec<Physical>> = parts.iter().map(|(at, _)| entry(*at).registers.clone()).collect();
        let registers = self.registers.as_ref().expect("prepared");
        let loading =
            sources.iter().find_map(|physical| physical.first().and_then(|first| registers.loading(*first)));
        let other_lanes =
            regs.iter().any(|reg| registers.other_lanes(warp.slot, *reg, inst.exec) & warp.threads != 0);
        let whole = parts.len() == 1 && parts[0].1.shift == 0 && entry(parts[0].0).vector == vector;
        self.counts.shares_in_flight += u64::from(loading.is_some());
        if whole && !other_lanes {
            let ended = self.registers().share(warp.slot, regs, &sources[0], inst.exec);
            ended.into_iter().for_each(|at| self.remove(cx, at, End::Released));
            self.counts.whole_shares += 1;
            self.counts.registers_not_taken += regs.len() as u64;
            for reg in regs {
                self.renaming.write(cx.cycle, self.renaming_bank(warp.slot, *reg));
            }
            self.set_fate(inst.id, Fate::Shared);
            return Ok(loading.map_or(AccessVerdict::Satisfied(looked_up), |id| AccessVerdict::After(id, 0)));
        }
        self.counts.partial_shares += u64::from(!whole);
        self.counts.copies += u64::from(whole);
        let mut read = looked_up;
        let mut reads = 0;
        for physical in sources.iter().flatten() {
            cx.read_bank(self.registers().bank(*physical));
            read = self.merge_slot.read(looked_up.ready_at(), 0);
            reads += 1;
        }
        self.counts.merges += regs.len() as u64;
        for (reg, row) in regs.iter().zip(std::mem::take(&mut self.answer)) {
            self.write(cx, warp, *reg, &row, inst.exec);
            self.answer.push(row);
        }
        self.set_fate(inst.id, Fate::Merged);
        let merge_cycles = self.params.merge_cycles;
        Ok(match loading {
            Some(id) => AccessVerdict::After(id, reads + merge_cycles),
            // The last register takes a cycle to be read.
            None => AccessVerdict::Satisfied(read.after(1 + merge_cycles)),
        })
    }

    /// The values that lanes of entries give, register by register.
    pub(super) fn merged(&self, parts: &[(u32, Part)], count: usize) -> Vec<Row> {
        let registers = self.registers.as_ref().expect("prepared");
        let mut rows = vec![Row::ZERO; count];
        let mut space = Row::ZERO;
        for (at, part) in parts {
            let Some(entry) = self.table.entry(*at) else { continue };
            for (row, physical) in rows.iter_mut().zip(&entry.registers) {
                let held = registers.row(*physical, &mut space);
                for lane in (0..32i32).filter(|lane| part.lanes >> lane & 1 != 0) {
                    row.0[lane as usize] = held.0[(lane - part.shift) as usize & 31];
                }
            }
        }
        rows
    }

    /// Whether entries of other blocks give a value that the recording does not have although it is what they loaded
    /// from the same addresses: another block has changed it since, without a fence that this block waited for.
    pub(super) fn other_block_changed(
        &self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
        parts: &[(u32, Part)],
    ) -> bool {
        let mut changed = false;
        for (at, part) in parts {
            let Some(entry) = self.table.entry(*at) else { continue };
            for (k, reg) in inst.inst.destinations().iter().enumerate() {
                let Some(recorded) = warp.rows.get(usize::from(*reg)) else { return false };
                for lane in (0..32usize).filter(|lane| part.lanes & inst.exec & 1 << lane != 0) {
                    let supplied = self.answer[k].0[lane];
                    if supplied == recorded.0[lane] {
                        continue;
                    }
                    let loaded = (0..32usize).any(|other| {
                        entry.vector.lanes >> other & 1 != 0
                            && entry.loaded.addresses[other] == access.addresses[lane]
                            && entry.loaded.rows[k].0[other] == supplied
                    });
                    if entry.block == warp.block || !loaded {
                        return false;
                    }
                    changed = true;
                }
            }
        }
        changed
    }

    /// Enters a load that goes to memory: its registers get their physical registers now, which others may share.
    pub(super) fn enter(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
        (vector, region): (Vector, u32),
    ) {
        let rows: Vec<Row> =
            inst.inst.destinations().iter().map(|reg| warp.rows[usize::from(*reg)]).collect();
        let mut physical = Vec::with_capacity(rows.len());
        for (reg, row) in inst.inst.destinations().iter().zip(&rows) {
            // Without a place in the file, its registers are lost, and it is written back as any other.
            let Some(written) = self.write(cx, warp, *reg, row, inst.exec) else { return };
            physical.push(written);
        }
        let lines = lines(access.addresses, access.mask, access.bytes);
        let loaded = Box::new(Loaded { addresses: *access.addresses, rows });
        let entry = Entry { vector, registers: physical.clone(), block: warp.block, loaded, lines };
        let (at, evicted) = self.table.enter(entry, region);
        if let Some(evicted) = evicted {
            self.counts.evicted += 1;
            self.forget(&evicted);
        }
        for physical in &physical {
            self.registers().enter(*physical, Some(at), Some(inst.id));
        }
        self.counts.entered += 1;
        self.map.write(cx.cycle, 0);
        self.map.set_used(cx.cycle, 0, self.table.used());
        self.set_fate(inst.id, Fate::Entered(physical));
    }

    pub(super) fn set_fate(&mut self, id: InFlightId, fate: Fate) {
        let slot = usize::from(id.slot());
        if self.fates.len() <= slot {
            self.fates.resize(slot + 1, Fate::Plain);
        }
        self.fates[slot] = fate;
    }
}
