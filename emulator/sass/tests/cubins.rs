//! Cubins: a good one, damaged ones, and such for other targets.

use sass::cubin::{Cubin, CubinError};
use sass::{Target, Value};

/// The kernel of tests/workloads/textbook/vectoradd, assembled by `ptxas -O3 -arch=sm_80`.
const VECTORADD: &[u8] = include_bytes!("data/vectoradd.sm_80.cubin");

/// Place of the target in the ELF header's flags.
const TARGET_BYTE: usize = 0x31;

#[test]
fn a_kernel_is_found_and_decoded() {
    let cubin = Cubin::parse(VECTORADD).expect("a good cubin");
    assert_eq!(cubin.target, Target::Sm80);
    let kernel = cubin.function("vectoradd").expect("the kernel");
    assert!(kernel.is_kernel && !kernel.is_empty());
    assert_eq!((kernel.registers, kernel.len()), (12, 32));
    let code: Vec<_> = kernel.instructions().collect::<Result<_, _>>().expect("every word is known");
    assert_eq!(code.len(), kernel.len());
    assert_eq!(code[1].to_string(), "S2R R6, SR_CTAID.X");
    assert_eq!(code[1].control.write_counter, Some(0));
    assert_eq!(code[1].operands[1].value, Value::Name("SR_CTAID.X"));
    let loads = code.iter().filter(|i| i.mnemonic == "LDG").count();
    assert_eq!(loads, 2);
    assert_eq!(code[5].to_string(), "@P0 EXIT");
}

#[test]
fn other_targets_are_named() {
    let mut other = VECTORADD.to_vec();
    other[TARGET_BYTE] = 60;
    assert_eq!(Cubin::parse(&other).unwrap_err(), CubinError::Target(60));
    let mut host = VECTORADD.to_vec();
    host[18] = 62;
    assert_eq!(Cubin::parse(&host).unwrap_err(), CubinError::Machine(62));
}

#[test]
fn an_unknown_word_is_named_with_section_and_offset() {
    let mut damaged = VECTORADD.to_vec();
    let offset = Cubin::parse(VECTORADD).unwrap().functions[0].file_offset as usize;
    damaged[offset + 0x20..offset + 0x22].copy_from_slice(&[0xff, 0xff]);
    let cubin = Cubin::parse(&damaged).expect("headers are good");
    let error = cubin.functions[0].instructions().find_map(Result::err).expect("a word is unknown");
    let text = error.to_string();
    assert!(text.starts_with("section .text.vectoradd, offset 0x20: 0x"), "{text}");
    assert!(text.contains("opcode 0xfff, which is not known for sm_80"), "{text}");
    // Those before it are decoded.
    assert_eq!(cubin.functions[0].instructions().take(2).filter(Result::is_ok).count(), 2);
}

#[test]
fn truncated_files_are_errors() {
    for length in 0..VECTORADD.len() {
        if let Ok(cubin) = Cubin::parse(&VECTORADD[..length]) {
            for function in &cubin.functions {
                function.instructions().for_each(drop);
            }
        }
    }
    assert!(matches!(Cubin::parse(&VECTORADD[..64]), Err(CubinError::Elf(_))));
}
