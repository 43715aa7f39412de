//! L1 keeps complete sectors and resident sectors, and writes them to L2 when the line is evicted.

use super::policy::{Kept, LineStore, Stored, Write};
use crate::config::GpuConfig;
use crate::memory::cache::Tags;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo};

#[derive(Clone, Debug)]
pub(super) struct Back;

impl Policy for Back {
    const INFO: PolicyInfo = PolicyInfo {
        name: "write_back",
        summary: "stores stay in L1 until their line is evicted; for local memory only",
        paper: "Jouppi, ISCA 1993",
        gpgpusim: &["B"],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Back {
        Back
    }
}

impl Write for Back {
    const KEEPS: bool = true;

    fn inserts(_: bool) -> bool {
        true
    }

    fn store(l1: &mut Tags, store: &LineStore) -> Stored {
        let keep = store.full | store.sectors & l1.probe(store.line);
        let kept = (keep != 0).then_some(Kept { valid: keep, dirty: keep });
        Stored { kept, through: store.sectors & !keep }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::write::tests::after;

    #[test]
    fn parts_of_sectors_that_are_not_there_go_to_l2() {
        let store = LineStore { line: 3, sectors: 0b0111, full: 0b0010, allocate: false };
        let (stored, _) = after("write_back", 0b1001, &store);
        let kept = Some(Kept { valid: 0b0011, dirty: 0b0011 });
        assert_eq!(stored, Stored { kept, through: 0b0100 });
    }
}
