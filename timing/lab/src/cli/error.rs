//! The error of a command.

/// Error text of a command, for the user.
#[derive(Debug)]
pub(crate) struct CliError(pub(super) String);

impl<E: std::fmt::Display> From<E> for CliError {
    fn from(error: E) -> CliError {
        CliError(error.to_string())
    }
}
