//! Integer and logic rules: three-input additions, multiply-adds, shift-adds, merged truth tables.

use super::{Combiner, literals};
use crate::lower::fold::SHL;
use crate::lower::truth;
use crate::lower::vir::{InstId, Src, VOp, Val};
use trace_format::isa::{Address, Extended, Lut, MemData, Op, ShiftBy};

const ADD: Op = Op::Iadd3 { x: Extended(false) };

impl Combiner<'_> {
    /// Tries the rules on one instruction.
    pub(super) fn arith_rules(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        if !self.is_plain(id) {
            return false;
        }
        match inst.op {
            VOp::M(op) if op == ADD && inst.pdst[0].is_none() => {
                self.add_of_product(id) || self.add_of_shift(id) || self.add_of_add(id)
            }
            VOp::M(Op::Imad {}) => self.multiply_by_power(id) || self.product_plus_constant(id),
            VOp::M(Op::Lop3 { .. }) => self.logic_of_logic(id),
            VOp::M(Op::Lea { .. }) => self.lea_of_add(id),
            _ => false,
        }
    }

    /// The three terms of an addition without its zeros.
    fn terms(&self, id: InstId) -> Vec<Src> {
        self.f.inst(id).src.iter().copied().filter(|s| s.v[0].imm() != Some(0)).collect()
    }

    fn become_machine(&mut self, id: InstId, op: Op, src: [Src; 3]) {
        let inst = &mut self.f.insts[id.index()];
        inst.op = VOp::M(op);
        inst.src = src;
    }

    /// x + a * b becomes a multiply-add.
    fn add_of_product(&mut self, id: InstId) -> bool {
        let terms = self.terms(id);
        let [x, y] = terms[..] else { return false };
        for (product, other) in [(x, y), (y, x)] {
            let Some(def) = self.single(product.v[0]) else { continue };
            let inner = self.f.inst(def).clone();
            if inner.op != VOp::M(Op::Imad {}) || inner.src[2].v[0] != Val::ZERO || !self.no_deeper(id, def) {
                continue;
            }
            let mut factor = inner.src[1];
            if product.neg {
                let Some(k) = factor.v[0].imm() else { continue };
                factor.v[0] = Val::Imm(k.wrapping_neg());
            }
            if literals(&[inner.src[0], factor, other]) > 1 {
                continue;
            }
            self.become_machine(id, Op::Imad {}, [inner.src[0], factor, other]);
            return true;
        }
        false
    }

    /// x + (a << k) becomes a shift-add, x - (a << k) and (a << k) - x multiply-adds.
    fn add_of_shift(&mut self, id: InstId) -> bool {
        let terms = self.terms(id);
        let [x, y] = terms[..] else { return false };
        for (shifted, other) in [(x, y), (y, x)] {
            let Some((def, op)) = self.definition(shifted.v[0]) else { continue };
            let inner = self.f.inst(def).clone();
            let Some(k) = inner.src[1].v[0].imm().filter(|&k| op == SHL && (1..32).contains(&k)) else {
                continue;
            };
            // A shift that others use too is still worth repeating in a shift-add, which costs nothing more.
            if !self.no_deeper(id, def) || (self.single(shifted.v[0]).is_none() && k > 4) {
                continue;
            }
            if other.v[0].is_literal() && inner.src[0].v[0].is_literal() {
                continue;
            }
            if !shifted.neg && !other.neg {
                self.become_machine(
                    id,
                    Op::Lea { shift: ShiftBy(k as u8) },
                    [inner.src[0], other, Src::NONE],
                );
                return true;
            }
            let factor = if shifted.neg { (1u32 << k).wrapping_neg() } else { 1 << k };
            if literals(&[inner.src[0], other]) == 0 {
                self.become_machine(id, Op::Imad {}, [inner.src[0], Src::one(Val::Imm(factor)), other]);
                return true;
            }
        }
        false
    }

    /// (a + b) + c becomes one addition of three terms.
    fn add_of_add(&mut self, id: InstId) -> bool {
        let terms = self.terms(id);
        for (i, t) in terms.iter().enumerate() {
            // x + k + l folds however often x + k is used; anything else only if the inner sum dies.
            let two_literals = |def: InstId| {
                let inner = self.terms(def);
                let literal = |s: &[Src]| s.len() == 2 && s.iter().any(|s| s.v[0].imm().is_some());
                literal(&terms) && literal(&inner) && self.block(def) == self.block(id)
            };
            let many = self
                .definition(t.v[0])
                .map(|d| d.0)
                .filter(|&d| self.f.inst(d).op == VOp::M(ADD) && two_literals(d));
            let Some(def) = self.single(t.v[0]).or(many) else { continue };
            let inner = self.f.inst(def);
            if inner.op != VOp::M(ADD) || inner.pdst[0].is_some() || !self.no_deeper(id, def) {
                continue;
            }
            let mut merged: Vec<Src> = terms.clone();
            merged.remove(i);
            merged.extend(self.terms(def).into_iter().map(|s| if t.neg { s.negated() } else { s }));
            // Literals add up.
            let sum = merged
                .iter()
                .filter_map(|s| s.v[0].imm().map(|x| if s.neg { x.wrapping_neg() } else { x }))
                .fold(0u32, u32::wrapping_add);
            merged.retain(|s| s.v[0].imm().is_none());
            if sum != 0 {
                merged.push(Src::one(Val::Imm(sum)));
            }
            let negated = merged.iter().filter(|s| s.neg).count();
            if merged.len() > 3 || literals(&merged) > 1 || negated > 2 {
                continue;
            }
            merged.resize(3, Src::RZ);
            self.become_machine(id, ADD, [merged[0], merged[1], merged[2]]);
            return true;
        }
        false
    }

    /// a * 2^k + c becomes a shift-add.
    fn multiply_by_power(&mut self, id: InstId) -> bool {
        let [a, b, c] = self.f.inst(id).src;
        let Some(k) = b.v[0].imm() else { return false };
        if !k.is_power_of_two() || c.v[0].imm() == Some(0) || a.neg || c.neg || a.v[0].is_literal() {
            return false;
        }
        self.become_machine(id, Op::Lea { shift: ShiftBy(k.trailing_zeros() as u8) }, [a, c, Src::NONE]);
        true
    }

    /// (a + k) * m with literals k and m becomes a * m + k * m where the sum is used once.
    fn product_plus_constant(&mut self, id: InstId) -> bool {
        let [a, b, c] = self.f.inst(id).src;
        let Some(m) = b.v[0].imm() else { return false };
        let Some(def) = self.single(a.v[0]) else { return false };
        let inner = self.f.inst(def);
        if inner.op != VOp::M(ADD) || inner.pdst[0].is_some() || a.neg || c.v[0] != Val::ZERO {
            return false;
        }
        let terms = self.terms(def);
        let [x, k] = terms[..] else { return false };
        let Some(k) = k.v[0].imm() else { return false };
        // Only where the result feeds an address or addition that takes the literal in.
        let feeds = self.f.inst(id).dst[0].is_some_and(|d| self.only_addresses(d));
        if x.neg || !feeds || !self.no_deeper(id, def) {
            return false;
        }
        let line = self.f.inst(id).line;
        let mut product = crate::lower::vir::Inst::new(VOp::M(Op::Imad {}), line);
        product.src = [x, b, Src::RZ];
        let d = self.f.new_reg();
        product.dst[0] = Some(d);
        self.insert_before(id, product);
        self.become_machine(id, ADD, [Src::one(Val::Reg(d)), Src::one(Val::Imm(k.wrapping_mul(m))), Src::RZ]);
        true
    }

    /// Whether all uses of a value are 32-bit memory addresses.
    pub(super) fn only_addresses(&self, r: crate::lower::vir::VReg) -> bool {
        let Some(users) = self.users.get(r.index()) else { return false };
        users.others == 0
            && users.insts.iter().all(|&u| {
                let inst = self.f.inst(u);
                let memory = inst.machine().and_then(|op| op.info().memory);
                let narrow = memory.is_some_and(|memory| {
                    let by_lane = matches!(memory.data, MemData::Plain(_) | MemData::Modify(..));
                    by_lane && matches!(memory.address, Address::Narrow(_))
                });
                narrow && inst.src[0].v[0] == Val::Reg(r) && inst.src[1].v[0] != Val::Reg(r)
            })
    }

    /// (a << k) + (x + literal) keeps the literal outside where the sum is only an address.
    fn lea_of_add(&mut self, id: InstId) -> bool {
        let Op::Lea { shift } = (match self.f.inst(id).op {
            VOp::M(op) => op,
            _ => return false,
        }) else {
            return false;
        };
        let [a, b, _] = self.f.inst(id).src;
        let Some(d) = self.f.inst(id).dst[0] else { return false };
        if !self.only_addresses(d) {
            return false;
        }
        let Some((def, op)) = self.definition(b.v[0]) else { return false };
        if op != ADD || self.f.inst(def).pdst[0].is_some() {
            return false;
        }
        let terms = self.terms(def);
        let [x, k] = terms[..] else { return false };
        let Some(k) = k.v[0].imm() else { return false };
        if x.neg || !self.no_deeper(id, def) {
            return false;
        }
        let line = self.f.inst(id).line;
        let mut lea = crate::lower::vir::Inst::new(VOp::M(Op::Lea { shift }), line);
        lea.src = [a, x, Src::NONE];
        let sum = self.f.new_reg();
        lea.dst[0] = Some(sum);
        self.insert_before(id, lea);
        self.become_machine(id, ADD, [Src::one(Val::Reg(sum)), Src::one(Val::Imm(k)), Src::RZ]);
        true
    }

    /// A function of a function of at most three inputs becomes one.
    fn logic_of_logic(&mut self, id: InstId) -> bool {
        let VOp::M(Op::Lop3 { lut }) = self.f.inst(id).op else { return false };
        let outer_src = self.f.inst(id).src;
        let (table, vars) = truth::reduce_words(lut.0, outer_src.map(|s| (s.v[0], s.neg)));
        for slot in 0..3 {
            let Some(v) = vars[slot] else { continue };
            let Some(def) = self.single(v).or_else(|| self.repeated_single(id, v)) else { continue };
            let inner = self.f.inst(def);
            let VOp::M(Op::Lop3 { lut: inner_lut }) = inner.op else { continue };
            if inner.pdst[0].is_some() || !self.no_deeper(id, def) {
                continue;
            }
            let reduced = truth::reduce_words(inner_lut.0, inner.src.map(|s| (s.v[0], s.neg)));
            let Some((table, vars)) = truth::compose((table, vars), slot, reduced) else { continue };
            let src = vars.map(|v| v.map_or(Src::RZ, Src::one));
            if literals(&src) > 1 {
                continue;
            }
            self.become_machine(id, Op::Lop3 { lut: Lut(table) }, src);
            return true;
        }
        false
    }

    /// The definition of a value all of whose uses are in one instruction.
    fn repeated_single(&self, id: InstId, v: Val) -> Option<InstId> {
        let r = v.reg()?;
        let users = self.users.get(r.index())?;
        let (def, _) = self.f.def(v)?;
        (users.others == 0 && users.insts.iter().all(|&u| u == id) && self.is_plain(def)).then_some(def)
    }
}
