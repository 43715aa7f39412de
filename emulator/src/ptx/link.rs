//! Linking: several PTX texts become one, as `nvlink` makes one program of relocatable device code.
//!
//! Linking happens on text, before parsing, so that all later stages see only one module. A symbol that is
//! defined in one text and `.extern` in another is resolved when both are in one text; names without linkage
//! that several texts use are made distinct; of `.weak` definitions the first stays, unless there is one that
//! is not weak. What a text's own errors are is the parser's business.

use super::diagnostic::Diagnostics;
use super::lexer::{Punct, Token, TokenKind, lex};
use super::module::Linkage;
use super::source::SourceFile;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// What only NVIDIA's device runtime calls: the driver.
const DRIVER: &str = "__cuda_syscall_cnpv2LaunchDevice";

/// Whether a text is NVIDIA's device runtime.
#[must_use]
pub fn is_nvidias_runtime(text: &str) -> bool {
    text.contains(DRIVER)
}

/// Why texts cannot be linked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkError {
    /// Two texts define the same symbol.
    #[error("`{symbol}` is defined in {first} and in {second}")]
    Twice {
        /// What is defined twice.
        symbol: String,
        /// Name of the first text.
        first: String,
        /// Name of the second.
        second: String,
    },
    /// A text declares a function, to call it, otherwise than another one defines it.
    #[error(
        "`{function}` is declared with {declared} at {caller}, but defined with {defined} at {definer}\n  help: give both \
         files the same declaration of the function"
    )]
    Prototype {
        /// Name of the function.
        function: String,
        /// The declaration.
        declared: Box<Prototype>,
        /// Where that is, with its line.
        caller: String,
        /// The definition.
        defined: Box<Prototype>,
        /// Where that is, with its line.
        definer: String,
    },
}

/// Bytes of a function's results and parameters, which have to be the same where it is called and where it is defined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prototype {
    results: Vec<u64>,
    parameters: Vec<u64>,
}

impl std::fmt::Display for Prototype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |sizes: &[u64]| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        match &self.parameters[..] {
            [] => f.write_str("no parameters")?,
            sizes => write!(f, "parameters of {} bytes", list(sizes))?,
        }
        match &self.results[..] {
            [] => f.write_str(" and no result"),
            sizes => write!(f, " and a result of {} bytes", list(sizes)),
        }
    }
}

/// Something at a text's top level.
struct Item {
    tokens: std::ops::Range<usize>,
    linkage: Linkage,
    /// Names that it declares.
    names: Vec<String>,
    /// Whether it is only a declaration of a symbol that is defined elsewhere.
    declares_only: bool,
}

/// A text to link with others.
struct LinkedText<'t> {
    name: &'t str,
    text: &'t str,
    tokens: Vec<Token>,
    items: Vec<Item>,
    version: (u32, u32),
    target: Option<String>,
}

/// Links several texts into one; each has a name for error messages. NVIDIA's device runtime is omitted,
/// since ours replaces it.
///
/// # Errors
/// When two texts define the same symbol.
pub fn link(texts: &[(&str, &str)]) -> Result<String, LinkError> {
    let texts: Vec<(&str, &str)> =
        texts.iter().copied().filter(|(_, text)| !is_nvidias_runtime(text)).collect();
    if let [(_, text)] = texts[..] {
        return Ok(text.to_owned());
    }
    let texts: Vec<LinkedText<'_>> = texts.iter().map(|&(name, text)| LinkedText::scan(name, text)).collect();
    let chosen = choose(&texts)?;
    compare_prototypes(&texts, &chosen)?;
    let renamed = rename(&texts);
    let version = texts.iter().map(|u| u.version).max().unwrap_or_default();
    let target = texts.iter().find_map(|u| u.target.clone()).unwrap_or_else(|| "sm_75".into());
    let mut linked = format!(".version {}.{}\n.target {target}\n.address_size 64\n", version.0, version.1);
    for (at, text) in texts.iter().enumerate() {
        let _ = writeln!(linked, "\n// ---- {}", text.name.replace(['\n', '\r'], " "));
        for item in &text.items {
            let is_chosen = |name: &String| chosen.get(name.as_str()).is_none_or(|&by| by == at);
            if item.declares_only || item.names.iter().all(is_chosen) {
                text.write(item, &renamed[at], &mut linked);
            }
        }
    }
    Ok(linked)
}

/// The items of a library that define symbols that a text only declares, and all items that these use: a text
/// to append.
#[must_use]
pub fn missing_from(text: &str, library: &str) -> String {
    let (text, library) = (LinkedText::scan("text", text), LinkedText::scan("library", library));
    let names = |items: &mut dyn Iterator<Item = &Item>| -> HashSet<String> {
        items.flat_map(|i| i.names.iter().cloned()).collect()
    };
    let defined = names(&mut text.items.iter().filter(|i| !i.declares_only));
    let declared = names(&mut text.items.iter().filter(|i| i.declares_only));
    let mut wanted: Vec<String> = declared.difference(&defined).cloned().collect();
    let mut known = names(&mut text.items.iter());
    let mut chosen = vec![false; library.items.len()];
    while let Some(name) = wanted.pop() {
        let is_it = |i: &Item| i.names.contains(&name) && !(i.declares_only && declared.contains(&name));
        let Some(at) = library.items.iter().position(is_it) else { continue };
        if std::mem::replace(&mut chosen[at], true) {
            continue;
        }
        let words = &library.tokens[library.items[at].tokens.clone()];
        let words = words.iter().filter(|t| t.kind == TokenKind::Word).map(|t| &library.text[t.span.bytes()]);
        wanted.extend(words.filter(|word| known.insert((*word).to_owned())).map(str::to_owned));
    }
    let mut missing = String::new();
    for (item, _) in library.items.iter().zip(chosen).filter(|(_, chosen)| *chosen) {
        library.write(item, &HashMap::new(), &mut missing);
    }
    missing
}

/// The text whose definition is kept, for each symbol with linkage.
fn choose<'u>(texts: &'u [LinkedText<'_>]) -> Result<HashMap<&'u str, usize>, LinkError> {
    let mut chosen: HashMap<&str, (usize, Linkage)> = HashMap::new();
    for (at, text) in texts.iter().enumerate() {
        let definitions = text.items.iter().filter(|i| !i.declares_only && i.linkage != Linkage::Internal);
        for item in definitions {
            for name in &item.names {
                match chosen.get(name.as_str()) {
                    Some(&(first, earlier)) if first != at => {
                        let both_strong = earlier != Linkage::Weak && item.linkage != Linkage::Weak;
                        if both_strong && earlier != Linkage::Common && item.linkage != Linkage::Common {
                            return Err(LinkError::Twice {
                                symbol: name.clone(),
                                first: texts[first].name.to_owned(),
                                second: text.name.to_owned(),
                            });
                        }
                        if earlier == Linkage::Weak && item.linkage != Linkage::Weak {
                            chosen.insert(name, (at, item.linkage));
                        }
                    }
                    _ => {
                        chosen.insert(name, (at, item.linkage));
                    }
                }
            }
        }
    }
    Ok(chosen.into_iter().map(|(name, (at, _))| (name, at)).collect())
}

/// Compares the functions that texts declare with the definitions that the linked text has.
fn compare_prototypes(texts: &[LinkedText<'_>], chosen: &HashMap<&str, usize>) -> Result<(), LinkError> {
    let defines = |item: &&Item, name: &String| !item.declares_only && item.names.contains(name);
    for (at, text) in texts.iter().enumerate() {
        for declaration in text.items.iter().filter(|i| i.declares_only) {
            let [name] = &declaration.names[..] else { continue };
            let Some(&by) = chosen.get(name.as_str()).filter(|&&by| by != at) else { continue };
            let definition = texts[by].items.iter().find(|item| defines(item, name));
            let Some(definition) = definition else { continue };
            let (declared, defined) = (text.prototype(declaration), texts[by].prototype(definition));
            if let (Some(declared), Some(defined)) = (declared, defined)
                && declared != defined
            {
                let function = name.clone();
                let (caller, definer) = (text.place(declaration), texts[by].place(definition));
                let (declared, defined) = (Box::new(declared), Box::new(defined));
                return Err(LinkError::Prototype { function, declared, caller, defined, definer });
            }
        }
    }
    Ok(())
}

/// New names of each text's symbols without linkage that other texts use too.
fn rename(texts: &[LinkedText<'_>]) -> Vec<HashMap<String, String>> {
    let mut users: HashMap<&str, usize> = HashMap::new();
    for text in texts {
        let mut names: Vec<&str> =
            text.items.iter().flat_map(|i| i.names.iter().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            *users.entry(name).or_default() += 1;
        }
    }
    let of_text = |(at, text): (usize, &LinkedText<'_>)| {
        let local = text.items.iter().filter(|i| i.linkage == Linkage::Internal).flat_map(|i| &i.names);
        let clashing = local.filter(|name| users[name.as_str()] > 1);
        clashing.map(|name| (name.clone(), format!("{name}$unit{at}"))).collect()
    };
    texts.iter().enumerate().map(of_text).collect()
}

/// Bytes of a value of a fundamental type, such as `.b32`.
fn bytes(ty: &str) -> Option<u64> {
    let bits: u64 = match ty {
        ".f16x2" | ".bf16x2" => 32,
        ".bf16" => 16,
        ".pred" => 8,
        _ => ty.strip_prefix('.')?.strip_prefix(['b', 'u', 's', 'f'])?.parse().ok()?,
    };
    Some(bits / 8)
}

impl<'t> LinkedText<'t> {
    fn scan(name: &'t str, text: &'t str) -> LinkedText<'t> {
        // Lexical errors are found again, with their place, when the linked text is parsed.
        let mut ignored = Diagnostics::new(Arc::new(SourceFile::new(name, text)));
        let tokens = lex(text, &mut ignored);
        let mut scanned = LinkedText { name, text, tokens, items: Vec::new(), version: (0, 0), target: None };
        let mut at = 0;
        while scanned.tokens[at].kind != TokenKind::End {
            at = scanned.directive(at).unwrap_or_else(|| scanned.item(at));
        }
        scanned
    }

    fn word(&self, at: usize) -> &'t str {
        let span = self.tokens[at.min(self.tokens.len() - 1)].span;
        &self.text[span.bytes()]
    }

    fn kind(&self, at: usize) -> TokenKind {
        self.tokens[at.min(self.tokens.len() - 1)].kind
    }

    /// Passes a directive of the text's head; returns where it ends.
    fn directive(&mut self, at: usize) -> Option<usize> {
        match self.word(at) {
            ".version" => {
                let mut parts = self.word(at + 1).split('.').map(|n| n.parse().unwrap_or(0));
                self.version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
                Some(at + 2)
            }
            ".target" => {
                let mut end = at + 2;
                while self.kind(end) == TokenKind::Punct(Punct::Comma) {
                    end += 2;
                }
                let target = self.word(at + 1).to_owned();
                self.target.get_or_insert(target);
                Some(end)
            }
            ".address_size" => Some(at + 2),
            _ => None,
        }
    }

    /// Takes one item; returns where it ends.
    fn item(&mut self, start: usize) -> usize {
        let mut linkage = Linkage::Internal;
        let (mut is_function, mut depth, mut after_assign) = (false, 0u32, false);
        let mut names: Vec<String> = Vec::new();
        let mut has_body = false;
        let mut at = start;
        loop {
            let kind = self.kind(at);
            match kind {
                TokenKind::End => break,
                TokenKind::Dot if depth == 0 => match self.word(at) {
                    ".extern" => linkage = Linkage::Extern,
                    ".visible" => linkage = Linkage::Visible,
                    ".weak" => linkage = Linkage::Weak,
                    ".common" => linkage = Linkage::Common,
                    ".func" | ".entry" => is_function = true,
                    _ => {}
                },
                TokenKind::Word if depth == 0 && !after_assign && (!is_function || names.is_empty()) => {
                    names.push(self.word(at).to_owned());
                }
                TokenKind::Punct(Punct::Assign) if depth == 0 => after_assign = true,
                TokenKind::Punct(Punct::Comma) if depth == 0 => after_assign = false,
                TokenKind::Punct(Punct::LeftParen | Punct::LeftBracket | Punct::LeftBrace) => {
                    has_body |= kind == TokenKind::Punct(Punct::LeftBrace);
                    depth += 1;
                }
                TokenKind::Punct(Punct::RightParen | Punct::RightBracket | Punct::RightBrace) => {
                    depth = depth.saturating_sub(1);
                    let closes = kind == TokenKind::Punct(Punct::RightBrace) && depth == 0;
                    if closes && (is_function || names.is_empty()) {
                        at += 1;
                        break;
                    }
                }
                TokenKind::Punct(Punct::Semicolon) if depth == 0 => {
                    at += 1;
                    break;
                }
                _ => {}
            }
            at += 1;
        }
        let declares_only = linkage == Linkage::Extern || is_function && !has_body;
        // Directives such as `.file` and `.section` have no names to link.
        self.items.push(Item { tokens: start..at, linkage, names, declares_only });
        at.max(start + 1)
    }

    /// File and line of an item.
    fn place(&self, item: &Item) -> String {
        let start = self.tokens[item.tokens.start].span.start as usize;
        let line = 1 + self.text.as_bytes()[..start].iter().filter(|&&b| b == b'\n').count();
        format!("{}:{line}", self.name)
    }

    /// The prototype of a function; `None` for other items.
    fn prototype(&self, item: &Item) -> Option<Prototype> {
        let (mut results, mut parameters) = (Vec::new(), Vec::new());
        let (mut is_function, mut is_named) = (false, false);
        let mut at = item.tokens.start;
        while at < item.tokens.end {
            match self.kind(at) {
                TokenKind::Dot => is_function |= self.word(at) == ".func",
                TokenKind::Word => is_named = true,
                TokenKind::Punct(Punct::LeftParen) => {
                    let (sizes, end) = self.sizes(at + 1, item.tokens.end);
                    *(if is_named { &mut parameters } else { &mut results }) = sizes;
                    at = end;
                }
                TokenKind::Punct(Punct::LeftBrace | Punct::Semicolon) => break,
                _ => {}
            }
            at += 1;
        }
        is_function.then_some(Prototype { results, parameters })
    }

    /// Sizes of the variables of a list in parentheses, and where the list ends.
    fn sizes(&self, start: usize, end: usize) -> (Vec<u64>, usize) {
        let mut sizes = Vec::new();
        // The variable at hand, once its type is known.
        let mut size: Option<u64> = None;
        let mut at = start;
        while at < end {
            match self.kind(at) {
                // `.align 8` comes before the type.
                TokenKind::Dot => size = bytes(self.word(at)).or(size),
                TokenKind::Punct(Punct::LeftBracket) => {
                    let length = self.word(at + 1).parse().unwrap_or(0);
                    size = size.map(|size: u64| size.saturating_mul(length));
                }
                TokenKind::Punct(Punct::Comma) => sizes.extend(size.take()),
                TokenKind::Punct(Punct::RightParen) => break,
                _ => {}
            }
            at += 1;
        }
        sizes.extend(size);
        (sizes, at)
    }

    /// Appends an item's text with new names put in.
    fn write(&self, item: &Item, renamed: &HashMap<String, String>, linked: &mut String) {
        let Some(last) = item.tokens.end.checked_sub(1) else { return };
        let (mut from, end) =
            (self.tokens[item.tokens.start].span.start as usize, self.tokens[last].span.end as usize);
        for token in &self.tokens[item.tokens.clone()] {
            if token.kind == TokenKind::Word
                && let Some(new) = renamed.get(&self.text[token.span.bytes()])
            {
                linked.push_str(&self.text[from..token.span.start as usize]);
                linked.push_str(new);
                from = token.span.end as usize;
            }
        }
        linked.push_str(&self.text[from..end]);
        linked.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx;

    const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

    fn linked(a: &str, b: &str) -> Result<ptx::Module, String> {
        let (a, b) = (format!("{HEAD}{a}"), format!("{HEAD}{b}"));
        let text = link(&[("a.ptx", &a), ("b.ptx", &b)]).map_err(|e| e.to_string())?;
        ptx::parse(&text, "linked").map_err(|e| format!("{e}\n{text}"))
    }

    #[test]
    fn a_call_finds_its_function_in_the_other_text() {
        let kernel = ".extern .func (.param .b32 r) twice(.param .b32 x);\n\
            .visible .entry k(.param .u32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n];\n\
            { .param .b32 p; st.param.b32 [p], %r1; .param .b32 q; call.uni (q), twice, (p); }\nret; }";
        let function = ".visible .func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %r<3>;\n\
            ld.param.b32 %r1, [x]; add.s32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }";
        for module in [linked(kernel, function), linked(function, kernel)] {
            let module = module.unwrap_or_else(|e| panic!("{e}"));
            let bodies = module.functions.iter().filter(|f| f.name == "twice" && f.body.is_some()).count();
            assert_eq!((bodies, module.unsupported().count()), (1, 0));
        }
    }

    #[test]
    fn a_function_that_is_declared_otherwise_than_it_is_defined_is_an_error_with_both_places() {
        let caller =
            |declaration: &str| format!("\n.extern .func {declaration};\n.visible .entry k() {{ ret; }}");
        let definition =
            ".visible .func (.param .b32 r) twice(.param .b32 x, .param .align 8 .b8 s[24]) { ret; }";
        for declaration in [
            "(.param .b32 r) twice(.param .b32 x)",
            "(.param .b64 r) twice(.param .b32 x, .param .align 8 .b8 s[24])",
            "twice(.param .b32 x, .param .align 8 .b8 s[24])",
            "(.param .b32 r) twice(.param .b32 x, .param .align 8 .b8 s[16])",
        ] {
            let error = linked(&caller(declaration), definition).expect_err(declaration);
            assert!(error.starts_with("`twice` is declared with parameters of 4"), "{error}");
            assert!(error.contains(" at a.ptx:5, but defined with parameters of 4, 24 bytes"), "{error}");
            assert!(error.contains(" and a result of 4 bytes at b.ptx:4"), "{error}");
        }
        // Types of the same size are one to the calling convention.
        let same = caller("(.param .f32 r) twice(.param .u32 x, .param .align 16 .b64 s[3])");
        linked(&same, definition).unwrap_or_else(|e| panic!("{e}"));
    }

    #[test]
    fn nvidias_device_runtime_gives_way_to_ours() {
        let program =
            ".extern .func (.param .b32 r) __cudaCDP2GetDevice(.param .b64 p);\n.visible .entry k() { ret; }";
        let runtime = ".extern .func (.param .b32 r) __cuda_syscall_cnpv2LaunchDeviceV2(.param .b64 a, .param .b64 b);\n\
            .visible .func (.param .b32 r) __cudaCDP2GetDevice(.param .b64 p) { ret; }";
        let (program, runtime) = (format!("{HEAD}{program}"), format!("{HEAD}{runtime}"));
        let text = link(&[("a.ptx", &program), ("runtime.ptx", &runtime)]).unwrap();
        assert_eq!(text, program);
    }

    #[test]
    fn names_without_linkage_stay_apart() {
        let text = |value: u32, kernel: &str| {
            format!(
                ".global .align 4 .u32 table[2] = {{{value}, 2}};\n.visible .entry {kernel}() {{\n\
                 .reg .b32 %r<2>; ld.global.u32 %r1, [table+4]; ret; }}"
            )
        };
        let module = linked(&text(1, "first"), &text(7, "second")).unwrap_or_else(|e| panic!("{e}"));
        let tables: Vec<_> = module.vars.iter().filter_map(|v| v.init.as_ref().map(|i| i.bytes[0])).collect();
        assert_eq!(tables, [1, 7]);
    }

    #[test]
    fn weak_definitions_give_way_and_strong_ones_clash() {
        let weak = ".weak .global .align 4 .u32 limit = 1;";
        let strong = ".visible .global .align 4 .u32 limit = 2;";
        for (a, b, value) in [(weak, strong, 2), (strong, weak, 2), (weak, weak, 1)] {
            let module = linked(a, b).unwrap_or_else(|e| panic!("{e}"));
            let found: Vec<_> = module.vars.iter().filter(|v| v.name == "limit").collect();
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].init.as_ref().map(|i| i.bytes[0]), Some(value));
        }
        let clash = linked(strong, strong).expect_err("two strong definitions");
        assert_eq!(clash, "`limit` is defined in a.ptx and in b.ptx");
    }
}
