//! Damaged PTX: random kernels and the regressions with bytes, words and lines changed. Whatever the text says,
//! the front end and lowering answer with a module, machine code or diagnostics, never with a panic.

use emulator::lower::{LowerOptions, ModuleLayout, lower_kernel};
use emulator::ptx;
use tests::oracle::generate::{Dice, Focus, Kernel};

/// Texts per run; a few seconds.
const TEXTS: u64 = 400;

/// Changes a text in a few places.
fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..dice.between(1, 6) {
        let at = dice.below(lines.len());
        let other = lines[dice.below(lines.len())].clone();
        match dice.below(6) {
            0 => lines[at] = other,
            1 => lines.insert(at, other),
            2 if lines.len() > 1 => drop(lines.remove(at)),
            // A word of one line in the place of a word of another.
            3 | 4 => {
                let donors: Vec<&str> = other.split_whitespace().collect();
                let mut words: Vec<&str> = lines[at].split_whitespace().collect();
                if !words.is_empty() && !donors.is_empty() {
                    let place = dice.below(words.len());
                    words[place] = donors[dice.below(donors.len())];
                }
                lines[at] = words.join(" ");
            }
            _ => {
                let mut bytes = lines[at].clone().into_bytes();
                if !bytes.is_empty() {
                    let place = dice.below(bytes.len());
                    bytes[place] = b"{}[]();,.:%$@!-+<>|_0179afxuE \"\\\t~"[dice.below(34)];
                }
                lines[at] = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
    }
    lines.join("\n")
}

/// How far a text comes: refused, parsed, lowered.
fn attempt(text: &str) -> usize {
    let Ok(module) = ptx::parse(text, "damaged.ptx") else { return 0 };
    let Ok(layout) = ModuleLayout::of(&module) else { return 1 };
    let mut lowered = 1;
    for (id, _) in module.kernels() {
        let options = LowerOptions { check: false, ..LowerOptions::default() };
        if lower_kernel(&module, &layout, id, &options).is_ok() {
            lowered = 2;
        }
    }
    lowered
}

#[test]
fn damaged_texts_are_answered() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "ptx")).collect();
    files.sort();
    let mut reached = [0u64; 3];
    for seed in 0..TEXTS {
        let mut dice = Dice::new(seed);
        let text = match seed % 2 {
            0 => std::fs::read_to_string(&files[dice.below(files.len())]).unwrap(),
            _ => Kernel::random(seed, dice.pick(&Focus::ALL)).ptx(),
        };
        // Long kernels only cost time here.
        let text: String = if text.len() > 40_000 { continue } else { damaged(&text, &mut dice) };
        match std::panic::catch_unwind(|| attempt(&text)) {
            Ok(how_far) => reached[how_far] += 1,
            Err(_) => panic!("seed {seed} panics:\n{text}"),
        }
    }
    // Damage that nothing gets through, or that nothing notices, would test nothing.
    assert!(reached[0] > 20 && reached[2] > 20, "{reached:?}");
}
