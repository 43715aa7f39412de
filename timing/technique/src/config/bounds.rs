//! The declaration of a configuration's sections: `sections!` makes a struct of each, and the list of its keys with
//! meanings and accepted values. Rules that connect several keys are in `timing`.

use std::collections::BTreeMap;
use std::fmt;

/// The numbers that a key accepts. Displayed, it continues "it must be ".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bounds {
    /// All of its type.
    Any,
    /// From the first to the second.
    Between(u64, u64),
    /// The powers of two from the first to the second.
    PowerOfTwo(u64, u64),
    /// The divisors of a number.
    Divisor(u64),
    /// Some.
    OneOf(&'static [u64]),
    /// The frequency of a clock in kHz, between 1 MHz and 10 GHz.
    Clock,
}

impl Bounds {
    /// Whether a number is accepted.
    #[must_use]
    pub fn accept(self, value: u64) -> bool {
        match self {
            Bounds::Any => true,
            Bounds::Between(low, high) => (low..=high).contains(&value),
            Bounds::PowerOfTwo(low, high) => value.is_power_of_two() && (low..=high).contains(&value),
            Bounds::Divisor(of) => value > 0 && of.is_multiple_of(value),
            Bounds::OneOf(list) => list.contains(&value),
            Bounds::Clock => (1_000..=10_000_000).contains(&value),
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bounds::Any => f.write_str("any"),
            Bounds::Between(low, high) => write!(f, "between {low} and {high}"),
            Bounds::PowerOfTwo(low, high) => write!(f, "a power of two between {low} and {high}"),
            Bounds::Divisor(of) => write!(f, "a number that divides {of}"),
            Bounds::OneOf(list) => {
                let last = list.len().saturating_sub(1);
                list.iter().enumerate().try_for_each(|(at, value)| {
                    let before = if at == 0 {
                        ""
                    } else if at == last {
                        " or "
                    } else {
                        ", "
                    };
                    write!(f, "{before}{value}")
                })
            }
            Bounds::Clock => f.write_str("between 1 MHz and 10 GHz, in kHz"),
        }
    }
}

/// One key of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// Dotted path.
    pub path: String,
    /// Meaning, with the unit.
    pub doc: &'static str,
    /// Accepted numbers.
    pub bounds: Bounds,
    /// The value, if it is a number.
    pub number: Option<u64>,
}

/// A value with keys: a section, a table of sections, or the value of one key.
pub(super) trait Keys {
    /// Appends the keys of a value whose own path, meaning and bounds are those of `key`.
    fn list(&self, key: Key, keys: &mut Vec<Key>);
}

impl Key {
    /// A key without a number.
    pub(super) fn new(path: String, doc: &'static str, bounds: Bounds) -> Key {
        Key { path, doc, bounds, number: None }
    }

    /// The path of a key below this one.
    pub(super) fn below(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

impl Keys for u32 {
    fn list(&self, key: Key, keys: &mut Vec<Key>) {
        keys.push(Key { number: Some((*self).into()), ..key });
    }
}

impl Keys for u64 {
    fn list(&self, key: Key, keys: &mut Vec<Key>) {
        keys.push(Key { number: Some(*self), ..key });
    }
}

impl<T: Keys> Keys for BTreeMap<String, T> {
    fn list(&self, key: Key, keys: &mut Vec<Key>) {
        for (name, value) in self {
            value.list(Key::new(key.below(name), key.doc, key.bounds), keys);
        }
    }
}

/// Values other than numbers; what they may be follows from their types, or from a rule in `timing`.
macro_rules! not_numbers {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::config::bounds::Keys for $type {
            fn list(&self, key: $crate::config::Key, keys: &mut Vec<$crate::config::Key>) {
                keys.push(key);
            }
        }
    )+};
}

not_numbers! { bool, String, Vec<u32>, toml::Table }

/// Declares sections: for every key the meaning, the type and the bounds of a number.
macro_rules! sections {
    ($($(#[$meta:meta])* pub struct $Name:ident {
        $($(#[doc = $doc:literal])+ $(#[serde($($serde:tt)+)])? $field:ident : $type:ty $(, $bounds:expr)?;)+
    })+) => {$(
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        $(#[$meta])*
        #[serde(deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $Name {
            $($(#[doc = $doc])+ $(#[serde($($serde)+)])? pub $field: $type,)+
        }

        impl $crate::config::bounds::Keys for $Name {
            fn list(&self, key: $crate::config::Key, keys: &mut Vec<$crate::config::Key>) {
                $(let below = $crate::config::Key::new(
                    key.below(stringify!($field)),
                    concat!($($doc),+).trim_ascii(),
                    sections!(@bounds $($bounds)?),
                );
                $crate::config::bounds::Keys::list(&self.$field, below, keys);)+
            }
        }
    )+};
    (@bounds) => { $crate::config::Bounds::Any };
    (@bounds $bounds:expr) => { $bounds };
}

pub(super) use {not_numbers, sections};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_accept_what_they_say() {
        let edges = [
            (Bounds::Between(1, 64), "between 1 and 64", vec![1, 64], vec![0, 65]),
            (Bounds::PowerOfTwo(1, 64), "a power of two between 1 and 64", vec![1, 64], vec![0, 24, 128]),
            (Bounds::Divisor(32), "a number that divides 32", vec![1, 32], vec![0, 12, 64]),
            (Bounds::OneOf(&[1, 2, 4]), "1, 2 or 4", vec![1, 4], vec![0, 3]),
            (Bounds::Clock, "between 1 MHz and 10 GHz, in kHz", vec![1_000], vec![999, 10_000_001]),
        ];
        for (bounds, text, good, bad) in edges {
            assert_eq!(bounds.to_string(), text);
            assert!(good.into_iter().all(|value| bounds.accept(value)), "{text}");
            assert!(!bad.into_iter().any(|value| bounds.accept(value)), "{text}");
        }
    }
}
