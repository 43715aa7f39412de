//! The tests of the tools, in one program: it is linked once, and its tests share the processors.

mod demo;
mod ptxas;
mod streams;
mod trace_cli;
