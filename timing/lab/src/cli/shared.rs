//! The arguments that several commands share: the GPU model, the choice of launches, threads.

use super::error::CliError;
use crate::config::{Loaded, builtin, load};
use crate::named::NamedMachine;
use crate::overrides;
use crate::replay::Selection;
use crate::sweep::Plan;
use crate::techniques::Catalogue;
use clap::Args;

/// The GPU model, and the launches to replay.
#[derive(Args, Debug)]
pub(super) struct ReplayArguments {
    /// A built-in configuration, or a file ending in .toml.
    #[arg(long, default_value = builtin::MODELLED, value_name = "NAME|FILE.toml")]
    pub config: String,
    #[command(flatten)]
    pub values: Values,
    /// Only launches of kernels whose name has a match of this regular expression.
    #[arg(long, value_name = "REGEX")]
    pub kernels: Option<String>,
    /// Only these launches, numbered from 0 as in `trace info`: 3-10,12 or 20-.
    #[arg(long, value_name = "NUMBERS")]
    pub launches: Option<String>,
    #[command(flatten)]
    threads: Threads,
}

/// Changes of a configuration.
#[derive(Args, Debug)]
pub(super) struct Values {
    /// Overrides one value of the configuration; may be repeated.
    #[arg(long, value_name = "PATH.TO.KEY=VALUE")]
    set: Vec<String>,
    /// Sets a clock, such as core=1.132GHz: of core, interconnect, l2 or dram. Interconnect and L2 follow the core, DRAM
    /// and the time of a launch stay; may be repeated. Short for `--set clock.core=1.132GHz`, before all of --set.
    #[arg(long, value_name = "CLOCK=FREQUENCY")]
    clock: Vec<String>,
}

impl ReplayArguments {
    /// The overrides of the configuration.
    pub(super) fn set(&self) -> Vec<String> {
        let clocks = self.values.clock.iter().map(|clock| format!("clock.{clock}"));
        clocks.chain(self.values.set.iter().cloned()).collect()
    }

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
    /// Techniques to switch on, such as bow,corf; may be repeated for further replays. `timing list` shows all.
    #[arg(long, value_name = "A,B")]
    pub tech: Vec<String>,
    /// Replays the techniques without limits, as the most that they could gain: `technique.NAME.ideal=true` for each;
    /// `timing list NAME` says what that is.
    #[arg(long, requires = "tech")]
    pub ideal: bool,
}

impl TechniqueArguments {
    /// The lists of techniques.
    pub(super) fn lists(&self) -> Vec<Vec<String>> {
        self.tech.iter().map(|list| words(list)).collect()
    }

    /// The techniques of the only list, for commands that replay once.
    pub(super) fn only(&self) -> Result<Vec<String>, CliError> {
        match &self.tech[..] {
            [] => Ok(Vec::new()),
            [list] => Ok(words(list)),
            [first, second, ..] => Err(CliError(format!(
                "--tech {first} --tech {second} are two replays, and this command explains one; for both techniques \
                 together write --tech {first},{second}"
            ))),
        }
    }

    /// The configuration for these techniques, with the origin of its values.
    pub(super) fn load(&self, replayed: &ReplayArguments, catalogue: &Catalogue) -> Result<Loaded, CliError> {
        let set = self.overrides(replayed);
        overrides::refuse_parameters(&set, &self.lists().concat(), catalogue)?;
        let loaded = load(&replayed.config, &set)?;
        overrides::refuse_unused(&set, &loaded.config)?;
        overrides::partly_used(&set, &loaded.config).iter().for_each(|why| warplab_host::say!("note: {why}"));
        Ok(loaded)
    }

    /// The overrides of the configuration.
    pub(super) fn overrides(&self, replayed: &ReplayArguments) -> Vec<String> {
        let mut named = if self.ideal { self.lists().concat() } else { Vec::new() };
        named.sort();
        named.dedup();
        let ideal = named.iter().map(|name| format!("technique.{name}.ideal=true"));
        replayed.set().into_iter().chain(ideal).collect()
    }

    /// The words that name a list of techniques.
    pub(super) fn words(&self, list: &[String]) -> String {
        list.join(",") + if self.ideal { " (ideal)" } else { "" }
    }
}

/// Machines by name.
#[derive(Args, Debug)]
pub(super) struct MachineArguments {
    /// A machine to replay on as well: a configuration, techniques and key=value, separated by commas, after a name and a
    /// colon if it is to have one; may be repeated. Without a configuration it is the one of --config and --set.
    #[arg(long, value_name = "NAME: A, B, KEY=VALUE")]
    machine: Vec<String>,
}

impl MachineArguments {
    /// Whether none is named.
    pub(super) fn is_empty(&self) -> bool {
        self.machine.is_empty()
    }

    /// The machines.
    ///
    /// # Errors
    /// One that is none, or that has a parameter of a technique without the technique.
    pub(super) fn read(
        &self,
        replayed: &ReplayArguments,
        catalogue: &Catalogue,
    ) -> Result<Vec<NamedMachine>, CliError> {
        let read = |text: &String| {
            let machine = NamedMachine::parse(text, &replayed.config, &[], catalogue)?;
            overrides::refuse_parameters(&machine.set, &machine.tech, catalogue)
                .map_err(|why| CliError(format!("--machine \"{text}\": {why}")))?;
            // Values of --set belong to the machine of --config.
            let set = if machine.config == replayed.config { replayed.set() } else { Vec::new() };
            Ok(NamedMachine { set: [set, machine.set].concat(), ..machine })
        };
        self.machine.iter().map(read).collect()
    }
}

/// What to do about combinations that a machine refuses.
#[derive(Args, Debug)]
pub(super) struct RefusedArguments {
    /// Leaves out combinations that a machine refuses, and runs the others; without it nothing runs if one is refused.
    #[arg(long)]
    skip_refused: bool,
}

impl RefusedArguments {
    /// Checks every combination of a plan before the first run.
    ///
    /// # Errors
    /// Some are refused, and they are not to be left out.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), CliError> {
        /// Reasons that are shown.
        const SHOWN: usize = 10;
        let refused = plan.refused();
        if refused.is_empty() || self.skip_refused {
            return Ok(());
        }
        let mut text = format!(
            "nothing was run: {} of {} combinations are refused; correct them, or leave them out with --skip-refused",
            refused.len(),
            plan.points.len().max(refused.len())
        );
        refused.iter().take(SHOWN).for_each(|why| text += &format!("\n  {why}"));
        if refused.len() > SHOWN {
            text += &format!("\n  … and {} more (--skip-refused --dry-run shows all)", refused.len() - SHOWN);
        }
        Err(CliError(text))
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
