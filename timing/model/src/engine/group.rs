//! A group of kernels on the GPU, between epochs: packets are delivered, kernels launched, blocks placed, and
//! SMs switched from one kernel to the next.

use super::domain::{Domain, Domains, Exchange, lock};
use super::job::{Job, Progress, RunOptions, STUCK_CYCLES};
use super::outcome::{GroupOutcome, JobOutcome};
use crate::config::GpuConfig;
use crate::error::ReplayError;
use crate::memory::partition::Partition;
use crate::sm::{Sm, SmCaches};
use crate::source::LaunchSource;
use crate::stats::{Sample, Sampler, Series, Stall, Stats};
use std::sync::{Mutex, PoisonError};

/// Progress of a kernel.
struct State {
    /// Cycle from which blocks may be placed; none while it waits for other kernels.
    ready_at: Option<u64>,
    next_block: u64,
    /// SMs that hold it.
    sms: u32,
    ended: bool,
    outcome: JobOutcome,
}

/// Run of one group.
pub(super) struct Group<'a, S: LaunchSource> {
    jobs: &'a [Job<'a, S>],
    states: Vec<State>,
    /// Kernel that each SM holds.
    bound: Vec<usize>,
    /// Cycle from which each SM may get a block.
    open_at: Vec<u64>,
    exchange: Exchange,
    /// What is known of each domain between two epochs.
    known: Vec<Known>,
    last_issue: u64,
    options: &'a RunOptions<'a>,
    config: &'a GpuConfig,
    launched_at: u64,
    start: u64,
    placed_at: u64,
    samples: Vec<(Sampler, Sample)>,
}

/// State of a domain between two epochs.
#[derive(Clone, Copy)]
struct Known {
    /// Earliest cycle in which something can happen or work is blocked: epochs are short meanwhile, because blocks
    /// are placed between them.
    wake_at: u64,
    /// Cycle before which it need not run.
    sleeps_until: u64,
    is_idle: bool,
}

impl Known {
    fn of<S: LaunchSource>(domain: &Domain<'_, S>) -> Known {
        Known { wake_at: domain.wake_at(), sleeps_until: domain.sleeps_until(), is_idle: domain.is_idle() }
    }
}

impl<'a, S: LaunchSource> Group<'a, S> {
    pub(super) fn new(
        jobs: &'a [Job<'a, S>],
        options: &'a RunOptions<'a>,
        launched_at: u64,
        start: u64,
    ) -> Self {
        let config = &jobs[0].machine.config;
        let state = |job: &Job<'_, S>| State {
            ready_at: job.after.is_empty().then_some(start),
            next_block: 0,
            sms: 0,
            ended: false,
            outcome: JobOutcome { launched_at, ..JobOutcome::default() },
        };
        let mut states: Vec<State> = jobs.iter().map(state).collect();
        let sms = config.gpu.sms as usize;
        states[0].sms = sms as u32;
        let exchange = Exchange::new(config);
        #[cfg(test)]
        let exchange = exchange.losing_from(options.lose_replies_from);
        Group {
            jobs,
            states,
            bound: vec![0; sms],
            open_at: vec![0; sms],
            exchange,
            known: Vec::new(),
            last_issue: 0,
            options,
            config,
            launched_at,
            start,
            placed_at: start,
            samples: Vec::new(),
        }
    }

    /// The domains of the GPU; all SMs hold the first kernel.
    pub(super) fn domains(
        &self,
        caches: impl Iterator<Item = SmCaches>,
        partitions: impl Iterator<Item = Partition>,
    ) -> Vec<Mutex<Domain<'a, S>>> {
        let sm = |(id, caches)| Mutex::new(Domain::Sm(Box::new(self.sm(id, 0, caches, self.start))));
        let mut domains: Vec<_> = caches.enumerate().map(sm).collect();
        for mut partition in partitions {
            if self.config.launch.flush_l2 {
                partition.flush();
            }
            partition.sample(self.options.view.sampler(self.launched_at).filter(|_| S::OBSERVED));
            domains.push(Mutex::new(Domain::Partition(Box::new(partition))));
        }
        domains
    }

    /// A new SM for a kernel, starting at cycle `now`.
    fn sm(&self, id: usize, job: usize, mut caches: SmCaches, now: u64) -> Sm<'a, S> {
        if self.config.launch.flush_l1 {
            caches.flush_l1();
        }
        if self.config.launch.flush_code {
            caches.flush_code();
        }
        let Job { machine, source, techniques, .. } = &self.jobs[job];
        let mut sm = Sm::new(id, machine, *source, (*techniques).clone(), caches, now);
        sm.look_at_every_cycle(self.options.every_cycle);
        if S::OBSERVED {
            // Only the first kernel holds SMs during its launch latency.
            let latency_from = if now == self.start { self.launched_at } else { now };
            sm.observe(&self.options.view, latency_from, self.launched_at);
        }
        sm
    }

    /// Delivers packets, places blocks, and returns the end of the next epoch, or `None` when every kernel
    /// has ended.
    ///
    /// `awake` has the domains that ran, and gets those that have to run in the next epoch.
    pub(super) fn between_epochs(
        &mut self,
        domains: &Domains<'a, S>,
        now: u64,
        awake: &mut Vec<usize>,
    ) -> Result<Option<u64>, ReplayError> {
        if self.known.is_empty() {
            self.known = vec![Known { wake_at: now, sleeps_until: now, is_idle: true }; domains.len()];
            awake.extend(0..domains.len());
        }
        awake.sort_unstable();
        for domain in awake.iter() {
            if let Some(error) = lock(&domains[*domain]).take_error() {
                return Err(error);
            }
        }
        let mut changed = awake.clone();
        self.exchange.deliver(domains, awake, &mut changed);
        self.look_at(domains, &changed);
        // A kernel may start in the cycle in which the kernel that it waited for ends.
        loop {
            self.place_blocks(domains, now)?;
            if !self.end_jobs(now) {
                break;
            }
        }
        let cycles = now - self.launched_at;
        (self.options.progress)(Progress {
            blocks_placed: self.states.iter().map(|state| state.next_block).sum(),
            blocks: self.jobs.iter().map(|job| job.blocks).sum(),
            cycles,
        });
        if self.states.iter().all(|state| state.ended) {
            return Ok(None);
        }
        if let Some(limit) = self.options.max_cycles.filter(|limit| cycles > *limit) {
            return Err(ReplayError::TooManyCycles { kernel: self.running(), cycles: limit });
        }
        // The end of a launch latency is an event too, so an epoch ends there.
        let launch = self.states.iter().filter_map(|state| state.ready_at.filter(|at| *at > now)).min();
        let next = self.known.iter().map(|domain| domain.wake_at).min().unwrap_or(u64::MAX);
        let next = next.min(launch.unwrap_or(u64::MAX)).min(self.next_opening(domains, now));
        let quiet = now.saturating_sub(self.last_issue.max(self.placed_at));
        if next == u64::MAX || (quiet > STUCK_CYCLES && launch.is_none()) {
            let describe = |domain: &Mutex<Domain<'a, S>>| {
                let mut domain = lock(domain);
                domain.sleep_until(now);
                domain.describe()
            };
            let state = domains.iter().map(describe).collect();
            return Err(ReplayError::Stuck { kernel: self.running(), cycles: quiet, state });
        }
        let end = next.max(now) + self.exchange.epoch_cycles();
        let end = launch.map_or(end, |launch| end.min(launch));
        let every_cycle = self.options.every_cycle;
        let runs = |domain: &usize| every_cycle || self.known[*domain].sleeps_until < end;
        awake.clear();
        awake.extend((0..domains.len()).filter(runs));
        Ok(Some(end))
    }

    /// Looks at domains that have run or received something.
    fn look_at(&mut self, domains: &Domains<'a, S>, changed: &[usize]) {
        for index in changed {
            let domain = lock(&domains[*index]);
            self.known[*index] = Known::of(&domain);
            self.last_issue = self.last_issue.max(domain.last_issue().unwrap_or(0));
        }
    }

    /// Names of the kernels that have started and not ended.
    fn running(&self) -> String {
        let names =
            self.states.iter().zip(self.jobs).filter(|(state, _)| state.ready_at.is_some() && !state.ended);
        let mut names: Vec<&str> = names.map(|(_, job)| job.machine.program.name.as_str()).collect();
        names.dedup();
        names.join(" and ")
    }

    /// Places blocks on SMs, round robin, while any SM has room; earlier kernels first.
    fn place_blocks(&mut self, domains: &Domains<'a, S>, now: u64) -> Result<(), ReplayError> {
        for job in 0..self.jobs.len() {
            if self.states[job].ready_at.is_none_or(|at| at > now) {
                continue;
            }
            let mut placed = true;
            while placed && self.states[job].next_block < self.jobs[job].blocks {
                placed = false;
                for (id, domain) in domains.iter().enumerate().take(self.bound.len()) {
                    if self.states[job].next_block == self.jobs[job].blocks {
                        break;
                    }
                    self.turn_to(job, id, domain, now)?;
                    placed |= self.bound[id] == job
                        && self.open_at[id] <= now
                        && self.place_block(job, id, domain, now);
                }
            }
        }
        Ok(())
    }

    /// Places the next block of a kernel on an SM, if that has room and admits it.
    fn place_block(&mut self, job: usize, id: usize, domain: &Mutex<Domain<'a, S>>, now: u64) -> bool {
        let Domain::Sm(sm) = &mut *lock(domain) else { return false };
        if sm.free_blocks() == 0 {
            return false;
        }
        sm.sleep_until(now);
        let block = self.states[job].next_block as u32;
        if !sm.admits(block) {
            return false;
        }
        sm.place(block);
        self.known[id] = Known { wake_at: now, sleeps_until: now, is_idle: false };
        self.states[job].next_block += 1;
        self.placed_at = now;
        self.open_at[id] = now + u64::from(self.config.sm.block_interval_cycles);
        true
    }

    /// Next cycle in which an SM with room may get a block, if blocks are left.
    fn next_opening(&self, domains: &Domains<'a, S>, now: u64) -> u64 {
        let left = |(state, job): (&State, &Job<'_, S>)| {
            state.ready_at.is_some_and(|at| at <= now) && state.next_block < job.blocks
        };
        if !self.states.iter().zip(self.jobs).any(left) {
            return u64::MAX;
        }
        let has_room =
            |domain: &Mutex<Domain<'a, S>>| matches!(&*lock(domain), Domain::Sm(sm) if sm.free_blocks() > 0);
        let openings = self.open_at.iter().zip(domains).filter(|(at, domain)| **at > now && has_room(domain));
        openings.map(|(at, _)| *at).min().unwrap_or(u64::MAX)
    }

    /// Switches an SM to another kernel if it is empty and its own kernel has no blocks left.
    fn turn_to(
        &mut self,
        job: usize,
        id: usize,
        domain: &Mutex<Domain<'a, S>>,
        now: u64,
    ) -> Result<(), ReplayError> {
        let held = self.bound[id];
        let left =
            self.states[held].next_block < self.jobs[held].blocks && self.states[held].ready_at.is_some();
        if held == job || left || !self.known[id].is_idle {
            return Ok(());
        }
        let domain = &mut *lock(domain);
        let Domain::Sm(mut sm) = std::mem::replace(domain, Domain::Failed(None)) else { return Ok(()) };
        sm.sleep_until(now);
        let caches = self.take_apart(held, *sm, now)?;
        *domain = Domain::Sm(Box::new(self.sm(id, job, caches, now)));
        self.known[id] = Known::of(domain);
        self.bound[id] = job;
        self.states[held].sms -= 1;
        self.states[job].sms += 1;
        Ok(())
    }

    /// Marks kernels that have ended, and launches the kernels that waited for them. Returns whether blocks
    /// of a launched kernel may be placed at once.
    fn end_jobs(&mut self, now: u64) -> bool {
        let mut busy = vec![false; self.jobs.len()];
        for (domain, job) in self.known.iter().zip(&self.bound) {
            busy[*job] |= !domain.is_idle;
        }
        for (job, state) in self.states.iter_mut().enumerate() {
            let placed =
                state.ready_at.is_some_and(|at| at <= now) && state.next_block == self.jobs[job].blocks;
            state.ended |= placed && !busy[job];
        }
        let mut starts = false;
        for job in 0..self.jobs.len() {
            let after = &self.jobs[job].after;
            if self.states[job].ready_at.is_none() && after.iter().all(|other| self.states[*other].ended) {
                self.states[job].ready_at = Some(now + self.config.launch.latency_cycles);
                self.states[job].outcome.launched_at = now;
                starts |= self.config.launch.latency_cycles == 0;
            }
        }
        starts
    }

    /// Stores an SM's statistics with its kernel, and returns its caches.
    ///
    /// # Errors
    /// A technique's accounts do not balance.
    fn take_apart(&mut self, job: usize, mut sm: Sm<'a, S>, end: u64) -> Result<SmCaches, ReplayError> {
        sm.close_accounts()?;
        let outcome = &mut self.states[job].outcome;
        outcome.stats.merge(&sm.stats);
        outcome.ended_at = outcome.ended_at.max(sm.ended_at());
        if self.options.per_sm {
            outcome.per_sm.resize_with(self.bound.len(), Stats::default);
            outcome.per_sm[sm.id].merge(&sm.stats);
        }
        outcome.recordings.extend(sm.take_recording(end));
        self.samples.extend(sm.take_samples());
        Ok(sm.into_caches())
    }

    /// Ends the run: sums the statistics of all domains, SMs before partitions.
    pub(super) fn close(
        mut self,
        domains: Vec<Mutex<Domain<'a, S>>>,
        now: u64,
    ) -> Result<(GroupOutcome, Vec<SmCaches>, Vec<Partition>), ReplayError> {
        let domains: Vec<_> = domains
            .into_iter()
            .map(|domain| domain.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let ends = domains.iter().filter_map(|domain| match domain {
            Domain::Sm(sm) => Some(sm.ended_at()),
            _ => None,
        });
        let end = ends.chain(self.states.iter().map(|state| state.outcome.ended_at)).max().unwrap_or(now);
        let (mut caches, mut partitions) = (Vec::new(), Vec::new());
        let mut shared = Stats::default();
        for domain in domains {
            match domain {
                Domain::Sm(mut sm) => {
                    sm.sleep_until(now);
                    sm.finish(end);
                    caches.push(self.take_apart(self.bound[sm.id], *sm, end)?);
                }
                Domain::Partition(mut partition) => {
                    self.samples.extend(partition.take_samples());
                    shared.counters.merge(&std::mem::take(&mut partition.stats));
                    partitions.push(*partition);
                }
                // Its error has already ended the run.
                Domain::Failed(_) => {}
            }
        }
        Ok((self.outcome(&shared, end), caches, partitions))
    }

    fn outcome(self, shared: &Stats, end: u64) -> GroupOutcome {
        let launch = self.start - self.launched_at;
        let slots = self.config.gpu.sms * self.config.scheduler.count * self.config.scheduler.issue_width;
        let slots = u64::from(slots);
        let mut jobs: Vec<JobOutcome> = self.states.into_iter().map(|state| state.outcome).collect();
        jobs[0].stats.stalls.add(Stall::Launch, slots * launch);
        if let [only] = &mut jobs[..] {
            only.stats.merge(shared);
        }
        let mut total = Stats::default();
        for job in &mut jobs {
            job.ended_at = job.ended_at.max(job.launched_at);
            job.recordings.sort_by_key(|recording| recording.sm);
            total.merge(&job.stats);
            job.stats.set_cycles(job.ended_at - job.launched_at, launch, self.config);
        }
        if jobs.len() > 1 {
            total.merge(shared);
        }
        let cycles = end - self.launched_at;
        total.set_cycles(cycles, launch, self.config);
        if let [only] = &mut jobs[..] {
            only.stats.set_cycles(cycles, launch, self.config);
        }
        let interval = self.options.view.interval.filter(|_| S::OBSERVED);
        let series =
            interval.map(|interval| Series::of(interval, cycles, launch, slots, self.config, self.samples));
        GroupOutcome { jobs, total, series }
    }
}
