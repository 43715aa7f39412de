//! The declarations of a technique in Python, as those of one in Rust: read from the attributes of its class.
//!
//! The model keeps declarations for as long as the program runs. Those of a Python class are made once for each text of
//! them, however often it is used.

use crate::error::error;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use warplab_technique::{CauseInfo, Claim, CounterInfo, Hooks, Shape, StorageInfo, TechniqueInfo};

/// The parts of the machine that a technique may control alone, by the words of `claims`.
const CLAIMS: [(&str, Claim); 12] = [
    ("collector_organisation", Claim::CollectorOrganisation),
    ("register_mapping", Claim::RegisterMapping),
    ("occupancy", Claim::Occupancy),
    ("result_destination", Claim::ResultDestination),
    ("fetch_stream", Claim::FetchStream),
    ("reuse_of_results", Claim::ReuseOfResults),
    ("memory_accesses", Claim::MemoryAccesses),
    ("warp_priority", Claim::WarpPriority),
    ("admission", Claim::Admission),
    ("prefetching", Claim::Prefetching),
    ("register_contents", Claim::RegisterContents),
    ("waiting_warps", Claim::WaitingWarps),
];

/// Has the plan request a hook.
type Request = fn(&mut Hooks);

/// Methods that the model calls, each with what it makes the plan request.
const METHODS: [(&str, Request); 19] = [
    ("admits_block", |hooks| hooks.admission = true),
    ("admits_warp", |hooks| hooks.admission = true),
    ("start_block", |_| {}),
    ("start_warp", |_| {}),
    ("fetch", |hooks| hooks.fetch = true),
    ("fetched", |hooks| hooks.fetch = true),
    ("order", |hooks| hooks.order = true),
    ("issue", |hooks| hooks.issue = true),
    ("issued", |hooks| hooks.issue = true),
    ("collect", |hooks| hooks.collect = true),
    ("initiation", |hooks| hooks.execute = true),
    ("lanes", |hooks| hooks.execute = true),
    ("reuse", |hooks| hooks.execute = true),
    ("answered", |_| {}),
    ("write_back", |hooks| hooks.write_back = true),
    ("tick", |hooks| hooks.tick = true),
    ("next_event", |hooks| hooks.tick = true),
    ("end_warp", |_| {}),
    ("end_block", |_| {}),
];

/// A technique's declarations, structures, and which methods its class has.
#[derive(Clone)]
pub(super) struct Declared {
    /// The declarations, as the model has them.
    pub info: &'static TechniqueInfo,
    /// Shapes of the structures; those without banks get one per warp slot.
    pub shapes: Vec<Shape>,
    /// Hooks that its methods need.
    pub hooks: Hooks,
    methods: Vec<&'static str>,
}

impl Declared {
    /// Whether the class has a method.
    pub(super) fn has(&self, method: &str) -> bool {
        self.methods.contains(&method)
    }

    /// Reads the attributes of an object.
    ///
    /// # Errors
    /// An attribute has a wrong value.
    pub(super) fn read(object: &Bound<'_, PyAny>) -> PyResult<Declared> {
        let text = |name: &str| -> PyResult<String> { attribute(object, name, "a text") };
        let name = text("name")?;
        let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '+';
        if name.is_empty() || !name.chars().all(letter) {
            return Err(error(format!(
                "a technique cannot be called `{name}`: names have small letters, digits, `-` and `+`"
            )));
        }
        if timing::techniques::built_in().info(&name).is_some() {
            return Err(error(format!("there are two techniques called `{name}`")));
        }
        let base = object.py().import("warplab.technique")?.getattr("Technique")?;
        let (mut hooks, mut methods) = (Hooks::default(), Vec::new());
        for (method, request) in METHODS {
            if !object.get_type().getattr(method)?.is(&base.getattr(method)?) {
                request(&mut hooks);
                methods.push(method);
            }
        }
        refuse_misspelt(&object.get_type(), &base, &name)?;
        let storage = storage(object)?;
        let written = Written {
            name,
            summary: text("summary")?,
            paper: text("paper")?,
            opportunity: text("opportunity")?,
            counters: pairs(object, "counters")?,
            stalls: pairs(object, "stalls")?,
            losses: pairs(object, "losses")?,
            storage: storage.iter().map(|(name, doc, _)| (name.clone(), doc.clone())).collect(),
            claims: claims(object)?,
            needs_values: attribute(object, "needs_values", "True or False")?,
        };
        Ok(Declared {
            info: written.leak(),
            shapes: storage.into_iter().map(|(_, _, shape)| shape).collect(),
            hooks,
            methods,
        })
    }
}

/// Refuses an attribute that the base class does not have and that is spelt almost like one that it has: nothing would call
/// or read it.
fn refuse_misspelt(class: &Bound<'_, PyType>, base: &Bound<'_, PyAny>, technique: &str) -> PyResult<()> {
    let names = |of: &Bound<'_, PyAny>| -> PyResult<Vec<String>> {
        let all: Vec<String> = of.dir()?.extract()?;
        Ok(all.into_iter().filter(|name| !name.starts_with('_')).collect())
    };
    let known = names(base)?;
    for name in names(class.as_any())? {
        if known.contains(&name) {
            continue;
        }
        if let Some(meant) = warplab_host::names::nearest(&name, known.iter().map(String::as_str)) {
            return Err(error(format!(
                "technique {technique}: nothing uses `{name}`; did you mean `{meant}`? (an attribute of your own begins with an \
                 underscore where its name is like one of warplab.Technique)"
            )));
        }
    }
    Ok(())
}

/// An attribute of a class, which is refused with its name if it is something else than expected.
pub(super) fn attribute<T>(object: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<T>
where
    T: for<'a, 'py> FromPyObject<'a, 'py>,
{
    let value = object.getattr(name)?;
    value.extract().map_err(|_| refused(name, expected, &value))
}

/// The exception for an attribute with a wrong value.
fn refused(name: &str, expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let shown = value.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string());
    error(format!("`{name}` of a technique is {expected}, not {shown}"))
}

/// Names with their meanings.
type Pairs = Vec<(String, String)>;

/// The texts of a class.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Written {
    name: String,
    summary: String,
    paper: String,
    opportunity: String,
    counters: Pairs,
    stalls: Pairs,
    losses: Pairs,
    storage: Pairs,
    claims: Vec<usize>,
    needs_values: bool,
}

impl Written {
    /// The declarations, which stay for the rest of the program.
    fn leak(self) -> &'static TechniqueInfo {
        static KNOWN: Mutex<Option<HashMap<Written, &'static TechniqueInfo>>> = Mutex::new(None);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_default().entry(self.clone()).or_insert_with(|| self.make())
    }

    fn make(self) -> &'static TechniqueInfo {
        fn text(text: String) -> &'static str {
            text.leak()
        }
        fn all<T>(pairs: Pairs, make: impl Fn(&'static str, &'static str) -> T) -> &'static [T] {
            pairs.into_iter().map(|(name, doc)| make(text(name), text(doc))).collect::<Vec<_>>().leak()
        }
        let claims: Vec<Claim> = self.claims.iter().map(|&position| CLAIMS[position].1).collect();
        let mut info = TechniqueInfo::new(text(self.name), text(self.summary), text(self.paper))
            .with_claims(claims.leak())
            .with_counters(all(self.counters, |name, doc| CounterInfo::new(name, doc, None, None)))
            .with_stalls(all(self.stalls, CauseInfo::new))
            .with_losses(text(self.opportunity), all(self.losses, CauseInfo::new))
            .with_storage(all(self.storage, |name, doc| StorageInfo::new(name, doc, "technique_storage")));
        if !self.needs_values {
            info = info.without_values();
        }
        Box::leak(Box::new(info))
    }
}

/// A dict of names and meanings.
fn pairs(object: &Bound<'_, PyAny>, attribute: &str) -> PyResult<Pairs> {
    const EXPECTED: &str = "a dict from names to their meanings";
    let value = object.getattr(attribute)?;
    let dict = value.cast::<PyDict>().map_err(|_| refused(attribute, EXPECTED, &value))?;
    let one = |(name, doc): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<(String, String)> {
        Ok((name.extract()?, doc.extract()?))
    };
    dict.iter().map(|item| one(item).map_err(|_| refused(attribute, EXPECTED, &value))).collect()
}

/// The structures: name, meaning, shape.
fn storage(object: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String, Shape)>> {
    const EXPECTED: &str = "a dict from names to warplab.Storage";
    let value = object.getattr("storage")?;
    let dict = value.cast::<PyDict>().map_err(|_| refused("storage", EXPECTED, &value))?;
    let class = object.py().import("warplab.technique")?.getattr("Storage")?;
    let one = |(name, storage): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract().map_err(|_| refused("storage", EXPECTED, &value))?;
        if !storage.is_instance(&class)? {
            return Err(refused(&format!("storage[{name:?}]"), "a warplab.Storage", &storage));
        }
        let number = |attribute: &str| -> PyResult<u32> {
            let value = storage.getattr(attribute)?;
            let expected = "a whole number of 0 or more";
            value.extract().map_err(|_| refused(&format!("storage[{name:?}].{attribute}"), expected, &value))
        };
        let shape = Shape::new(number("banks")?, number("entries")?, number("entry_bits")?)
            .with_ports(number("ports")?, number("write_ports")?)
            .with_latency(number("latency_cycles")?);
        let doc = storage.getattr("doc")?;
        let doc = doc.extract().map_err(|_| refused(&format!("storage[{name:?}].doc"), "a text", &doc))?;
        Ok((name, doc, shape))
    };
    dict.iter().map(one).collect()
}

/// Positions of the claims in [`CLAIMS`].
fn claims(object: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let words: Vec<String> = attribute(object, "claims", "a tuple of names of parts of the machine")?;
    let known: Vec<&str> = CLAIMS.iter().map(|(word, _)| *word).collect();
    let position = |word: &String| {
        let found = known.iter().position(|known| known == word);
        found.ok_or_else(|| error(warplab_host::names::unknown("claim", word, &known)))
    };
    words.iter().map(position).collect()
}
