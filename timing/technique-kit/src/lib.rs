//! What techniques are tested with, in Warplab and in crates of their own: a warp without a pipeline ([`Bench`]), warps of
//! several blocks that take turns ([`crew`]), random kernels and paths ([`Random`], [`Walk`]), and hand-made kernels on the whole
//! model ([`Hand`]).

mod bench;
pub mod crew;
mod random;
mod setup;
mod walk;

pub use bench::{Bench, Composed, Flight, From, Hooked, Read, Surroundings};
pub use random::Random;
pub use setup::{config, count, launch, prepared, program};
pub use walk::Walk;
pub use warplab_model as model;
pub use warplab_model::testing::{Builder, Hand, HandWarp, r, small, small_machine, stream, supplied};
