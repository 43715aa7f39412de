//! Options of just-in-time compilation: the most registers of a thread, and the logs that programs pass buffers for. Other
//! options configure a compiler that Warplab does not have.

use crate::error::{Outcome, Status};
use crate::host::write_text;
use crate::tell::tell;
use std::ffi::c_char;

const MOST_REGISTERS: u32 = 0;
const WALL_TIME: u32 = 2;
const INFO_LOG: u32 = 3;
const INFO_LOG_BYTES: u32 = 4;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_BYTES: u32 = 6;

/// A buffer of the program for text.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    buffer: usize,
    bytes: usize,
    /// Address of the number of bytes written.
    used: usize,
}

impl Log {
    fn write(&self, text: &str) {
        if self.buffer == 0 && self.used == 0 {
            return;
        }
        let written = write_text(self.buffer as *mut c_char, self.bytes, text);
        if self.used != 0 {
            // SAFETY: the program passed this place as the value of the buffer's size.
            unsafe { (self.used as *mut usize).write_unaligned(written) };
        }
    }
}

/// Options of a compilation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    info: Log,
    error: Log,
    wall_time: usize,
    /// The most registers per thread, for kernels that name no number.
    pub(crate) most_registers: Option<u16>,
}

impl Options {
    /// Sets an option to the program's value; a result overwrites it at `place`.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such option.
    pub(crate) fn set(&mut self, number: u32, value: usize, place: usize) -> Outcome {
        match number {
            INFO_LOG => self.info.buffer = value,
            ERROR_LOG => self.error.buffer = value,
            // Sizes are 32 bits wide, the value that holds them 64.
            INFO_LOG_BYTES => (self.info.bytes, self.info.used) = (value & 0xFFFF_FFFF, place),
            ERROR_LOG_BYTES => (self.error.bytes, self.error.used) = (value & 0xFFFF_FFFF, place),
            WALL_TIME => self.wall_time = place,
            // The number is 32 bits wide; zero is none, and more than a thread can have is no limit.
            MOST_REGISTERS => {
                let number = u16::try_from(value & 0xFFFF_FFFF).ok();
                self.most_registers = number.filter(|number| (1..=255).contains(number));
            }
            1..=36 => {}
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }

    /// Ends a compilation: fills the logs, or prints an error if the program has passed no buffer.
    pub(crate) fn finish<T>(&self, result: Result<T, (Status, String)>) -> Outcome<T> {
        if self.wall_time != 0 {
            // SAFETY: the program passed this place as the value of the option.
            unsafe { (self.wall_time as *mut f32).write_unaligned(0.0) };
        }
        self.info.write("");
        match result {
            Ok(value) => {
                self.error.write("");
                Ok(value)
            }
            Err((status, what)) => {
                self.error.write(&what);
                if self.error.buffer == 0 || self.error.bytes == 0 {
                    tell(&what);
                }
                Err(status)
            }
        }
    }
}
