//! What watches an SM for a view.

use crate::source::LaunchSource;
use crate::view::record::Recorder;
use crate::view::series::Sampler;

/// What watches an SM.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    /// Writes down what happens in a window of cycles.
    pub recorder: Option<Box<Recorder>>,
    /// Takes samples of the counters.
    pub sampler: Option<Sampler>,
}

impl Observer {
    /// The recorder, where somebody looks.
    #[inline(always)]
    pub fn recorder<S: LaunchSource>(&mut self) -> Option<&mut Recorder> {
        if S::OBSERVED { self.recorder.as_deref_mut() } else { None }
    }
}
