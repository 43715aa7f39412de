//! Functions on the host system that all of Warplab's programs use.
//!
//! [`input`] reads files up to a bound. [`destination`] writes files that are complete or absent. [`outputs`] refuses
//! outputs that would replace an input. [`limits`]
//! computes the number of threads for which the process has memory, [`numbers`] parses ranges of numbers, [`names`]
//! finds what a mistyped name may mean, [`symbols`] makes names of C++ functions readable, and [`shell`] writes commands as
//! text. [`kinds`] says where a file of another kind belongs. [`text`] and
//! [`console`] keep what is printed from commanding a terminal. `manual`, a feature, reads command lines (`options`),
//! fits tables to the lines of a terminal (`tables`), and writes completions and manual pages.
//!
//! ```
//! use std::io::Write as _;
//! use warplab_host::destination::Destination;
//! use warplab_host::input;
//!
//! let path = std::env::temp_dir().join(format!("warplab-host-{}", std::process::id()));
//! Destination::of(&path).write(|out| out.write_all(b"all of it"))?;
//! assert_eq!(input::read(&path, input::TEXT_BYTES)?, b"all of it");
//! # std::fs::remove_file(path)?;
//! # std::io::Result::Ok(())
//! ```

pub mod console;
pub mod destination;
pub mod input;
pub mod kinds;
pub mod limits;
#[cfg(feature = "manual")]
pub mod manual;
pub mod names;
pub mod numbers;
#[cfg(feature = "manual")]
pub mod options;
pub mod outputs;
mod place;
pub mod shell;
pub mod symbols;
#[cfg(feature = "manual")]
pub mod tables;
pub mod text;
