//! Findings of the checker: one entry per kind of finding and pair of instructions, with counts.

use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use trace_format::isa::{MachineKernel, Pc};

/// The check that found something.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// Accesses out of bounds, misaligned, or to memory that is not allocated.
    Memcheck,
    /// Reads of memory never written.
    Initcheck,
    /// Races on shared memory.
    Racecheck,
    /// Divergent barriers.
    Synccheck,
    /// Integer divisions by zero.
    Divcheck,
}

impl CheckKind {
    fn name(self) -> &'static str {
        match self {
            CheckKind::Memcheck => "memcheck",
            CheckKind::Initcheck => "initcheck",
            CheckKind::Racecheck => "racecheck",
            CheckKind::Synccheck => "synccheck",
            CheckKind::Divcheck => "divcheck",
        }
    }
}

/// An instruction and the thread that executed it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Site {
    /// Program counter.
    pub pc: u32,
    /// The machine instruction, as listed.
    pub instruction: String,
    /// PTX file and line, 0 when unknown.
    pub ptx_file: String,
    /// PTX line.
    pub ptx_line: u32,
    /// Text of that line.
    pub ptx_text: Option<String>,
    /// CUDA source file and line, where the PTX names them.
    pub cuda: Option<(String, u32)>,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index.
    pub thread: [u32; 3],
}

impl Site {
    /// An instruction of a kernel in a lane of a warp.
    #[must_use]
    pub fn new(
        kernel: &MachineKernel,
        pc: u32,
        block: [u32; 3],
        threads: [u32; 3],
        warp: u32,
        lane: u32,
    ) -> Site {
        let line = kernel.lines.get(pc as usize).copied().unwrap_or_default();
        let cuda = kernel.file(line.source).map(|file| (file.name.clone(), line.source.line));
        let [x, y, _] = threads.map(|n| n.max(1));
        let t = warp * 32 + lane;
        Site {
            pc,
            instruction: kernel.insts.get(pc as usize).map_or_else(String::new, ToString::to_string),
            ptx_file: kernel.code_file().map_or_else(String::new, |file| file.name.clone()),
            ptx_line: line.code.line,
            ptx_text: kernel.code_text(Pc(pc)).map(|t| t.trim().to_string()),
            cuda,
            block,
            thread: [t % x, t / x % y, t / x / y],
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, how: &str) -> fmt::Result {
        write!(f, "\n  {how} {}:{}", self.ptx_file, self.ptx_line)?;
        if let Some(text) = &self.ptx_text {
            write!(f, ": {text}")?;
        }
        if let Some((file, line)) = &self.cuda {
            write!(f, "\n     from {file}:{line}")?;
        }
        let ([bx, by, bz], [x, y, z]) = (self.block, self.thread);
        write!(
            f,
            "\n     block ({bx},{by},{bz}), thread ({x},{y},{z}), PC {}: {}",
            Pc(self.pc),
            self.instruction
        )
    }
}

/// A finding, with its first occurrence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The check.
    pub check: CheckKind,
    /// Description.
    pub what: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Number of occurrences, counted by thread.
    pub count: u64,
    /// Place of the first occurrence.
    pub site: Site,
    /// The other side of a race, or the other barrier.
    pub other: Option<Site>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check.name(), self.what)?;
        self.site.write(f, "at")?;
        if let Some(other) = &self.other {
            other.write(f, "and")?;
        }
        write!(f, "\n  in kernel {}", warplab_host::symbols::signature(&self.kernel))?;
        if self.count > 1 { write!(f, ", {} times", self.count) } else { Ok(()) }
    }
}

/// Findings of a run.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    known: HashMap<(CheckKind, String, u32, u32), usize>,
    limit: usize,
    omitted: u64,
}

impl Findings {
    /// Empty findings that keep at most `limit` different ones.
    #[must_use]
    pub fn new(limit: usize) -> Findings {
        Findings { limit, ..Findings::default() }
    }

    /// The kept findings, in order of first occurrence.
    #[must_use]
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// Number of different findings beyond the limit.
    #[must_use]
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Adds a finding, or counts it with an earlier one of the same kind and lines.
    pub(super) fn add(
        &mut self,
        check: CheckKind,
        kernel: &MachineKernel,
        pc: u32,
        other: Option<u32>,
        describe: impl FnOnce() -> (String, Site, Option<Site>),
    ) {
        let line = |pc: u32| match kernel.lines.get(pc as usize) {
            Some(line) if line.code.line > 0 => line.code.line,
            _ => u32::MAX - pc,
        };
        let key = (check, kernel.name.clone(), line(pc), other.map_or(0, line));
        if let Some(&at) = self.known.get(&key) {
            if let Some(finding) = self.list.get_mut(at) {
                finding.count += 1;
            }
            return;
        }
        self.known.insert(key, if self.list.len() < self.limit { self.list.len() } else { usize::MAX });
        if self.list.len() >= self.limit {
            self.omitted += 1;
            return;
        }
        let (what, site, other) = describe();
        self.list.push(Finding { check, what, kernel: kernel.name.clone(), count: 1, site, other });
    }
}
