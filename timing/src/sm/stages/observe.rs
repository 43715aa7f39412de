//! Recording and sampling for views, compiled out for sources that are not observed.
//!
//! Stages report events through [`Sm::record`]; for a source that is not observed the call is empty.

use crate::observe::record::{Recorder, Recording, ViewOptions};
use crate::sm::Sm;
use crate::source::LaunchSource;
use crate::stats::{Counters, Sample, Sampler, Stall};

impl<S: LaunchSource> Sm<'_, S> {
    /// Starts recording: this SM's launch latency began at `launched_at`, and sampling intervals begin at
    /// `samples_from`.
    pub(crate) fn observe(&mut self, options: &ViewOptions, launched_at: u64, samples_from: u64) {
        let width = self.machine.config.scheduler.issue_width;
        self.observer.sampler = options.interval.map(|interval| Sampler::new(samples_from, interval));
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
