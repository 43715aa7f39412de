//! Machines by name, as `--machine` describes them: a configuration, changed values, techniques.

use crate::config::{Loaded, builtin, load};
use crate::overrides::refuse_unused;
use crate::stats::EnergyTable;
use crate::techniques::{Catalogue, Techniques};
use serde::{Deserialize, Serialize};
use warplab_host::names;

/// A configuration with changed values and techniques, under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedMachine {
    /// Name in tables and charts.
    pub name: String,
    /// A built-in configuration, or a file ending in .toml.
    pub config: String,
    /// Techniques that are switched on.
    pub tech: Vec<String>,
    /// Overrides of the configuration.
    pub set: Vec<String>,
}

/// A machine that is ready to replay.
pub struct Ready {
    /// The configuration, with the origin of its values.
    pub loaded: Loaded,
    /// Its energy table.
    pub energy: EnergyTable,
    /// Its techniques.
    pub techniques: Techniques,
}

impl NamedMachine {
    /// Reads `NAME: ITEM, ITEM, …`: an item is a configuration (a name, or a file ending in .toml), a technique, or
    /// `path.to.key=value`. Without a configuration it is `config` with the overrides `set`. The name may be left out.
    ///
    /// ```
    /// use warplab_lab::named::NamedMachine;
    /// use warplab_lab::techniques::Catalogue;
    /// let parse = |text| NamedMachine::parse(text, "gtx480", &[], &Catalogue::of(warplab_techniques::BUILT_IN));
    /// let wide = parse("w5: bow, technique.bow.window=5")?;
    /// assert_eq!((wide.name.as_str(), wide.config.as_str()), ("w5", "gtx480"));
    /// assert_eq!(parse("qv100, sm.max_warps=32")?.name, "qv100 sm.max_warps=32");
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// An item that is none of these, or two configurations.
    pub fn parse(
        text: &str,
        config: &str,
        set: &[String],
        catalogue: &Catalogue,
    ) -> Result<NamedMachine, String> {
        let refuse = |why: String| format!("--machine \"{text}\": {why}");
        let (name, items) = match text.split_once(':') {
            Some((name, items)) => (Some(name.trim()), items),
            None => (None, text),
        };
        if name.is_some_and(str::is_empty) {
            return Err(refuse("there is no name before the colon".into()));
        }
        let (mut own, mut tech, mut changes) = (None, Vec::new(), Vec::new());
        for item in items_of(items) {
            let is_file = item.ends_with(".toml") && !item.contains('=');
            if item.is_empty() {
                return Err(refuse(
                    "an item is empty; expected a configuration, techniques and key=value".into(),
                ));
            } else if item.contains('=') {
                changes.push(item);
            } else if is_file || builtin::find(builtin::GPUS, &item).is_some() {
                if let Some(other) = own.replace(item.clone()) {
                    return Err(refuse(format!("{other} and {item} are two configurations")));
                }
            } else if catalogue.info(&item).is_some() {
                tech.push(item);
            } else {
                let known =
                    builtin::list(builtin::GPUS).into_iter().chain(catalogue.infos().map(|info| info.name));
                let guess = names::nearest(&item, known)
                    .map_or(String::new(), |near| format!("did you mean `{near}`? "));
                return Err(refuse(format!(
                    "`{item}` is no technique and no configuration; {guess}`timing list` shows both, and a file ends in .toml"
                )));
            }
        }
        let set = if own.is_some() { changes } else { [set, &changes].concat() };
        let config = own.unwrap_or_else(|| config.to_owned());
        let name = name.map_or_else(|| label(Some(&config), &tech, &set), str::to_owned);
        Ok(NamedMachine { name, config, tech, set })
    }

    /// Loads the configuration and builds the techniques.
    ///
    /// # Errors
    /// The configuration, the energy table or a technique is refused.
    pub fn ready(&self, catalogue: &Catalogue) -> Result<Ready, String> {
        // The values may be those of --set, of --machine or of --vary: they are named as they were written.
        let unnamed = |why: String| why.replace("--set ", "");
        let loaded = load(&self.config, &self.set).map_err(|why| unnamed(why.to_string()))?;
        refuse_unused(&self.set, &loaded.config).map_err(unnamed)?;
        let energy = EnergyTable::load(&loaded.config.energy)?;
        energy.check(catalogue.infos())?;
        let techniques = catalogue.select(&self.tech, &loaded.config).map_err(|why| why.to_string())?;
        Ok(Ready { loaded, energy, techniques })
    }
}

/// The items of a list with commas; commas in brackets and quotes belong to a value.
fn items_of(text: &str) -> Vec<String> {
    let (mut items, mut depth, mut quote) = (vec![String::new()], 0_usize, None);
    for c in text.chars() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = items.last_mut() {
            last.push(c);
        }
    }
    items.into_iter().map(|item| item.trim().to_owned()).collect()
}

/// Words that describe a machine: its configuration, techniques and overrides, such as `gtx480 bow window=5`.
#[must_use]
pub fn label(config: Option<&str>, tech: &[String], set: &[String]) -> String {
    let short = |item: &String| {
        let own = item.strip_prefix("technique.").and_then(|item| {
            let (name, rest) = item.split_once('.')?;
            // With one technique it is clear whose parameter it is.
            Some(if tech.len() == 1 && tech[0] == name { rest } else { item })
        });
        own.unwrap_or(item).to_owned()
    };
    let techniques = (!tech.is_empty()).then(|| tech.join("+"));
    let words: Vec<String> =
        config.map(str::to_owned).into_iter().chain(techniques).chain(set.iter().map(short)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<NamedMachine, String> {
        NamedMachine::parse(text, "gtx480", &["sm.max_warps=32".to_owned()], &crate::built_in())
    }

    #[test]
    fn items_are_told_apart() {
        let words = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let machine = |name: &str, config: &str, tech: &[&str], set: &[&str]| {
            let (name, config) = (name.to_owned(), config.to_owned());
            Ok(NamedMachine { name, config, tech: words(tech), set: words(set) })
        };
        let expected = machine("w5", "gtx480", &["bow"], &["sm.max_warps=32", "technique.bow.window=5"]);
        assert_eq!(parse("w5: bow, technique.bow.window=5"), expected);
        assert_eq!(parse("qv100"), machine("qv100", "qv100", &[], &[]), "overrides are those of --config");
        let expected = machine("mine/x.toml bow+corf", "mine/x.toml", &["bow", "corf"], &[]);
        assert_eq!(parse("mine/x.toml,bow,corf"), expected);
        assert_eq!(parse("a: qv100, k=[1,2], s=\"x,y\"").expect("read").set, ["k=[1,2]", "s=\"x,y\""]);
    }

    #[test]
    fn mistakes_are_named() {
        let why = |text: &str| parse(text).expect_err("refused");
        assert!(why("w5: bwo").contains("`bwo` is no technique and no configuration; did you mean `bow`?"));
        assert!(why("gtx480, qv100").contains("gtx480 and qv100 are two configurations"));
        assert!(why(": bow").contains("no name"));
        assert!(why("x: bow,").contains("an item is empty"));
    }
}
