//! The tests of the trace format, in one program: it is linked once, and its tests share the processors.

mod addresses;
mod between;
mod common;
mod container;
mod control_bits;
mod damage;
mod encodings;
mod one_table;
mod preferences;
mod results;
mod semantics;
mod size;
