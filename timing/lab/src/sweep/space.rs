//! What is swept: machines, each with lists of techniques, each with the values that vary.

use super::vary::{MOST_POINTS, Vary, combinations, technique_of};
use crate::named::{NamedMachine, Ready, label};
use crate::store::Key;
use crate::techniques::Catalogue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is swept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// The machines; at least one.
    pub machines: Vec<NamedMachine>,
    /// Lists of techniques, each of which is switched on on every machine; none for the machines as they are.
    pub techniques: Vec<Vec<String>>,
    /// Keys that vary.
    pub vary: Vec<Vary>,
    /// Whether the first values of all keys belong together, the second ones, and so on, instead of every value of one key
    /// with every value of the others.
    pub zip: bool,
}

/// A machine at one place of the space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Name in charts, which no other point has.
    pub label: String,
    /// The machine.
    pub machine: NamedMachine,
    /// Values of the keys that vary or that a named machine changes, where they apply.
    pub values: BTreeMap<String, String>,
    /// Position of the same machine without techniques; its own if it has none.
    pub baseline: usize,
    /// Hash of all that decides about a replay; points with the same hash have the same results. Empty if there is an error.
    pub identity: String,
    /// Why the point cannot be replayed.
    pub error: Option<String>,
}

/// A machine, its techniques, and overrides of its values.
type Wanted<'a> = (&'a NamedMachine, Vec<String>, Vec<String>);

impl Space {
    /// Every point. A key of a technique varies where the technique is switched on, other keys vary everywhere. The machine
    /// without techniques comes before the first point that has some, once for each combination of the other values.
    ///
    /// # Errors
    /// A key or technique that no point can have, keys of different length with `zip`, too many points.
    pub fn points(&self, catalogue: &Catalogue) -> Result<Vec<Point>, String> {
        self.check()?;
        let mut points = Points { catalogue, found: Vec::new(), several: self.machines.len() > 1 };
        for (machine, tech, chosen) in self.wanted()? {
            let machine = NamedMachine { tech, ..machine.clone() };
            points.add(&machine, &chosen);
        }
        let Points { mut found, .. } = points;
        self.refuse_mistakes(&found)?;
        // Labels are names: two machines may have been given the same one.
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for point in &mut found {
            let count = taken.entry(point.label.clone()).or_default();
            *count += 1;
            if *count > 1 {
                point.label = format!("{} #{count}", point.label);
            }
        }
        Ok(found)
    }

    /// Keys of all parameters: those that vary, and those that named machines change.
    #[must_use]
    pub fn parameters(&self, points: &[Point]) -> Vec<String> {
        let mut keys: Vec<String> = self.vary.iter().map(|vary| vary.key.clone()).collect();
        for key in points.iter().flat_map(|point| point.values.keys()) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        keys
    }

    /// Mistakes that need no configuration.
    fn check(&self) -> Result<(), String> {
        for vary in &self.vary {
            let named = || {
                self.machines.iter().flat_map(|machine| &machine.tech).chain(self.techniques.iter().flatten())
            };
            if let Some(name) = vary.technique().filter(|name| !named().any(|one| one == name)) {
                return Err(format!(
                    "{} varies, but no --tech names its technique; add --tech {name}",
                    vary.key
                ));
            }
        }
        Ok(())
    }

    /// Every machine with its techniques and overrides, in order; those that are the same more than once.
    fn wanted(&self) -> Result<Vec<Wanted<'_>>, String> {
        let combinations = combinations(&self.vary, self.zip)?;
        let mut wanted = Vec::new();
        for machine in &self.machines {
            let lists: Vec<Vec<String>> = match self.techniques.as_slice() {
                [] => vec![machine.tech.clone()],
                lists => lists.iter().map(|list| [&machine.tech[..], list].concat()).collect(),
            };
            for tech in lists {
                let mut seen: Vec<Vec<String>> = Vec::new();
                for chosen in &combinations {
                    let applies = |item: &&String| {
                        technique_of(item).is_none_or(|name| tech.iter().any(|one| one == name))
                    };
                    let chosen: Vec<String> = chosen.iter().filter(applies).cloned().collect();
                    if !seen.contains(&chosen) {
                        wanted.push((machine, tech.clone(), chosen.clone()));
                        seen.push(chosen);
                    }
                }
                if wanted.len() > MOST_POINTS {
                    return Err(format!("the space has more than {MOST_POINTS} points"));
                }
            }
        }
        Ok(wanted)
    }

    /// Refuses a space in which a key, a list of techniques or a machine works nowhere: that is a mistake. What some
    /// combinations refuse becomes an error of these.
    fn refuse_mistakes(&self, points: &[Point]) -> Result<(), String> {
        let refuse = |of: &dyn Fn(&Point) -> bool| {
            let mut those = points.iter().filter(|point| of(point)).peekable();
            let first = those.peek().and_then(|point| point.error.clone());
            if those.all(|point| point.error.is_some()) { first.map_or(Ok(()), Err) } else { Ok(()) }
        };
        refuse(&|_| true)?;
        self.vary.iter().try_for_each(|vary| refuse(&|point| point.values.contains_key(&vary.key)))?;
        self.machines.iter().try_for_each(|machine| refuse(&|point| point.machine.name == machine.name))?;
        let mut lists = self.techniques.iter();
        lists.try_for_each(|list| refuse(&|point| !list.is_empty() && point.machine.tech.ends_with(list)))
    }
}

/// The points found so far.
struct Points<'a> {
    catalogue: &'a Catalogue,
    found: Vec<Point>,
    /// Whether there are several machines, whose names then belong to the labels.
    several: bool,
}

impl Points<'_> {
    /// Adds a machine with varied values, after its baseline.
    fn add(&mut self, machine: &NamedMachine, chosen: &[String]) {
        let mut point = self.point(machine, chosen);
        if !machine.tech.is_empty() {
            let keeps = |item: &&String| technique_of(item).is_none();
            let set: Vec<String> = machine.set.iter().filter(keeps).cloned().collect();
            let name = unnamed(&machine.config, &set);
            let plain = NamedMachine { name, config: machine.config.clone(), tech: Vec::new(), set };
            let plain = self.point(&plain, &chosen.iter().filter(keeps).cloned().collect::<Vec<_>>());
            // A machine that is refused has no identity; then it is the same if it is described alike.
            let alike = |other: &Point| match plain.error {
                None => other.identity == plain.identity,
                Some(_) => other.machine == plain.machine,
            };
            let same = |other: &Point| other.machine.tech.is_empty() && alike(other);
            point.baseline = match self.found.iter().position(same) {
                Some(known) => known,
                None => self.push(plain),
            };
            self.found.push(point);
        } else if let Some(known) = self.found.iter_mut().find(|known| {
            let same = known.identity == point.identity && known.machine.tech.is_empty();
            // A baseline that another machine needed gets the name that the user gave it.
            same && point.error.is_none()
                && [&unnamed(&machine.config, &machine.set), &point.machine.name]
                    .contains(&&known.machine.name)
        }) {
            point.baseline = known.baseline;
            *known = point;
        } else {
            self.push(point);
        }
    }

    /// Adds a point that is its own baseline, and returns its position.
    fn push(&mut self, point: Point) -> usize {
        self.found.push(Point { baseline: self.found.len(), ..point });
        self.found.len() - 1
    }

    fn point(&self, machine: &NamedMachine, chosen: &[String]) -> Point {
        let set = [&machine.set[..], chosen].concat();
        let values = set.iter().filter_map(|item| item.split_once('='));
        let values = values.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect();
        let own = NamedMachine { set, ..machine.clone() };
        // A machine that `--machine` named has its techniques in its name, or is called otherwise.
        let name = self.several.then_some(machine.name.as_str());
        let mut words = label(name, &machine.tech, chosen);
        if words.is_empty() || machine.tech.is_empty() && !self.several {
            words = format!("baseline {words}").trim_end().to_owned();
        }
        Point { values, ..Point::new(words, own, self.catalogue) }
    }
}

/// Name of a machine that nobody named: its configuration with what is changed.
fn unnamed(config: &str, set: &[String]) -> String {
    label(Some(config), &[], set)
}

impl Point {
    /// A machine as a point, beside the first point of a plan as its baseline.
    #[must_use]
    pub fn new(label: String, machine: NamedMachine, catalogue: &Catalogue) -> Point {
        let (identity, error) = match machine.ready(catalogue) {
            Ok(ready) => (identity(&ready, &machine.tech), None),
            Err(why) => (String::new(), Some(why)),
        };
        Point { label, machine, values: BTreeMap::new(), baseline: 0, identity, error }
    }
}

/// Hash of all that decides about a replay on a machine. Names and descriptions do not, and a parameter that is given its
/// default is no change.
fn identity(ready: &Ready, tech: &[String]) -> String {
    let mut config = ready.loaded.config.clone();
    config.name.clear();
    config.description.clear();
    let sections = std::mem::take(&mut config.technique);
    let key = Key::default().with(format!("{config:?}").as_bytes());
    let mut key = key.with(format!("{:?}", ready.energy).as_bytes());
    for technique in &ready.techniques {
        key = key.with(technique.info().name.as_bytes());
        for (name, value) in technique.params() {
            key = key.with(format!("{name}={value}").as_bytes());
        }
    }
    // A technique may have values that it does not list.
    for name in tech {
        let listed = ready.techniques.iter().find(|technique| technique.info().name == name);
        let listed = listed.map_or(Vec::new(), |technique| technique.params());
        for (field, value) in sections.get(name).into_iter().flatten() {
            if !listed.iter().any(|(known, _)| known == field) {
                key = key.with(format!("{name}.{field}={value}").as_bytes());
            }
        }
    }
    key.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(machines: &[&str], tech: &[&[&str]], vary: &[&str], zip: bool) -> Result<Vec<Point>, String> {
        let catalogue = crate::built_in();
        let machine = |text: &&str| NamedMachine::parse(text, "titanx-pascal", &[], &catalogue);
        let space = Space {
            machines: machines.iter().map(machine).collect::<Result<_, _>>()?,
            techniques: tech.iter().map(|all| all.iter().map(|one| (*one).to_owned()).collect()).collect(),
            vary: vary.iter().map(|text| Vary::parse(text)).collect::<Result<_, _>>()?,
            zip,
        };
        space.points(&catalogue)
    }

    fn labels(points: &[Point]) -> Vec<&str> {
        points.iter().map(|point| point.label.as_str()).collect()
    }

    #[test]
    fn every_value_meets_every_other_and_the_baseline_is_there_once() {
        let vary = ["technique.bow.window=2..7", "sm.max_warps=32,64"];
        let points = space(&["gtx480", "qv100"], &[&["bow"]], &vary, false).expect("points");
        assert_eq!(points.len(), 2 * 2 * (1 + 6));
        let plain: Vec<_> = points.iter().filter(|point| point.machine.tech.is_empty()).collect();
        assert_eq!(plain.len(), 4);
        for point in &points {
            let base = &points[point.baseline];
            assert!(base.machine.tech.is_empty() && base.machine.config == point.machine.config);
            assert_eq!(base.values.get("sm.max_warps"), point.values.get("sm.max_warps"));
            assert!(!base.values.contains_key("technique.bow.window"));
        }
        assert_eq!(points[0].label, "gtx480 sm.max_warps=32");
        assert_eq!(points[1].label, "gtx480 bow window=2 sm.max_warps=32");
    }

    #[test]
    fn a_baseline_that_is_refused_is_there_once() {
        // No block fits 16 warps of a GTX 480 that promises blocks of 1024 threads.
        let vary = ["technique.bow.window=2..4", "sm.max_warps=16,48"];
        let points = space(&["gtx480"], &[&["bow"]], &vary, false).expect("points");
        assert_eq!(points.len(), 2 * (1 + 3), "{:?}", labels(&points));
        assert_eq!(points.iter().filter(|point| point.error.is_some()).count(), 4);
    }

    #[test]
    fn values_are_taken_by_position_on_request() {
        let vary = ["technique.bow.window=2,3", "sm.max_warps=32,64"];
        let points = space(&["gtx480"], &[&["bow"]], &vary, true).expect("points");
        let expected = [
            "baseline sm.max_warps=32",
            "bow window=2 sm.max_warps=32",
            "baseline sm.max_warps=64",
            "bow window=3 sm.max_warps=64",
        ];
        assert_eq!(labels(&points), expected);
        let why = space(&["gtx480"], &[&["bow"]], &["technique.bow.window=2,3", "sm.max_warps=32"], true);
        assert!(why.expect_err("refused").contains("window has 2 values and sm.max_warps has 1"));
    }

    #[test]
    fn named_machines_share_a_baseline() {
        let machines =
            ["w4: bow, technique.bow.window=4", "w5: bow, technique.bow.window=5", "small: sm.max_warps=32"];
        let points = space(&machines, &[], &[], false).expect("points");
        assert_eq!(labels(&points), ["titanx-pascal", "w4 bow", "w5 bow", "small"]);
        assert_eq!(points.iter().map(|point| point.baseline).collect::<Vec<_>>(), [0, 0, 0, 3]);
        assert_eq!(points[2].values["technique.bow.window"], "5");
        // A machine that is named and is the baseline of another is there once, under its name.
        let points = space(&["w4: bow", "plain: titanx-pascal"], &[], &[], false).expect("points");
        assert_eq!(labels(&points), ["plain", "w4 bow"]);
    }

    #[test]
    fn a_default_value_is_the_same_point_and_names_do_not_count() {
        let points =
            space(&["bow", "bow, technique.bow.window=3", "bow, technique.bow.window=4"], &[], &[], false);
        let points = points.expect("points");
        assert_eq!(points[1].identity, points[2].identity);
        assert_ne!(points[1].identity, points[3].identity);
        let points = space(&["a: sm.max_warps=64", "b: titanx-pascal"], &[], &[], false).expect("points");
        assert_eq!(points[0].identity, points[1].identity);
    }

    #[test]
    fn what_works_nowhere_is_a_mistake_and_what_some_refuse_is_an_error_of_theirs() {
        let why =
            |tech: &[&[&str]], vary: &[&str]| space(&["gtx480"], tech, vary, false).expect_err("refused");
        assert!(why(&[&["bows"]], &[]).contains("unknown technique"));
        assert!(why(&[&["bow"]], &["technique.bow.windows=2"]).contains("windows"));
        assert!(why(&[&["bow"]], &["collectors.port=2"]).contains("port"));
        assert!(why(&[], &["technique.bow.window=2"]).contains("add --tech bow"));
        assert!(why(&[&["bow"]], &["sm.max_warps=32", "sm.max_warps=64"]).contains("varies twice"));
        let points = space(&["gtx480"], &[&["bow"]], &["technique.bow.window=2,99"], false).expect("points");
        assert_eq!(points.iter().filter(|point| point.error.is_some()).count(), 1);
        assert!(points[2].error.as_ref().is_some_and(|why| why.contains("99")));
    }
}
