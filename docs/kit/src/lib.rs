//! What Warplab's pages need: README, the guides, and the book in `docs/src`.
//!
//! [`blocks`] finds the examples of a page, [`session`] runs them in order in a copy of the checkout, and [`compare`]
//! compares what a page shows with what its commands print. [`chapters`] prepares the pages for mdBook: it includes those
//! that live beside the code, and generates the reference ([`reference`]) from what the programs print.

pub mod blocks;
pub mod chapters;
pub mod checkout;
pub mod compare;
pub mod reference;
pub mod session;
