//! The tests of reports, in one program: it is linked once, and its tests share the processors.

mod arbitrary;
mod browse;
mod browser;
mod common;
mod files;
mod heat;
mod structure;
