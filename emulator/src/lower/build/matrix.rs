//! `wmma`, `mma`, `ldmatrix`, `stmatrix`, `movmatrix`.
//!
//! Matrix products become HMMA, IMMA, BMMA and DMMA, whose fragments are those of `mma.sync`
//! ([`trace_format::isa::fragment`]). A `wmma` fragment, opaque in PTX, is made of them as ptxas makes it: tiles of
//! 16 rows or 8 columns one after the other, m8n32k16 as the transposed product. Where PTX gives a fragment of
//! halves more registers than it has elements (eight, as on Volta), the registers repeat.

use trace_format::isa::fragment::{Index, Role, place};
use trace_format::isa::{
    AccTy, BitMultiply, ColumnHalf, FloatTy, HmmaSat, HmmaShape, HmmaTy, ImmaShape, IntElement, MatrixCount,
    MatrixOrder, Op, Rnd, SatInt, Sign, Transposed,
};

use super::float::rnd;
use super::ops::{KEEP, NOSAT};
use super::{Builder, Lowered};
use crate::lower::vir::{Inst as VInst, Src, VOp, Val};
use crate::ptx::{
    BitMultiply as PtxBitMultiply, Inst, MatrixLayout, MatrixMemOp, MatrixShape, MmaOp, Operand, ScalarType,
    StateSpace, WmmaFragment,
};

/// Tiling of a PTX product by machine products.
#[derive(Clone, Copy)]
pub(super) struct Tiling {
    /// The machine computes the transposed product.
    pub transposed: bool,
    /// Machine products along the rows and along the columns of the (transposed) accumulator.
    pub tiles: [usize; 2],
    /// Rows of a machine product are 16, else 8.
    tall: bool,
    /// Depth of a machine product.
    depth: usize,
}

impl Tiling {
    /// The tiling of a product of this shape.
    pub(super) fn of(shape: MatrixShape, ty: ScalarType) -> Tiling {
        let (m, n, k) = shape.mnk();
        let transposed = m == 8 && n == 32;
        let (m, n) = if transposed { (n, m) } else { (m, n) };
        let tall = m >= 16 && ty != ScalarType::F64;
        let rows = if tall { 16 } else { 8 };
        Tiling { transposed, tiles: [(m / rows) as usize, (n / 8) as usize], tall, depth: k as usize }
    }

    /// Role of a PTX fragment in the machine product.
    pub(super) fn role(self, fragment: WmmaFragment) -> Role {
        match (fragment, self.transposed) {
            (WmmaFragment::A, false) | (WmmaFragment::B, true) => Role::A,
            (WmmaFragment::B, false) | (WmmaFragment::A, true) => Role::B,
            (WmmaFragment::C | WmmaFragment::D, _) => Role::Acc,
        }
    }

    /// Row and column, in the PTX matrix, of every element of a fragment in the order of registers.
    pub(super) fn elements(self, role: Role, packed: usize) -> Vec<[Index; 2]> {
        let [down, across] = self.tiles;
        let (tiles, count): (Vec<[usize; 2]>, usize) = match role {
            Role::A => {
                ((0..down).map(|t| [16 * t, 0]).collect(), self.depth * if self.tall { 2 } else { 1 } / 4)
            }
            Role::B => ((0..across).map(|t| [0, 8 * t]).collect(), self.depth / 4),
            Role::Acc => (
                (0..down).flat_map(|i| (0..across).map(move |j| [16 * i, 8 * j])).collect(),
                if self.tall { 4 } else { 2 },
            ),
        };
        let shifted = |x: Index, by: usize| Index { fixed: x.fixed + by as u32, ..x };
        let element = |[down, across]: [usize; 2], i| {
            let [row, col] = place(role, self.tall, packed, i);
            let (row, col) = (shifted(row, down), shifted(col, across));
            if self.transposed { [col, row] } else { [row, col] }
        };
        tiles.into_iter().flat_map(|tile| (0..count).map(move |i| element(tile, i))).collect()
    }
}

/// Elements of A and B per 32-bit register; doubles count as one.
pub(super) fn packed(ty: ScalarType) -> usize {
    (32 / ty.bits() as usize).max(1)
}

/// Words per element, or per register of packed elements.
fn words(ty: ScalarType) -> usize {
    if ty == ScalarType::F64 { 2 } else { 1 }
}

impl Builder<'_> {
    /// The words of a fragment operand.
    pub(crate) fn fragment(&mut self, inst: &Inst, operand: &Operand, ty: ScalarType) -> Lowered<Vec<Val>> {
        let mut all = Vec::new();
        for element in operand.elements() {
            all.extend(if words(ty) == 2 {
                self.pair(inst, element)?.to_vec()
            } else {
                vec![self.word(inst, element)?]
            });
        }
        Ok(all)
    }

    /// Assigns a fragment; registers beyond the words repeat them.
    pub(crate) fn set_fragment(&mut self, operand: &Operand, values: &[Val], ty: ScalarType) {
        let n = words(ty);
        let parts = values.len() / n;
        for (i, element) in operand.elements().iter().enumerate() {
            let at = i % parts * n;
            self.set_words(element, &values[at..at + n]);
        }
    }

    fn machine(&mut self, op: Op, a: &[Val], b: &[Val], c: &[Val]) -> Vec<Val> {
        let regs = usize::from(op.info().dst_regs);
        let mut product = VInst::new(VOp::M(op), self.asm.line);
        product.src = [Src::many(a), Src::many(b), Src::many(c)];
        self.asm.put(product, 0).dst[..regs].to_vec()
    }

    // ---- memory -----------------------------------------------------------------------------------------

    /// `ldmatrix`.
    pub(crate) fn ldmatrix(&mut self, inst: &Inst, op: MatrixMemOp) -> Lowered {
        let count = self.matrix_count(inst, op)?;
        let address = self.memory_operand(inst, 0)?;
        let place = self.place(inst, address, StateSpace::Shared)?;
        let machine = Op::Ldsm { count, trans: Transposed(op.trans) };
        let words = self.memory_result(machine, &place, false, usize::from(count.get()));
        self.set_fragment(&inst.dsts()[0], &words, ScalarType::B32);
        Ok(())
    }

    /// `stmatrix`.
    pub(crate) fn stmatrix(&mut self, inst: &Inst, op: MatrixMemOp) -> Lowered {
        let count = self.matrix_count(inst, op)?;
        let address = self.memory_operand(inst, 0)?;
        let data = self.fragment(inst, &inst.srcs()[1], ScalarType::B32)?;
        let place = self.place(inst, address, StateSpace::Shared)?;
        let machine = Op::Stsm { count, trans: Transposed(op.trans) };
        let mut store = VInst::new(VOp::M(machine), self.asm.line);
        store.src[0] = Src::one(place.base[0]);
        store.src[1] = Src::many(&data);
        store.offset = place.offset;
        self.asm.append(store);
        Ok(())
    }

    /// Matrices that an instruction moves; a generic address is taken for one of shared memory, as PTX demands.
    fn matrix_count(&self, inst: &Inst, op: MatrixMemOp) -> Lowered<MatrixCount> {
        let shared = matches!(op.space, StateSpace::Shared | StateSpace::SharedCluster | StateSpace::Generic);
        if op.shape != MatrixShape::M8n8 || op.ty != ScalarType::B16 || op.packed_source || !shared {
            return Err(self.unsupported(inst, "a matrix of other than 8x8 halves"));
        }
        Ok(match op.num {
            1 => MatrixCount::X1,
            2 => MatrixCount::X2,
            _ => MatrixCount::X4,
        })
    }

    /// `movmatrix`.
    pub(crate) fn movmatrix(&mut self, inst: &Inst) -> Lowered {
        let a = self.word(inst, &inst.srcs()[0])?;
        let d = self.asm.r1(Op::Movm {}, &[a.into()]);
        self.set_word(&inst.dsts()[0], d);
        Ok(())
    }

    // ---- products ---------------------------------------------------------------------------------------

    /// `wmma.mma` and `mma`.
    pub(crate) fn matrix_multiply(&mut self, inst: &Inst, op: MmaOp, wmma: bool) -> Lowered {
        if op.sparse {
            return Err(self.unsupported(inst, "a product with a sparse matrix"));
        }
        let row_col = op.a_layout == MatrixLayout::Row && op.b_layout == MatrixLayout::Col;
        let volta = op.shape == MatrixShape::M8n8k4 && op.a_ty == ScalarType::F16;
        if !wmma && !volta && !row_col {
            return Err(self.unsupported(inst, "a product of this layout"));
        }
        let a = self.fragment(inst, &inst.srcs()[0], op.a_ty)?;
        let b = self.fragment(inst, &inst.srcs()[1], op.b_ty)?;
        let c = self.fragment(inst, &inst.srcs()[2], op.c_ty)?;
        let d = match op.a_ty {
            _ if volta => self.volta_multiply(inst, op, &a, &b, &c)?,
            ScalarType::F64 => self.double_multiply(op, &a, &b, &c),
            _ => {
                let c = self.accumulators(&c, op.c_ty, op.d_ty);
                let mixed = op.c_ty == ScalarType::F32 && op.d_ty == ScalarType::F16;
                let d = self.tiled_multiply(inst, op, mixed, [&a, &b, &c])?;
                if mixed { self.narrowed(&d) } else { d }
            }
        };
        self.set_fragment(&inst.dsts()[0], &d, op.d_ty);
        Ok(())
    }

    /// C in single precision where C or D is.
    fn accumulators(&mut self, c: &[Val], c_ty: ScalarType, d_ty: ScalarType) -> Vec<Val> {
        if c_ty != ScalarType::F16 || d_ty != ScalarType::F32 {
            return c.to_vec();
        }
        let op = Op::F2f { dst: FloatTy::F32, src: FloatTy::F16, rnd: Rnd::Rn, ftz: KEEP, sat: NOSAT };
        let mut wide = Vec::with_capacity(2 * c.len());
        for &pair in c {
            let upper = self.asm.shr(Sign::U32, pair, Val::Imm(16));
            wide.push(self.asm.r1(op, &[pair.into()]));
            wide.push(self.asm.r1(op, &[upper.into()]));
        }
        wide
    }

    /// Singles as pairs of halves.
    fn narrowed(&mut self, d: &[Val]) -> Vec<Val> {
        let op = Op::F2f { dst: FloatTy::F16, src: FloatTy::F32, rnd: Rnd::Rn, ftz: KEEP, sat: NOSAT };
        let narrow: Vec<Val> = d.iter().map(|&v| self.asm.r1(op, &[v.into()])).collect();
        narrow.chunks_exact(2).map(|p| self.asm.prmt(p[0], Val::Imm(0x5410), p[1])).collect()
    }

    /// One machine product per tile of the accumulator.
    fn tiled_multiply(
        &mut self,
        inst: &Inst,
        op: MmaOp,
        wide: bool,
        [a, b, c]: [&[Val]; 3],
    ) -> Lowered<Vec<Val>> {
        let tiling = Tiling::of(op.shape, op.a_ty);
        let Some(machine) = machine_product(op, tiling, wide) else {
            return Err(self.unsupported(inst, "a product of these types"));
        };
        let (a, b) = if tiling.transposed { (b, a) } else { (a, b) };
        // Before sm_80 tensor cores multiply over a depth of eight, and round after each.
        let (machine, steps) = match machine {
            Op::Hmma { shape: HmmaShape::S16816, ty, acc, sat } if self.sm < 80 => {
                (Op::Hmma { shape: HmmaShape::S1688, ty, acc, sat }, 2)
            }
            _ => (machine, 1),
        };
        let [a_regs, b_regs, c_regs] = machine.info().src_regs.map(usize::from);
        let [down, across] = tiling.tiles;
        let mut d = Vec::with_capacity(c.len());
        for i in 0..down {
            for j in 0..across {
                let c_at = (i * across + j) * c_regs;
                let mut sum = c[c_at..c_at + c_regs].to_vec();
                for step in 0..steps {
                    let (a_at, b_at) = ((i * steps + step) * a_regs, (j * steps + step) * b_regs);
                    sum = self.machine(machine, &a[a_at..a_at + a_regs], &b[b_at..b_at + b_regs], &sum);
                }
                d.extend(sum);
            }
        }
        Ok(d)
    }

    /// Doubles: 8x8x4 products over the halves of the rows and the steps of k.
    fn double_multiply(&mut self, op: MmaOp, a: &[Val], b: &[Val], c: &[Val]) -> Vec<Val> {
        let (m, _, k) = op.shape.mnk();
        let (halves, steps) = ((m / 8) as usize, (k / 4) as usize);
        let machine = Op::Dmma { rnd: rnd(op.rounding) };
        let mut d = Vec::with_capacity(c.len());
        for half in 0..halves {
            let mut sum = c[4 * half..4 * half + 4].to_vec();
            for step in 0..steps {
                let at = 2 * (halves * step + half);
                sum = self.machine(machine, &a[at..at + 2], &b[2 * step..2 * step + 2], &sum);
            }
            d.extend(sum);
        }
        d
    }

    /// Volta's 8x8x4 products of halves: singles take two instructions, one per half of the columns.
    fn volta_multiply(
        &mut self,
        inst: &Inst,
        op: MmaOp,
        a: &[Val],
        b: &[Val],
        c: &[Val],
    ) -> Lowered<Vec<Val>> {
        let order = |layout| if layout == MatrixLayout::Row { MatrixOrder::Row } else { MatrixOrder::Col };
        let acc = match (op.c_ty, op.d_ty) {
            (ScalarType::F16, ScalarType::F16) => AccTy::F16,
            (ScalarType::F32, ScalarType::F32) => AccTy::F32,
            _ => return Err(self.unsupported(inst, "m8n8k4 with different accumulator types")),
        };
        let halves: &[ColumnHalf] =
            if acc == AccTy::F16 { &[ColumnHalf::Lower] } else { &[ColumnHalf::Lower, ColumnHalf::Upper] };
        let mut d = Vec::with_capacity(c.len());
        for (&half, c) in halves.iter().zip(c.chunks_exact(4)) {
            let (a_order, b_order) = (order(op.a_layout), order(op.b_layout));
            let machine = Op::Hmma884 { a: a_order, b: b_order, acc, half, sat: HmmaSat(op.satfinite) };
            d.extend(self.machine(machine, a, b, c));
        }
        Ok(d)
    }
}

/// The machine product that a product is made of, if there is one.
fn machine_product(op: MmaOp, tiling: Tiling, wide: bool) -> Option<Op> {
    use ScalarType as T;
    let sat = HmmaSat(op.satfinite);
    let acc = match op.d_ty {
        T::F16 if !wide => AccTy::F16,
        _ => AccTy::F32,
    };
    let element = |ty| {
        Some(match ty {
            T::U8 => IntElement::U8,
            T::S8 => IntElement::S8,
            T::U4 => IntElement::U4,
            T::S4 => IntElement::S4,
            _ => return None,
        })
    };
    match (op.a_ty, tiling.tall, tiling.depth) {
        (T::F16 | T::Bf16 | T::Tf32, true, depth) if op.a_ty == op.b_ty => {
            let ty = match op.a_ty {
                T::F16 => HmmaTy::F16,
                T::Bf16 => HmmaTy::Bf16,
                _ => HmmaTy::Tf32,
            };
            let shape = match (ty, depth) {
                (HmmaTy::Tf32, 4) => HmmaShape::S1684,
                (_, 8) => HmmaShape::S1688,
                (HmmaTy::F16 | HmmaTy::Bf16, 16) => HmmaShape::S16816,
                _ => return None,
            };
            Some(Op::Hmma { shape, ty, acc, sat })
        }
        (T::B1, tall, depth) => {
            let shape = match (tall, depth) {
                (false, 128) => ImmaShape::S88128,
                (true, 128) => ImmaShape::S168128,
                (true, 256) => ImmaShape::S168256,
                _ => return None,
            };
            let multiply = match op.bit_op? {
                PtxBitMultiply::XorPopc => BitMultiply::Xor,
                PtxBitMultiply::AndPopc => BitMultiply::And,
            };
            Some(Op::Bmma { shape, op: multiply })
        }
        (_, tall, depth) => {
            let (a, b) = (element(op.a_ty)?, element(op.b_ty)?);
            let shape = match (a.per_register(), tall, depth) {
                (4, false, 16) => ImmaShape::S8816,
                (4, true, 16) => ImmaShape::S16816,
                (4, true, 32) | (8, true, 32) => ImmaShape::S16832,
                (8, false, 32) => ImmaShape::S8832,
                (8, true, 64) => ImmaShape::S16864,
                _ => return None,
            };
            (a.per_register() == b.per_register()).then_some(Op::Imma {
                shape,
                a,
                b,
                sat: SatInt(op.satfinite),
            })
        }
    }
}
