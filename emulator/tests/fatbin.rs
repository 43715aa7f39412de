//! Device code extracted from fat binaries, cubins and libraries as nvcc 13.5 writes them, and from damaged ones.
//!
//! The files under `fatbin/` are made from `two.cu`: `size`, `speed`, `none` with the compression mode of that
//! name, `ptx_only` for two architectures, `cubin_only` without PTX, `two.so` as a library; `two.ptx` is what
//! `nvcc -ptx` prints.

use crate::cli_kit;

use cli_kit::Folder;
use emulator::fatbin::{self, CONTAINER_MAGIC, Compression, FatbinError, Image, ImageKind, Origin};
use proptest::prelude::*;
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fatbin").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(file(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn images(name: &str) -> Vec<Image> {
    fatbin::open(&bytes(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// PTX without comments, blank lines and indentation, which embedding may change.
fn essence(ptx: &str) -> Vec<String> {
    let without = ptx.lines().map(|l| l.split("//").next().unwrap_or("").to_owned());
    let without = without.map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "));
    without.filter(|l| !l.is_empty()).collect()
}

#[test]
fn every_compression_yields_the_compilers_ptx() {
    let printed = String::from_utf8(bytes("two.ptx")).expect("PTX is text");
    let packings = [("size", Compression::Zstd), ("speed", Compression::Lz4), ("none", Compression::None)];
    for (name, packing) in packings {
        let images = images(&format!("{name}.fatbin"));
        let ptx = images.iter().find(|i| i.kind == ImageKind::Ptx).expect("there is PTX");
        assert_eq!((ptx.arch, ptx.version, ptx.compression), (75, (9, 5), packing), "{name}");
        let text = String::from_utf8(ptx.contents.clone()).expect("PTX is text");
        assert_eq!(essence(&text), essence(&printed), "{name}");
        let module = emulator::ptx::parse(&text, name).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(module.kernels().count(), 2, "{name}");
    }
}

#[test]
fn kernels_are_named_in_ptx_and_machine_code_alike() {
    for image in images("size.fatbin") {
        let mut kernels = image.kernels();
        kernels.sort();
        assert_eq!(kernels, ["_Z5scalePff", "add_one"], "{:?}", image.kind);
    }
}

#[test]
fn all_architectures_of_a_container_are_listed() {
    let found: Vec<_> = images("ptx_only.fatbin").iter().map(|i| (i.kind, i.arch, i.container)).collect();
    assert_eq!(found, [(ImageKind::Ptx, 75, 0), (ImageKind::Ptx, 90, 0)]);
}

#[test]
fn a_library_registers_its_containers() {
    let found = images("two.so");
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|i| i.origin == Origin::Registered && i.arch == 75));
    assert_eq!(found[1].contents, images("size.fatbin")[1].contents);
}

#[test]
fn a_cubin_and_a_ptx_text_are_images_themselves() {
    let cubin = images("cubin_only.fatbin").remove(0);
    let alone = fatbin::open(&cubin.contents).expect("a cubin is known");
    assert_eq!((alone[0].kind, alone[0].arch, alone[0].origin), (ImageKind::Cubin, 75, Origin::File));
    let ptx = images("two.ptx").remove(0);
    assert_eq!((ptx.kind, ptx.arch, ptx.version), (ImageKind::Ptx, 75, (9, 5)));
}

#[test]
fn what_is_no_program_is_refused() {
    for junk in [&b""[..], b"#!/bin/sh\n", b"\x50\xed\x55\xba", b"\x7fELF"] {
        assert!(fatbin::open(junk).is_err(), "{junk:?}");
    }
    let mut newer = bytes("size.fatbin");
    newer[4] = 9;
    assert!(matches!(fatbin::open(&newer), Err(FatbinError::Unsupported { .. })));
}

#[test]
fn every_cut_is_noticed() {
    let whole = bytes("size.fatbin");
    for length in (1..whole.len()).step_by(7) {
        assert!(fatbin::open(&whole[..length]).is_err(), "cut at {length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn damage_never_panics(
        name in prop::sample::select(vec!["size.fatbin", "speed.fatbin", "two.so", "ptx_only.fatbin"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut file = bytes(name);
        for (at, value) in changes {
            let at = at.index(file.len());
            file[at] = value;
        }
        if let Ok(images) = fatbin::open(&file) {
            for image in images {
                let _ = image.kernels();
            }
        }
    }
}

/// Damaged numbers in headers: sizes, counts and offsets at their extremes.
#[test]
fn damaged_numbers_never_panic() {
    let extremes = [u64::MAX, u64::MAX - 15, i64::MAX as u64, 1 << 32, 0xFFFF, 0];
    for name in ["size.fatbin", "speed.fatbin", "two.so", "ptx_only.fatbin"] {
        let whole = bytes(name);
        // Headers of containers with that of their first entry, of the file, and of its sections at its end.
        let magic = CONTAINER_MAGIC.to_le_bytes();
        let containers = (0..whole.len() - 4).step_by(8).filter(|&at| whole[at..at + 4] == magic);
        let sections = whole.len().saturating_sub(64 * 40) & !7;
        let starts = containers.map(|at| at..at + 96).chain([0..64, sections..whole.len()]);
        let places: std::collections::BTreeSet<usize> = starts.flatten().filter(|at| at % 4 == 0).collect();
        for at in places.into_iter().filter(|at| at + 8 <= whole.len()) {
            for value in extremes {
                let width = if at % 8 == 0 { 8 } else { 4 };
                let mut file = whole.clone();
                file[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                for image in fatbin::open(&file).unwrap_or_default() {
                    let _ = image.kernels();
                }
            }
        }
    }
}

/// A container of size 0, whose successor would be the container itself.
#[test]
fn containers_without_length_are_refused() {
    for header in [0u8, 8, 15] {
        let mut file = bytes("size.fatbin");
        file[6] = header;
        file[8..16].fill(0);
        let told = fatbin::open(&file).map(drop).unwrap_err().to_string();
        assert!(told.contains(&format!("a fat binary container whose header has {header} bytes")), "{told}");
    }
}

/// An entry that states a size beyond any possible one is refused before memory is allocated.
#[test]
fn claims_are_checked() {
    let entry = 16;
    let mut zstd = bytes("size.fatbin");
    zstd[entry + 0x38..entry + 0x40].copy_from_slice(&(1u64 << 30).to_le_bytes());
    assert!(matches!(fatbin::open(&zstd), Err(FatbinError::Damaged { .. })));
    let mut lz4 = bytes("speed.fatbin");
    lz4[entry + 0x10..entry + 0x14].copy_from_slice(&100u32.to_le_bytes());
    lz4[entry + 0x28..entry + 0x30].copy_from_slice(&0x2011u64.to_le_bytes());
    lz4[entry + 0x38..entry + 0x40].copy_from_slice(&(1u64 << 30).to_le_bytes());
    let told = fatbin::open(&lz4).map(drop).unwrap_err().to_string();
    assert!(told.contains("an entry of 100 bytes that claims to hold 1073741824"), "{told}");
}

/// A library with a thousand section headers for one range of the file is refused, not read a thousand times.
#[test]
fn sections_that_overlap_are_refused() {
    let container = bytes("size.fatbin");
    let library = |count: u16| {
        let names = b"\0.nv_fatbin\0.shstrtab\0";
        let (contents, strings) = (64u64, 64 + container.len() as u64);
        let headers = (strings + names.len() as u64).next_multiple_of(8);
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend([3u16, 62].iter().flat_map(|n| n.to_le_bytes()));
        file.extend(1u32.to_le_bytes());
        file.extend([0, 0, headers].iter().flat_map(|n| n.to_le_bytes()));
        file.extend(0u32.to_le_bytes());
        file.extend([64, 56, 0, 64, count + 1, count].iter().flat_map(|n: &u16| n.to_le_bytes()));
        file.extend(&container);
        file.extend(names);
        file.resize(headers as usize, 0);
        let mut section = |name: u32, kind: u32, at: u64, length: u64| {
            file.extend([name, kind].iter().flat_map(|n| n.to_le_bytes()));
            // Flags, address, offset, size, link and information, alignment, size of entries.
            file.extend([0, 0, at, length, 0, 1, 0].iter().flat_map(|n| n.to_le_bytes()));
        };
        (0..count).for_each(|_| section(1, 1, contents, container.len() as u64));
        section(12, 3, strings, names.len() as u64);
        file
    };
    let one = fatbin::open(&library(1)).expect("one section is as usual");
    assert_eq!(one.len(), images("size.fatbin").len());
    let told = fatbin::open(&library(1000)).map(drop).unwrap_err().to_string();
    assert!(told.contains("sections `.nv_fatbin` that are longer than the file"), "{told}");
}

#[test]
fn the_command_lists_and_writes() {
    let folder = Folder::new();
    let library = file("two.so");
    let run = folder.emu(&["extract", library.to_str().unwrap(), "-o", "deep/out", "--ptx"]);
    run.succeeds();
    assert!(run.out.contains("sm_75") && run.out.contains("add_one"), "{}", run.out);
    assert!(!run.out.contains("cubin"), "{}", run.out);
    let written = std::fs::read(folder.path("deep/out/two.0.sm_75.ptx")).expect("the PTX is written");
    assert_eq!(written, images("two.so")[1].contents);
    assert_eq!(std::fs::read_dir(folder.path("deep/out")).expect("the folder is there").count(), 1);
}

#[test]
fn the_command_lists_as_json() {
    let folder = Folder::new();
    let run = folder.emu(&["extract", file("speed.fatbin").to_str().unwrap(), "--json"]);
    run.succeeds();
    let list: serde_json::Value = serde_json::from_str(&run.out).expect("it is JSON");
    assert_eq!(list[1]["compression"], "lz4");
    assert_eq!(list[1]["kernels"][0], "add_one");
}

#[test]
fn without_device_code_the_remedy_is_named() {
    let folder = Folder::new().file("notes.txt", "nothing of the kind");
    let cubins = file("cubin_only.fatbin");
    folder.emu(&["extract", cubins.to_str().unwrap(), "--ptx"]).fails(&["no PTX", "code=compute_75"]);
    folder.emu(&["extract", "notes.txt"]).fails(&["notes.txt", "no executable"]);
    folder.emu(&["extract", "missing"]).fails(&["missing"]);
    let emu = env!("CARGO_BIN_EXE_emu");
    folder.emu(&["extract", emu]).fails(&["holds no device code"]);
}
