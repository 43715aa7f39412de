//! Progress of the demo: a bar per phase on terminals, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Instant;

/// Bar units of one item of a phase.
const UNITS: u64 = 1000;

/// One phase of the demo, made of items that are processed one after the other.
pub(crate) struct Phase {
    bar: Option<ProgressBar>,
    started: Instant,
    name: &'static str,
    item: Mutex<(u64, String)>,
}

impl Phase {
    /// A phase with a number of items.
    pub(crate) fn start(name: &'static str, items: usize) -> Phase {
        let terminal = std::io::stderr().is_terminal();
        let bar = terminal.then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(items as u64 * UNITS), target);
            let style = ProgressStyle::with_template("{prefix:>9} [{bar:36}] {percent:>3}%  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar.set_prefix(name);
            bar
        });
        Phase { bar, started: Instant::now(), name, item: Mutex::new((0, String::new())) }
    }

    /// Goes on to an item.
    pub(crate) fn item(&self, number: usize, what: &str) {
        if let Ok(mut item) = self.item.lock() {
            *item = (number as u64, what.to_owned());
        }
        self.part(0.0, "");
    }

    /// Shows how much of the item is done, 0 to 1, with a detail; from any thread.
    pub(crate) fn part(&self, done: f64, detail: &str) {
        let (Some(bar), Ok(item)) = (&self.bar, self.item.lock()) else { return };
        bar.set_position(item.0 * UNITS + (done.clamp(0.0, 1.0) * UNITS as f64) as u64);
        bar.set_message(if detail.is_empty() { item.1.clone() } else { format!("{}, {detail}", item.1) });
    }

    /// A permanent line: above the bar on terminals.
    pub(crate) fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => warplab_host::say!("{text}"),
        }
    }

    /// Ends the phase with a line that says how long it took.
    pub(crate) fn end(self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        warplab_host::say!("{:>9}  {text}  ({:.1} s)", self.name, self.started.elapsed().as_secs_f64());
    }
}
