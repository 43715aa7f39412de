//! What the programs share that try one random input after another: for how long, from which seed on, and where
//! inputs go that fail.

use clap::{Args, Parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Which inputs are tried.
#[derive(Args, Clone, Copy, Debug)]
pub struct Span {
    /// Ends after so long.
    #[arg(long, default_value = "1", value_parser = minutes)]
    minutes: Duration,
    /// Number of the first input, from which it is made.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Ends after so many inputs.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

impl Span {
    /// The inputs' numbers, until the time is over.
    pub fn seeds(&self) -> impl Iterator<Item = u64> {
        let (start, minutes) = (Instant::now(), self.minutes);
        let count = self.count.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        (self.seed..=u64::MAX).take(count).take_while(move |_| start.elapsed() <= minutes)
    }
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| "a number is wanted, such as 0.5 or 60")?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|why| why.to_string())
}

/// Measures processor time: the cost of an input, independent of other load.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    /// Who is measured.
    of: Of,
    /// Processor time used before; `None` if the system does not report it.
    used: Option<Duration>,
    start: Instant,
}

/// Whose processor time is measured.
#[derive(Clone, Copy, Debug)]
enum Of {
    Process,
    Thread,
}

impl Stopwatch {
    /// Starts measuring this process, to a hundredth of a second.
    #[must_use]
    pub fn start() -> Stopwatch {
        Stopwatch { of: Of::Process, used: Of::Process.processor_time(), start: Instant::now() }
    }

    /// Starts measuring the calling thread, since other tests may run beside it; only this thread may read
    /// the time.
    #[must_use]
    pub fn of_thread() -> Stopwatch {
        Stopwatch { of: Of::Thread, used: Of::Thread.processor_time(), start: Instant::now() }
    }

    /// Processor time since the start; elapsed time if the system does not report it.
    #[must_use]
    pub fn processor_time(&self) -> Duration {
        let since = self.used.zip(self.of.processor_time()).map(|(before, now)| now.saturating_sub(before));
        since.unwrap_or_else(|| self.start.elapsed())
    }
}

impl Of {
    /// Processor time used so far.
    fn processor_time(self) -> Option<Duration> {
        match self {
            Of::Process => ticks("/proc/self/stat"),
            // Nanoseconds, where the system keeps them.
            Of::Thread => {
                let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
                let used = text.and_then(|text| text.split_whitespace().next()?.parse().ok());
                used.filter(|&used| used > 0)
                    .map(Duration::from_nanos)
                    .or_else(|| ticks("/proc/thread-self/stat"))
            }
        }
    }
}

/// User and system time in a `stat` file.
fn ticks(stat: &str) -> Option<Duration> {
    // What Linux reports in, on every architecture.
    const TICKS_PER_SECOND: u64 = 100;
    let stat = std::fs::read_to_string(stat).ok()?;
    // The name, which may hold anything, ends with the last parenthesis; user and system time are fields 14, 15.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// The options of a program, or the code that it ends with.
///
/// # Errors
/// Success if help was requested, failure if options are wrong.
pub fn options<T: Parser>() -> Result<T, ExitCode> {
    T::try_parse().map_err(|error| {
        let failed = error.use_stderr();
        // There is no way to report that the message itself cannot be printed.
        drop(error.print());
        ExitCode::from(u8::from(failed))
    })
}

/// Writes an input into a folder, which is created if needed; prints an error if that fails.
pub fn keep(folder: &Path, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, contents)) {
        eprintln!("error: cannot write {}: {error}", path.display());
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(seed: u64, count: Option<u64>, minutes: &str) -> Vec<u64> {
        Span { minutes: super::minutes(minutes).unwrap(), seed, count }.seeds().collect()
    }

    #[test]
    fn inputs_are_numbered_from_the_seed_and_end_with_the_count_the_numbers_or_the_time() {
        assert_eq!(span(7, Some(3), "1"), [7, 8, 9]);
        assert_eq!(span(u64::MAX - 1, Some(9), "1"), [u64::MAX - 1, u64::MAX]);
        assert!(span(1, None, "0.00001").len() > 1);
        for nonsense in ["", "-1", "NaN", "1e300", "soon"] {
            assert!(minutes(nonsense).is_err(), "{nonsense}");
        }
    }
}
