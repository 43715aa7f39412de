//! Every store is sent to L2; a resident line is dropped.

use super::policy::{LineStore, Stored, Write};
use crate::config::GpuConfig;
use crate::memory::cache::Tags;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo};

#[derive(Clone, Debug)]
pub(super) struct Evict;

impl Policy for Evict {
    const INFO: PolicyInfo = PolicyInfo {
        name: "write_evict",
        summary: "stores go to L2; a resident line is dropped",
        paper: "Jouppi, ISCA 1993 (write-invalidate)",
        gpgpusim: &["E", "L"],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Evict {
        Evict
    }
}

impl Write for Evict {
    fn inserts(_: bool) -> bool {
        false
    }

    fn store(l1: &mut Tags, store: &LineStore) -> Stored {
        l1.remove(store.line);
        Stored { kept: None, through: store.sectors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::write::tests::after;

    #[test]
    fn the_line_is_dropped() {
        let store = LineStore { line: 3, sectors: 0b0111, full: 0b0010, allocate: true };
        let (stored, left) = after("write_evict", 0b1001, &store);
        assert_eq!((stored, left), (Stored { kept: None, through: 0b0111 }, 0));
    }
}
