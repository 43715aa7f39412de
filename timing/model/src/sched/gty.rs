//! Greedy then youngest: issues from one warp until it stalls, then from the youngest ready warp.

use crate::config::GpuConfig;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo, WarpPolicy, Warps};

#[derive(Clone, Debug)]
pub(super) struct Gty;

impl Policy for Gty {
    const INFO: PolicyInfo = PolicyInfo {
        name: "gty",
        summary: "greedy, then youngest: the same warp until it stalls, then the youngest that is ready",
        paper: "Huerta et al., MICRO 2025, section 5.1.2",
        gpgpusim: &[],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Gty {
        Gty
    }
}

impl WarpPolicy for Gty {
    #[inline]
    fn pick(&self, warps: &Warps, ready: u64) -> Option<u8> {
        warps.same(ready).or_else(|| warps.youngest(ready))
    }
}

#[cfg(test)]
mod tests {
    use crate::sched::tests::{run, with};

    #[test]
    fn it_stays_with_a_warp_and_then_takes_the_youngest() {
        let mut s = with("gty", &[2, 0, 1]);
        let picks = run(&mut s, &[0b111, 0b111, 0b101, 0b111, 0b110, 0b111, 0b101]);
        assert_eq!(picks, [Some(1), Some(1), Some(0), Some(0), Some(1), Some(1), Some(0)]);
        s.remove(0);
        assert_eq!(run(&mut s, &[0b100]), [Some(2)]);
    }
}
