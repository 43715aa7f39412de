//! PTX front end, lowering, execution, recording.

pub mod ptx;
