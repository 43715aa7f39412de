//! Instructions that our table can express only in several, which stand behind the code of the function.

mod accesses;
mod barriers;
mod flow;
mod halves;
mod integers;
mod packs;
mod parts;
mod textures;
mod vectors;
mod waterfall;

use super::args::Args;
use super::code::{Code, Place, Refusal, guard_of};
use super::control;
use super::half::EXCHANGED;
use super::memory;
pub(super) use integers::with_literal_pair;
pub(super) use parts::Borrowed;
use parts::answers_second;
use sass::{Instruction, PT, Value};

/// Translates an instruction that is known here; none if it is another.
pub(super) fn translate(
    code: &Code<'_>,
    at: usize,
    word: &Instruction,
    args: &mut Args<'_>,
) -> Result<Option<Place>, Refusal> {
    // Whether an operand is one of these parts of a register.
    let names = |parts: &[&str]| word.operands.iter().any(|operand| parts.contains(&operand.suffix));
    match word.mnemonic {
        "BRA" if waterfall::is_any(word) => waterfall::any(code, guard_of(word), args).map(Some),
        "R2UR" if control::is_comparison_of_masks(word) && waterfall::broadcasts(word) => {
            waterfall::broadcast(args).map(Some)
        }
        "R2UR" if control::is_comparison_of_masks(word) => {
            flow::comparison_of_masks(code, at, args).map(Some)
        }
        "CS2R" | "CS2UR" if integers::clock(word).is_some() => integers::whole_clock(word, args).map(Some),
        "WARPSYNC" if word.has("EXCLUSIVE") => flow::exclusive(code, args).map(Some),
        "BRX" | "BRXU" => flow::branch(code, word, args).map(Some),
        "LEA" | "ULEA" if word.has("X") && !word.has("HI") => integers::lea(args).map(Some),
        "LEA" | "ULEA" if integers::complements(word) => integers::lea_of_complement(word, args).map(Some),
        "IMAD" | "UIMAD" if (word.has("WIDE") || word.has("HI")) && integers::has_changed_addend(word) => {
            integers::changed_addend(args).map(Some)
        }
        "IMAD" | "UIMAD" if word.has("HI") && (word.has("X") || answers_second(word)) => {
            integers::high_with_carry(args).map(Some)
        }
        "HADD2" | "HMUL2" | "HFMA2" if names(&[EXCHANGED]) => halves::exchanged(word, args).map(Some),
        "HSET2" | "HSETP2" if names(&["H0_H0", "H1_H1"]) => halves::compared_halves(word, args).map(Some),
        "IADD" | "VIADD" | "IADD3" | "UIADD3"
            if word.has("64") && (word.has("X") || answers_second(word)) =>
        {
            integers::pair_with_carry(word, args).map(Some)
        }
        "VIADD" | "UVIADD" if word.has("ISAT") => integers::saturated_sum(args).map(Some),
        "VIADD" | "UVIADD" if word.has("16x2") || word.has("S16x2") => {
            integers::sum_of_parts(0x8000_8000, args).map(Some)
        }
        "VIADD" | "UVIADD" if word.has("U8x4") || word.has("S8x4") => {
            integers::sum_of_parts(0x8080_8080, args).map(Some)
        }
        "IDP" if integers::has_changed_addend(word) => integers::dot_product_less(word, args).map(Some),
        "DMMA" | "HMMA" if word.operands.iter().any(|operand| operand.negate || operand.absolute) => {
            halves::signed_product(word, args).map(Some)
        }
        "VIADDMNMX" | "VIMNMX" | "VIMNMX3" if integers::has_parts(word) => {
            integers::minimum_of_parts(word, args).map(Some)
        }
        "RET" if word.guard.predicate != PT && control::has_predicate(word) => {
            flow::conditional_return(code, at, word, args).map(Some)
        }
        "LEA" | "ULEA" if integers::subtracts(word) => integers::shifted_and_subtracted(args).map(Some),
        "BAR" if word.has("RED") && control::taker(code, at).is_none() => {
            flow::kept_result(code, at, args).map(Some)
        }
        "B2R" if word.has("RESULT") && !control::is_result(code, at) => flow::taken_result(args).map(Some),
        "MUFU" if word.has("F16") || word.has("BF16") => packs::function_of_half(args).map(Some),
        "HMUL2" if word.has("F32") => packs::half_product(args).map(Some),
        "HADD2" if names(&["F32"]) => halves::converted_half(args).map(Some),
        "I2F"
            if (word.has("U64") || word.has("S64"))
                && word.operands.iter().any(|operand| matches!(operand.value, Value::Integer(_))) =>
        {
            halves::wide_literal(word, args).map(Some)
        }
        "R2P" if names(&integers::BYTES) => integers::predicates_of_byte(args).map(Some),
        "MOV" | "UMOV" if word.operands.iter().any(|operand| matches!(operand.value, Value::Wide(_))) => {
            integers::wide_move(args).map(Some)
        }
        "F2I" if names(&["H1"]) => halves::of_upper_half(args).map(Some),
        "UP2UR" => integers::packed_predicates(args).map(Some),
        "SGXT" | "USGXT" if word.has("W") => integers::wrapped_extension(args).map(Some),
        "PLOP3" | "UPLOP3" if names(&["SIGN"]) => integers::signs(code, args).map(Some),
        "REDG" | "ATOMG" if vectors::is_vector(word) => vectors::atomic(word, args).map(Some),
        "LDG" | "STG" if word.has("256") => vectors::wide(word, args).map(Some),
        "LDGSTS" => accesses::copy(word, args).map(Some),
        "ATOMS" if word.has("SPIN") && accesses::answers(word).is_some() => {
            accesses::swapped(word, args).map(Some)
        }
        "ELECT" => waterfall::elect(args).map(Some),
        "QSPC" => accesses::space(args).map(Some),
        "IMNMX" | "UIMNMX" if word.has("S64") || word.has("U64") => {
            integers::minimum_of_pairs(args).map(Some)
        }
        "ATOMS" | "ATOM" if barriers::arrives(word) => barriers::arrival(word, args).map(Some),
        "ARRIVES" => barriers::arrival(word, args).map(Some),
        "SYNCS" => barriers::syncs(word, args).map(Some),
        "TEX" | "TLD" | "TLD4" | "TXD" => textures::fetch(word, args).map(Some),
        "TXQ" => textures::query(args).map(Some),
        "SULD" | "SUST" | "SURED" => textures::surface(word, args).map(Some),
        "I2IP" => packs::integers(args).map(Some),
        "F2FP" if !packs::is_plain(word) => packs::floats(word, args).map(Some),
        "HMNMX2" => packs::half_extremes(word, args).map(Some),
        "FMNMX" | "UFMNMX" if word.has("XORSIGN") => packs::extreme_with_sign(word, args).map(Some),
        "ATOM" if accesses::answers(word).is_some() => accesses::answered_atomic(word, args).map(Some),
        "LD" | "ST" if memory::is_narrow(word) => accesses::narrow(word, args).map(Some),
        _ => Ok(None),
    }
}
