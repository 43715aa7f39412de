//! The reference of the book: what the programs themselves print about their commands, techniques and keys.

use std::path::Path;
use std::process::Command;

/// Columns of `--help` on a page.
const COLUMNS: &str = "96";
/// Characters of a line in tables, of which no cell may be broken.
const TABLE_COLUMNS: &str = "4096";

/// What a program prints.
fn printed(programs: &Path, words: &[&str], columns: &str) -> Result<String, String> {
    let shown = words.join(" ");
    let (program, arguments) = words.split_first().ok_or("no program")?;
    let done = Command::new(programs.join(program))
        .args(arguments)
        .env("COLUMNS", columns)
        .env_remove("CLICOLOR_FORCE")
        .output()
        .map_err(|e| format!("{shown}: {e}"))?;
    if !done.status.success() {
        return Err(format!("{shown}: {}", String::from_utf8_lossy(&done.stderr)));
    }
    String::from_utf8(done.stdout).map_err(|e| format!("{shown}: {e}"))
}

/// A program's `--help`, and that of each of its commands, under headings.
///
/// # Errors
/// The program cannot be run.
pub fn help(programs: &Path, program: &str) -> Result<String, String> {
    let mut text = String::new();
    add_help(programs, &[program], &mut text)?;
    Ok(text)
}

fn add_help(programs: &Path, words: &[&str], text: &mut String) -> Result<(), String> {
    let asked: Vec<&str> = words.iter().copied().chain(["--help"]).collect();
    let help = printed(programs, &asked, COLUMNS)?;
    if words.len() > 1 {
        *text += &format!("## `{}`\n\n", words.join(" "));
    }
    *text += &format!("```text\n{}\n```\n\n", help.trim_end());
    for command in commands(&help) {
        let longer: Vec<&str> = words.iter().copied().chain([command]).collect();
        add_help(programs, &longer, text)?;
    }
    Ok(())
}

/// The commands that a `--help` lists.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// What a command prints, with its tables as tables of Markdown.
///
/// # Errors
/// The program cannot be run.
pub fn tables(programs: &Path, words: &[&str]) -> Result<String, String> {
    Ok(sections(&printed(programs, words, TABLE_COLUMNS)?))
}

/// `timing list NAME` for every technique, under headings.
///
/// # Errors
/// The program cannot be run.
pub fn techniques(programs: &Path) -> Result<String, String> {
    let list = printed(programs, &["timing", "list"], TABLE_COLUMNS)?;
    let first = list.split("\n\n").next().unwrap_or_default();
    let mut out = String::new();
    for line in first.lines().skip(2) {
        let name = line.split_whitespace().next().unwrap_or_default();
        let text = tables(programs, &["timing", "list", name])?;
        out += &format!("## `{name}`\n\n{}", text.strip_prefix(&format!("{name}: ")).unwrap_or(&text));
    }
    Ok(out)
}

/// The tables of `timing list` as Markdown: a title, a header with the columns' names, rows; an empty line ends a table.
fn sections(text: &str) -> String {
    let mut out = String::new();
    for part in text.split("\n\n") {
        let lines: Vec<&str> = part.lines().filter(|line| !line.trim().is_empty()).collect();
        let header = lines.iter().position(|line| line.split_whitespace().take(2).eq(["name", "what"]));
        let Some(header) = header else {
            out +=
                &format!("{}\n\n", lines.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("  \n"));
            continue;
        };
        for title in &lines[..header] {
            out += &format!("### {}\n\n", escaped(title));
        }
        let columns = starts(lines[header]);
        let names: Vec<String> = cells(lines[header], &columns);
        out += &format!("| {} |\n|{}\n", names.join(" | "), "---|".repeat(columns.len()));
        for line in &lines[header + 1..] {
            let mut cells = cells(line, &columns);
            cells[0] = format!("`{}`", cells[0].replace("\\_", "_"));
            out += &format!("| {} |\n", cells.join(" | "));
        }
        out.push('\n');
    }
    out
}

/// Where the words of a header begin, in characters.
fn starts(header: &str) -> Vec<usize> {
    let characters: Vec<char> = header.chars().collect();
    let begins = |&at: &usize| characters[at] != ' ' && (at < 2 || characters[at - 2..at] == [' ', ' ']);
    (0..characters.len()).filter(begins).collect()
}

/// The cells of a line whose columns begin there.
fn cells(line: &str, columns: &[usize]) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    let ends = columns.iter().copied().skip(1).chain([characters.len()]);
    columns
        .iter()
        .zip(ends)
        .map(|(&from, to)| {
            let to = to.min(characters.len());
            escaped(characters[from.min(to)..to].iter().collect::<String>().trim())
        })
        .collect()
}

/// Text in which Markdown finds nothing to interpret.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*").replace('_', "\\_").replace('<', "&lt;").replace('[', "\\[")
}

/// `timing config keys` as a table for each table of the configuration.
///
/// # Errors
/// The program cannot be run, or its columns cannot be told apart.
pub fn keys(programs: &Path) -> Result<String, String> {
    let text = printed(programs, &["timing", "config", "keys"], TABLE_COLUMNS)?;
    let columns = key_columns(&text).ok_or("timing config keys: no columns")?;
    let mut out = String::new();
    let mut table = "";
    for line in text.lines() {
        let [key, accepts, doc] = &cells(line, &columns)[..] else { continue };
        let path = line.split_whitespace().next().unwrap_or("");
        let of = path.split_once('.').map_or("", |(table, _)| table);
        if of != table || out.is_empty() {
            table = of;
            let title = if table.is_empty() { "The file itself".to_owned() } else { format!("`[{table}]`") };
            out += &format!("\n## {title}\n\n| key | accepts | meaning |\n|---|---|---|\n");
        }
        out += &format!("| `{}` | {accepts} | {doc} |\n", key.replace("\\_", "_"));
    }
    Ok(out)
}

/// The columns of lines without a header: the first begins at 0, and the last begins in every line at the same place.
fn key_columns(text: &str) -> Option<Vec<usize>> {
    let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let first = lines.iter().map(|line| line.iter().position(|c| *c == ' ').unwrap_or(line.len())).max()? + 2;
    let begins = |at: usize| {
        lines.iter().all(|line| line.get(at).is_some_and(|c| *c != ' ') && line[at - 2..at] == [' ', ' '])
    };
    let shortest = lines.iter().map(Vec::len).min()?;
    let last = (first + 1..shortest).find(|&at| begins(at))?;
    Some(vec![0, first, last])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_help() {
        let help = "Does.\n\nUsage: x\n\nCommands:\n  run    Runs\n           more\n  of-it  Other\n  help   Print\n\nOptions:\n  -h\n";
        assert_eq!(commands(help), ["run", "of-it"]);
        assert_eq!(commands("Usage: x\n"), [""; 0]);
    }

    #[test]
    fn tables_keep_every_cell() {
        let text = "bow: forwards\nBOW\n\nParameters (--set x)\n name      what           values \n \
                    window    How | long.    1 to 8 \n b_c                      yes    \n\nStalls\n name  what \n s     t   \n";
        let expected = "bow: forwards  \nBOW\n\n### Parameters (--set x)\n\n| name | what | values |\n|---|---|---|\n\
                        | `window` | How \\| long. | 1 to 8 |\n| `b_c` |  | yes |\n\n\
                        ### Stalls\n\n| name | what |\n|---|---|\n| `s` | t |\n\n";
        assert_eq!(sections(text), expected);
    }

    #[test]
    fn keys_without_bounds_keep_their_meaning() {
        let text = "name            Name.\nsm.warps  1 to  Warps of it.\nsm.x            Other.\n";
        assert_eq!(key_columns(text), Some(vec![0, 10, 16]));
    }
}
