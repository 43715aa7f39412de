//! The semantics against independent scalar references, at every vector level of the host, under full and
//! partial masks, with boundary values mixed in.

use proptest::prelude::*;
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};
use trace_format::isa::*;
use trace_format::semantics::{Banks, Code, Geometry, Row, VectorLevel, Warp, execute};

const LEVELS: [VectorLevel; 3] = [VectorLevel::Portable, VectorLevel::Avx2, VectorLevel::Avx512];

/// Words in which every kind of trouble is likely: zeros, extremes, subnormals, infinities, NaN payloads.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => any::<u32>(),
        1 => prop::sample::select(vec![
            0u32, 1, 2, 31, 32, 33, 63, 64, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x3F80_0000, 0xBF80_0000, 0x0000_0001,
            0x007F_FFFF, 0x0080_0000, 0x7F7F_FFFF, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0x7F80_0001, 0x4B00_0000, 0x5F00_0000,
            0x7FF0_0000, 0xFFF0_0000, 0x7FF8_0000, 0x0010_0000, 0x4330_0000,
        ]),
        1 => 0u32..40,
    ]
}

/// Six rows of such words.
fn rows() -> impl Strategy<Value = [Row; 6]> {
    prop::collection::vec(word(), 6 * 32)
        .prop_map(|w| std::array::from_fn(|i| Row::from_fn(|l| w[32 * i + l])))
}

/// Executes one instruction reading R0.. (six rows given) and P0/P1 at every level; returns R8, R9, P2, P3.
fn run(inst: Inst, rows: &[Row; 6], preds: [u32; 2], exec: u32) -> ([Row; 2], [u32; 2]) {
    let kernel = MachineKernel {
        name: "k".into(),
        lines: vec![SourceLine::default(); 2],
        insts: vec![inst, Inst::new(Op::Exit {})],
        regs_per_thread: 12,
        ..MachineKernel::default()
    };
    kernel.check().expect("well formed");
    let mut results = Vec::new();
    for level in LEVELS {
        let code = Code::prepare_at(&kernel, &Banks::default(), level);
        let mut warp = Warp::new(&code);
        warp.reset(&code, &Geometry { grid: [1; 3], block: [32, 1, 1] }, [0; 3], 0);
        for (i, r) in rows.iter().enumerate() {
            warp.write_row(i as u16, r, u32::MAX);
        }
        warp.write_row(8, &Row::splat(0xDEAD_BEEF), u32::MAX);
        warp.write_row(9, &Row::splat(0xFEED_F00D), u32::MAX);
        warp.write_pred(0, preds[0], u32::MAX);
        warp.write_pred(1, preds[1], u32::MAX);
        warp.write_pred(2, 0xAAAA_5555, u32::MAX);
        warp.write_pred(3, 0x5555_AAAA, u32::MAX);
        execute(&code, &code.insts[0], &mut warp, exec);
        results.push(([*warp.row(8), *warp.row(9)], [warp.pred(2), warp.pred(3)]));
    }
    assert_eq!(results[0], results[1], "AVX2 differs from portable code: {inst}");
    assert_eq!(results[0], results[2], "AVX-512 differs from portable code: {inst}");
    results[0]
}

fn r(n: u8) -> Src {
    Src::reg(Reg(n))
}

fn abs(s: Src, on: bool) -> Src {
    Src { abs: on, ..s }
}

fn neg(s: Src, on: bool) -> Src {
    Src { neg: on, ..s }
}

fn round(rnd: Rnd) -> Round {
    match rnd {
        Rnd::Rn => Round::NearestTiesToEven,
        Rnd::Rz => Round::TowardZero,
        Rnd::Rm => Round::TowardNegative,
        Rnd::Rp => Round::TowardPositive,
    }
}

/// Compares 32-bit results lane by lane; lanes outside the mask keep what was there.
fn check(got: &Row, exec: u32, want: impl Fn(usize) -> u32, what: &Inst) {
    for l in 0..32 {
        let expected = if exec >> l & 1 != 0 { want(l) } else { 0xDEAD_BEEF };
        assert_eq!(got.0[l], expected, "lane {l} of {what}: got {:#x}, want {expected:#x}", got.0[l]);
    }
}

fn single_result(v: Single, ftz: bool, sat: bool) -> u32 {
    let mut bits = if v.is_nan() { 0x7FFF_FFFF } else { v.to_bits() as u32 };
    if ftz && bits & 0x7F80_0000 == 0 {
        bits &= 0x8000_0000;
    }
    if sat {
        let f = f32::from_bits(bits);
        bits = if f.is_nan() || f <= 0.0 { 0 } else { f.min(1.0).to_bits() };
    }
    bits
}

fn single(bits: u32, ftz: bool, negated: bool, absolute: bool) -> Single {
    let mut bits = if ftz && bits & 0x7F80_0000 == 0 { bits & 0x8000_0000 } else { bits };
    if absolute {
        bits &= 0x7FFF_FFFF;
    }
    if negated {
        bits ^= 0x8000_0000;
    }
    Single::from_bits(u128::from(bits))
}

/// Operands of half-precision instructions under their modifiers.
fn half(bits: u32, shift: u32, negated: bool) -> u128 {
    u128::from((bits >> shift & 0xFFFF) ^ if negated { 0x8000 } else { 0 })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn half_precision_matches_soft_float(rows in rows(), exec in any::<u32>(), negated in any::<[bool; 3]>()) {
        use rustc_apfloat::ieee::{BFloat, Half};
        let srcs = [0, 1, 2].map(|i| neg(r(i), negated[usize::from(i)]));
        for ty in [HalfTy::F16, HalfTy::Bf16] {
            let op = Op::Hfma2 { ty, ftz: Ftz(false), sat: Sat(false), relu: Relu(false) };
            let inst = Inst::new(op).dst(Reg(8)).srcs(srcs);
            let (got, _) = run(inst, &rows, [0; 2], exec);
            check(&got[0], exec, |l| {
                [0, 16].iter().fold(0, |word, &shift| {
                    let [a, b, c] = [0, 1, 2].map(|i| half(rows[i].0[l], shift, negated[i]));
                    let nearest = Round::NearestTiesToEven;
                    let bits = if ty == HalfTy::F16 {
                        let v = Half::from_bits(a).mul_add_r(Half::from_bits(b), Half::from_bits(c), nearest).value;
                        if v.is_nan() { 0x7FFF } else { v.to_bits() }
                    } else {
                        let v = BFloat::from_bits(a).mul_add_r(BFloat::from_bits(b), BFloat::from_bits(c), nearest);
                        if v.value.is_nan() { 0x7FFF } else { v.value.to_bits() }
                    };
                    word | (bits as u32) << shift
                })
            }, &inst);
            // The other instructions at every vector level alike.
            for op in [
                Op::Hadd2 { ty, ftz: Ftz(true), sat: Sat(true) },
                Op::Hmul2 { ty, ftz: Ftz(false), sat: Sat(true) },
                Op::Hmnmx2 { ty, max: Max(true), ftz: Ftz(true), nan: NanProp(false) },
                Op::Hset2 { ty, cmp: FCmp::Ltu, ftz: Ftz(false), bop: BoolOp::Xor, bf: BoolFloat(true) },
                Op::F2fp { dst: ty.into(), rnd: PackRnd::Away, relu: Relu(true), fin: SatFinite(true) },
            ] {
                run(Inst::new(op).dst(Reg(8)).srcs([srcs[0], srcs[1]]), &rows, [exec, 0], exec);
            }
        }
    }

    #[test]
    fn single_precision_matches_soft_float(
        rows in rows(), exec in any::<u32>(), rnd in prop::sample::select(Rnd::ALL),
        ftz in any::<bool>(), sat in any::<bool>(), n in any::<[bool; 3]>(), a in any::<bool>(), which in 0..3,
    ) {
        let (f, s) = (Ftz(ftz), Sat(sat));
        let op = match which { 0 => Op::Fadd { rnd, ftz: f, sat: s }, 1 => Op::Fmul { rnd, ftz: f, sat: s }, _ => Op::Ffma { rnd, ftz: f, sat: s } };
        let mut inst = Inst::new(op).dst(Reg(8)).srcs([abs(neg(r(0), n[0]), a), neg(r(1), n[1])]);
        if which == 2 { inst.src[2] = neg(r(2), n[2]); }
        let (out, _) = run(inst, &rows, [0; 2], exec);
        check(&out[0], exec, |l| {
            let x = single(rows[0].0[l], ftz, n[0], a);
            let y = single(rows[1].0[l], ftz, n[1], false);
            let z = single(rows[2].0[l], ftz, n[2], false);
            let v = match which {
                0 => x.add_r(y, round(rnd)).value,
                1 => x.mul_r(y, round(rnd)).value,
                _ => x.mul_add_r(y, z, round(rnd)).value,
            };
            single_result(v, ftz, sat)
        }, &inst);
    }

    #[test]
    fn double_precision_matches_soft_float(
        rows in rows(), exec in any::<u32>(), rnd in prop::sample::select(Rnd::ALL), n in any::<[bool; 3]>(), which in 0..3,
    ) {
        let op = match which { 0 => Op::Dadd { rnd }, 1 => Op::Dmul { rnd }, _ => Op::Dfma { rnd } };
        let mut inst = Inst::new(op).dst(Reg(8)).srcs([neg(r(0), n[0]), neg(r(2), n[1])]);
        if which == 2 { inst.src[2] = neg(r(4), n[2]); }
        let (out, _) = run(inst, &rows, [0; 2], exec);
        let word = |i: usize, l: usize, negated: bool| {
            let bits = u64::from(rows[i].0[l]) | u64::from(rows[i + 1].0[l]) << 32;
            if negated { bits ^ 1 << 63 } else { bits }
        };
        for l in (0..32).filter(|l| exec >> l & 1 != 0) {
            let bits = [word(0, l, n[0]), word(2, l, n[1]), word(4, l, n[2])];
            let [x, y, z] = bits.map(|b| Double::from_bits(u128::from(b)));
            let v = match which {
                0 => x.add_r(y, round(rnd)).value,
                1 => x.mul_r(y, round(rnd)).value,
                _ => x.mul_add_r(y, z, round(rnd)).value,
            };
            let used = if which == 2 { 3 } else { 2 };
            let nan = bits[..used].iter().find(|b| f64::from_bits(**b).is_nan()).map_or(0xFFF8 << 48, |b| b | 1 << 51);
            let want = if v.is_nan() { nan } else { v.to_bits() as u64 };
            let got = u64::from(out[0].0[l]) | u64::from(out[1].0[l]) << 32;
            prop_assert_eq!(got, want, "lane {} of {}", l, inst);
        }
    }

    #[test]
    fn integer_arithmetic_matches_wide_integers(rows in rows(), exec in any::<u32>(), n in any::<[bool; 3]>(), p in any::<[u32; 2]>(), shift in 0u8..32) {
        let v = |i: usize, l: usize| u64::from(rows[i].0[l]);
        let term = |i: usize, l: usize| if n[i] { rows[i].0[l].wrapping_neg() } else { rows[i].0[l] };
        let srcs = [neg(r(0), n[0]), neg(r(1), n[1]), neg(r(2), n[2])];

        let add = Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(8)).srcs(srcs);
        check(&run(add, &rows, p, exec).0[0], exec, |l| term(0, l).wrapping_add(term(1, l)).wrapping_add(term(2, l)), &add);

        let mad = Inst::new(Op::Imad {}).dst(Reg(8)).srcs(srcs);
        check(&run(mad, &rows, p, exec).0[0], exec, |l| term(0, l).wrapping_mul(term(1, l)).wrapping_add(term(2, l)), &mad);

        // A 64-bit subtraction from a carry pair.
        let mut low = Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(8)).srcs([r(0), neg(r(1), true), Src::RZ]);
        low.pdst[0] = Pred(2);
        let (_, carry) = run(low, &rows, p, u32::MAX);
        let mut high = Inst::new(Op::Iadd3 { x: Extended(true) }).dst(Reg(8)).srcs([r(2), neg(r(3), true), Src::RZ]);
        high.psrc[0] = PredSrc::of(Pred(0));
        let (out, _) = run(high, &rows, [carry[0], 0], u32::MAX);
        check(&out[0], u32::MAX, |l| {
            let a = v(0, l) | v(2, l) << 32;
            let b = v(1, l) | v(3, l) << 32;
            (a.wrapping_sub(b) >> 32) as u32
        }, &high);

        for signed in [false, true] {
            let sign = if signed { Sign::S32 } else { Sign::U32 };
            let product = |l: usize| if signed {
                (i64::from(rows[0].0[l] as i32) * i64::from(rows[1].0[l] as i32)) as u64
            } else { v(0, l) * v(1, l) };
            let hi = Inst::new(Op::ImadHi { sign }).dst(Reg(8)).srcs([r(0), r(1), r(2)]);
            check(&run(hi, &rows, p, exec).0[0], exec, |l| ((product(l) >> 32) as u32).wrapping_add(rows[2].0[l]), &hi);
            let wide = Inst::new(Op::ImadWide { sign }).dst(Reg(8)).srcs([r(0), r(1), r(2)]);
            let (out, _) = run(wide, &rows, p, u32::MAX);
            for l in 0..32 {
                let want = product(l).wrapping_add(v(2, l) | v(3, l) << 32);
                prop_assert_eq!(u64::from(out[0].0[l]) | u64::from(out[1].0[l]) << 32, want);
            }
        }

        let lea = Inst::new(Op::Lea { shift: ShiftBy(shift) }).dst(Reg(8)).srcs([r(0), r(1)]);
        check(&run(lea, &rows, p, exec).0[0], exec, |l| (rows[0].0[l] << shift).wrapping_add(rows[1].0[l]), &lea);
    }

    #[test]
    fn sixty_four_bit_comparison_from_two_halves(rows in rows(), same_high in any::<bool>(), cmp in prop::sample::select(ICmp::ALL), signed in any::<bool>()) {
        let mut rows = rows;
        if same_high { rows[3] = rows[2]; }
        let sign = if signed { Sign::S32 } else { Sign::U32 };
        let mut low = Inst::new(Op::Isetp { cmp, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) }).srcs([r(0), r(1)]);
        low.pdst[0] = Pred(2);
        let (_, below) = run(low, &rows, [0; 2], u32::MAX);
        let mut high = Inst::new(Op::Isetp { cmp, sign, bop: BoolOp::And, ex: Extended(true) }).srcs([r(2), r(3)]);
        high.pdst = [Pred(2), Pred(3)];
        high.psrc[1] = PredSrc::of(Pred(0));
        let (_, p) = run(high, &rows, [below[0], 0], u32::MAX);
        for l in 0..32 {
            let a = u64::from(rows[0].0[l]) | u64::from(rows[2].0[l]) << 32;
            let b = u64::from(rows[1].0[l]) | u64::from(rows[3].0[l]) << 32;
            let order = if signed { (a as i64).cmp(&(b as i64)) } else { a.cmp(&b) };
            let want = match cmp {
                ICmp::Lt => order.is_lt(), ICmp::Eq => order.is_eq(), ICmp::Le => order.is_le(),
                ICmp::Gt => order.is_gt(), ICmp::Ne => order.is_ne(), ICmp::Ge => order.is_ge(),
            };
            prop_assert_eq!(p[0] >> l & 1 != 0, want, "{:?} {:#x} {:#x}", cmp, a, b);
            prop_assert_eq!(p[1] >> l & 1 != 0, !want);
        }
    }

    #[test]
    fn differences_of_bytes(rows in rows(), exec in any::<u32>(), signed in any::<bool>(), acc in any::<bool>()) {
        let sign = if signed { Sign::S32 } else { Sign::U32 };
        let inst = Inst::new(Op::Vabsdiff4 { sign, acc: Accumulate(acc) }).dst(Reg(8)).srcs([r(0), r(1), r(2)]);
        check(&run(inst, &rows, [0; 2], exec).0[0], exec, |l| {
            let bytes = |i: usize| {
                rows[i].0[l].to_le_bytes().map(|byte| if signed { i32::from(byte as i8) } else { i32::from(byte) })
            };
            let differences: Vec<u32> = bytes(0).iter().zip(bytes(1)).map(|(a, b)| (a - b).unsigned_abs()).collect();
            if acc {
                differences.iter().fold(rows[2].0[l], |sum, d| sum.wrapping_add(*d))
            } else {
                differences.iter().rev().fold(0, |word, d| word << 8 | d)
            }
        }, &inst);
    }

    #[test]
    fn logic_shifts_and_bit_fields(rows in rows(), exec in any::<u32>(), lut in any::<u8>(), wide in any::<bool>(), wrap in any::<bool>(), high in any::<bool>(), signed in any::<bool>()) {
        let lop = Inst::new(Op::Lop3 { lut: Lut(lut) }).dst(Reg(8)).srcs([r(0), r(1), r(2)]);
        check(&run(lop, &rows, [0; 2], exec).0[0], exec, |l| {
            (0..32).fold(0, |acc, bit| {
                let at = |i: usize| rows[i].0[l] >> bit & 1;
                acc | (u32::from(lut) >> (at(0) << 2 | at(1) << 1 | at(2)) & 1) << bit
            })
        }, &lop);

        let sign = if signed { Sign::S32 } else { Sign::U32 };
        let width = if wide { 64 } else { 32 };
        let amount = |l: usize| if wrap { rows[1].0[l] % width } else { rows[1].0[l].min(width) };
        let value = |l: usize| u128::from(rows[0].0[l]) | u128::from(rows[2].0[l]) << 32;
        let pick = |v: u128| if high { (v >> 32) as u32 } else { v as u32 };
        let left = Inst::new(Op::ShfL { wide: Wide(wide), wrap: Wrap(wrap), high: High(high) }).dst(Reg(8)).srcs([r(0), r(1), r(2)]);
        // Without .HI, .64 and .W only the low word takes part, so an upper word other than zero is not read.
        check(&run(left, &rows, [0; 2], exec).0[0], exec, |l| pick(value(l) << amount(l)), &left);
        let right = Inst::new(Op::ShfR { sign, wide: Wide(wide), wrap: Wrap(wrap), high: High(high) }).dst(Reg(8)).srcs([r(0), r(1), r(2)]);
        check(&run(right, &rows, [0; 2], exec).0[0], exec, |l| {
            let v = value(l) as u64;
            let v = if signed { i128::from(v as i64) as u128 } else { u128::from(v) };
            pick(if signed { ((v as i128) >> amount(l)) as u128 } else { v >> amount(l) })
        }, &right);

        let sgxt = Inst::new(Op::Sgxt { sign }).dst(Reg(8)).srcs([r(0), r(1)]);
        check(&run(sgxt, &rows, [0; 2], exec).0[0], exec, |l| {
            let (x, n) = (rows[0].0[l], rows[1].0[l].min(32));
            if n == 0 { return 0; }
            let kept = u64::from(x) & ((1u64 << n) - 1);
            if signed && kept >> (n - 1) & 1 != 0 { (kept | !0u64 << n) as u32 } else { kept as u32 }
        }, &sgxt);

        let popc = Inst::new(Op::Popc {}).dst(Reg(8)).srcs([r(0)]);
        check(&run(popc, &rows, [0; 2], exec).0[0], exec, |l| (0..32).map(|b| rows[0].0[l] >> b & 1).sum(), &popc);
        let flo = Inst::new(Op::Flo { sign, sh: ShiftAmount(false) }).dst(Reg(8)).srcs([r(0)]);
        check(&run(flo, &rows, [0; 2], exec).0[0], exec, |l| {
            let x = rows[0].0[l];
            let skip = if signed { x >> 31 } else { 0 };
            (0..32u32).rev().find(|b| x >> b & 1 != skip).unwrap_or(u32::MAX)
        }, &flo);
    }

    #[test]
    fn float_to_integer_saturates(rows in rows(), exec in any::<u32>(), rnd in prop::sample::select(IntRnd::ALL)) {
        let inst = Inst::new(Op::F2i { dst: IntTy::S32, src: FloatTy::F32, rnd, ftz: Ftz(false) }).dst(Reg(8)).srcs([r(0)]);
        let way = match rnd { IntRnd::Nearest => Round::NearestTiesToEven, IntRnd::Trunc => Round::TowardZero, IntRnd::Floor => Round::TowardNegative, IntRnd::Ceil => Round::TowardPositive };
        check(&run(inst, &rows, [0; 2], exec).0[0], exec, |l| {
            let x = Single::from_bits(u128::from(rows[0].0[l]));
            if x.is_nan() { 0 } else { x.to_i128_r(64, way, &mut false).value.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32 as u32 }
        }, &inst);
        let back = Inst::new(Op::I2f { dst: FloatTy::F32, src: IntTy::S32, rnd: Rnd::Rz }).dst(Reg(8)).srcs([r(1)]);
        check(&run(back, &rows, [0; 2], exec).0[0], exec, |l| {
            Single::from_i128_r(i128::from(rows[1].0[l] as i32), Round::TowardZero).value.to_bits() as u32
        }, &back);
    }

    #[test]
    fn float_comparisons(rows in rows(), exec in any::<u32>(), cmp in prop::sample::select(FCmp::ALL), with in any::<u32>()) {
        let mut inst = Inst::new(Op::Fsetp { cmp, ftz: Ftz(false), bop: BoolOp::Or }).srcs([r(0), r(1)]);
        inst.pdst = [Pred(2), Pred(3)];
        inst.psrc[0] = PredSrc::of(Pred(0));
        let (_, p) = run(inst, &rows, [with, 0], exec);
        for l in (0..32).filter(|l| exec >> l & 1 != 0) {
            let order = f32::from_bits(rows[0].0[l]).partial_cmp(&f32::from_bits(rows[1].0[l]));
            use std::cmp::Ordering::*;
            let want = match cmp {
                FCmp::Lt => order == Some(Less), FCmp::Eq => order == Some(Equal), FCmp::Le => matches!(order, Some(Less | Equal)),
                FCmp::Gt => order == Some(Greater), FCmp::Ne => matches!(order, Some(Less | Greater)), FCmp::Ge => matches!(order, Some(Greater | Equal)),
                FCmp::Num => order.is_some(), FCmp::Nan => order.is_none(),
                FCmp::Ltu => !matches!(order, Some(Greater | Equal)), FCmp::Equ => !matches!(order, Some(Less | Greater)),
                FCmp::Leu => order != Some(Greater), FCmp::Gtu => !matches!(order, Some(Less | Equal)),
                FCmp::Neu => order != Some(Equal), FCmp::Geu => order != Some(Less),
            };
            let w = with >> l & 1 != 0;
            prop_assert_eq!(p[0] >> l & 1 != 0, want || w);
            prop_assert_eq!(p[1] >> l & 1 != 0, !want || w);
        }
    }
}
