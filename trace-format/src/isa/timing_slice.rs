//! The backward slice of a kernel for timing: the results on which addresses, barriers and guards depend. All
//! other results are data, which a timing model without techniques does not need.
//!
//! A trace with values holds all recorded rows, and a reader computes the slice from it ([`TimingSlice::of`]).
//! A trace of addresses holds only the rows that the slice needs ([`TimingSlice::recorded`]): loaded values on
//! which an address depends, and, if only a guard depends on loaded values, the lanes of the predicate
//! instead, one bit per 32.

use super::flow::{Flow, LiveSet};
use super::{Inst, Kind, MachineKernel, Pc};

/// Treatment of an instruction's results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Nothing depends on them.
    Nothing,
    /// They are regenerated, or read from the recording if they come from outside the warp.
    Results,
    /// They are predicates that are recorded, although the instruction computes them.
    Recorded,
}

/// What counts as a use, besides guards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Uses {
    /// Addresses and barriers.
    Timing,
    /// Nothing.
    Guards,
}

/// Instructions whose results an address, a barrier or a guard depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimingSlice {
    needs: Vec<Need>,
}

impl TimingSlice {
    /// The slice of a checked kernel: a liveness analysis in which only addresses, barriers and guards count
    /// as uses, and operands of instructions with live results.
    #[must_use]
    pub fn of(kernel: &MachineKernel) -> TimingSlice {
        TimingSlice::with(kernel, &kernel.flow(), |_| false, Uses::Timing)
    }

    /// The slice of guards alone: the results on which the lanes of each instruction depend.
    #[must_use]
    pub fn of_guards(kernel: &MachineKernel) -> TimingSlice {
        TimingSlice::with(kernel, &kernel.flow(), |_| false, Uses::Guards)
    }

    /// The slice without any result.
    #[must_use]
    pub fn empty(kernel: &MachineKernel) -> TimingSlice {
        TimingSlice { needs: vec![Need::Nothing; kernel.insts.len()] }
    }

    /// The slice of a trace of addresses: as [`TimingSlice::of`], but a predicate computed from loaded values
    /// on which no address depends is recorded instead of these values.
    #[must_use]
    pub fn recorded(kernel: &MachineKernel) -> TimingSlice {
        let flow = kernel.flow();
        // The slice if every predicate is recorded: the values on which addresses depend.
        let least = TimingSlice::with(
            kernel,
            &flow,
            |pc| writes_predicates_only(&kernel.insts[pc.index()]),
            Uses::Timing,
        );
        let unknown = least.unknown_predicates(kernel, &flow);
        TimingSlice::with(kernel, &flow, |pc| unknown[pc.index()], Uses::Timing)
    }

    /// Treatment of the results of an instruction.
    #[must_use]
    #[inline]
    pub fn need(&self, pc: Pc) -> Need {
        self.needs[pc.index()]
    }

    /// Whether the results of an instruction are in the slice.
    #[must_use]
    #[inline]
    pub fn needs(&self, pc: Pc) -> bool {
        self.need(pc) != Need::Nothing
    }

    /// The slice in which the predicates of some instructions are recorded.
    fn with(
        kernel: &MachineKernel,
        flow: &Flow,
        is_recorded: impl Fn(Pc) -> bool,
        uses: Uses,
    ) -> TimingSlice {
        let mut slice = TimingSlice { needs: vec![Need::Nothing; kernel.insts.len()] };
        // Registers that an instruction across lanes reads, and uniform ones, count at every write: lanes at other
        // positions are read too, or write.
        let mut everywhere = LiveSet::default();
        loop {
            let before = everywhere;
            slice.look(kernel, flow, &mut everywhere, &is_recorded, uses);
            if everywhere == before {
                return slice;
            }
        }
    }

    fn look(
        &mut self,
        kernel: &MachineKernel,
        flow: &Flow,
        everywhere: &mut LiveSet,
        is_recorded: &impl Fn(Pc) -> bool,
        uses: Uses,
    ) {
        flow.backwards(kernel, |pc, inst, live| {
            let wanted = |set: &LiveSet| {
                inst.dst_regs().any(|r| set.has(r))
                    || inst.dst_uniforms().any(|r| set.has_uniform(r))
                    || inst.all_dst_preds().any(|p| set.has_pred(p))
            };
            let need = match wanted(live) || wanted(everywhere) {
                false => Need::Nothing,
                true if is_recorded(pc) => Need::Recorded,
                true => Need::Results,
            };
            self.needs[pc.index()] = need;
            if need != Need::Nothing && inst.is_unguarded() {
                live.kill(inst);
            }
            live.use_guard(inst);
            // Recorded results need no operands that the kernel computes.
            if need == Need::Results && inst.kind() == Kind::Pure {
                live.use_sources(inst);
                if inst.op.crosses_lanes() {
                    everywhere.use_sources(inst);
                }
            }
            if uses == Uses::Timing && inst.op.takes_address() {
                live.use_source(inst, 0);
            } else if uses == Uses::Timing && inst.kind() == Kind::Barrier {
                (0..2).for_each(|source| live.use_source(inst, source));
            }
            everywhere.add_uniforms(live);
        });
    }

    /// Instructions that write predicates from values that a trace with this slice does not hold.
    fn unknown_predicates(&self, kernel: &MachineKernel, flow: &Flow) -> Vec<bool> {
        let mut unknown = vec![false; kernel.insts.len()];
        let mut anywhere = LiveSet::default();
        loop {
            let before = anywhere;
            flow.forwards(kernel, |pc, inst, tainted| {
                // The guard is always known: it is part of every slice.
                let mut operands = LiveSet::default();
                operands.use_operands(inst);
                let reads_others = inst.op.crosses_lanes() || operands.has_uniforms();
                let reads_unknown = operands.meets(tainted) || reads_others && operands.meets(&anywhere);
                let results_unknown = match (inst.kind(), self.need(pc)) {
                    (_, Need::Recorded) => false,
                    (Kind::Pure, _) => reads_unknown,
                    (_, need) => need == Need::Nothing,
                };
                unknown[pc.index()] = writes_predicates_only(inst) && reads_unknown;
                if results_unknown {
                    tainted.add_results(inst);
                    anywhere.add_results(inst);
                } else if inst.is_unguarded() {
                    tainted.kill(inst);
                }
            });
            if anywhere == before {
                return unknown;
            }
        }
    }
}

/// Whether a pure instruction has no results but predicates.
fn writes_predicates_only(inst: &Inst) -> bool {
    inst.kind() == Kind::Pure
        && inst.results().registers == 0
        && inst.results().predicates != 0
        && !inst.writes_uniform()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::*;

    fn kernel(insts: Vec<Inst>) -> MachineKernel {
        let lines = vec![Default::default(); insts.len()];
        MachineKernel { insts, lines, regs_per_thread: 32, ..MachineKernel::default() }
    }

    fn slice(insts: Vec<Inst>) -> Vec<bool> {
        let kernel = kernel(insts);
        let slice = TimingSlice::of(&kernel);
        (0..kernel.insts.len()).map(|pc| slice.needs(Pc(pc as u32))).collect()
    }

    fn recorded(insts: Vec<Inst>) -> Vec<Need> {
        let kernel = kernel(insts);
        let slice = TimingSlice::recorded(&kernel);
        (0..kernel.insts.len()).map(|pc| slice.need(Pc(pc as u32))).collect()
    }

    fn compare(p: u8, a: u8) -> Inst {
        let op = Op::Isetp { cmp: ICmp::Lt, sign: Sign::S32, bop: BoolOp::And, ex: Extended(false) };
        let mut inst = Inst::new(op).srcs([Src::reg(Reg(a)), Src::RZ]);
        inst.pdst[0] = Pred(p);
        inst
    }

    fn add(dst: u8, a: u8, b: u8) -> Inst {
        Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(dst)).srcs([
            Src::reg(Reg(a)),
            Src::reg(Reg(b)),
            Src::RZ,
        ])
    }

    fn lds(dst: u8, address: u8) -> Inst {
        let op = Op::Lds { width: MemWidth::B32, scale: Scale::X1 };
        Inst::new(op).dst(Reg(dst)).srcs([Src::reg(Reg(address))])
    }

    fn sts(address: u8, data: u8) -> Inst {
        let op = Op::Sts { width: MemWidth::B32, scale: Scale::X1 };
        Inst::new(op).srcs([Src::reg(Reg(address)), Src::reg(Reg(data))])
    }

    #[test]
    fn of_guards_addresses_are_not_needed_and_what_decides_a_predicate_is() {
        let mut guarded = add(4, 1, 1);
        guarded.guard = PredSrc::of(Pred(0));
        // r1 decides P0, r2 is an address, r3 data.
        let insts = vec![add(1, 5, 5), add(2, 5, 5), lds(3, 2), compare(0, 1), guarded, sts(2, 3)];
        let kernel = kernel(insts);
        let needed = |slice: TimingSlice| (0..6).filter(|pc| slice.needs(Pc(*pc))).collect::<Vec<_>>();
        assert_eq!(needed(TimingSlice::of_guards(&kernel)), [0, 3]);
        assert_eq!(needed(TimingSlice::of(&kernel)), [0, 1, 3]);
    }

    #[test]
    fn data_is_not_needed_and_addresses_are() {
        let insts = vec![
            add(1, 2, 3), // address of the load
            lds(4, 1),    // data
            add(5, 4, 4), // data
            add(6, 1, 7), // address of the store
            sts(6, 5),
            add(6, 5, 5), // the register again, as data
            Inst::new(Op::Exit {}),
        ];
        assert_eq!(slice(insts), [true, false, false, true, false, false, false]);
    }

    #[test]
    fn a_loaded_address_and_a_loaded_guard_are_needed() {
        let mut compare =
            Inst::new(Op::Isetp { cmp: ICmp::Lt, sign: Sign::S32, bop: BoolOp::And, ex: Extended(false) })
                .srcs([Src::reg(Reg(4)), Src::RZ]);
        compare.pdst[0] = Pred(0);
        let insts = vec![
            lds(1, 0), // pointer
            lds(2, 1), // data
            lds(4, 0), // compared
            compare,
            add(2, 2, 2).guarded(PredSrc::of(Pred(0))),
            sts(0, 2),
            Inst::new(Op::Exit {}),
        ];
        assert_eq!(slice(insts), [true, false, true, true, false, false, false]);
    }

    #[test]
    fn a_loop_carries_what_the_next_round_needs() {
        let mut back = Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(0)));
        back.target = Pc(0);
        let insts = vec![
            lds(3, 1),    // data
            add(2, 3, 2), // data
            add(1, 1, 8), // next address
            back,
            sts(9, 2),
            Inst::new(Op::Exit {}),
        ];
        assert_eq!(slice(insts), [false, false, true, false, false, false]);
    }

    #[test]
    fn what_other_lanes_may_read_is_needed_wherever_it_is_written() {
        let shuffle = Inst::new(Op::Shfl { mode: ShflMode::Idx }).dst(Reg(1)).srcs([
            Src::reg(Reg(2)),
            Src::RZ,
            Src::RZ,
        ]);
        let insts = vec![
            add(2, 3, 3), // read by the shuffle
            shuffle,
            lds(4, 1),
            add(2, 5, 5), // overwritten in the lanes that are here
            Inst::new(Op::Exit {}),
        ];
        assert_eq!(slice(insts), [true, true, false, true, false]);
    }

    #[test]
    fn a_guard_that_depends_on_a_loaded_value_is_recorded_in_its_place() {
        let on = |p| PredSrc::of(Pred(p));
        let insts = vec![
            lds(1, 0),                   // pointer
            lds(4, 1),                   // compared only
            compare(0, 4),               // of what is not recorded
            compare(1, 1),               // of what is
            add(5, 4, 4).guarded(on(0)), // data
            sts(1, 5).guarded(on(1)),
            Inst::new(Op::Exit {}),
        ];
        let want =
            [Need::Results, Need::Nothing, Need::Recorded, Need::Results, Need::Nothing, Need::Nothing];
        assert_eq!(recorded(insts)[..6], want);
    }

    #[test]
    fn what_a_loop_brings_from_a_load_is_not_known_before_the_load_either() {
        let mut back = Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(0)));
        back.target = Pc(0);
        let insts = vec![
            compare(0, 4), // in the second round the loaded value
            add(5, 4, 4),
            lds(4, 1),
            back,
            Inst::new(Op::Exit {}),
        ];
        assert_eq!(recorded(insts)[..3], [Need::Recorded, Need::Nothing, Need::Nothing]);
    }
}
