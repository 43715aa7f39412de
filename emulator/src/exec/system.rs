//! System calls of device code: `printf`, `malloc`, `free`, a failed `assert`, and those of the device
//! runtime ([`super::nested`]).
//!
//! Calls happen lane by lane in ascending order, arguments lie in the lane's local memory. Kernels with such
//! calls run their blocks in order, so that texts and heap addresses are the same at any number of threads.

use super::executable::Worker;
use super::fault::{FaultKind, Location};
use super::nested::{DeviceHost, Query, REQUEST_HEAD_BYTES, Request, Transfer};
use super::printf::{self, Arguments};
use super::state::{BlockShared, WarpState};
use super::trouble::Trouble;
use crate::memory::lanes::{Rows, lanes_of};
use crate::record::BlockSink;
use crate::view::access::Refusal;
use crate::view::global::GlobalView;
use std::sync::atomic::Ordering;
use trace_format::isa::space::{
    BANK_PARAM, BANK_USER, CONST_WINDOW_HI, LOCAL_WINDOW_HI, PARAM_WINDOW_HI, Space,
};
use trace_format::isa::{MemWidth, Op, SysCall};
use trace_format::semantics::{ExecInst, Row};

/// Maximum length of a string.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Executes a system call and returns its result, low and high word.
pub(crate) fn call<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    warp: &mut WarpState,
    place: Location,
    inst: &ExecInst,
    exec: u32,
) -> Result<[Row; 2], Trouble> {
    let mut result = [Row::ZERO; 2];
    let Op::Syscall { call } = inst.op else { return Ok(result) };
    let mut failed = String::new();
    for lane in lanes_of(exec) {
        let place = Location { lane: Some(lane as u8), ..place };
        let mut thread = Thread {
            arguments: u64::from(warp.regs.row(inst.src[0].row).0[lane]),
            lane,
            place,
            worker: &mut *worker,
            block: &mut *block,
            warp: &mut *warp,
        };
        let value = match call {
            SysCall::Vprintf => u64::from(thread.print()?),
            SysCall::Malloc => thread.allocate()?,
            SysCall::Free => thread.release()?,
            SysCall::AssertFail => {
                let text = thread.assertion()?;
                failed += if failed.is_empty() { "" } else { "\n" };
                failed += &text;
                0
            }
            SysCall::Launch => thread.launch()?.into(),
            SysCall::Transfer => thread.transfer()?.into(),
            SysCall::Query => thread.query()?,
            SysCall::Error => thread.last_error()?.into(),
        };
        (result[0].0[lane], result[1].0[lane]) = (value as u32, (value >> 32) as u32);
    }
    if failed.is_empty() { Ok(result) } else { Err(Trouble::fault(FaultKind::Assert(failed), place)) }
}

/// One thread that calls.
struct Thread<'t, 'p, V, S: BlockSink> {
    /// Local address of the argument block.
    arguments: u64,
    lane: usize,
    place: Location,
    worker: &'t mut Worker<'p, V, S>,
    block: &'t mut BlockShared,
    warp: &'t mut WarpState,
}

impl<'p, V: GlobalView, S: BlockSink> Thread<'_, 'p, V, S> {
    /// Reads up to eight bytes at a generic address.
    fn read(&mut self, address: u64, width: MemWidth) -> Result<u64, Trouble> {
        let (space, at) = Space::of_generic(address);
        let exec = 1 << self.lane;
        let mut out: Rows = [Row::ZERO; 4];
        let executable = self.worker.executable;
        let plain = match (space, (address >> 32) as u32) {
            (Space::Shared, _) => Some(&self.block.memory[..]),
            (_, CONST_WINDOW_HI) => Some(executable.banks.bank(BANK_USER)),
            (_, PARAM_WINDOW_HI) => Some(executable.banks.bank(BANK_PARAM)),
            _ => None,
        };
        let read = match (plain, space) {
            (Some(plain), _) => {
                let (at, bytes) = (address as u32 as usize, usize::from(width.bytes()));
                let found = plain.get(at..).and_then(|rest| rest.get(..bytes));
                let mut word = [0; 8];
                if let Some(found) = found {
                    word[..bytes].copy_from_slice(found);
                    return Ok(u64::from_le_bytes(word));
                }
                Err(Refusal::OutOfBounds { lane: self.lane as u8, address })
            }
            (None, Space::Local) => self.warp.local.load(&[at; 32], exec, width, &mut out),
            _ => self.worker.memory.load(self.place.pc as usize, &[at; 32], exec, width, &mut out),
        };
        match read {
            Ok(()) => Ok(u64::from(out[0].0[self.lane]) | u64::from(out[1].0[self.lane]) << 32),
            Err(order @ (Refusal::NewlyWritten(_) | Refusal::Order)) => Err(Trouble::Order(order)),
            Err(Refusal::OutOfBounds { .. } | Refusal::Misaligned { .. }) => Err(Trouble::fault(
                FaultKind::SystemCall(format!("it reads {address:#x}, where nothing is")),
                self.place,
            )),
        }
    }

    /// An argument of the call, at its place in the argument block.
    fn argument(&mut self, offset: u64, width: MemWidth) -> Result<u64, Trouble> {
        let at = self.arguments.wrapping_add(offset) & 0xFFFF_FFFF;
        self.read(u64::from(LOCAL_WINDOW_HI) << 32 | at, width)
    }

    /// The bytes of a string.
    fn string(&mut self, address: u64) -> Result<Vec<u8>, Trouble> {
        let mut text = Vec::new();
        while text.len() < MAX_TEXT_BYTES {
            match self.read(address.wrapping_add(text.len() as u64), MemWidth::U8)? as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }

    /// `vprintf(format, arguments)`: how many arguments were printed.
    fn print(&mut self) -> Result<u32, Trouble> {
        let format = self.argument(0, MemWidth::B64)?;
        let at = self.argument(8, MemWidth::B64)?;
        if format == 0 {
            return Ok(u32::MAX);
        }
        let format = self.string(format)?;
        let mut text = Vec::new();
        let taken = printf::format(&format, &mut Listed { thread: self, at }, &mut text)?;
        let executable = self.worker.executable;
        let bytes = text.len() as u64;
        let spend = |left: u64| left.checked_sub(bytes);
        if executable.print_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_err() {
            return Err(Trouble::fault(FaultKind::PrintLimit, self.place));
        }
        self.block.printed.append(&mut text);
        Ok(taken)
    }

    fn allocate(&mut self) -> Result<u64, Trouble> {
        let bytes = self.argument(0, MemWidth::B64)?;
        let memory = self.worker.memory.heap().map_err(Trouble::Order)?;
        Ok(memory.and_then(|heap| heap.allocate(bytes)).unwrap_or(0))
    }

    fn release(&mut self) -> Result<u64, Trouble> {
        let address = self.argument(0, MemWidth::B64)?;
        let memory = self.worker.memory.heap().map_err(Trouble::Order)?;
        if address == 0 || memory.is_some_and(|heap| heap.release(address)) {
            return Ok(0);
        }
        Err(Trouble::fault(FaultKind::BadFree(address), self.place))
    }

    /// Services for the device runtime.
    fn host(&self) -> Result<&'p dyn DeviceHost, Trouble> {
        self.worker.executable.host.ok_or_else(|| {
            let what = "device code that launches kernels or asks the device runtime runs in CUDA programs only \
                        (`emu run -- PROGRAM`), not with a launch manifest";
            Trouble::fault(FaultKind::Unsupported(what.into()), self.place)
        })
    }

    /// `N` consecutive words of 8 bytes at the address that is the call's argument.
    fn words<const N: usize>(&mut self) -> Result<[u64; N], Trouble> {
        let at = self.argument(0, MemWidth::B64)?;
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            *word = self.read(at.wrapping_add(8 * i as u64), MemWidth::B64)?;
        }
        Ok(words)
    }

    /// `__warplab_launch(request)`: an error code.
    fn launch(&mut self) -> Result<u32, Trouble> {
        let host = self.host()?;
        let at = self.argument(0, MemWidth::B64)?;
        let [kernel, a, b, c, d, stream] = self.words()?;
        let (low, high) = (|word: u64| word as u32, |word: u64| (word >> 32) as u32);
        let mut params = vec![0; high(d) as usize];
        let first = at.wrapping_add(REQUEST_HEAD_BYTES);
        for (i, byte) in params.iter_mut().enumerate() {
            *byte = self.read(first.wrapping_add(i as u64), MemWidth::U8)? as u8;
        }
        Ok(host.launch(Request {
            kernel,
            grid: [low(a), high(a), low(b)],
            block: [high(b), low(c), high(c)],
            shared_bytes: low(d),
            params,
            stream,
        }))
    }

    /// `__warplab_transfer(transfer)`: an error code.
    fn transfer(&mut self) -> Result<u32, Trouble> {
        let host = self.host()?;
        let [to, to_pitch, to_height, from, from_pitch, from_height, width, height, depth, stream, value] =
            self.words()?;
        let (to, from) = ([to, to_pitch, to_height], [from, from_pitch, from_height]);
        let extent = [width, height, depth];
        Ok(host.transfer(Transfer { to, from, extent, value: value as u8, stream }))
    }

    /// `__warplab_query(query)`: all ones when there is no answer.
    fn query(&mut self) -> Result<u64, Trouble> {
        let host = self.host()?;
        let [kernel, what, shared_bytes] = self.words()?;
        let number = (what >> 32) as u32;
        let query = match what as u32 {
            0 => Query::Kernel { kernel, number },
            1 => Query::Device { number },
            2 => Query::Limit { number },
            _ => Query::Occupancy { kernel, threads: number, shared_bytes },
        };
        Ok(host.query(query).unwrap_or(u64::MAX))
    }

    /// `__warplab_error(code)`: the thread's last error, which the code replaces unless it is all ones.
    fn last_error(&mut self) -> Result<u32, Trouble> {
        let code = self.argument(0, MemWidth::B32)? as u32;
        let thread = self.place.warp * 32 + self.lane as u32;
        let errors = &mut self.block.errors;
        let before = match code {
            u32::MAX => errors.get(&thread).copied(),
            0 => errors.remove(&thread),
            code => errors.insert(thread, code),
        };
        Ok(before.unwrap_or(0))
    }

    /// `__assertfail(message, file, line, function, charsize)`, in CUDA's words.
    fn assertion(&mut self) -> Result<String, Trouble> {
        let mut shown = |offset| -> Result<String, Trouble> {
            let address = self.argument(offset, MemWidth::B64)?;
            let text = if address == 0 { Vec::new() } else { self.string(address)? };
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        let (message, file, function) = (shown(0)?, shown(8)?, shown(24)?);
        let line = self.argument(16, MemWidth::B32)?;
        let [bx, by, bz] = self.block.index;
        let [x, y, _] = self.worker.executable.geometry.block.map(|n| n.max(1));
        let t = self.place.warp * 32 + self.lane as u32;
        let [tx, ty, tz] = [t % x, t / x % y, t / x / y];
        Ok(format!(
            "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed."
        ))
    }
}

/// The arguments of a `vprintf`, consecutive at their alignment.
struct Listed<'l, 't, 'p, V, S: BlockSink> {
    thread: &'l mut Thread<'t, 'p, V, S>,
    at: u64,
}

impl<V: GlobalView, S: BlockSink> Arguments for Listed<'_, '_, '_, V, S> {
    type Error = Trouble;

    fn word(&mut self) -> Result<u32, Trouble> {
        self.at = self.at.wrapping_add(3) & !3;
        let word = self.thread.read(self.at, MemWidth::B32)? as u32;
        self.at = self.at.wrapping_add(4);
        Ok(word)
    }

    fn wide(&mut self) -> Result<u64, Trouble> {
        self.at = self.at.wrapping_add(7) & !7;
        let wide = self.thread.read(self.at, MemWidth::B64)?;
        self.at = self.at.wrapping_add(8);
        Ok(wide)
    }

    fn text(&mut self, address: u64) -> Result<Option<Vec<u8>>, Trouble> {
        if address == 0 { Ok(None) } else { self.thread.string(address).map(Some) }
    }
}
