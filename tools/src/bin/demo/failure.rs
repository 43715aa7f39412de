//! The error of the demo.

/// Why the demo ends early: text for the user.
#[derive(Debug)]
pub(crate) struct Failure(pub String);

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}
