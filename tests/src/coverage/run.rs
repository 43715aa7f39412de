//! Runs a sample in the emulator and on the oracle.

use super::{BLOCK, Dialect, SLICE, Sample, Verdict, texture};
use crate::oracle::emulated::{Argument, EmulatedModule, How, words};
use crate::oracle::generate::{Dice, interesting_bits, interesting_f32, interesting_f64};
use crate::oracle::{Device, Launch};
use emulator::lower::LowerOptions;
use emulator::ptx::{self, Module};
use trace_format::semantics::Geometry;

const BLOCKS: usize = 4;

/// How far a sample came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The front end or lowering refuses it.
    Refused(String),
    /// The emulator stops, or continues where it must not.
    Stopped(String),
    /// The emulator ran it; the oracle does not know it.
    Executed(String),
    /// The emulator ran it, and the oracle or the verdict says that the result is wrong.
    Wrong(String),
    /// The emulator ran it, and the result is right.
    Compared,
}

/// Bits for a source of a kind.
fn operand(dice: &mut Dice, kind: char) -> u64 {
    let half = |dice: &mut Dice| match dice.below(3) {
        0 => dice.bits() & 0xFFFF,
        1 => dice.pick(&[0, 0x8000, 0x3C00, 0x7C00, 0xFC00, 0x7E01, 1, 0x3FF, 0x400, 0x7BFF]),
        _ => 0x3800 + (dice.bits() & 0x8FFF),
    };
    match kind {
        'f' => u64::from(interesting_f32(dice)),
        'g' => interesting_f64(dice),
        'e' => half(dice),
        'x' => half(dice) | half(dice) << 16,
        _ => interesting_bits(dice),
    }
}

fn input(sample: &Sample, seed: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    let mut bytes = Vec::with_capacity(BLOCKS * BLOCK * SLICE);
    for _ in 0..BLOCKS * BLOCK {
        let mut drawn: Vec<u64> = sample.srcs.iter().map(|kind| operand(&mut dice, *kind)).collect();
        if drawn.len() > 1 && dice.chance(10) {
            drawn[1] = drawn[0];
        }
        drawn.resize_with(SLICE / 8, || dice.bits());
        bytes.extend(drawn.iter().flat_map(|bits| bits.to_le_bytes()));
    }
    bytes
}

fn argument(seed: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed ^ 0xA5);
    (0..64).map(|_| dice.bits() as u8).collect()
}

/// Runs a sample in a dialect.
#[must_use]
pub fn run(sample: &Sample, dialect: Dialect, seed: u64) -> Reached {
    let text = texture::bound(sample.ptx(dialect));
    let module = match ptx::parse(&text, "sample.ptx") {
        Ok(module) => module,
        Err(diagnostics) => return Reached::Refused(words(&diagnostics)),
    };
    if let Some((_, diagnostic)) = module.unsupported().next() {
        return Reached::Refused(diagnostic.message.clone());
    }
    let (input, argument) = (input(sample, seed), argument(seed));
    let ran = std::panic::catch_unwind(|| emulated(&module, &input, &argument));
    let actual = match ran {
        Ok(Ok(bytes)) if sample.verdict == Verdict::Faults => {
            return Reached::Stopped(format!("it goes on to its end and writes {} bytes", bytes.len()));
        }
        Ok(Ok(bytes)) => bytes,
        Ok(Err(Reached::Stopped(_))) if sample.verdict == Verdict::Faults => return Reached::Compared,
        Ok(Err(reached)) => return reached,
        Err(_) => return Reached::Stopped("a panic".into()),
    };
    match sample.verdict {
        Verdict::Runs => return Reached::Compared,
        Verdict::Is(wanted) => {
            let wrong = (0..BLOCKS * BLOCK).find(|thread| cell(&actual, *thread, 0) != wanted);
            let wrong = wrong.map(|thread| {
                format!("thread {thread}: {:#x} instead of {wanted:#x}", cell(&actual, thread, 0))
            });
            return wrong.map_or(Reached::Compared, Reached::Wrong);
        }
        _ => {}
    }
    match oracle(&module, &input, &argument) {
        Err(what) => Reached::Executed(what),
        Ok(expected) => compare(sample, &input, &expected, &actual),
    }
}

fn emulated(module: &Module, input: &[u8], argument: &[u8]) -> Result<Vec<u8>, Reached> {
    let refused = |fault: crate::oracle::Fault| Reached::Refused(fault.to_string());
    let mut emulated = EmulatedModule::new(module).map_err(refused)?;
    let options = LowerOptions { check: true, ..LowerOptions::default() };
    let lowered = emulated.lower("kernel", &options).map_err(refused)?;
    texture::objects(&mut emulated.memory);
    let from = emulated.memory.allocate("in", input.to_vec());
    let to = emulated.memory.allocate("out", vec![0; input.len()]);
    let args = [Argument::Pointer(from, 0), Argument::Pointer(to, 0), Argument::Bytes(argument.to_vec())];
    let how = How { threads: 1, max_instructions: 1 << 22, trace: None };
    let geometry = Geometry { grid: [BLOCKS as u32, 1, 1], block: [BLOCK as u32, 1, 1] };
    emulated.run(&lowered, geometry, 0, &args, how).map_err(|fault| Reached::Stopped(fault.to_string()))?;
    Ok(emulated.memory.allocation(to).bytes.to_vec())
}

fn oracle(module: &Module, input: &[u8], argument: &[u8]) -> Result<Vec<u8>, String> {
    let mut device = Device::new(module).map_err(|fault| fault.to_string())?;
    let (from, to) = (device.global.add(input.to_vec()), device.global.add(vec![0; input.len()]));
    let launch = Launch {
        kernel: "kernel".into(),
        grid: [BLOCKS as u32, 1, 1],
        block: [BLOCK as u32, 1, 1],
        dynamic_shared_bytes: 0,
        args: vec![from.to_le_bytes().to_vec(), to.to_le_bytes().to_vec(), argument.to_vec()],
        max_instructions: 10_000,
    };
    device.run(&launch).map_err(|fault| fault.to_string())?;
    Ok(device.global.contents(to).unwrap_or_default().to_vec())
}

/// Destination `at` of a thread.
fn cell(bytes: &[u8], thread: usize, at: usize) -> u64 {
    let from = (thread + 1) * SLICE - 8 * (at + 1);
    bytes[from..from + 8].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn compare(sample: &Sample, input: &[u8], expected: &[u8], actual: &[u8]) -> Reached {
    for thread in 0..BLOCKS * BLOCK {
        for (at, kind) in sample.dsts.iter().enumerate() {
            let (wanted, found) = (cell(expected, thread, at), cell(actual, thread, at));
            if !agrees(*kind, sample.verdict, wanted, found) {
                let source = |i: usize| {
                    let from = thread * SLICE + 8 * i;
                    input[from..from + 8].iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte))
                };
                let sources: Vec<u64> = (0..sample.srcs.len()).map(source).collect();
                return Reached::Wrong(format!(
                    "thread {thread}, {sources:x?}: {found:#x} instead of {wanted:#x}"
                ));
            }
        }
        // What the body itself wrote.
        let own = thread * SLICE..(thread + 1) * SLICE - 8 * sample.dsts.len();
        if expected[own.clone()] != actual[own] {
            return Reached::Wrong(format!("thread {thread}: other bytes in memory"));
        }
    }
    Reached::Compared
}

fn agrees(kind: char, verdict: Verdict, wanted: u64, found: u64) -> bool {
    let single = |bits: u64| f64::from(f32::from_bits(bits as u32));
    let (a, b) = match kind {
        'f' => (single(wanted), single(found)),
        'g' => (f64::from_bits(wanted), f64::from_bits(found)),
        'e' => {
            (f64::from(half::f16::from_bits(wanted as u16)), f64::from(half::f16::from_bits(found as u16)))
        }
        'x' => {
            return agrees('e', verdict, wanted & 0xFFFF, found & 0xFFFF)
                && agrees('e', verdict, wanted >> 16, found >> 16);
        }
        _ => return wanted == found,
    };
    let close = || {
        // At the edges of the range, and for angles beyond a turn, the ISA promises nothing.
        let edge = !(1e-30..1e30).contains(&b.abs());
        (a - b).abs() <= 1e-5 * b.abs() || edge || b.abs() <= 1.0 && (a - b).abs() <= 2.0 && a.abs() <= 1.0
    };
    wanted == found || a.is_nan() && b.is_nan() || verdict == Verdict::Close && close()
}
