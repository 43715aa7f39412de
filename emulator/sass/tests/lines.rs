//! Line tables of cubins: a sample, damaged ones, and nvdisasm's reading of tables that nvcc writes.

use sass::cubin::Cubin;
use sass::lines::{Lines, LinesError, Origin};
use sass::{INSTRUCTION_BYTES, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use test_kit::{Tool, skipped};

/// `lines.cu` beside it: `nvcc -lineinfo -ptx`, with the file's name alone in the PTX, and `ptxas -lineinfo -arch=sm_80`.
const LINES: &[u8] = include_bytes!("data/lines.sm_80.cubin");
/// Without line tables.
const VECTORADD: &[u8] = include_bytes!("data/vectoradd.sm_80.cubin");

/// The origins of a function's instructions.
fn origins<'a>(lines: &'a Lines, cubin: &Cubin<'_>, function: &str) -> Vec<Origin<'a>> {
    let count = cubin.function(function).expect("the function").len();
    (0..count).map(|at| lines.origin(function, (at * INSTRUCTION_BYTES) as u64)).collect()
}

#[test]
fn instructions_lead_to_both_sources() {
    let (lines, cubin) = (Lines::parse(LINES).expect("tables"), Cubin::parse(LINES).expect("a cubin"));
    let count = origins(&lines, &cubin, "_Z5countPKiPii");
    let code = cubin.function("_Z5countPKiPii").expect("the kernel").instructions();
    let code: Vec<String> = code.map(|one| one.expect("known").mnemonic.to_string()).collect();
    let of = |mnemonic: &str| count[code.iter().position(|one| one == mnemonic).expect(mnemonic)];
    // Line 8 loads, and line 9 stores; the PTX says so in its own words.
    for (mnemonic, line, ptx) in
        [("LDG", 8, "ld.global.u32"), ("STG", 9, "st.global.u32"), ("EXIT", 7, "@%p1 bra")]
    {
        assert_eq!(of(mnemonic).source, Some(("lines.cu", line)), "{mnemonic}");
        let text = lines.ptx_text(of(mnemonic).ptx.expect("a line")).expect("its text");
        assert!(text.starts_with(ptx), "{mnemonic}: {text}");
    }
    // The function that was inlined has a line of its own.
    assert_eq!(of("POPC").source, Some(("lines.cu", 2)));
    let fill = origins(&lines, &cubin, "_Z4fillPi");
    assert!(
        fill.iter()
            .flat_map(|one| one.source)
            .all(|(file, line)| file == "lines.cu" && (13..=15).contains(&line))
    );
    assert!(fill[0].source.is_some());
    assert_eq!(lines.origin("other", 0), Origin::default());
    assert_eq!(lines.origin("_Z4fillPi", 1 << 20), Origin::default(), "behind the end there is no line");
    assert_eq!(lines.ptx_text(0), None);
    assert!(Lines::parse(VECTORADD).expect("no tables").is_empty());
}

#[test]
fn damaged_tables_are_errors_or_less_lines() {
    assert!(matches!(Lines::parse(b"text"), Err(LinesError::Elf(_))));
    for length in 0..LINES.len() {
        let _ = Lines::parse(&LINES[..length]);
    }
    // Every byte of the tables takes some values that break headers, operations and lengths.
    let whole = goblin::elf::Elf::parse(LINES).expect("an ELF file");
    let mut refused = 0;
    for section in &whole.section_headers {
        let name = whole.shdr_strtab.get_at(section.sh_name).unwrap_or("");
        if !name.contains("debug_line") {
            continue;
        }
        for at in section.sh_offset as usize..(section.sh_offset + section.sh_size) as usize {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = LINES.to_vec();
                bytes[at] = value;
                refused += usize::from(Lines::parse(&bytes).is_err());
            }
        }
    }
    assert!(refused > 50, "{refused} of the damages are noticed");
}

/// The CUDA toolkit that `CUDA_HOME` or `CUDA_PATH` name, the one that is installed, or the one of the script.
fn toolkit() -> Option<PathBuf> {
    let told = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let cache = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/warplab/cuda"));
    let mut places = told.chain([PathBuf::from("/usr/local/cuda")]).chain(cache);
    places.find(|place| ["nvcc", "nvdisasm"].iter().all(|tool| place.join("bin").join(tool).is_file()))
}

/// File and line of every instruction of a listing of nvdisasm, by function and address.
fn listed(program: &Path, flag: &str, cubin: &Path) -> BTreeMap<(String, u64), (String, u32)> {
    let out = Command::new(program).arg(flag).arg(cubin).output().expect("nvdisasm starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let mut found = BTreeMap::new();
    let (mut function, mut place) = (String::new(), None);
    for line in String::from_utf8_lossy(&out.stdout).lines() {
        if let Some(name) = line.strip_prefix(".text.") {
            (function, place) = (name.trim_end_matches(':').to_owned(), None);
        } else if let Some(rest) = line.trim().strip_prefix("//## File \"") {
            let (file, rest) = rest.split_once("\", line ").expect("a line");
            place = Some((
                file.to_owned(),
                rest.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number"),
            ));
        } else if let Some((address, text)) =
            line.trim().strip_prefix("/*").and_then(|rest| rest.split_once("*/"))
        {
            // Behind the code there is padding, which belongs to no line.
            let address = u64::from_str_radix(address, 16).expect("an address");
            if let Some(place) = place.clone().filter(|_| text.trim_end().ends_with(" ;")) {
                found.insert((function.clone(), address), place);
            }
        }
    }
    found
}

#[test]
fn lines_are_those_that_nvdisasm_shows() {
    let Some(toolkit) = toolkit() else {
        return skipped(Tool::Nvcc, "no nvcc and nvdisasm; tools/scripts/cuda-toolkit.sh installs them");
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lines.cu");
    // The compilers of CUDA 13 know no sm_70.
    for target in Target::ALL.into_iter().filter(|target| *target != Target::Sm70) {
        let path = folder.path().join("lines.cubin");
        let made = Command::new(toolkit.join("bin/nvcc"))
            .args(["-lineinfo", "-cubin", &format!("-arch=sm_{}", target.number()), "-o"])
            .args([&path, &source])
            .output()
            .expect("nvcc starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let lines = Lines::parse(&std::fs::read(&path).expect("the cubin")).expect("its tables");
        let program = toolkit.join("bin/nvdisasm");
        let cuda = listed(&program, "-g", &path);
        assert!(cuda.len() > 15, "{}: {} instructions", target.number(), cuda.len());
        for ((function, address), (file, line)) in &cuda {
            let found = lines.origin(function, *address).source;
            assert_eq!(found, Some((file.as_str(), *line)), "{target}: {function} {address:#x}");
        }
        let ptx = listed(&program, "-gp", &path);
        assert_eq!(ptx.len(), cuda.len());
        for ((function, address), (_, line)) in &ptx {
            assert_eq!(
                lines.origin(function, *address).ptx,
                Some(*line),
                "{target}: {function} {address:#x}"
            );
        }
    }
}
