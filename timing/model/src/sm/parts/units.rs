//! Availability of execution units.

use crate::config::{GpuConfig, UNIT_NAMES};
use crate::stats::Counters;
use trace_format::isa::Unit;

/// Position of the control class in the list of unit classes.
pub(crate) const CONTROL: usize = Unit::Control as usize;

/// One class of units.
#[derive(Clone, Debug)]
struct Class {
    free_at: Vec<u64>,
    /// Units that one scheduler may use; all units if the class is not split.
    per_scheduler: usize,
    split: bool,
}

impl Class {
    fn range(&self, scheduler: usize) -> std::ops::Range<usize> {
        if self.split {
            scheduler * self.per_scheduler..(scheduler + 1) * self.per_scheduler
        } else {
            0..self.free_at.len()
        }
    }
}

/// Units of an SM by class.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    classes: Vec<Class>,
    schedulers: usize,
    /// Scheduler of each warp slot.
    scheduler_of: [u8; 64],
}

impl Units {
    /// The units of a configuration. If banks are split among schedulers, classes are split too if their
    /// count allows it; control units are always split.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig) -> Units {
        let schedulers = config.scheduler.count as usize;
        let class = |(index, name): (usize, &&str)| {
            let count = config.units[*name].count as usize;
            let split = (config.register_file.sub_core || index == CONTROL)
                && count > 0
                && count.is_multiple_of(schedulers);
            Class {
                free_at: vec![0; count],
                per_scheduler: if split { count / schedulers } else { count },
                split,
            }
        };
        Units {
            classes: UNIT_NAMES.iter().enumerate().map(class).collect(),
            schedulers,
            scheduler_of: std::array::from_fn(|warp| (warp % schedulers) as u8),
        }
    }

    /// Busy units and their end cycles, for the watchdog's report.
    pub(crate) fn describe(&self, now: u64) -> String {
        let busy = |(name, class): (&&str, &Class)| {
            let taken: Vec<String> =
                class.free_at.iter().filter(|at| **at > now).map(ToString::to_string).collect();
            (!taken.is_empty()).then(|| format!("{name} until {}", taken.join(", ")))
        };
        let busy: Vec<String> = UNIT_NAMES.iter().zip(&self.classes).filter_map(busy).collect();
        format!("  units: {}\n", if busy.is_empty() { "all free".to_owned() } else { busy.join("; ") })
    }

    /// Takes a free unit of a class for some cycles.
    #[inline]
    pub(crate) fn take(&mut self, class: usize, warp: usize, now: u64, cycles: u64) -> bool {
        let scheduler = usize::from(self.scheduler_of[warp & 63]);
        let class = &mut self.classes[class];
        let range = class.range(scheduler);
        match class.free_at[range].iter_mut().find(|free_at| **free_at <= now) {
            Some(free_at) => {
                *free_at = now + cycles;
                true
            }
            None => false,
        }
    }

    /// Cycle from which a unit of a class is free for a warp.
    #[inline]
    pub(crate) fn free_at(&self, class: usize, warp: usize) -> u64 {
        let class = &self.classes[class];
        let range = class.range(usize::from(self.scheduler_of[warp & 63]));
        class.free_at[range].iter().copied().min().unwrap_or(u64::MAX)
    }

    /// Whether a scheduler finds a control unit free.
    #[inline]
    pub(crate) fn control_free(&self, scheduler: usize, now: u64) -> bool {
        let class = &self.classes[CONTROL];
        class.free_at[class.range(scheduler)].iter().any(|free_at| *free_at <= now)
    }

    /// Next cycle at which a control unit becomes free for one of the schedulers in a mask.
    pub(crate) fn next_control_free(&self, schedulers: u32, now: u64) -> Option<u64> {
        let class = &self.classes[CONTROL];
        (0..self.schedulers)
            .filter(|scheduler| schedulers >> scheduler & 1 != 0)
            .flat_map(|scheduler| class.free_at[class.range(scheduler)].iter().copied())
            .filter(|free_at| *free_at > now)
            .min()
    }
}

/// Counts an executed instruction, and the lanes in which it computes, under its class.
#[inline]
pub(crate) fn count(counters: &mut Counters, class: u8, lanes: u32) {
    let unit = Unit::ALL[usize::from(class)];
    *counters.of_unit_mut(unit) += 1;
    counters.count_lanes(unit, lanes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::config;

    const FP32: usize = 1;

    #[test]
    fn a_unit_is_taken_for_its_initiation_cycles() {
        let mut units = Units::new(&config("gtx480", &["units.fp32.count=1", "scheduler.count=1"]));
        assert!(units.take(FP32, 0, 10, 2));
        assert!(!units.take(FP32, 1, 11, 1));
        assert!(units.take(FP32, 1, 12, 1));
    }

    #[test]
    fn units_of_sub_cores_serve_their_own_scheduler() {
        let set = ["units.fp32.count=2", "scheduler.count=2", "register_file.sub_core=true"];
        let mut units = Units::new(&config("gtx480", &set));
        assert!(units.take(FP32, 0, 0, 5));
        assert!(!units.take(FP32, 2, 0, 5), "warps 0 and 2 are of one scheduler");
        assert!(units.take(FP32, 1, 0, 5));
        let shared = ["units.fp32.count=2", "scheduler.count=2", "register_file.sub_core=false"];
        let mut units = Units::new(&config("gtx480", &shared));
        assert!(units.take(FP32, 0, 0, 5) && units.take(FP32, 2, 0, 5));
        assert!(!units.take(FP32, 1, 0, 5));
    }

    #[test]
    fn the_next_free_control_unit_is_known() {
        let mut units = Units::new(&config("gtx480", &["units.control.count=2", "scheduler.count=2"]));
        assert!(units.control_free(0, 0));
        assert!(units.take(CONTROL, 0, 0, 4));
        assert!(!units.control_free(0, 3) && units.control_free(1, 3) && units.control_free(0, 4));
        assert_eq!(units.next_control_free(0b01, 1), Some(4));
        assert_eq!(units.next_control_free(0b10, 1), None);
    }
}
