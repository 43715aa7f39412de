//! Hand-written traces, recorded with the shared semantics: straight-line kernels whose loads return derived
//! words.

#![allow(dead_code, reason = "the tests of the example technique use a part")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use trace_format::container::{LaunchRecord, TransferKind, TransferRecord, WaitRecord};
use trace_format::isa::*;
use trace_format::semantics::{Banks, Code, Geometry, Row, Warp, addresses, execute};
use trace_format::writer::{TraceWriter, WriterOptions};

/// A launch of one of the kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    /// Position of the kernel.
    pub kernel: usize,
    /// Stream.
    pub stream: u64,
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// The records of a trace, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Launch(Launch),
    /// A copy to the host on a stream.
    Copy(u64),
    /// A stream, or with 0 the program, waits.
    Wait(u64),
}

fn src(n: u8) -> Src {
    Src::reg(Reg(n))
}

fn kernel(name: &str, mut insts: Vec<Inst>) -> MachineKernel {
    insts.push(Inst::new(Op::Exit {}));
    let lines = vec![SourceLine::default(); insts.len()];
    let kernel =
        MachineKernel { name: name.into(), insts, lines, regs_per_thread: 24, ..MachineKernel::default() };
    kernel.check().expect("a well-formed kernel");
    kernel
}

/// Adds a chain of dependent products: arithmetic only.
#[must_use]
pub(crate) fn arithmetic(name: &str, length: usize) -> MachineKernel {
    let ffma = Op::Ffma { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
    let mut insts = vec![Inst::new(Op::Mov {}).dst(Reg(1)).srcs([Src::imm(0x3F80_0000)])];
    insts.push(Inst::new(Op::Mov {}).dst(Reg(3)).srcs([Src::imm(0)]));
    insts.extend((0..length).map(|_| Inst::new(ffma).dst(Reg(3)).srcs([src(1), src(1), src(3)])));
    kernel(name, insts)
}

/// Loads, shared memory, a barrier and a store.
#[must_use]
pub(crate) fn mixed(name: &str) -> MachineKernel {
    let add = Op::Iadd3 { x: Extended(false) };
    let ldg = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(false) };
    let stg = Op::Stg { width: MemWidth::B32, order: MemOrder::Weak };
    let lds = Op::Lds { width: MemWidth::B32, scale: Scale::X1 };
    let bar = Op::Bar { mode: BarMode::Sync };
    kernel(
        name,
        vec![
            Inst::new(Op::S2r { sr: SpecialReg::TidX }).dst(Reg(0)),
            Inst::new(Op::S2r { sr: SpecialReg::CtaidX }).dst(Reg(1)),
            Inst::new(Op::Imad {}).dst(Reg(6)).srcs([src(1), Src::imm(256), src(0)]),
            Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(2)).srcs([src(6), Src::imm(4), Src::RZ]),
            Inst::new(ldg).dst(Reg(4)).srcs([src(2)]),
            Inst::new(lds).dst(Reg(7)).srcs([src(0)]),
            Inst::new(add).dst(Reg(5)).srcs([src(4), src(7), src(0)]),
            Inst::new(bar).srcs([Src::imm(0), Src::imm(0)]),
            Inst::new(stg).srcs([src(2), src(5)]),
        ],
    )
}

/// Loads lines that are 4096 bytes apart, one after the other, in some rounds.
#[must_use]
pub(crate) fn rounds(name: &str, lines: i32, rounds: usize) -> MachineKernel {
    let add = Op::Iadd3 { x: Extended(false) };
    let ldg = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(false) };
    let mut insts = vec![
        Inst::new(Op::S2r { sr: SpecialReg::TidX }).dst(Reg(0)),
        Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(2)).srcs([src(0), Src::imm(4), Src::RZ]),
        Inst::new(Op::Mov {}).dst(Reg(5)).srcs([Src::imm(0)]),
    ];
    for line in (0..lines).cycle().take(lines as usize * rounds) {
        let mut load = Inst::new(ldg).dst(Reg(4)).srcs([src(2)]);
        load.offset = 4096 * line;
        // The next load waits for this one.
        insts.extend([load, Inst::new(add).dst(Reg(5)).srcs([src(4), src(5), Src::RZ])]);
    }
    kernel(name, insts)
}

/// Records a trace.
pub(crate) fn record(path: &Path, kernels: &[MachineKernel], items: &[Item]) {
    let mut writer = TraceWriter::create(path, &WriterOptions::default()).expect("a trace");
    let numbers: Vec<u32> = kernels.iter().map(|kernel| writer.kernel(kernel).expect("a kernel")).collect();
    let mut launched = 0;
    for item in items {
        match item {
            Item::Copy(stream) => writer
                .transfers(&[TransferRecord {
                    kind: TransferKind::DeviceToHost,
                    bytes: 4,
                    to: 0,
                    from: 0,
                    stream: *stream,
                    after_launches: launched,
                }])
                .expect("a copy"),
            Item::Wait(stream) => {
                let wait = WaitRecord { stream: *stream, after_launches: launched };
                writer.waits(&[wait]).expect("a wait");
            }
            Item::Launch(launch) => {
                record_launch(&mut writer, &kernels[launch.kernel], numbers[launch.kernel], launch, launched);
                launched += 1;
            }
        }
    }
    writer.finish().expect("a finished trace");
}

fn record_launch(writer: &mut TraceWriter, kernel: &MachineKernel, index: u32, what: &Launch, number: u64) {
    let geometry = Geometry { grid: [what.blocks, 1, 1], block: [what.threads, 1, 1] };
    let code = Code::prepare(kernel, &Banks::default());
    let flow = kernel.flow();
    let launch = writer
        .launch(LaunchRecord {
            kernel: index,
            geometry,
            stream: what.stream,
            number,
            ..LaunchRecord::default()
        })
        .expect("a launch");
    let mut recorder = launch.recorder();
    for block in 0..geometry.blocks() {
        recorder.begin(block);
        for warp in 0..geometry.warps_per_block() {
            let lanes = geometry.launched_mask(warp);
            let mut state = Warp::new(&code);
            state.reset(&code, &geometry, geometry.block_index(block), warp);
            let mut entered = None;
            for pc in (0..kernel.insts.len() as u32).map(Pc) {
                let basic = flow.block_of(pc);
                if entered.replace(basic) != Some(basic) {
                    recorder.enter(warp, basic, lanes);
                }
                let inst = code.inst(pc);
                let mut at = [0; 32];
                addresses(inst, &state, &mut at);
                match inst.kind {
                    Kind::Pure => execute(&code, inst, &mut state, lanes),
                    Kind::Load(_) => {
                        let row = Row::from_fn(|lane| (block as u32) << 8 | lane as u32);
                        state.write_row(inst.dst, &row, lanes);
                    }
                    _ => {}
                }
                match inst.kind.is_memory() {
                    true => recorder.access(warp, pc, inst, &state, lanes, &at),
                    false => recorder.externals(warp, pc, inst, &state, lanes),
                }
                recorder.retire(warp, pc, inst, &state, lanes);
            }
        }
        launch.submit(&mut recorder).expect("a block");
    }
    launch.finish().expect("a finished launch");
}

/// Runs a program in a folder.
pub(crate) fn run(program: &str, arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).output().expect("the binary runs")
}

/// All that a program has printed.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Labels of the points of a sweep or an exploration, in order.
pub(crate) fn labels(value: &Value) -> Vec<&str> {
    let points = value["points"].as_array().expect("points");
    points.iter().filter_map(|point| point["label"].as_str()).collect()
}

/// What a successful program has printed, as JSON.
pub(crate) fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A folder with the trace `t.wtrace` of two kernels.
pub(crate) fn two_kernels() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernels = [mixed("mixed"), arithmetic("chain", 40)];
    let launch = |kernel| Item::Launch(Launch { kernel, stream: 0, blocks: 24, threads: 128 });
    record(&folder.path().join("t.wtrace"), &kernels, &[launch(0), launch(1)]);
    folder
}

/// The JSON of a replay of that trace on `gtx480`, with a technique under some settings.
pub(crate) fn replay_with(program: &str, technique: &str, folder: &Path, set: &[&str]) -> Value {
    let mut arguments = vec!["replay", "t.wtrace", "--config", "gtx480", "--tech", technique, "--json", "-"];
    arguments.extend(set.iter().flat_map(|item| ["--set", item]));
    json(&run(program, &arguments, folder))
}

/// The number at a path of keys.
pub(crate) fn number(value: &Value, path: &str) -> u64 {
    let found = path.split('/').fold(value, |value, key| &value[key]);
    found.as_u64().unwrap_or_else(|| panic!("{path} is no number: {found}"))
}
