//! Reference of bitonic: the keys in ascending order.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let mut keys = case.buffer::<u32>("keys");
    keys.sort_unstable();
    Outputs::from([("keys".into(), Expected::exact(&keys))])
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn keys_are_unsigned() {
        let outputs = Setup::default().buffer("keys", &[u32::MAX, 3, 0, 3]).run(expected);
        assert_eq!(values::<u32>(&outputs, "keys"), [0, 3, 3, u32::MAX]);
    }
}
