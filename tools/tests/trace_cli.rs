//! The `trace` command: its output, its exit codes, and its messages for bad input.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use trace_format::container::LaunchRecord;
use trace_format::isa::*;
use trace_format::semantics::{Banks, Code, Geometry, Row, Warp};
use trace_format::writer::{TraceWriter, WriterOptions};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Two blocks of one warp that loads a row and exits.
fn sample(name: &str) -> PathBuf {
    let path = file(name);
    let insts = vec![
        Inst::new(Op::S2r { sr: SpecialReg::TidX }).dst(Reg(0)),
        Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::X4 }).dst(Reg(1)).srcs([Src::reg(Reg(0))]),
        Inst::new(Op::Exit {}),
    ];
    let lines = vec![SourceLine::default(); 3];
    let kernel =
        MachineKernel { name: "sample".into(), insts, lines, regs_per_thread: 2, ..Default::default() };
    let geometry = Geometry { grid: [2, 1, 1], block: [32, 1, 1] };
    let banks = Banks::default();
    let code = Code::prepare(&kernel, &banks);
    let mut writer = TraceWriter::create(&path, &WriterOptions::default()).unwrap();
    let id = writer.kernel(&kernel).unwrap();
    let launch = LaunchRecord {
        kernel: id,
        geometry,
        dynamic_shared_bytes: 0,
        banks,
        buffers: Vec::new(),
        ..LaunchRecord::default()
    };
    let run = writer.launch(launch).unwrap();
    let mut recorder = run.recorder();
    for block in 0..2 {
        recorder.begin(block);
        recorder.enter(0, BlockId(0), u32::MAX);
        let mut warp = Warp::new(&code);
        warp.reset(&code, &geometry, geometry.block_index(block), 0);
        for (pc, inst) in code.insts.iter().enumerate() {
            let mut at = [0; 32];
            trace_format::semantics::addresses(inst, &warp, &mut at);
            trace_format::semantics::execute(&code, inst, &mut warp, u32::MAX);
            if pc == 1 {
                warp.write_row(1, &Row::from_fn(|l| (l * l) as u32 + 1000), u32::MAX);
            }
            let pc = Pc(pc as u32);
            match inst.kind.is_memory() {
                true => recorder.access(0, pc, inst, &warp, u32::MAX, &at),
                false => recorder.externals(0, pc, inst, &warp, u32::MAX),
            }
            recorder.retire(0, pc, inst, &warp, u32::MAX);
        }
        run.submit(&mut recorder).unwrap();
    }
    run.finish().unwrap();
    writer.finish().unwrap();
    path
}

fn trace(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trace")).args(args).output().unwrap()
}

/// A limit on the address space (`ulimit -v`) is named with a remedy; lack of memory causes no crash.
#[test]
fn a_small_address_space_is_an_error_in_words() {
    let path = sample("limited.wtrace");
    for kib in [10_000, 20_000, 30_000, 60_000] {
        for command in ["info", "verify --threads 2", "dump"] {
            let script = format!("ulimit -v {kib}; exec \"$0\" {command} \"$1\"");
            let mut shell = Command::new("sh");
            let output =
                shell.args(["-c", &script, env!("CARGO_BIN_EXE_trace")]).arg(&path).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{kib} {command}: {told}");
            assert!(told.contains("ulimit -v unlimited") && told.contains("MiB"), "{kib} {command}: {told}");
        }
    }
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refusal(args: &[&str]) -> String {
    let output = trace(args);
    let usage = String::from_utf8_lossy(&output.stderr).contains("try '--help'");
    assert_eq!(output.status.code(), Some(if usage { 2 } else { 1 }), "{args:?}");
    String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap()
}

#[test]
fn info_accounts_for_every_byte() {
    let path = sample("info.wtrace");
    let name = path.to_str().unwrap();
    assert!(stdout(&trace(&["info", name])).contains("sample"));
    let json: serde_json::Value = serde_json::from_str(&stdout(&trace(&["info", name, "--json"]))).unwrap();
    assert_eq!(json["warp_instructions"], 6);
    assert_eq!(json["thread_instructions"], 6 * 32);
    assert_eq!(json["complete"], true);
    assert_eq!(json["launches"][0]["grid"], serde_json::json!([2, 1, 1]));
    let stored = json["sections"].as_object().unwrap().values().map(|s| s["stored_bytes"].as_u64().unwrap());
    assert_eq!(stored.sum::<u64>(), std::fs::metadata(&path).unwrap().len());
    assert_eq!(json["file_bytes"], std::fs::metadata(&path).unwrap().len());
}

#[test]
fn verify_tells_sound_from_damaged() {
    let path = sample("verify.wtrace");
    let name = path.to_str().unwrap();
    assert!(
        stdout(&trace(&["verify", name])).contains("sound; 1 frames, 2 blocks, 2 warps, 6 warp instructions")
    );
    let json: serde_json::Value = serde_json::from_str(&stdout(&trace(&["verify", name, "--json"]))).unwrap();
    assert_eq!((&json["sound"], &json["warps"]), (&true.into(), &2.into()));
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    let bad = file("verify-bad.wtrace");
    std::fs::write(&bad, &bytes).unwrap();
    assert!(refusal(&["verify", bad.to_str().unwrap()]).contains("hash"));
    bytes.truncate(middle);
    std::fs::write(&bad, &bytes).unwrap();
    let _ = refusal(&["verify", bad.to_str().unwrap()]);
}

#[test]
fn dump_lists_results_and_addresses() {
    let path = sample("dump.wtrace");
    let text = stdout(&trace(&["dump", path.to_str().unwrap(), "--block", "1", "--warp", "0"]));
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[2].contains("S2R R0, SR_TID.X") && lines[2].contains("R0=0x0 + 1*lane"), "{text}");
    assert!(lines[3].contains("shared[0x0 + 4*lane] x4, R1=0x3e8 0x3e9 0x3ec 0x3f1 .."), "{text}");
    assert!(lines[5].contains("end of the warp after 3 instructions"), "{text}");
    let limited = stdout(&trace(&["dump", path.to_str().unwrap(), "--skip", "1", "--limit", "1"]));
    assert_eq!(limited.lines().count(), 3);
    assert!(limited.contains("LDS"));
}

#[test]
fn bad_input_ends_with_code_1_or_2_and_a_message() {
    let path = sample("bad.wtrace");
    let name = path.to_str().unwrap();
    let text = file("text");
    std::fs::write(&text, "this is no trace, but long enough").unwrap();
    for (args, message) in [
        (&["info", "/nonexistent.wtrace"][..], "cannot open"),
        (&["info", text.to_str().unwrap()], "not a Warplab trace"),
        (&["verify", env!("CARGO_TARGET_TMPDIR")], "not a Warplab trace"),
        (&["dump", name, "--block", "7"], "no block 7; there are 2"),
        (&["dump", name, "--warp", "1"], "no warp 1; there are 1"),
        (&["dump", name, "--launch", "1"], "no launch 1; there are 1"),
        (&["dump", name, "--limit", "x"], "invalid value"),
        (&["verify"], "required"),
    ] {
        let said = refusal(args);
        assert!(said.contains(message), "{args:?}: {said}");
    }
    assert!(trace(&["--help"]).status.success());
}

#[test]
fn tables_fit_the_terminal() {
    let path = sample("fitting.wtrace");
    let longest = |columns: &str| {
        let info = Command::new(env!("CARGO_BIN_EXE_trace"))
            .args(["info", path.to_str().unwrap()])
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        assert!(info.status.success(), "{}", String::from_utf8_lossy(&info.stderr));
        let printed = String::from_utf8(info.stdout).unwrap();
        // Lines of tables begin with a space.
        let tables = printed.lines().filter(|line| line.starts_with(' '));
        tables.map(|line| line.chars().count()).max().unwrap()
    };
    assert!(longest("200") > 50);
    assert!(longest("50") <= 50, "{} characters", longest("50"));
}
