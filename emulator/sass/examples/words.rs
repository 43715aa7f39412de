//! Prints the distinct instruction words of cubins of one target, for `agree` and for `tools/derive.py`.
//!
//! `cargo run --release -p warplab-sass --example words -- CUBIN... > words.txt`

use sass::cubin::Cubin;
use std::collections::BTreeSet;

fn main() {
    let mut words = BTreeSet::new();
    let mut target = None;
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let cubin = Cubin::parse(&bytes).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(*target.get_or_insert(cubin.target), cubin.target, "{path} is for another target");
        words.extend(cubin.functions.iter().flat_map(sass::cubin::Function::words));
    }
    for word in words {
        println!("{word:032x}");
    }
}
