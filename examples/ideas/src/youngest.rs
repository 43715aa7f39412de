//! Youngest first: the warp that was placed last, of those that are ready.

use warplab_technique::config::GpuConfig;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo, WarpPolicy, Warps};

/// The policy; it keeps nothing.
#[derive(Clone, Debug)]
pub struct Youngest;

impl Policy for Youngest {
    const INFO: PolicyInfo = PolicyInfo {
        name: "youngest",
        summary: "youngest first: of the ready warps the one that was placed last",
        paper: "none",
        gpgpusim: &[],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Youngest {
        Youngest
    }
}

impl WarpPolicy for Youngest {
    fn pick(&self, warps: &Warps, ready: u64) -> Option<u8> {
        warps.youngest(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_prefers_the_warp_that_came_last() {
        let warps = Warps { by_age: vec![3, 1, 2], last: Some(3) };
        assert_eq!(
            [0b1110, 0b1010, 0b1000].map(|ready| Youngest.pick(&warps, ready)),
            [Some(2), Some(1), Some(3)]
        );
    }
}
