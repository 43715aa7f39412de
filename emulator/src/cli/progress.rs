//! The progress bar: only on terminals, only when it takes longer than two seconds.

use crate::exec::{Observer, Stats, Tolerated};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time before a bar appears.
const PATIENCE: Duration = Duration::from_secs(2);

/// A progress bar over the blocks of all launches.
#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
    /// Blocks and warp instructions of finished launches.
    blocks: AtomicU64,
    instructions: AtomicU64,
    /// Whether standard output holds only results, so that output of device code goes to standard error.
    results_are_data: bool,
    /// Loads out of bounds that were tolerated.
    tolerated: Mutex<Vec<Tolerated>>,
}

impl Bar {
    /// A bar for a number of launches and blocks. Output of device code goes to standard output, or to
    /// standard error if standard output holds data.
    #[must_use]
    pub(super) fn new((launches, blocks): (u64, u64), results_are_data: bool) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(blocks), ProgressDrawTarget::hidden());
        let what = if launches == 1 { "1 launch".to_string() } else { format!("{launches} launches") };
        if let Ok(style) =
            ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} blocks, {msg}, {eta} left")
        {
            bar.set_style(style);
        }
        bar.set_prefix(what);
        Bar {
            bar,
            started: Instant::now(),
            shown: AtomicBool::new(!std::io::stderr().is_terminal()),
            blocks: AtomicU64::new(0),
            instructions: AtomicU64::new(0),
            results_are_data,
            tolerated: Mutex::default(),
        }
    }

    /// Removes the bar from the screen, and warns of tolerated loads out of bounds.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
        for loads in self.tolerated.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            warplab_host::say!("warning: {loads}");
        }
    }
}

impl Observer for Bar {
    fn tolerated(&self, loads: &[Tolerated]) {
        let mut all = self.tolerated.lock().unwrap_or_else(PoisonError::into_inner);
        Tolerated::merge(&mut all, loads);
    }

    fn printed(&self, text: &[u8]) {
        // The reader may have closed the pipe.
        let _ = self.bar.suspend(|| {
            if self.results_are_data {
                std::io::stderr().write_all(text)
            } else {
                std::io::stdout().write_all(text)
            }
        });
    }

    fn progress(&self, stats: &Stats) {
        let elapsed = self.started.elapsed();
        if elapsed < PATIENCE {
            return;
        }
        if !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let instructions = self.instructions.load(Ordering::Relaxed) + stats.warp_instructions;
        let rate = instructions as f64 / elapsed.as_secs_f64() / 1e6;
        self.bar.set_message(format!("{rate:.1} M warp instructions/s"));
        self.bar.set_position(self.blocks.load(Ordering::Relaxed) + stats.blocks);
    }

    fn finished(&self, stats: &Stats) {
        self.blocks.fetch_add(stats.blocks, Ordering::Relaxed);
        self.instructions.fetch_add(stats.warp_instructions, Ordering::Relaxed);
        self.progress(&Stats::default());
    }
}
