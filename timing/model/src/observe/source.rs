//! A wrapper that turns recording on at compile time for a source.

use crate::source::{LaunchSource, SourceError};

/// Wraps a source so that SMs record their events while they replay it.
#[derive(Clone, Debug)]
pub struct Observed<S>(pub S);

impl<S: LaunchSource> LaunchSource for Observed<S> {
    const OBSERVED: bool = true;

    type Warp<'a>
        = S::Warp<'a>
    where
        Self: 'a;

    fn open<'a>(
        &'a self,
        block: u32,
        warp: u32,
        used: Option<Self::Warp<'a>>,
    ) -> Result<Self::Warp<'a>, SourceError> {
        self.0.open(block, warp, used)
    }

    fn open_scout<'a>(
        &'a self,
        block: u32,
        warp: u32,
        values: bool,
        used: Option<Self::Warp<'a>>,
    ) -> Result<Self::Warp<'a>, SourceError> {
        self.0.open_scout(block, warp, values, used)
    }
}
