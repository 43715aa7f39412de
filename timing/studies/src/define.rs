//! The declarations of a study: counters per instruction, shares (quotients of their sums), and figures of
//! the shares. Tables, charts, breakdowns, explanations and files are generated from these lists.

/// The mean over traces in the last row of a table. A geometric one counts a share of zero as 0.01 %.
pub use report::Mean;

use report::Cell;

/// The definition of one study.
#[derive(Clone, Copy, Debug)]
pub struct Study {
    /// Name for `timing study`.
    pub name: &'static str,
    /// Summary in a phrase.
    pub summary: &'static str,
    /// Paper and figures that it reproduces.
    pub paper: &'static str,
    /// Definition in paragraphs.
    pub text: &'static [&'static str],
    /// Counters in the order of the counts; the first counts warp instructions.
    pub counters: &'static [Counter],
    /// Quotients of the counts.
    pub shares: &'static [Share],
    /// Charts, each of some shares.
    pub figures: &'static [Figure],
    /// Chart of a curve over the course of one warp, if the study has one.
    pub course: Option<Course>,
    /// Kind of mean over traces.
    pub mean: Mean,
    /// Position of the share that `--top` sorts by.
    pub worst_by: usize,
    /// The one number of the study, for the findings of a report; none if it has no such number of its own.
    pub headline: Option<Headline>,
    /// Note on a trace's sums for readers: estimates, limits that were reached.
    pub note: fn(&[u64]) -> Option<String>,
}

/// The share that says how large an opportunity is, in words.
#[derive(Clone, Copy, Debug)]
pub struct Headline {
    /// Position of the share, which is in percent.
    pub share: usize,
    /// Whether the opportunity is what the share leaves to 100 %.
    pub rest: bool,
    /// What follows the number: "of the register values are never read".
    pub phrase: &'static str,
}

impl Headline {
    /// The opportunity is a share.
    pub const fn share(share: usize, phrase: &'static str) -> Option<Headline> {
        Some(Headline { share, rest: false, phrase })
    }

    /// The opportunity is what a share leaves to 100 %.
    pub const fn rest_of(share: usize, phrase: &'static str) -> Option<Headline> {
        Some(Headline { share, rest: true, phrase })
    }
}

/// A count that is kept for every instruction of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Its name in files.
    pub key: &'static str,
    /// The counted unit.
    pub unit: &'static str,
    /// When it is counted.
    pub meaning: &'static str,
    /// How counts of several instructions, launches and traces are combined.
    pub join: Join,
}

/// Combination of two counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Join {
    /// Their sum.
    Sum,
    /// The larger.
    Max,
    /// The smaller; `u64::MAX` stands for none.
    Min,
}

impl Join {
    /// The neutral count.
    #[must_use]
    pub const fn nothing(self) -> u64 {
        match self {
            Join::Sum | Join::Max => 0,
            Join::Min => u64::MAX,
        }
    }

    /// Adds a count to another.
    pub fn add(self, to: &mut u64, count: u64) {
        *to = match self {
            Join::Sum => to.saturating_add(count),
            Join::Max => (*to).max(count),
            Join::Min => (*to).min(count),
        };
    }
}

/// A quotient of sums of counters.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Its name in files.
    pub key: &'static str,
    /// Its heading in tables and its name in charts.
    pub name: &'static str,
    /// Meaning.
    pub meaning: &'static str,
    /// The figure of a paper that shows it, or empty.
    pub figure: &'static str,
    /// Counters whose sum is the numerator.
    pub over: &'static [usize],
    /// Counters whose sum is the denominator; empty for no division.
    pub under: &'static [usize],
    /// Factor of the numerator.
    pub times: f64,
    /// Format.
    pub shown: Shown,
    /// Whether it is a column of the printed table; files hold all.
    pub in_table: bool,
}

/// How a quotient is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// In percent.
    Percent,
    /// As a number of something.
    Number(&'static str),
}

/// The chart of a curve over the course of one warp, a line per kernel.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// Its anchor.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The figure of a paper that it is made after, and what it shows.
    pub caption: &'static str,
    /// Name of the vertical axis, which shows shares; the horizontal one shows instructions.
    pub y: &'static str,
}

/// A chart.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its anchor.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The figure of a paper that it is made after, and what it shows.
    pub caption: &'static str,
    /// Form of its marks.
    pub marks: Marks,
    /// Positions of the shares that it shows.
    pub shares: &'static [usize],
}

/// The form of a chart.
#[derive(Clone, Copy, Debug)]
pub enum Marks {
    /// A group of bars per trace.
    Bars,
    /// A stack per trace.
    Stack,
    /// A stack per trace, in groups of traces by the dimensions of their blocks.
    StackByDimensions,
    /// A line per trace with a point per share; holds the name of the horizontal axis and its values.
    Lines(&'static str, &'static [f64]),
}

impl Share {
    /// A share of counts, shown in percent.
    pub const fn percent(
        key: &'static str,
        name: &'static str,
        over: &'static [usize],
        under: &'static [usize],
    ) -> Share {
        Share {
            key,
            name,
            meaning: "",
            figure: "",
            over,
            under,
            times: 1.0,
            shown: Shown::Percent,
            in_table: true,
        }
    }

    /// A quotient that is a number with a unit.
    pub const fn number(
        key: &'static str,
        name: &'static str,
        unit: &'static str,
        over: &'static [usize],
        under: &'static [usize],
    ) -> Share {
        Share { shown: Shown::Number(unit), ..Share::percent(key, name, over, under) }
    }

    /// The figure of a paper that shows it.
    pub const fn figure(self, figure: &'static str) -> Share {
        Share { figure, ..self }
    }

    /// Sets a meaning that the formula does not show.
    pub const fn meaning(self, meaning: &'static str) -> Share {
        Share { meaning, ..self }
    }

    /// Whether its values are whole: a number of something that is divided by nothing.
    pub const fn is_whole(&self) -> bool {
        self.under.is_empty() && matches!(self.shown, Shown::Number(_))
    }

    /// The value of a share as a cell.
    pub fn cell(&self, counts: &[u64]) -> Cell {
        let value = self.value(counts);
        if self.is_whole() && value.is_finite() { Cell::from(value as u64) } else { Cell::from(value) }
    }

    /// Sets the factor of the numerator.
    pub const fn times(self, times: f64) -> Share {
        Share { times, ..self }
    }

    /// Hides it from the printed table.
    pub const fn hidden(self) -> Share {
        Share { in_table: false, ..self }
    }

    /// Its value; NaN if the denominator is zero.
    #[must_use]
    pub fn value(&self, counts: &[u64]) -> f64 {
        let sum = |which: &[usize]| -> f64 {
            let known = which.iter().map(|&i| counts[i]).filter(|&n| n != u64::MAX);
            known.map(|n| n as f64).sum()
        };
        let below = if self.under.is_empty() { 1.0 } else { sum(self.under) };
        if below == 0.0 { f64::NAN } else { sum(self.over) * self.times / below }
    }

    /// The formula, with the names of counters.
    #[must_use]
    pub fn formula(&self, counters: &[Counter]) -> String {
        let sum = |which: &[usize]| {
            let keys: Vec<_> = which.iter().map(|&i| counters[i].key).collect();
            if keys.len() > 1 { format!("({})", keys.join(" + ")) } else { keys.concat() }
        };
        let mut text = sum(self.over);
        if self.times != 1.0 {
            text = format!("{} x {text}", self.times);
        }
        if self.under.is_empty() { text } else { format!("{text} / {}", sum(self.under)) }
    }
}

impl Study {
    /// The neutral count of each counter.
    #[must_use]
    pub fn nothing(&self) -> Vec<u64> {
        self.counters.iter().map(|counter| counter.join.nothing()).collect()
    }

    /// Adds counts to others of the same study.
    pub fn add(&self, to: &mut [u64], counts: &[u64]) {
        for ((to, &count), counter) in to.iter_mut().zip(counts).zip(self.counters) {
            counter.join.add(to, count);
        }
    }

    /// The counts of several instructions as one.
    #[must_use]
    pub fn sum(&self, counts: &[u64]) -> Vec<u64> {
        let mut all = self.nothing();
        counts.chunks_exact(self.counters.len()).for_each(|row| self.add(&mut all, row));
        all
    }
}

/// Declares the counters of a study, and for each the constant that is its position.
#[macro_export]
macro_rules! counters {
    ($($(#[$join:ident])? $name:ident = $key:literal, $unit:literal, $meaning:literal;)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "they number the constants below")]
        #[allow(dead_code, reason = "counters in a row are counted by their distance from the first")]
        #[derive(Clone, Copy)]
        enum Position { $($name),+ }
        $(
            #[doc = $meaning]
            #[allow(dead_code, reason = "as above")]
            pub(crate) const $name: usize = Position::$name as usize;
        )+
        /// Counters of the study.
        pub(crate) const COUNTERS: &[$crate::Counter] = &[$($crate::Counter {
            key: $key,
            unit: $unit,
            meaning: $meaning,
            join: $crate::counters!(@join $($join)?),
        }),+];
        /// Counts of one instruction.
        pub(crate) type Counts = [u64; COUNTERS.len()];
    };
    (@join) => { $crate::Join::Sum };
    (@join max) => { $crate::Join::Max };
    (@join min) => { $crate::Join::Min };
}
pub(crate) use counters;
