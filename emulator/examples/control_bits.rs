//! Checks the control bits of cubins: `cargo run --release -p warplab-emulator --example control_bits -- *.cubin`. Prints
//! hazards by the mnemonics of producer and consumer, with how often each occurs and an example.

mod cubins;

use emulator::native::hazards::{Why, check};
use sass::Instruction;
use std::collections::BTreeMap;

fn main() {
    let mut forms: BTreeMap<(String, String), (u64, String)> = BTreeMap::new();
    let (mut all, mut unknown, mut functions, mut clean) = (0, 0, 0, 0);
    cubins::each_function(|path, cubin, function| {
        let checked = check(cubin, function);
        functions += 1;
        clean += u64::from(checked.hazards.is_empty());
        all += checked.instructions;
        unknown += checked.unknown;
        let words: Vec<Option<Instruction>> = function.instructions().map(Result::ok).collect();
        let name = |pc: trace_format::isa::Pc| {
            words.get(pc.index()).and_then(Option::as_ref).map_or("?", |word| word.mnemonic)
        };
        for hazard in &checked.hazards {
            let why = match hazard.why {
                Why::TooEarly(cycles) => format!("{cycles} cycles too early"),
                Why::NotWaited(_) => "not waited".into(),
                Why::NoCounter => "no counter".into(),
                Why::NotRead => "not read".into(),
                Why::JustCounted(_) => "just counted".into(),
            };
            let pair = format!("{} -> {}", name(hazard.producer), name(hazard.consumer));
            let entry =
                forms.entry((why, pair)).or_insert((0, format!("{path} {}: {hazard}", function.name)));
            entry.0 += 1;
        }
    });
    for ((why, pair), (count, example)) in &forms {
        println!("{count:6}  {why:20} {pair:24} e.g. {example}");
    }
    println!(
        "{all} instructions, {unknown} of them not known; {clean} of {functions} functions without a hazard"
    );
}
