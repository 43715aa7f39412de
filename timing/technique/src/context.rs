//! The context of a hook: clock, comparison of values, accounts, and effects on the SM.

use crate::declare::Cause;
use crate::lanes::first_difference;
use crate::micro::MicroId;
use crate::program::Program;
use crate::scout::Scouts;
use crate::view::{InstView, MemAccess, WarpView};
use crate::write::RegisterWrite;
use serde::{Deserialize, Serialize};
use trace_format::isa::{Pred, Reg, UniformReg};
use trace_format::semantics::Row;

/// A technique's accounts in one SM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ledger {
    /// Values that the technique supplied in place of the register file, of a unit or of memory.
    pub supplied: u64,
    /// Values that were compared with the recorded ones, the supplied ones included.
    pub checked: u64,
    /// Cases in which the technique could have supplied a value.
    pub opportunities: u64,
    /// Opportunities lost, by cause.
    pub lost: Vec<u64>,
    /// Scheduler slots in which the technique stalled the chosen warp, by cause.
    pub stalls: Vec<u64>,
    /// Values that the machine took from the technique, counted by the machine.
    pub taken: u64,
    /// Values among the supplied ones that the technique declared to be the program's own ([`Cx::keep_result`]); they were
    /// compared with nothing.
    pub kept: u64,
    /// The comparisons of the current call.
    #[serde(skip)]
    pub proofs: Proofs,
}

/// The comparisons that a technique has made in the current call of one of its hooks, by which the machine knows that each
/// value that it takes was compared for this very use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proofs {
    call: u32,
    /// Registers, predicates and uniform registers of which a result was supplied, one bit each.
    results: [u64; 4],
    predicates: u16,
    uniforms: u64,
}

impl Proofs {
    /// Begins a call: earlier proofs are worth nothing in it.
    #[inline]
    pub fn begin(&mut self, call: u32) {
        *self = Proofs { call, ..Proofs::default() };
    }

    /// Whether a token is of this call and of this register.
    #[inline]
    #[must_use]
    pub fn cover(&self, token: Supplied, reg: u8) -> bool {
        token.call == self.call && token.reg == reg
    }

    /// Whether a result was supplied in this call.
    #[inline]
    #[must_use]
    pub fn has_result(&self, reg: u8) -> bool {
        self.results[usize::from(reg >> 6)] >> (reg & 63) & 1 != 0
    }

    /// Whether a predicate was supplied in this call.
    #[inline]
    #[must_use]
    pub fn has_predicate(&self, pred: u8) -> bool {
        self.predicates >> (pred & 15) & 1 != 0
    }

    /// Whether a uniform register was supplied in this call.
    #[inline]
    #[must_use]
    pub fn has_uniform(&self, reg: u8) -> bool {
        self.uniforms >> (reg & 63) & 1 != 0
    }
}

impl Ledger {
    /// Adds another SM's accounts.
    pub fn merge(&mut self, other: &Ledger) {
        self.supplied += other.supplied;
        self.checked += other.checked;
        self.opportunities += other.opportunities;
        self.taken += other.taken;
        self.kept += other.kept;
        add(&mut self.lost, &other.lost);
        add(&mut self.stalls, &other.stalls);
    }

    /// Opportunities that were lost, for any cause.
    #[must_use]
    pub fn all_lost(&self) -> u64 {
        self.lost.iter().sum()
    }
}

fn add(mine: &mut Vec<u64>, theirs: &[u64]) {
    mine.resize(mine.len().max(theirs.len()), 0);
    mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
}

/// Proof that a supplied value was compared with the recorded one. It holds for the register and for the call of the hook in
/// which it was made; the machine stops at one that is kept for a later read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supplied {
    call: u32,
    reg: u8,
}

/// A load that a technique makes ahead of the instruction that needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyLoad {
    /// Byte address of the 128-byte line in global memory.
    pub line: u64,
    /// 32-byte sectors of it, one bit each.
    pub sectors: u8,
    /// Whether the line is locked in L1 until it is unlocked. One way of each set is never locked.
    pub lock: bool,
    /// Tag of the technique.
    pub tag: u32,
    /// Whether it is a prefetch into the buffer beside L1, which [`Technique::prefetched`](crate::Technique::prefetched)
    /// follows.
    pub into_buffer: bool,
}

impl EarlyLoad {
    /// A load of sectors of a line.
    #[must_use]
    pub const fn new(line: u64, sectors: u8, tag: u32) -> EarlyLoad {
        EarlyLoad { line, sectors, lock: false, tag, into_buffer: false }
    }

    /// The load, whose line is locked in L1 until it is unlocked.
    #[must_use]
    pub const fn locked(self) -> EarlyLoad {
        EarlyLoad { lock: true, ..self }
    }

    /// The load as a prefetch into the buffer beside L1 that a plan asks for
    /// ([`Plan::prefetch_buffer_lines`](crate::Plan::prefetch_buffer_lines)).
    #[must_use]
    pub const fn into_buffer(self) -> EarlyLoad {
        EarlyLoad { into_buffer: true, ..self }
    }
}

/// Effects on the SM that hooks request; the pipeline carries them out when the hook returns.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Effects {
    /// Accesses to banks besides the instruction's own: true for a write.
    pub bank_accesses: Vec<(u8, bool)>,
    /// Micro-operations to issue before a warp's next instruction, by warp slot.
    pub micro_ops: Vec<(u8, MicroId)>,
    /// Loads into L1.
    pub early_loads: Vec<EarlyLoad>,
    /// Lines of L1 to unlock, by byte address.
    pub unlocked: Vec<u64>,
    /// Stalled warps to ask about again, one bit for each warp slot.
    pub woken: u64,
}

impl Effects {
    /// Whether no effect is requested.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bank_accesses.is_empty()
            && self.micro_ops.is_empty()
            && self.early_loads.is_empty()
            && self.unlocked.is_empty()
            && self.woken == 0
    }
}

/// Context of a hook.
pub struct Cx<'a> {
    /// SM clock cycle.
    pub cycle: u64,
    /// The kernel.
    pub program: &'a Program,
    technique: &'static str,
    ledger: &'a mut Ledger,
    effects: &'a mut Effects,
    scouts: Option<&'a mut (dyn Scouts + 'a)>,
}

impl<'a> Cx<'a> {
    /// The context of a call, made by the pipeline and by tests of techniques.
    #[must_use]
    #[inline]
    pub fn new(
        technique: &'static str,
        cycle: u64,
        program: &'a Program,
        ledger: &'a mut Ledger,
        effects: &'a mut Effects,
    ) -> Cx<'a> {
        Cx { cycle, program, technique, ledger, effects, scouts: None }
    }

    /// The context with the SM's scouts.
    #[must_use]
    #[inline]
    pub fn with_scouts(self, scouts: Option<&'a mut (dyn Scouts + 'a)>) -> Cx<'a> {
        Cx { scouts, ..self }
    }

    /// The SM's scouts, if the plan asks for them.
    #[inline]
    pub fn scouts(&mut self) -> Option<&mut (dyn Scouts + 'a)> {
        self.scouts.as_deref_mut()
    }

    /// Supplies a source register of an instruction that has not been stepped: compares the row with the recorded register in
    /// the lanes that the technique answers for, [`WarpView::reads`].
    ///
    /// # Errors
    /// The first lane that differs, with its place.
    #[inline]
    pub fn supply(
        &mut self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        reg: u8,
        row: &Row,
    ) -> Result<Supplied, Box<ValueMismatch>> {
        self.compare(warp, inst, reg, row)?;
        let recorded = &warp.rows[usize::from(reg)];
        if std::ptr::eq(row, recorded) {
            return Err(self.handed_back(warp, inst.pc, reg, warp.reads(inst, reg), recorded));
        }
        self.ledger.supplied += 1;
        Ok(Supplied { call: self.ledger.proofs.call, reg })
    }

    /// Supplies a result: compares the row with the recorded one in the lanes in which the instruction took effect.
    ///
    /// # Errors
    /// The first lane that differs, with its place.
    #[inline]
    pub fn supply_result(
        &mut self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        result: &RegisterWrite<'_>,
        row: &Row,
    ) -> Result<(), Box<ValueMismatch>> {
        self.check(warp, inst.pc, result.reg, || inst.exec, row, result.row())?;
        if std::ptr::eq(row, result.row()) {
            return Err(self.handed_back(warp, inst.pc, result.reg, inst.exec, row));
        }
        self.supply_as(result.reg);
        Ok(())
    }

    /// Lets the program go on with its own result where the technique does not have it, as in a variant of a paper that
    /// ignores what makes its values wrong. The result counts as supplied and, in [`Ledger::kept`], as one that was compared
    /// with nothing.
    #[inline]
    pub fn keep_result(&mut self, result: &RegisterWrite<'_>) {
        self.ledger.kept += 1;
        self.supply_as(result.reg);
    }

    #[inline]
    fn supply_as(&mut self, reg: u8) {
        self.ledger.supplied += 1;
        self.ledger.proofs.results[usize::from(reg >> 6)] |= 1 << (reg & 63);
    }

    /// Compares a result that the technique holds with the recorded one in the lanes in which the instruction took effect,
    /// without supplying it.
    ///
    /// # Errors
    /// The first lane that differs, with its place.
    #[inline]
    pub fn compare_result(
        &mut self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        result: &RegisterWrite<'_>,
        row: &Row,
    ) -> Result<(), Box<ValueMismatch>> {
        self.check(warp, inst.pc, result.reg, || inst.exec, row, result.row())
    }

    /// Compares a value that the technique holds with a source register of an instruction that has not been stepped, in the
    /// lanes of [`WarpView::reads`], without supplying it.
    ///
    /// # Errors
    /// The first lane that differs, with its place.
    #[inline]
    pub fn compare(
        &mut self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        reg: u8,
        row: &Row,
    ) -> Result<(), Box<ValueMismatch>> {
        self.check(warp, inst.pc, reg, || warp.reads(inst, reg), row, &warp.rows[usize::from(reg)])
    }

    #[inline]
    fn check(
        &mut self,
        warp: &WarpView<'_>,
        pc: u32,
        reg: u8,
        lanes: impl FnOnce() -> u32,
        supplied: &Row,
        recorded: &Row,
    ) -> Result<(), Box<ValueMismatch>> {
        self.ledger.checked += 1;
        if supplied == recorded {
            return Ok(());
        }
        match first_difference(supplied, recorded, lanes()) {
            None => Ok(()),
            Some(lane) => {
                let found = Found::Value(supplied.0[lane].into());
                let recorded = recorded.0[lane].into();
                Err(self.mismatch(warp, pc, (Holder::Register, reg), lane as u32, recorded, found))
            }
        }
    }

    /// Compares a predicate that the technique holds, one bit per lane, with a source predicate of an instruction that has not
    /// been stepped, in the lanes in which the instruction takes effect; the guard, which decides about them, in those on the
    /// path.
    ///
    /// # Errors
    /// The first lane that differs, with its place.
    #[inline]
    pub fn compare_predicate(
        &mut self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        pred: u8,
        held: u32,
    ) -> Result<(), Box<ValueMismatch>> {
        let is_guard = inst.inst.inst.guard.pred.0 == pred;
        let lanes = if is_guard { inst.active } else { warp.effect(inst) };
        self.check_predicate(warp, inst.pc, pred, lanes, held)
    }

    /// Supplies a predicate that an instruction writes, one bit per lane: compares it with the recorded one in the lanes in
    /// which the instruction took effect.
    ///
    /// # Errors
    /// The first lane that differs, with its place.
    #[inline]
    pub fn supply_predicate(
        &mut self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        pred: u8,
        held: u32,
    ) -> Result<(), Box<ValueMismatch>> {
        self.ledger.proofs.predicates |= 1 << (pred & 15);
        self.check_predicate(warp, inst.pc, pred, inst.exec, held)
    }

    #[inline]
    fn check_predicate(
        &mut self,
        warp: &WarpView<'_>,
        pc: u32,
        pred: u8,
        lanes: u32,
        held: u32,
    ) -> Result<(), Box<ValueMismatch>> {
        self.ledger.checked += 1;
        let recorded = warp.preds[usize::from(pred & 15)];
        let differing = (held ^ recorded) & lanes;
        if differing == 0 {
            return Ok(());
        }
        let lane = differing.trailing_zeros();
        let of_lane = |preds: u32| u64::from(preds >> lane & 1);
        let (expected, actual) = (of_lane(recorded), Found::Value(of_lane(held)));
        Err(self.mismatch(warp, pc, (Holder::Predicate, pred), lane, expected, actual))
    }

    /// Compares a word that the technique holds with the recorded uniform register, without supplying it.
    ///
    /// # Errors
    /// The word differs.
    #[inline]
    pub fn compare_uniform(
        &mut self,
        warp: &WarpView<'_>,
        pc: u32,
        reg: u8,
        held: u32,
    ) -> Result<(), Box<ValueMismatch>> {
        self.ledger.checked += 1;
        let recorded = warp.uniforms.get(usize::from(reg)).map_or(0, |row| row.0[0]);
        if held == recorded {
            return Ok(());
        }
        let found = Found::Value(held.into());
        Err(self.mismatch(warp, pc, (Holder::Uniform, reg), 0, recorded.into(), found))
    }

    /// Supplies a uniform register that an instruction writes: compares the word with the recorded one.
    ///
    /// # Errors
    /// The word differs.
    #[inline]
    pub fn supply_uniform(
        &mut self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        reg: u8,
        held: u32,
    ) -> Result<(), Box<ValueMismatch>> {
        self.ledger.proofs.uniforms |= 1 << (reg & 63);
        self.compare_uniform(warp, inst.pc, reg, held)
    }

    /// Compares the sectors that a technique has loaded or locked for an access with those that the access touches: `held`
    /// gives the 32-byte sectors that it has of the 128-byte line at an address, one bit each.
    ///
    /// # Errors
    /// The first lane of which a sector is missing, with its address.
    pub fn compare_sectors(
        &mut self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
        held: impl Fn(u64) -> u8,
    ) -> Result<(), Box<ValueMismatch>> {
        self.ledger.checked += 1;
        // Neighbouring lanes are mostly in one line.
        let (mut line, mut sectors) = (1, 0);
        let mut is_held = |address: u64| {
            if address & !127 != line {
                line = address & !127;
                sectors = held(line);
            }
            sectors >> (address / 32 % 4) & 1 != 0
        };
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let first = access.addresses[lane];
            let last = first.wrapping_add(u64::from(access.bytes.max(1)) - 1);
            if !is_held(first) || !is_held(last) {
                let place = (Holder::Address, 0);
                return Err(self.mismatch(warp, inst.pc, place, lane as u32, first, Found::Elsewhere));
            }
        }
        Ok(())
    }

    /// Lets a read go to its bank unchanged whose register the technique holds nothing of.
    ///
    /// # Errors
    /// The instruction reads a value that the program has written.
    pub fn unwritten(
        &self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        reg: u8,
    ) -> Result<(), Box<ValueMismatch>> {
        match warp.reads(inst, reg) {
            0 => Ok(()),
            lanes => Err(self.missing(warp, inst.pc, reg, lanes)),
        }
    }

    /// The error of a technique that must supply a value that it has lost.
    #[must_use]
    pub fn missing(&self, warp: &WarpView<'_>, pc: u32, reg: u8, lanes: u32) -> Box<ValueMismatch> {
        let lane = lanes.trailing_zeros().min(31);
        let recorded = warp.rows.get(usize::from(reg)).map_or(0, |row| row.0[lane as usize].into());
        self.mismatch(warp, pc, (Holder::Register, reg), lane, recorded, Found::Nothing)
    }

    /// The error of a technique that supplies the recorded row instead of one of its own.
    #[cold]
    fn handed_back(
        &self,
        warp: &WarpView<'_>,
        pc: u32,
        reg: u8,
        lanes: u32,
        row: &Row,
    ) -> Box<ValueMismatch> {
        let lane = lanes.trailing_zeros().min(31);
        let recorded = row.0[lane as usize].into();
        self.mismatch(warp, pc, (Holder::Register, reg), lane, recorded, Found::Recorded)
    }

    fn mismatch(
        &self,
        warp: &WarpView<'_>,
        pc: u32,
        (of, number): (Holder, u8),
        lane: u32,
        expected: u64,
        actual: Found,
    ) -> Box<ValueMismatch> {
        Box::new(ValueMismatch {
            technique: self.technique,
            kernel: self.program.name.clone(),
            pc,
            block: warp.block,
            warp: warp.warp,
            register: number,
            of,
            lane,
            expected,
            actual,
        })
    }

    /// Counts cases in which the technique could have supplied a value.
    #[inline]
    pub fn opportunity(&mut self, count: u64) {
        self.ledger.opportunities += count;
    }

    /// Counts opportunities that were lost.
    #[inline]
    pub fn lost(&mut self, cause: impl Cause, count: u64) {
        self.ledger.lost[usize::from(cause.index())] += count;
    }

    /// Makes an additional write to a register bank, such as of an evicted value.
    #[inline]
    pub fn write_bank(&mut self, bank: u8) {
        self.effects.bank_accesses.push((bank, true));
    }

    /// Makes an additional read of a register bank, such as of a register that moves.
    #[inline]
    pub fn read_bank(&mut self, bank: u8) {
        self.effects.bank_accesses.push((bank, false));
    }

    /// Injects a micro-operation before the next instruction of a warp.
    pub fn issue_before_next(&mut self, warp_slot: usize, op: MicroId) {
        self.effects.micro_ops.push((warp_slot as u8, op));
    }

    /// Loads sectors into L1 ahead of the instruction that needs them;
    /// [`Technique::loaded`](crate::Technique::loaded) is called when they have arrived.
    pub fn load_early(&mut self, load: EarlyLoad) {
        self.effects.early_loads.push(load);
    }

    /// Has a warp asked about again that the technique stalls ([`Hooks::wakes`](crate::Hooks::wakes)): the verdict on its
    /// next instruction, or the cause, may be another one now.
    #[inline]
    pub fn wake(&mut self, warp_slot: usize) {
        self.effects.woken |= 1 << warp_slot;
    }

    /// Unlocks a line of L1, by byte address.
    pub fn unlock(&mut self, line: u64) {
        self.effects.unlocked.push(line);
    }
}

/// The technique's value in a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// Another value.
    Value(u64),
    /// No value: it was released before.
    Nothing,
    /// The recorded row itself, which is no value of the technique.
    Recorded,
    /// Sectors at other addresses.
    Elsewhere,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Found::Value(value) => write!(f, "supplied {value:#010x}"),
            Found::Nothing => f.write_str("has released the value"),
            Found::Recorded => f.write_str("supplied the recorded row itself and none of its own"),
            Found::Elsewhere => f.write_str("has loaded or locked sectors at other addresses"),
        }
    }
}

/// The kind of place that holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// A register.
    Register,
    /// A predicate, whose values are 0 and 1.
    Predicate,
    /// A uniform register.
    Uniform,
    /// The address of a memory access; it has no number.
    Address,
}

impl Holder {
    /// The word for such a place.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Holder::Register => "register",
            Holder::Predicate => "predicate",
            Holder::Uniform => "uniform register",
            Holder::Address => "address",
        }
    }

    /// The name of the place with a number.
    #[must_use]
    pub fn name(self, number: u8) -> String {
        match self {
            Holder::Register => Reg(number).to_string(),
            Holder::Predicate => Pred(number).to_string(),
            Holder::Uniform => UniformReg(number).to_string(),
            Holder::Address => "of the access".to_owned(),
        }
    }
}

/// A value that a technique supplied and that the program did not produce.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "technique {technique}: kernel {kernel}, PC {:#06x}, block {block}, warp {warp}, {} {}, lane {lane}: \
     {actual}, the recording has {expected:#010x}; the technique's model is wrong",
    pc * 8,
    of.noun(),
    of.name(*register)
)]
#[non_exhaustive]
pub struct ValueMismatch {
    /// Name of the technique.
    pub technique: &'static str,
    /// Kernel name.
    pub kernel: String,
    /// Instruction index.
    pub pc: u32,
    /// Linear block index.
    pub block: u32,
    /// Warp within the block.
    pub warp: u32,
    /// Number of the register or predicate.
    pub register: u8,
    /// What it is a number of.
    pub of: Holder,
    /// First lane that differs.
    pub lane: u32,
    /// Recorded value.
    pub expected: u64,
    /// What the technique had instead.
    pub actual: Found,
}
