//! Streams, and the work that programs give them: events, captures, graphs.
//!
//! [`Streams`] owns all of it. [`work`] describes work, [`graph`] dependencies; [`node`], [`user_object`],
//! [`shared_event`] and [`beside`] are parts of its state. [`nodes`], [`graphs`] and [`objects`] are operations on graphs,
//! [`shared_events`] on events.
//! [`crate::running`] executes work.

pub(crate) mod beside;
pub(crate) mod graph;
pub(crate) mod graphs;
pub(crate) mod node;
mod nodes;
mod objects;
pub(crate) mod shared_event;
mod shared_events;
pub(crate) mod stream;
pub(crate) mod user_object;
pub(crate) mod work;

pub(crate) use stream::Streams;
