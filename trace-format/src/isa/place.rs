//! Which results decide where a kernel accesses memory, at which barrier it waits for how many threads, and in which
//! lanes its instructions take effect. Everything else it computes is data, which a timing model without techniques
//! does not look at.

use super::flow::{Flow, LiveSet};
use super::{Kind, MachineKernel, Pc};

/// Instructions whose results an address, a barrier or a guard depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceSlice {
    needed: Vec<bool>,
}

impl PlaceSlice {
    /// The slice of a checked kernel: a liveness in which only these three count as uses, and the operands of
    /// instructions whose results are live.
    #[must_use]
    pub fn of(kernel: &MachineKernel) -> PlaceSlice {
        let flow = kernel.flow();
        let mut slice = PlaceSlice { needed: vec![false; kernel.insts.len()] };
        // What an instruction across lanes reads counts wherever it is written: lanes that are elsewhere are read too.
        let mut everywhere = LiveSet::default();
        loop {
            let before = everywhere;
            slice.look(kernel, &flow, &mut everywhere);
            if everywhere == before {
                return slice;
            }
        }
    }

    /// Whether the results of an instruction are in the slice.
    #[must_use]
    #[inline]
    pub fn needs(&self, pc: Pc) -> bool {
        self.needed[pc.index()]
    }

    fn look(&mut self, kernel: &MachineKernel, flow: &Flow, everywhere: &mut LiveSet) {
        flow.backwards(kernel, |pc, inst, live| {
            let wanted = |set: &LiveSet| {
                inst.dst_regs().any(|r| set.has(r)) || inst.dst_preds().any(|p| set.has_pred(p))
            };
            let needed = wanted(live) || wanted(everywhere);
            self.needed[pc.index()] = needed;
            if needed && inst.is_unguarded() {
                live.kill(inst);
            }
            live.use_guard(inst);
            // What comes from outside is recorded, so nothing that the kernel computes is needed for it.
            if needed && inst.kind() == Kind::Pure {
                live.use_sources(inst);
                if inst.op.crosses_lanes() {
                    everywhere.use_sources(inst);
                }
            }
            if inst.op.takes_address() {
                live.use_source(inst, 0);
            } else if inst.kind() == Kind::Barrier {
                (0..2).for_each(|source| live.use_source(inst, source));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::*;

    fn slice(insts: Vec<Inst>) -> Vec<bool> {
        let lines = vec![Default::default(); insts.len()];
        let kernel = MachineKernel { insts, lines, regs_per_thread: 32, ..MachineKernel::default() };
        let slice = PlaceSlice::of(&kernel);
        (0..kernel.insts.len()).map(|pc| slice.needs(Pc(pc as u32))).collect()
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
}
