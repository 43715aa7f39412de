//! Does the work of streams on the GPU.
//!
//! [`perform`] does work as it is submitted, [`waiting`] waits for it, [`graphs`] launches graphs. [`launch`] runs a kernel and [`nested`]
//! what its device code submits; [`worker`] has the threads that kernels run on, and [`desk`] the lock while they do. [`direct`] is
//! the work that is done at once.

mod desk;
mod direct;
pub(crate) mod graphs;
pub(crate) mod launch;
mod nested;
pub(crate) mod perform;
pub(crate) mod waiting;
mod worker;
