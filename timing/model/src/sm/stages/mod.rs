//! The stages of an SM: they move instructions and data between components, count them, and call techniques.
//!
//! Each file is one line of [`super::Sm::tick`], or code that several lines share.

mod arrivals;
mod barrier;
mod blocks;
mod dispatch;
mod fetch;
mod issue;
mod memory;
mod observe;
mod stalls;
mod techniques;
mod write_back;
