//! What the library says on standard error, and what it reads from the environment.

use crate::error::Status;

/// Writes a line to standard error, for what error codes cannot say.
pub(crate) fn tell(what: &str) {
    eprintln!("warplab: {what}");
}

/// Tells an error; its code is left.
pub(crate) fn told((status, what): (Status, String)) -> Status {
    tell(&what);
    status
}

/// The value of an environment variable, if it is set; one that cannot be read is told and ignored.
pub(crate) fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok().filter(|t| !t.is_empty())?;
    let value = text.parse().ok();
    if value.is_none() {
        tell(&format!("{name}={text} is not understood and ignored"));
    }
    value
}
