//! Compares the decoder with nvdisasm on a file of words, one a line in hexadecimal, and counts where they differ.
//!
//! `cargo run --release -p warplab-sass --example agree -- NVDISASM TARGET WORDS.txt`

#[path = "../tests/kit/mod.rs"]
mod kit;

use sass::{Target, decode};
use std::collections::BTreeMap;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [nvdisasm, target, words] = &arguments[..] else { panic!("NVDISASM TARGET WORDS.txt") };
    let target = target.parse().ok().and_then(Target::from_number).expect("a target such as 75");
    let words = std::fs::read_to_string(words).expect("the file of words can be read");
    let words: Vec<u128> =
        words.lines().map(|line| u128::from_str_radix(line, 16).expect("a word")).collect();
    let texts = kit::nvdisasm(nvdisasm.as_ref(), target, &words);
    let (mut equal, mut wrong) = (0, BTreeMap::<String, (u32, Vec<String>)>::new());
    for (at, (word, text)) in words.iter().zip(&texts).enumerate() {
        let Some(text) = text else { continue };
        let ours = match decode(target, at as u64 * 16, *word) {
            Ok(instruction) => instruction.to_string(),
            Err(e) => format!("error: {}", e.to_string().split_once("0x").map_or("", |t| t.1)),
        };
        if ours == *text {
            equal += 1;
            continue;
        }
        let kind = if ours.starts_with("error") { "error" } else { "text" };
        let entry = wrong.entry(format!("{:03x} {kind}", word & 0xfff)).or_default();
        entry.0 += 1;
        if entry.1.len() < 3 {
            entry.1.push(format!("{word:032x}\n      theirs {text}\n      ours   {ours}"));
        }
    }
    let refused = texts.iter().filter(|text| text.is_none()).count();
    println!("{target}: {equal} of {} words equal, {refused} refused by nvdisasm", words.len() - refused);
    let mut wrong: Vec<_> = wrong.into_iter().collect();
    wrong.sort_by_key(|entry| std::cmp::Reverse(entry.1.0));
    for (what, (count, samples)) in wrong {
        println!("  {what}: {count}");
        for sample in samples {
            println!("    {sample}");
        }
    }
}
