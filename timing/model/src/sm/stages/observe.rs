//! Recording and sampling for views, compiled out for sources that are not observed.
//!
//! Stages report events through [`Sm::record`]; for a source that is not observed the call is empty.

use crate::observe::record::{Recorder, Recording, ViewOptions, Wait};
use crate::sm::Sm;
use crate::sm::parts::WarpSet;
use crate::source::LaunchSource;
use crate::stats::{Counters, Sample, Sampler, Stall};

impl<S: LaunchSource> Sm<'_, S> {
    /// Starts recording: this SM's launch latency began at `launched_at`, and sampling intervals begin at
    /// `samples_from`.
    pub(crate) fn observe(&mut self, options: &ViewOptions, launched_at: u64, samples_from: u64) {
        let width = self.machine.config.scheduler.issue_width;
        self.observer.sampler = options.sampler(samples_from);
        if options.window.is_some() && options.sms.contains(&self.id) {
            let schedulers = self.schedulers.len();
            let mut recorder = Recorder::new(self.id, options, schedulers, width as usize);
            let latency = self.now - launched_at;
            for scheduler in (0..schedulers).filter(|_| latency > 0) {
                recorder.slots(scheduler, 0, u64::from(width), Stall::Launch, launched_at, latency);
            }
            self.observer.recorder = Some(Box::new(recorder));
        }
    }

    /// Passes an event of this cycle to the recorder.
    #[inline(always)]
    pub(in crate::sm) fn record(&mut self, what: impl FnOnce(&mut Recorder, u64)) {
        if S::OBSERVED
            && let Some(recorder) = &mut self.observer.recorder
        {
            what(recorder, self.now);
        }
    }

    /// Takes the samples that are due.
    #[inline(always)]
    pub(in crate::sm) fn take_sample(&mut self) {
        if S::OBSERVED
            && let Some(sampler) = &mut self.observer.sampler
        {
            let (stats, techniques) = (&self.stats, &self.techniques);
            sampler.sample(self.now, || Sample {
                counters: Counters {
                    rf_powered_register_cycles: techniques.powered_register_cycles(),
                    ..stats.counters.clone()
                },
                stalls: stats.stalls.clone(),
                techniques: techniques.columns(),
            });
        }
    }

    /// The earlier of `cycle` and the cycle of the next sample.
    #[inline(always)]
    pub(in crate::sm) fn before_sample(&self, cycle: u64) -> u64 {
        match &self.observer.sampler {
            Some(sampler) if S::OBSERVED => cycle.min(sampler.due()),
            _ => cycle,
        }
    }

    /// Records for what each warp waits that has not issued in this cycle, for this and the following `cycles - 1`.
    #[inline(always)]
    pub(in crate::sm) fn observe_waits(&mut self, cycles: u64) {
        if S::OBSERVED && self.observer.recorder.as_ref().is_some_and(|recorder| recorder.records_waits()) {
            self.record_waits(cycles);
        }
    }

    #[inline(never)]
    fn record_waits(&mut self, cycles: u64) {
        let Some(recorder) = self.observer.recorder.take() else { return };
        let mut recorder = recorder;
        let (issued, stalled) = recorder.issued_and_stalled(self.now);
        for scheduler in 0..self.schedulers.len() {
            let own = self.of_scheduler[scheduler] & self.residents.live() & !issued;
            for warp in WarpSet(own) {
                let wait = self.wait_of(scheduler, warp, stalled);
                recorder.waits(warp, wait, self.now, cycles);
            }
        }
        self.observer.recorder = Some(recorder);
    }

    /// What one warp waits for after the issue stage, by the policy that attributes slots.
    fn wait_of(&self, scheduler: usize, warp: usize, stalled: u64) -> Wait {
        let bit = 1u64 << warp;
        if self.ready() & bit != 0 {
            if (stalled | self.asleep) & bit != 0 {
                let (by, cause) = self.held_by[warp];
                return Wait::Held(by, cause);
            }
            if self.candidates(scheduler) & bit != 0 {
                return Wait::NotSelected;
            }
        }
        match self.cause_among(scheduler, bit) {
            Stall::Technique => self
                .holder_among(bit)
                .map_or(Wait::Cause(Stall::Technique), |(by, cause)| Wait::Held(by, cause)),
            cause => Wait::Cause(cause),
        }
    }

    /// Records which warps wait at barriers after this cycle.
    #[inline(always)]
    pub(in crate::sm) fn observe_barriers(&mut self) {
        let waiting = self.barriers.held();
        self.record(|recorder, now| recorder.barriers(waiting, now));
    }

    /// The recording, after the statistics have been completed at the kernel's end.
    pub(crate) fn take_recording(&mut self, end: u64) -> Option<Recording> {
        let now = self.now;
        self.observer.recorder.take().map(|recorder| recorder.finish(now, end))
    }

    /// The samples, with the sums at the kernel's end.
    pub(crate) fn take_samples(&mut self) -> Option<(Sampler, Sample)> {
        self.observer.sampler.take().map(|sampler| (sampler, Sample::from(&self.stats)))
    }
}
