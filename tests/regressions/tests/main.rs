//! Faults that were found once, in one program: it is linked once, and its tests share the processors.

mod commands;
mod divergence;
mod files;
mod machine_code;
mod ptx;
mod recordings;
mod services;
