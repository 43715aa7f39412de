//! Executes the work of streams on the GPU.
//!
//! [`perform`] executes work when it is submitted, [`waiting`] waits for it, [`graphs`] launches graphs.
//! [`launch`] runs a kernel and [`nested`] the work that its device code submits; [`worker`] owns the threads
//! that kernels run on, and [`desk`] holds the lock meanwhile. [`direct`] executes work that needs neither.

mod desk;
mod direct;
pub(crate) mod graphs;
pub(crate) mod launch;
mod nested;
pub(crate) mod perform;
pub(crate) mod waiting;
mod worker;
