//! Messages and results on standard error and standard output. A closed or full standard error ends no program, and text
//! from outside reaches no terminal as it is ([`crate::text`]).

use crate::text::{is_printable, printable};
use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};

/// Prints a line to standard error, as `eprintln!`, but escapes control characters, and ignores that it cannot be written:
/// there is no other place to tell that.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::console::say(::std::format_args!($($text)*)) };
}

/// Prints a line to standard error; see [`say!`](crate::say).
pub fn say(text: fmt::Arguments<'_>) {
    let text = format!("{text}\n");
    say_as_is(&printable(&text));
}

/// Prints text to standard error as it is: with colours of the program's own, and nothing unescaped from outside.
pub fn say_as_is(text: &str) {
    drop(io::stderr().lock().write_all(text.as_bytes()));
}

/// Prints text to standard output; a closed pipe is no error.
///
/// # Errors
/// It cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    write(printable(text).as_bytes())
}

/// Prints data to standard output: as it is, unless that is a terminal.
///
/// # Errors
/// It cannot be written.
pub fn print_data(text: &str) -> io::Result<()> {
    if io::stdout().is_terminal() { print(text) } else { write(text.as_bytes()) }
}

/// Standard output, or another writer, whose text is made printable ([`printable`]); data goes through as it is.
#[derive(Debug)]
pub struct Out<W> {
    to: W,
    is_data: bool,
}

/// Standard output for text, or for data such as JSON.
#[must_use]
pub fn out(is_data: bool) -> Out<StdoutLock<'static>> {
    Out::new(io::stdout().lock(), is_data)
}

impl<W: Write> Out<W> {
    /// A writer for text, or for data.
    pub fn new(to: W, is_data: bool) -> Out<W> {
        Out { to, is_data }
    }
}

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            _ if self.is_data => self.to.write_all(bytes)?,
            Ok(text) if is_printable(text) => self.to.write_all(bytes)?,
            Ok(text) => self.to.write_all(printable(text).as_bytes())?,
            Err(_) => self.to.write_all(printable(&String::from_utf8_lossy(bytes)).as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}
