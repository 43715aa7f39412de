//! The tests of the CUDA driver, in one program: it is linked once, and its tests share the processors.

mod c_programs;
mod crash;
mod kit;
mod machine_code;
mod occupancy;
mod programs;
mod python_clients;
mod recording;
