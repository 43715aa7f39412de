//! Parses PTX files and lowers all their kernels, and prints the refused constructs with their counts: a
//! survey of the PTX that compilers emit, without running it. `survey FILE.ptx...`

use emulator::lower::{LowerOptions, ModuleLayout, lower_kernel};
use emulator::ptx;
use std::collections::BTreeMap;
use std::time::Instant;
use tests::oracle::emulated::words;

/// Refusals by their words, each with a number and a place.
type Refusals = BTreeMap<String, (usize, String)>;

fn note(refusals: &mut Refusals, what: &str, place: &str) {
    refusals.entry(what.to_owned()).or_insert_with(|| (0, place.to_owned())).0 += 1;
}

fn main() -> std::process::ExitCode {
    let mut refusals = Refusals::new();
    let (mut kernels, mut fine) = (0, 0);
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                note(&mut refusals, &error.to_string(), &path);
                continue;
            }
        };
        let module = match ptx::parse(&text, &path) {
            Ok(module) => module,
            Err(diagnostics) => {
                note(&mut refusals, &words(&diagnostics), &path);
                continue;
            }
        };
        let layout = match ModuleLayout::of(&module) {
            Ok(layout) => layout,
            Err(diagnostic) => {
                note(&mut refusals, &diagnostic.message, &path);
                continue;
            }
        };
        for (id, function) in module.kernels() {
            let start = Instant::now();
            kernels += 1;
            let place = format!("{path}: {}", function.name);
            let options = LowerOptions { check: true, ..LowerOptions::default() };
            match lower_kernel(&module, &layout, id, &options) {
                Ok(lowered) => {
                    fine += usize::from(lowered.unsupported.is_empty());
                    lowered.unsupported.iter().for_each(|d| note(&mut refusals, &d.message, &place));
                }
                Err(diagnostics) => note(&mut refusals, &words(&diagnostics), &place),
            }
            if start.elapsed().as_secs_f64() > 5.0 {
                note(&mut refusals, &format!("takes {:.0?}", start.elapsed()), &place);
            }
        }
    }
    for (what, (count, place)) in &refusals {
        println!("{count:6} {what} ({place})");
    }
    println!("{fine} of {kernels} kernels lower completely");
    if fine == kernels { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
