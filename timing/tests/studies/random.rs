//! Random kernels on random paths: every study and its twin must agree at any number of threads.

use super::agree::check;
use super::cases::{cases, launch};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn studies_and_their_twins_agree(case in cases()) {
        let checked = check(&launch(&case), &[1, 3]);
        prop_assert!(checked.is_ok(), "{}", checked.err().unwrap_or_default());
    }
}
