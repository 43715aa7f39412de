//! Programs whose machine code was refused, or gave wrong values.

use regressions::{Code, passes};

#[test]
fn one_address_is_added_to_by_all_threads() {
    for code in [Code::Ptx, Code::Sass] {
        passes("atomics_one_address", "sm_75", code);
    }
}
