//! The data files built into the binary: one row per GPU and per energy table.

/// A data file by name.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The word that `--config` or `energy =` takes.
    pub name: &'static str,
    /// Path within the repository, for messages.
    pub path: &'static str,
    /// Contents.
    pub text: &'static str,
}

macro_rules! builtin {
    ($dir:literal: $($name:literal),+ $(,)?) => {
        &[$(Builtin {
            name: $name,
            path: concat!("timing/configs/", $dir, $name, ".toml"),
            text: include_str!(concat!("../", $dir, $name, ".toml")),
        }),+]
    };
}

/// The GPU that is modelled unless told otherwise.
pub const MODELLED: &str = "titanx-pascal";

/// Every GPU that is modelled.
pub const GPUS: &[Builtin] = builtin!(
    "": "gtx480", "gtxtitan", "titanx-pascal", "gtx1080ti", "qv100", "rtx2060", "rtx3070", "gtx285",
    "rtx2080ti", "rtxa6000", "a100", "qv100-collectors", "rtx2060-collectors", "rtx3070-collectors",
    "bow-titanx", "corf-fermi", "dac-fermi", "darsie-pascal", "larf-fermi", "larf-pascal",
    "regmutex-fermi", "regmutex-fermi-half", "uv-gt200", "uv-gt200-16", "uv-gt200-32",
);

/// The GPUs with which papers measured. Their files name every value and its source themselves, so that a change of
/// another GPU's file does not move them: they inherit from each other at most.
pub const PAPERS: &[&str] = &[
    "bow-titanx",
    "corf-fermi",
    "dac-fermi",
    "darsie-pascal",
    "larf-fermi",
    "larf-pascal",
    "regmutex-fermi",
    "regmutex-fermi-half",
    "uv-gt200",
    "uv-gt200-16",
    "uv-gt200-32",
];

/// Every board that the CUDA API can present; the first is the default.
pub const BOARDS: &[Builtin] =
    builtin!("": "rtx2060", "titanx-pascal", "gtx1080ti", "qv100", "rtx3070", "a100", "h100");

/// Every energy table.
pub const ENERGY_TABLES: &[Builtin] =
    builtin!("energy/": "corf-40nm", "bow-28nm", "darsie-pascal", "uv-gt200");

impl Builtin {
    /// Contents as a table, merged over those of its `base` file.
    pub(crate) fn inherited(&self) -> toml::Table {
        let mut own: toml::Table = toml::from_str(self.text).unwrap_or_else(|e| panic!("{}: {e}", self.path));
        let base = own.remove("base").and_then(|base| find(GPUS, base.as_str()?));
        let mut table = base.map(Builtin::inherited).unwrap_or_default();
        merge(&mut table, own);
        table
    }
}

/// Merges `from` into `into`; values of `from` replace those with the same path.
pub fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// The file with a name in `list`.
#[must_use]
pub fn find(list: &'static [Builtin], name: &str) -> Option<&'static Builtin> {
    list.iter().find(|builtin| builtin.name == name)
}

/// Names in `list`, separated by commas, for messages.
#[must_use]
pub fn names(list: &[Builtin]) -> String {
    self::list(list).join(", ")
}

/// Names of some files.
#[must_use]
pub fn list(list: &[Builtin]) -> Vec<&'static str> {
    list.iter().map(|builtin| builtin.name).collect()
}
