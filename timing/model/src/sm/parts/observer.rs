//! Recording of an SM for a view.

use crate::observe::record::Recorder;
use crate::source::LaunchSource;
use crate::stats::Sampler;

/// Recorder and sampler of an SM, if it is observed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observer {
    /// Records the events in a window of cycles.
    pub recorder: Option<Box<Recorder>>,
    /// Takes samples of the counters.
    pub sampler: Option<Sampler>,
}

impl Observer {
    /// The recorder, if the source is observed.
    #[inline(always)]
    pub(crate) fn recorder<S: LaunchSource>(&mut self) -> Option<&mut Recorder> {
        if S::OBSERVED { self.recorder.as_deref_mut() } else { None }
    }
}
