//! `wmma.load` and `wmma.store`.
//!
//! A lane's part of a fragment falls into runs that are contiguous in memory, which ordinary loads and stores move,
//! with the addresses that ptxas computes. Factors of 16-bit elements in shared memory come by LDSM, as on hardware.

use trace_format::isa::fragment::{Index, Role};
use trace_format::isa::{MatrixCount, Op, Sign, SpecialReg, Transposed};

use super::matrix::{Tiling, packed};
use super::memory::MachineAddress;
use super::{Builder, Lowered};
use crate::lower::vir::Val;
use crate::ptx::{Inst, MatrixLayout, Operand, ScalarType, StateSpace, WmmaFragment, WmmaMemOp};

/// A part of a fragment that is contiguous in memory in every lane.
struct Run {
    /// First element.
    first: usize,
    count: usize,
    /// Fixed parts of the slow and the fast index of the first element.
    slow: u32,
    fast: u32,
}

/// Splits a fragment into runs along the fast index, of at most 8 bytes (16 for doubles).
fn runs(elements: &[[Index; 2]], slow_axis: usize, most: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (i, e) in elements.iter().enumerate() {
        let (slow, fast) = (e[slow_axis].fixed, e[1 - slow_axis].fixed);
        match runs.last_mut() {
            Some(r) if r.slow == slow && r.fast + r.count as u32 == fast && r.count < most => r.count += 1,
            _ => runs.push(Run { first: i, count: 1, slow, fast }),
        }
    }
    runs
}

/// Addresses of a fragment: the address that a lane computes, and bytes from one slow index to the next.
struct Tile {
    base: [Val; 2],
    offset: i32,
    pitch: Val,
    wide: bool,
}

impl Builder<'_> {
    /// The operation in the space of the variable that it names, if it names one without a state space.
    fn in_named_space(&self, inst: &Inst, op: WmmaMemOp) -> WmmaMemOp {
        let named = inst.srcs().iter().find_map(|s| match s {
            Operand::Mem(address) => Some(*address),
            _ => None,
        });
        WmmaMemOp { space: named.map_or(op.space, |address| self.space_of(op.space, address)), ..op }
    }

    /// Address of a matrix and bytes from one row (column) to the next.
    fn matrix_base(&mut self, inst: &Inst, op: WmmaMemOp) -> Lowered<(MachineAddress, Val)> {
        let at = inst.srcs().iter().position(|s| matches!(s, Operand::Mem(_))).unwrap_or(0);
        let address = self.memory_operand(inst, at)?;
        let place = self.place(inst, address, op.space)?;
        let (m, n, k) = op.shape.mnk();
        let [rows, cols] = match op.fragment {
            WmmaFragment::A => [m, k],
            WmmaFragment::B => [k, n],
            WmmaFragment::C | WmmaFragment::D => [m, n],
        };
        let stride = match inst.srcs().last() {
            Some(stride) if op.stride => self.word(inst, stride)?,
            _ => Val::Imm(if op.layout == MatrixLayout::Row { cols } else { rows }),
        };
        let pitch = match op.ty.bits() {
            bits @ 8.. => self.asm.imad(stride, Val::Imm(bits / 8), Val::ZERO),
            bits => self.asm.shr(Sign::U32, stride, Val::Imm((8 / bits).ilog2())),
        };
        Ok((place, pitch))
    }

    /// The address of the lane's part of a fragment.
    fn tile(&mut self, inst: &Inst, op: WmmaMemOp, element: [Index; 2]) -> Lowered<Tile> {
        let wide = match op.space {
            StateSpace::Global | StateSpace::Generic => true,
            StateSpace::Shared | StateSpace::SharedCluster => false,
            _ => return Err(self.unsupported(inst, "a matrix in this space")),
        };
        let (place, pitch) = self.matrix_base(inst, op)?;
        let lane = self.asm.s2r(SpecialReg::LaneId);
        let quad = self.asm.shr(Sign::U32, lane, Val::Imm(2));
        let in_quad = self.asm.and(lane, Val::Imm(3));
        let slow_axis = usize::from(op.layout == MatrixLayout::Col);
        let (slow, fast) = (element[slow_axis], element[1 - slow_axis]);
        let step = |index: Index| index.per_quad.max(index.per_place);
        let lanes = |index: Index| if index.per_quad > 0 { quad } else { in_quad };
        let fast_bytes = Val::Imm(step(fast) * op.ty.bits() / 8);
        let slow_index = self.asm.imad(lanes(slow), Val::Imm(step(slow)), Val::ZERO);
        let base = if wide {
            let base = self.asm.imad_wide(Sign::U32, lanes(fast), fast_bytes, place.base);
            self.asm.imad_wide(Sign::U32, slow_index, pitch, base)
        } else {
            let base = self.asm.imad(lanes(fast), fast_bytes, place.base[0]);
            [self.asm.imad(slow_index, pitch, base), Val::ZERO]
        };
        Ok(Tile { base, offset: place.offset, pitch, wide })
    }

    /// Address of a run: the tile's with whole steps of the pitch added.
    fn run_place(&mut self, tile: &Tile, run: &Run, ty: ScalarType) -> MachineAddress {
        let near = tile.offset + (run.fast * ty.bits() / 8) as i32;
        let far = tile.pitch.imm().map(|pitch| u64::from(pitch) * u64::from(run.slow));
        match far {
            Some(far) if far < 1 << 20 => MachineAddress { base: tile.base, offset: near + far as i32 },
            _ => {
                let steps = Val::Imm(run.slow);
                let base = if tile.wide {
                    self.asm.imad_wide(Sign::U32, tile.pitch, steps, tile.base)
                } else {
                    [self.asm.imad(tile.pitch, steps, tile.base[0]), Val::ZERO]
                };
                MachineAddress { base, offset: near }
            }
        }
    }

    /// Elements and runs of a fragment in memory, and their addresses.
    fn fragment_in_memory(&mut self, inst: &Inst, op: WmmaMemOp) -> Lowered<(Tile, Vec<Run>, usize)> {
        let a_or_b = matches!(op.fragment, WmmaFragment::A | WmmaFragment::B);
        let tiling = Tiling::of(op.shape, op.ty);
        let role = tiling.role(op.fragment);
        let per_word = packed(op.ty);
        let elements = tiling.elements(role, if a_or_b { per_word } else { 1 });
        let slow_axis = usize::from(op.layout == MatrixLayout::Col);
        // Pairs of accumulators and whole registers of factors move together.
        let most = if a_or_b { per_word } else { 2 };
        let runs = runs(&elements, slow_axis, most);
        if op.ty.bits() < 8 && runs.iter().any(|r| r.count < per_word) {
            return Err(self.unsupported(inst, "this layout of elements smaller than a byte"));
        }
        let tile = self.tile(inst, op, elements[0])?;
        Ok((tile, runs, elements.len()))
    }

    /// `wmma.load`.
    pub(crate) fn wmma_load(&mut self, inst: &Inst, op: WmmaMemOp) -> Lowered {
        let op = self.in_named_space(inst, op);
        let factor = matches!(op.fragment, WmmaFragment::A | WmmaFragment::B);
        let shared = matches!(op.space, StateSpace::Shared | StateSpace::SharedCluster);
        if factor && shared && op.ty.bits() == 16 {
            return self.wmma_load_shared(inst, op);
        }
        let (tile, runs, count) = self.fragment_in_memory(inst, op)?;
        let (bits, per_word) = (op.ty.bits() as usize, packed(op.ty));
        let mut all = vec![Val::ZERO; count * bits / 32];
        for run in runs {
            let place = self.run_place(&tile, &run, op.ty);
            let bytes = (run.count * bits / 8) as u32;
            let words = self.load_at(inst, op.space, &place, bytes)?;
            let at = run.first * bits / 32;
            if bytes >= 4 {
                all[at..at + words.len()].copy_from_slice(&words);
            } else {
                all[at] = self.insert(all[at], words[0], run.first % per_word, bits);
            }
        }
        self.set_fragment(&inst.dsts()[0], &all, op.ty);
        Ok(())
    }

    /// A word with its element `i` of 8 or 16 bits, zero so far, set.
    fn insert(&mut self, word: Val, element: Val, i: usize, bits: usize) -> Val {
        let selector = match (bits, i) {
            (_, 0) => return element,
            (16, _) => 0x5410,
            (_, 1) => 0x7740,
            (_, 2) => 0x7410,
            (_, _) => 0x4210,
        };
        self.asm.prmt(word, Val::Imm(selector), element)
    }

    /// `wmma.store`.
    pub(crate) fn wmma_store(&mut self, inst: &Inst, op: WmmaMemOp) -> Lowered {
        let op = self.in_named_space(inst, op);
        let (tile, runs, _) = self.fragment_in_memory(inst, op)?;
        let bits = op.ty.bits() as usize;
        let all = self.fragment(inst, &inst.srcs()[1], op.ty)?;
        for run in runs {
            let place = self.run_place(&tile, &run, op.ty);
            let bytes = (run.count * bits / 8) as u32;
            let at = run.first * bits / 32;
            let data = match (bytes, run.first % packed(op.ty)) {
                (2, 1) => vec![self.asm.shr(Sign::U32, all[at], Val::Imm(16))],
                _ => all[at..at + bytes.div_ceil(4) as usize].to_vec(),
            };
            self.store_at(inst, op.space, &place, bytes, &data)?;
        }
        Ok(())
    }

    /// A factor of 16-bit elements from shared memory: matrices of 8x8, each a register, four at a time.
    fn wmma_load_shared(&mut self, inst: &Inst, op: WmmaMemOp) -> Lowered {
        let tiling = Tiling::of(op.shape, op.ty);
        let role = tiling.role(op.fragment);
        let deep_rows = (op.fragment == WmmaFragment::A) == (op.layout == MatrixLayout::Row);
        let (base, pitch) = self.matrix_base(inst, op)?;
        let lane = self.asm.s2r(SpecialReg::LaneId);
        let bits = |s: &mut Self, from: u32, mask: u32| {
            let shifted = s.asm.shr(Sign::U32, lane, Val::Imm(from));
            s.asm.and(shifted, Val::Imm(mask))
        };
        // Matrices of A are ordered by rows first, those of B by k first. Lane 8j + r addresses row r of matrix j.
        let (row, block) = if (role == Role::A) == deep_rows {
            (bits(self, 0, 15), bits(self, 4, 1))
        } else {
            let (low, high) = (bits(self, 0, 7), bits(self, 4, 1));
            (self.asm.imad(high, Val::Imm(8), low), bits(self, 3, 1))
        };
        let start = self.asm.imad(block, Val::Imm(16), base.base[0]);
        let start = self.asm.imad(row, pitch, start);
        let tiles = tiling.tiles[usize::from(role == Role::B)];
        let (count, steps) = match (role, tiles) {
            (Role::B, 1) => (MatrixCount::X2, 1),
            (Role::B, n) => (MatrixCount::X4, n / 2),
            (_, n) => (MatrixCount::X4, n),
        };
        let machine = Op::Ldsm { count, trans: Transposed(!deep_rows) };
        let mut all = Vec::new();
        for step in 0..steps as u32 {
            // Sixteen rows or columns further.
            let place = if deep_rows {
                let at = self.asm.imad(pitch, Val::Imm(16 * step), start);
                MachineAddress { base: [at, Val::ZERO], offset: base.offset }
            } else {
                MachineAddress { base: [start, Val::ZERO], offset: base.offset + 32 * step as i32 }
            };
            all.extend(self.memory_result(machine, &place, false, usize::from(count.get())));
        }
        self.set_fragment(&inst.dsts()[0], &all, op.ty);
        Ok(())
    }
}
