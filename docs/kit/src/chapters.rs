//! Prepares the chapters of the book for mdBook.
//!
//! A line of its own in a chapter brings in what is kept elsewhere, so that nothing is written twice:
//!
//! | line | in its place |
//! |---|---|
//! | `{{page PATH}}` | a page of the checkout |
//! | `{{section PATH "HEADING"}}` | a section of one, with its subsections |
//! | `{{help PROGRAM}}` | `--help` of a program and of each of its commands |
//! | `{{tables COMMAND}}` | the tables that a command of `timing list` prints |
//! | `{{each-technique}}`, `{{keys}}` | `timing list NAME` for every technique; `timing config keys` |
//!
//! Links are relative to the page that they are written in. Here they come to lead to the chapter that shows the file, and
//! to the repository if none does; a link to a file that is not there is an error.

use crate::{checkout, reference};
use regex::{Captures, Regex};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

/// The folder of the book's own chapters, in the checkout.
const CHAPTERS: &str = "docs/src";

/// A file of the checkout, or a section of it by its anchor.
type Place = (PathBuf, Option<String>);

/// Takes mdBook's input for a preprocessor, and gives the prepared book.
///
/// # Errors
/// What a chapter names is not there, or a program cannot be run.
pub fn prepare(input: &str) -> Result<String, String> {
    let mut input: Value = serde_json::from_str(input).map_err(|e| format!("mdBook's input: {e}"))?;
    let repository = input[0]["config"]["output"]["html"]["git-repository-url"].as_str();
    let repository = repository.ok_or("book.toml names no git-repository-url")?.to_owned();
    let mut shown = BTreeMap::new();
    each_chapter(&mut input[1], &mut |chapter, text| {
        shown.insert((normal(&Path::new(CHAPTERS).join(chapter)), None), PathBuf::from(chapter));
        for line in text.lines() {
            let place = match Insert::of(line) {
                Some(Insert::Page(path)) => (normal(Path::new(path)), None),
                Some(Insert::Section(path, heading)) => (normal(Path::new(path)), Some(anchor(heading))),
                _ => continue,
            };
            shown.insert(place, PathBuf::from(chapter));
        }
        Ok(())
    })?;
    let links = Links { repository, shown };
    each_chapter(&mut input[1], &mut |chapter, text| {
        *text = prepared(text, chapter, &links).map_err(|why| format!("{chapter}: {why}"))?;
        Ok(())
    })?;
    Ok(input[1].to_string())
}

/// Calls a function with the path and the text of every chapter.
fn each_chapter(
    book: &mut Value,
    call: &mut impl FnMut(&str, &mut String) -> Result<(), String>,
) -> Result<(), String> {
    match book {
        Value::Array(items) => items.iter_mut().try_for_each(|item| each_chapter(item, call)),
        Value::Object(map) => {
            let path = map.get("path").and_then(Value::as_str).map(str::to_owned);
            if let (Some(path), Some(Value::String(text))) = (path, map.get_mut("content")) {
                call(&path, text)?;
            }
            map.values_mut().try_for_each(|value| each_chapter(value, call))
        }
        _ => Ok(()),
    }
}

/// A line that brings in something.
enum Insert<'a> {
    Page(&'a str),
    Section(&'a str, &'a str),
    Help(&'a str),
    Tables(&'a str),
    EachTechnique,
    Keys,
}

impl Insert<'_> {
    fn of(line: &str) -> Option<Insert<'_>> {
        let inside = line.strip_prefix("{{")?.strip_suffix("}}")?;
        let (word, rest) = inside.split_once(' ').unwrap_or((inside, ""));
        match word {
            "page" => Some(Insert::Page(rest)),
            "section" => {
                let (path, heading) = rest.split_once(' ')?;
                Some(Insert::Section(path, heading.trim_matches('"')))
            }
            "help" => Some(Insert::Help(rest)),
            "tables" => Some(Insert::Tables(rest)),
            "each-technique" => Some(Insert::EachTechnique),
            "keys" => Some(Insert::Keys),
            _ => None,
        }
    }
}

/// A chapter with all that it brings in, and links for the book.
fn prepared(text: &str, chapter: &str, links: &Links) -> Result<String, String> {
    let own = Path::new(CHAPTERS).join(chapter);
    let mut out = String::new();
    let mut written = String::new();
    for line in text.lines() {
        let Some(insert) = Insert::of(line) else {
            written += line;
            written.push('\n');
            continue;
        };
        out += &links.rewritten(&std::mem::take(&mut written), &own, chapter)?;
        out += &inserted(&insert, chapter, links)?;
        out.push('\n');
    }
    out += &links.rewritten(&written, &own, chapter)?;
    Ok(out)
}

fn inserted(insert: &Insert<'_>, chapter: &str, links: &Links) -> Result<String, String> {
    let read =
        |path: &str| fs::read_to_string(checkout::root().join(path)).map_err(|e| format!("{path}: {e}"));
    match insert {
        Insert::Page(path) => links.rewritten(&read(path)?, Path::new(path), chapter),
        Insert::Section(path, heading) => {
            let text = read(path)?;
            let part = section(&text, heading).ok_or_else(|| format!("{path} has no section {heading}"))?;
            links.rewritten(&part, Path::new(path), chapter)
        }
        Insert::Help(program) => reference::help(&checkout::programs()?, program),
        Insert::Tables(command) => {
            reference::tables(&checkout::programs()?, &command.split_whitespace().collect::<Vec<_>>())
        }
        Insert::EachTechnique => reference::techniques(&checkout::programs()?),
        Insert::Keys => reference::keys(&checkout::programs()?),
    }
}

/// A section of a page with its subsections, its heading as the first level.
fn section(page: &str, heading: &str) -> Option<String> {
    let level = |line: &str| line.starts_with('#').then(|| line.chars().take_while(|c| *c == '#').count());
    let is_it = |line: &str| level(line).is_some() && line.trim_start_matches('#').trim() == heading;
    let mut fenced = false;
    let mut depth = None;
    let mut out = String::new();
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        match (depth, level(line).filter(|_| !fenced)) {
            (None, Some(found)) if is_it(line) => depth = Some(found),
            (Some(depth), Some(found)) if found <= depth => break,
            _ => {}
        }
        if let Some(depth) = depth {
            let heading = level(line).is_some() && !fenced;
            out += if heading { &line[depth - 1..] } else { line };
            out.push('\n');
        }
    }
    depth.map(|_| out)
}

/// Where the links of the book lead.
struct Links {
    repository: String,
    /// The chapter that shows a file or a section.
    shown: BTreeMap<Place, PathBuf>,
}

impl Links {
    /// A text from a file of the checkout, with its links for a chapter. Comments for [`crate::blocks`] are left out.
    fn rewritten(&self, text: &str, from: &Path, chapter: &str) -> Result<String, String> {
        static LINK: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?m)(\]\(|^\[[^\]]+\]: )([^)\s]+)").expect("a pattern"));
        let mut wrong = None;
        let mut out = String::new();
        let mut fenced = false;
        for line in text.lines() {
            fenced ^= line.trim_start().starts_with("```");
            if fenced {
                out += line;
            } else if !line.starts_with("<!-- book: ") {
                out += &LINK.replace_all(line, |found: &Captures<'_>| {
                    let target = self.target(&found[2], from, chapter).unwrap_or_else(|why| {
                        wrong = Some(why);
                        String::new()
                    });
                    format!("{}{target}", &found[1])
                });
            }
            out.push('\n');
        }
        wrong.map_or(Ok(out), Err)
    }

    /// What a link of a file becomes in a chapter.
    fn target(&self, link: &str, from: &Path, chapter: &str) -> Result<String, String> {
        if link.contains("://") || link.starts_with("mailto:") {
            return Ok(link.to_owned());
        }
        let (path, section) = link.split_once('#').map_or((link, None), |(path, at)| (path, Some(at)));
        let file = match path {
            "" => from.to_path_buf(),
            path => normal(&from.parent().unwrap_or(Path::new("")).join(path)),
        };
        if !checkout::root().join(&file).exists() {
            return Err(format!("{} links to {link}, which is not there", from.display()));
        }
        let anchored = section.map_or_else(String::new, |at| format!("#{at}"));
        let of_section = section.and_then(|at| self.shown.get(&(file.clone(), Some(at.to_owned()))));
        let whole = self.shown.get(&(file.clone(), None));
        // mdBook copies pictures that lie beside the chapters.
        let picture = file
            .strip_prefix(CHAPTERS)
            .ok()
            .filter(|file| file.extension().is_some_and(|kind| kind == "svg"));
        Ok(match (of_section, whole.map(PathBuf::as_path).or(picture)) {
            (Some(to), _) => between(chapter, to),
            (None, Some(to)) => between(chapter, to) + &anchored,
            (None, None) => format!("{}/blob/main/{}{anchored}", self.repository, file.display()),
        })
    }
}

/// The link from a chapter to another, or to a picture.
fn between(from: &str, to: &Path) -> String {
    let up = Path::new(from).components().count().saturating_sub(1);
    format!("{}{}", "../".repeat(up), to.display())
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = |c: char| (c.is_alphanumeric() || c == '_' || c == '-').then_some(c);
    heading.to_lowercase().replace(' ', "-").chars().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Links {
        let shown = [
            (("timing/technique/README.md".into(), None), "guides/technique.md".into()),
            (("README.md".into(), Some("launch-manifests".into())), "guides/manifests.md".into()),
        ];
        Links { repository: "https://x/y".into(), shown: shown.into() }
    }

    #[test]
    fn links_lead_to_chapters_and_to_the_repository() {
        let text = "[a](src/lib.rs) [b](../../README.md#launch-manifests), [c](README.md#top)\n```\n[d](gone)\n```\n\
                    <!-- book: skip it -->\n[e]: src/context.rs\n[f](https://z)\n";
        let got = links().rewritten(text, Path::new("timing/technique/README.md"), "concepts/sm.md").unwrap();
        assert_eq!(
            got,
            "[a](https://x/y/blob/main/timing/technique/src/lib.rs) [b](../guides/manifests.md), \
             [c](../guides/technique.md#top)\n```\n[d](gone)\n```\n\n\
             [e]: https://x/y/blob/main/timing/technique/src/context.rs\n[f](https://z)\n"
        );
    }

    #[test]
    fn pictures_of_the_book_stay_where_they_are() {
        let text = "![a](accuracy-base-clock.svg)\n";
        let got = links()
            .rewritten(text, Path::new("docs/src/project/accuracy.md"), "project/accuracy.md")
            .unwrap();
        assert_eq!(got, "![a](../project/accuracy-base-clock.svg)\n");
    }

    #[test]
    fn a_link_to_nothing_is_an_error() {
        let wrong = links().rewritten("[a](gone.rs)", Path::new("timing/README.md"), "a.md").unwrap_err();
        assert_eq!(wrong, "timing/README.md links to gone.rs, which is not there");
    }

    #[test]
    fn a_section_ends_at_the_next_of_its_level() {
        let page = "# T\n## A\na\n```sh\n# no heading\n```\n### B\nb\n## C\nc\n";
        assert_eq!(section(page, "A").unwrap(), "# A\na\n```sh\n# no heading\n```\n## B\nb\n");
        assert_eq!(section(page, "B").unwrap(), "# B\nb\n");
        assert_eq!(section(page, "D"), None);
    }

    #[test]
    fn every_chapter_is_prepared_at_any_depth() {
        let input = r##"[{"config": {"output": {"html": {"git-repository-url": "https://x/y"}}}}, {"items": [
            {"PartTitle": "P"}, {"Chapter": {"path": "a.md", "content": "[g](b/c.md)", "sub_items": [
                {"Chapter": {"path": "b/c.md", "content": "{{section LICENSE-MIT.md \"X\"}}", "sub_items": []}}]}}]}]"##;
        assert!(prepare(input).unwrap_err().contains("a.md: docs/src/a.md links to b/c.md"));
        let input = input.replace("[g](b/c.md)", "[g](../../LICENSE-MIT)");
        assert!(prepare(&input).unwrap_err().starts_with("b/c.md: LICENSE-MIT.md: "));
        let input = input.replace("{{section LICENSE-MIT.md \\\"X\\\"}}", "{{page ARCHITECTURE.md}}");
        let output = prepare(&input).unwrap();
        assert!(
            output.contains("https://x/y/blob/main/LICENSE-MIT") && output.contains("## Glossary"),
            "{output}"
        );
    }
}
