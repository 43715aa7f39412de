//! PTX front end, lowering, execution, recording.
