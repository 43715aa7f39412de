//! Declarations of a technique: parameters with bounds, counters with prices, causes with names.
//!
//! The macros generate, from one list, the type that the technique uses and the entries from which lists,
//! tables, JSON, CSV, reports and energy are made.

use std::fmt;
use std::ops::RangeInclusive;
use warplab_host::names;

/// A parameter of `[technique.NAME]`, for lists and messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamInfo {
    /// Key.
    pub name: &'static str,
    /// Meaning, with the unit.
    pub doc: &'static str,
    /// Default value.
    pub default: String,
    /// Accepted values.
    pub accepts: String,
}

impl ParamInfo {
    /// A parameter; [`params!`](crate::params) makes them.
    #[must_use]
    pub fn new(name: &'static str, doc: &'static str, default: String, accepts: String) -> ParamInfo {
        ParamInfo { name, doc, default, accepts }
    }
}

/// The value of a parameter in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamValue {
    /// A whole number.
    Number(u32),
    /// On or off.
    Switch(bool),
    /// One word of a list.
    Word(&'static str),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Number(value) => value.fmt(f),
            ParamValue::Switch(value) => value.fmt(f),
            ParamValue::Word(value) => value.fmt(f),
        }
    }
}

/// A type that parameters can have.
pub trait Param: Copy {
    /// Describes the values that are accepted.
    type Accepts;
    /// Reads a value.
    ///
    /// # Errors
    /// A sentence that continues "`key`: ".
    fn read(value: &toml::Value, accepts: &Self::Accepts) -> Result<Self, String>;
    /// The value for output.
    fn show(self) -> ParamValue;
    /// The accepted values, in words.
    fn accepts(accepts: &Self::Accepts) -> String;
}

impl Param for u32 {
    type Accepts = RangeInclusive<u32>;

    fn read(value: &toml::Value, accepts: &Self::Accepts) -> Result<u32, String> {
        let number = value.as_integer().ok_or_else(|| format!("{value} is not a whole number"))?;
        u32::try_from(number).ok().filter(|number| accepts.contains(number)).ok_or_else(|| {
            format!("{number} is refused: it must lie between {} and {}", accepts.start(), accepts.end())
        })
    }

    fn show(self) -> ParamValue {
        ParamValue::Number(self)
    }

    fn accepts(accepts: &Self::Accepts) -> String {
        format!("{} to {}", accepts.start(), accepts.end())
    }
}

impl Param for bool {
    type Accepts = ();

    fn read(value: &toml::Value, (): &()) -> Result<bool, String> {
        value.as_bool().ok_or_else(|| format!("{value} is neither true nor false"))
    }

    fn show(self) -> ParamValue {
        ParamValue::Switch(self)
    }

    fn accepts((): &()) -> String {
        "true or false".to_owned()
    }
}

impl Param for &'static str {
    type Accepts = &'static [&'static str];

    fn read(value: &toml::Value, accepts: &Self::Accepts) -> Result<&'static str, String> {
        let known = || accepts.join(", ");
        let word = value.as_str().ok_or_else(|| format!("{value} is none of the words {}", known()))?;
        let found = accepts.iter().copied().find(|known| *known == word);
        found.ok_or_else(|| format!("`{word}` is refused: it must be one of {}", known()))
    }

    fn show(self) -> ParamValue {
        ParamValue::Word(self)
    }

    fn accepts(accepts: &Self::Accepts) -> String {
        accepts.join(", ")
    }
}

/// The parameters of a technique; [`params!`](crate::params) implements it.
pub trait Params: Copy + Default {
    /// The declared parameters.
    fn declared() -> Vec<ParamInfo>;
    /// Reads `[technique.NAME]`; missing keys have their default.
    ///
    /// # Errors
    /// The error names the key, the value and the rule.
    fn read(section: &toml::Table) -> Result<Self, String>;
    /// The values of this run.
    fn values(&self) -> Vec<(&'static str, ParamValue)>;
}

/// Parameters of a technique without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoParams;

impl Params for NoParams {
    fn declared() -> Vec<ParamInfo> {
        Vec::new()
    }

    fn read(section: &toml::Table) -> Result<NoParams, String> {
        section.keys().next().map_or(Ok(NoParams), |key| Err(unknown_key(key, &[])))
    }

    fn values(&self) -> Vec<(&'static str, ParamValue)> {
        Vec::new()
    }
}

/// The message for an unknown key.
#[must_use]
pub fn unknown_key(key: &str, known: &[&str]) -> String {
    match known {
        [] => format!("unknown key `{key}`; there are no parameters"),
        known => format!("unknown key `{key}`{}", names::among(key, "there are", known)),
    }
}

/// Declares the parameters of a technique: a struct with a field per parameter, its default and what it accepts
/// (a range for `u32`, nothing for `bool`, a list of words for `&'static str`).
///
/// ```
/// warplab_technique::params! {
///     /// `[technique.example]`.
///     pub struct Params {
///         /// Entries per warp.
///         entries: u32 = 6, 1..=64;
///         /// Whether the mechanism works; without it only its hardware is there.
///         mechanism: bool = true;
///         /// What leaves a full cache.
///         eviction: &'static str = "lru", &["fifo", "lru"];
///     }
/// }
/// use warplab_technique::Params as _;
/// let section = toml::from_str("entries = 3").expect("a table");
/// assert_eq!(Params::read(&section).map(|params| params.entries), Ok(3));
/// let section = toml::from_str("entries = 0").expect("a table");
/// assert!(Params::read(&section).expect_err("out of range").contains("between 1 and 64"));
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $Name:ident {
        $($(#[doc = $doc:literal])+ $field:ident : $type:ty = $default:expr $(, $accepts:expr)?;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $vis struct $Name {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl Default for $Name {
            fn default() -> Self {
                $Name { $($field: $default,)+ }
            }
        }

        impl $crate::Params for $Name {
            fn declared() -> Vec<$crate::ParamInfo> {
                let defaults = $Name::default();
                vec![$($crate::ParamInfo::new(
                    stringify!($field),
                    concat!($($doc),+).trim_ascii(),
                    $crate::declare::Param::show(defaults.$field).to_string(),
                    {
                        let accepts: <$type as $crate::declare::Param>::Accepts =
                            $crate::params!(@accepts $($accepts)?);
                        <$type as $crate::declare::Param>::accepts(&accepts)
                    },
                )),+]
            }

            fn read(section: &$crate::toml::Table) -> Result<Self, String> {
                const KEYS: &[&str] = &[$(stringify!($field)),+];
                if let Some(key) = section.keys().find(|key| !KEYS.contains(&key.as_str())) {
                    return Err($crate::declare::unknown_key(key, KEYS));
                }
                let mut params = $Name::default();
                $(if let Some(value) = section.get(stringify!($field)) {
                    let accepts: <$type as $crate::declare::Param>::Accepts =
                        $crate::params!(@accepts $($accepts)?);
                    params.$field = <$type as $crate::declare::Param>::read(value, &accepts)
                        .map_err(|why| format!("`{}`: {why}", stringify!($field)))?;
                })+
                Ok(params)
            }

            fn values(&self) -> Vec<(&'static str, $crate::ParamValue)> {
                vec![$((stringify!($field), $crate::declare::Param::show(self.$field))),+]
            }
        }
    };
    (@accepts) => { () };
    (@accepts $accepts:expr) => { $accepts };
}

/// Default price of an event without price in the energy table.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Price {
    /// Energy in pJ.
    pub pj: f64,
    /// Where the value is published.
    pub source: &'static str,
}

impl Price {
    /// A price and its source.
    #[must_use]
    pub const fn new(pj: f64, source: &'static str) -> Price {
        Price { pj, source }
    }
}

/// A counter, for lists and for the energy join.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CounterInfo {
    /// JSON key and CSV column.
    pub name: &'static str,
    /// Description.
    pub doc: &'static str,
    /// Energy component that an event of this counter belongs to, if it costs energy.
    pub component: Option<&'static str>,
    /// Its price if the energy table has none.
    pub price: Option<Price>,
}

impl CounterInfo {
    /// A counter; [`counts!`](crate::counts) makes them.
    #[must_use]
    pub const fn new(
        name: &'static str,
        doc: &'static str,
        component: Option<&'static str>,
        price: Option<Price>,
    ) -> CounterInfo {
        CounterInfo { name, doc, component, price }
    }
}

/// Declares the counters of a technique: a struct with a field per counter, which the technique owns and adds to.
///
/// `in "component"` makes a counter an energy event; `at PJ from "source"` sets its price if the energy table
/// has none.
///
/// ```
/// warplab_technique::counts! {
///     /// What the example counts.
///     pub struct Counts {
///         /// Tag comparisons.
///         comparisons in "technique_logic" at 0.5 from "an estimate";
///         /// Entries that left before their value was read.
///         useless_entries;
///     }
/// }
/// let counts = Counts { comparisons: 3, ..Counts::default() };
/// assert_eq!(counts.values(), [3, 0]);
/// assert_eq!(Counts::DECLARED[1].name, "useless_entries");
/// ```
#[macro_export]
macro_rules! counts {
    ($(#[$meta:meta])* $vis:vis struct $Name:ident {
        $($(#[doc = $doc:literal])+ $field:ident $(in $component:literal $(at $pj:literal from $source:literal)?)?;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        $vis struct $Name {
            $($(#[doc = $doc])+ pub $field: u64,)+
        }

        impl $Name {
            /// The counters, in the order of the struct.
            pub const DECLARED: &'static [$crate::CounterInfo] = &[$($crate::CounterInfo::new(
                stringify!($field),
                concat!($($doc),+),
                $crate::counts!(@component $($component)?),
                $crate::counts!(@price $($($pj, $source)?)?),
            )),+];

            /// Values in the order of [`Self::DECLARED`].
            #[must_use]
            pub fn values(&self) -> Vec<u64> {
                vec![$(self.$field),+]
            }
        }
    };
    (@component) => { None };
    (@component $component:literal) => { Some($component) };
    (@price) => { None };
    (@price $pj:literal, $source:literal) => { Some($crate::Price::new($pj, $source)) };
}

/// A stall cause, or a cause for which an opportunity was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CauseInfo {
    /// JSON key.
    pub name: &'static str,
    /// Meaning.
    pub doc: &'static str,
}

impl CauseInfo {
    /// A cause; [`causes!`](crate::causes) makes them.
    #[must_use]
    pub const fn new(name: &'static str, doc: &'static str) -> CauseInfo {
        CauseInfo { name, doc }
    }
}

/// Causes of one kind; [`causes!`](crate::causes) implements it.
pub trait Cause: Copy {
    /// The causes, in order.
    const DECLARED: &'static [CauseInfo];
    /// Position in [`Cause::DECLARED`].
    fn index(self) -> u8;
}

/// Declares the causes of a technique's stalls, or of its lost opportunities.
///
/// ```
/// use warplab_technique::declare::Cause as _;
/// warplab_technique::causes! {
///     /// Why a warp waits.
///     pub enum Stall {
///         /// Every entry holds a value that is still needed.
///         Full = "full";
///     }
/// }
/// assert_eq!(Stall::DECLARED[usize::from(Stall::Full.index())].name, "full");
/// ```
#[macro_export]
macro_rules! causes {
    ($(#[$meta:meta])* $vis:vis enum $Name:ident {
        $($(#[doc = $doc:literal])+ $Variant:ident = $name:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        $vis enum $Name {
            $($(#[doc = $doc])+ $Variant,)+
        }

        impl $crate::declare::Cause for $Name {
            const DECLARED: &'static [$crate::CauseInfo] = &[$($crate::CauseInfo::new($name, concat!($($doc),+))),+];

            fn index(self) -> u8 {
                self as u8
            }
        }
    };
}
