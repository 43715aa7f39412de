//! The arguments that several commands share: the GPU model, the choice of launches, threads.

use super::error::CliError;
use super::unused;
use crate::config::{Loaded, builtin, load};
use crate::replay::Selection;
use clap::Args;

/// The GPU model, and the launches to replay.
#[derive(Args, Debug)]
pub(super) struct ReplayArguments {
    /// A built-in configuration, or a file ending in .toml.
    #[arg(long, default_value = builtin::MODELLED, value_name = "NAME|FILE.toml")]
    pub config: String,
    /// Overrides one value of the configuration; may be repeated.
    #[arg(long, value_name = "PATH.TO.KEY=VALUE")]
    pub set: Vec<String>,
    /// Only launches of kernels whose name has a match of this regular expression.
    #[arg(long, value_name = "REGEX")]
    pub kernels: Option<String>,
    /// Only these launches, numbered from 0 as in `trace info`: 3-10,12 or 20-.
    #[arg(long, value_name = "NUMBERS")]
    pub launches: Option<String>,
    #[command(flatten)]
    threads: Threads,
}

impl ReplayArguments {
    /// The launches.
    pub(super) fn selection(&self) -> Result<Selection, String> {
        Selection::parse(self.kernels.as_deref(), self.launches.as_deref())
    }

    /// Threads to work with.
    pub(super) fn threads(&self) -> usize {
        self.threads.count()
    }
}

/// The words of a list with commas.
pub(super) fn words(list: &str) -> Vec<String> {
    list.split(',').map(|word| word.trim().to_owned()).collect()
}

/// The techniques of a replay.
#[derive(Args, Debug)]
pub(super) struct TechniqueArguments {
    /// Techniques to switch on, separated by commas; `timing list` shows all.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub tech: Vec<String>,
    /// Replays the techniques without limits, as the most that they could gain: `technique.NAME.ideal=true` for each;
    /// `timing list NAME` says what that is.
    #[arg(long, requires = "tech")]
    pub ideal: bool,
}

impl TechniqueArguments {
    /// The configuration for these techniques, with the origin of its values.
    pub(super) fn load(&self, replayed: &ReplayArguments) -> Result<Loaded, CliError> {
        let set = self.overrides(replayed);
        unused::refuse_parameters(&set, &self.tech)?;
        let loaded = load(&replayed.config, &set)?;
        unused::without_effect(&set, &loaded.config).iter().for_each(|why| eprintln!("note: {why}"));
        Ok(loaded)
    }

    /// The overrides of the configuration.
    pub(super) fn overrides(&self, replayed: &ReplayArguments) -> Vec<String> {
        let ideal =
            self.tech.iter().filter(|_| self.ideal).map(|name| format!("technique.{name}.ideal=true"));
        replayed.set.iter().cloned().chain(ideal).collect()
    }

    /// The words that name them.
    pub(super) fn words(&self) -> String {
        self.tech.join(",") + if self.ideal { " (ideal)" } else { "" }
    }
}

/// Number of worker threads.
#[derive(Args, Debug)]
pub(super) struct Threads {
    /// Threads; the result does not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Threads {
    /// The requested number, or one per processor; fewer if the address space is limited.
    pub(super) fn count(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        warplab_host::limits::threads(self.threads.map_or_else(processors, usize::from))
    }
}
