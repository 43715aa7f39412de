//! Loose round robin: the next ready warp after the one that issued last.

use crate::config::GpuConfig;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo, WarpPolicy, Warps};

#[derive(Clone, Debug)]
pub(super) struct Lrr;

impl Policy for Lrr {
    const INFO: PolicyInfo = PolicyInfo {
        name: "lrr",
        summary: "loose round robin: the next ready warp after the one that issued last",
        paper: "Narasiman et al., MICRO 2011",
        gpgpusim: &["lrr"],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Lrr {
        Lrr
    }
}

impl WarpPolicy for Lrr {
    #[inline]
    fn pick(&self, warps: &Warps, ready: u64) -> Option<u8> {
        warps.next_after_last(ready)
    }
}

#[cfg(test)]
mod tests {
    use crate::sched::tests::{run, with};

    #[test]
    fn it_goes_round_and_skips_those_that_are_not_ready() {
        let mut s = with("lrr", &[0, 1, 2, 3]);
        let picks = run(&mut s, &[0b1111, 0b1111, 0b1001, 0b1111, 0, 0b0110]);
        assert_eq!(picks, [Some(0), Some(1), Some(3), Some(0), None, Some(1)]);
    }
}
