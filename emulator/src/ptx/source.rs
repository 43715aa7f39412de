//! Source text and positions in it.
//!
//! Every token, instruction and diagnostic carries a byte [`Span`]; [`SourceFile`] turns spans into line
//! and column and gives back the line's text, so that faults found much later (at lowering, at run time)
//! can still show the PTX line.

/// A half-open byte range `start..end` of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Length in bytes.
    #[must_use]
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// The range of bytes, to index a text with.
    #[must_use]
    pub const fn bytes(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether the span covers no byte.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// A position for people: line and column count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineCol {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub col: u32,
}

impl std::fmt::Display for LineCol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.col)
    }
}

/// One PTX text with its name and line table.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceFile {
    name: String,
    text: String,
    /// Byte offset at which each line starts; the first is 0.
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// Takes a text and the name to show for it.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        let mut line_starts = vec![0];
        line_starts.extend(
            text.bytes()
                .enumerate()
                .filter(|&(_, byte)| byte == b'\n')
                .filter_map(|(at, _)| u32::try_from(at + 1).ok()),
        );
        Self { name: name.to_owned(), text: text.to_owned(), line_starts }
    }

    /// The name given at construction, usually a path.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; empty where the span does not lie on character boundaries of this file.
    #[must_use]
    pub fn snippet(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Line and column at which a span starts.
    #[must_use]
    pub fn line_col(&self, span: Span) -> LineCol {
        let line = self.line_starts.partition_point(|&start| start <= span.start).max(1);
        let start = self.line_starts[line - 1] as usize;
        let before = self.text.get(start..span.start as usize).unwrap_or("");
        let col = before.chars().count() + 1;
        LineCol { line: to_u32(line), col: to_u32(col) }
    }

    /// The text of a line counted from 1, without its line break; empty past the end.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        let Some(&start) = (line as usize).checked_sub(1).and_then(|at| self.line_starts.get(at)) else {
            return "";
        };
        let end = self.line_starts.get(line as usize).map_or(self.text.len(), |&next| next as usize);
        self.text.get(start as usize..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }
}

impl std::fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SourceFile({:?}, {} lines)", self.name, self.line_starts.len())
    }
}

fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
