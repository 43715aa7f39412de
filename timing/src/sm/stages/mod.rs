//! The stages of an SM: they take what one component gives and hand it to the next, count it, and ask techniques.
//!
//! Each file is one line of [`super::Sm::tick`], or what several of them share.

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
