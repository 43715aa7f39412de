//! Finds our launch for each row of a reference: by program, kernel and order.

use super::error::CorrelateError;
use super::metrics::Values;
use super::names::{base, trimmed};
use super::reference::{Measured, Which};
use super::results::{Launch, mean};
use super::shape::Shape;
use std::collections::{BTreeMap, BTreeSet};

/// A kernel that the reference calls otherwise than ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// Its name in the reference.
    pub reference: String,
    /// Its name in our results.
    pub kernel: String,
    /// The program that it belongs to in our results, if that must be said.
    pub program: Option<String>,
}

/// Reads the file of `--match`: a table with the columns `reference` and `kernel`, and `program` if needed.
///
/// # Errors
/// A missing column, or a damaged row.
pub fn renames(text: &str) -> Result<Vec<Rename>, CorrelateError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let broken = |why: csv::Error| CorrelateError(why.to_string());
    let header = reader.headers().map_err(broken)?.clone();
    let column = |name: &str| header.iter().position(|column| column == name);
    let need = |name: &str| {
        let missing =
            || CorrelateError(format!("it has no column {name}; expected reference,kernel[,program]"));
        column(name).ok_or_else(missing)
    };
    let (reference, kernel, program) = (need("reference")?, need("kernel")?, column("program"));
    let rename = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.map_err(broken)?;
        Ok(Rename {
            reference: record[reference].to_owned(),
            kernel: record[kernel].to_owned(),
            program: program.map(|column| record[column].to_owned()).filter(|name| !name.is_empty()),
        })
    };
    reader.records().map(rename).collect()
}

/// A row of the reference and our launch.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Position of the reference's row.
    pub row: usize,
    /// Our program; empty if unknown.
    pub program: String,
    /// Our kernel, by its full name.
    pub kernel: String,
    /// The launches that the reference has figures of.
    pub which: Which,
    /// Number of our launches in the figures.
    pub launches: usize,
    /// Our figures.
    pub ours: Values,
    /// The figures of the reference.
    pub reference: Values,
    /// Our scheduler slots, in words.
    pub slots: Vec<(&'static str, u64)>,
}

/// The result of matching.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    /// Pairs, in the order of the reference.
    pub pairs: Vec<Pair>,
    /// Our launches without a row: program, kernel, number.
    pub ours_alone: Vec<(String, String, usize)>,
    /// Kernels of the reference without a launch: name, number of rows, reason.
    pub reference_alone: Vec<(String, usize, String)>,
    /// Assumptions, for the user.
    pub notes: Vec<String>,
}

/// Matches rows with launches.
#[must_use]
pub fn matched(ours: &[Launch], rows: &[Measured], renames: &[Rename]) -> Matching {
    let programs: BTreeSet<&str> = ours.iter().map(|launch| launch.program.as_str()).collect();
    let mut found = Matching::default();
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let mut alone: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut applied = BTreeSet::new();
    let wanted: Vec<Wanted<'_>> =
        rows.iter().map(|row| Wanted::of(row, &programs, renames, &mut applied)).collect();
    let groups = Groups::new(ours, &wanted);
    let mut in_several = BTreeSet::new();
    let mut together: BTreeMap<Wanted<'_>, usize> = BTreeMap::new();
    let mut of_shape: BTreeMap<(Wanted<'_>, Shape), usize> = BTreeMap::new();
    for (position, (row, want)) in rows.iter().zip(&wanted).enumerate() {
        // Launches are numbered in each process; of processes that are no programs of ours, all together.
        let which = match row.which {
            Which::Launch(_) if row.process.is_some() && want.program.is_none() => {
                let next = together.entry(*want).or_insert(0);
                *next += 1;
                Which::Launch(*next - 1)
            }
            which => which,
        };
        let group = groups.group(want);
        let candidates = group.candidates(want);
        if group.programs.len() > 1 && which != Which::Mean {
            in_several.insert(base(want.kernel).to_owned());
        }
        // A profile that has sizes means launches of these sizes, in their order.
        let fitting: Vec<usize> =
            candidates.iter().copied().filter(|index| ours[*index].shape.agrees(&row.shape)).collect();
        let chosen: &[usize] = match group.index(position, which) {
            Which::Launch(number) if row.shape.is_unknown() || row.is_numbered => {
                let there = candidates.get(number).filter(|index| fitting.contains(index));
                there.map_or(&[], std::slice::from_ref)
            }
            Which::Launch(_) => {
                let next = of_shape.entry((*want, row.shape)).or_insert(0);
                *next += 1;
                fitting.get(*next - 1).map_or(&[], std::slice::from_ref)
            }
            Which::Mean => &fitting,
        };
        let Some(first) = chosen.first().map(|index| &ours[*index]) else {
            let why = match candidates.len() {
                0 if row.program.as_deref().is_some_and(|program| !programs.contains(program)) => {
                    format!("there is no program {}", row.program.as_deref().unwrap_or_default())
                }
                0 => "no launch of ours has that name".to_owned(),
                count if fitting.len() < count && !row.shape.is_unknown() => {
                    let has = match fitting.len() {
                        0 => "none of them has".to_owned(),
                        some => format!("{some} of them have"),
                    };
                    format!(
                        "ours has {count} launches of it, and {has} {}; ours has {}: record the program at the size of the profile",
                        row.shape, ours[candidates[0]].shape
                    )
                }
                count => format!("ours has {count} launches of it"),
            };
            *alone.entry((row.kernel.clone(), why)).or_default() += 1;
            continue;
        };
        let launches: Vec<&Launch> = chosen.iter().map(|index| &ours[*index]).collect();
        let (values, slots) = mean(&launches);
        found.pairs.push(Pair {
            row: position,
            program: if group.programs.len() > 1 && launches.len() > 1 {
                String::new()
            } else {
                first.program.clone()
            },
            kernel: first.kernel.clone(),
            which: if launches.len() == candidates.len() && candidates.len() == 1 {
                Which::Launch(0)
            } else {
                which
            },
            launches: launches.len(),
            ours: values,
            reference: row.values.clone(),
            slots,
        });
        used.extend(chosen);
    }
    found.reference_alone = alone.into_iter().map(|((kernel, why), count)| (kernel, count, why)).collect();
    let mut rest: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (_, launch) in ours.iter().enumerate().filter(|(index, _)| !used.contains(index)) {
        *rest.entry((&launch.program, &launch.kernel)).or_default() += 1;
    }
    found.ours_alone = rest
        .into_iter()
        .map(|((program, kernel), count)| (program.to_owned(), kernel.to_owned(), count))
        .collect();
    for kernel in in_several {
        found.notes.push(format!(
            "{kernel} occurs in several traces: its launches are matched in the order of the traces; a column program \
             in the reference says which is meant"
        ));
    }
    for rename in renames.iter().filter(|rename| !applied.contains(&rename.reference)) {
        found.notes.push(format!("--match names {}, which the reference does not have", rename.reference));
    }
    found
}

/// The kernel and program that a row asks for, in our names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted<'a> {
    program: Option<&'a str>,
    kernel: &'a str,
}

impl<'a> Wanted<'a> {
    fn of(
        row: &'a Measured,
        programs: &BTreeSet<&str>,
        renames: &'a [Rename],
        applied: &mut BTreeSet<String>,
    ) -> Wanted<'a> {
        let process = row.process.as_deref().filter(|process| programs.contains(process));
        let program = row.program.as_deref().or(process);
        let is_it = |rename: &&Rename| {
            trimmed(&rename.reference) == row.kernel || base(&rename.reference) == base(&row.kernel)
        };
        match renames.iter().find(is_it) {
            Some(rename) => {
                applied.insert(rename.reference.clone());
                Wanted { program: rename.program.as_deref().or(program), kernel: &rename.kernel }
            }
            None => Wanted { program, kernel: &row.kernel },
        }
    }
}

/// Rows and launches of one program and base name.
#[derive(Debug, Default)]
struct Group<'a> {
    /// Names of our kernels, and of the reference's, in the order of their first launch.
    ours: Vec<&'a str>,
    reference: Vec<&'a str>,
    /// Programs of our launches.
    programs: BTreeSet<&'a str>,
    /// Our launches, all and by name.
    launches: Vec<usize>,
    by_name: BTreeMap<&'a str, Vec<usize>>,
    /// The rows with their positions in the group.
    rows: BTreeMap<usize, usize>,
}

/// All groups, by program and base name.
struct Groups<'a>(BTreeMap<(Option<&'a str>, &'a str), Group<'a>>);

impl<'a> Groups<'a> {
    fn new(launches: &'a [Launch], wanted: &[Wanted<'a>]) -> Groups<'a> {
        let mut groups: BTreeMap<(Option<&str>, &str), Group<'_>> = BTreeMap::new();
        let name = |names: &mut Vec<&'a str>, name: &'a str| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        for (position, want) in wanted.iter().enumerate() {
            let group = groups.entry((want.program, base(want.kernel))).or_default();
            name(&mut group.reference, want.kernel);
            let next = group.rows.len();
            group.rows.insert(position, next);
        }
        for (index, launch) in launches.iter().enumerate() {
            for program in [None, Some(launch.program.as_str())] {
                if let Some(group) = groups.get_mut(&(program, base(&launch.kernel))) {
                    name(&mut group.ours, &launch.kernel);
                    group.programs.insert(&launch.program);
                    group.launches.push(index);
                    group.by_name.entry(&launch.kernel).or_default().push(index);
                }
            }
        }
        Groups(groups)
    }

    fn group(&self, want: &Wanted<'a>) -> &Group<'a> {
        &self.0[&(want.program, base(want.kernel))]
    }
}

impl Group<'_> {
    /// Our launches that a row may mean, in order.
    ///
    /// Instances of a template have one base name. They are told apart if both sides name as many, by equal names or by
    /// the order of their first launches; else all launches with the base name count as one sequence.
    fn candidates(&self, want: &Wanted<'_>) -> &[usize] {
        let of = |name: &str| self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        if self.is_by_name() {
            of(want.kernel)
        } else if self.is_by_order() {
            let position = self.reference.iter().position(|name| *name == want.kernel);
            position.and_then(|position| self.ours.get(position)).map_or(&[], |name| of(name))
        } else {
            &self.launches
        }
    }

    /// The position of a row among the launches that it may mean.
    fn index(&self, row: usize, which: Which) -> Which {
        let in_one_sequence = !self.is_by_name() && !self.is_by_order() && self.reference.len() > 1;
        match which {
            Which::Launch(_) if in_one_sequence => Which::Launch(self.rows.get(&row).copied().unwrap_or(0)),
            which => which,
        }
    }

    fn is_by_name(&self) -> bool {
        self.reference.iter().all(|name| self.ours.contains(name))
    }

    fn is_by_order(&self) -> bool {
        self.reference.len() == self.ours.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(list: &[(&str, &str)]) -> Vec<Launch> {
        let launch = |(number, (program, kernel)): (usize, &(&str, &str))| Launch {
            program: (*program).to_owned(),
            kernel: (*kernel).to_owned(),
            shape: Shape::default(),
            values: [("cycles", number as f64)].into(),
            slots: vec![("issuing", 1)],
        };
        list.iter().enumerate().map(launch).collect()
    }

    fn row(program: Option<&str>, kernel: &str, which: Which) -> Measured {
        let program = program.map(str::to_owned);
        let (is_numbered, shape) = (false, Shape::default());
        Measured {
            program,
            process: None,
            kernel: kernel.to_owned(),
            which,
            is_numbered,
            shape,
            values: Values::new(),
        }
    }

    fn cycles(found: &Matching) -> Vec<f64> {
        found.pairs.iter().map(|pair| pair.ours["cycles"]).collect()
    }

    #[test]
    fn launches_are_matched_by_name_and_order() {
        let ours = ours(&[("a", "_Z3addPf"), ("a", "mul"), ("a", "_Z3addPf"), ("b", "mul")]);
        let at = Which::Launch;
        let rows = [
            row(None, "add(float *)", at(0)),
            row(None, "add(float *)", at(1)),
            row(Some("b"), "mul", at(0)),
        ];
        let found = matched(&ours, &rows, &[]);
        assert_eq!(cycles(&found), [0.0, 2.0, 3.0]);
        assert_eq!(found.ours_alone, [("a".to_owned(), "mul".to_owned(), 1)]);
        // A launch beyond ours, a name of nobody, a program of nobody.
        let rows = [row(None, "add", at(2)), row(None, "sub", at(0)), row(Some("c"), "mul", at(0))];
        let found = matched(&ours, &rows, &[]);
        let why: Vec<&str> = found.reference_alone.iter().map(|(_, _, why)| why.as_str()).collect();
        assert_eq!(
            why,
            ["ours has 2 launches of it", "there is no program c", "no launch of ours has that name"]
        );
        // The same kernel in two traces without a program: in order, and a note says so.
        let found = matched(&ours, &[row(None, "mul", at(1))], &[]);
        assert_eq!((cycles(&found), found.notes.len()), (vec![3.0], 1));
    }

    #[test]
    fn means_are_over_all_launches_of_a_kernel() {
        let ours = ours(&[("a", "add"), ("a", "add"), ("a", "add")]);
        let found = matched(&ours, &[row(None, "add", Which::Mean)], &[]);
        assert_eq!((cycles(&found), found.pairs[0].launches), (vec![1.0], 3));
        assert_eq!(found.pairs[0].slots, [("issuing", 3)]);
        assert!(found.ours_alone.is_empty());
    }

    #[test]
    fn instances_of_a_template_are_told_apart_where_that_is_possible() {
        let at = Which::Launch;
        let ours = ours(&[("a", "_Z1kILi16EEvPf"), ("a", "_Z1kILi32EEvPf"), ("a", "_Z1kILi16EEvPf")]);
        let demangled = [
            row(None, "void k<(int)16>(float *)", at(0)),
            row(None, "void k<(int)32>(float *)", at(0)),
            row(None, "void k<(int)16>(float *)", at(1)),
        ];
        assert_eq!(cycles(&matched(&ours, &demangled, &[])), [0.0, 1.0, 2.0]);
        let equal = [row(None, "_Z1kILi32EEvPf", at(0)), row(None, "_Z1kILi16EEvPf", at(1))];
        assert_eq!(cycles(&matched(&ours, &equal, &[])), [1.0, 2.0]);
        let base_only = [row(None, "k", at(0)), row(None, "k", at(1)), row(None, "k", at(2))];
        assert_eq!(cycles(&matched(&ours, &base_only, &[])), [0.0, 1.0, 2.0]);
        let three = [row(None, "k<1>", at(0)), row(None, "k<2>", at(0)), row(None, "k<3>", at(0))];
        assert_eq!(cycles(&matched(&ours, &three, &[])), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn processes_and_renames_choose() {
        let ours = ours(&[("a", "add"), ("b", "add"), ("b", "other")]);
        let mut by_process = row(None, "add", Which::Launch(0));
        by_process.process = Some("b".into());
        assert_eq!(cycles(&matched(&ours, &[by_process.clone()], &[])), [1.0]);
        by_process.process = Some("python3".into());
        let mut other = by_process.clone();
        other.process = Some("worker".into());
        assert_eq!(cycles(&matched(&ours, &[by_process, other], &[])), [0.0, 1.0]);
        let list = renames("reference,kernel,program\n# a comment\nmysgemmNT,add,b\nnobody,add,\n")
            .expect("a table");
        let found = matched(&ours, &[row(None, "mysgemmNT(int)", Which::Launch(0))], &list);
        assert_eq!((cycles(&found), found.notes.len()), (vec![1.0], 1));
        assert!(renames("a,b\n1,2\n").is_err());
    }
}
