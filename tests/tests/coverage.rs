//! Every opcode form that 388 public CUDA programs use, in a small kernel: in both dialects, on the
//! machine, and compared with the oracle if it knows the form.

use rayon::prelude::*;
use std::collections::BTreeMap;
use tests::coverage::run::{Reached, run};
use tests::coverage::{Dialect, forms, pending, sample};

/// Forms of a family: numbers of those that exist, ran, and were compared.
#[derive(Default)]
struct Tally {
    forms: usize,
    executed: usize,
    compared: usize,
}

fn results() -> Vec<(&'static str, Dialect, Reached)> {
    let of = |(seed, (form, _)): (usize, (&'static str, _))| {
        [Dialect::Typed, Dialect::Untyped].map(|dialect| {
            let reached = match sample(form) {
                Some(sample) => run(&sample, dialect, seed as u64),
                None => Reached::Refused("there is no sample".into()),
            };
            (form, dialect, reached)
        })
    };
    forms().into_par_iter().enumerate().flat_map_iter(of).collect()
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

#[test]
fn every_form_of_real_programs_runs() {
    let pending: Vec<&str> = pending().into_iter().map(|(form, _)| form).collect();
    let mut table: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut failures = Vec::new();
    let mut unknown = Vec::new();
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    for (form, dialect, reached) in results() {
        let row = table.entry(form.split('.').next().unwrap()).or_default();
        row.forms += 1;
        if !matches!(reached, Reached::Refused(_) | Reached::Stopped(_)) {
            row.executed += 1;
        }
        if reached == Reached::Compared {
            row.compared += 1;
            *done.entry(form).or_default() += 1;
        }
        match &reached {
            Reached::Compared => {}
            Reached::Executed(what) => unknown.push(short(&format!("{form} ({dialect:?}): {what}"))),
            _ if pending.contains(&form) => {}
            _ => failures.push(short(&format!("{form} ({dialect:?}): {reached:?}"))),
        }
    }
    println!(
        "{:12} {:>6} {:>9} {:>9}   (each form in two dialects)",
        "family", "forms", "executed", "compared"
    );
    for (family, row) in &table {
        println!("{family:12} {:6} {:9} {:9}", row.forms, row.executed, row.compared);
    }
    println!("the oracle does not know:\n{}", unknown.join("\n"));
    for form in &pending {
        if done.get(form) == Some(&2) {
            failures.push(format!("{form} works: strike it from tests/data/pending.txt"));
        }
    }
    failures.sort();
    assert!(failures.is_empty(), "{} of them:\n{}", failures.len(), failures.join("\n"));
}
