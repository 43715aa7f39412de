//! Options of just-in-time compilation: the logs that programs want filled; the rest tunes a compiler that is not
//! here.

use super::{In, write_text};
use crate::error::{Outcome, Status};
use crate::gpu::tell;
use std::ffi::c_char;

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
    /// Where the program reads how much was written.
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

/// What a program wants from a compilation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    info: Log,
    error: Log,
    wall_time: usize,
}

impl Options {
    /// Reads options: their numbers, and as many values, which results are written over.
    pub(super) fn read(count: u32, numbers: In<u32>, values: In<usize>) -> Outcome<Options> {
        let mut options = Options::default();
        let numbers = numbers.list(count as usize)?;
        let read = values.list(count as usize)?;
        for (i, (number, value)) in numbers.into_iter().zip(read).enumerate() {
            let place = values.0 as usize + i * size_of::<usize>();
            match number {
                INFO_LOG => options.info.buffer = value,
                ERROR_LOG => options.error.buffer = value,
                // Sizes are 32 bits wide, the value that holds them 64.
                INFO_LOG_BYTES => (options.info.bytes, options.info.used) = (value & 0xFFFF_FFFF, place),
                ERROR_LOG_BYTES => (options.error.bytes, options.error.used) = (value & 0xFFFF_FFFF, place),
                WALL_TIME => options.wall_time = place,
                0..=36 => {}
                _ => return Err(Status::INVALID_VALUE),
            }
        }
        Ok(options)
    }

    /// Ends a compilation: fills the logs, or tells an error that the program has no buffer for.
    pub(super) fn finish<T>(&self, result: Result<T, (Status, String)>) -> Outcome<T> {
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
