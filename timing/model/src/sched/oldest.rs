//! Oldest first: the ready warp that was placed first.

use crate::config::GpuConfig;
use warplab_technique::declare::NoParams;
use warplab_technique::policy::{Policy, PolicyInfo, WarpPolicy, Warps};

#[derive(Clone, Debug)]
pub(super) struct Oldest;

impl Policy for Oldest {
    const INFO: PolicyInfo = PolicyInfo {
        name: "oldest",
        summary: "oldest first: of the ready warps the one that was placed first",
        paper: "Narasiman et al., MICRO 2011",
        gpgpusim: &["old", "oldest"],
    };
    type Params = NoParams;

    fn new(_: &GpuConfig, _: NoParams) -> Oldest {
        Oldest
    }
}

impl WarpPolicy for Oldest {
    #[inline]
    fn pick(&self, warps: &Warps, ready: u64) -> Option<u8> {
        warps.oldest(ready)
    }
}

#[cfg(test)]
mod tests {
    use crate::sched::tests::{run, with};

    #[test]
    fn it_always_prefers_age() {
        let mut s = with("oldest", &[3, 1, 2]);
        assert_eq!(run(&mut s, &[0b0110, 0b1110, 0b0110]), [Some(1), Some(3), Some(1)]);
    }
}
