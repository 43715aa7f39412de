//! Numbers packed into a register beside others, and minima and maxima with parts or signs that our rows lack.

use super::super::args::Args;
use super::super::arithmetic::is_max;
use super::super::code::{Aside, Place, Refusal, moved};
use super::super::half;
use super::parts::{and, in_register, lop3, permuted};
use sass::Instruction;
use trace_format::isa::{
    BoolFloat, BoolOp, FCmp, FloatTy, Ftz, HalfTy, Halves, High, Inst, IntTy, Max, MufuFn, NanProp, Op,
    Operand, PackRnd, PredSrc, PrmtMode, Reg, Relu, Rnd, Sat, SatFinite, Sign, Src, Wide, Wrap,
};

/// A format of packed integers: the bits of one, whether it has a sign, and the row that saturates to it, if there is one.
type Packed = (u32, bool, Option<IntTy>);

const INTEGERS: [(&str, Packed); 8] = [
    ("U16", (16, false, Some(IntTy::U16))),
    ("S16", (16, true, Some(IntTy::S16))),
    ("U8", (8, false, Some(IntTy::U8))),
    ("S8", (8, true, Some(IntTy::S8))),
    ("U4", (4, false, None)),
    ("S4", (4, true, None)),
    ("U2", (2, false, None)),
    ("S2", (2, true, None)),
];

/// The upper word that a source has beside what is packed, by its part: how many of its bits remain.
const KEPT: [&str; 4] = ["", "H1", "24", "28"];

/// d = c beside a and b, which are saturated to a narrow format: b lowest.
pub(super) fn integers(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("S32");
    if !args.has("SAT") {
        return Err("only saturated numbers are known of it".into());
    }
    let (bits, signed, row) = args.pick(&INTEGERS).ok_or("its format is not known")?;
    let mut last = Inst::new(Op::Imad {});
    args.dst(&mut last)?;
    let [a, b] = [args.src()?, args.src()?];
    let (c, part) = args.part()?;
    if !KEPT.contains(&part) {
        return Err(format!("the part .{part} of a register is not known of it"));
    }
    let mut insts = Vec::new();
    for (number, source) in [a, b].into_iter().enumerate() {
        let to = args.temporary(number as u8);
        if let Some(dst) = row {
            insts.push(Inst::new(Op::I2i { dst, src: Sign::S32 }).srcs([source]).dst(to));
        } else {
            let most = if signed { (1i32 << (bits - 1)) - 1 } else { (1i32 << bits) - 1 };
            let least = if signed { -most - 1 } else { 0 };
            let bound = |max, source, bound: i32| {
                let op = Op::Imnmx { sign: Sign::S32, max: Max(max) };
                Inst::new(op).srcs([source, Src::imm(bound as u32)]).dst(to)
            };
            insts.extend([
                moved(source, to),
                bound(true, Src::reg(to), least),
                bound(false, Src::reg(to), most),
            ]);
        }
        insts.push(and(Src::reg(to), (1 << bits) - 1, to));
    }
    let [upper, lower] = [0, 1].map(|number| Src::reg(args.temporary(number)));
    let shifted = |source: Src, by: u32, added: Src| [source, Src::imm(1 << by), added];
    if bits == 16 {
        insts.push(last.srcs(shifted(upper, bits, lower)));
        return Ok(Aside::of(insts));
    }
    let both = args.temporary(2);
    insts.push(Inst::new(Op::Imad {}).srcs(shifted(upper, bits, lower)).dst(both));
    let mut kept = c;
    if part == "H1" {
        let to = args.temporary(3);
        let half = permuted(in_register(c, to, &mut insts), 0x4432, to);
        kept = Src::reg(to);
        insts.push(half);
    }
    insts.push(last.srcs(shifted(kept, 2 * bits, Src::reg(both))));
    Ok(Aside::of(insts))
}

/// Whether a packing is of two numbers in single precision to halves, which is one row.
pub(super) fn is_plain(word: &Instruction) -> bool {
    word.has("PACK_AB")
}

/// Packings of floats that are not two halves: to 8 bits and from them, to TF32, and beside what a register has.
pub(super) fn floats(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let formats = [
        ("E4M3", FloatTy::E4m3),
        ("E5M2", FloatTy::E5m2),
        ("BF16", FloatTy::Bf16),
        ("TF32", FloatTy::Tf32),
        ("F16", FloatTy::F16),
        ("F32", FloatTy::F32),
    ];
    let (rnd, relu) = (if args.has("RZ") { PackRnd::Zero } else { PackRnd::Nearest }, Relu(args.has("RELU")));
    let fin = SatFinite(args.has("SATFINITE"));
    let kinds: Vec<FloatTy> = args.all(&formats);
    // sm_80 names neither halves nor single precision.
    let (dst, src) = match kinds[..] {
        [dst, src] => (dst, src),
        [dst] => (dst, FloatTy::F32),
        [] => (FloatTy::F16, FloatTy::F32),
        _ => return Err("its formats are not known".into()),
    };
    let mut pack = Inst::new(Op::F2fp { dst, rnd, relu, fin });
    args.dst(&mut pack)?;
    let two = args.has("PACK_AB_MERGE_C");
    let one = args.has("MERGE_C") || args.has("PACK_B");
    let unpacks = args.has("UNPACK_B") || args.has("UNPACK_B_MERGE_C");
    let merges = word.modifiers.iter().any(|modifier| modifier.ends_with("MERGE_C"));
    let first = if two { args.src()? } else { Src::RZ };
    let (mut second, half) = args.part()?;
    let mut insts = Vec::new();
    match half {
        "" => {}
        "H1" if unpacks => {
            let to = args.temporary(3);
            let half = permuted(in_register(second, to, &mut insts), 0x4432, to);
            insts.push(half);
            second = Src::reg(to);
        }
        _ => return Err(format!("the part .{half} of a register is not known of it")),
    }
    if unpacks {
        let bits = match src {
            FloatTy::F16 | FloatTy::Bf16 => 16,
            _ => 8,
        };
        let [upper, lower] = [args.temporary(0), args.temporary(1)];
        let op = Op::ShfR { sign: Sign::U32, wide: Wide(false), wrap: Wrap(false), high: High(false) };
        insts.push(Inst::new(op).srcs([second, Src::imm(bits), Src::RZ]).dst(upper));
        let op = Op::F2f { dst: FloatTy::F32, src, rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
        insts.push(Inst::new(op).srcs([Src::reg(upper)]).dst(upper));
        insts.push(Inst::new(op).srcs([second]).dst(lower));
        pack = pack.srcs([Src::reg(upper), Src::reg(lower)]);
    } else if two || one {
        if src != FloatTy::F32 {
            return Err("its formats are not known".into());
        }
        pack = pack.srcs([first, second]);
    } else {
        return Err("what it packs is not known".into());
    }
    if !merges {
        insts.push(pack);
        return Ok(Aside::of(insts));
    }
    let (c, part) = args.part()?;
    let selector = match part {
        "" => 0x5410,
        "H1" => 0x7610,
        _ => return Err(format!("the part .{part} of a register is not known of it")),
    };
    let mut both = Inst::new(Op::Prmt { mode: PrmtMode::Index });
    both.dst = std::mem::replace(&mut pack.dst, args.temporary(2));
    both = both.srcs([Src::reg(pack.dst), Src::imm(selector), c]);
    insts.extend([pack, both]);
    Ok(Aside::of(insts))
}

/// A source of one half in both places.
fn in_both(source: &mut Src, halves: Halves, to: Reg, insts: &mut Vec<Inst>) {
    let selector = match halves {
        Halves::Both => return,
        Halves::Low => 0x1010,
        Halves::High => 0x3232,
    };
    insts.push(permuted(Src { neg: false, abs: false, ..*source }, selector, to));
    source.operand = Operand::Reg(to);
}

/// The smaller or larger of both halves.
pub(super) fn half_extremes(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let ty = half::half_type(args);
    let (ftz, nan) = (Ftz(args.has("FTZ")), NanProp(args.has("NAN")));
    let with_sign = args.has("XORSIGN");
    let mut extreme = Inst::new(Op::Nop {});
    args.dst(&mut extreme)?;
    let mut insts = Vec::new();
    for place in 0..2 {
        let (mut source, halves) = half::source(args)?;
        in_both(&mut source, halves, args.temporary(place as u8), &mut insts);
        extreme.src[place] = source;
    }
    extreme.op = Op::Hmnmx2 { ty, max: Max(is_max(args)?), ftz, nan };
    if !with_sign {
        insts.push(extreme);
        return match insts[..] {
            [inst] => Ok(Place::Here(inst)),
            _ => Ok(Aside::of(insts)),
        };
    }
    let cmp = Op::Hset2 { ty, cmp: FCmp::Num, ftz: Ftz(false), bop: BoolOp::And, bf: BoolFloat(false) };
    signed(word, args, extreme, insts, cmp, 0x8000_8000)
}

/// The smaller or larger of two numbers, with the product of their signs.
pub(super) fn extreme_with_sign(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("XORSIGN");
    let (ftz, nan) = (Ftz(args.has("FTZ")), NanProp(args.has("NAN")));
    let mut extreme = Inst::new(Op::Nop {});
    args.dst(&mut extreme)?;
    args.srcs::<2>(&mut extreme)?;
    extreme.op = Op::Fmnmx { max: Max(is_max(args)?), ftz, nan };
    let cmp = Op::Fset { cmp: FCmp::Num, ftz: Ftz(false), bop: BoolOp::And, bf: BoolFloat(false) };
    signed(word, args, extreme, Vec::new(), cmp, 0x8000_0000)
}

/// A result that is not negative gets the product of the signs of its sources, unless it is NaN.
fn signed(
    word: &Instruction,
    args: &Args<'_>,
    extreme: Inst,
    mut insts: Vec<Inst>,
    number: Op,
    bits: u32,
) -> Result<Place, Refusal> {
    let literal = |src: &Src| !matches!(src.operand, Operand::Reg(_));
    if extreme.src[..2].iter().any(literal) {
        return Err(format!("a literal beside the signs of `{word}` is not known"));
    }
    let [signs, result, numbers] = [4, 5, 6].map(|number| args.temporary(number));
    let plain = |src: Src| Src { neg: false, abs: false, ..src };
    let [a, b] = [plain(extreme.src[0]), plain(extreme.src[1])];
    insts.push(lop3(0x3C, [a, b, Src::RZ], signs));
    insts.push(Inst { dst: result, ..extreme });
    let mut compare = Inst::new(number).srcs([Src::reg(result), Src::reg(result)]).dst(numbers);
    compare.psrc[0] = PredSrc::TRUE;
    insts.push(compare);
    insts.push(lop3(0x80, [Src::reg(signs), Src::reg(numbers), Src::imm(bits)], signs));
    insts.push(lop3(0xFC, [Src::reg(result), Src::reg(signs), Src::RZ], extreme.dst));
    Ok(Aside::of(insts))
}

/// The product of two halves in single precision.
pub(super) fn half_product(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("F32");
    let ty = half::half_type(args);
    let (ftz, sat) = (Ftz(args.has("FTZ")), Sat(args.has("SAT")));
    let mut product = Inst::new(Op::Fmul { rnd: Rnd::Rn, ftz, sat });
    args.dst(&mut product)?;
    let mut insts = Vec::new();
    for place in 0..2 {
        let (source, halves) = half::source(args)?;
        let to = args.temporary(place as u8);
        let widened = widen(ty, source, halves, to, &mut insts)?;
        product.src[place] = widened;
    }
    insts.push(product);
    Ok(Aside::of(insts))
}

/// One half of a source in single precision.
fn widen(ty: HalfTy, source: Src, halves: Halves, to: Reg, insts: &mut Vec<Inst>) -> Result<Src, Refusal> {
    let plain = Src { neg: false, abs: false, ..source };
    let selector = if halves == Halves::High { 0x4432 } else { 0x4410 };
    insts.push(permuted(plain, selector, to));
    let op = Op::F2f { dst: FloatTy::F32, src: ty.into(), rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
    insts.push(Inst::new(op).srcs([Src::reg(to)]).dst(to));
    Ok(Src { operand: Operand::Reg(to), ..source })
}

/// A function of a half, computed in single precision.
pub(super) fn function_of_half(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let ty = if args.has("BF16") { HalfTy::Bf16 } else { HalfTy::F16 };
    args.has("F16");
    let func = args.pick(&[("EX2", MufuFn::Ex2), ("TANH", MufuFn::Tanh)]);
    let func = func.ok_or("its function of halves is not known")?;
    let dst = FloatTy::from(ty);
    let op = Op::F2fp { dst, rnd: PackRnd::Nearest, relu: Relu(false), fin: SatFinite(false) };
    let mut pack = Inst::new(op);
    args.dst(&mut pack)?;
    let (source, part) = args.part()?;
    let halves = match part {
        "" => Halves::Low,
        "H1" => Halves::High,
        _ => return Err(format!("the part .{part} of a register is not known of it")),
    };
    let [wide, result] = [0, 1].map(|number| args.temporary(number));
    let mut insts = Vec::new();
    let widened = widen(ty, source, halves, wide, &mut insts)?;
    // Of single precision's subnormal numbers, a half may have become none.
    let ftz = Ftz(ty == HalfTy::Bf16 && func == MufuFn::Ex2);
    insts.push(Inst::new(Op::Mufu { func, ftz }).srcs([widened]).dst(result));
    insts.push(pack.srcs([Src::RZ, Src::reg(result)]));
    Ok(Aside::of(insts))
}
