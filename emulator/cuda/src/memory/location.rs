//! Location of memory: the device or the host.

use crate::error::{Outcome, Status};

/// The host as a device number, and no device at all (`CU_DEVICE_CPU`, `CU_DEVICE_INVALID`).
pub(crate) const HOST: i32 = -1;
pub(super) const NOWHERE: i32 = -2;

/// CUDA's `CUmemLocation`: kind and number.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Location {
    /// 1 is a device, 2 to 4 the host.
    pub kind: u32,
    /// Number of the device.
    pub id: i32,
}

impl Location {
    /// A device's number, or -1 for the host.
    #[must_use]
    pub fn of(ordinal: i32) -> Location {
        if ordinal == HOST { Location { kind: 2, id: 0 } } else { Location { kind: 1, id: ordinal } }
    }

    /// The same backwards.
    #[must_use]
    pub fn ordinal(self) -> i32 {
        if self.is_device() { self.id } else { HOST }
    }

    /// Whether it is a device.
    #[must_use]
    pub fn is_device(self) -> bool {
        self.kind == 1
    }

    /// Checks that the location exists.
    ///
    /// # Errors
    /// `INVALID_DEVICE` when it is another device than ours, `INVALID_VALUE` when it is no location.
    pub fn is_there(self) -> Outcome {
        match self.kind {
            1 if self.id == 0 => Ok(()),
            1 => Err(Status::INVALID_DEVICE),
            2..=4 => Ok(()),
            _ => Err(Status::INVALID_VALUE),
        }
    }
}
