//! Messages of the library on standard error, and variables that it reads from the environment.

use crate::error::Status;

/// Writes a line to standard error, for details that error codes cannot express.
pub(crate) fn tell(what: &str) {
    warplab_host::say!("warplab: {what}");
}

/// Prints an error and returns its code.
pub(crate) fn told((status, what): (Status, String)) -> Status {
    tell(&what);
    status
}

/// The value of an environment variable, if it is set; an invalid one is reported and ignored.
pub(crate) fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok().filter(|t| !t.is_empty())?;
    let value = text.parse().ok();
    if value.is_none() {
        tell(&format!("{name}={text} is not understood and ignored"));
    }
    value
}
