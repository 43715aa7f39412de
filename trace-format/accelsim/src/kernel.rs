//! The trace of one kernel, read as a stream of events: blocks, warps, instructions.

use crate::error::AccelsimError;
use crate::fields::decimal;
use crate::header::{self, Header};
use crate::line::{self, Line};
use crate::lines::Lines;
use std::path::Path;

/// A part of a kernel's trace.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every event is an instruction, and a box would allocate for each"
)]
pub(crate) enum Event<'a> {
    /// A block begins, by its linear number in the grid.
    Block(u64),
    /// A warp begins, by its number in the block.
    Warp(u32),
    /// An instruction of the warp.
    Line(Line<'a>),
    /// All warps of the block have been read.
    BlockEnd,
}

/// A kernel's trace that is being read.
pub(crate) struct KernelFile {
    lines: Lines,
    pub header: Header,
    state: State,
    block: [u32; 3],
    /// The next block in order.
    next_block: u64,
    /// Warps of the block that have begun.
    warps: u32,
    /// Instructions that the warp still has.
    left: u64,
    insts: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    /// Behind `#BEGIN_TB`.
    Unnamed,
    /// Behind `thread block = …`.
    InBlock,
    /// Behind `warp = …`.
    Uncounted,
}

impl KernelFile {
    pub(crate) fn open(path: &Path) -> Result<KernelFile, AccelsimError> {
        if path.extension().is_some_and(|extension| extension == "tracez") {
            let what =
                "binary traces (.tracez) are not read; convert them to .traceg with the tool that wrote them";
            return Err(AccelsimError::file(path, what));
        }
        let mut lines = Lines::open(path)?;
        let header = header::read(&mut lines)?;
        let (block, next_block, warps) = ([0; 3], 0, 0);
        Ok(KernelFile { lines, header, state: State::Between, block, next_block, warps, left: 0, insts: 0 })
    }

    pub(crate) fn error(&self, what: impl Into<String>) -> AccelsimError {
        self.lines.error(what)
    }

    /// Bytes of the file that have been read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    pub(crate) fn path(&self) -> &Path {
        self.lines.path()
    }

    /// The next event; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Event<'_>>, AccelsimError> {
        loop {
            if !self.lines.advance()? {
                let whole = self.left == 0 && self.warps == self.header.geometry.warps_per_block();
                return match self.state {
                    State::Between => Ok(None),
                    // Hand-written traces leave out the last #END_TB, which the simulator does not need.
                    State::InBlock if whole => {
                        self.state = State::Between;
                        Ok(Some(Event::BlockEnd))
                    }
                    _ => Err(self.error("the file ends within a thread block; it was cut off")),
                };
            }
            let text = self.lines.text.trim_ascii_start();
            if text.is_empty() {
                continue;
            }
            if self.left > 0 && !text.starts_with(b"#") && !is_key(text) {
                self.left -= 1;
                return match line::read(&self.lines.text, &self.header, self.block, self.warps - 1) {
                    Ok(line) => Ok(Some(Event::Line(line))),
                    Err(why) => Err(self.lines.error(why)),
                };
            }
            let text = text.to_vec();
            if let Some(event) = self.structure(&text)? {
                return Ok(Some(event));
            }
        }
    }

    /// Handles a line that is no instruction.
    fn structure(&mut self, text: &[u8]) -> Result<Option<Event<'static>>, AccelsimError> {
        let value = text.iter().position(|&b| b == b'=').map_or(&b""[..], |at| text[at + 1..].trim_ascii());
        if text.starts_with(b"#BEGIN_TB") {
            self.expect(State::Between)?;
            (self.state, self.warps) = (State::Unnamed, 0);
            return Ok(None);
        }
        if text.starts_with(b"#END_TB") {
            self.finish_warp()?;
            self.expect(State::InBlock)?;
            let all = self.header.geometry.warps_per_block();
            if self.warps != all {
                let what = format!("the block ends after {} of its {all} warps", self.warps);
                return Err(self.error(what));
            }
            self.state = State::Between;
            return Ok(Some(Event::BlockEnd));
        }
        if text.starts_with(b"#") {
            return Ok(None);
        }
        if text.starts_with(b"thread block") {
            self.expect(State::Unnamed)?;
            return self.begin_block(value).map(Some);
        }
        if text.starts_with(b"warp") {
            self.finish_warp()?;
            self.expect(State::InBlock)?;
            return self.begin_warp(value).map(Some);
        }
        if text.starts_with(b"insts") {
            self.expect(State::Uncounted)?;
            let count = decimal(value);
            self.left = count.ok_or_else(|| self.error("`insts` is not followed by a number"))?;
            (self.insts, self.state) = (self.left, State::InBlock);
            return Ok(None);
        }
        if is_key(text) {
            // Newer tracers also name the block's cluster.
            return Ok(None);
        }
        Err(self.error(match self.state {
            State::Between => format!(
                "`{}` stands outside of a thread block; traces as the tracer writes them have to be grouped by \
                 Accel-Sim's post-traces-processing first",
                self.lines.shown()
            ),
            State::Uncounted => format!("`{}` where `insts = n` was expected", self.lines.shown()),
            _ if self.warps > 0 => format!(
                "`{}` comes after the {} instructions that `insts` announced for warp {}",
                self.lines.shown(),
                self.insts,
                self.warps - 1
            ),
            _ => format!("`{}` comes before the first warp", self.lines.shown()),
        }))
    }

    fn expect(&self, state: State) -> Result<(), AccelsimError> {
        if self.state == state {
            return Ok(());
        }
        let expected = match self.state {
            State::Between => "#BEGIN_TB",
            State::Unnamed => "thread block = x,y,z",
            State::InBlock => "warp = n or #END_TB",
            State::Uncounted => "insts = n",
        };
        Err(self.error(format!("`{}` where `{expected}` was expected", self.lines.shown())))
    }

    fn finish_warp(&self) -> Result<(), AccelsimError> {
        match self.left {
            0 => Ok(()),
            left => {
                let (read, warp) = (self.insts - left, self.warps - 1);
                Err(self
                    .error(format!("warp {warp} has {read} instructions, `insts` announced {}", self.insts)))
            }
        }
    }

    fn begin_block(&mut self, value: &[u8]) -> Result<Event<'static>, AccelsimError> {
        let text = String::from_utf8_lossy(value);
        let block = header::triple("thread block", &text).map_err(|why| self.error(why))?;
        let grid = self.header.geometry.grid;
        if (0..3).any(|axis| block[axis] >= grid[axis]) {
            return Err(self.error(format!("thread block {text} is outside of the grid {grid:?}")));
        }
        let [x, y, z] = block.map(u64::from);
        let number = x + u64::from(grid[0]) * (y + u64::from(grid[1]) * z);
        if number < self.next_block {
            let what = format!(
                "thread block {text} comes after a later one; Accel-Sim's post-traces-processing sorts them"
            );
            return Err(self.error(what));
        }
        (self.block, self.next_block, self.state) = (block, number + 1, State::InBlock);
        Ok(Event::Block(number))
    }

    fn begin_warp(&mut self, value: &[u8]) -> Result<Event<'static>, AccelsimError> {
        let all = self.header.geometry.warps_per_block();
        let warp = decimal(value).ok_or_else(|| self.error("`warp` is not followed by a number"))?;
        if warp != u64::from(self.warps) || warp >= u64::from(all) {
            let what = format!("warp {warp} where warp {} of {all} was expected", self.warps);
            return Err(self.error(what));
        }
        self.warps += 1;
        self.state = State::Uncounted;
        Ok(Event::Warp(warp as u32))
    }
}

/// Whether a line is `key = value`.
fn is_key(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic) && text.contains(&b'=')
}
