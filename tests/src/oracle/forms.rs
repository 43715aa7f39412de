//! Single instructions on many operands: a form such as `div.rn.f32 {F}, {f}, {f};` becomes a kernel in which
//! every thread has operands of its own, run in the emulator and by the oracle.
//!
//! In a form `{F}` is a destination and `{f}` a source register; the letter is the kind: `h`, `r`, `d` for
//! integers of 16, 32 and 64 bits, `f` and `g` for single and double precision, `p` for predicates. `%th`, `%tr`
//! and `%td` are there for intermediate results.

use super::emulated::{Argument, EmulatedModule, How, words};
use super::generate::{Dice, interesting_bits, interesting_f32, interesting_f64};
use super::{Device, Fault, Launch};
use emulator::lower::LowerOptions;
use emulator::ptx;
use trace_format::semantics::Geometry;

const BLOCK: usize = 128;

/// A form with its registers found.
struct Form {
    /// The instruction with registers named.
    text: String,
    destinations: Vec<(char, String)>,
    sources: Vec<(char, String)>,
}

impl Form {
    fn parse(form: &str) -> Self {
        let mut parsed = Self { text: String::new(), destinations: Vec::new(), sources: Vec::new() };
        let mut rest = form;
        while let Some((before, after)) = rest.split_once('{') {
            let (kind, after) = after.split_once('}').expect("a form closes its braces");
            let letter = kind.chars().next().expect("braces hold a letter");
            let list = if letter.is_uppercase() { &mut parsed.destinations } else { &mut parsed.sources };
            let lower = letter.to_ascii_lowercase();
            let side = if letter.is_uppercase() { "dst" } else { "src" };
            let name = format!("%{side}{}", list.len());
            list.push((lower, name.clone()));
            parsed.text += before;
            parsed.text += &name;
            rest = after;
        }
        parsed.text += rest;
        parsed
    }

    fn ptx(&self) -> String {
        let mut text = String::from(
            ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 p_in, \
             .param .u64 p_out)\n{\n.reg .b64 %in, %out, %offset;\n.reg .b32 %i, %n, %word, %tr;\n.reg .b16 %th;\n.reg .b64 %td;\n",
        );
        for (kind, name) in self.destinations.iter().chain(&self.sources) {
            text += &format!(".reg .{} {name};\n", declared(*kind));
        }
        text += "ld.param.u64 %in, [p_in];\nld.param.u64 %out, [p_out];\nmov.u32 %i, %ctaid.x;\n\
                 mov.u32 %n, %tid.x;\nmad.lo.s32 %i, %i, 128, %n;\nmul.wide.u32 %offset, %i, 32;\n\
                 add.s64 %in, %in, %offset;\nadd.s64 %out, %out, %offset;\n";
        for (at, (kind, name)) in self.sources.iter().enumerate() {
            text += &match kind {
                'p' => format!(
                    "ld.global.u32 %word, [%in+{}];\nand.b32 %word, %word, 1;\nsetp.ne.s32 {name}, %word, 0;\n",
                    at * 8
                ),
                kind => format!("ld.global.{} {name}, [%in+{}];\n", loaded(*kind), at * 8),
            };
        }
        // A destination that the instruction may leave alone has a value.
        for (kind, name) in &self.destinations {
            text += &match kind {
                'p' => format!("setp.ne.s32 {name}, 0, 0;\n"),
                kind => format!("mov.{} {name}, 0;\n", declared(*kind)),
            };
        }
        text += &self.text;
        text.push('\n');
        for (at, (kind, name)) in self.destinations.iter().enumerate() {
            text += &match kind {
                'p' => {
                    format!("selp.u32 %word, 1, 0, {name};\nst.global.u32 [%out+{}], %word;\n", at * 8)
                }
                kind => format!("st.global.{} [%out+{}], {name};\n", loaded(*kind), at * 8),
            };
        }
        text + "ret;\n}\n"
    }
}

fn declared(kind: char) -> &'static str {
    match kind {
        'h' => "b16",
        'r' | 'f' => "b32",
        'd' | 'g' => "b64",
        _ => "pred",
    }
}

fn loaded(kind: char) -> &'static str {
    match kind {
        'h' => "u16",
        'r' => "u32",
        'd' => "u64",
        'f' => "f32",
        _ => "f64",
    }
}

/// Numbers that rounding finds hard: significands of few or of all bits, exponents at the edges.
fn hard(dice: &mut Dice, significand_bits: u32, exponent_bits: u32) -> u64 {
    let mask = (1u64 << significand_bits) - 1;
    let significand = match dice.below(8) {
        0 => 0,
        1 => mask,
        2 => mask - dice.below(4) as u64,
        3 => dice.below(4) as u64,
        4 => 1 << dice.below(significand_bits as usize),
        5 => mask ^ 1 << dice.below(significand_bits as usize),
        6 => 0x5555_5555_5555_5555 & mask,
        _ => dice.bits() & mask,
    };
    let most = (1u64 << exponent_bits) - 1;
    let bias = most / 2;
    let exponent = match dice.below(6) {
        0 => dice.below(4) as u64,
        1 => most - dice.below(4) as u64,
        2 => u64::from(significand_bits) + dice.below(4) as u64,
        3 => dice.bits() & most,
        _ => bias + dice.below(9) as u64 - 4,
    };
    let sign = dice.bits() & 1;
    (sign << exponent_bits | exponent) << significand_bits | significand
}

/// The bits of one operand.
fn operand(dice: &mut Dice, kind: char) -> u64 {
    match (kind, dice.chance(50)) {
        ('f', true) => hard(dice, 23, 8),
        ('f', false) => u64::from(interesting_f32(dice)),
        ('g', true) => hard(dice, 52, 11),
        ('g', false) => interesting_f64(dice),
        _ => interesting_bits(dice),
    }
}

/// Operands and results of one thread: its sources, the oracle's results, the emulator's results.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Bits of the sources.
    pub sources: Vec<u64>,
    /// Kind and bits of the destinations by the oracle.
    pub expected: Vec<(char, u64)>,
    /// Bits of the destinations by the emulator.
    pub actual: Vec<u64>,
}

impl Outcome {
    /// Whether both agree, bit for bit but for the bits of a NaN.
    pub fn agrees(&self) -> bool {
        self.expected.iter().zip(&self.actual).all(|(&(kind, wanted), &found)| {
            let both_nan = match kind {
                'f' => f32::from_bits(wanted as u32).is_nan() && f32::from_bits(found as u32).is_nan(),
                'g' => f64::from_bits(wanted).is_nan() && f64::from_bits(found).is_nan(),
                _ => false,
            };
            wanted == found || both_nan
        })
    }
}

/// Runs a form on at least `count` random operands.
///
/// # Errors
/// If one of the roads does not reach its end.
pub fn run(form: &str, seed: u64, count: usize) -> Result<Vec<Outcome>, Fault> {
    let parsed = Form::parse(form);
    let text = parsed.ptx();
    let module = ptx::parse(&text, "form.ptx").map_err(|d| Fault::new(format!("{form}: {}", words(&d))))?;
    if let Some((_, unsupported)) = module.unsupported().next() {
        return Err(Fault::new(format!("{form}: {}", unsupported.message)));
    }
    let blocks = count.div_ceil(BLOCK);
    let mut dice = Dice::new(seed);
    let mut input = vec![0u8; blocks * BLOCK * 32];
    for thread in input.chunks_exact_mut(32) {
        let mut drawn: Vec<u64> = parsed.sources.iter().map(|(kind, _)| operand(&mut dice, *kind)).collect();
        // Now and then two operands are equal, or neighbours.
        if drawn.len() > 1 && dice.chance(10) {
            drawn[1] = drawn[0].wrapping_add(dice.below(3) as u64);
        }
        for (cell, bits) in thread.chunks_exact_mut(8).zip(drawn) {
            cell.copy_from_slice(&bits.to_le_bytes());
        }
    }
    let grid = [blocks as u32, 1, 1];
    let expected = on_oracle(&module, &input, grid).map_err(|f| Fault::new(format!("{form}: {f}")))?;
    let actual = in_emulator(&module, &input, grid).map_err(|f| Fault::new(format!("{form}: {f}")))?;
    let cell = |bytes: &[u8], thread: usize, at: usize| {
        bytes[thread * 32 + at * 8..][..8].iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b))
    };
    let destinations = || parsed.destinations.iter().enumerate();
    Ok((0..blocks * BLOCK)
        .map(|thread| Outcome {
            sources: (0..parsed.sources.len()).map(|at| cell(&input, thread, at)).collect(),
            expected: destinations().map(|(at, (kind, _))| (*kind, cell(&expected, thread, at))).collect(),
            actual: destinations().map(|(at, _)| cell(&actual, thread, at)).collect(),
        })
        .collect())
}

fn on_oracle(module: &ptx::Module, input: &[u8], grid: [u32; 3]) -> Result<Vec<u8>, Fault> {
    let mut device = Device::new(module)?;
    let (from, to) = (device.global.add(input.to_vec()), device.global.add(vec![0; input.len()]));
    device.run(&Launch {
        kernel: "kernel".into(),
        grid,
        block: [BLOCK as u32, 1, 1],
        dynamic_shared_bytes: 0,
        args: vec![from.to_le_bytes().to_vec(), to.to_le_bytes().to_vec()],
        max_instructions: 1000,
    })?;
    Ok(device.global.contents(to).unwrap_or_default().to_vec())
}

fn in_emulator(module: &ptx::Module, input: &[u8], grid: [u32; 3]) -> Result<Vec<u8>, Fault> {
    let mut emulated = EmulatedModule::new(module)?;
    let lowered = emulated.lower("kernel", &LowerOptions { check: true, ..LowerOptions::default() })?;
    let from = emulated.memory.allocate("in", input.to_vec());
    let to = emulated.memory.allocate("out", vec![0; input.len()]);
    let args = [Argument::Pointer(from, 0), Argument::Pointer(to, 0)];
    let how = How { threads: 1, max_instructions: 1 << 24, trace: None };
    emulated.run(&lowered, Geometry { grid, block: [BLOCK as u32, 1, 1] }, 0, &args, how)?;
    Ok(emulated.memory.allocation(to).bytes.to_vec())
}
