//! What other crates add to Warplab: techniques, policies and studies.

use crate::techniques::{Catalogue, Registration, built_in};
use warplab_model::policy::{self, Further, ReplaceEntry, WarpPolicyEntry};
use warplab_studies::StudyEntry;

/// The ideas of a program that has more of them than Warplab: ten lines of `main.rs` make a `timing` with them.
///
/// ```no_run
/// use timing::Ideas;
/// const TECHNIQUES: &[timing::techniques::Registration] = &[];
/// const SCHEDULERS: &[timing::policies::WarpPolicyEntry] = &[];
///
/// fn main() -> std::process::ExitCode {
///     let ideas = Ideas::new().with_techniques(TECHNIQUES).with_schedulers(SCHEDULERS);
///     timing::cli::main_with(ideas, std::env::args_os())
/// }
/// ```
#[derive(Clone, Copy, Default)]
pub struct Ideas<'a> {
    techniques: &'a [Registration],
    policies: Further<'a>,
    studies: &'a [StudyEntry],
}

impl<'a> Ideas<'a> {
    /// None.
    #[must_use]
    pub fn new() -> Ideas<'a> {
        Ideas::default()
    }

    /// With techniques, which act after the built-in ones (`--tech`).
    #[must_use]
    pub fn with_techniques(self, techniques: &'a [Registration]) -> Ideas<'a> {
        Ideas { techniques, ..self }
    }

    /// With warp schedulers (`scheduler.policy`).
    #[must_use]
    pub fn with_schedulers(self, schedulers: &'a [WarpPolicyEntry]) -> Ideas<'a> {
        Ideas { policies: Further { schedulers, ..self.policies }, ..self }
    }

    /// With replacement policies of caches (`l1.replacement`, …).
    #[must_use]
    pub fn with_replacement(self, replacement: &'a [ReplaceEntry]) -> Ideas<'a> {
        Ideas { policies: Further { replacement, ..self.policies }, ..self }
    }

    /// With limit studies (`timing study`).
    #[must_use]
    pub fn with_studies(self, studies: &'a [StudyEntry]) -> Ideas<'a> {
        Ideas { studies, ..self }
    }

    /// Adds policies and studies to this program, and returns the catalogue of all techniques. Call it before a configuration
    /// is read or a study is looked up; calling it again changes nothing.
    ///
    /// # Errors
    /// A name is taken, or has other characters than names may have.
    pub fn add(self) -> Result<Catalogue, String> {
        policy::add(self.policies)?;
        warplab_studies::add(self.studies)?;
        built_in().with(self.techniques).map_err(|why| why.0)
    }
}

impl<'a> From<&'a [Registration]> for Ideas<'a> {
    fn from(techniques: &'a [Registration]) -> Ideas<'a> {
        Ideas::new().with_techniques(techniques)
    }
}

impl<'a, const N: usize> From<&'a [Registration; N]> for Ideas<'a> {
    fn from(techniques: &'a [Registration; N]) -> Ideas<'a> {
        Ideas::new().with_techniques(techniques)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplab_model::policy::{Policy, PolicyInfo, WarpPolicy, Warps};
    use warplab_technique::config::GpuConfig;
    use warplab_technique::declare::NoParams;

    /// A scheduler whose name has a number.
    #[derive(Clone, Debug)]
    struct Named<const N: usize>;

    const NAMES: [&str; 4] = ["gto", "Mine", "", "lru"];

    impl<const N: usize> Policy for Named<N> {
        const INFO: PolicyInfo = PolicyInfo { name: NAMES[N], summary: "s", paper: "p", gpgpusim: &[] };
        type Params = NoParams;

        fn new(_: &GpuConfig, _: NoParams) -> Named<N> {
            Named
        }
    }

    impl<const N: usize> WarpPolicy for Named<N> {
        fn pick(&self, warps: &Warps, ready: u64) -> Option<u8> {
            warps.oldest(ready)
        }
    }

    #[test]
    fn names_that_are_taken_or_malformed_are_refused() {
        let why = |entry| match Ideas::new().with_schedulers(&[entry]).add() {
            Ok(_) => panic!("it is refused"),
            Err(why) => why,
        };
        assert_eq!(why(WarpPolicyEntry::of::<Named<0>>()), "there are two policies called `gto`");
        assert!(why(WarpPolicyEntry::of::<Named<1>>()).contains("a policy cannot be called `Mine`"));
        assert!(why(WarpPolicyEntry::of::<Named<2>>()).contains("a policy cannot be called ``"));
        assert_eq!(
            why(WarpPolicyEntry::of::<Named<3>>()),
            "there are two policies called `lru`",
            "of another kind"
        );
        assert!(Ideas::from(&[]).add().is_ok());
    }
}
