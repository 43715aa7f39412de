//! The examples of a Markdown page: its fenced blocks, and what a reader is to do with each.
//!
//! In a block `console`, lines that begin with `$ ` are commands, and the lines below a command are what it prints. In a
//! block `sh`, every line is a command. Other blocks are text for the reader, unless a comment in front of the block
//! says what becomes of them:
//!
//! | comment | meaning |
//! |---|---|
//! | `<!-- book: write PATH -->` | the reader writes the block into this file |
//! | `<!-- book: insert PATH after TEXT -->` | the reader inserts it there, below the last line that contains the text |
//! | `<!-- book: replace PATH line TEXT -->` | the reader replaces the last line there that contains the text |
//! | `<!-- book: equals PATH -->` | the block is a copy of this file of the checkout, or of its end |
//! | `<!-- book: needs TOOL -->` | the block is skipped where the tool is missing |
//! | `<!-- book: long REASON -->` | the block takes minutes, and is run only on demand |
//! | `<!-- book: from here long REASON -->` | so do all blocks below |
//! | `<!-- book: skip REASON -->` | the block is not run |
//! | `<!-- book: run COMMAND -->` | a command that readers do not see, run at this place |

use std::iter::Peekable;
use std::str::Lines;
use test_kit::Tool;

/// A command of a page, and what the page says that it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The page's line of the command, from 1.
    pub line: usize,
    /// What the shell is given; several lines if they end in a backslash.
    pub text: String,
    /// The lines below it; none if the page shows no output.
    pub shown: Vec<String>,
}

/// What becomes of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its commands are run.
    Run(Vec<Command>),
    /// It is written into a file, relative to the folder in which the reader is.
    Write(String),
    /// It is inserted into a file below the last line that contains a text.
    Insert(String, String),
    /// It replaces that line.
    Replace(String, String),
}

/// A block of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The page's line of the fence, from 1.
    pub line: usize,
    /// The word behind the fence.
    pub language: String,
    /// The text between the fences.
    pub text: String,
    /// What becomes of it; nothing if it is only there to be read.
    pub action: Option<Action>,
    /// A file of the checkout that it is a copy of.
    pub equals: Option<String>,
    /// Tools without which it is skipped.
    pub needs: Vec<Tool>,
    /// Whether it takes minutes.
    pub long: bool,
}

/// The comments in front of a block.
#[derive(Default)]
struct Notes {
    edit: Option<Action>,
    equals: Option<String>,
    needs: Vec<Tool>,
    long: bool,
    skip: bool,
}

/// The blocks of a page, in order.
///
/// # Errors
/// A comment that is not understood, or a fence that is not closed, with its line.
pub fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut found = Vec::new();
    let mut notes = Notes::default();
    let mut all_long = false;
    let mut lines = page.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            let (text, first) = fenced(&mut lines, at)?;
            notes.long |= all_long;
            found.push(notes.block(first, language, text)?);
            notes = Notes::default();
        } else if let Some(note) = line.strip_prefix("<!-- book: ") {
            let note = note.strip_suffix("-->").ok_or_else(|| format!("line {}: no `-->`", at + 1))?.trim();
            if let Some(command) = note.strip_prefix("run ") {
                found.push(Block { long: all_long, ..hidden(at + 1, command) });
            } else if note.starts_with("from here long ") {
                all_long = true;
            } else {
                notes.add(note).map_err(|why| format!("line {}: {why}", at + 1))?;
            }
        } else if !line.is_empty() {
            notes = Notes::default();
        }
    }
    Ok(found)
}

/// The text up to the closing fence, and the line of the opening one.
fn fenced<'a>(
    lines: &mut Peekable<impl Iterator<Item = (usize, &'a str)>>,
    at: usize,
) -> Result<(String, usize), String> {
    let mut text = String::new();
    for (_, line) in lines.by_ref() {
        if line.trim_end() == "```" {
            return Ok((text, at + 1));
        }
        text += line;
        text.push('\n');
    }
    Err(format!("line {}: the block has no end", at + 1))
}

fn hidden(line: usize, command: &str) -> Block {
    let command = Command { line, text: command.to_owned(), shown: Vec::new() };
    Block {
        line,
        language: "sh".into(),
        text: command.text.clone(),
        action: Some(Action::Run(vec![command])),
        equals: None,
        needs: Vec::new(),
        long: false,
    }
}

impl Notes {
    fn add(&mut self, note: &str) -> Result<(), String> {
        let (word, rest) = note.split_once(' ').unwrap_or((note, ""));
        match word {
            "write" => self.edit = Some(Action::Write(rest.to_owned())),
            "insert" => {
                let (path, text) = rest.split_once(" after ").ok_or("insert PATH after TEXT")?;
                self.edit = Some(Action::Insert(path.to_owned(), text.to_owned()));
            }
            "replace" => {
                let (path, text) = rest.split_once(" line ").ok_or("replace PATH line TEXT")?;
                self.edit = Some(Action::Replace(path.to_owned(), text.to_owned()));
            }
            "equals" => self.equals = Some(rest.to_owned()),
            "needs" => self.needs.extend(test_kit::required(rest)?),
            "long" if !rest.is_empty() => self.long = true,
            "skip" if !rest.is_empty() => self.skip = true,
            _ => return Err(format!("`{note}` is no comment that blocks.rs lists")),
        }
        Ok(())
    }

    fn block(&self, line: usize, language: &str, text: String) -> Result<Block, String> {
        let action = match (&self.edit, language) {
            _ if self.skip => None,
            (Some(edit), _) => Some(edit.clone()),
            (None, "console") => Some(Action::Run(console(&text, line)?)),
            (None, "sh") => Some(Action::Run(shell(&text, line))),
            (None, _) => None,
        };
        let (equals, needs, long) = (self.equals.clone(), self.needs.clone(), self.long);
        Ok(Block { line, language: language.to_owned(), text, action, equals, needs, long })
    }
}

/// The commands of a block `console`.
fn console(text: &str, fence: usize) -> Result<Vec<Command>, String> {
    let mut commands: Vec<Command> = Vec::new();
    let mut lines = text.lines().zip(fence + 1..);
    while let Some((line, at)) = lines.next() {
        if let Some(command) = line.strip_prefix("$ ") {
            let mut text = command.to_owned();
            while text.ends_with('\\') {
                let (more, _) = lines.next().ok_or_else(|| format!("line {at}: the command has no end"))?;
                text.push('\n');
                text += more;
            }
            commands.push(Command { line: at, text, shown: Vec::new() });
        } else {
            let command = commands.last_mut().ok_or_else(|| format!("line {at}: output before a command"))?;
            command.shown.push(line.to_owned());
        }
    }
    Ok(commands)
}

/// The commands of a block `sh`: a command may go on after a backslash or in an indented line.
fn shell(text: &str, fence: usize) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut lines: Lines<'_> = text.lines();
    let mut at = fence;
    while let Some(line) = lines.next() {
        at += 1;
        if line.trim().is_empty() {
            continue;
        }
        let mut text = line.to_owned();
        let first = at;
        while text.ends_with('\\') {
            let Some(more) = lines.next() else { break };
            at += 1;
            text.push('\n');
            text += more;
        }
        commands.push(Command { line: first, text, shown: Vec::new() });
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_has_commands_and_what_they_print() {
        let page = "text\n```console\n$ a \\\n  b\n$ c\none\n⋮\n```\n";
        let found = blocks(page).unwrap();
        let command = |line, text: &str, shown: &[&str]| Command {
            line,
            text: text.to_owned(),
            shown: shown.iter().map(|&line| line.to_owned()).collect(),
        };
        let expected = vec![command(3, "a \\\n  b", &[]), command(5, "c", &["one", "⋮"])];
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].action, Some(Action::Run(expected)));
    }

    #[test]
    fn comments_say_what_becomes_of_the_next_block() {
        let page = "<!-- book: write a/b.rs -->\n<!-- book: equals c.rs -->\n\n```rust\nx\n```\n\
                    ```toml\ny\n```\n<!-- book: needs nvcc -->\n```sh\nmake\n\nrun # fast\n```\n\
                    <!-- book: skip of a machine with a GPU -->\n```sh\nncu\n```\n<!-- book: run cd x -->\n\
                    <!-- book: insert m.rs after mod a; -->\n```rust\nmod z;\n```\n";
        let found = blocks(page).unwrap();
        assert_eq!(found[0].action, Some(Action::Write("a/b.rs".into())));
        assert_eq!(found[0].equals.as_deref(), Some("c.rs"));
        assert_eq!((&found[1].action, &found[1].equals), (&None, &None));
        assert_eq!(found[2].needs, [Tool::Nvcc]);
        let Some(Action::Run(commands)) = &found[2].action else { panic!("not run") };
        assert_eq!(
            commands.iter().map(|c| (c.line, &*c.text)).collect::<Vec<_>>(),
            [(12, "make"), (14, "run # fast")]
        );
        assert_eq!(found[3].action, None);
        assert!(matches!(&found[4].action, Some(Action::Run(one)) if one[0].text == "cd x"));
        assert_eq!(found[5].action, Some(Action::Insert("m.rs".into(), "mod a;".into())));
        assert!(found.iter().all(|block| !block.long));
    }

    #[test]
    fn blocks_that_take_minutes_are_marked_one_by_one_or_from_a_place_on() {
        let page = "<!-- book: long it builds -->\n```sh\na\n```\n```sh\nb\n```\n\
                    <!-- book: from here long all build -->\ntext\n<!-- book: run c -->\n```sh\nd\n```\n";
        let long: Vec<bool> = blocks(page).unwrap().iter().map(|block| block.long).collect();
        assert_eq!(long, [true, false, true, true]);
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        for (page, why) in [
            ("\n```sh\nx\n", "line 2: the block has no end"),
            ("<!-- book: skip -->\n", "line 1: `skip` is no comment that blocks.rs lists"),
            ("<!-- book: needs nvc -->\n", "line 1: WARPLAB_REQUIRE: there is no tool `nvc`"),
            ("```console\nout\n```\n", "line 2: output before a command"),
        ] {
            let said = blocks(page).expect_err(page);
            assert!(said.starts_with(why), "{said}");
        }
    }
}
