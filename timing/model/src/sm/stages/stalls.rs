//! Attribution of empty issue slots: each component names the cause for which it refuses warps, and the order
//! in which components are asked is the policy.

use crate::sm::Sm;
use crate::source::LaunchSource;
use crate::stats::Stall;

impl<S: LaunchSource> Sm<'_, S> {
    /// Cause of a scheduler's empty slot.
    pub(in crate::sm) fn stall_cause(&self, scheduler: usize) -> Stall {
        let own = self.of_scheduler[scheduler] & self.residents.resident();
        if own == 0 { Stall::NoWarp } else { self.cause_among(scheduler, own) }
    }

    /// The policy: the cause of the warp that is closest to issue counts, because that warp would issue if
    /// this cause alone were removed. So the stages are asked from the back of the pipeline to its front;
    /// warps that wait for other warps of their block or for memory come last.
    pub(in crate::sm) fn cause_among(&self, scheduler: usize, warps: u64) -> Stall {
        let ready = self.ready() & warps;
        if ready != 0 {
            return self.cause_of_ready(scheduler, ready);
        }
        let live = self.residents.live() & warps;
        let running = live & !self.waiting_for_others();
        self.scoreboard
            .refuses(running)
            .or_else(|| self.dependences.refuses(running))
            .or_else(|| self.front.refuses_at_branch(live))
            .or_else(|| self.front.refuses(running))
            .or_else(|| self.barriers.refuses(live))
            .or_else(|| self.load_store.refuses(live))
            .unwrap_or(Stall::Drain)
    }

    /// Cause of ready warps that do not issue: outside the active set, stalled by a technique, no collector,
    /// or no control unit.
    fn cause_of_ready(&self, scheduler: usize, ready: u64) -> Stall {
        let active = ready & self.schedulers[scheduler].eligible();
        if active == 0 {
            return if ready & self.held != 0 { Stall::Technique } else { Stall::Inactive };
        }
        for (class, warps) in self.front.collector_classes().into_iter().enumerate() {
            let waiting = active & warps;
            if waiting != 0 {
                return self.reads.refuses(waiting.trailing_zeros() as usize, scheduler, class);
            }
        }
        Stall::UnitBusy
    }

    /// The technique that stalls one of `warps`, and its cause: at issue, else at fetch.
    pub(in crate::sm) fn holder_among(&self, warps: u64) -> Option<(u8, u8)> {
        let at_issue = self.ready() & self.held & warps;
        if at_issue != 0 {
            return Some(self.held_by[at_issue.trailing_zeros() as usize]);
        }
        let at_fetch = self.front.held() & warps;
        (at_fetch != 0).then(|| self.front.held_by(at_fetch.trailing_zeros() as usize))
    }

    /// Attributes slots of a scheduler, from `first` on, in each of `cycles` cycles.
    pub(in crate::sm) fn count_slots(
        &mut self,
        scheduler: usize,
        first: usize,
        slots: u64,
        cause: Stall,
        cycles: u64,
    ) {
        self.stats.stalls.add(cause, slots * cycles);
        self.record(|recorder, now| recorder.slots(scheduler, first, slots, cause, now, cycles));
    }

    /// Attributes slots to the technique that stalled a warp, and to its cause.
    pub(in crate::sm) fn count_held(&mut self, holder: Option<(u8, u8)>, slots: u64) {
        if let Some((by, cause)) = holder {
            self.techniques.stalled(by, cause, slots);
            self.record(|recorder, _| recorder.held(Some((by, cause))));
        }
    }
}
