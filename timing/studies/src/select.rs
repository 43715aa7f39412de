//! Selection of the launches to study: the selection of replays, applied to each trace.

use super::error::StudyError;
use std::collections::BTreeSet;
use trace_format::reader::Trace;
use warplab_model::replay;

/// A trace with its label for tables and charts.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Name in tables and charts.
    pub label: &'a str,
    /// The trace.
    pub trace: &'a Trace,
}

/// A selection of launches; the default is all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    chosen: Option<replay::Selection>,
    /// Alternatively: positions of inputs and numbers of launches.
    exact: Option<Vec<(usize, u32)>>,
    /// Launches that are left out: positions of inputs and numbers of launches.
    without: BTreeSet<(usize, u32)>,
}

impl Selection {
    /// Every launch.
    #[must_use]
    pub const fn all() -> Selection {
        Selection { chosen: None, exact: None, without: BTreeSet::new() }
    }

    /// Selects launches of kernels that match a regular expression, with numbers in a list such as
    /// `3-10,12,20-`; of several traces, those without a selected launch are left out.
    ///
    /// # Errors
    /// A flag is invalid.
    pub fn parse(kernels: Option<&str>, launches: Option<&str>) -> Result<Selection, StudyError> {
        let chosen = replay::Selection::parse(kernels, launches).map_err(StudyError::NothingSelected)?;
        Ok(Selection { chosen: Some(chosen), ..Selection::all() })
    }

    /// Selects launches by position of input and number of launch, which must exist.
    #[must_use]
    pub fn exactly(launches: Vec<(usize, u32)>) -> Selection {
        Selection { exact: Some(launches), ..Selection::all() }
    }

    /// Leaves out launches of an input.
    pub fn leave_out(&mut self, input: usize, launches: impl IntoIterator<Item = usize>) {
        self.without.extend(launches.into_iter().map(|launch| (input, launch as u32)));
    }

    /// Adapts to inputs of which one is no longer there.
    pub fn remove_input(&mut self, input: usize) {
        let kept = std::mem::take(&mut self.without).into_iter().filter(|(of, _)| *of != input);
        self.without = kept.map(|(of, launch)| (of - usize::from(of > input), launch)).collect();
    }

    /// The chosen launches: positions of inputs and numbers of launches.
    pub(super) fn launches(&self, inputs: &[Input<'_>]) -> Result<Vec<(usize, u32)>, StudyError> {
        if let Some(launches) = &self.exact {
            let kept = launches.iter().filter(|launch| !self.without.contains(launch));
            return Ok(kept.copied().collect());
        }
        let (mut chosen, mut nothing) = (Vec::new(), Vec::new());
        for (number, input) in inputs.iter().enumerate() {
            let of_trace = match &self.chosen {
                Some(selection) => selection.of(input.trace),
                None => Ok((0..input.trace.launches().len()).collect()),
            };
            match of_trace {
                Ok(launches) => {
                    let named = launches.into_iter().map(|launch| (number, launch as u32));
                    chosen.extend(named.filter(|launch| !self.without.contains(launch)));
                }
                Err(why) => nothing.push(format!("{}: {why}", input.label)),
            }
        }
        match (chosen.is_empty(), nothing.is_empty()) {
            (false, _) => Ok(chosen),
            (true, false) => Err(StudyError::NothingSelected(nothing.join("\n"))),
            (true, true) => Err(StudyError::NothingSelected("the traces hold no launches".into())),
        }
    }
}
