//! What replays are called with: the machine with its overrides, and techniques by name or as Python classes.

use crate::error::error;
use crate::technique;
use crate::watch::Raised;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use timing::config::{Loaded, load};
use timing::overrides;
use timing::stats::EnergyTable;
use timing::techniques::Technique;

/// The techniques of a replay as they were named.
#[derive(Default)]
pub(crate) struct Techniques {
    /// Words for the catalogue.
    pub words: Vec<String>,
    /// Techniques that are Python objects.
    pub objects: Vec<Py<PyAny>>,
}

impl Techniques {
    /// Reads `tech=`: a word or several with commas, a technique of one's own, or a list of these.
    ///
    /// # Errors
    /// `TypeError` for anything else.
    pub(crate) fn read(tech: Option<&Bound<'_, PyAny>>) -> PyResult<Techniques> {
        let mut read = Techniques::default();
        if let Some(tech) = tech.filter(|tech| !tech.is_none()) {
            read.add(tech)?;
        }
        Ok(read)
    }

    fn add(&mut self, tech: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(word) = tech.cast::<PyString>() {
            let words = word.to_cow()?;
            self.words
                .extend(words.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned));
            return Ok(());
        }
        if let Some(object) = technique::instance(tech)? {
            self.objects.push(object);
            return Ok(());
        }
        let items = tech.try_iter().map_err(|_| {
            PyTypeError::new_err(format!(
                "tech: expected names of techniques and subclasses of warplab.Technique, not {tech}"
            ))
        })?;
        items.into_iter().try_for_each(|item| self.add(&item?))
    }

    /// The names, with commas.
    pub(crate) fn joined(&self, py: Python<'_>) -> PyResult<String> {
        let mut names = self.words.clone();
        for object in &self.objects {
            names.push(technique::name(object.bind(py))?);
        }
        Ok(names.join(","))
    }
}

/// Reads `set=`: a dict from keys to values, or a list of texts `key=value`.
///
/// # Errors
/// `TypeError` for anything else.
pub(crate) fn overrides(set: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let Some(set) = set.filter(|set| !set.is_none()) else { return Ok(Vec::new()) };
    let refused = || {
        PyTypeError::new_err(format!(
            "set: expected a dict from keys to values, or texts `key=value`, not {set}"
        ))
    };
    if let Ok(dict) = set.cast::<PyDict>() {
        let one = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok(format!("{}={}", key.extract::<String>().map_err(|_| refused())?, value_text(&value)?))
        };
        return dict.iter().map(one).collect();
    }
    if set.is_instance_of::<PyString>() {
        return Ok(vec![set.extract()?]);
    }
    set.extract().map_err(|_| refused())
}

/// A value of an override as the command line has it.
///
/// # Errors
/// `TypeError` if it is no number, text or switch.
pub(crate) fn value_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(switch) = value.cast::<PyBool>() {
        return Ok(switch.is_true().to_string());
    }
    if value.is_instance_of::<PyString>() || value.extract::<f64>().is_ok() {
        return Ok(value.str()?.to_cow()?.into_owned());
    }
    Err(PyTypeError::new_err(format!(
        "a value of a configuration is a number, a text or a switch, not {value}"
    )))
}

/// A machine ready to replay on.
pub(crate) struct Setup {
    /// Configuration.
    pub loaded: Loaded,
    /// Prices of events.
    pub energy: EnergyTable,
    /// Techniques from the catalogue.
    pub techniques: Vec<Box<dyn Technique>>,
    /// Whether one of them is a Python object, so that replays use one thread.
    pub is_python: bool,
    /// Overrides of which only a part of the accesses feels something.
    pub notes: Vec<String>,
}

impl Setup {
    /// Loads a configuration for techniques of the catalogue, as `timing replay` does.
    ///
    /// # Errors
    /// What the command prints.
    pub(crate) fn load(config: &str, words: &[String], set: &[String], ideal: bool) -> Result<Setup, String> {
        let ideal = words.iter().filter(|_| ideal).map(|name| format!("technique.{name}.ideal=true"));
        let set: Vec<String> = set.iter().cloned().chain(ideal).collect();
        let catalogue = timing::techniques::built_in();
        overrides::refuse_parameters(&set, words, &catalogue)?;
        let loaded = load(config, &set).map_err(|why| why.to_string())?;
        overrides::refuse_unused(&set, &loaded.config)?;
        let notes = overrides::partly_used(&set, &loaded.config);
        let energy = EnergyTable::load(&loaded.config.energy)?;
        energy.check(catalogue.infos())?;
        let techniques = catalogue.select(words, &loaded.config).map_err(|why| why.to_string())?;
        Ok(Setup { loaded, energy, techniques, is_python: false, notes })
    }

    /// The same, with exceptions and warnings.
    ///
    /// # Errors
    /// `warplab.Error`, or an exception of a technique in Python.
    pub(crate) fn for_python(
        py: Python<'_>,
        config: &str,
        tech: &Techniques,
        set: &[String],
        ideal: bool,
        raised: &Raised,
    ) -> PyResult<Setup> {
        let mut setup = Setup::load(config, &tech.words, set, ideal).map_err(error)?;
        technique::add_to(&mut setup.techniques, &tech.objects, raised, py)?;
        setup.is_python = !tech.objects.is_empty();
        Ok(setup)
    }
}

/// The number of threads that was asked for, or one per processor.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    warplab_host::limits::threads(asked.filter(|&threads| threads > 0).unwrap_or_else(processors))
}
