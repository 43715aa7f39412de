//! Words for an instruction that no form has: what is wrong, and the nearest that is right.

use super::super::ast::Name;
use super::super::diagnostic::Diagnostic;
use super::super::resolve::Arg;
use super::name::{Candidate, Misfit};
use super::operand::{self, Reason};
use super::table::{self, Form, Kind};
use warplab_host::names;

/// Words that a message lists at most.
const MAX_LISTED: usize = 24;

/// No instruction has this name.
pub(super) fn opcode(opcode: Name<'_>) -> Box<Diagnostic> {
    let mut known: Vec<&str> = table::opcodes().collect();
    known.sort_unstable();
    let guess = names::nearest(opcode.text, known);
    let help =
        guess.map_or_else(|| "check its spelling".to_owned(), |guess| format!("did you mean `{guess}`?"));
    Box::new(
        Diagnostic::error(opcode.span, format!("PTX has no instruction `{}`", opcode.text)).with_help(help),
    )
}

/// The file's version or target has no such form.
pub(super) fn requirement(whole: Name<'_>, lack: &str) -> Box<Diagnostic> {
    let diagnostic = Diagnostic::error(whole.span, format!("`{}` needs {lack}", whole.text));
    Box::new(diagnostic.with_help("change `.version` or `.target`, or use an older form"))
}

/// No form has these modifiers.
pub(super) fn modifiers(
    opcode: Name<'_>,
    whole: Name<'_>,
    words: &[Name<'_>],
    misfits: &[(&Form, Misfit)],
) -> Box<Diagnostic> {
    let best = misfits.iter().map(|(_, misfit)| misfit.matched).max().unwrap_or(0);
    let closest: Vec<&(&Form, Misfit)> = misfits.iter().filter(|(_, m)| m.matched == best).collect();
    // A word that is strange to every form that is otherwise closest is the one to blame.
    let stranger = closest.iter().map(|(_, misfit)| misfit.stranger).max().flatten();
    let lacks_only = closest.iter().find(|(_, misfit)| misfit.stranger.is_none());
    if let Some((form, misfit)) = lacks_only {
        return missing(opcode, whole, form, misfit);
    }
    let word = stranger.map_or(whole, |at| words[at]);
    let mut free: Vec<&str> = closest.iter().flat_map(|(form, misfit)| free(form, misfit)).collect();
    free.sort_unstable();
    free.dedup();
    let guess = names::nearest(word.text, free.iter().copied());
    let help = match guess {
        Some(guess) => format!("did you mean `.{guess}`?"),
        None if free.is_empty() || free.len() > MAX_LISTED => {
            format!("the whole instruction is `{}`", whole.text)
        }
        None => format!("possible here: {}", listed(&free)),
    };
    let message = format!("`.{}` is not a modifier that `{}` can have here", word.text, opcode.text);
    Box::new(Diagnostic::error(word.span, message).with_help(help))
}

/// The words of places that are still free.
fn free(form: &Form, misfit: &Misfit) -> Vec<&'static str> {
    let places = form.elements.iter().zip(&misfit.taken).filter(|(_, taken)| !**taken);
    places.flat_map(|(element, _)| element.words.iter().map(|word| word.text)).collect()
}

/// A form has all the words, and wants one more.
fn missing(opcode: Name<'_>, whole: Name<'_>, form: &Form, misfit: &Misfit) -> Box<Diagnostic> {
    let place =
        form.elements.iter().zip(&misfit.taken).find(|(element, taken)| !element.optional && !**taken);
    let words: Vec<&str> =
        place.map_or_else(Vec::new, |(element, _)| element.words.iter().map(|word| word.text).collect());
    let what = match (place, words.as_slice()) {
        (_, [only]) => format!("`.{only}`"),
        (Some((element, _)), _) if element.is_type => "a type".to_owned(),
        (_, ["rn", ..]) => "a rounding".to_owned(),
        _ => "a modifier".to_owned(),
    };
    let message = format!("`{}` lacks {what}", whole.text);
    Box::new(Diagnostic::error(whole.span, message).with_help(format!(
        "add one to `{}`: {}",
        opcode.text,
        listed(&words)
    )))
}

fn listed(words: &[&str]) -> String {
    let shown: Vec<String> = words.iter().take(MAX_LISTED).map(|word| format!(".{word}")).collect();
    shown.join(", ")
}

/// The operands are those of no form.
pub(super) fn operand(
    whole: Name<'_>,
    args: &[Arg<'_>],
    misfit: Option<operand::Misfit>,
    candidates: &[Candidate],
) -> Box<Diagnostic> {
    let counts = candidates.iter().map(|candidate| {
        candidate.operands.iter().filter(|want| want.kind != Kind::Policy || candidate.hinted).count()
    });
    let takes = format!("it takes {} operands", counts.max().unwrap_or(0));
    let (span, message, help) = match misfit {
        Some(operand::Misfit { reason: Reason::Wrong(span, wanted), .. }) => {
            (span, format!("expected {wanted}"), "see the PTX ISA for the operands it takes".to_owned())
        }
        Some(operand::Misfit { reason: Reason::Excess, at }) => {
            let span = args.get(at).map_or(whole.span, |arg| arg.span);
            (span, "this operand is one too many".to_owned(), takes)
        }
        _ => (whole.span, "lacks an operand".to_owned(), takes),
    };
    Box::new(Diagnostic::error(span, format!("`{}`: {message}", whole.text)).with_help(help))
}
