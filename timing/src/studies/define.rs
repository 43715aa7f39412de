//! How a study says what it counts: counters kept per instruction, shares made of their sums, and figures made of
//! the shares. Tables, charts, breakdowns, explanations and files follow from these lists alone.

/// The definition of one study.
#[derive(Clone, Copy, Debug)]
pub struct Study {
    /// The word that `timing study` takes.
    pub name: &'static str,
    /// What it answers, in a phrase.
    pub summary: &'static str,
    /// Paper and figures that it reproduces.
    pub paper: &'static str,
    /// What is counted and how, in paragraphs.
    pub text: &'static [&'static str],
    /// What is counted, in the order of the counts; the first counts warp instructions.
    pub counters: &'static [Counter],
    /// What is made of the counts.
    pub shares: &'static [Share],
    /// Charts, each of some shares.
    pub figures: &'static [Figure],
    /// The chart of a curve over the course of one warp, where there is one.
    pub course: Option<Course>,
    /// How traces are averaged.
    pub mean: Mean,
    /// Position of the share that `--top` sorts by.
    pub worst_by: usize,
    /// What readers must know about a trace's sums: estimates, limits that were reached.
    pub note: fn(&[u64]) -> Option<String>,
}

/// A count that is kept for every instruction of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Its name in files.
    pub key: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// When it is counted.
    pub meaning: &'static str,
    /// How counts of several instructions, launches and traces make one.
    pub join: Join,
}

/// How two counts make one.
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
    /// The count of nothing.
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
    /// What it says.
    pub meaning: &'static str,
    /// The figure of a paper that shows it, or nothing.
    pub figure: &'static str,
    /// Counters whose sum is divided.
    pub over: &'static [usize],
    /// Counters by whose sum it is divided; none: it is not divided.
    pub under: &'static [usize],
    /// What the sum above is multiplied by.
    pub times: f64,
    /// How it is shown.
    pub shown: Shown,
    /// Whether it is a column of the table for readers; files hold all.
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

/// Which mean over traces stands under a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mean {
    /// Of their shares.
    Arithmetic,
    /// Of their shares; a trace without any counts as the smallest share that can be told from nothing, 0.01 %.
    Geometric,
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
    /// What its marks are.
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
    /// A line per trace, whose points are the shares; with the name of the horizontal axis and its values.
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

    /// A quotient that is a number of something.
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

    /// What it says, where its formula does not.
    pub const fn meaning(self, meaning: &'static str) -> Share {
        Share { meaning, ..self }
    }

    /// Its sum multiplied.
    pub const fn times(self, times: f64) -> Share {
        Share { times, ..self }
    }

    /// Only in files and charts.
    pub const fn hidden(self) -> Share {
        Share { in_table: false, ..self }
    }

    /// Its value; not a number where nothing is divided by.
    #[must_use]
    pub fn value(&self, counts: &[u64]) -> f64 {
        let sum = |which: &[usize]| -> f64 {
            let known = which.iter().map(|&i| counts[i]).filter(|&n| n != u64::MAX);
            known.map(|n| n as f64).sum()
        };
        let below = if self.under.is_empty() { 1.0 } else { sum(self.under) };
        if below == 0.0 { f64::NAN } else { sum(self.over) * self.times / below }
    }

    /// The formula in the names of counters.
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
    /// Counts of nothing, one for each counter.
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
macro_rules! counters {
    ($($(#[$join:ident])? $name:ident = $key:literal, $unit:literal, $meaning:literal;)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "they number the constants below")]
        #[derive(Clone, Copy)]
        enum Position { $($name),+ }
        $(
            #[doc = $meaning]
            pub const $name: usize = Position::$name as usize;
        )+
        /// What the study counts.
        pub const COUNTERS: &[$crate::studies::Counter] = &[$($crate::studies::Counter {
            key: $key,
            unit: $unit,
            meaning: $meaning,
            join: counters!(@join $($join)?),
        }),+];
        /// Counts of one instruction.
        pub type Row = [u64; COUNTERS.len()];
    };
    (@join) => { $crate::studies::Join::Sum };
    (@join max) => { $crate::studies::Join::Max };
    (@join min) => { $crate::studies::Join::Min };
}
pub(crate) use counters;
