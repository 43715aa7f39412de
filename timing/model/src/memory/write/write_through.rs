//! Every store is sent to L2; a resident line is updated.

use super::policy::{Kept, LineStore, Stored, Write};
use crate::config::GpuConfig;
use crate::memory::cache::Tags;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo};

#[derive(Clone, Debug)]
pub(super) struct Through;

impl Policy for Through {
    const INFO: PolicyInfo = PolicyInfo {
        name: "write_through",
        summary: "stores go to L2; a resident line is updated, and `l1.write_allocate` allocates others",
        paper: "Jouppi, ISCA 1993",
        gpgpusim: &["T"],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Through {
        Through
    }
}

impl Write for Through {
    fn inserts(allocate: bool) -> bool {
        allocate
    }

    fn store(_: &mut Tags, store: &LineStore) -> Stored {
        let kept = store.allocate.then_some(Kept { valid: store.full, dirty: 0 });
        Stored { kept, through: store.sectors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::write::tests::after;

    #[test]
    fn the_line_stays_and_sectors_written_whole_come_in() {
        let store = LineStore { line: 3, sectors: 0b0111, full: 0b0010, allocate: false };
        let (stored, left) = after("write_through", 0b0001, &store);
        assert_eq!((stored, left), (Stored { kept: None, through: 0b0111 }, 0b0001));
        let (stored, _) = after("write_through", 0b0001, &LineStore { allocate: true, ..store });
        assert_eq!(stored, Stored { kept: Some(Kept { valid: 0b0010, dirty: 0 }), through: 0b0111 });
    }
}
