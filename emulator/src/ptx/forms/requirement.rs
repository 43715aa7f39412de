//! What a form needs of the file: a PTX version and a target; and which versions and targets there are.

use super::super::ast::FileAst;
use super::super::diagnostic::{Diagnostic, Diagnostics};
use warplab_host::names;

/// The newest PTX version that is known.
const NEWEST: (u32, u32) = (9, 5);

/// For each major version from 1 on, its last minor version.
const LAST_MINOR: [u32; 9] = [5, 3, 2, 3, 1, 5, 8, 8, NEWEST.1];

/// Every target, and the version of PTX that has it first.
const TARGETS: [(&str, (u32, u32)); 48] = [
    ("sm_10", (1, 0)),
    ("sm_11", (1, 0)),
    ("sm_12", (1, 2)),
    ("sm_13", (1, 2)),
    ("sm_20", (2, 0)),
    ("sm_21", (2, 0)),
    ("sm_30", (3, 0)),
    ("sm_32", (4, 0)),
    ("sm_35", (3, 1)),
    ("sm_37", (4, 1)),
    ("sm_50", (4, 0)),
    ("sm_52", (4, 1)),
    ("sm_53", (4, 2)),
    ("sm_60", (5, 0)),
    ("sm_61", (5, 0)),
    ("sm_62", (5, 0)),
    ("sm_70", (5, 1)),
    ("sm_72", (6, 1)),
    ("sm_75", (6, 3)),
    ("sm_80", (7, 0)),
    ("sm_82", (6, 2)),
    ("sm_86", (7, 1)),
    ("sm_87", (7, 4)),
    ("sm_88", (9, 0)),
    ("sm_89", (7, 8)),
    ("sm_90", (7, 8)),
    ("sm_90a", (8, 0)),
    ("sm_100", (8, 6)),
    ("sm_100a", (8, 6)),
    ("sm_100f", (8, 8)),
    ("sm_101", (8, 6)),
    ("sm_101a", (8, 6)),
    ("sm_101f", (8, 8)),
    ("sm_103", (8, 8)),
    ("sm_103a", (8, 8)),
    ("sm_103f", (8, 8)),
    ("sm_107", (9, 4)),
    ("sm_107a", (9, 4)),
    ("sm_107f", (9, 4)),
    ("sm_110", (9, 0)),
    ("sm_110a", (9, 0)),
    ("sm_110f", (9, 0)),
    ("sm_120", (8, 7)),
    ("sm_120a", (8, 7)),
    ("sm_120f", (8, 8)),
    ("sm_121", (8, 8)),
    ("sm_121a", (8, 8)),
    ("sm_121f", (8, 8)),
];

/// Words of `.target` beside the target itself.
const OPTIONS: [&str; 4] = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];

/// What a form or a modifier needs: a PTX version, and a target from a number on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    version: (u32, u32),
    sm: u32,
    /// The first target that has it no more; 0 if all have it.
    until: u32,
    /// The target is one of a family or of a single architecture (`sm_90a`).
    specific: bool,
}

impl Needs {
    /// What is needed for both.
    pub(super) fn and(self, other: Needs) -> Needs {
        Needs {
            version: self.version.max(other.version),
            sm: self.sm.max(other.sm),
            until: self.until.max(other.until),
            specific: self.specific || other.specific,
        }
    }
}

/// `7.0,80`, `80`, `7.0`, `8.0,90a`, `<70`, or nothing.
pub(super) fn parse_needs(text: &str) -> Needs {
    let mut needs = Needs::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('.') {
            Some((major, minor)) => {
                needs.version = (major.parse().unwrap_or(0), minor.parse().unwrap_or(0));
            }
            None if part.starts_with('<') => needs.until = part[1..].parse().unwrap_or(0),
            None => {
                needs.specific = part.ends_with('a');
                needs.sm = part.trim_end_matches('a').parse().unwrap_or(0);
            }
        }
    }
    needs
}

/// Version and target of a file.
#[derive(Clone, Debug)]
pub(in super::super) struct Architecture {
    pub(in super::super) version: (u32, u32),
    pub(in super::super) sm: u32,
    /// The target's name ends with a letter.
    pub(in super::super) specific: bool,
}

impl Architecture {
    /// What the file lacks for a form.
    pub(super) fn lacks(&self, needs: &Needs) -> Option<String> {
        let (major, minor) = needs.version;
        if self.version < needs.version {
            return Some(format!(
                "PTX {major}.{minor}; this file is of PTX {}.{}",
                self.version.0, self.version.1
            ));
        }
        if self.sm < needs.sm || needs.specific && !self.specific {
            let letter = if needs.specific { "a" } else { "" };
            return Some(format!("the target sm_{}{letter}; this file is for sm_{}", needs.sm, self.sm));
        }
        (needs.until > 0 && self.sm >= needs.until)
            .then(|| format!("a target before sm_{}; this file is for sm_{}", needs.until, self.sm))
    }
}

/// Checks version and target of a file: that they exist, and that the version has the target.
pub(in super::super) fn check_header(file: &FileAst<'_>, diagnostics: &mut Diagnostics) {
    let Some((version, span)) = file.version else { return };
    let last = usize::try_from(version.0).ok().and_then(|major| LAST_MINOR.get(major.wrapping_sub(1)));
    if last.is_none_or(|&last| version.1 > last) {
        let message = format!("there is no PTX {}.{} that is known here", version.0, version.1);
        let help = format!("the newest version is {}.{}", NEWEST.0, NEWEST.1);
        diagnostics.push(Diagnostic::error(span, message).with_help(help));
        return;
    }
    for (at, target) in file.target.iter().enumerate() {
        if at > 0 && OPTIONS.contains(&target.text) {
            continue;
        }
        let plain = target.text.replacen("compute_", "sm_", 1);
        let known = TARGETS.iter();
        match known.clone().find(|(name, _)| *name == plain) {
            Some((_, first)) if version < *first => {
                let message = format!("PTX {}.{} has no target `{}`", version.0, version.1, target.text);
                let help = format!("from PTX {}.{} on it has", first.0, first.1);
                diagnostics.push(Diagnostic::error(target.span, message).with_help(help));
            }
            Some(_) => {}
            None => {
                let help = match names::nearest(&plain, known.clone().map(|(name, _)| *name)) {
                    Some(guess) => format!("did you mean `{guess}`?"),
                    None => {
                        let all: Vec<String> = known.map(|(name, _)| format!("`{name}`")).collect();
                        format!("there are {}", all.join(", "))
                    }
                };
                let message = format!("there is no target `{}`", target.text);
                diagnostics.push(Diagnostic::error(target.span, message).with_help(help));
            }
        }
    }
}
