//! Selection of the launches to study: the selection of replays, applied to each trace.

use super::error::StudyError;
use crate::replay;
use trace_format::reader::Trace;

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
}

impl Selection {
    /// Every launch.
    #[must_use]
    pub const fn all() -> Selection {
        Selection { chosen: None, exact: None }
    }

    /// Selects launches of kernels that match a regular expression, with numbers in a list such as
    /// `3-10,12,20-`; of several traces, those without a selected launch are left out.
    ///
    /// # Errors
    /// A flag is invalid.
    pub fn parse(kernels: Option<&str>, launches: Option<&str>) -> Result<Selection, StudyError> {
        let chosen = replay::Selection::parse(kernels, launches).map_err(StudyError::NothingSelected)?;
        Ok(Selection { chosen: Some(chosen), exact: None })
    }

    /// Selects launches by position of input and number of launch, which must exist.
    #[must_use]
    pub fn exactly(launches: Vec<(usize, u32)>) -> Selection {
        Selection { chosen: None, exact: Some(launches) }
    }

    /// The chosen launches: positions of inputs and numbers of launches.
    pub(super) fn launches(&self, inputs: &[Input<'_>]) -> Result<Vec<(usize, u32)>, StudyError> {
        if let Some(launches) = &self.exact {
            return Ok(launches.clone());
        }
        let (mut chosen, mut nothing) = (Vec::new(), Vec::new());
        for (number, input) in inputs.iter().enumerate() {
            let of_trace = match &self.chosen {
                Some(selection) => selection.of(input.trace),
                None => Ok((0..input.trace.launches().len()).collect()),
            };
            match of_trace {
                Ok(launches) => chosen.extend(launches.into_iter().map(|launch| (number, launch as u32))),
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
