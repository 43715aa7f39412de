//! What ends entries of the address mapping table: stores, atomics and fences that may change their memory, and registers that
//! are written or released (LARF, section 5.5.2).

use super::Larf;
use super::accesses::{addresses, global_lanes};
use super::registers::Physical;
use super::table::{End, Entry};
use super::vector::lines;
use crate::{Cx, InstView, WarpView};
use trace_format::isa::space::Space;
use warplab_technique::Row;

impl Larf {
    /// Removes an entry.
    pub(super) fn remove(&mut self, cx: &Cx<'_>, at: u32, end: End) {
        if let Some(entry) = self.table.remove(at, end) {
            self.forget(&entry);
            self.map.set_used(cx.cycle, 0, self.table.used());
        }
    }

    pub(super) fn forget(&mut self, entry: &Entry) {
        for physical in &entry.registers {
            self.registers().forget_entry(*physical);
        }
    }

    /// Removes all entries, and keeps loads on their way from being entered.
    pub(super) fn flush(&mut self, cx: &Cx<'_>) {
        for at in self.table.all() {
            self.remove(cx, at, End::Changed);
            self.counts.invalidated += 1;
        }
        self.order.change_all();
    }

    /// A store or atomic issues: removes the entries that touch its lines.
    pub(super) fn change(&mut self, cx: &Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>, space: Space) {
        self.map.read(cx.cycle, 0);
        let Some(addresses) = addresses(warp, &inst.inst.inst) else { return self.flush(cx) };
        // The guard is not known yet: all lanes on the path count.
        let lanes = global_lanes(space, &addresses, inst.active);
        let bytes = inst.inst.inst.info().memory.map_or(16, |memory| memory.bytes());
        let changed = lines(&addresses, lanes, bytes);
        for line in &changed {
            for at in self.table.touching(*line) {
                self.remove(cx, at, End::Changed);
                self.counts.invalidated += 1;
            }
        }
        self.order.store(&changed);
    }

    /// Writes a register, and removes the entry whose value that ends; none if the value has found no physical register.
    pub(super) fn write(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        reg: u8,
        row: &Row,
        exec: u32,
    ) -> Option<Physical> {
        let written = self.registers().write(warp, reg, row, exec);
        if let Some(bank) = written.copied_from {
            self.counts.copies += 1;
            cx.read_bank(bank);
        }
        self.renaming.write(cx.cycle, self.renaming_bank(warp.slot, reg));
        if let Some(entry) = written.ended {
            self.remove(cx, entry, End::Released);
        }
        written.physical
    }

    /// Releases registers that no lane reads after an instruction.
    pub(super) fn release(&mut self, cx: &Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>) {
        let Some(deaths) = &mut self.deaths else { return };
        let mut kept = deaths.kept(warp.slot, inst.pc, inst.active);
        let registers = self.registers.as_ref().expect("prepared");
        if let Some(reservations) = &registers.reservations {
            kept.insert_all(reservations.on_the_way(warp.slot));
        }
        let mut ended = Vec::new();
        let released = self.registers().release_all_but(warp.slot, &kept, |at| ended.push(at));
        self.counts.released_registers += released;
        ended.into_iter().for_each(|at| self.remove(cx, at, End::Released));
    }
}
