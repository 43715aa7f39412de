//! Instruction forms and constructs of random kernels, and those that were never drawn.

use super::{Kernel, Node};
use std::collections::{BTreeMap, BTreeSet};

/// The constructs that bodies are made of.
const CONSTRUCTS: [&str; 17] = [
    "straight code",
    "alternatives",
    "counted loops",
    "loops counted by copied predicates",
    "loops with two entries",
    "jumps ahead",
    "branch tables",
    "calls",
    "calls under a guard",
    "calls through a register",
    "calls within functions",
    "vectors as parameters in registers",
    "vectors as parameters",
    "predicates as parameters",
    "vectors as results in registers",
    "vectors as results",
    "predicates as results",
];

/// What has been drawn so far.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    forms: BTreeSet<String>,
    constructs: BTreeSet<&'static str>,
}

impl Drawn {
    /// Adds the forms and constructs of a kernel.
    pub fn add(&mut self, kernel: &Kernel) {
        let text = kernel.ptx();
        self.forms.extend(text.lines().filter_map(form).map(str::to_owned));
        constructs(&kernel.body, &mut self.constructs);
        // Functions that nothing calls are not in the text.
        for function in kernel.functions.iter().filter(|f| text.contains(&format!("{}(", f.name))) {
            let mut own = BTreeSet::new();
            constructs(&function.body, &mut own);
            self.constructs.extend(own.contains("calls").then_some("calls within functions"));
            self.constructs.extend(own);
            self.constructs.extend(function.features());
        }
    }

    /// Constructs that never came.
    #[must_use]
    pub fn missing_constructs(&self) -> Vec<&'static str> {
        CONSTRUCTS.into_iter().filter(|name| !self.constructs.contains(name)).collect()
    }

    /// Of a list of forms, each with the number of programs that use it, those that never came: by family, the forms
    /// that most programs use first.
    #[must_use]
    pub fn missing_forms<'f>(&self, forms: &[(&'f str, u32)]) -> BTreeMap<&'f str, Vec<(&'f str, u32)>> {
        let mut families: BTreeMap<&str, Vec<(&str, u32)>> = BTreeMap::new();
        for &(form, programs) in forms.iter().filter(|(form, _)| !self.forms.contains(*form)) {
            families.entry(form.split('.').next().unwrap_or(form)).or_default().push((form, programs));
        }
        families.values_mut().for_each(|list| list.sort_by_key(|(_, programs)| std::cmp::Reverse(*programs)));
        families
    }
}

/// Notes the constructs of a body.
fn constructs(nodes: &[Node], found: &mut BTreeSet<&'static str>) {
    for node in nodes {
        let (kind, parts): (_, Vec<&Vec<Node>>) = match node {
            Node::Line(line) if line.contains("call") => {
                let guarded = line.lines().any(|line| line.starts_with('@') && line.contains("call"));
                found.extend(guarded.then_some("calls under a guard"));
                found.extend(line.contains(".callprototype").then_some("calls through a register"));
                ("calls", Vec::new())
            }
            Node::Line(_) => ("straight code", Vec::new()),
            Node::If { then, otherwise, .. } => ("alternatives", vec![then, otherwise]),
            Node::Loop { body, .. } => ("counted loops", vec![body]),
            Node::Rolled { body, .. } => ("loops counted by copied predicates", vec![body]),
            Node::Irreducible { first, second, .. } => ("loops with two entries", vec![first, second]),
            Node::Forward { blocks, .. } => ("jumps ahead", blocks.iter().map(|(code, _)| code).collect()),
            Node::Switch { cases, .. } => ("branch tables", cases.iter().collect()),
        };
        found.insert(kind);
        parts.into_iter().for_each(|part| constructs(part, found));
    }
}

/// The instruction form of a line, if it holds an instruction.
fn form(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = match line.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ')?.1,
        None => line,
    };
    let word = line.split([' ', ';']).next()?;
    (word.starts_with(|c: char| c.is_ascii_lowercase()) && line.ends_with(';')).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::super::Focus;
    use super::*;

    #[test]
    fn forms_are_found_with_and_without_guards() {
        assert_eq!(form("\tmad.lo.s32 %r1, %r2, %r3, 4;"), Some("mad.lo.s32"));
        assert_eq!(form("@!%p1 bra.uni $end;"), Some("bra.uni"));
        assert_eq!(form("ret;"), Some("ret"));
        for other in ["$head:", "{", "}", ".reg .b32 %r<4>;", "//case seed 1", ".visible .entry kernel("] {
            assert_eq!(form(other), None, "{other}");
        }
    }

    #[test]
    fn what_never_came_is_listed_by_family() {
        let mut drawn = Drawn::default();
        let forms = [("ret", 9), ("tex.1d.v4.f32.f32", 2), ("tex.2d.v4.f32.f32", 5)];
        assert_eq!(drawn.missing_forms(&forms).len(), 2);
        assert_eq!(drawn.missing_constructs().len(), CONSTRUCTS.len());
        drawn.add(&Kernel::random(1, Focus::Mixed, None));
        let missing = drawn.missing_forms(&forms);
        assert_eq!(missing["tex"], [("tex.2d.v4.f32.f32", 5), ("tex.1d.v4.f32.f32", 2)]);
        assert!(!missing.contains_key("ret"));
    }
}
