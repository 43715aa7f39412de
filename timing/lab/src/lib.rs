//! What people run on Warplab's timing model: the command line, sweeps, exploration, the figures of papers, correlation with
//! hardware, `why`, views, and the contents of reports. Which techniques there are is the caller's: a
//! [`Catalogue`](techniques::Catalogue).

pub mod accuracy;
#[cfg(feature = "cli")]
pub mod cli;
pub mod compare;
pub mod correlate;
pub mod explore;
pub mod named;
mod numbers;
pub mod overrides;
mod pool;
pub mod provenance;
pub mod reports;
pub mod reproduce;
pub mod store;
pub mod sweep;
pub mod traces;
pub mod view;
pub mod why;

pub use warplab_model::{config, observe, replay, stats, techniques};
pub use warplab_studies as studies;
pub use warplab_technique::{occupancy, program};

#[cfg(test)]
fn built_in() -> techniques::Catalogue {
    techniques::Catalogue::of(warplab_techniques::BUILT_IN)
}
