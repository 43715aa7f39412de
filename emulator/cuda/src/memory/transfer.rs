//! Copies and fills. An address in the device's ranges must lie in an allocation; any other is one of the
//! host program and is checked before it is dereferenced.

use super::array::Array;
use crate::error::{Outcome, Status};
use crate::host::{self, Access};
use crate::memory::copy::{Copy, Endpoint, Fill};
use crate::memory::{Memory, Purpose};

/// Address of the first row; distance to the next row; distance to the next slice.
type Rows = [u64; 3];

/// An address so many rows and slices away.
fn distant(base: u64, count: [u64; 2], step: [u64; 2]) -> Option<u64> {
    let [rows, slices] = [count[0].checked_mul(step[0])?, count[1].checked_mul(step[1])?];
    base.checked_add(rows)?.checked_add(slices)
}

fn rows(place: &Endpoint, arrays: &dyn Fn(u64) -> Outcome<[u64; 3]>) -> Outcome<Rows> {
    match *place {
        Endpoint::Linear { address, pitch, height } => {
            Ok([address, pitch, pitch.checked_mul(height).ok_or(Status::INVALID_VALUE)?])
        }
        Endpoint::Array { array, origin } => {
            let [base, pitch, slice] = arrays(array)?;
            let start = distant(base, [origin[1], origin[2]], [pitch, slice])
                .and_then(|start| start.checked_add(origin[0]));
            Ok([start.ok_or(Status::INVALID_VALUE)?, pitch, slice])
        }
    }
}

impl Memory {
    /// Whether all of these bytes lie in an allocation; mapped memory may continue in an adjacent mapping.
    #[must_use]
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let (Some(region), Some(end)) = (self.region(address), address.checked_add(bytes)) else {
            return false;
        };
        let mut reached = region.start + region.bytes;
        while reached < end {
            match self.region(reached).filter(|r| r.purpose == Purpose::Mapped && r.start == reached) {
                Some(next) if next.bytes > 0 => reached += next.bytes,
                _ => return false,
            }
        }
        true
    }

    /// Checks that a box of memory may be accessed, and returns the address at which the host does so.
    fn locate(&self, [base, pitch, slice]: Rows, extent: [u64; 3], access: Access) -> Outcome<u64> {
        let [width, height, depth] = extent;
        let end =
            distant(base, [height - 1, depth - 1], [pitch, slice]).and_then(|last| last.checked_add(width));
        let end = end.ok_or(Status::INVALID_VALUE)?;
        let there = |start| host::are_accessible(start, extent, [pitch, slice], access);
        let (address, good) = match self.region(base) {
            Some(region) => {
                let address = region.host_address(base);
                // The program may have unmapped registered memory.
                let own = matches!(region.purpose, Purpose::Registered | Purpose::Window);
                (address, self.holds(base, end - base) && (!own || there(address)))
            }
            None => (base, !self.owns(base, end) && there(base)),
        };
        if good { Ok(address) } else { Err(Status::INVALID_VALUE) }
    }

    /// Copies; `arrays` gives an array's base, bytes from row to row and from slice to slice.
    ///
    /// # Errors
    /// `INVALID_VALUE` when a place is not memory, or there is no such array. Nothing has been copied then.
    pub fn copy(&mut self, copy: &Copy) -> Outcome {
        let [width, height, depth] = copy.extent;
        if copy.extent.contains(&0) {
            return Ok(());
        }
        let arrays = |array| self.arrays.arrays.get(array).map(Array::rows);
        let (mut to, mut from) = (rows(&copy.to, &arrays)?, rows(&copy.from, &arrays)?);
        from[0] = self.locate(from, copy.extent, Access::Read)?;
        to[0] = self.locate(to, copy.extent, Access::Write)?;
        for z in 0..depth {
            for y in 0..height {
                let at = |[base, pitch, slice]: Rows| base + y * pitch + z * slice;
                // SAFETY: both are allocated here, or memory of the host program that may be accessed in this way; they
                // may overlap.
                unsafe { std::ptr::copy(at(from) as *const u8, at(to) as *mut u8, width as usize) };
            }
        }
        Ok(())
    }

    /// Fills.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the place is not memory that CUDA knows, or not aligned to the element.
    pub fn fill(&mut self, fill: &Fill) -> Outcome {
        let element = u64::from(fill.element);
        let row = fill.width.checked_mul(element).ok_or(Status::INVALID_VALUE)?;
        if row == 0 || fill.height == 0 {
            return Ok(());
        }
        if !matches!(element, 1 | 2 | 4) || !fill.address.is_multiple_of(element) {
            return Err(Status::INVALID_VALUE);
        }
        self.region(fill.address).ok_or(Status::INVALID_VALUE)?;
        let start = self.locate([fill.address, fill.pitch, 0], [row, fill.height, 1], Access::Write)?;
        let pattern = fill.value.to_le_bytes();
        let uniform = pattern[..element as usize].iter().all(|&byte| byte == pattern[0]);
        for y in 0..fill.height {
            let at = (start + y * fill.pitch) as *mut u8;
            if uniform {
                // SAFETY: the row lies in an allocation.
                unsafe { at.write_bytes(pattern[0], row as usize) };
                continue;
            }
            for i in 0..fill.width as usize {
                // SAFETY: as above.
                unsafe {
                    match element {
                        2 => at.cast::<[u8; 2]>().add(i).write([pattern[0], pattern[1]]),
                        _ => at.cast::<[u8; 4]>().add(i).write(pattern),
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_to_the_gpu_and_back() {
        let mut memory = Memory::new(1 << 20).expect("there are addresses");
        let device = memory.allocate("a", 256, Purpose::Device, 0).expect("there is room");
        let (host, mut back) = ([1u8, 2, 3, 4], [0u8; 4]);
        memory.copy(&Copy::linear(device + 8, host.as_ptr() as u64, 4)).unwrap();
        assert_eq!(memory.global.bytes(device + 8, 4), Some(host.to_vec()));
        memory.copy(&Copy::linear(back.as_mut_ptr() as u64, device + 8, 4)).unwrap();
        assert_eq!(back, host);
        let beyond = Copy::linear(device + 253, host.as_ptr() as u64, 4);
        assert_eq!(memory.copy(&beyond), Err(Status::INVALID_VALUE));
        assert_eq!(memory.copy(&Copy::linear(device + 512, device, 4)), Err(Status::INVALID_VALUE));
        assert_eq!(memory.copy(&Copy::linear(0, device, 4)), Err(Status::INVALID_VALUE));
    }

    #[test]
    fn pitched_copies_keep_the_rows_apart() {
        let mut memory = Memory::new(1 << 20).expect("there are addresses");
        let device = memory.allocate("a", 64, Purpose::Device, 0).expect("there is room");
        let host = [1u8, 2, 9, 3, 4, 9];
        let copy = Copy {
            to: Endpoint::Linear { address: device, pitch: 16, height: 2 },
            from: Endpoint::Linear { address: host.as_ptr() as u64, pitch: 3, height: 2 },
            extent: [2, 2, 1],
        };
        memory.copy(&copy).unwrap();
        assert_eq!(memory.global.bytes(device, 3), Some(vec![1, 2, 0]));
        assert_eq!(memory.global.bytes(device + 16, 3), Some(vec![3, 4, 0]));
        let fill = Fill { address: device, pitch: 16, value: 0x0807, element: 2, width: 1, height: 2 };
        memory.fill(&fill).unwrap();
        assert_eq!(memory.global.bytes(device + 16, 3), Some(vec![7, 8, 0]));
    }

    /// Pages that may only be read, and addresses without memory.
    #[test]
    fn what_is_not_there_is_an_error() {
        let mut memory = Memory::new(1 << 20).expect("there are addresses");
        let device = memory.allocate("a", 256, Purpose::Device, 0).expect("there is room");
        let other = memory.allocate("b", 256, Purpose::Device, 0).expect("there is room");
        let host = [0u8; 64];
        let code = distant as *const () as u64;
        let copy = |memory: &mut Memory, to, from| memory.copy(&Copy::linear(to, from, 64));
        for bad in [0x10, 0xdead_0000, u64::MAX - 4, device + 200, device + 4096, u64::MAX << 47] {
            assert_eq!(copy(&mut memory, device, bad), Err(Status::INVALID_VALUE), "from {bad:#x}");
            assert_eq!(copy(&mut memory, bad, device), Err(Status::INVALID_VALUE), "to {bad:#x}");
        }
        assert_eq!(copy(&mut memory, device, code), Ok(()));
        assert_eq!(copy(&mut memory, code, device), Err(Status::INVALID_VALUE));
        // Rows between which lies another allocation, or none.
        let span = Copy {
            to: Endpoint::Linear { address: device, pitch: (other - device) / 2, height: 3 },
            from: Endpoint::Linear { address: host.as_ptr() as u64, pitch: 16, height: 3 },
            extent: [16, 3, 1],
        };
        assert_eq!(memory.copy(&span), Err(Status::INVALID_VALUE));
        let fill = |address| Fill { address, pitch: 0, value: 0, element: 1, width: 64, height: 1 };
        for bad in [0x10, code, host.as_ptr() as u64, device + 200] {
            assert_eq!(memory.fill(&fill(bad)), Err(Status::INVALID_VALUE), "{bad:#x}");
        }
    }

    #[test]
    fn registered_memory_is_one_at_both_addresses() {
        let mut memory = Memory::new(1 << 20).expect("there are addresses");
        let mut host = vec![1u8; 64];
        let start = host.as_mut_ptr() as u64;
        memory.register(start, 64, 0).unwrap();
        let window = memory.region(start).unwrap().other;
        memory
            .fill(&Fill { address: window, pitch: 0, value: 0x0302, element: 2, width: 2, height: 1 })
            .unwrap();
        memory.copy(&Copy::linear(start + 8, window, 4)).unwrap();
        assert_eq!(memory.global.bytes(window + 8, 4), Some(vec![2, 3, 2, 3]));
        assert_eq!(host[..5], [2, 3, 2, 3, 1]);
    }
}
