//! NVIDIA's machine code from the file to the result: `emu run` and `emu record` of cubins, their variables in device memory,
//! and the constant banks of a launch. The cubins are those of the tests of `sass`; no toolkit is needed.

use crate::cli_kit;

use cli_kit::Folder;
use emulator::device::{DeviceModule, Shape};
use emulator::exec::{Options, Unobserved};
use emulator::lower::{LowerOptions, Lowered};
use emulator::memory::GlobalMemory;
use emulator::native::banks::{Surroundings, fill};
use emulator::native::{NativeError, NativeModule};
use emulator::session::{CodeKind, Session, Setup};
use sass::Target;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace_format::isa::Language;
use trace_format::isa::space::{CODE_WINDOW_HI, LOCAL_WINDOW_HI, PARAM_WINDOW_HI, SHARED_WINDOW_HI};
use trace_format::reader::Trace;
use trace_format::semantics::Geometry;
use trace_format::validate::{Progress, validate};

const VECTORADD: &[u8] = include_bytes!("../sass/tests/data/vectoradd.sm_80.cubin");
const VARIABLES: &[u8] = include_bytes!("../sass/tests/data/variables.sm_75.cubin");

/// The launch and the expected result are those of the PTX.
const MANIFEST: &str = include_str!("../../tests/workloads/textbook/vectoradd/vectoradd.toml");
const PTX: &str = include_str!("../../tests/workloads/textbook/vectoradd/vectoradd.ptx");

trait WithBytes {
    fn bytes(self, name: &str, bytes: &[u8]) -> Self;
}

impl WithBytes for Folder {
    fn bytes(self, name: &str, bytes: &[u8]) -> Folder {
        std::fs::write(self.path(name), bytes).expect("the file can be written");
        self
    }
}

#[test]
fn a_cubin_runs_with_the_manifest_beside_it() {
    let folder = Folder::new().bytes("add.cubin", VECTORADD).file("add.toml", MANIFEST);
    let run = folder.emu(&["run", "add.cubin"]);
    run.succeeds();
    assert!(run.out.contains("check c: passed") && run.out.contains("vectoradd"), "{}", run.out);
    // As it is asked for, and with a file of another name.
    folder.emu(&["run", "add.cubin", "--code", "sass"]).succeeds();
    folder.bytes("other", VECTORADD).emu(&["run", "add.toml", "--cubin", "other"]).succeeds();
}

#[test]
fn machine_code_runs_where_it_is_asked_for_or_nothing_else_is_there() {
    let unnamed = MANIFEST.replace("ptx = \"vectoradd.ptx\"\n", "");
    let folder = Folder::new().file("a.toml", &unnamed).file("a.ptx", PTX).bytes("far.cubin", VECTORADD);
    let language = |args: &[&str]| {
        let run = folder.emu(&[&["record"], args, &["-o", "a.wtrace"]].concat());
        run.succeeds();
        let trace = Trace::open(folder.path("a.wtrace")).expect("a trace");
        trace.kernel(0).code_file().expect("a file").language.clone()
    };
    assert_eq!(language(&["a.ptx"]), Language::Ptx);
    assert_eq!(language(&["a.toml"]), Language::Ptx);
    assert_eq!(language(&["a.ptx", "--cubin", "far.cubin"]), Language::MachineCode);
    assert_eq!(language(&["a.toml", "--code", "sass", "--cubin", "far.cubin"]), Language::MachineCode);
    let beside = "no machine code is named, and there is no a.cubin";
    folder.emu(&["run", "a.ptx", "--code", "sass"]).fails(&[beside, "ptxas -arch=sm_80 a.ptx -o a.cubin"]);
    let folder = folder.bytes("a.cubin", VECTORADD);
    let language = |args: &[&str]| {
        let run = folder.emu(&[&["record"], args, &["-o", "a.wtrace"]].concat());
        run.succeeds();
        let trace = Trace::open(folder.path("a.wtrace")).expect("a trace");
        trace.kernel(0).code_file().expect("a file").language.clone()
    };
    assert_eq!(language(&["a.toml", "--code", "sass"]), Language::MachineCode);
    assert_eq!(language(&["a.toml"]), Language::Ptx, "there is PTX");
    std::fs::remove_file(folder.path("a.ptx")).expect("it can be removed");
    assert_eq!(language(&["a.toml"]), Language::MachineCode, "there is none");
    let folder = folder.file("named.toml", &format!("cubin = \"far.cubin\"\n{unnamed}"));
    folder.emu(&["run", "named.toml"]).succeeds();
    // A missing file is named.
    let missing = folder.file("missing.toml", &format!("cubin = \"nowhere.cubin\"\n{unnamed}"));
    missing.emu(&["run", "missing.toml"]).fails(&["nowhere.cubin"]);
}

#[test]
fn wrong_files_and_options_are_told() {
    let folder = Folder::new().bytes("a.cubin", VECTORADD).file("a.toml", MANIFEST);
    folder
        .emu(&["run", "a.cubin", "--code", "ptx"])
        .fails(&["it is machine code and not PTX: `emu run` runs it"]);
    folder
        .emu(&["run", "a.toml", "--code", "ptx", "--cubin", "a.cubin"])
        .fails(&["--cubin names machine code, which --code ptx does not run"]);
    let wrong = MANIFEST.replace("kernel = \"vectoradd\"", "kernel = \"vectorad\"");
    folder.file("a.toml", &wrong).emu(&["run", "a.cubin"]).fails(&[
        "no kernel `vectorad`",
        "vectoradd",
        "kernels of the file",
    ]);
    let few = MANIFEST.replace(", { s32 = \"n\" }]", "]");
    Folder::new().bytes("a.cubin", VECTORADD).file("a.toml", &few).emu(&["run", "a.cubin"]).fails(&[
        "takes 4 arguments, 3 are given",
        "b64 param_0",
        "b32 param_3",
    ]);
    let cut = Folder::new().bytes("a.cubin", &VECTORADD[..1000]).file("a.toml", MANIFEST);
    cut.emu(&["run", "a.cubin"]).fails(&["a.cubin"]);
    let closed = Folder::new().bytes("libcublas.so.13", VECTORADD).file("a.toml", MANIFEST);
    closed
        .emu(&["run", "libcublas.so.13", "--code", "sass", "--launch", "a.toml"])
        .fails(&["NVIDIA's closed libraries"]);
}

#[test]
fn a_recording_of_machine_code_is_like_one_of_ptx() {
    let folder = Folder::new().bytes("a.cubin", VECTORADD).file("a.toml", MANIFEST).file("a.ptx", PTX);
    folder.emu(&["record", "a.cubin", "--threads", "2", "-o", "one.wtrace"]).succeeds();
    folder.emu(&["record", "a.cubin", "--threads", "1", "-o", "two.wtrace"]).succeeds();
    let read = |name: &str| std::fs::read(folder.path(name)).expect("a trace");
    assert_eq!(read("one.wtrace"), read("two.wtrace"), "the same bytes for any number of threads");
    let trace = Trace::open(folder.path("one.wtrace")).expect("a trace");
    let report = validate(&folder.path("one.wtrace"), 1, &Progress::default()).expect("it can be read");
    assert!(report.is_sound(), "every regenerated value is right");
    let kernel = trace.kernel(0);
    assert_eq!((kernel.name.as_str(), kernel.param_bytes, kernel.params.len()), ("vectoradd", 28, 4));
    // The cubin says 12, of which hardware takes two for itself.
    assert_eq!(kernel.regs_per_thread, 10);
    assert!(kernel.code_text(trace_format::isa::Pc(1)).is_some_and(|text| text == "S2R R6, SR_CTAID.X"));
}

/// The manifest of the kernel with variables.
fn variables(folder: &Folder, args: &str) -> PathBuf {
    let manifest = format!(
        "[buffers.out]\ntype = 's32'\nlen = 64\ninit = 'zeros'\n[[launch]]\nkernel = 'variables'\ngrid = 1\nblock = 64\n\
         shared = 256\nargs = ['@out', {args}]\n"
    );
    let path = folder.path("v.toml");
    std::fs::write(&path, manifest).expect("the manifest can be written");
    path
}

#[test]
fn variables_constants_and_pointers_are_where_code_expects_them() {
    let folder = Folder::new().bytes("v.cubin", VARIABLES);
    let bytes: String = (0..300u32).flat_map(|n| (3 * n).to_le_bytes()).map(|b| format!("{b:02x}")).collect();
    let path = variables(&folder, &format!("{{ bytes = '{bytes}' }}, {{ f32 = 2.5 }}"));
    let mut session = Session::open_manifest(&path, &Setup::default()).unwrap_or_else(|e| panic!("{e}"));
    let options = Options { threads: 1, ..Options::default() };
    session.run(&options, &Unobserved).unwrap_or_else(|e| panic!("{e}"));
    let words = |name: &str| -> Vec<u32> {
        let bytes = session.buffer(name).unwrap_or_else(|| panic!("no variable {name}"));
        bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
    };
    // 64 threads add the constant 3 to the initial 7.
    assert_eq!(words("counter"), [199]);
    let big = words("big");
    assert_eq!(big[..64], [2.5f32.to_bits(); 64]);
    assert_eq!(big[64..], [0; 36]);
    // What threads read of the counter lies between; the rest is 3 i, 2 for the dynamic shared memory and 0 or 2 for `middle`.
    for (thread, word) in words("out").into_iter().enumerate() {
        let rest = word - 3 * thread as u32 - 2;
        assert!((10..=201).contains(&rest), "thread {thread}: {word}");
    }
}

#[test]
fn a_kernel_without_parameters_runs() {
    let launch = "cubin = 'v.cubin'\n[[launch]]\nkernel = 'no_parameters'\ngrid = 2\nblock = 1\nargs = []\n";
    let folder = Folder::new().bytes("v.cubin", VARIABLES).file("n.toml", launch);
    let mut session =
        Session::open_manifest(&folder.path("n.toml"), &Setup::default()).unwrap_or_else(|e| panic!("{e}"));
    session.run(&Options::default(), &Unobserved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(session.buffer("touched"), Some(&[0, 0, 0, 0, 42, 0, 0, 0][..]));
}

/// A module with its variables in memory, and one of its kernels.
fn loaded(kernel: &str) -> (GlobalMemory, DeviceModule, Arc<Lowered>) {
    let mut memory = GlobalMemory::new();
    let module = NativeModule::parse(VARIABLES.to_vec(), "variables").expect("a good cubin");
    let mut module = DeviceModule::load(Arc::new(module), &mut memory, Vec::new()).expect("there is room");
    let lowered =
        module.kernel(kernel, &LowerOptions::default()).expect("the kernel").expect("it is supported");
    (memory, module, lowered)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[test]
fn the_banks_of_a_launch_hold_addresses_geometry_and_parameters() {
    let (mut memory, module, lowered) = loaded("variables");
    let address = |name: &str| module.variable(name).unwrap_or_else(|| panic!("no variable {name}"));
    let (counter, big) = (address("counter"), address("big"));
    assert_eq!((counter.1, big.1), (4, 400));
    assert_eq!(memory.bytes(counter.0, 4), Some(7u32.to_le_bytes().to_vec()));
    let pointer = |name: &str| word(&memory.bytes(address(name).0, 8).expect("a pointer"), 0);
    assert_eq!(pointer("to_counter"), counter.0);
    assert_eq!(pointer("middle"), big.0 + 20);
    let geometry = Geometry { grid: [5, 6, 7], block: [64, 2, 1] };
    let shape = Shape { geometry: &geometry, dynamic_shared_bytes: 256, sms: 46 };
    let params: Vec<u8> = (0..1212u32).map(|n| n as u8).collect();
    // Programs write constants between launches.
    let table = address("table");
    assert!(memory.write(table.0, &1.5f32.to_le_bytes()));
    let banks = module.banks(&memory, &lowered, &shape, &params).expect("banks");
    let param = &banks.param;
    let half = |at: usize| word(param, at) as u32;
    assert_eq!([0, 4, 8, 0xc, 0x10, 0x14].map(half), [64, 2, 1, 5, 6, 7]);
    assert_eq!(word(param, 0x18), u64::from(SHARED_WINDOW_HI) << 32);
    assert_eq!(word(param, 0x20), u64::from(LOCAL_WINDOW_HI) << 32);
    // The frame has eight bytes, the arguments of `printf` have sixteen; the stack begins where any access is aligned.
    assert_eq!((half(0x28), half(0x2c), half(0x10c)), (32, 256, 46));
    assert_eq!(word(param, 0x40), u64::from(PARAM_WINDOW_HI) << 32);
    assert_eq!(word(param, 0x50), table.0);
    assert_eq!(param.len(), 0x160 + 1212);
    assert_eq!(param[0x160..], params[..]);
    assert_eq!(banks.user[..4], 1.5f32.to_le_bytes());
    assert_eq!(banks.user[64..68], 3u32.to_le_bytes());
    let addresses: Vec<u64> = banks.addresses.chunks_exact(8).map(|bytes| word(bytes, 0)).collect();
    assert!(addresses.contains(&counter.0) && addresses.contains(&big.0), "{addresses:x?}");
    let code = addresses.iter().filter(|address| (*address >> 32) as u32 == CODE_WINDOW_HI);
    assert_eq!(code.count(), 1, "vprintf: {addresses:x?}");
    assert_eq!(lowered.kernel.static_shared_bytes, 256);
    // The jump tables of the other kernel are its literals.
    let (memory, module, lowered) = loaded("switches");
    assert_eq!(lowered.kernel.max_threads_per_block, Some([256, 1, 1]));
    let banks = module.banks(&memory, &lowered, &shape, &[]).expect("banks");
    assert!(!banks.literal.is_empty() && banks.literal.len() % 4 == 0);
    assert!(banks.param.len() == 0x170, "missing parameters are zero");
}

/// The places of the words are those at which ptxas's code for PTX that asks for them loads.
#[test]
fn every_target_has_its_own_bank_0() {
    let geometry = Geometry { grid: [5, 6, 7], block: [64, 2, 1] };
    let around = Surroundings {
        geometry: &geometry,
        local_bytes: 24,
        dynamic_shared_bytes: 512,
        constants: 0x1234_5678_9abc,
        workspace: 0xfeed_0000_0040,
        sms: 132,
    };
    // Parameters, block, grid, local window, stack, dynamic shared memory, constants, workspace, SMs.
    let turing = [0x160, 0x0, 0xc, 0x20, 0x28, 0x2c, 0x50, 0x8c, 0x10c];
    let hopper = [0x210, 0x0, 0xc, 0x20, 0x28, 0x2c, 0xd0, 0x44, 0x10c];
    let blackwell = [0x380, 0x360, 0x370, 0x2f8, 0x37c, 0x2ac, 0x120, 0x254, 0x2d0];
    for target in Target::ALL {
        let [base, block, grid, local, stack, dynamic, constants, workspace, sms] = match target {
            Target::Sm120 => blackwell,
            Target::Sm90 => hopper,
            _ => turing,
        };
        // A kernel without parameters may have a shorter image.
        let mut bank = vec![0; base / 2];
        fill(&mut bank, target, &around, base as u32, &[]);
        assert_eq!(bank.len(), base, "{target}");
        let mut bank = vec![0; base + 8];
        fill(&mut bank, target, &around, base as u32, &7u64.to_le_bytes());
        let half = |at: usize| word(&bank, at) as u32;
        assert_eq!([0, 4, 8].map(|axis| half(block + axis)), geometry.block, "{target}");
        assert_eq!([0, 4, 8].map(|axis| word(&bank, grid + axis) as u32), geometry.grid, "{target}");
        assert_eq!(word(&bank, local), u64::from(LOCAL_WINDOW_HI) << 32, "{target}");
        assert_eq!(word(&bank, constants), around.constants, "{target}");
        // The upper word is the first: that of %envreg1.
        assert_eq!(word(&bank, workspace).rotate_left(32), around.workspace, "{target}");
        assert_eq!((word(&bank, dynamic) as u32, word(&bank, sms) as u32), (512, 132), "{target}");
        assert_eq!((half(stack), word(&bank, base)), (24, 7), "{target}");
    }
}

#[test]
fn files_of_several_kinds_hold_machine_code() {
    let fatbin = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fatbin");
    let module = NativeModule::read(&fatbin.join("cubin_only.fatbin"), &[]).expect("it has a cubin");
    assert!(module.kernels().count() > 0);
    let error = NativeModule::read(&fatbin.join("ptx_only.fatbin"), &[]).expect_err("it has only PTX");
    assert!(
        error.to_string().contains("there is no machine code for a known target (sm_70, sm_75, sm_80"),
        "{error}"
    );
    let error = NativeModule::read(Path::new("/nowhere/libcudnn.so.9"), &[]).expect_err("it is closed");
    assert!(error.to_string().contains("libcudnn"), "{error}");
    let setup = Setup { code: Some(CodeKind::Sass), ..Setup::default() };
    assert!(Session::open("/nowhere.ptx".as_ref(), &setup).is_err());
}

#[test]
fn kernels_of_closed_libraries_are_refused_by_name() {
    // The kernel gets a name of the same length that only NVIDIA's library has.
    let name = b"vectoradd";
    let closed = b"a6cublasb";
    let mut bytes = VECTORADD.to_vec();
    for at in 0..bytes.len() - name.len() {
        if bytes[at..].starts_with(name) {
            bytes[at..at + name.len()].copy_from_slice(closed);
        }
    }
    let module = NativeModule::parse(bytes, "app").expect("its headers are read");
    let error = module.translate("a6cublasb", 0, &|_| 0).expect("the kernel").expect_err("it is closed");
    assert!(matches!(&error, NativeError::Closed { library, .. } if library == "libcublas"), "{error}");
    assert!(error.to_string().contains("a6cublasb"), "{error}");
}
