//! The way of code to the warps: L0, an instruction cache for the warps of each scheduler, in front of the SM's.
//!
//! An L0 fetches ahead with a stream buffer (Jouppi, ISCA 1990), which Huerta et al. (MICRO 2025) find to fit what modern
//! GPUs do: a miss in both empties the buffer and asks for the lines that follow; a line that is fetched from the buffer
//! moves to L0, and the buffer asks for the next one. The SM's cache takes one request and sends one line per cycle, each
//! of which is on its way for a fixed time. Without L0, warps fetch from the SM's cache at once.

use super::memory_port::Requests;
use super::small_caches::{CodeCache, CodeFetch};
use crate::config::{GpuConfig, SetHash};
use crate::memory::Reply;
use crate::memory::cache::Tags;
use crate::memory::replacement::Replacement;
use crate::stats::Counters;
use std::collections::VecDeque;

/// A line that warps wait for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    line: u64,
    warps: u64,
}

/// A line of the stream buffer.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    line: u64,
    arrived: bool,
}

/// A request on its way to the SM's cache, or a line on its way back.
#[derive(Clone, Copy, Debug)]
struct Moving {
    arrives_at: u64,
    line: u64,
    scheduler: usize,
}

/// The cache of one scheduler's warps.
#[derive(Clone, Debug)]
struct Level0 {
    tags: Tags,
    /// The line that was found last, with its way.
    found: Option<(u64, usize)>,
    wanted: Vec<Wanted>,
    stream: VecDeque<Ahead>,
    /// The line that the stream buffer asks for next.
    next: u64,
}

impl Level0 {
    fn holds(&mut self, line: u64) -> bool {
        if let Some((own, way)) = self.found
            && own == line
        {
            self.tags.use_again(way);
            return true;
        }
        self.found = self.tags.find_readable(line).map(|way| (line, way)).or(self.found);
        self.found.is_some_and(|(own, _)| own == line)
    }

    fn insert(&mut self, line: u64) {
        self.tags.insert(line, 1, 0);
        self.found = None;
    }

    /// A line arrives; returns the warps that waited for it.
    fn receive(&mut self, line: u64) -> u64 {
        if let Some(ahead) = self.stream.iter_mut().find(|ahead| ahead.line == line) {
            ahead.arrived = true;
        }
        let Some(index) = self.wanted.iter().position(|wanted| wanted.line == line) else { return 0 };
        self.insert(line);
        self.wanted.swap_remove(index).warps
    }
}

/// The instruction caches of an SM.
#[derive(Clone, Debug)]
pub(crate) struct CodePath {
    cache: CodeCache,
    /// By scheduler; none if the GPU has no L0.
    first: Vec<Level0>,
    schedulers: usize,
    stream_lines: usize,
    latency: u64,
    /// The line that holds the kernel's last instruction.
    end: u64,
    asked: VecDeque<Moving>,
    sent: VecDeque<Moving>,
}

impl CodePath {
    /// The caches with the contents that earlier kernels left in the SM's, for a kernel whose last instruction is in line
    /// `end`. L0 is empty when a kernel begins.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig, tags: Tags, end: u64) -> CodePath {
        let l0 = &config.front_end.l0;
        let schedulers = config.scheduler.count as usize;
        let empty = || Level0 {
            tags: Tags::new(l0.sets, l0.ways, SetHash::Linear, Replacement::new(config, &l0.replacement)),
            found: None,
            wanted: Vec::new(),
            stream: VecDeque::new(),
            next: 0,
        };
        let present = if l0.size_bytes > 0 { schedulers } else { 0 };
        CodePath {
            cache: CodeCache::new(config, tags, end),
            first: (0..present).map(|_| empty()).collect(),
            schedulers,
            stream_lines: l0.stream_lines as usize,
            latency: u64::from(l0.latency_cycles),
            end,
            asked: VecDeque::new(),
            sent: VecDeque::new(),
        }
    }

    /// The contents of the SM's cache, for the next kernel.
    #[must_use]
    pub(crate) fn into_tags(self) -> Tags {
        self.cache.into_tags()
    }

    /// Looks up the line that a warp fetches from.
    #[inline]
    pub(crate) fn fetch(
        &mut self,
        line: u64,
        warp: usize,
        now: u64,
        requests: &mut impl Requests,
        counters: &mut Counters,
    ) -> CodeFetch {
        if self.first.is_empty() {
            return self.cache.fetch(line, warp, requests, counters);
        }
        let scheduler = warp % self.schedulers;
        let l0 = &mut self.first[scheduler];
        if l0.holds(line) {
            return CodeFetch::Hit;
        }
        if let Some(wanted) = l0.wanted.iter_mut().find(|wanted| wanted.line == line) {
            wanted.warps |= 1 << warp;
            return CodeFetch::Miss;
        }
        let ahead = l0.stream.iter().position(|ahead| ahead.line == line);
        let arrived = ahead.is_some_and(|index| l0.stream[index].arrived);
        match ahead {
            Some(index) => drop(l0.stream.drain(..=index)),
            None => {
                l0.stream.clear();
                l0.next = line + 1;
            }
        }
        if arrived {
            l0.insert(line);
        } else {
            l0.wanted.push(Wanted { line, warps: 1 << warp });
        }
        if ahead.is_none() {
            self.ask(scheduler, line, now);
        }
        self.run_ahead(scheduler, now);
        if arrived { CodeFetch::Hit } else { CodeFetch::Miss }
    }

    fn ask(&mut self, scheduler: usize, line: u64, now: u64) {
        self.asked.push_back(Moving { arrives_at: now + self.latency, line, scheduler });
    }

    /// Fills up a stream buffer with requests.
    fn run_ahead(&mut self, scheduler: usize, now: u64) {
        loop {
            let l0 = &mut self.first[scheduler];
            let line = l0.next;
            if l0.stream.len() >= self.stream_lines || line > self.end {
                return;
            }
            l0.stream.push_back(Ahead { line, arrived: false });
            l0.next += 1;
            self.ask(scheduler, line, now);
        }
    }

    /// The SM's cache takes a request and an L0 a line, if they have arrived; returns the warps that waited for the line.
    #[inline]
    pub(crate) fn advance(&mut self, now: u64, requests: &mut impl Requests, counters: &mut Counters) -> u64 {
        let mut woken = 0;
        if self.sent.front().is_some_and(|sent| sent.arrives_at <= now)
            && let Some(sent) = self.sent.pop_front()
        {
            woken = self.first[sent.scheduler].receive(sent.line);
        }
        if let Some(&Moving { arrives_at, line, scheduler }) = self.asked.front()
            && arrives_at <= now
        {
            let answer = self.cache.fetch(line, scheduler, requests, counters);
            if answer != CodeFetch::Busy {
                self.asked.pop_front();
            }
            if answer == CodeFetch::Hit {
                self.sent.push_back(Moving { arrives_at: now + self.latency, line, scheduler });
            }
        }
        woken
    }

    /// Accepts part of a line from L2; returns the warps that may go on at once.
    pub(crate) fn fill(&mut self, reply: &Reply, now: u64) -> u64 {
        let Some((line, waiting)) = self.cache.fill(reply) else { return 0 };
        if self.first.is_empty() {
            return waiting;
        }
        for scheduler in (0..self.schedulers).filter(|scheduler| waiting >> scheduler & 1 != 0) {
            self.sent.push_back(Moving { arrives_at: now + self.latency, line, scheduler });
        }
        0
    }

    /// Cycle at which the next request or line arrives.
    #[must_use]
    #[inline]
    pub(crate) fn next_event(&self) -> Option<u64> {
        let first = |moving: &VecDeque<Moving>| moving.front().map(|moving| moving.arrives_at);
        [first(&self.asked), first(&self.sent)].into_iter().flatten().min()
    }

    /// Lines that are on their way from L2.
    #[must_use]
    pub(crate) fn misses(&self) -> usize {
        self.cache.misses()
    }

    /// Whether no line is on its way.
    #[must_use]
    pub(crate) fn is_drained(&self) -> bool {
        self.cache.misses() == 0 && self.asked.is_empty() && self.sent.is_empty()
    }
}

#[cfg(test)]
mod tests;
