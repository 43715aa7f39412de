//! Floating-point arithmetic, conversions and matrices.

use super::args::Args;
use super::arithmetic::{COMBINATIONS, binary, chosen, is_max, setp, ternary, unary};
use super::code::Refusal;
use sass::Instruction;
use trace_format::isa::{
    AccTy, BoolFloat, FCmp, FloatTy, Ftz, HmmaSat, HmmaShape, HmmaTy, ImmaShape, Inst, IntElement, IntRnd,
    IntTy, Max, MufuFn, NanProp, Op, PackRnd, Part, PowerOfTwo, PredSrc, Relu, Rnd, Sat, SatFinite, SatInt,
    Sign, Src,
};

const ROUNDINGS: [(&str, Rnd); 4] = [("RN", Rnd::Rn), ("RZ", Rnd::Rz), ("RM", Rnd::Rm), ("RP", Rnd::Rp)];

const FACTORS: [(&str, PowerOfTwo); 6] = [
    ("D2", PowerOfTwo::D2),
    ("D4", PowerOfTwo::D4),
    ("D8", PowerOfTwo::D8),
    ("M2", PowerOfTwo::M2),
    ("M4", PowerOfTwo::M4),
    ("M8", PowerOfTwo::M8),
];

const COMPARISONS: [(&str, FCmp); 14] = [
    ("LTU", FCmp::Ltu),
    ("EQU", FCmp::Equ),
    ("LEU", FCmp::Leu),
    ("GTU", FCmp::Gtu),
    ("NEU", FCmp::Neu),
    ("GEU", FCmp::Geu),
    ("LT", FCmp::Lt),
    ("EQ", FCmp::Eq),
    ("LE", FCmp::Le),
    ("GT", FCmp::Gt),
    ("NE", FCmp::Ne),
    ("GE", FCmp::Ge),
    ("NUM", FCmp::Num),
    ("NAN", FCmp::Nan),
];

const INT_ROUNDINGS: [(&str, IntRnd); 3] =
    [("TRUNC", IntRnd::Trunc), ("FLOOR", IntRnd::Floor), ("CEIL", IntRnd::Ceil)];

const INTEGERS: [(&str, IntTy); 8] = [
    ("U8", IntTy::U8),
    ("S8", IntTy::S8),
    ("U16", IntTy::U16),
    ("S16", IntTy::S16),
    ("U32", IntTy::U32),
    ("S32", IntTy::S32),
    ("U64", IntTy::U64),
    ("S64", IntTy::S64),
];

const FLOATS: [(&str, FloatTy); 4] =
    [("F64", FloatTy::F64), ("F32", FloatTy::F32), ("F16", FloatTy::F16), ("BF16", FloatTy::Bf16)];

/// A conversion to an integer.
pub(super) fn to_integer(args: &mut Args<'_>) -> Op {
    // What it does with numbers out of range is the same with and without this.
    args.has("NTZ");
    let ftz = Ftz(args.has("FTZ"));
    let rnd = args.pick(&INT_ROUNDINGS).unwrap_or(IntRnd::Nearest);
    let dst = args.pick(&INTEGERS).unwrap_or(IntTy::S32);
    let src = args.pick(&FLOATS).unwrap_or(FloatTy::F32);
    Op::F2i { dst, src, rnd, ftz }
}

/// Translates an instruction of this file; none if it is another.
pub(super) fn translate(word: &Instruction, args: &mut Args<'_>) -> Result<Option<Inst>, Refusal> {
    let inst = match word.mnemonic {
        "FADD" | "UFADD" => {
            let (rnd, ftz, sat) = style(args);
            binary(Op::Fadd { rnd, ftz, sat }, args)?
        }
        "FMUL" | "UFMUL" => {
            let (rnd, ftz, sat) = style(args);
            match args.pick(&FACTORS) {
                Some(by) if rnd == Rnd::Rn => binary(Op::FmulScaled { by, ftz, sat }, args)?,
                Some(_) => return Err("a factor with this rounding is not known".into()),
                None => binary(Op::Fmul { rnd, ftz, sat }, args)?,
            }
        }
        "FFMA" | "UFFMA" => {
            let (rnd, ftz, sat) = style(args);
            ternary(Op::Ffma { rnd, ftz, sat }, args)?
        }
        "FSEL" | "UFSEL" => {
            let ftz = Ftz(args.has("FTZ"));
            chosen(Op::Fsel { ftz }, args)?
        }
        "FMNMX" | "UFMNMX" => {
            let (ftz, nan) = (Ftz(args.has("FTZ")), NanProp(args.has("NAN")));
            let mut inst = binary(Op::Nop {}, args)?;
            inst.op = Op::Fmnmx { max: Max(is_max(args)?), ftz, nan };
            inst
        }
        "FSETP" | "UFSETP" => {
            let (cmp, bop, ftz) = comparison(args)?;
            setp(Op::Fsetp { cmp, ftz, bop }, args)?
        }
        "DSETP" if word.has("MIN") || word.has("MAX") => {
            let max = Max(args.has("MAX"));
            args.has("MIN");
            args.has("AND");
            let mut inst = Inst::new(Op::DsetpPick { max });
            args.pred_dsts(&mut inst);
            args.srcs::<2>(&mut inst)?;
            if args.pred_src() != PredSrc::TRUE {
                return Err("the predicate that it is combined with is not known".into());
            }
            inst
        }
        "DSETP" => {
            let (cmp, bop, _) = comparison(args)?;
            setp(Op::Dsetp { cmp, bop }, args)?
        }
        "FSET" | "UFSET" => {
            let bf = BoolFloat(args.has("BF"));
            let (cmp, bop, ftz) = comparison(args)?;
            chosen(Op::Fset { cmp, ftz, bop, bf }, args)?
        }
        "FCHK" => {
            args.has("DIVIDE");
            let mut inst = Inst::new(Op::Fchk {});
            args.pred_dsts(&mut inst);
            args.srcs::<2>(&mut inst)?;
            inst
        }
        "MUFU" => {
            let functions = [
                ("RCP64H", MufuFn::Rcp64h),
                ("RSQ64H", MufuFn::Rsq64h),
                ("RCP", MufuFn::Rcp),
                ("RSQ", MufuFn::Rsq),
                ("SQRT", MufuFn::Sqrt),
                ("EX2", MufuFn::Ex2),
                ("LG2", MufuFn::Lg2),
                ("SIN", MufuFn::Sin),
                ("COS", MufuFn::Cos),
                ("TANH", MufuFn::Tanh),
            ];
            let func = args.pick(&functions).ok_or("its function is not known")?;
            // Only the sine, the cosine and the hyperbolic tangent know subnormal numbers.
            let ftz = matches!(func, MufuFn::Rcp | MufuFn::Rsq | MufuFn::Sqrt | MufuFn::Ex2 | MufuFn::Lg2);
            unary(Op::Mufu { func, ftz: Ftz(ftz) }, args)?
        }
        "DADD" => binary(Op::Dadd { rnd: rounding(args) }, args)?,
        "DMUL" => binary(Op::Dmul { rnd: rounding(args) }, args)?,
        "DFMA" => ternary(Op::Dfma { rnd: rounding(args) }, args)?,
        "F2F" | "UF2F" => {
            let (rnd, ftz, sat) = style(args);
            let formats: Vec<FloatTy> = args.all(&FLOATS);
            let [dst, src] = formats[..] else { return Err("its formats are not known".into()) };
            unary(Op::F2f { dst, src, rnd, ftz, sat }, args)?
        }
        "F2FP" => {
            args.has("PACK_AB");
            let dst = if args.has("BF16") { FloatTy::Bf16 } else { FloatTy::F16 };
            args.has("F16");
            args.has("F32");
            let rnd = if args.has("RZ") { PackRnd::Zero } else { PackRnd::Nearest };
            let relu = Relu(args.has("RELU"));
            binary(Op::F2fp { dst, rnd, relu, fin: SatFinite(args.has("SATFINITE")) }, args)?
        }
        "F2I" | "UF2I" => unary(to_integer(args), args)?,
        // The two integers in the lower bytes of the third source; of zeros, the second one alone.
        "F2IP" | "UF2IP" => {
            args.has("NTZ");
            if !args.has("U8") || !args.has("F32") {
                return Err("only bytes without a sign from single precision are known of it".into());
            }
            let rnd = args.pick(&INT_ROUNDINGS).unwrap_or(IntRnd::Nearest);
            let op = Op::F2i { dst: IntTy::U8, src: FloatTy::F32, rnd, ftz: Ftz(args.has("FTZ")) };
            let mut inst = Inst::new(op);
            args.dst(&mut inst)?;
            let sources = [args.src()?, args.src()?, args.src()?];
            if sources[0] != Src::RZ || sources[2] != Src::RZ {
                return Err("more than one number is not known of it".into());
            }
            inst.srcs([sources[1]])
        }
        "I2I" | "UI2I" => {
            args.has("SAT");
            args.has("S32");
            let narrow = [("U8", IntTy::U8), ("S8", IntTy::S8), ("U16", IntTy::U16), ("S16", IntTy::S16)];
            let dst = args.pick(&narrow).ok_or("its format is not known")?;
            unary(Op::I2i { dst, src: Sign::S32 }, args)?
        }
        "MOVM" if args.has("16") && args.has("MT88") => unary(Op::Movm {}, args)?,
        "I2F" | "I2FP" | "UI2F" | "UI2FP" => {
            let rnd = rounding(args);
            let dst = args.pick(&FLOATS).unwrap_or(FloatTy::F32);
            let src = args.pick(&INTEGERS).unwrap_or(IntTy::S32);
            let mut inst = Inst::new(Op::Nop {});
            args.dst(&mut inst)?;
            let part;
            (inst.src[0], part) = args.part()?;
            let bytes = matches!(src, IntTy::U8 | IntTy::S8);
            let part = match part {
                "" | "B0" | "H0" => None,
                "B1" if bytes => Some(Part::B1),
                "B2" if bytes => Some(Part::B2),
                "B3" if bytes => Some(Part::B3),
                "H1" if !bytes => Some(Part::H1),
                _ => return Err(format!("the part .{part} of a register is not known of it")),
            };
            inst.op = match part {
                // Parts are exact in single precision, however they are rounded.
                Some(part) if rnd == Rnd::Rn || matches!(dst, FloatTy::F32 | FloatTy::F64) => {
                    Op::I2fPart { dst, src, part }
                }
                Some(_) => return Err("a part with this rounding is not known".into()),
                None => Op::I2f { dst, src, rnd },
            };
            inst
        }
        "FRND" | "UFRND" => {
            let (ftz, rnd) = (Ftz(args.has("FTZ")), args.pick(&INT_ROUNDINGS).unwrap_or(IntRnd::Nearest));
            let ty = args.pick(&FLOATS).unwrap_or(FloatTy::F32);
            unary(Op::Frnd { ty, rnd, ftz, sat: Sat(false) }, args)?
        }
        "HMMA" => hmma(args)?,
        "IMMA" => imma(args)?,
        "DMMA" => {
            args.has("884");
            args.has("8x8x4");
            ternary(Op::Dmma { rnd: rounding(args) }, args)?
        }
        _ => return Ok(None),
    };
    Ok(Some(inst))
}

fn rounding(args: &mut Args<'_>) -> Rnd {
    args.pick(&ROUNDINGS).unwrap_or(Rnd::Rn)
}

fn style(args: &mut Args<'_>) -> (Rnd, Ftz, Sat) {
    (rounding(args), Ftz(args.has("FTZ")), Sat(args.has("SAT")))
}

pub(super) fn comparison(args: &mut Args<'_>) -> Result<(FCmp, trace_format::isa::BoolOp, Ftz), Refusal> {
    let ftz = Ftz(args.has("FTZ"));
    let cmp = args.pick(&COMPARISONS).ok_or("its comparison is not known")?;
    let bop = args.pick(&COMBINATIONS).ok_or("its combination is not known")?;
    Ok((cmp, bop, ftz))
}

fn hmma(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let shapes = [("16816", HmmaShape::S16816), ("1688", HmmaShape::S1688), ("1684", HmmaShape::S1684)];
    let shape = args.pick(&shapes).ok_or("its shape is not known")?;
    let ty = args.pick(&[("BF16", HmmaTy::Bf16), ("TF32", HmmaTy::Tf32)]).unwrap_or(HmmaTy::F16);
    let acc = args.pick(&[("F32", AccTy::F32), ("F16", AccTy::F16)]).ok_or("its accumulator is not known")?;
    ternary(Op::Hmma { shape, ty, acc, sat: HmmaSat(args.has("SATFINITE")) }, args)
}

fn imma(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let shapes = [
        ("8816", ImmaShape::S8816),
        ("16816", ImmaShape::S16816),
        ("16832", ImmaShape::S16832),
        ("8832", ImmaShape::S8832),
        ("16864", ImmaShape::S16864),
    ];
    let shape = args.pick(&shapes).ok_or("its shape is not known")?;
    let elements =
        [("U8", IntElement::U8), ("S8", IntElement::S8), ("U4", IntElement::U4), ("S4", IntElement::S4)];
    let types = args.all(&elements);
    let [a, b] = types[..] else { return Err("its elements are not known".into()) };
    let mut inst = Inst::new(Op::Imma { shape, a, b, sat: SatInt(args.has("SAT")) });
    args.dst(&mut inst)?;
    for (place, order) in [(0, "ROW"), (1, "COL")] {
        let (src, part) = args.part()?;
        if !part.is_empty() && part != order {
            return Err("the order of a matrix is not known".into());
        }
        inst.src[place] = src;
    }
    inst.src[2] = args.src()?;
    Ok(inst)
}
