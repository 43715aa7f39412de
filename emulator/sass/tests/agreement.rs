//! The decoder against nvdisasm, on the machine code of this repository's PTX for every target.
//!
//! Without a CUDA toolkit the test says that it was skipped; `words.rs` then compares a sample of words.

use crate::kit;

use sass::cubin::Cubin;
use sass::{Target, decode};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use test_kit::{Tool, skipped};

/// PTX files below a folder.
fn ptx_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            ptx_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

#[test]
fn every_word_is_printed_as_nvdisasm_does() {
    let Some(toolkit) = kit::toolkit(&["ptxas", "nvdisasm"]) else {
        return skipped(Tool::Nvcc, "no ptxas and nvdisasm; tools/scripts/cuda-toolkit.sh installs them");
    };
    let mut files = Vec::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    for folder in ["workloads", "silicon", "programs"] {
        ptx_files(&tests.join(folder), &mut files);
    }
    assert!(files.len() > 50, "{} PTX files", files.len());
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The compilers of CUDA 13 know no sm_70.
    for target in Target::ALL.into_iter().filter(|target| *target != Target::Sm70) {
        let (mut words, mut modules) = (BTreeSet::new(), 0);
        for file in &files {
            let cubin = folder.path().join("app.cubin");
            let made = Command::new(toolkit.join("bin/ptxas"))
                .args(["-O3", &format!("-arch=sm_{}", target.number()), "-o"])
                .args([&cubin, file])
                .output()
                .expect("ptxas starts");
            // Some modules are for later targets.
            if !made.status.success() {
                continue;
            }
            modules += 1;
            let bytes = std::fs::read(&cubin).expect("the cubin can be read");
            let cubin = Cubin::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            assert_eq!(cubin.target, target);
            assert!(!cubin.functions.is_empty(), "{}: no functions", file.display());
            words.extend(cubin.functions.iter().flat_map(sass::cubin::Function::words));
        }
        assert!(modules > 40, "{target}: only {modules} modules were assembled");
        let words: Vec<u128> = words.into_iter().collect();
        let texts = kit::nvdisasm(&toolkit.join("bin/nvdisasm"), target, &words);
        let (mut wrong, mut refused) = (Vec::new(), 0);
        for (at, (word, text)) in words.iter().zip(&texts).enumerate() {
            let Some(text) = text else {
                refused += 1;
                continue;
            };
            let ours =
                decode(target, at as u64 * 16, *word).map_or_else(|e| e.to_string(), |i| i.to_string());
            if ours != *text {
                wrong.push(format!("{word:032x}\n  nvdisasm {text}\n  here     {ours}"));
            }
        }
        let shown = wrong.len().min(10);
        assert!(
            wrong.is_empty(),
            "{target}: {} of {} words:\n{}",
            wrong.len(),
            words.len(),
            wrong[..shown].join("\n")
        );
        assert_eq!(refused, 0, "{target}: words that ptxas wrote and nvdisasm refuses");
    }
}
