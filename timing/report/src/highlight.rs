//! Light syntax colouring for code blocks and listings: comments, strings, numbers, keywords.
//!
//! A scanner, not a parser: it colours what is certain from single tokens and leaves the rest. It
//! only ever wraps escaped text in spans.

use crate::text::escape;

/// Language of a code block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// No colouring.
    #[default]
    Plain,
    /// CUDA C++ and PTX.
    Cuda,
    /// TOML and shell: `#` comments, strings, numbers.
    Config,
}

const CUDA_KEYWORDS: [&str; 50] = [
    "__constant__",
    "__device__",
    "__global__",
    "__host__",
    "__launch_bounds__",
    "__restrict__",
    "__shared__",
    "__syncthreads",
    "auto",
    "blockDim",
    "blockIdx",
    "bool",
    "break",
    "case",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "gridDim",
    "half",
    "if",
    "inline",
    "int",
    "int32_t",
    "int64_t",
    "long",
    "return",
    "short",
    "signed",
    "size_t",
    "static",
    "struct",
    "switch",
    "template",
    "threadIdx",
    "typename",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "unsigned",
    "void",
    "while",
];

/// Colours lines one after the other, remembering open block comments.
#[derive(Default)]
pub(crate) struct Highlighter {
    language: Language,
    in_comment: bool,
}

impl Highlighter {
    pub(crate) fn new(language: Language) -> Self {
        Self { language, in_comment: false }
    }

    /// One line (without its newline) as HTML.
    pub(crate) fn line(&mut self, line: &str) -> String {
        if self.language == Language::Plain {
            return escape(line);
        }
        let mut out = String::with_capacity(line.len() * 2);
        let mut rest = line;
        while !rest.is_empty() {
            let (class, length) = self.token(rest);
            let (token, tail) = rest.split_at(length);
            match class {
                Some(class) => {
                    out.push_str(&format!("<span class=\"{class}\">{}</span>", escape(token)));
                }
                None => out.push_str(&escape(token)),
            }
            rest = tail;
        }
        out
    }

    /// Class and byte length of the token at the start of `rest`, which is not empty.
    fn token(&mut self, rest: &str) -> (Option<&'static str>, usize) {
        let c_like = self.language == Language::Cuda;
        if self.in_comment || c_like && rest.starts_with("/*") {
            let from = if self.in_comment { 0 } else { 2 };
            let end = rest[from..].find("*/").map(|at| from + at + 2);
            self.in_comment = end.is_none();
            return (Some("hc"), end.unwrap_or(rest.len()));
        }
        if rest.starts_with(if c_like { "//" } else { "#" }) {
            return (Some("hc"), rest.len());
        }
        let first = rest.chars().next().unwrap_or(' ');
        if first == '"' || first == '\'' {
            return (Some("hs"), quoted(rest, first));
        }
        let word = |c: char| c.is_alphanumeric() || c == '_';
        if word(first) {
            let number = first.is_ascii_digit();
            let part = |c: char| word(c) || number && c == '.';
            let length = rest.find(|c| !part(c)).unwrap_or(rest.len());
            let keyword = c_like && CUDA_KEYWORDS.binary_search(&&rest[..length]).is_ok();
            return (if number { Some("hn") } else { keyword.then_some("hk") }, length);
        }
        if c_like && rest.starts_with('#') {
            return (Some("hk"), rest[1..].find(|c| !word(c)).map_or(rest.len(), |at| at + 1));
        }
        // Everything up to the next character that could begin a token.
        let stop = |c: char| word(c) || matches!(c, '"' | '\'' | '/' | '#');
        let length = rest.char_indices().skip(1).find(|&(_, c)| stop(c)).map_or(rest.len(), |(at, _)| at);
        (None, length)
    }
}

/// Length of the quoted string at the start, closing quote included if there is one.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_for_the_search() {
        assert!(CUDA_KEYWORDS.is_sorted());
    }

    #[test]
    fn tokens_are_coloured_and_escaped() {
        let mut h = Highlighter::new(Language::Cuda);
        assert_eq!(
            h.line("if (a < 10) s = \"</x>\"; // <b>"),
            "<span class=\"hk\">if</span> (a &lt; <span class=\"hn\">10</span>) s = \
             <span class=\"hs\">&quot;&lt;/x&gt;&quot;</span>; <span class=\"hc\">// &lt;b&gt;</span>"
        );
        assert_eq!(h.line("x /* open"), "x <span class=\"hc\">/* open</span>");
        assert_eq!(h.line("still */ y"), "<span class=\"hc\">still */</span> y");
    }
}
