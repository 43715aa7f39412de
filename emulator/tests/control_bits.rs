//! The checker of control bits: ptxas's code has no hazard, and bits that were made wrong are found. The cubins are those of
//! the tests of `sass`; no toolkit is needed.

use crate::cli_kit;

use cli_kit::Folder;
use emulator::native::NativeModule;
use emulator::native::hazards::{Checked, Why, check};
use sass::cubin::Cubin;
use sass::{INSTRUCTION_BYTES, Instruction};

const VECTORADD: &[u8] = include_bytes!("../sass/tests/data/vectoradd.sm_80.cubin");
const VARIABLES: &[u8] = include_bytes!("../sass/tests/data/variables.sm_75.cubin");
const LINES: &[u8] = include_bytes!("../sass/tests/data/lines.sm_80.cubin");

fn each_function(image: &[u8]) -> Vec<(String, Checked)> {
    let cubin = Cubin::parse(image).expect("a cubin");
    cubin.functions.iter().map(|function| (function.name.clone(), check(&cubin, function))).collect()
}

fn hazards(image: &[u8]) -> Vec<Why> {
    each_function(image).iter().flat_map(|(_, checked)| &checked.hazards).map(|hazard| hazard.why).collect()
}

#[test]
fn code_of_the_compiler_has_no_hazard() {
    for image in [VECTORADD, VARIABLES, LINES] {
        for (name, checked) in each_function(image) {
            assert!(checked.instructions > 5 && checked.unknown <= 3, "{name}: {checked:?}");
            assert!(checked.hazards.is_empty(), "{name}: {checked:?}");
        }
    }
}

/// Every copy of an image in which one word is another, with the instruction as it was.
fn variants(image: &[u8], change: impl Fn(&Instruction) -> Vec<u128>) -> Vec<(String, Vec<u8>)> {
    let cubin = Cubin::parse(image).expect("a cubin");
    let mut variants = Vec::new();
    for function in &cubin.functions {
        for instruction in function.instructions() {
            let instruction = instruction.expect("an instruction");
            let at = (function.file_offset + instruction.address) as usize;
            for word in change(&instruction) {
                let mut image = image.to_vec();
                image[at..at + INSTRUCTION_BYTES].copy_from_slice(&word.to_le_bytes());
                variants
                    .push((format!("{}: {:#x} {instruction}", function.name, instruction.address), image));
            }
        }
    }
    variants
}

/// The variants without a hazard.
fn missed(variants: &[(String, Vec<u8>)]) -> Vec<&str> {
    variants.iter().filter(|(_, image)| hazards(image).is_empty()).map(|(name, _)| name.as_str()).collect()
}

const WAIT_MASK: u32 = 116;
const WRITE_COUNTER: u32 = 110;
const STALL: u32 = 105;

#[test]
fn a_wait_that_is_left_out_is_found() {
    let without_one_wait = |instruction: &Instruction| {
        let waits = (0..6).filter(|counter| instruction.control.wait_mask >> counter & 1 != 0);
        waits.map(|counter| instruction.word & !(1 << (WAIT_MASK + counter))).collect()
    };
    let variants = variants(VECTORADD, without_one_wait);
    assert_eq!((variants.len(), missed(&variants)), (2, Vec::new()));
    assert!(
        variants.iter().all(|(_, image)| hazards(image).iter().all(|why| matches!(why, Why::NotWaited(_))))
    );
}

#[test]
fn a_counter_that_is_left_out_is_found() {
    let without_counter = |instruction: &Instruction| match instruction.control.write_counter {
        Some(_) => vec![instruction.word | 7 << WRITE_COUNTER],
        None => Vec::new(),
    };
    let variants = variants(VECTORADD, without_counter);
    // Two special registers are read in order, and the second one's counter is waited for.
    let covered = "vectoradd: 0x10 S2R R6, SR_CTAID.X";
    assert_eq!((variants.len(), missed(&variants)), (4, vec![covered]));
}

#[test]
fn a_stall_count_that_is_too_small_is_found() {
    let shorter = |instruction: &Instruction| match instruction.control.stall_cycles {
        stall @ 2.. => vec![instruction.word - (u128::from(stall - 1) << STALL)],
        _ => Vec::new(),
    };
    let variants = variants(VECTORADD, shorter);
    let found: Vec<_> = variants.iter().map(|(name, image)| (name, hazards(image))).collect();
    let early = |why: &Why| matches!(why, Why::TooEarly(_) | Why::JustCounted(_));
    assert!(found.iter().all(|(_, hazards)| hazards.iter().all(early)), "{found:?}");
    // The results of the others are read later than the stall count asks for, or by nothing.
    let wrong = found.iter().filter(|(_, hazards)| !hazards.is_empty()).count();
    assert_eq!((found.len(), wrong), (13, 6), "{found:?}");
}

#[test]
fn the_command_says_what_is_wrong_and_where() {
    let folder = Folder::new();
    std::fs::write(folder.path("good.cubin"), VECTORADD).expect("written");
    let run = folder.emu(&["disasm", "good.cubin", "--check-control"]);
    run.succeeds();
    assert!(run.out.contains("kernel vectoradd: ") && run.out.contains(", 0 hazards"), "{}", run.out);
    let bad = variants(VECTORADD, |instruction| match instruction.control.wait_mask {
        0 => Vec::new(),
        _ => vec![instruction.word & !(0x3f << WAIT_MASK)],
    });
    std::fs::write(folder.path("bad.cubin"), &bad[0].1).expect("written");
    let run = folder.emu(&["disasm", "bad.cubin", "--check-control"]);
    run.fails(&["may issue before one that it depends on"]);
    assert!(run.out.contains("is used without waiting for SB"), "{}", run.out);
    let run = folder.file("a.ptx", ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() { ret; }\n");
    run.emu(&["disasm", "a.ptx", "--check-control"]).fails(&["PTX has no control bits"]);
}

/// What is recorded has the bits of every instruction, for the timing of the code.
#[test]
fn the_translation_keeps_the_control_bits() {
    let (mut compared, mut asides) = (0, 0);
    for image in [VECTORADD, VARIABLES, LINES] {
        let cubin = Cubin::parse(image).expect("a cubin");
        let module = NativeModule::parse(image.to_vec(), "code.cubin").expect("a module");
        for function in cubin.kernels() {
            let kernel = module.translate(&function.name, 0, &|_| 0).expect("a kernel").expect("it is known");
            kernel.check().expect("a well-formed kernel");
            assert_eq!(kernel.control.len(), kernel.insts.len());
            let words: Vec<Instruction> = function.instructions().map_while(Result::ok).collect();
            for (pc, bits) in kernel.control.iter().enumerate() {
                // A trap has none.
                let Some(bits) = bits else { continue };
                if bits.partial {
                    // It stands behind the code, in the place of padding.
                    asides += 1;
                    continue;
                }
                let word = &words[pc];
                let theirs = word.control;
                assert_eq!((bits.stall_cycles, bits.yields), (theirs.stall_cycles, theirs.yields), "{word}");
                assert_eq!(bits.waits_for & theirs.wait_mask, theirs.wait_mask, "{word}");
                let places = bits.places.iter().filter(|reg| !reg.is_zero());
                assert!(places.clone().all(|reg| kernel.insts[pc].src_regs().any(|source| source == *reg)));
                if bits.write_counter == theirs.write_counter && bits.read_counter == theirs.read_counter {
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "{compared} instructions, {asides} beside the code");
}
