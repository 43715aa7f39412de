//! Tests of the `timing` command: its tables and files, and its errors for invalid input.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use trace_format::container::format::{PREAMBLE_BYTES, RECORD_HEAD_BYTES, RecordRef};
use trace_format::container::{Contents, Header, LaunchRecord};
use trace_format::isa::*;
use trace_format::semantics::{Banks, Code, Geometry, Row, Warp, addresses, execute};
use trace_format::writer::{TraceWriter, WriterOptions};

const GEOMETRY: Geometry = Geometry { grid: [6, 1, 1], block: [64, 1, 1] };

/// Records a kernel that loads a word, adds to it and stores the sum.
fn record(path: &Path) {
    record_as(path, &WriterOptions::default());
}

fn record_as(path: &Path, options: &WriterOptions) {
    let src = |n| Src::reg(Reg(n));
    let add = Op::Iadd3 { x: Extended(false) };
    let ldg = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(false) };
    let insts = vec![
        Inst::new(Op::S2r { sr: SpecialReg::TidX }).dst(Reg(0)),
        Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(2)).srcs([src(0), Src::imm(4), Src::RZ]),
        Inst::new(ldg).dst(Reg(4)).srcs([src(2)]),
        Inst::new(add).dst(Reg(5)).srcs([src(4), src(0), Src::imm(1)]),
        Inst::new(Op::Stg { width: MemWidth::B32, order: MemOrder::Weak }).srcs([src(2), src(5)]),
        Inst::new(Op::Exit {}),
    ];
    let lines = vec![SourceLine::default(); insts.len()];
    let kernel = MachineKernel {
        name: "increment".into(),
        insts,
        lines,
        regs_per_thread: 6,
        ..MachineKernel::default()
    };
    kernel.check().expect("a well-formed kernel");
    let code = Code::prepare(&kernel, &Banks::default());
    let flow = kernel.flow();
    let mut writer = TraceWriter::create(path, options).expect("a trace");
    let number = writer.kernel(&kernel).expect("a kernel");
    let launch = writer
        .launch(LaunchRecord {
            kernel: number,
            geometry: GEOMETRY,
            dynamic_shared_bytes: 0,
            banks: Banks::default(),
            buffers: Vec::new(),
            ..LaunchRecord::default()
        })
        .expect("a launch");
    let mut recorder = launch.recorder();
    for block in 0..GEOMETRY.blocks() {
        recorder.begin(block);
        for warp in 0..GEOMETRY.warps_per_block() {
            let mut state = Warp::new(&code);
            state.reset(&code, &GEOMETRY, GEOMETRY.block_index(block), warp);
            recorder.enter(warp, flow.block_of(Pc(0)), u32::MAX);
            for pc in (0..kernel.insts.len() as u32).map(Pc) {
                let inst = code.inst(pc);
                let mut at = [0; 32];
                addresses(inst, &state, &mut at);
                match inst.kind {
                    Kind::Pure => execute(&code, inst, &mut state, u32::MAX),
                    Kind::Load(_) => {
                        let row = Row::from_fn(|lane| (block as u32) << 8 | lane as u32);
                        state.write_row(inst.dst, &row, u32::MAX);
                    }
                    _ => {}
                }
                match inst.kind.is_memory() {
                    true => recorder.access(warp, pc, inst, &state, u32::MAX, &at),
                    false => recorder.externals(warp, pc, inst, &state, u32::MAX),
                }
                recorder.retire(warp, pc, inst, &state, u32::MAX);
            }
        }
        launch.submit(&mut recorder).expect("a block");
    }
    launch.finish().expect("a finished launch");
    writer.finish().expect("a finished trace");
}

/// A limit on the address space (`ulimit -v`) is reported with a remedy; no command crashes for lack of
/// memory.
#[test]
fn a_small_address_space_is_an_error_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    record(&folder.path().join("a.wtrace"));
    for kib in [30_000, 40_000, 60_000, 80_000] {
        for command in
            ["replay --config gtx480 a.wtrace", "why a.wtrace", "study redundancy a.wtrace", "list"]
        {
            let script = format!("ulimit -v {kib}; exec \"$0\" {command}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &script, env!("CARGO_BIN_EXE_timing")]).current_dir(folder.path());
            let output = shell.output().expect("the shell starts");
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{kib} {command}: {told}");
            assert!(told.contains("ulimit -v unlimited") && told.contains("MiB"), "{kib} {command}: {told}");
        }
    }
    // With more memory, only as many threads run as fit.
    for kib in [120_000, 160_000, 250_000, 400_000] {
        let study = "study redundancy --threads 200 a.wtrace";
        for command in ["replay --config gtx480 --threads 200 a.wtrace", study] {
            let script = format!("ulimit -v {kib}; exec \"$0\" {command}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &script, env!("CARGO_BIN_EXE_timing")]).current_dir(folder.path());
            let output = shell.output().expect("the shell starts");
            assert!(output.status.success(), "{kib} {command}: {}", stderr(&output));
        }
    }
}

/// A kernel with more registers per thread than the GPU has is replayed, and named.
#[test]
fn registers_that_the_gpu_does_not_have_are_named() {
    let (_guard, path) = folder();
    for command in ["replay", "why"] {
        let limited = timing(
            &path,
            &[command, "increment.wtrace", "--config", "gtx480", "--set", "sm.max_registers_per_thread=5"],
        );
        let told = stderr(&limited);
        assert!(limited.status.success(), "{told}");
        assert!(
            told.contains(
                "increment has 6 registers per thread, at most 5 on gtx480, sm.max_registers_per_thread 5;"
            ),
            "{told}"
        );
        assert_eq!(stderr(&timing(&path, &[command, "increment.wtrace", "--config", "gtx480"])), "");
    }
    let few = ["increment.wtrace", "--config", "gtx480", "--set", "sm.max_registers_per_thread=5"];
    timing(&path, &[&["replay"], &few[..], &["--json", "replay.json"]].concat());
    timing(&path, &[&["report"], &few[..], &["--studies", "none", "-o", "report"]].concat());
    for file in ["replay.json", "report/index.html", "report/data.json"] {
        let text = std::fs::read_to_string(path.join(file)).expect("a file");
        assert!(
            text.contains(
                "increment has 6 registers per thread, at most 5 on gtx480, sm.max_registers_per_thread 5;"
            ),
            "{file}"
        );
    }
}

fn timing(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_timing"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the command runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_path_buf();
    record(&path.join("increment.wtrace"));
    (folder, path)
}

fn replayed(path: &Path, more: &[&str]) -> Value {
    let output = timing(path, &[&["replay", "increment.wtrace", "--json", "out.json"], more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(path.join("out.json")).expect("the JSON file");
    serde_json::from_str(&text).expect("valid JSON")
}

#[test]
fn json_has_the_documented_keys_and_slots_sum_up() {
    let (_keep, path) = folder();
    let value = replayed(&path, &["--config", "gtx480", "--threads", "2"]);
    for key in ["cycles", "rf_bank_conflict_cycles", "thread_instructions", "ipc", "energy_pj"] {
        assert!(!value[key].is_null(), "{key} is missing");
    }
    let of = |value: &Value, key: &str| value[key].as_u64().expect("a count");
    assert_eq!(of(&value, "warp_instructions"), 6 * 2 * 6);
    assert_eq!(of(&value, "thread_instructions"), 6 * 2 * 6 * 32);
    assert_eq!(of(&value, "rf_reads"), 6 * 2 * (1 + 2 + 2 + 3));
    assert_eq!(of(&value, "rf_writes"), 6 * 2 * (1 + 2 + 1 + 1));
    let slots: u64 = value["stalls"].as_object().expect("an object").values().filter_map(Value::as_u64).sum();
    assert_eq!(slots, of(&value, "cycles") * 15 * 2);
    let pj = value["energy_pj"]["register_file"].as_f64().expect("an energy");
    assert!((pj - 149.76 * f64::from(6 * 2 * (8 + 5))).abs() < 1e-6);
    assert_eq!(value["launches"], Value::Null);
    assert_eq!(value["traces"][0]["launches"][0]["kernel"], "increment");
}

#[test]
fn results_are_the_same_at_any_number_of_threads_and_with_checksums() {
    let (_keep, path) = folder();
    let one = replayed(&path, &["--threads", "1", "--tech", "bow,corf"]);
    assert_eq!(one, replayed(&path, &["--threads", "3", "--tech", "bow,corf"]));
    assert_eq!(
        one,
        replayed(&path, &["--checked", "--tech", "corf,bow"]).as_object_mut().map_or(Value::Null, |object| {
            // The words stand in another order in the command.
            for key in ["techniques", "produced_by"] {
                object.insert(key.into(), one[key].clone());
            }
            Value::Object(object.clone())
        })
    );
}

#[test]
fn studies_find_the_same_with_and_without_checksums() {
    let (_keep, path) = folder();
    let studied = |more: &[&str]| {
        let output = timing(&path, &[&["study", "all", "increment.wtrace", "--json", "-"], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        output.stdout
    };
    let without = studied(&[]);
    assert!(!without.is_empty());
    assert_eq!(studied(&["--checked"]), without);
    assert_eq!(studied(&["--checked", "--threads", "3"]), without);
}

#[test]
fn a_technique_stands_beside_the_plain_machine() {
    let (_keep, path) = folder();
    let output = timing(&path, &["replay", "increment.wtrace", "--tech", "bow", "--csv", "out.csv"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", stderr(&output));
    for part in ["plain", "bow", "ratio", "register file reads", "IPC", "titanx-pascal"] {
        assert!(text.contains(part), "{text}\nlacks {part}");
    }
    let csv = std::fs::read_to_string(path.join("out.csv")).expect("the CSV file");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let value = replayed(&path, &["--tech", "bow"]);
    let reads = |value: &Value| value["rf_reads"].as_u64().expect("a count");
    assert!(reads(&value) < reads(&value["baseline"]));
    assert!(value["ratio"]["rf_reads"].as_f64().expect("a ratio") < 1.0);
}

#[test]
fn lists_and_configurations_are_shown() {
    let (_keep, path) = folder();
    for (arguments, parts) in [
        (
            &["list"][..],
            &["bow", "corf", "redundancy", "titanx-pascal", "bow-28nm", "two_level", "lru", "write_evict"][..],
        ),
        (&["list", "two_level"], &["two_level: round robin", "scheduler.policy", "Gebhart"]),
        (&["list", "--counters"], &["rf_bank_conflict_cycles", "memory_dependency"]),
        (
            &["config", "show", "gtx480", "--set", "l2.mshrs=7"],
            &["l2.mshrs = 7", "--set l2.mshrs=7", "gtx480.toml:"],
        ),
        (
            &["study", "redundancy", "--explain"],
            &[
                "\nColumns: counts\n",
                "block_redundant_instructions",
                "DARSIE, Figure 1",
                "/ warp_instructions",
                "denominator",
            ],
        ),
        (&["study", "redundancy", "increment.wtrace"], &["increment"]),
        (&["study", "all", "--explain"], &["redundancy:", "taxonomy:", "sharing:", "memory:"]),
        (
            &["study", "all", "increment.wtrace", "--by", "line", "--top", "2"],
            &["increment", "width, by line", "(divergence)"],
        ),
        (
            &["study", "width,reuse", "increment.wtrace", "--by", "pc"],
            &["width, by pc", "reuse, by pc", "IMAD.WIDE"],
        ),
        (
            &["study", "memory", "increment.wtrace", "--kernels", "^inc", "--json", "-"],
            &["warplab-study/1", "sectors"],
        ),
        (&["study", "all", "increment.wtrace", "--json", "-"], &["warplab-studies/1", "\"entropy\""]),
        (&["--help"], &["replay", "study"]),
    ] {
        let output = timing(&path, arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        for part in parts {
            assert!(text.contains(part), "{arguments:?} lacks {part}:\n{text}");
        }
    }
}

#[test]
fn every_key_of_a_configuration_is_listed_with_its_meaning() {
    let (_keep, path) = folder();
    let lines = |arguments: &[&str]| -> Vec<String> {
        let output = timing(&path, arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    };
    let word = |line: &String| line.split_whitespace().next().unwrap_or_default().to_owned();
    let listed = lines(&["config", "keys"]);
    let keys: Vec<String> = listed.iter().map(word).collect();
    for shown in lines(&["config", "show", "gtx480"]).iter().map(word) {
        // Bounds and meaning stand at the key; those of a table's entries at the table.
        let is_listed = |key: &String| shown == *key || shown.starts_with(&format!("{key}."));
        assert!(keys.iter().any(is_listed), "{shown} is not listed");
    }
    let warps = listed.iter().find(|line| line.starts_with("sm.max_warps ")).expect("the key");
    assert!(warps.contains("64") && warps.split_whitespace().count() > 4, "{warps}");
}

#[test]
fn what_is_wrong_is_named_with_exit_code_1_and_2_for_the_command_line() {
    let (_keep, path) = folder();
    let whole = std::fs::read(path.join("increment.wtrace")).expect("the trace");
    std::fs::write(path.join("short.wtrace"), &whole[..whole.len() / 2]).expect("a file");
    std::fs::write(path.join("text.wtrace"), "not a trace").expect("a file");
    std::fs::create_dir(path.join("folder")).expect("a folder");
    std::fs::write(path.join("mine.toml"), "base = \"gtx480\"\n[l1]\nwayz = 1\n").expect("a file");
    let without_values = Header { contents: Contents::Addresses, ..Header::default() };
    // The preamble and the record of the header, whose length depends on its numbers.
    let header = RecordRef::at(&whole, PREAMBLE_BYTES as u64).expect("a header");
    let head = PREAMBLE_BYTES + RECORD_HEAD_BYTES + header.payload.len();
    std::fs::write(path.join("head.wtrace"), &whole[..head]).expect("a file");
    record_as(&path.join("paths.wtrace"), &WriterOptions::default().with_header(without_values));
    let trace = "increment.wtrace";
    let cases: &[(&[&str], &[&str])] = &[
        (&["replay"], &["required"]),
        (&["replay", "missing.wtrace"], &["missing.wtrace"]),
        (&["replay", "text.wtrace"], &["text.wtrace"]),
        (&["replay", "head.wtrace"], &["head.wtrace", "no launch can be read", "emu record"]),
        (&["replay", trace, "--config", "gtx481"], &["gtx481", "titanx-pascal"]),
        (&["replay", trace, "--config", "mine.toml"], &["mine.toml:3", "l1.wayz"]),
        (&["replay", trace, "--set", "l1.ways=0"], &["l1.ways", "0 is refused"]),
        (&["replay", trace, "--set", "energy=watts"], &["watts", "corf-40nm"]),
        (&["replay", trace, "--tech", "bwo"], &["bwo", "did you mean `bow`?", "corf"]),
        (&["replay", trace, "--config", "titanx-pascl"], &["did you mean `titanx-pascal`?"]),
        (&["replay", trace, "--set", "sm.max_wraps=3"], &["sm.max_wraps", "did you mean `max_warps`?"]),
        (
            &["replay", trace, "--tech", "corf", "--set", "technique.bow.window=3"],
            &["--set technique.bow.window=3", "`bow` is not switched on"],
        ),
        (&["replay", trace, "--interval", "100"], &["--series"]),
        (
            &["replay", trace, "--timeline", "t.json", "--window", "900000000-900000001"],
            &["--window 900000000-900000001", "ends at cycle"],
        ),
        (&["replay", trace, "--tech", "bow,bow"], &["bow", "twice"]),
        (
            &["replay", trace, "--set", "technique.bow.widnow=3", "--tech", "bow"],
            &["technique.bow", "widnow"],
        ),
        (&["replay", trace, "--set", "technique.wob.window=3"], &["technique.wob"]),
        (&["replay", trace, "--threads", "0"], &["--threads"]),
        (&["replay", trace, "--max-cycles", "1"], &["increment", "--max-cycles"]),
        (&["replay", trace, "--set", "sm.registers=256"], &["increment", "registers"]),
        (&["replay", trace, "--json", "no/such/folder.json"], &["no/such/folder.json"]),
        (&["replay", trace, "--csv", "text.wtrace/x.csv"], &["cannot write text.wtrace/x.csv"]),
        (&["replay", trace, "--json", "."], &["names no file"]),
        (&["replay", trace, "--timeline", ".."], &["names no file"]),
        (&["replay", trace, "--json", "folder"], &["cannot write folder", "is a directory"]),
        (&["replay", trace, "--konata", "folder/"], &["cannot write folder/", "is a directory"]),
        (&["why", trace, "--json", "folder"], &["cannot write folder", "is a directory"]),
        (&["study", "width", trace, "--csv", "folder"], &["cannot write folder", "is a directory"]),
        (&["study", "width,reuse", trace, "--csv", "no/such.csv"], &["cannot write no/such-", ".csv"]),
        (&["report", trace, "-o", "text.wtrace"], &["text.wtrace is a file"]),
        (&["report", trace, "-o", "text.wtrace/inner"], &["text.wtrace/inner", "text.wtrace is a file"]),
        (&["study", "redundnacy", trace], &["redundnacy", "redundancy"]),
        (&["study", "redundancy"], &["no traces"]),
        (&["study", "width,redundnacy", trace], &["redundnacy", "divergence", "all"]),
        (&["study", "", trace], &["unknown study"]),
        (
            &["study", "width,dead", trace, "paths.wtrace"],
            &["paths", "no values", "width, dead", "emu record"],
        ),
        (&["study", "width", trace, "--kernels", "decrement"], &["--kernels decrement", "0: increment"]),
        (&["study", "width", trace, "--kernels", "("], &["--kernels (", "unclosed"]),
        (&["study", "width", trace, "--launches", "7"], &["no launch 7", "increment"]),
        (&["study", "width", trace, "--launches", "x"], &["--launches x", "20-"]),
        (&["study", "width", trace, "--top", "3"], &["--by"]),
        (&["study", "width", trace, "--by", "colour"], &["colour", "line"]),
        (&["study", "width,reuse", trace, "--csv", "-"], &["one study"]),
        (&["config", "show", "gtx481"], &["gtx481"]),
    ];
    for (arguments, parts) in cases {
        let output = timing(&path, arguments);
        let message = stderr(&output);
        let code = if message.contains("try '--help'") { 2 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        assert!(!message.contains("panicked"), "{arguments:?}: {message}");
        for part in *parts {
            assert!(message.contains(part), "{arguments:?} lacks {part}: {message}");
        }
        assert!(output.stdout.is_empty(), "{arguments:?} is refused after the work");
    }
    let mut names: Vec<_> =
        std::fs::read_dir(&path).expect("a folder").map(|file| file.expect("a file").file_name()).collect();
    names.sort();
    let files = [
        "folder",
        "head.wtrace",
        "increment.wtrace",
        "mine.toml",
        "paths.wtrace",
        "short.wtrace",
        "text.wtrace",
    ];
    assert_eq!(names, files);
    assert_eq!(std::fs::read(path.join("text.wtrace")).expect("a file"), b"not a trace");
}

#[cfg(unix)]
#[test]
fn results_go_into_pipes_that_stay_pipes() {
    use std::os::unix::fs::FileTypeExt;
    let (_keep, path) = folder();
    let pipe = path.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    for format in ["--json", "--csv"] {
        let wanted = timing(&path, &["replay", "increment.wtrace", format, "file"]);
        assert!(wanted.status.success(), "{}", stderr(&wanted));
        let wanted = std::fs::read(path.join("file")).expect("a file");
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).expect("the pipe")
        });
        let done = timing(&path, &["replay", "increment.wtrace", format, "pipe"]);
        assert!(done.status.success(), "{}", stderr(&done));
        assert!(reader.join().expect("it reads") == wanted, "the pipe gave something else");
        assert!(pipe.symlink_metadata().expect("it is there").file_type().is_fifo());
        // If the result is written to standard output, under either name, nothing else is printed there.
        for stdout in ["-", "/dev/stdout"] {
            let done = timing(&path, &["replay", "increment.wtrace", format, stdout]);
            assert!(done.status.success() && done.stdout == wanted, "{format} {stdout}");
        }
    }
    let series = ["replay", "increment.wtrace", "--interval", "100", "--series"];
    assert!(timing(&path, &[&series[..], &["file"]].concat()).status.success());
    let wanted = std::fs::read(path.join("file")).expect("a file");
    assert!(timing(&path, &[&series[..], &["-"]].concat()).stdout == wanted);
}

/// One trace is damaged, one is not a trace, one does not fit; the results of the others are written, and the
/// exit code reports the failure.
#[test]
fn traces_that_cannot_be_used_do_not_take_the_others_with_them() {
    let (_keep, path) = folder();
    let whole = std::fs::read(path.join("increment.wtrace")).expect("the trace");
    std::fs::copy(path.join("increment.wtrace"), path.join("second.wtrace")).expect("a copy");
    std::fs::write(path.join("text.wtrace"), "not a trace").expect("a file");
    // Damages a byte of the frame, which is detected when the block is read.
    let frame =
        trace_format::reader::Trace::open(path.join("increment.wtrace")).expect("a trace").frames()[0];
    let mut damaged = whole;
    damaged[(frame.offset + frame.bytes) as usize - 1] ^= 0x10;
    std::fs::write(path.join("damaged.wtrace"), damaged).expect("a file");
    let traces = ["increment.wtrace", "text.wtrace", "damaged.wtrace", "second.wtrace"];
    let left_out = ["text.wtrace", "damaged.wtrace"];
    for command in [&["replay"][..], &["why"], &["study", "width,memory"]] {
        let output = timing(&path, &[command, &traces[..], &["--json", "out.json"]].concat());
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {told}");
        for part in
            ["2 of 4 traces left out: text.wtrace, damaged.wtrace", "not a Warplab trace", "damaged frame"]
        {
            assert!(told.contains(part), "{command:?} lacks {part}: {told}");
        }
        let text = std::fs::read_to_string(path.join("out.json")).expect("the result");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let list = value["left_out"].as_array().expect("a list");
        let names: Vec<&str> = list.iter().filter_map(|one| one["trace"].as_str()).collect();
        assert_eq!(names, left_out, "{command:?}");
        assert!(text.contains("increment") && text.contains("second"), "{command:?}: {text}");
        std::fs::remove_file(path.join("out.json")).expect("it is there");
        // When no trace is left nothing is written.
        let output = timing(&path, &[command, &left_out[..], &["--json", "out.json"]].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(!path.join("out.json").exists() && output.stdout.is_empty(), "{command:?}");
    }
    let output = timing(&path, &[&["report"], &traces[..], &["-o", "report"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let page = std::fs::read_to_string(path.join("report/index.html")).expect("the page");
    for trace in left_out {
        assert!(page.contains(&format!("{trace} is left out")), "{trace}");
    }
    assert!(page.contains("second"), "the others are there");
}

/// Endless inputs are refused with an error.
#[cfg(unix)]
#[test]
fn inputs_without_end_are_refused() {
    let (_keep, path) = folder();
    std::os::unix::fs::symlink("/dev/zero", path.join("zero.toml")).expect("a link");
    let trace = "increment.wtrace";
    for arguments in [
        &["replay", trace, "--config", "zero.toml"][..],
        &["replay", trace, "--set", "energy=zero.toml"],
        &["config", "show", "zero.toml"],
        &["config", "import", "/dev/zero"],
        &["compare", "/dev/zero", "/dev/zero"],
        &["report", trace, "-o", "r", "--against", "/dev/zero"],
    ] {
        let output = timing(&path, arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.contains("it has more than"), "{arguments:?}: {told}");
    }
    let output = timing(&path, &["replay", "/dev/zero"]);
    assert!(stderr(&output).contains("not a Warplab trace"), "{}", stderr(&output));
}

#[test]
fn a_result_says_what_produced_it_and_is_produced_again() {
    let (_keep, path) = folder();
    let set = [
        "--config",
        "gtx480",
        "--set",
        "sm.max_blocks=4",
        "--tech",
        "bow",
        "--set",
        "technique.bow.window=2",
    ];
    let done = timing(
        &path,
        &[&["replay", "increment.wtrace"][..], &set, &["--json", "result.json", "--threads", "1"]].concat(),
    );
    assert!(done.status.success(), "{}", stderr(&done));
    let read = || std::fs::read_to_string(path.join("result.json")).expect("a file");
    let value: Value = serde_json::from_str(&read()).expect("JSON");
    assert_eq!(value["config"], "gtx480, sm.max_blocks 4");
    let by = &value["produced_by"];
    let words: Vec<&str> =
        by["command"].as_array().expect("a list").iter().filter_map(|word| word.as_str()).collect();
    assert_eq!(words, [&["timing", "replay", "increment.wtrace"][..], &set].concat());
    assert_eq!(by["machine"]["config"]["sm"]["max_blocks"], 4);
    assert_eq!(by["machine"]["hash"].as_str().map(str::len), Some(16));
    assert_eq!(
        (by["traces"][0]["trace"].as_str(), by["traces"][0]["hash"].as_str().map(str::len)),
        (Some("increment.wtrace"), Some(16))
    );
    let rerun = |more: &[&str]| timing(&path, &[&["rerun", "result.json"][..], more].concat());
    let again = rerun(&[]);
    let said = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(again.status.success() && said.contains("the same again"), "{said}{}", stderr(&again));
    // Another number in the result, another program, another trace.
    let text = read();
    let cycles = format!("\"cycles\": {}", value["cycles"]);
    std::fs::write(path.join("result.json"), text.replacen(&cycles, "\"cycles\": 7", 1)).expect("a file");
    let other = rerun(&[]);
    assert_eq!(other.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&other.stdout).contains("cycles"), "{}", stderr(&other));
    std::fs::write(path.join("result.json"), text.replace("\"version\": \"", "\"version\": \"9"))
        .expect("a file");
    assert!(stderr(&rerun(&[])).contains("this is"), "{}", stderr(&rerun(&[])));
    assert!(rerun(&["--force"]).status.success());
    std::fs::write(path.join("result.json"), &text).expect("a file");
    let mut trace = std::fs::read(path.join("increment.wtrace")).expect("the trace");
    trace.push(0);
    std::fs::write(path.join("increment.wtrace"), trace).expect("a file");
    assert!(stderr(&rerun(&[])).contains("another hash"), "{}", stderr(&rerun(&[])));
    assert!(stderr(&timing(&path, &["rerun", "increment.wtrace"])).contains("increment.wtrace"));
}
