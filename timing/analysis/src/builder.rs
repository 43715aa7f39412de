//! Kernels that tests write instruction by instruction.

use trace_format::isa::*;

/// Builds a kernel instruction by instruction.
#[derive(Clone, Debug, Default)]
pub struct Builder(Vec<Inst>);

/// A register operand.
pub fn r(n: u8) -> Src {
    Src::reg(Reg(n))
}

impl Builder {
    /// Any instruction.
    pub fn push(&mut self, inst: Inst) -> &mut Builder {
        self.0.push(inst);
        self
    }

    /// `d = value`.
    pub fn mov(&mut self, d: u8, value: u32) -> &mut Builder {
        self.push(Inst::new(Op::Mov {}).dst(Reg(d)).srcs([Src::imm(value)]))
    }

    /// `d = a + b + c`.
    pub fn iadd(&mut self, d: u8, a: Src, b: Src, c: Src) -> &mut Builder {
        self.push(Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(d)).srcs([a, b, c]))
    }

    /// `d = a * b + c`, single precision.
    pub fn ffma(&mut self, d: u8, a: u8, b: u8, c: u8) -> &mut Builder {
        let op = Op::Ffma { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
        self.push(Inst::new(op).dst(Reg(d)).srcs([r(a), r(b), r(c)]))
    }

    /// `d = special register`.
    pub fn special(&mut self, d: u8, sr: SpecialReg) -> &mut Builder {
        self.push(Inst::new(Op::S2r { sr }).dst(Reg(d)))
    }

    /// `d = a << shift`.
    pub fn shl(&mut self, d: u8, a: u8, shift: u32) -> &mut Builder {
        let op = Op::ShfL { wide: Wide(false), wrap: Wrap(false), high: High(false) };
        self.push(Inst::new(op).dst(Reg(d)).srcs([r(a), Src::imm(shift), Src::RZ]))
    }

    /// `d = global[pair a + offset]`.
    pub fn ldg(&mut self, d: u8, a: u8, offset: i32) -> &mut Builder {
        let op = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(false) };
        let mut inst = Inst::new(op).dst(Reg(d)).srcs([r(a)]);
        inst.offset = offset;
        self.push(inst)
    }

    /// `d... = global[pair a + offset]`, of a width and ordering.
    pub fn load(&mut self, d: u8, a: u8, offset: i32, width: MemWidth, order: MemOrder) -> &mut Builder {
        let op = Op::Ldg { width, order, ro: ReadOnly(false) };
        let mut inst = Inst::new(op).dst(Reg(d)).srcs([r(a)]);
        inst.offset = offset;
        self.push(inst)
    }

    /// Guards the latest instruction with `p0`.
    pub fn guarded(&mut self) -> &mut Builder {
        let last = self.0.last_mut().expect("an instruction");
        last.guard = PredSrc::of(Pred(0));
        self
    }

    /// `p0 = a < b`.
    pub fn below(&mut self, a: u8, b: u32) -> &mut Builder {
        let op = Op::Isetp { cmp: ICmp::Lt, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
        let mut set = Inst::new(op).srcs([r(a), Src::imm(b)]);
        set.pdst[0] = Pred(0);
        self.push(set)
    }

    /// `global[pair a + offset] = b`.
    pub fn stg(&mut self, a: u8, b: u8, offset: i32) -> &mut Builder {
        let op = Op::Stg { width: MemWidth::B32, order: MemOrder::Weak };
        let mut inst = Inst::new(op).srcs([r(a), r(b)]);
        inst.offset = offset;
        self.push(inst)
    }

    /// `d = shared[a]`.
    pub fn lds(&mut self, d: u8, a: u8) -> &mut Builder {
        let op = Op::Lds { width: MemWidth::B32, scale: Scale::X1 };
        self.push(Inst::new(op).dst(Reg(d)).srcs([r(a)]))
    }

    /// `d = value` when `a` is available.
    pub fn value_after(&mut self, d: u8, a: u8, value: u32) -> &mut Builder {
        self.push(Inst::new(Op::Imad {}).dst(Reg(d)).srcs([r(a), Src::RZ, Src::imm(value)]))
    }

    /// `d..d+4` = texel at the address in a.
    pub fn tex(&mut self, d: u8, a: u8) -> &mut Builder {
        let op = Op::Tex {
            geometry: TexGeometry::D1,
            coord: TexCoord::Int,
            lod: TexLod::Base,
            result: TexResult::Words,
            words: TexWords::All,
            offset: TexOffset(false),
            sampler: TexSampler(false),
        };
        self.push(Inst::new(op).dst(Reg(d)).srcs([r(a), r(a)]))
    }

    /// `d = global[pair a]`, then `global[pair a] += b`.
    pub fn atomic_add(&mut self, d: u8, a: u8, b: u8) -> &mut Builder {
        let op = Op::Atomg {
            op: AtomOp::Add,
            ty: AtomTy::U32,
            mode: AddrMode::Global,
            order: MemOrder::Weak,
            scope: Scope::Gpu,
        };
        self.push(Inst::new(op).dst(Reg(d)).srcs([r(a), r(b)]))
    }

    /// `shared[a] = b`.
    pub fn sts(&mut self, a: u8, b: u8) -> &mut Builder {
        let op = Op::Sts { width: MemWidth::B32, scale: Scale::X1 };
        self.push(Inst::new(op).srcs([r(a), r(b)]))
    }

    /// `d = local[a]`.
    pub fn ldl(&mut self, d: u8, a: u8) -> &mut Builder {
        self.push(Inst::new(Op::Ldl { width: MemWidth::B32 }).dst(Reg(d)).srcs([r(a)]))
    }

    /// `local[a] = b`.
    pub fn stl(&mut self, a: u8, b: u8) -> &mut Builder {
        self.push(Inst::new(Op::Stl { width: MemWidth::B32 }).srcs([r(a), r(b)]))
    }

    /// Barrier of the whole block.
    pub fn bar(&mut self) -> &mut Builder {
        self.push(Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(0)]))
    }

    /// Branch to `target` where a is below b.
    pub fn branch_below(&mut self, a: u8, b: u32, target: u32) -> &mut Builder {
        self.below(a, b);
        let mut bra = Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(0)));
        bra.target = Pc(target);
        self.push(bra)
    }

    /// Number of instructions so far, which is the next one's position.
    pub fn here(&self) -> u32 {
        self.0.len() as u32
    }

    /// Ends the kernel.
    pub fn exit(&self) -> MachineKernel {
        let mut insts = self.0.clone();
        insts.push(Inst::new(Op::Exit {}));
        let highest = insts.iter().flat_map(Inst::regs).map(|r| r.0).max();
        let kernel = MachineKernel {
            name: "hand".into(),
            lines: vec![SourceLine::default(); insts.len()],
            uniform_registers: insts.iter().flat_map(Inst::uniforms).max().map_or(0, |reg| reg.0 + 1),
            insts,
            regs_per_thread: u16::from(highest.unwrap_or(0)) + 2,
            ..MachineKernel::default()
        };
        kernel.check().expect("a well-formed kernel");
        kernel
    }
}
