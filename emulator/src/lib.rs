//! PTX front end, lowering, execution, recording.

pub mod lower;
pub mod ptx;

pub mod exec;
pub mod memory;
pub mod record;
