//! Sizes of a manifest: `[sizes.NAME]` gives some scalars other values. The scalars as they are written are the
//! size `test`.

use super::error::ManifestError;
use super::node::{Node, Value};

/// The name of the size that the scalars have as they are written.
const DEFAULT: &str = "test";

/// Puts the values of a size in place of those of `[scalars]`; returns whether another size than the default
/// was chosen.
///
/// # Errors
/// A manifest without this size, or any size that names no scalar.
pub(super) fn choose(root: &mut Node, file: &str, size: Option<&str>) -> Result<bool, ManifestError> {
    let mut chosen = None;
    let mut names = vec![DEFAULT.to_owned()];
    if let Some(sizes) = root.get("sizes") {
        for (name, values) in entries(sizes, "sizes", file)? {
            if name == DEFAULT {
                let what = format!("the size `{DEFAULT}` is that of [scalars]");
                return Err(error(sizes, "sizes", file, what).with_help("give this size another name"));
            }
            let key = format!("sizes.{name}");
            let values = entries(values, &key, file)?;
            let scalars = root.get("scalars").map_or_else(Vec::new, Node::keys);
            if let Some((unknown, node)) =
                values.iter().find(|(scalar, _)| !scalars.contains(&scalar.as_str()))
            {
                let known = if scalars.is_empty() { "none".into() } else { scalars.join(", ") };
                let what = format!("there is no scalar `{unknown}`");
                return Err(
                    error(node, &key, file, what).with_help(format!("scalars of this manifest: {known}"))
                );
            }
            if size == Some(name) {
                chosen = Some(values.to_vec());
            }
            names.push(name.clone());
        }
    }
    let Some(size) = size.filter(|name| *name != DEFAULT) else { return Ok(false) };
    let Some(chosen) = chosen else {
        let guess = warplab_host::names::perhaps(size, names.iter().map(String::as_str));
        let error = ManifestError::file(file, format!("there is no size `{size}`{guess}"));
        return Err(error.with_help(format!("sizes of this manifest: {}", names.join(", "))));
    };
    if let Value::Table(entries) = &mut root.value
        && let Some((_, Node { value: Value::Table(scalars), .. })) =
            entries.iter_mut().find(|(key, _)| key == "scalars")
    {
        for (name, node) in chosen {
            if let Some((_, old)) = scalars.iter_mut().find(|(known, _)| *known == name) {
                *old = node;
            }
        }
    }
    Ok(true)
}

fn entries<'n>(node: &'n Node, key: &str, file: &str) -> Result<&'n [(String, Node)], ManifestError> {
    match &node.value {
        Value::Table(entries) => Ok(entries),
        _ => Err(error(node, key, file, format!("it is {}, a table is expected", node.kind()))),
    }
}

fn error(node: &Node, key: &str, file: &str, what: String) -> ManifestError {
    ManifestError { place: Some(node.place.clone()), key: key.into(), ..ManifestError::file(file, what) }
}

#[cfg(test)]
mod tests {
    use super::super::{Manifest, Place};
    use std::path::Path;

    const SIZES: &str = r#"
[scalars]
n = 100
m = "n*2"
[sizes.paper]
n = 4096
[[launch]]
kernel = "k"
grid = "m"
block = 64
"#;

    fn load(
        text: &str,
        size: Option<&str>,
        sets: &[&str],
    ) -> Result<Manifest, crate::manifest::ManifestError> {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        Manifest::parse(Path::new("dir/app.toml"), text, size, &sets)
    }

    #[test]
    fn a_size_changes_scalars_and_overrides_come_after_it() {
        let grid = |size, sets: &[&str]| load(SIZES, size, sets).unwrap().launches[0].grid[0];
        assert_eq!(grid(None, &[]), 200);
        assert_eq!(grid(Some("test"), &[]), 200);
        assert_eq!(grid(Some("paper"), &[]), 8192);
        assert_eq!(grid(Some("paper"), &["m=7"]), 7);
        assert!(!load(SIZES, Some("test"), &[]).unwrap().overridden);
        assert!(load(SIZES, Some("paper"), &[]).unwrap().overridden);
    }

    #[test]
    fn mistakes_are_told_with_the_sizes_that_there_are() {
        let told = load(SIZES, Some("huge"), &[]).unwrap_err().to_string();
        assert!(told.contains("no size `huge`") && told.contains("test, paper"), "{told}");
        for (from, to, line, told) in [
            ("n = 4096", "k = 4096", 6, "scalars of this manifest: n, m"),
            ("[sizes.paper]", "[sizes.test]", 5, "is that of [scalars]"),
            ("[sizes.paper]\nn = 4096", "[sizes]\npaper = 3", 6, "a table is expected"),
        ] {
            let error = load(&SIZES.replace(from, to), None, &[]).unwrap_err();
            assert!(error.to_string().contains(told), "{error}");
            assert_eq!(error.place, Some(Place::Line(line)), "{error}");
        }
    }
}
