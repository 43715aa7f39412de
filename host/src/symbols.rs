//! Names of C++ functions for people: `_Z9vectoraddPfS_` is shown as `vectoradd(float*, float*)`.
//!
//! This is the only place that decides how a kernel is called in text, views and pages. Files for programs (JSON, CSV,
//! Parquet, manifests) keep the name of the object file, and so do the arguments that choose kernels.

use crate::text::one_line;
use cpp_demangle::{DemangleOptions, Symbol};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Longest name that is made readable, and longest result: substitutions can make a short name long without bound.
const LONGEST: usize = 4096;

/// The name with its scopes, template arguments and parameters; a name of another form is returned as it is.
#[must_use]
pub fn signature(name: &str) -> Cow<'_, str> {
    readable(name, DemangleOptions::new().no_return_type())
}

/// The name with its scopes and template arguments.
#[must_use]
pub fn short(name: &str) -> Cow<'_, str> {
    readable(name, DemangleOptions::new().no_return_type().no_params())
}

/// The readable name, and the name of the object file behind it if that differs: for texts from which a name may be
/// copied into a command.
#[must_use]
pub fn both(name: &str) -> String {
    match signature(name) {
        readable if readable == name => name.to_owned(),
        readable => format!("{readable} [{}]", one_line(name)),
    }
}

fn readable(name: &str, options: DemangleOptions) -> Cow<'_, str> {
    match demangled(name, options) {
        Some(text) => Cow::Owned(one_line(&text).into_owned()),
        // Symbols of object files may have any name.
        None => one_line(name),
    }
}

fn demangled(name: &str, options: DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return None;
    }
    let symbol = Symbol::new(name).ok()?;
    let mut out = Bounded(String::new());
    symbol.structured_demangle(&mut out, &options).ok()?;
    Some(out.0).filter(|text| !text.is_empty())
}

/// A text that refuses to become too long.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Names for the rows of a narrow table: the short form where it stands for one of the names only, else the signature.
#[derive(Clone, Debug, Default)]
pub struct Shortened(BTreeMap<String, String>);

impl Shortened {
    /// Of all names that the table has.
    #[must_use]
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Shortened {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut times: BTreeMap<Cow<'_, str>, usize> = BTreeMap::new();
        for name in &names {
            *times.entry(short(name)).or_default() += 1;
        }
        let shown = |name: &str| {
            let short = short(name);
            if times[&short] == 1 { short.into_owned() } else { signature(name).into_owned() }
        };
        Shortened(names.into_iter().map(|name| (name.to_owned(), shown(name))).collect())
    }

    /// What is shown for a name.
    #[must_use]
    pub fn get<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_become_what_their_source_says() {
        for (name, long, brief) in [
            ("_Z9vectoraddPfS_", "vectoradd(float*, float*)", "vectoradd"),
            ("_Z5saxpyifPKfPf", "saxpy(int, float, float const*, float*)", "saxpy"),
            ("_Z6kernelILi16EfEvPT0_", "kernel<16, float>(float*)", "kernel<16, float>"),
            ("_ZN2ns5inner4stepEPKdi", "ns::inner::step(double const*, int)", "ns::inner::step"),
            (
                "_ZN12_GLOBAL__N_19transposeEPKfPfi",
                "(anonymous namespace)::transpose(float const*, float*, int)",
                "(anonymous namespace)::transpose",
            ),
        ] {
            assert_eq!(signature(name), long);
            assert_eq!(short(name), brief);
            assert_eq!(both(name), format!("{long} [{name}]"));
        }
    }

    #[test]
    fn names_without_mangling_and_broken_ones_stay() {
        for name in
            ["matmul_tiled", "", "_Z", "_Z99short", "_Znonsense", "_Zé", "kernel$1", "vectoradd(float*)"]
        {
            assert_eq!(signature(name), name);
            assert_eq!(short(name), name);
            assert_eq!(both(name), name);
        }
    }

    /// Each parameter is a pair of the one before: the last of 60 would have more than 2^60 characters.
    #[test]
    fn names_that_would_grow_without_bound_stay() {
        let pair = "std::pair<int, int>";
        assert_eq!(signature(&grown(1)), format!("f({pair}, std::pair<{pair}, {pair} >)"));
        let name = grown(60);
        assert_eq!(signature(&name), name);
    }

    fn grown(depth: usize) -> String {
        let more = (0..depth).map(|level| format!("S_IS{0}_S{0}_E", base36(level)));
        "_Z1fSt4pairIiiE".to_owned() + &more.collect::<String>()
    }

    fn base36(number: usize) -> String {
        let digit = |n: usize| char::from(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n]);
        if number < 36 { digit(number).into() } else { base36(number / 36) + &base36(number % 36) }
    }

    #[test]
    fn a_short_name_stands_for_one_kernel_only() {
        let names = ["_Z4stepPf", "_Z4stepPd", "_Z3sumPKfPfi", "plain"];
        let shortened = Shortened::of(names);
        let shown = names.map(|name| shortened.get(name));
        assert_eq!(shown, ["step(float*)", "step(double*)", "sum", "plain"]);
        assert_eq!(shortened.get("another"), "another");
    }
}
