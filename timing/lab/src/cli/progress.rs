//! A progress bar on stderr for work that takes longer than two seconds, on terminals only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the rest takes if it goes on as before; nothing as long as nothing is done.
pub(super) fn time_left(done: usize, left: usize, elapsed: Duration) -> String {
    if done == 0 {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() / done as f64 * left as f64;
    if seconds < 90.0 {
        format!(", about {seconds:.0} s left")
    } else {
        format!(", about {:.0} min left", seconds / 60.0)
    }
}

/// A progress bar that appears only if the work takes long.
pub(super) struct LateBar {
    started: Instant,
    label: String,
    bar: OnceLock<ProgressBar>,
    terminal: bool,
}

impl LateBar {
    /// A bar that counts to `length`.
    pub(super) fn new(label: impl Into<String>) -> LateBar {
        LateBar {
            started: Instant::now(),
            label: label.into(),
            bar: OnceLock::new(),
            terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Shows the progress.
    pub(super) fn update(&self, done: u64, of: u64, detail: &str) {
        if !self.terminal || (self.bar.get().is_none() && self.started.elapsed() < PATIENCE) {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(of), ProgressDrawTarget::stderr_with_hz(5));
            let style = ProgressStyle::with_template("{prefix} [{bar:30}] {percent:>3}% {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(self.label.clone());
            bar
        });
        bar.set_length(of);
        bar.set_position(done);
        bar.set_message(detail.to_owned());
    }
}

impl Drop for LateBar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// What is said where finished runs are kept.
pub(super) const GOES_ON: &str = "finished runs are kept, and the same command goes on from there";

/// Says what becomes of unfinished work when the user ends it (Ctrl-C): `kept` is a sentence. The exit code is then that of
/// a program that SIGINT has ended.
pub(super) fn on_interrupt(kept: &'static str) {
    use signal_hook::consts::SIGINT;
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // Without the handler, SIGINT ends the program without a word.
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT]) else { return };
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                warplab_host::say!("\ninterrupted: {kept}");
                std::process::exit(128 + SIGINT);
            }
        });
    });
}
