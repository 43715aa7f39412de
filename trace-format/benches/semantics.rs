//! Throughput of the semantics, in warp instructions per second, at the host's vector level.
//! `cargo bench -p warplab-trace-format --bench semantics`

use divan::{Bencher, black_box, counter::ItemsCount};
use trace_format::isa::*;
use trace_format::semantics::{Banks, Code, Geometry, Warp, execute};

fn main() {
    divan::main();
}

const COPIES: usize = 64;

fn kernel(inst: Inst) -> MachineKernel {
    let mut insts = vec![inst; COPIES];
    insts.push(Inst::new(Op::Exit {}));
    MachineKernel {
        name: "bench".into(),
        lines: vec![SourceLine::default(); insts.len()],
        insts,
        regs_per_thread: 32,
        ..MachineKernel::default()
    }
}

fn run(bencher: Bencher, inst: Inst, mask: u32) {
    let kernel = kernel(inst);
    kernel.check().expect("well formed");
    let code = Code::prepare(&kernel, &Banks::default());
    let mut warp = Warp::new(&code);
    warp.reset(&code, &Geometry { grid: [1; 3], block: [32, 1, 1] }, [0; 3], 0);
    bencher.counter(ItemsCount::new(COPIES)).bench_local(|| {
        for inst in &code.insts[..COPIES] {
            execute(&code, inst, black_box(&mut warp), mask);
        }
    });
}

fn r(n: u8) -> Src {
    Src::reg(Reg(n))
}

fn samples() -> [(&'static str, Inst); 12] {
    let ftz = Ftz(false);
    let sat = Sat(false);
    let rnd = Rnd::Rn;
    let mut isetp =
        Inst::new(Op::Isetp { cmp: ICmp::Lt, sign: Sign::S32, bop: BoolOp::And, ex: Extended(false) })
            .srcs([r(1), r(2)]);
    isetp.pdst[0] = Pred(0);
    let mut iadd_carry = Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(3)).srcs([r(1), r(2), Src::RZ]);
    iadd_carry.pdst[0] = Pred(0);
    [
        ("mov", Inst::new(Op::Mov {}).dst(Reg(3)).srcs([r(1)])),
        ("iadd3", Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(3)).srcs([r(1), r(2), Src::RZ])),
        ("iadd3_carry", iadd_carry),
        ("imad_wide", Inst::new(Op::ImadWide { sign: Sign::S32 }).dst(Reg(4)).srcs([r(1), r(2), r(6)])),
        ("isetp", isetp),
        ("ffma", Inst::new(Op::Ffma { rnd, ftz, sat }).dst(Reg(3)).srcs([r(1), r(2), r(3)])),
        ("dfma", Inst::new(Op::Dfma { rnd }).dst(Reg(4)).srcs([r(0), r(2), r(4)])),
        (
            "hfma2",
            Inst::new(Op::Hfma2 { ty: HalfTy::F16, ftz, sat, relu: Relu(false) }).dst(Reg(3)).srcs([
                r(1),
                r(2),
                r(3),
            ]),
        ),
        ("hadd2", Inst::new(Op::Hadd2 { ty: HalfTy::F16, ftz, sat }).dst(Reg(3)).srcs([r(1), r(2)])),
        (
            "f2fp",
            Inst::new(Op::F2fp {
                dst: FloatTy::F16,
                rnd: PackRnd::Nearest,
                relu: Relu(false),
                fin: SatFinite(false),
            })
            .dst(Reg(3))
            .srcs([r(1), r(2)]),
        ),
        ("lop3_and", Inst::new(Op::Lop3 { lut: Lut(0xC0) }).dst(Reg(3)).srcs([r(1), r(2), Src::RZ])),
        (
            "shf_l",
            Inst::new(Op::ShfL { wide: Wide(false), wrap: Wrap(false), high: High(false) })
                .dst(Reg(3))
                .srcs([r(1), r(2), Src::RZ]),
        ),
    ]
}

#[divan::bench(args = ["mov", "iadd3", "iadd3_carry", "imad_wide", "isetp", "ffma", "dfma", "hfma2", "hadd2", "f2fp", "lop3_and", "shf_l"])]
fn full_warp(bencher: Bencher, name: &str) {
    let (_, inst) = samples().into_iter().find(|(n, _)| *n == name).expect("listed above");
    run(bencher, inst, u32::MAX);
}

#[divan::bench(args = ["mov", "iadd3", "isetp", "ffma"])]
fn partial_warp(bencher: Bencher, name: &str) {
    let (_, inst) = samples().into_iter().find(|(n, _)| *n == name).expect("listed above");
    run(bencher, inst, 0x0000_FFFF);
}
