//! Domains, which the engine runs in parallel, and the exchange of packets between two epochs.

use crate::config::GpuConfig;
use crate::error::ReplayError;
use crate::memory::partition::Partition;
use crate::memory::{Credit, Reply};
use crate::sm::Sm;
use crate::source::LaunchSource;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The domains of the GPU, SMs before partitions.
pub(super) type Domains<'a, S> = [Mutex<Domain<'a, S>>];

/// Access to a domain, which no thread runs.
pub(super) fn lock<'d, 'a, S: LaunchSource>(
    domain: &'d Mutex<Domain<'a, S>>,
) -> MutexGuard<'d, Domain<'a, S>> {
    domain.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Part of the GPU that runs independently within an epoch: an SM or a memory partition.
pub(super) enum Domain<'a, S: LaunchSource> {
    Sm(Box<Sm<'a, S>>),
    Partition(Box<Partition>),
    /// An SM that has failed, with its error.
    Failed(Option<ReplayError>),
}

impl<S: LaunchSource> Domain<'_, S> {
    /// Runs an epoch.
    pub(super) fn run(&mut self, begin: u64, end: u64) {
        match self {
            Domain::Sm(sm) => {
                sm.sleep_until(begin);
                if let Err(error) = sm.run(end) {
                    *self = Domain::Failed(Some(error));
                }
            }
            Domain::Partition(partition) => partition.run(end),
            Domain::Failed(_) => {}
        }
    }

    pub(super) fn take_error(&mut self) -> Option<ReplayError> {
        match self {
            Domain::Failed(error) => error.take(),
            _ => None,
        }
    }

    /// Whether the domain has nothing left to do for the kernel.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Domain::Sm(sm) => sm.is_idle(),
            Domain::Partition(_) | Domain::Failed(_) => true,
        }
    }

    /// Earliest cycle in which something can happen or work is blocked, from a stored value.
    pub(super) fn wake_at(&self) -> u64 {
        match self {
            Domain::Sm(sm) => sm.wake_at(),
            Domain::Partition(partition) => partition.wake_at(),
            Domain::Failed(_) => u64::MAX,
        }
    }

    /// Cycle before which nothing can happen, if no packet and no block comes.
    pub(super) fn sleeps_until(&self) -> u64 {
        match self {
            Domain::Sm(sm) => sm.sleeps_until(),
            Domain::Partition(partition) => partition.sleeps_until(),
            Domain::Failed(_) => u64::MAX,
        }
    }

    /// Makes up for the cycles before `cycle` that the domain slept through.
    pub(super) fn sleep_until(&mut self, cycle: u64) {
        // A partition counts nothing while it sleeps.
        if let Domain::Sm(sm) = self {
            sm.sleep_until(cycle);
        }
    }

    pub(super) fn last_issue(&self) -> Option<u64> {
        match self {
            Domain::Sm(sm) => Some(sm.last_issue()),
            _ => None,
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Domain::Sm(sm) if sm.is_idle() => String::new(),
            Domain::Sm(sm) => sm.describe(),
            Domain::Partition(partition) if partition.is_idle() => String::new(),
            Domain::Partition(partition) => partition.describe(),
            Domain::Failed(_) => String::new(),
        }
    }
}

/// Moves packets between domains; buffers are reused across epochs.
pub(super) struct Exchange {
    sms: usize,
    slices_per_channel: usize,
    epoch: u64,
    replies: Vec<Vec<Reply>>,
    credits: Vec<Vec<Credit>>,
    #[cfg(test)]
    lose_replies_from: Option<u64>,
}

impl Exchange {
    pub(super) fn new(config: &GpuConfig) -> Exchange {
        let net = &config.interconnect;
        let sms = config.gpu.sms as usize;
        Exchange {
            sms,
            slices_per_channel: config.l2.slices_per_channel as usize,
            epoch: u64::from(net.request_latency_cycles.min(net.reply_latency_cycles)),
            replies: vec![Vec::new(); sms],
            credits: vec![Vec::new(); sms],
            #[cfg(test)]
            lose_replies_from: None,
        }
    }

    /// Loses replies from this cycle on, for tests of the watchdog.
    #[cfg(test)]
    pub(super) fn losing_from(self, lose_replies_from: Option<u64>) -> Exchange {
        Exchange { lose_replies_from, ..self }
    }

    /// Length of an epoch: a packet sent in an epoch arrives after its end.
    pub(super) fn epoch_cycles(&self) -> u64 {
        self.epoch
    }

    /// Delivers the packets of the domains that ran, in order of the senders' numbers, and adds the receivers to `received`.
    pub(super) fn deliver<S: LaunchSource>(
        &mut self,
        domains: &Domains<'_, S>,
        ran: &[usize],
        received: &mut Vec<usize>,
    ) {
        for sender in ran {
            match &mut *lock(&domains[*sender]) {
                Domain::Sm(sm) => {
                    for slice in sm.sent_to.drain(..) {
                        let index = self.sms + usize::from(slice) / self.slices_per_channel;
                        if let Domain::Partition(partition) = &mut *lock(&domains[index]) {
                            let packets = &mut sm.outbox[usize::from(slice)];
                            partition.deliver(usize::from(slice) % self.slices_per_channel, packets);
                            received.push(index);
                        }
                    }
                }
                Domain::Partition(partition) => {
                    #[cfg(test)]
                    if let Some(from) = self.lose_replies_from {
                        partition.replies.retain(|reply| reply.arrival < from);
                    }
                    for reply in partition.replies.drain(..) {
                        self.replies[usize::from(reply.sm)].push(reply);
                    }
                    for credit in partition.credits.drain(..) {
                        self.credits[usize::from(credit.sm)].push(credit);
                    }
                }
                Domain::Failed(_) => {}
            }
        }
        for (index, (replies, credits)) in self.replies.iter_mut().zip(&mut self.credits).enumerate() {
            if (!replies.is_empty() || !credits.is_empty())
                && let Domain::Sm(sm) = &mut *lock(&domains[index])
            {
                sm.deliver(replies, credits);
                received.push(index);
            }
        }
    }
}
