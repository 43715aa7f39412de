//! The bundled traces (vector add of 4096 floats, tiled product of two 64x64 matrices; sm_75) as Warplab traces, against
//! figures that a separate script counted in the text; and errors of damaged texts, with file and line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trace_format::container::Contents;
use trace_format::isa::{Inst, MachineKernel, Pc};
use trace_format::reader::Trace;
use trace_format::validate::{Progress, validate};
use warplab_accelsim::{ExportOptions, ImportOptions, Imported, Taken, export, import};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name)
}

fn imported(name: &str, to: &Path) -> (Imported, Trace) {
    let done = import(&sample(name), to, &ImportOptions::default()).unwrap_or_else(|why| panic!("{why}"));
    let report = validate(to, 1, &Progress::default()).expect("a trace");
    assert!(report.is_sound(), "{:?}", report.problems);
    (done, Trace::open(to).expect("a trace"))
}

/// What the script counts too: accesses, sectors of 32 bytes and the sum of the addresses, by opcode; the masks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    instructions: u64,
    lanes: u64,
    without_lanes: u64,
    masks: u32,
    accesses: BTreeMap<&'static str, (u64, u64, u64)>,
}

fn count(trace: &Trace) -> Counted {
    let mut found = Counted::default();
    let kernel = trace.kernel_of(0);
    let launch = &trace.launches()[0];
    for block in 0..launch.blocks_recorded() {
        for warp in 0..launch.geometry.warps_per_block() {
            let mut cursor = trace.slice_cursor(0, block, warp).expect("a warp");
            while let Some(step) = cursor.step().expect("a step") {
                assert_eq!(step.active, step.exec);
                found.instructions += 1;
                found.lanes += u64::from(step.exec.count_ones());
                found.without_lanes += u64::from(step.exec == 0);
                found.masks = found.masks.wrapping_mul(31).wrapping_add(step.exec);
                let Some(access) = cursor.mem() else { continue };
                let bytes = u64::from(access.bytes_per_lane);
                assert!(bytes == 4 || bytes == 16, "{bytes}");
                let lanes = (0..32).filter(|lane| access.mask >> lane & 1 != 0);
                let addresses: Vec<u64> = lanes.map(|lane| access.addresses[lane]).collect();
                let mut sectors: Vec<u64> =
                    addresses.iter().flat_map(|address| [address / 32, (address + bytes - 1) / 32]).collect();
                sectors.sort_unstable();
                sectors.dedup();
                let of = found.accesses.entry(kernel.insts[step.pc.index()].op.info().mnemonic).or_default();
                *of = (of.0 + 1, of.1 + sectors.len() as u64, of.2 + addresses.iter().sum::<u64>());
            }
        }
    }
    found
}

#[test]
fn the_samples_hold_what_the_text_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let (done, trace) = imported("vecadd", &folder.path().join("vecadd.wtrace"));
    assert_eq!((done.launches, done.warp_instructions, done.thread_instructions), (1, 1920, 57344));
    assert!(done.opcodes.iter().all(|one| one.how == Taken::Same));
    assert_eq!((trace.header().contents, trace.transfers().len()), (Contents::Imported, 2));
    let accesses =
        [("LDG", (256, 1024, 1_143_914_855_175_012_352)), ("STG", (128, 512, 571_958_252_221_227_008))];
    let expected = Counted {
        instructions: 1920,
        lanes: 57344,
        without_lanes: 128,
        masks: 1_136_594_944,
        accesses: accesses.into(),
    };
    assert_eq!(count(&trace), expected);
    let kernel = trace.kernel_of(0);
    assert_eq!((kernel.name.as_str(), kernel.regs_per_thread), ("_Z6vecaddPKfS0_Pfi", 10));
    assert_eq!(kernel.code_text(Pc(9)), Some("LDG.E.SYS R4, R4"));

    let (done, trace) = imported("matmul", &folder.path().join("matmul.wtrace"));
    assert_eq!((done.warp_instructions, done.thread_instructions), (25856, 819_200));
    let accesses = [
        ("LDG", (512, 2048, 2_287_829_710_350_024_704)),
        ("LDS", (10240, 34816, 1_743_781_888)),
        ("STG", (128, 512, 571_958_252_221_227_008)),
        ("STS", (512, 2048, 67_076_096)),
    ];
    let expected = Counted {
        instructions: 25856,
        lanes: 819_200,
        without_lanes: 256,
        masks: 419_459_328,
        accesses: accesses.into(),
    };
    assert_eq!(count(&trace), expected);
    let other: Vec<(&str, &str)> = done
        .opcodes
        .iter()
        .filter(|one| one.how != Taken::Same)
        .map(|one| (one.opcode.as_str(), one.row.as_str()))
        .collect();
    assert_eq!(other, [("UIADD3", "IADD3"), ("UMOV", "MOV")]);
    // The loop's branch goes back to the text's PC 01c0.
    let back = kernel_branch(trace.kernel_of(0), 0x71);
    assert_eq!(back.target, Pc(0x1c));
}

fn kernel_branch(kernel: &MachineKernel, pc: u32) -> Inst {
    kernel.insts[pc as usize]
}

/// The lines of a sample that are instructions, structure or header, without blanks at their ends.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a text");
    text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn an_imported_trace_is_exported_as_the_text_that_it_was_and_read_back_to_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, xz) in [("vecadd", false), ("matmul", true)] {
        let (first, back) = (folder.path().join("first.wtrace"), folder.path().join("back.wtrace"));
        let (_, trace) = imported(name, &first);
        let to = folder.path().join(name);
        let done = export(&trace, &to, &ExportOptions { xz, ..ExportOptions::default() }).expect("exported");
        assert_eq!(done.warp_instructions, trace.launches()[0].warp_instructions());
        import(&to, &back, &ImportOptions::default()).expect("imported");
        let trace_back = Trace::open(&back).expect("a trace");
        assert_eq!(count(&trace), count(&trace_back));
        let insts = |trace: &Trace| trace.kernel_of(0).insts.clone();
        assert_eq!(insts(&trace), insts(&trace_back));
        assert_eq!(trace.launches()[0].geometry, trace_back.launches()[0].geometry);
        let again =
            export(&trace, &to, &ExportOptions::default()).expect_err("the folder is in use").to_string();
        assert!(again.contains("not empty"), "{again}");
    }
    // The same lines but for the header and the immediates that version 4 adds.
    let text = lines(&folder.path().join("vecadd/kernel-1.traceg"));
    let line = "00d0 ffffffff 0 STG.E.SYS 2 R6 R9 4 1 0x7f0010000000 4 0";
    assert!(text.iter().any(|found| found == line), "{:?}", &text[..30]);
    assert!(text.iter().any(|found| found == "0050 00000000 0 EXIT 0 0 0"));
    assert!(text.iter().any(|found| found == "-nregs = 12"));
}

const HEADER: &str = "-kernel name = k\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (40,1,1)\n-shmem = 0\n\
    -nregs = 8\n-binary version = 75\n-cuda stream id = 0\n-accelsim tracer version = 3\n#traces format = …\n";
const WARPS: &str = "warp = 0\ninsts = 2\n0000 ffffffff 1 R1 MOV 0 0\n0010 ffffffff 0 EXIT 0 0\n\
    warp = 1\ninsts = 1\n0010 000000ff 0 EXIT 0 0\n#END_TB\n";

/// Imports a text as the only kernel; the error.
fn refusal(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("kernelslist.g"), "kernel-1.traceg\n").expect("written");
    std::fs::write(folder.path().join("kernel-1.traceg"), text).expect("written");
    match import(folder.path(), &folder.path().join("k.wtrace"), &ImportOptions::default()) {
        Ok(_) => "accepted".into(),
        Err(why) => why.to_string(),
    }
}

#[test]
fn damaged_texts_are_refused_with_file_and_line() {
    let block = |number: u32, rest: &str| format!("#BEGIN_TB\nthread block = {number},0,0\n{rest}");
    let whole = format!("{HEADER}{}{}", block(0, WARPS), block(1, WARPS));
    assert_eq!(refusal(&whole), "accepted");
    assert_eq!(refusal(whole.trim_end_matches("#END_TB\n")), "accepted");
    let cases = [
        (format!("{HEADER}{}", block(0, WARPS)), "1 of 2 thread blocks"),
        (whole[..whole.len() - 43].to_owned(), "it was cut off"),
        (whole[..whole.len() - 14].to_owned(), "source registers is missing"),
        (whole.replace("insts = 2", "insts = 3"), "warp 0 has 2 instructions, `insts` announced 3"),
        (whole.replace("insts = 2", "insts = 1"), "comes after the 1 instructions"),
        (whole.replace("insts = 2", "insts = 99999999999999999999"), "not followed by a number"),
        (whole.replace("insts = 2", "insts = 18446744073709551615"), "has 2 instructions"),
        (whole.replace("warp = 1", "warp = 2"), "warp 2 where warp 1 of 2"),
        (whole.replace("warp = 1\ninsts = 1\n0010 000000ff 0 EXIT 0 0\n", ""), "after 1 of its 2 warps"),
        (whole.replace("block = 1,0,0", "block = 7,0,0"), "outside of the grid"),
        (whole.replace("block = 1,0,0", "block = 0,0,0"), "comes after a later one"),
        (whole.replace("000000ff", "0000ffff"), "names lanes without a thread"),
        (whole.replace("0000 ffffffff 1 R1 MOV", "0000 ffffffff 1 R1 EXIT"), "lanes that have ended"),
        (whole.replace("0010 ffffffff", "0010 fffffffff"), "more than 32 lanes"),
        (whole.replace("(2,1,1)", "(4000000000,4000000000,4)"), "cannot be launched"),
        (whole.replace("(40,1,1)", "(4000,1,1)"), "cannot be launched"),
        (whole.replace("version = 3", "version = 99"), "tracer version 99 is not known"),
        (HEADER.replace("#traces", "traces"), "is no line of a header"),
        ("hello\n".to_owned(), "no header of a trace"),
        (HEADER.to_owned(), "it has no instruction"),
        (format!("{HEADER}0 0 0 0 0000 ffffffff 0 EXIT 0 0\n"), "post-traces-processing"),
        ("x".repeat(100_000), "more than 65536 bytes"),
    ];
    for (text, part) in &cases {
        let why = refusal(text);
        assert!(why.contains(part), "{part}: {why}");
        let place = why.split("kernel-1.traceg:").nth(1).and_then(|rest| rest.split(':').next());
        assert!(place.is_some_and(|line| line.parse::<u64>().is_ok()), "no line: {why}");
    }
}

#[test]
fn a_partial_launch_is_imported_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("{HEADER}#BEGIN_TB\nthread block = 0,0,0\ncluster id = 0,0,0\n{WARPS}");
    std::fs::write(folder.path().join("kernelslist.g"), "MemcpyDtoH,0x0,4\nkernel-1.traceg\n")
        .expect("written");
    std::fs::write(folder.path().join("kernel-1.traceg"), text).expect("written");
    let (to, options) =
        (folder.path().join("k.wtrace"), ImportOptions { partial: true, ..ImportOptions::default() });
    let done = import(folder.path(), &to, &options).expect("imported");
    assert_eq!((done.missing_blocks, done.ignored_commands, done.warp_instructions), (1, 1, 3));
    let trace = Trace::open(&to).expect("a trace");
    assert!(!trace.launches()[0].is_whole() && trace.launches()[0].blocks_recorded() == 1);
    let refused = export(&trace, &folder.path().join("out"), &ExportOptions::default()).expect_err("partial");
    assert!(refused.to_string().contains("every block"), "{refused}");
}

#[test]
fn damaged_lists_and_compressed_files_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("kernelslist.g");
    let tried = |text: &str| {
        std::fs::write(&list, text).expect("written");
        import(&list, &folder.path().join("k.wtrace"), &ImportOptions::default()).expect_err(text).to_string()
    };
    assert!(tried("").contains("names no kernel"));
    assert!(tried("MemcpyHtoD,0xzz,4\nkernel-1.traceg\n").contains("kernelslist.g:1: `MemcpyHtoD,0xzz,4`"));
    assert!(tried("kernel-9.traceg\n").contains("kernel-9.traceg: cannot be read"));
    assert!(tried("kernel-9.tracez\n").contains(".tracez"));
    // Cut off and changed, the compressed text is refused with the line that it reaches.
    let packed = std::fs::read(sample("matmul/kernel-1.traceg.xz")).expect("a file");
    let path = folder.path().join("kernel-1.traceg.xz");
    for cut in [7, 20, packed.len() / 2, packed.len() - 1] {
        std::fs::write(&path, &packed[..cut]).expect("written");
        let why = tried("kernel-1.traceg\n");
        assert!(why.contains("kernel-1.traceg.xz:") && why.contains("xz: "), "{cut}: {why}");
    }
    for at in (6..packed.len()).step_by(37) {
        let mut changed = packed.clone();
        changed[at] ^= 0x10;
        std::fs::write(&path, &changed).expect("written");
        std::fs::write(&list, "kernel-1.traceg\n").expect("written");
        let done = import(&list, &folder.path().join("k.wtrace"), &ImportOptions::default());
        assert!(done.is_err(), "byte {at}");
    }
}
