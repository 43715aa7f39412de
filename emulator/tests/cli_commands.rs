//! Output and files of `emu` for the bundled programs.

use crate::cli_kit;

use cli_kit::Folder;
use serde_json::Value;

/// The path of a bundled workload's files, without extension.
fn workload(name: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/workloads");
    let mut suites = std::fs::read_dir(root).unwrap().map(|suite| suite.unwrap().path().join(name));
    let folder = suites.find(|path| path.is_dir()).unwrap_or_else(|| panic!("no workload {name}"));
    folder.join(name).display().to_string()
}

#[test]
fn running_prints_a_table_and_checks() {
    let ptx = workload("histogram") + ".ptx";
    let run = Folder::new().emu(&["run", &ptx, "--dump", "bins:2"]);
    run.succeeds();
    for part in ["kernel", "warp instructions", "histogram", "bins (256 x u32):", "check bins: passed"] {
        assert!(run.out.contains(part), "{part} is missing in:\n{}", run.out);
    }
    assert_eq!(run.err, "");
}

#[test]
fn tables_fit_the_terminal() {
    let ptx = workload("libor") + ".ptx";
    let longest = |columns: &str| {
        let emu = std::process::Command::new(env!("CARGO_BIN_EXE_emu"))
            .args(["run", &ptx])
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        assert!(emu.status.success());
        let printed = String::from_utf8(emu.stdout).unwrap();
        printed.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!(longest("200") > 50);
    assert!(longest("50") <= 50);
}

#[test]
fn json_has_the_documented_keys() {
    let ptx = workload("reduction") + ".ptx";
    let folder = Folder::new();
    let run = folder.emu(&["record", &ptx, "-o", "r.wtrace", "--json", "--dump", "total:1"]);
    run.succeeds();
    let json: Value = serde_json::from_str(&run.out).unwrap();
    let launches = json["launches"].as_array().unwrap();
    let sum: u64 = launches.iter().map(|l| l["warp_instructions"].as_u64().unwrap()).sum();
    assert_eq!(json["warp_instructions"].as_u64(), Some(sum));
    assert!(sum > 0 && json["thread_instructions"].as_u64().unwrap() > sum);
    for l in launches {
        assert!(l["kernel"].is_string() && l["time_s"].is_f64() && l["block"].as_array().unwrap().len() == 3);
        assert!(l["blocks"].as_u64().unwrap() > 0);
    }
    assert!(json["warp_instructions_per_s"].as_f64().unwrap() > 0.0);
    assert!(json["checks"].as_array().unwrap().iter().all(|c| c["verdict"] == "passed"), "{}", run.out);
    assert_eq!(json["dumps"][0]["buffer"], "total");
    assert_eq!(
        json["trace"]["bytes"].as_u64(),
        Some(std::fs::metadata(folder.path("r.wtrace")).unwrap().len())
    );
    assert!(json["trace"]["bytes_per_warp_instruction"].as_f64().unwrap() > 0.0);
}

#[test]
fn recordings_are_the_same_for_every_number_of_threads_and_every_place() {
    let folder = Folder::new();
    for name in ["bfs", "compact", "transpose"] {
        let ptx = workload(name) + ".ptx";
        let traces: Vec<Vec<u8>> = ["1", "2", "3"]
            .iter()
            .map(|threads| {
                folder.emu(&["record", &ptx, "-o", "t.wtrace", "--threads", threads]).succeeds();
                std::fs::read(folder.path("t.wtrace")).unwrap()
            })
            .collect();
        assert!(traces[0] == traces[1] && traces[0] == traces[2], "{name}");
        let copy = Folder::new();
        for extension in ["ptx", "toml"] {
            let file = format!("{name}.{extension}");
            std::fs::copy(format!("{}.{extension}", workload(name)), copy.path(&file)).unwrap();
        }
        copy.emu(&["record", &format!("{name}.ptx")]).succeeds();
        assert!(
            std::fs::read(copy.path(&format!("{name}.wtrace"))).unwrap() == traces[0],
            "{name} elsewhere"
        );
        let progress = trace_format::validate::Progress::default();
        let report = trace_format::validate::validate(&folder.path("t.wtrace"), 1, &progress).unwrap();
        assert_eq!(report.problems, [], "{name}");
    }
}

/// `vectoradd` copies a and b to the device; c starts as zeros, which nobody copies.
#[test]
fn a_recording_holds_the_copies_of_the_manifests_data() {
    let folder = Folder::new();
    let ptx = workload("vectoradd") + ".ptx";
    folder.emu(&["record", &ptx, "-o", "t.wtrace"]).succeeds();
    let trace = trace_format::reader::Trace::open(folder.path("t.wtrace")).unwrap();
    let buffers = trace.launch_record(0).unwrap().buffers;
    let named = |name: &str| {
        let buffer = buffers.iter().find(|buffer| buffer.name == name).unwrap();
        (buffer.address, buffer.bytes)
    };
    let copied: Vec<(u64, u64)> = trace.transfers().iter().map(|copy| (copy.to, copy.bytes)).collect();
    assert_eq!(copied, [named("a"), named("b")]);
    let kind = trace_format::container::TransferKind::HostToDevice;
    assert!(trace.transfers().iter().all(|copy| copy.kind == kind && copy.after_launches == 0));
}

#[test]
fn listings_show_counters_live_registers_and_meeting_points() {
    let ptx = workload("matmul_tiled") + ".ptx";
    let folder = Folder::new();
    let run = folder.emu(&["disasm", &ptx]);
    run.succeeds();
    for part in [
        "kernel matmul_tiled_32",
        "kernel matmul_tiled_16",
        "registers (at most",
        "c[0x0][0x160] u64",
        "0x0000",
    ] {
        assert!(run.out.contains(part), "{part} is missing in:\n{}", run.out);
    }
    assert!(!run.out.contains("// matmul_tiled.ptx:"));
    let run = folder.emu(&["disasm", &ptx, "--kernel", "matmul_tiled_16", "--ptx"]);
    run.succeeds();
    assert!(
        run.out.contains("// matmul_tiled.ptx:")
            && run.out.contains("bar.sync")
            && run.out.contains("BAR.SYNC")
    );
    assert!(!run.out.contains("kernel matmul_tiled_32"));
    let branch = run.out.lines().find(|l| l.contains("@") && l.contains("BRA")).unwrap();
    let meeting = branch.split("lanes meet at ").nth(1).unwrap();
    assert!(run.out.lines().any(|l| l.starts_with(meeting) && l.contains('>')), "{branch}");
}

#[test]
fn machine_code_is_listed_with_its_control_bits() {
    let cubin = concat!(env!("CARGO_MANIFEST_DIR"), "/sass/tests/data/vectoradd.sm_80.cubin");
    let folder = Folder::new();
    let run = folder.emu(&["disasm", cubin]);
    run.succeeds();
    for part in ["kernel vectoradd", "sm_80", " registers", "0x0000 B------:", "FADD ", "EXIT"] {
        assert!(run.out.contains(part), "{part} is missing in:\n{}", run.out);
    }
    assert_eq!(run.out, folder.emu(&["disasm", cubin, "--code", "sass", "--kernel", "vectoradd"]).out);
    folder
        .emu(&["disasm", cubin, "--kernel", "vectorad"])
        .fails(&["there is no kernel `vectorad`", "vectoradd"]);
    let ptx = workload("matmul_tiled") + ".ptx";
    folder.emu(&["disasm", &ptx, "--code", "sass"]).fails(&["matmul_tiled.ptx"]);
    let bytes = std::fs::read(cubin).unwrap();
    std::fs::write(folder.path("cut.cubin"), &bytes[..bytes.len() / 2]).unwrap();
    folder.emu(&["disasm", "cut.cubin"]).fails(&["cut.cubin"]);
    std::fs::write(folder.path("libcublas.so.13"), &bytes).unwrap();
    folder.emu(&["disasm", "libcublas.so.13"]).fails(&["licence of libcublas"]);
}

#[test]
fn machine_code_is_listed_with_the_lines_that_it_was_compiled_from() {
    let cubin = concat!(env!("CARGO_MANIFEST_DIR"), "/sass/tests/data/lines.sm_80.cubin");
    let folder = Folder::new();
    let run = folder.emu(&["disasm", cubin, "--kernel", "_Z5countPKiPii", "--ptx"]);
    run.succeeds();
    let listing: Vec<&str> = run.out.lines().collect();
    for (mnemonic, place, ptx) in [
        ("LDG.E", "lines.cu:8: ", "ld.global.u32"),
        ("POPC", "lines.cu:2: ", "popc.b32"),
        ("STG.E", "lines.cu:9: ", "st.global.u32"),
    ] {
        let at = listing.iter().position(|line| line.contains(mnemonic)).expect(mnemonic);
        let comment = listing[at - 1];
        assert!(comment.trim_start().starts_with("// ptx:") && comment.contains(place), "{comment}");
        assert!(comment.contains(ptx), "{comment}");
    }
    let plain = folder.emu(&["disasm", cubin, "--kernel", "_Z5countPKiPii"]);
    plain.succeeds();
    let without: Vec<&str> =
        listing.iter().filter(|line| !line.trim_start().starts_with("// ")).copied().collect();
    assert_eq!(plain.out.lines().collect::<Vec<_>>(), without);
    let cubin = concat!(env!("CARGO_MANIFEST_DIR"), "/sass/tests/data/vectoradd.sm_80.cubin");
    let run = folder.emu(&["disasm", cubin, "--ptx"]);
    run.succeeds();
    assert!(run.err.contains("no lines of its source") && run.err.contains("-lineinfo"), "{}", run.err);
    assert!(!run.out.contains("// "));
}

/// Registers per thread of the only kernel of a listing.
fn registers(listing: &str) -> u32 {
    let (before, _) = listing.split_once(" registers (").unwrap_or_else(|| panic!("{listing}"));
    before.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{listing}"))
}

/// Instructions since sm_70 name two registers fewer than a thread has.
#[test]
fn a_limit_of_registers_holds_for_kernels_without_bounds() {
    let folder = Folder::new();
    let ptx = workload("hash64") + ".ptx";
    let listing = |flags: &[&str]| {
        let run = folder.emu(&[&["disasm", &ptx], flags].concat());
        run.succeeds();
        run.out
    };
    let (all, few) = (listing(&[]), listing(&["--maxregs", "24"]));
    assert!(registers(&all) > 22 && registers(&few) <= 22, "{all}{few}");
    assert!(few.contains("of them spills"), "{few}");
    folder.emu(&["run", &ptx, "--maxregs", "24"]).succeeds();
    let record = |flags: &[&str], to: &str| {
        folder.emu(&[&["record", &ptx, "-o", to], flags].concat()).succeeds();
        let trace = trace_format::reader::Trace::open(folder.path(to)).unwrap();
        trace.kernel(0).regs_per_thread
    };
    assert_eq!(u32::from(record(&[], "all.wtrace")), registers(&all));
    assert_eq!(u32::from(record(&["--maxregs", "24"], "few.wtrace")), registers(&few));
    let low = folder.emu(&["run", &ptx, "--maxregs", "23"]);
    low.fails(&["a limit of 23 registers per thread is too low", "sm_75", "at least 24"]);
    for number in ["15", "256", "many"] {
        let refused = folder.emu(&["run", &ptx, "--maxregs", number]);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains("--maxregs"), "{}", refused.err);
    }
}

#[test]
fn orders_of_instructions_differ_and_results_do_not() {
    let folder = Folder::new();
    let ptx = workload("hotspot") + ".ptx";
    let with = |order: &str| {
        let listing = folder.emu(&["disasm", &ptx, "--schedule", order]);
        listing.succeeds();
        let run = folder.emu(&["run", &ptx, "--schedule", order]);
        run.succeeds();
        assert!(run.out.contains(": passed"), "{}", run.out);
        listing.out
    };
    let [latency, source, reuse] = ["latency", "source", "reuse"].map(with);
    let usual = folder.emu(&["disasm", &ptx]);
    assert_eq!(usual.out, latency);
    assert!(latency != source && latency != reuse && source != reuse);
    let unknown = folder.emu(&["disasm", &ptx, "--schedule", "random"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("[possible values: latency, source, reuse]"), "{}", unknown.err);
}

#[test]
fn overriding_sizes_reaches_the_kernel() {
    let ptx = workload("vectoradd") + ".ptx";
    let folder = Folder::new();
    let run = folder.emu(&[
        "run",
        &ptx,
        "--set",
        "n=1000",
        "--set",
        "a.init=\"iota\"",
        "--set",
        "b.init={fill=0.5}",
        "--dump",
        "c:1000",
    ]);
    run.succeeds();
    assert!(run.out.contains("check c: skipped"), "{}", run.out);
    assert!(
        run.out.contains("c (1000 x f32): 0.5, 1.5, 2.5,") && run.out.contains(", 999.5\n"),
        "{}",
        run.out
    );
}

#[test]
fn help_gives_examples() {
    for command in ["run", "record", "disasm"] {
        let help = Folder::new().emu(&[command, "--help"]);
        help.succeeds();
        assert!(help.out.contains("Examples:"), "{}", help.out);
    }
}

#[cfg(unix)]
#[test]
fn recordings_go_into_pipes_that_stay_pipes() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new();
    let ptx = workload("vectoradd") + ".ptx";
    folder.emu(&["record", &ptx, "-o", "file.wtrace"]).succeeds();
    let expected = std::fs::read(folder.path("file.wtrace")).unwrap();
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe).unwrap()
    });
    folder.emu(&["record", &ptx, "-o", "pipe"]).succeeds();
    assert!(reader.join().unwrap() == expected, "the pipe gave another trace");
    assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
    // Standard output holds only the trace, whether it is a pipe or a file.
    let emu = |out: std::process::Stdio| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_emu"));
        command.args(["record", &ptx, "-o", "/dev/stdout"]).stdout(out).stderr(std::process::Stdio::piped());
        command.spawn().unwrap().wait_with_output().unwrap()
    };
    let piped = emu(std::process::Stdio::piped());
    assert!(piped.status.success() && piped.stdout == expected, "standard output holds another trace");
    assert!(String::from_utf8_lossy(&piped.stderr).contains("check c: passed"));
    let file = std::fs::File::create(folder.path("out")).unwrap();
    assert!(emu(file.into()).status.success());
    assert!(std::fs::read(folder.path("out")).unwrap() == expected);
    assert!(std::path::Path::new("/dev/stdout").is_symlink());
}
