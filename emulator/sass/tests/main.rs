//! The tests of machine code, in one program: it is linked once, and its tests share the processors.

mod agreement;
mod cubins;
mod kernels;
mod kit;
mod lines;
mod words;
