//! A tiny assembler for tests: one instruction per line, branch targets as instruction numbers.
//!
//! Registers are `r0`, `rz`; predicates `p0`; uniform ones `u0` and `up0`; a leading `@p0` or `@!p0` guards; plain numbers are
//! immediates and `c` is a word of the parameter bank. A uniform register behind an address is added to it. `#` begins a
//! comment line. An exit is added unless the last line is one; reconvergence points are those of the flow graph.

use trace_format::isa::{
    BarMode, BoolOp, Extended, FCmp, Ftz, ICmp, Inst, MachineKernel, MemOrder, MemWidth, Op, Operand, Pc,
    Pred, PredSrc, ReadOnly, Reg, Rnd, Sat, Scale, Sign, SourceLine, SpecialReg, Src, UniformReg, VoteMode,
};

/// Lines 2 to 14 of the BTREE snippet in figure 3.6 of BOW, shared-memory operand and half-word selectors left
/// out.
pub const FIGURE_3_6: &str = "
    lds r3 r8
    mov r2 4084
    imad r1 r0 r2
    imad r1 r0 r2 r1
    iadd r1 r1 16
    imad r0 r0 r2 r1
    iadd r0 r0 24
    iadd r0 r9 r0
    iadd r1 r0 2040
    lds r2 r1
    iadd r2 r2 256
    iadd r4 r2 143
    isetp p0 r3 r1";

/// The kernel that a listing describes.
pub fn kernel(text: &str) -> MachineKernel {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut insts: Vec<Inst> = lines.map(inst).collect();
    if insts.last().is_none_or(|last| last.op != (Op::Exit {})) {
        insts.push(Inst::new(Op::Exit {}));
    }
    let highest = insts.iter().flat_map(Inst::regs).max();
    let mut kernel = MachineKernel {
        name: "listing".into(),
        lines: vec![SourceLine::default(); insts.len()],
        regs_per_thread: highest.map_or(1, |r| u16::from(r.0) + 1),
        uniform_registers: insts.iter().flat_map(Inst::uniforms).max().map_or(0, |reg| reg.0 + 1),
        insts,
        ..MachineKernel::default()
    };
    kernel.set_reconvergence();
    kernel.check().expect("the listing is well formed");
    kernel
}

fn inst(line: &str) -> Inst {
    let mut words = line.split_whitespace();
    let mut word = || words.next();
    let mut name = word().expect("an instruction");
    let mut guard = PredSrc::TRUE;
    if let Some(text) = name.strip_prefix('@') {
        let plain = text.trim_start_matches('!');
        guard = PredSrc { pred: pred(plain), not: plain.len() < text.len() };
        name = word().expect("an instruction behind its guard");
    }
    let args: Vec<&str> = std::iter::from_fn(word).collect();
    let (rnd, ftz, sat) = (Rnd::Rn, Ftz(false), Sat(false));
    let (width, order) = (MemWidth::B32, MemOrder::Weak);
    let op = match name.split('.').next().expect("a name") {
        "mov" => Op::Mov {},
        "s2r" if name.ends_with(".ctaid") => Op::S2r { sr: SpecialReg::CtaidX },
        "s2r" => Op::S2r { sr: SpecialReg::TidX },
        "r2ur" => Op::R2ur {},
        "iadd" => Op::Iadd3 { x: Extended(false) },
        "imad" => Op::Imad {},
        "wide" => Op::ImadWide { sign: Sign::S32 },
        "fadd" => Op::Fadd { rnd, ftz, sat },
        "ffma" => Op::Ffma { rnd, ftz, sat },
        "dfma" => Op::Dfma { rnd },
        "fsetp" => Op::Fsetp { cmp: FCmp::Lt, ftz, bop: BoolOp::And },
        "isetp" => {
            Op::Isetp { cmp: comparison(name), sign: Sign::S32, bop: BoolOp::And, ex: Extended(false) }
        }
        "ldg" => Op::Ldg { width, order, ro: ReadOnly(false) },
        "stg" => Op::Stg { width, order },
        "stg4" => Op::Stg { width: MemWidth::B128, order },
        "lds" => Op::Lds { width, scale: Scale::X1 },
        "bra" => Op::Bra {},
        "braif" => Op::BraIf {},
        "exit" => Op::Exit {},
        "nop" => Op::Nop {},
        "vote" => Op::Vote { mode: VoteMode::Ballot },
        "bar" => Op::Bar { mode: BarMode::Sync },
        other => panic!("no such instruction in test listings: {other}"),
    };
    let mut built = Inst::new(op).guarded(guard);
    let mut args = args.into_iter();
    let info = op.info();
    if let Op::BraIf {} = op {
        built.psrc[0] = PredSrc::of(pred(args.next().expect("a predicate")));
    }
    if matches!(op, Op::Bra {} | Op::BraIf {}) {
        built.target = Pc(args.next().and_then(|t| t.parse().ok()).expect("a target"));
    }
    if info.dst_regs > 0 {
        let dst = src(args.next().expect("a destination"));
        match dst.operand {
            Operand::Uniform(reg) => built.udst = reg,
            _ => built.dst = dst.as_reg().unwrap_or(Reg::RZ),
        }
    } else if info.pred_dsts > 0 {
        built.pdst[0] = pred(args.next().expect("a destination predicate"));
    }
    for (i, count) in info.src_regs.into_iter().enumerate() {
        if count > 0 {
            built.src[i] = args.next().map_or(Src::RZ, src);
        }
    }
    if op.takes_address()
        && let Some(Operand::Uniform(base)) = args.next().map(|text| src(text).operand)
    {
        built.base = base;
    }
    assert!(args.next().is_none(), "too many operands: {line}");
    built
}

fn comparison(name: &str) -> ICmp {
    match name.split('.').nth(1) {
        Some("lt") => ICmp::Lt,
        Some("le") => ICmp::Le,
        Some("gt") => ICmp::Gt,
        Some("ge") => ICmp::Ge,
        Some("eq") => ICmp::Eq,
        _ => ICmp::Ne,
    }
}

fn pred(text: &str) -> Pred {
    let number = |text: Option<&str>| text.and_then(|n| n.parse().ok());
    match number(text.strip_prefix("up")) {
        Some(number) => Pred::uniform(number),
        None => Pred(number(text.strip_prefix('p')).expect("a predicate")),
    }
}

fn src(text: &str) -> Src {
    match text {
        "rz" => Src::RZ,
        "c" => Src { operand: Operand::Const { bank: 0, offset: 0x160 }, neg: false, abs: false },
        _ => match (text.strip_prefix('r'), text.strip_prefix('u')) {
            (Some(number), _) => Src::reg(Reg(number.parse().expect("a register number"))),
            (_, Some(number)) => Src::uniform(UniformReg(number.parse().expect("a register number"))),
            _ => Src::imm(text.parse::<i64>().expect("a number") as u32),
        },
    }
}
