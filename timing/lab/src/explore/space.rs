//! The settings to explore: machines, each with combinations of techniques, each with the values that vary.

use crate::config::load;
use crate::named::NamedMachine;
use crate::overrides::refuse_parameters;
use crate::sweep::{Vary, combinations, technique_of};
use crate::techniques::Catalogue;

/// What is explored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Machines to explore, with the overrides and techniques of their own; none for the one of the command.
    pub machines: Vec<NamedMachine>,
    /// Combinations of techniques.
    pub techniques: Vec<Vec<String>>,
    /// Whether each two of the techniques are combined as well, unless they contradict each other.
    pub pairs: bool,
    /// Keys that vary.
    pub vary: Vec<Vary>,
    /// Whether the first values of all keys belong together, the second ones, and so on.
    pub zip: bool,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Name in tables and charts, which no other point has.
    pub label: String,
    /// The configuration, whose plain machine it stands beside.
    pub config: String,
    /// Techniques; none for a machine alone.
    pub tech: Vec<String>,
    /// Overrides of the configuration that the plain machine does not have.
    pub set: Vec<String>,
}

/// The machine of the command: its configuration and its overrides, which other configurations do not have.
#[derive(Clone, Copy, Debug)]
pub struct Base<'a> {
    /// A built-in configuration, or a file.
    pub config: &'a str,
    /// Overrides.
    pub set: &'a [String],
}

impl Base<'_> {
    /// The overrides of the plain machine of a configuration.
    #[must_use]
    pub fn set_of(&self, config: &str) -> &[String] {
        if config == self.config { self.set } else { &[] }
    }
}

impl Space {
    /// Every point, checked on its configuration. Keys of a technique vary where it is switched on; other keys vary
    /// everywhere, also without techniques. A named machine is a point alone, unless it is a plain machine, and with each of
    /// the combinations.
    ///
    /// # Errors
    /// An unknown technique, key or value; a combination that contradicts itself; nothing to explore.
    pub fn points(&self, base: Base<'_>, catalogue: &Catalogue) -> Result<Vec<Point>, String> {
        self.check(base, catalogue)?;
        let chosen = combinations(&self.vary, self.zip)?;
        let alone =
            [NamedMachine { name: String::new(), config: base.config.to_owned(), tech: vec![], set: vec![] }];
        let machines = if self.machines.is_empty() { &alone[..] } else { &self.machines };
        let mut points: Vec<Point> = Vec::new();
        for machine in machines {
            for tech in self.combined(machine, base, catalogue)? {
                let applies =
                    |item: &&String| technique_of(item).is_none_or(|name| tech.iter().any(|one| one == name));
                for chosen in &chosen {
                    let chosen: Vec<String> = chosen.iter().filter(applies).cloned().collect();
                    let label = label(machine, &tech, &chosen);
                    let set = [&machine.set[..], &chosen].concat();
                    let point = Point { label, config: machine.config.clone(), tech: tech.clone(), set };
                    let plain = point.tech.is_empty() && point.set.is_empty();
                    let same = |other: &Point| {
                        (&other.config, &other.tech, &other.set) == (&point.config, &point.tech, &point.set)
                    };
                    if !plain && !points.iter().any(same) {
                        points.push(point);
                    }
                }
            }
        }
        for point in &points {
            let set = [base.set_of(&point.config), &point.set].concat();
            let config = load(&point.config, &set).map_err(|why| why.to_string())?.config;
            catalogue.select(&point.tech, &config).map_err(|why| why.to_string())?;
        }
        if points.is_empty() {
            return Err(
                "there is nothing to explore: name techniques with --tech, keys with --vary, or machines \
                        with --machine that differ from their configuration"
                    .into(),
            );
        }
        for at in 1..points.len() {
            let before = points[..at].iter().filter(|other| other.label == points[at].label).count();
            if before > 0 {
                points[at].label = format!("{} #{}", points[at].label, before + 1);
            }
        }
        Ok(points)
    }

    /// Mistakes that need no configuration.
    fn check(&self, base: Base<'_>, catalogue: &Catalogue) -> Result<(), String> {
        let named: Vec<String> = self.techniques.concat();
        let of_machines = self.machines.iter().flat_map(|machine| &machine.tech);
        let all: Vec<String> = named.iter().chain(of_machines).cloned().collect();
        refuse_parameters(base.set, &all, catalogue)?;
        for machine in &self.machines {
            refuse_parameters(&machine.set, &[&machine.tech[..], &named].concat(), catalogue)
                .map_err(|why| format!("--machine {}: {}", machine.name, why.trim_start_matches("--set ")))?;
        }
        let unused = |vary: &&Vary| vary.technique().is_some_and(|name| !all.iter().any(|one| one == name));
        match self.vary.iter().find(unused) {
            Some(vary) => Err(format!("{} varies, but no --tech names its technique", vary.key)),
            None => Ok(()),
        }
    }

    /// The lists of techniques of a machine: its own, and these with every combination.
    fn combined(
        &self,
        machine: &NamedMachine,
        base: Base<'_>,
        catalogue: &Catalogue,
    ) -> Result<Vec<Vec<String>>, String> {
        let with = |list: &Vec<String>| {
            let others = list.iter().filter(|name| !machine.tech.contains(name));
            machine.tech.iter().chain(others).cloned().collect::<Vec<String>>()
        };
        let pairs = if self.pairs { self.legal_pairs(machine, base, catalogue)? } else { Vec::new() };
        let lists =
            std::iter::once(machine.tech.clone()).chain(self.techniques.iter().chain(&pairs).map(with));
        Ok(lists.collect())
    }

    /// Each two of the techniques that are named alone, without those that contradict each other on a machine.
    fn legal_pairs(
        &self,
        machine: &NamedMachine,
        base: Base<'_>,
        catalogue: &Catalogue,
    ) -> Result<Vec<Vec<String>>, String> {
        // Parameters of techniques are read when a technique is selected; those of other techniques do not matter.
        let set = [base.set_of(&machine.config), &machine.set].concat();
        let config = load(&machine.config, &set).map_err(|why| why.to_string())?.config;
        let mut alone: Vec<&String> = self.techniques.iter().flatten().collect();
        alone.sort();
        alone.dedup();
        let mut pairs = Vec::new();
        for (at, first) in alone.iter().enumerate() {
            for second in &alone[at + 1..] {
                let pair = vec![(*first).clone(), (*second).clone()];
                let others = pair.iter().filter(|name| !machine.tech.contains(name));
                let all: Vec<String> = machine.tech.iter().chain(others).cloned().collect();
                if catalogue.select(&all, &config).is_ok() {
                    pairs.push(pair);
                }
            }
        }
        Ok(pairs)
    }
}

/// Name of a point: its machine if that has a name, the techniques and values that are not the machine's.
fn label(machine: &NamedMachine, tech: &[String], set: &[String]) -> String {
    let added: Vec<&str> =
        tech.iter().filter(|name| !machine.tech.contains(name)).map(String::as_str).collect();
    let name = match (machine.name.is_empty(), added.is_empty()) {
        (true, true) => "machine".to_owned(),
        (true, false) => added.join("+"),
        (false, true) => machine.name.clone(),
        (false, false) => format!("{} {}", machine.name, added.join("+")),
    };
    let short = |item: &String| {
        let item = item.strip_prefix("technique.").unwrap_or(item);
        tech.iter().find_map(|name| item.strip_prefix(&format!("{name}."))).unwrap_or(item).to_owned()
    };
    let settings: Vec<String> = set.iter().map(short).collect();
    if settings.is_empty() { name } else { format!("{name} {}", settings.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(tech: &[&[&str]], pairs: bool, vary: &[&str]) -> Result<Vec<String>, String> {
        let techniques = tech.iter().map(|all| all.iter().map(|one| (*one).to_owned()).collect()).collect();
        let vary = vary.iter().map(|text| Vary::parse(text)).collect::<Result<_, _>>()?;
        let space = Space { techniques, pairs, vary, ..Space::default() };
        let points = space.points(Base { config: "gtx480", set: &[] }, &crate::built_in())?;
        Ok(points.into_iter().map(|point| point.label).collect())
    }

    #[test]
    fn techniques_and_values_are_combined() {
        let found = points(&[&["bow"], &["corf"]], true, &["technique.bow.window=2,3"]);
        let expected = ["bow window=2", "bow window=3", "corf", "bow+corf window=2", "bow+corf window=3"];
        assert_eq!(found, Ok(expected.map(str::to_owned).to_vec()));
        let found = points(&[&["bow"]], false, &["collectors.ports=1,2", "technique.bow.window=3"]);
        let expected = [
            "machine collectors.ports=1",
            "machine collectors.ports=2",
            "bow collectors.ports=1 window=3",
            "bow collectors.ports=2 window=3",
        ];
        assert_eq!(found, Ok(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn machines_have_every_combination_and_stand_beside_their_configurations() {
        let catalogue = crate::built_in();
        let set = ["sm.max_blocks=4".to_owned()];
        let base = Base { config: "gtx480", set: &set };
        let machine = |text: &&str| NamedMachine::parse(text, base.config, &[], &catalogue).expect("read");
        let of = |machines: &[&str], tech: &[&str], vary: &[&str], zip: bool| {
            let techniques = tech.iter().map(|one| vec![(*one).to_owned()]).collect();
            let machines = machines.iter().map(machine).collect();
            let vary = vary.iter().map(|text| Vary::parse(text)).collect::<Result<_, _>>()?;
            Space { machines, techniques, vary, zip, pairs: false }.points(base, &catalogue)
        };
        let labels = |points: Result<Vec<Point>, String>| -> Vec<String> {
            points.expect("points").into_iter().map(|point| point.label).collect()
        };
        let machines = ["w5: bow, technique.bow.window=5", "qv100", "small: sm.max_warps=32"];
        let points = of(&machines, &["corf"], &[], false).expect("points");
        let found: Vec<_> = points.iter().map(|one| (one.label.as_str(), one.config.as_str())).collect();
        let expected = [
            ("w5", "gtx480"),
            ("w5 corf", "gtx480"),
            ("qv100 corf", "qv100"),
            ("small", "gtx480"),
            ("small corf", "gtx480"),
        ];
        assert_eq!(found, expected, "the QV100 alone is the plain machine that its point stands beside");
        assert_eq!(
            (&points[1].tech[..], &points[1].set[..]),
            (&["bow".to_owned(), "corf".to_owned()][..], &["technique.bow.window=5".to_owned()][..])
        );
        assert_eq!(base.set_of("qv100"), [""; 0]);
        let vary = ["technique.bow.window=2,3", "sm.max_warps=32,48"];
        let zipped = labels(of(&[], &["bow"], &vary, true));
        let expected = [
            "machine sm.max_warps=32",
            "machine sm.max_warps=48",
            "bow window=2 sm.max_warps=32",
            "bow window=3 sm.max_warps=48",
        ];
        assert_eq!(zipped, expected);
        let vary = ["technique.bow.window=2,3", "sm.max_warps=32"];
        let why = of(&[], &["bow"], &vary, true).expect_err("refused");
        assert!(why.contains("window has 2 values and sm.max_warps has 1"), "{why}");
        assert_eq!(labels(of(&["a: bow", "a: corf"], &[], &[], false)), ["a", "a #2"]);
        let why = of(&["qv100"], &[], &[], false).expect_err("refused");
        assert!(why.contains("nothing to explore"), "{why}");
        let why = of(&["w: technique.bow.window=5"], &[], &[], false).expect_err("refused");
        assert!(why.contains("--machine w") && why.contains("`bow` is not switched on"), "{why}");
    }

    #[test]
    fn pairs_leave_out_contradictions_and_named_ones_are_errors() {
        let found = points(&[&["bow"], &["bow-wr"], &["corf"]], true, &[]);
        let expected = ["bow", "bow-wr", "corf", "bow+corf"];
        assert_eq!(
            found,
            Ok(expected.map(str::to_owned).to_vec()),
            "BOW-WR and CORF both decide about results"
        );
        assert!(points(&[&["bow", "bow-wr"]], false, &[]).is_err_and(|why| why.contains("contradict")));
    }

    #[test]
    fn mistakes_are_named() {
        let why = |tech: &[&[&str]], vary: &[&str]| points(tech, false, vary).expect_err("refused");
        assert!(why(&[], &[]).contains("nothing to explore"));
        assert!(why(&[&["bow"]], &["technique.corf.shrink=true"]).contains("no --tech names its technique"));
        assert!(why(&[&["bow"]], &["technique.bow.window=2,99"]).contains("`window`: 99"));
        assert!(why(&[&["bow"]], &["technique.bow.window"]).contains("is not KEY=VALUE"));
        assert!(why(&[&["bow"]], &["technique.bow.window=2,"]).contains("is not KEY=VALUE"));
        assert!(why(&[&["bows"]], &[]).contains("unknown technique"));
        assert!(why(&[&["bow"]], &["collectors.port=2"]).contains("port"));
    }
}
