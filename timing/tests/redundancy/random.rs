//! Random kernels on random paths: the study and its twin must agree at any number of threads.

use super::cases::{cases, launch};
use super::twin;
use proptest::prelude::*;
use timing::internals::of_launch;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn the_study_and_its_twin_agree(case in cases()) {
        let launch = launch(&case);
        let twin = twin::redundancy(&launch);
        for threads in [1, 4] {
            prop_assert_eq!(of_launch(&launch, threads, &|_| {}).unwrap(), twin);
        }
    }
}
