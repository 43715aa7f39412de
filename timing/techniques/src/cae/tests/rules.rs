//! The rules of the affine units against arithmetic in every lane.

use crate::cae::Lost;
use crate::cae::operation::{Constants, Operands, evaluate, operations};
use crate::cae::tuples::Tuple;
use proptest::prelude::*;
use trace_format::isa::*;
use trace_format::semantics::{Banks, Code, Warp, execute};
use warplab_model::config::load;
use warplab_technique::Row;
use warplab_technique::program::Program;

/// Registers 0 to 7 and predicates of a warp.
struct Known([Tuple; 8], [bool; 8]);

impl Operands for Known {
    fn register(&self, reg: u8) -> Option<Tuple> {
        Some(self.0[usize::from(reg)])
    }
    fn predicate(&self, pred: u8) -> Option<bool> {
        Some(self.1[usize::from(pred)])
    }
    fn index_strides(&self) -> [Option<u32>; 3] {
        [Some(1), Some(0), Some(0)]
    }
}

const NONE: Constants<'static> =
    Constants { grid: [1; 3], block: [32, 1, 1], local_bytes: 0, dynamic_shared_bytes: 0, parameters: &[] };

fn r(n: u8) -> Src {
    Src::reg(Reg(n))
}

/// Decides about one instruction, and executes it in every lane.
fn run(inst: Inst, known: &Known, end_points: bool) -> (Result<[u32; 2], Lost>, Vec<Row>, Vec<u32>) {
    let kernel = MachineKernel {
        name: "one".into(),
        lines: vec![SourceLine::default(); 2],
        insts: vec![inst, Inst::new(Op::Exit {})],
        regs_per_thread: 12,
        ..MachineKernel::default()
    };
    kernel.check().expect("well formed");
    let config = load("gtx480", &[]).expect("built in").config;
    let program = Program::new(&kernel, &config).expect("timed");
    let decoded = operations(&program, &NONE, false);
    let timed = &program.insts[0];
    let outcome = evaluate(&decoded[0], timed, known, end_points);
    let code = Code::prepare(&kernel, &Banks::default());
    let mut warp = Warp::new(&code);
    for (reg, tuple) in known.0.iter().enumerate() {
        warp.write_row(reg as u16, &tuple.expand(), u32::MAX);
    }
    for (pred, value) in known.1.iter().enumerate().take(7) {
        warp.write_pred(pred as u8, if *value { u32::MAX } else { 0 }, u32::MAX);
    }
    execute(&code, code.inst(Pc(0)), &mut warp, u32::MAX);
    let rows = timed.destinations().iter().map(|reg| *warp.row(u16::from(*reg))).collect();
    let preds = inst.dst_preds().map(|pred| warp.pred(pred.0)).collect();
    (outcome, rows, preds)
}

/// Instructions with tuples in registers 0 to 7; results are in 8 and 9.
fn instructions() -> impl Strategy<Value = Inst> {
    let src = prop_oneof![
        4 => (0u8..8).prop_map(r),
        1 => Just(Src::RZ),
        1 => prop_oneof![0u32..64, any::<u32>()].prop_map(Src::imm),
    ];
    let low = (0u8..8).prop_map(r);
    let pair = prop_oneof![(0u8..4).prop_map(|n| r(2 * n)), Just(Src::RZ)];
    let signs = (any::<bool>(), any::<bool>(), any::<bool>());
    let operands = (low.clone(), src, low, pair, signs, 0u8..32, 0u8..14, 0u8..6, any::<bool>());
    operands.prop_map(|(a, b, c, pair, (x, y, z), shift, kind, cmp, signed)| {
        let sign = if signed { Sign::S32 } else { Sign::U32 };
        let negate = |mut src: Src, neg: bool| {
            src.neg = neg && src.as_reg().is_some_and(|reg| !reg.is_zero());
            src
        };
        let carries = |mut inst: Inst| {
            inst.pdst[0] = Pred(3);
            inst
        };
        let add = |x| Inst::new(Op::Iadd3 { x: Extended(x) }).dst(Reg(8));
        let cmp = [ICmp::Lt, ICmp::Le, ICmp::Gt, ICmp::Ge, ICmp::Eq, ICmp::Ne][usize::from(cmp)];
        match kind {
            0 => add(false).srcs([negate(a, x), negate(b, y), negate(c, z)]),
            1 => carries(add(false).srcs([negate(a, x), negate(b, y), Src::RZ])),
            2 => {
                let mut inst = add(true).srcs([negate(a, x), negate(b, y), Src::RZ]);
                inst.psrc[0] = PredSrc { pred: Pred(1), not: z };
                inst
            }
            3 | 4 => Inst::new(Op::Imad {}).dst(Reg(8)).srcs([a, b, c]),
            5 | 6 => Inst::new(Op::ImadWide { sign }).dst(Reg(8)).srcs([a, b, pair]),
            7 => Inst::new(Op::Lea { shift: ShiftBy(shift) }).dst(Reg(8)).srcs([a, b, Src::NONE]),
            8 => carries(Inst::new(Op::Lea { shift: ShiftBy(shift) }).dst(Reg(8)).srcs([a, b, Src::NONE])),
            9 => {
                let op = Op::ShfL { wide: Wide(false), wrap: Wrap(false), high: High(false) };
                Inst::new(op).dst(Reg(8)).srcs([a, b, Src::RZ])
            }
            10 => Inst::new(Op::Mov {}).dst(Reg(8)).srcs([b, Src::NONE, Src::NONE]),
            11 => {
                let mut inst = Inst::new(Op::Sel {}).dst(Reg(8)).srcs([a, b, Src::NONE]);
                inst.psrc[0] = PredSrc { pred: Pred(2), not: z };
                inst
            }
            12 => Inst::new(Op::Lop3 { lut: Lut(0xC0) }).dst(Reg(8)).srcs([a, b, c]),
            _ => {
                let op = Op::Isetp { cmp, sign, bop: BoolOp::And, ex: Extended(false) };
                let mut inst = Inst::new(op).srcs([a, b, Src::NONE]);
                inst.pdst[0] = Pred(4);
                inst
            }
        }
    })
}

/// Tuples as programs have them: scalars, indices, addresses, small negative numbers, and any.
fn tuples() -> impl Strategy<Value = Tuple> {
    let base = prop_oneof![0u32..300, any::<u32>(), (0u32..64).prop_map(u32::wrapping_neg)];
    let stride = prop_oneof![3 => Just(0u32), 2 => 1u32..9, 1 => any::<u32>(), 1 => (0u32..9).prop_map(u32::wrapping_neg)];
    (base, stride).prop_map(|(base, stride)| Tuple { base, stride })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// What the rules call affine is so in every lane.
    #[test]
    fn strides_are_those_of_arithmetic_in_every_lane(
        inst in instructions(),
        known in prop::array::uniform8(tuples()),
        preds in prop::array::uniform8(any::<bool>()),
        end_points in any::<bool>(),
    ) {
        let mut preds = preds;
        preds[7] = true;
        let (outcome, rows, masks) = run(inst, &Known(known, preds), end_points);
        if let Ok(strides) = outcome {
            for (row, stride) in rows.iter().zip(strides) {
                prop_assert_eq!(Tuple::through(5, row.0[5], stride).expand(), *row, "{:?}", inst);
            }
            for mask in masks {
                prop_assert!(mask == 0 || mask == u32::MAX, "{:?}: {:#x}", inst, mask);
            }
        }
    }
}

fn known(tuples: &[(u8, u32, u32)]) -> Known {
    let mut all = [Tuple::default(); 8];
    tuples
        .iter()
        .for_each(|(reg, base, stride)| all[usize::from(*reg)] = Tuple { base: *base, stride: *stride });
    Known(all, [true; 8])
}

#[test]
fn addresses_of_arrays_are_affine_and_products_of_indices_are_not() {
    let index = known(&[(0, 64, 1), (1, 4, 0), (2, 0x1000, 0), (3, 7, 0)]);
    let of = |inst| run(inst, &index, false).0;
    let wide = Inst::new(Op::ImadWide { sign: Sign::S32 }).dst(Reg(8)).srcs([r(0), r(1), r(2)]);
    assert_eq!(of(wide), Ok([4, 0]));
    let product = Inst::new(Op::Imad {}).dst(Reg(8)).srcs([r(0), r(0), r(1)]);
    assert_eq!(of(product), Err(Lost::NotLinear));
    let product = Inst::new(Op::Imad {}).dst(Reg(8)).srcs([r(0), r(3), r(0)]);
    assert_eq!(of(product), Ok([8, 0]));
    let masked = Inst::new(Op::Lop3 { lut: Lut(0xC0) }).dst(Reg(8)).srcs([r(0), r(1), Src::RZ]);
    assert_eq!(of(masked), Err(Lost::NotScalar));
    let unknown = Src { operand: Operand::Const { bank: 3, offset: 0 }, neg: false, abs: false };
    let product = Inst::new(Op::Imad {}).dst(Reg(8)).srcs([r(0), unknown, r(1)]);
    assert_eq!(of(product), Err(Lost::Constant));
    let sum = Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(8)).srcs([r(0), unknown, Src::RZ]);
    assert_eq!(of(sum), Ok([1, 0]));
    // 4 GiB lie between two lanes.
    let across = known(&[(0, 0, 1), (1, 4, 0), (2, u32::MAX - 20, 0)]);
    assert_eq!(run(wide, &across, false).0, Err(Lost::Ends));
}

#[test]
fn a_comparison_is_decided_by_its_ends_if_they_agree() {
    let op = |cmp| Op::Isetp { cmp, sign: Sign::S32, bop: BoolOp::And, ex: Extended(false) };
    let of = |cmp, bound: u32, end_points| {
        let mut inst = Inst::new(op(cmp)).srcs([r(0), Src::imm(bound), Src::NONE]);
        inst.pdst[0] = Pred(4);
        run(inst, &known(&[(0, 64, 1)]), end_points).0
    };
    assert_eq!(of(ICmp::Lt, 1000, false), Err(Lost::NotScalar));
    assert_eq!(of(ICmp::Lt, 1000, true), Ok([0, 0]));
    assert_eq!(of(ICmp::Lt, 80, true), Err(Lost::Ends));
    assert_eq!(of(ICmp::Eq, 80, true), Err(Lost::Ends), "one lane is equal");
    assert_eq!(of(ICmp::Ne, 96, true), Ok([0, 0]));
    assert_eq!(of(ICmp::Ne, 95, true), Err(Lost::Ends), "the last lane is equal");
}
