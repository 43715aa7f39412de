//! Every destination of every instruction is recorded or regenerated: a check over the opcode table, with each form of
//! destination (registers, uniform registers, predicates, uniform predicates, predicates chosen by a mask).

use trace_format::internals::{External, StreamLayout};
use trace_format::isa::*;
use trace_format::semantics::{Banks, Code, ExecInst, Row, Warp, execute};

const MASKED: [Src; 3] = [Src::reg(Reg(40)), Src::imm(0x55), Src::NONE];

/// Every form of destination that the instruction may have, its sources in registers.
fn forms(op: Op) -> Vec<Inst> {
    let info = op.info();
    let source = |i: usize| if info.src_regs[i] > 0 { Src::reg(Reg(40 + 8 * i as u8)) } else { Src::NONE };
    let plain = Inst { src: [0, 1, 2].map(source), ..Inst::new(op) };
    let registers = [(Reg(8), UniformReg::URZ), (Reg::RZ, UniformReg(8)), (Reg::RZ, UniformReg::URZ)];
    let (lane, uniform) = ([Pred(1), Pred(3)], [Pred::uniform(2), Pred::uniform(5)]);
    let predicates = [
        [Pred::PT; 2],
        lane,
        [lane[1], lane[0]],
        uniform,
        [lane[0], Pred::PT],
        [Pred::PT, lane[1]],
        [lane[0], uniform[1]],
    ];
    let mut all = Vec::new();
    for (dst, udst) in registers {
        for preds in predicates {
            let mut pdst = [Pred::PT; 2];
            pdst[..usize::from(info.pred_dsts)].copy_from_slice(&preds[..usize::from(info.pred_dsts)]);
            let base = Inst { dst, udst, pdst, ..plain };
            all.push(base);
            if op.writes_all_predicates() {
                all.push(Inst { src: MASKED, ..base });
            }
        }
    }
    all.retain(|inst| inst.check().is_ok());
    all.dedup();
    all
}

/// A kernel of one instruction, whose results a following one uses all.
fn kernel(inst: Inst) -> MachineKernel {
    let insts = vec![inst, Inst::new(Op::Exit {})];
    let lines = vec![SourceLine::default(); insts.len()];
    MachineKernel { insts, lines, regs_per_thread: 64, uniform_registers: 16, ..MachineKernel::default() }
}

/// State of a warp whose registers and predicates all differ.
fn state(code: &Code, seed: u32) -> Warp {
    let mut warp = Warp::new(code);
    for row in (0..code.register_rows()).chain(code.uniform_rows()) {
        let word = |l: usize| (row as u32 * 77 + l as u32 * 1234 + seed).wrapping_mul(0x9E37_79B9);
        let uniform = code.uniform_rows().contains(&row);
        warp.write_row(row as u16, &Row::from_fn(|l| word(if uniform { 0 } else { l })), u32::MAX);
    }
    for p in 0..Pred::ALL as u8 {
        let lanes = (u32::from(p) + 1).wrapping_mul(0x1357_9BDF).wrapping_add(seed);
        warp.write_pred(p, if p > 7 { 0u32.wrapping_sub(lanes & 1) } else { lanes }, u32::MAX);
    }
    warp
}

/// What differs between two states: rows, and predicates as a set.
fn changed(before: &Warp, after: &Warp, rows: usize) -> (Vec<u16>, u16) {
    let rows = (0..rows as u16).filter(|&row| before.row(row) != after.row(row)).collect();
    let preds = (0..Pred::ALL as u8).filter(|&p| before.pred(p) != after.pred(p));
    (rows, preds.fold(0, |set, p| set | 1 << p))
}

fn rows_of(inst: &ExecInst) -> std::ops::Range<u16> {
    inst.dst..inst.dst + u16::from(inst.dst_rows)
}

/// What a recording in full holds of the instruction.
fn recorded(kernel: &MachineKernel) -> External {
    StreamLayout::of(kernel).externals[0]
}

#[test]
fn every_destination_of_every_instruction_is_recorded_or_regenerated() {
    let (mut pure, mut outside, mut uniform_loads) = (0, 0, 0);
    Op::samples(|op| {
        for inst in forms(op) {
            let kernel = kernel(inst);
            let (external, results) = (recorded(&kernel), inst.results());
            let code = Code::prepare(&kernel, &Banks::default());
            let exec = code.inst(Pc(0));
            // The operands name what the list of results says.
            assert_eq!(exec.results(), results, "{inst}");
            let words = if inst.dst.is_zero() && inst.udst.is_zero() { 0 } else { op.info().dst_regs };
            let named = inst.pdst.iter().filter(|p| !p.is_true()).fold(0, |set, p| set | 1 << p.0);
            let chosen = match (op.writes_all_predicates(), inst.src[1].operand) {
                (false, _) => 0,
                (true, Operand::Imm(mask)) => mask as u16 & 0x7F,
                (true, _) => 0x7F,
            };
            assert_eq!((results.registers, results.predicates), (words, named | chosen), "{inst}");
            if inst.kind() != Kind::Pure {
                assert_eq!(external.results, results, "{inst} has destinations that are not recorded");
                outside += 1;
                uniform_loads += u32::from(!inst.udst.is_zero() && inst.kind().is_memory());
                continue;
            }
            assert_eq!(external.results, Results::default(), "{inst} is computed, and recorded as well");
            // Nothing else changes when it executes.
            for seed in 0..4 {
                let before = state(&code, seed);
                let mut after = before.clone();
                execute(&code, exec, &mut after, 0x0F0F_3C5A);
                // Behind registers are zeros and rows that swallow writes.
                let (rows, preds) = changed(&before, &after, code.register_rows());
                assert!(rows.iter().all(|row| rows_of(exec).contains(row)), "{inst} writes {rows:?}");
                let uniform =
                    code.uniform_rows().filter(|row| before.row(*row as u16) != after.row(*row as u16));
                let all = uniform.map(|row| row as u16).all(|row| rows_of(exec).contains(&row));
                assert!(all, "{inst} writes other uniform registers");
                assert_eq!(preds & !results.predicates, 0, "{inst} writes other predicates");
            }
            pure += 1;
        }
    });
    // Forms of the table as it is; fewer would mean that the forms no longer pass `Inst::check`.
    assert!(pure > 3000 && outside > 500 && uniform_loads > 5, "{pure}, {outside}, {uniform_loads}");
}

/// Every instruction whose results a recording without values needs has them recorded, or regenerates them from what is.
#[test]
fn a_recording_without_values_records_what_its_slice_says() {
    let mut recorded_predicates = 0;
    Op::samples(|op| {
        for inst in forms(op) {
            // Every result is an address or a guard afterwards; sources come from memory, so that they are not recorded.
            let mut insts = vec![
                Inst::new(Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(false) })
                    .dst(Reg(40))
                    .srcs([Src::reg(Reg(62))]),
            ];
            insts.push(inst);
            for reg in inst.dst_regs() {
                insts.push(
                    Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::X1 })
                        .dst(Reg(60))
                        .srcs([Src::reg(reg)]),
                );
            }
            for reg in inst.dst_uniforms() {
                let load = Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::X1 });
                insts.push(Inst { base: reg, ..load.dst(Reg(60)).srcs([Src::RZ]) });
            }
            for pred in inst.all_dst_preds() {
                let guarded = Inst::new(Op::Mov {}).dst(Reg(60)).srcs([Src::imm(1)]);
                insts.push(guarded.guarded(PredSrc::of(pred)));
            }
            insts.push(Inst::new(Op::Exit {}));
            let lines = vec![SourceLine::default(); insts.len()];
            let kernel = MachineKernel {
                insts,
                lines,
                regs_per_thread: 64,
                uniform_registers: 16,
                ..MachineKernel::default()
            };
            let layout = StreamLayout::of_addresses(&kernel);
            let slice = layout.slice.as_ref().expect("a slice");
            let external = layout.externals[1];
            let want = match slice.need(Pc(1)) {
                Need::Nothing => Results::default(),
                Need::Results if inst.kind() == Kind::Pure => Results::default(),
                Need::Results | Need::Recorded => inst.results(),
            };
            assert_eq!(external.results, want, "{inst}: {:?}", slice.need(Pc(1)));
            let used = inst.results() != Results::default();
            assert_eq!(slice.needs(Pc(1)), used, "{inst}");
            recorded_predicates += u32::from(slice.need(Pc(1)) == Need::Recorded);
        }
    });
    assert!(recorded_predicates > 100, "{recorded_predicates}");
}

/// Whether the result of an instruction depends on a sign or a magnitude of a source.
fn obeys(inst: Inst, change: impl Fn(&mut Src)) -> [bool; 3] {
    // Predicates choose either source.
    let inst = Inst { psrc: [PredSrc { pred: Pred(2), not: false }; 3], ..inst };
    let result = |inst: Inst, seed: u32| {
        let code = Code::prepare(&kernel(inst), &Banks::default());
        let mut warp = state(&code, seed);
        execute(&code, code.inst(Pc(0)), &mut warp, u32::MAX);
        let rows: Vec<Row> = (0..code.register_rows() as u16).map(|row| *warp.row(row)).collect();
        (rows, (0..Pred::ALL as u8).map(|pred| warp.pred(pred)).collect::<Vec<_>>())
    };
    std::array::from_fn(|i| {
        let mut changed = inst;
        change(&mut changed.src[i]);
        inst.src[i] != Src::NONE && (0..16).any(|seed| result(inst, seed) != result(changed, seed))
    })
}

/// What the table says of signs and magnitudes is what executing the instructions shows.
#[test]
fn signs_and_magnitudes_change_results_where_the_table_says_so() {
    let name = |op: Op| format!("{op:?}").split([' ', '{']).next().unwrap_or_default().to_owned();
    let mut seen = std::collections::BTreeMap::<(String, usize, bool), [bool; 2]>::new();
    Op::samples(|op| {
        let forms = forms(op).into_iter().filter(|inst| inst.kind() == Kind::Pure && inst.udst.is_zero());
        for inst in forms.filter(|inst| !inst.dst.is_zero() || inst.pdst[0] == Pred(1)).take(2) {
            for (is_sign, obeyed) in
                [(true, obeys(inst, |s| s.neg = true)), (false, obeys(inst, |s| s.abs = true))]
            {
                for (i, obeyed) in obeyed.into_iter().enumerate() {
                    let says = if is_sign { op.reads_sign(i) } else { op.reads_magnitude(i) };
                    assert!(
                        says || !obeyed,
                        "{inst} reads a sign ({is_sign}) of source {i}, unlike the table"
                    );
                    let entry = seen.entry((name(op), i, is_sign)).or_default();
                    *entry = [entry[0] | (says && op.info().src_regs[i] > 0), entry[1] | obeyed];
                }
            }
        }
    });
    assert!(seen.values().filter(|[_, obeyed]| *obeyed).count() > 100);
    for ((op, i, is_sign), [says, obeyed]) in seen {
        // Whether a division needs its long way does not depend on signs.
        assert!(!says || obeyed || op == "Fchk", "{op} ignores a sign ({is_sign}) of source {i}");
    }
}
