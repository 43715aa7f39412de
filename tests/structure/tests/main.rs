//! The tests of the finder of circles, in one program: it is linked once, and its tests share the processors.

mod circles;
mod dependencies;
mod finder;
mod floors;
mod programs;
