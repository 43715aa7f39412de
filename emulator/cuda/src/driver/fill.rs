//! Fills of memory with 8, 16 and 32-bit values.

use super::{Stream, functions};
use crate::error::Outcome;
use crate::memory::copy::Fill;
use crate::running::perform::submit;
use crate::streams::work::Work;

fn row(address: u64, value: u32, element: u32, width: usize) -> Fill {
    Fill { address, pitch: 0, value, element, width: width as u64, height: 1 }
}

fn rows(address: u64, pitch: usize, value: u32, element: u32, [width, height]: [usize; 2]) -> Fill {
    Fill { address, pitch: pitch as u64, value, element, width: width as u64, height: height as u64 }
}

fn now(fill: Fill) -> Outcome {
    submit(0, Work::Fill(fill))
}

fn later(fill: Fill, stream: Stream) -> Outcome {
    submit(stream.handle(), Work::Fill(fill))
}

functions! {
    "cuMemsetD8_v2" / "cuMemsetD8_v2_ptds" 3020 Context memset_d8(to: u64, value: u8, width: usize) {
        now(row(to, value.into(), 1, width))
    }
    "cuMemsetD16_v2" / "cuMemsetD16_v2_ptds" 3020 Context memset_d16(to: u64, value: u16, width: usize) {
        now(row(to, value.into(), 2, width))
    }
    "cuMemsetD32_v2" / "cuMemsetD32_v2_ptds" 3020 Context memset_d32(to: u64, value: u32, width: usize) {
        now(row(to, value, 4, width))
    }
    "cuMemsetD2D8_v2" / "cuMemsetD2D8_v2_ptds" 3020 Context memset_2d_d8(
        to: u64, pitch: usize, value: u8, width: usize, height: usize,
    ) {
        now(rows(to, pitch, value.into(), 1, [width, height]))
    }
    "cuMemsetD2D16_v2" / "cuMemsetD2D16_v2_ptds" 3020 Context memset_2d_d16(
        to: u64, pitch: usize, value: u16, width: usize, height: usize,
    ) {
        now(rows(to, pitch, value.into(), 2, [width, height]))
    }
    "cuMemsetD2D32_v2" / "cuMemsetD2D32_v2_ptds" 3020 Context memset_2d_d32(
        to: u64, pitch: usize, value: u32, width: usize, height: usize,
    ) {
        now(rows(to, pitch, value, 4, [width, height]))
    }
    "cuMemsetD8Async" / "cuMemsetD8Async_ptsz" 3020 Context memset_d8_async(
        to: u64, value: u8, width: usize, stream: Stream,
    ) {
        later(row(to, value.into(), 1, width), stream)
    }
    "cuMemsetD16Async" / "cuMemsetD16Async_ptsz" 3020 Context memset_d16_async(
        to: u64, value: u16, width: usize, stream: Stream,
    ) {
        later(row(to, value.into(), 2, width), stream)
    }
    "cuMemsetD32Async" / "cuMemsetD32Async_ptsz" 3020 Context memset_d32_async(
        to: u64, value: u32, width: usize, stream: Stream,
    ) {
        later(row(to, value, 4, width), stream)
    }
    "cuMemsetD2D8Async" / "cuMemsetD2D8Async_ptsz" 3020 Context memset_2d_d8_async(
        to: u64, pitch: usize, value: u8, width: usize, height: usize, stream: Stream,
    ) {
        later(rows(to, pitch, value.into(), 1, [width, height]), stream)
    }
    "cuMemsetD2D16Async" / "cuMemsetD2D16Async_ptsz" 3020 Context memset_2d_d16_async(
        to: u64, pitch: usize, value: u16, width: usize, height: usize, stream: Stream,
    ) {
        later(rows(to, pitch, value.into(), 2, [width, height]), stream)
    }
    "cuMemsetD2D32Async" / "cuMemsetD2D32Async_ptsz" 3020 Context memset_2d_d32_async(
        to: u64, pitch: usize, value: u32, width: usize, height: usize, stream: Stream,
    ) {
        later(rows(to, pitch, value, 4, [width, height]), stream)
    }
}
