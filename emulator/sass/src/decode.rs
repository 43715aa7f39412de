//! From a word to an instruction.

use crate::Target;
use crate::instruction::{Control, Guard, INSTRUCTION_BYTES, Instruction, Operand, Value};
use crate::list::List;
use crate::table::{Field, Form, Modifier, OperandRow, Row, Table};

/// A word that is not known. Each variant names its address and encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No row of the table has this opcode.
    #[error("{address:#x}: {word:#034x} has the opcode {opcode:#05x}, which is not known for {target}")]
    Opcode {
        /// Where it lies.
        address: u64,
        /// The encoding.
        word: u128,
        /// Bits 0-11.
        opcode: u16,
        /// The target.
        target: Target,
    },
    /// A field of modifiers or operands has a value without a meaning in the table.
    #[error(
        "{address:#x}: {word:#034x} ({mnemonic} on {target}) has a field with the unknown value {value:#x}"
    )]
    Field {
        /// Where it lies.
        address: u64,
        /// The encoding.
        word: u128,
        /// The operation.
        mnemonic: &'static str,
        /// The field's value.
        value: u64,
        /// The target.
        target: Target,
    },
    /// Bits are set that have no meaning in the table, or bits are clear that always were set.
    #[error("{address:#x}: {word:#034x} ({mnemonic} on {target}) has bits of unknown meaning: {bits:#x}")]
    Bits {
        /// Where it lies.
        address: u64,
        /// The encoding.
        word: u128,
        /// The operation.
        mnemonic: &'static str,
        /// The bits that differ from what is known.
        bits: u128,
        /// The target.
        target: Target,
    },
}

/// Decodes the instruction word at an address.
///
/// # Errors
/// The table of the target does not explain every bit of the word.
pub fn decode(target: Target, address: u64, word: u128) -> Result<Instruction, DecodeError> {
    let opcode = (word & 0xfff) as u16;
    let row = Table::of(target).row(opcode);
    let row = row.ok_or(DecodeError::Opcode { address, word, opcode, target })?;
    let unknown = (word & !row.free) ^ row.ones;
    if unknown != 0 {
        return Err(DecodeError::Bits { address, word, mnemonic: row.mnemonic, bits: unknown, target });
    }
    let field = |value| DecodeError::Field { address, word, mnemonic: row.mnemonic, value, target };
    let mut modifiers = List::default();
    for modifier in &row.modifiers {
        let words = match modifier {
            Modifier::Always(words) => words,
            Modifier::Chosen(choice) => choice.of(word).ok_or_else(|| field(choice.bits.of(word)))?,
        };
        for word in words {
            let fits = modifiers.push(*word);
            debug_assert!(fits, "{}: too many modifiers", row.mnemonic);
        }
    }
    let control = Control::of(word);
    let mut operands = List::default();
    for spec in &row.operands {
        if let Some(operand) = operand(row, spec, &modifiers, address, word).map_err(field)? {
            let fits = operands.push(operand);
            debug_assert!(fits, "{}: too many operands", row.mnemonic);
        }
    }
    let guard =
        Guard { predicate: (word >> 12 & 7) as u8, negated: word >> 15 & 1 == 1, uniform: row.uniform_guard };
    let uniform_zero = target.uniform_zero();
    Ok(Instruction {
        address,
        word,
        opcode,
        mnemonic: row.mnemonic,
        guard,
        modifiers,
        operands,
        control,
        uniform_zero,
    })
}

/// The operand, none if it is absent, or the value of a field that has no meaning.
#[inline]
fn operand(
    row: &Row,
    spec: &OperandRow,
    modifiers: &[&str],
    address: u64,
    word: u128,
) -> Result<Option<Operand>, u64> {
    let set = |bit: Option<u32>| bit.is_some_and(|bit| word >> bit & 1 == 1);
    if let Some(bits) = &spec.unless
        && word & bits.mask() == bits.mask()
        && !set(spec.show)
        && !set(spec.not)
    {
        return Ok(None);
    }
    if spec.zero.as_ref().is_some_and(|bits| word & bits.mask() == 0) && !set(spec.not) {
        return Ok(None);
    }
    if let Some((bits, values)) = &spec.when
        && !values.contains(&bits.of(word))
    {
        return Ok(None);
    }
    let (form, suffix) = match &spec.by {
        None => spec.form,
        Some(by) => *by.of(word).ok_or_else(|| by.bits.of(word))?,
    };
    let number = |at: usize| spec.fields.get(at).map_or(0, |field: &Field| field.of(word));
    let of_kind = |kind: &str| {
        spec.fields.iter().find(|field| field.kind == kind).map_or(0, |field| field.of(word) as u8)
    };
    let carries = set(spec.carry_complement);
    let extended = word >> 74 & 1 == 1;
    let mut operand = Operand {
        negate: set(spec.negate) || carries && !extended,
        absolute: set(spec.absolute),
        complement: set(spec.complement) || carries && extended,
        not: set(spec.not),
        reuse: set(spec.reuse),
        suffix,
        ..Operand::default()
    };
    operand.value = match form {
        Form::Register => Value::Register(number(0) as u8),
        Form::Uniform => Value::Uniform(number(0) as u8),
        Form::Predicate => Value::Predicate(number(0) as u8),
        Form::UniformPredicate => Value::UniformPredicate(number(0) as u8),
        Form::Convergence => Value::Convergence(number(0) as u8),
        Form::Scoreboard => Value::Scoreboard(number(0) as u8),
        Form::Integer if spec.fields.first().is_some_and(|field| field.bits.width() == 64) => {
            Value::Wide(number(0) as u64)
        }
        Form::Integer => Value::Integer(number(0)),
        Form::Target => {
            let next = address.wrapping_add(INSTRUCTION_BYTES as u64);
            Value::Target(next.wrapping_add_signed(number(0)))
        }
        // These functions take the upper half of a double.
        Form::Single if row.mnemonic == "MUFU" && matches!(modifiers, [.., "RCP64H" | "RSQ64H"]) => {
            Value::Double((number(0) as u64) << 32)
        }
        Form::Single => Value::Single(number(0) as u32),
        Form::Double => Value::Double((number(0) as u64) << 32),
        Form::Half => Value::Half(number(0) as u16),
        Form::BFloat16 => Value::BFloat16(number(0) as u16),
        Form::Word("-") => return Ok(None),
        Form::Word(name) => Value::Name(name),
        Form::Constant { register, uniform, spaced } => Value::Constant {
            bank: number(0) as u8,
            register: register.then(|| of_kind("R")),
            uniform: uniform.then(|| of_kind("UR")),
            offset: number(spec.fields.len().saturating_sub(1)) as i32,
            spaced,
        },
        Form::Address { descriptor, register, width, uniform, offset } => {
            // The descriptor's field comes first, that of the address is the last uniform one.
            let uniforms = || spec.fields.iter().filter(|field| field.kind == "UR");
            let last = || uniforms().next_back().map_or(0, |field| field.of(word) as u8);
            let first = || uniforms().next().map_or(0, |field| field.of(word) as u8);
            let long = spec.fields.iter().find(|field| field.kind == "#0" && !uniform && !descriptor);
            let offset_field =
                long.or_else(|| spec.fields.iter().rfind(|field| field.kind == "#")).filter(|_| offset);
            Value::Address {
                descriptor: descriptor.then(first),
                register: register.then(|| of_kind("R")),
                width,
                uniform: uniform.then(last),
                offset: offset_field.map_or(0, |field| field.of(word) as i32),
            }
        }
    };
    Ok(Some(operand))
}
