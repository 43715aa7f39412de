//! Banks of the register file: since sm_70 the number of a register, modulo two, is its bank.
//!
//! As ptxas does, the operands of an instruction are put into both banks while registers are plentiful; a pair or quad
//! counts as its first register, which has an even number. In what ptxas 13.5 makes of the bundled kernels for sm_75,
//! 90 % of the instructions that read two registers read one of each bank, and 99 % of those that read three do not
//! read all from one. So sixteen values that are added to one sum, or stored at addresses in pairs, take every other
//! register.

use super::coalesce::{GroupId, Webs};
use super::code::{Code, Item, Node};
use crate::lower::vir::{Func, Inst};

/// A read does not count if another of the same group happens so many times more often: it is two loops further out.
const RARE: f32 = 50.0;

/// Which groups instructions read together.
pub(super) struct Banks {
    /// Reads of several registers.
    reads: Vec<Read>,
    /// Of which reads each group is a part.
    of_group: Vec<Vec<u32>>,
}

/// What an instruction reads at once.
struct Read {
    /// How often the instruction probably runs.
    weight: f32,
    /// Group and place in it of each operand's first register; at least two.
    operands: Vec<(GroupId, u8)>,
}

impl Banks {
    /// Finds all reads of several registers.
    pub(super) fn of(f: &Func, code: &Code, webs: &Webs) -> Banks {
        let mut banks = Banks { reads: Vec::new(), of_group: vec![Vec::new(); webs.groups.len()] };
        for &b in &f.order {
            let block = &code.blocks[b.index()];
            for item in &block.items {
                let Item::Inst(id) = item else { continue };
                let operands = operands(f, webs, f.inst(*id));
                if operands.len() < 2 {
                    continue;
                }
                for (g, _) in &operands {
                    banks.of_group[*g as usize].push(banks.reads.len() as u32);
                }
                banks.reads.push(Read { weight: block.weight, operands });
            }
        }
        banks
    }

    /// The bank of a group's first register in which fewer reads find all operands in one bank, `bases` being the
    /// first registers of groups that have some; `None` if both are as good.
    pub(super) fn wanted(&self, g: GroupId, webs: &Webs, bases: &[Option<u8>]) -> Option<u8> {
        let reads = || self.of_group[g as usize].iter().map(|&read| &self.reads[read as usize]);
        let most = reads().map(|read| read.weight).fold(0.0, f32::max);
        let bank = |&(h, slot): &(GroupId, u8)| match bases[h as usize] {
            Some(base) => Some((base + slot) % 2),
            None => (webs.groups[h as usize].size > 1).then_some(slot % 2),
        };
        // Weight of the reads whose other operands are all in one bank, by the bank of the first register that would be
        // the same.
        let mut clashes = [0.0f32; 2];
        for read in reads().filter(|read| read.weight * RARE > most) {
            let mut others = read.operands.iter().filter(|operand| operand.0 != g).map(bank);
            let Some(Some(one)) = others.next() else { continue };
            if others.all(|other| other == Some(one)) {
                for (_, slot) in read.operands.iter().filter(|operand| operand.0 == g) {
                    clashes[usize::from((one + slot) % 2)] += read.weight;
                }
            }
        }
        match clashes {
            [even, odd] if even < odd => Some(0),
            [even, odd] if odd < even => Some(1),
            _ => None,
        }
    }
}

/// Places of the registers that an instruction reads, each once.
fn operands(f: &Func, webs: &Webs, inst: &Inst) -> Vec<(GroupId, u8)> {
    let mut places = Vec::new();
    for (source, registers) in inst.src.iter().zip(inst.op.shape().src) {
        let first = source.v[0].reg().filter(|_| registers > 0);
        let place = first.and_then(|r| webs.place(Node::R(r).index(f)));
        places.extend(place.filter(|place| !places.contains(place)));
    }
    places
}
