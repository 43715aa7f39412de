//! Without tools: a sample of words with nvdisasm's text, and words of any kind.

use proptest::prelude::*;
use sass::{DecodeError, Guard, Operand, PT, Target, Value, decode};

/// Lines of target, word and text; words of this repository's kernels and of random ones, as ptxas
/// assembled them.
const SAMPLE: &str = include_str!("words.txt");

#[test]
fn a_sample_is_printed_as_nvdisasm_does() {
    let mut seen = [0; Target::ALL.len()];
    for line in SAMPLE.lines() {
        let mut parts = line.splitn(3, ' ');
        let target =
            parts.next().and_then(|n| n.parse().ok()).and_then(Target::from_number).expect("a target");
        let word = parts.next().and_then(|w| u128::from_str_radix(w, 16).ok()).expect("a word");
        let text = parts.next().expect("a text");
        let ours = decode(target, 0, word).map_or_else(|e| e.to_string(), |i| i.to_string());
        assert_eq!(ours, text, "{target} {word:032x}");
        seen[Target::ALL.iter().position(|t| *t == target).expect("it is one of all")] += 1;
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}

#[test]
fn operands_are_typed() {
    // @P0 IADD3 R0, -R17, 0x40, RZ
    let add = decode(Target::Sm75, 0x20, 0x000f_e200_07ff_e1ff_0000_0040_1100_0810).expect("it is known");
    assert_eq!((add.address, add.opcode, add.mnemonic), (0x20, 0x810, "IADD3"));
    assert_eq!(add.guard, Guard { predicate: 0, negated: false, uniform: false });
    assert!(add.modifiers.is_empty());
    let negated = Operand { value: Value::Register(17), negate: true, ..Operand::default() };
    assert_eq!(add.operands[1], negated);
    assert_eq!(add.operands[2].value, Value::Integer(0x40));
    assert_eq!(add.control.to_string(), "B------:R-:W-:-:S01");
    // @P0 BRA with a target behind the next instruction
    let branch = decode(Target::Sm80, 0x90, 0x000f_ea00_0380_0000_0000_0050_0000_0947).expect("it is known");
    assert_eq!(branch.operands[0].value, Value::Target(0xf0));
    assert_eq!(branch.guard.predicate, 0);
}

#[test]
fn unknown_words_are_named() {
    let word = 0xffff;
    let error = decode(Target::Sm75, 0x40, word).expect_err("there is no such opcode");
    assert!(matches!(error, DecodeError::Opcode { address: 0x40, opcode: 0xfff, .. }), "{error:?}");
    assert!(error.to_string().contains("0x40: 0x0000000000000000000000000000ffff"), "{error}");
    // MOV with a bit that has no meaning
    let known = 0x000f_e400_0000_0f00_0000_0010_0000_7202;
    assert_eq!(decode(Target::Sm75, 0, known).expect("it is known").guard.predicate, PT);
    let error = decode(Target::Sm75, 0, known | 1 << 100).expect_err("the bit is unknown");
    assert!(matches!(error, DecodeError::Bits { bits, .. } if bits == 1 << 100), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_word_is_decoded_or_an_error(low: u64, high: u64, address: u64, target in 0..Target::ALL.len()) {
        let word = u128::from(high) << 64 | u128::from(low);
        let target = Target::ALL[target];
        match decode(target, address, word) {
            Ok(instruction) => prop_assert!(!instruction.to_string().is_empty()),
            Err(error) => {
                let named = format!("{word:#034x}");
                prop_assert!(error.to_string().contains(&named));
            }
        }
    }

    // Words beside known ones get further than random ones.
    #[test]
    fn changed_words_are_decoded_or_an_error(line in 0..SAMPLE.lines().count(), bits in proptest::collection::vec(0..128u32, 0..4)) {
        let line = SAMPLE.lines().nth(line).expect("a line");
        let mut parts = line.split(' ');
        let target = parts.next().and_then(|n| n.parse().ok()).and_then(Target::from_number).expect("a target");
        let word = parts.next().and_then(|w| u128::from_str_radix(w, 16).ok()).expect("a word");
        let word = bits.iter().fold(word, |word, bit| word ^ 1 << bit);
        if let Ok(instruction) = decode(target, 0, word) {
            prop_assert!(!instruction.to_string().is_empty());
        }
    }
}
