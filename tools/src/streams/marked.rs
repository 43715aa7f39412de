//! PTX whose instructions carry their own line numbers as debug information.

use std::fmt::Write;

/// The text with a `.loc` of its own line before each instruction, in place of those that it has. With
/// `ptxas -lineinfo`, which changes no code, machine instructions then name lines of the PTX.
#[must_use]
pub fn with_lines(ptx: &str) -> String {
    let mut marked = String::with_capacity(ptx.len() * 2);
    let mut scanner = Scanner::default();
    for (number, text) in (1..).zip(ptx.lines()) {
        let code = scanner.code(text);
        let code = code.trim();
        if [".file", ".loc", ".section"].iter().any(|word| is_directive(code, word)) && !scanner.in_section {
            // A section of debug information lasts to its closing brace.
            scanner.in_section = is_directive(code, ".section");
            continue;
        }
        if scanner.in_section {
            scanner.in_section = !code.ends_with('}');
            continue;
        }
        if scanner.depth > 0 && scanner.at_statement && begins_instruction(code) {
            let _ = writeln!(marked, ".loc 1 {number} 1");
        }
        marked.push_str(text);
        marked.push('\n');
        scanner.follow(code);
    }
    marked.push_str(".file 1 \"lines.ptx\"\n");
    marked
}

fn is_directive(code: &str, word: &str) -> bool {
    code.strip_prefix(word).is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

fn begins_instruction(code: &str) -> bool {
    let is_label = || code.strip_suffix(':').is_some_and(|name| !name.contains(char::is_whitespace));
    code.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '@' | '$' | '_')) && !is_label()
}

/// Where in the text the scan is.
#[derive(Default)]
struct Scanner {
    in_comment: bool,
    in_section: bool,
    /// Braces around, counted from a function's body.
    depth: u32,
    /// The text since the last statement, to recognise a function's head.
    head: String,
    at_statement: bool,
}

impl Scanner {
    /// A line without its comments.
    fn code(&mut self, line: &str) -> String {
        let mut code = String::new();
        let mut rest = line;
        loop {
            if self.in_comment {
                let Some(end) = rest.find("*/") else { return code };
                self.in_comment = false;
                rest = &rest[end + 2..];
            }
            let (start, is_block) = match (rest.find("/*"), rest.find("//")) {
                (Some(block), Some(line)) if block < line => (block, true),
                (_, Some(line)) => (line, false),
                (Some(block), None) => (block, true),
                (None, None) => {
                    code.push_str(rest);
                    return code;
                }
            };
            code.push_str(&rest[..start]);
            if !is_block {
                return code;
            }
            self.in_comment = true;
            rest = &rest[start + 2..];
        }
    }

    fn follow(&mut self, code: &str) {
        for c in code.chars() {
            match c {
                '{' if self.depth > 0 => self.depth += 1,
                '{' if self.head.contains(".entry") || self.head.contains(".func") => self.depth = 1,
                '}' => self.depth = self.depth.saturating_sub(1),
                ';' => {}
                _ => {
                    self.head.push(c);
                    continue;
                }
            }
            self.head.clear();
        }
        if let Some(last) = code.chars().last() {
            self.at_statement = matches!(last, ';' | '{' | '}' | ':');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_name_their_lines_and_nothing_else_does() {
        let ptx = ".version 8.0\n.target sm_75\n.global .b8 t[2] = {1,\n 2};\n.visible .entry k(\n .param .u64 p\n)\n{\n\
                   .reg .b32 %r<3>; // a comment; with a mark\n.loc 3 9 1\nmov.u32 %r1, 1;\n$L:\n@%p1 bra\n $L;\n\
                   /* mov.u32 %r1, 2;\n */ ret;\n}\n.file 3 \"a.cu\"\n.section .debug_loc {\n.b8 1\n}\n";
        let marked = with_lines(ptx);
        let lines: Vec<&str> = marked.lines().filter(|l| l.starts_with(".loc")).collect();
        assert_eq!(lines, [".loc 1 11 1", ".loc 1 13 1", ".loc 1 16 1"]);
        assert!(
            !marked.contains("a.cu") && !marked.contains("debug_loc") && marked.ends_with("\"lines.ptx\"\n")
        );
        let after =
            |line: &str| marked.lines().skip_while(|l| *l != line).nth(1).unwrap_or_default().to_owned();
        assert_eq!(after(".loc 1 11 1"), "mov.u32 %r1, 1;");
        assert_eq!(after(".loc 1 13 1"), "@%p1 bra");
    }
}
