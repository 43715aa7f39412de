//! The settings to explore: combinations of techniques, each with every combination of the values that vary.

use crate::config::load;
use crate::sweep::Vary;
use crate::techniques::Catalogue;

/// What is explored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Combinations of techniques.
    pub techniques: Vec<Vec<String>>,
    /// Whether each two of the techniques are combined as well, unless they contradict each other.
    pub pairs: bool,
    /// Keys that vary.
    pub vary: Vec<Vary>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Name in tables and charts.
    pub label: String,
    /// Techniques; none for a machine alone.
    pub tech: Vec<String>,
    /// Overrides of the configuration.
    pub set: Vec<String>,
}

impl Space {
    /// Every point, checked on a configuration. Keys of a technique vary where it is switched on; other keys vary everywhere,
    /// also without techniques.
    ///
    /// # Errors
    /// An unknown technique, key or value; a combination that contradicts itself; nothing to explore.
    pub fn points(&self, machine: &str, set: &[String], catalogue: &Catalogue) -> Result<Vec<Point>, String> {
        let mut combinations = self.techniques.clone();
        if self.pairs {
            combinations.extend(self.legal_pairs(machine, set, catalogue)?);
        }
        if self.vary.iter().any(|vary| vary.technique().is_none()) {
            combinations.insert(0, Vec::new());
        }
        if let Some(unused) = self.vary.iter().find(|vary| {
            vary.technique().is_some_and(|name| !combinations.iter().flatten().any(|one| one == name))
        }) {
            return Err(format!("{} varies, but no --tech names its technique", unused.key));
        }
        let mut points: Vec<Point> = Vec::new();
        for tech in &combinations {
            let varied: Vec<&Vary> = self
                .vary
                .iter()
                .filter(|vary| vary.technique().is_none_or(|name| tech.iter().any(|one| one == name)))
                .collect();
            for chosen in products(&varied) {
                let point = Point { label: label(tech, &chosen), tech: tech.clone(), set: chosen };
                if points.iter().all(|other| (&other.tech, &other.set) != (&point.tech, &point.set)) {
                    points.push(point);
                }
            }
        }
        for point in &points {
            let config = load(machine, &[set, &point.set].concat()).map_err(|why| why.to_string())?.config;
            catalogue.select(&point.tech, &config).map_err(|why| why.to_string())?;
        }
        if points.is_empty() {
            return Err("there is nothing to explore: name techniques with --tech or keys with --vary".into());
        }
        Ok(points)
    }

    /// Each two of the techniques that are named alone, without those that contradict each other.
    fn legal_pairs(
        &self,
        machine: &str,
        set: &[String],
        catalogue: &Catalogue,
    ) -> Result<Vec<Vec<String>>, String> {
        let config = load(machine, set).map_err(|why| why.to_string())?.config;
        let mut alone: Vec<&String> = self.techniques.iter().flatten().collect();
        alone.sort();
        alone.dedup();
        let mut pairs = Vec::new();
        for (at, first) in alone.iter().enumerate() {
            for second in &alone[at + 1..] {
                let pair = vec![(*first).clone(), (*second).clone()];
                if catalogue.select(&pair, &config).is_ok() {
                    pairs.push(pair);
                }
            }
        }
        Ok(pairs)
    }
}

/// Every combination of one value of each key, as overrides.
fn products(vary: &[&Vary]) -> Vec<Vec<String>> {
    vary.iter().fold(vec![Vec::new()], |chosen, vary| {
        let with = |before: &Vec<String>, value: &String| {
            let mut all = before.clone();
            all.push(format!("{}={value}", vary.key));
            all
        };
        chosen.iter().flat_map(|before| vary.values.iter().map(move |value| with(before, value))).collect()
    })
}

fn label(tech: &[String], set: &[String]) -> String {
    let name = if tech.is_empty() { "machine".to_owned() } else { tech.join("+") };
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
        let space = Space { techniques, pairs, vary };
        let points = space.points("gtx480", &[], &Catalogue::built_in())?;
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
