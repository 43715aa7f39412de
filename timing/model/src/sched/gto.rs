//! Greedy then oldest: issues from one warp until it stalls, then from the oldest ready warp.

use crate::config::GpuConfig;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo, WarpPolicy, Warps};

#[derive(Clone, Debug)]
pub(super) struct Gto;

impl Policy for Gto {
    const INFO: PolicyInfo = PolicyInfo {
        name: "gto",
        summary: "greedy, then oldest: the same warp until it stalls, then the oldest that is ready",
        paper: "Rogers et al., MICRO 2012",
        gpgpusim: &["gto"],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Gto {
        Gto
    }
}

impl WarpPolicy for Gto {
    #[inline]
    fn pick(&self, warps: &Warps, ready: u64) -> Option<u8> {
        warps.same_or_oldest(ready)
    }
}

#[cfg(test)]
mod tests {
    use crate::sched::tests::{run, with};

    #[test]
    fn it_stays_with_a_warp_and_then_takes_the_oldest() {
        let mut s = with("gto", &[2, 0, 1]);
        let picks = run(&mut s, &[0b111, 0b111, 0b011, 0b111, 0b110, 0b111]);
        assert_eq!(picks, [Some(2), Some(2), Some(0), Some(0), Some(2), Some(2)]);
        s.remove(2);
        assert_eq!(run(&mut s, &[0b011]), [Some(0)]);
    }
}
