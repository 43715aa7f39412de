//! Reduces a failing kernel to a minimal one that still fails.

use super::Node;
use super::plan::Kernel;

/// The smallest kernel found that still fails, by deleting nodes, replacing structures by their parts, and
/// dropping unused registers.
pub fn shrink(kernel: &Kernel, fails: &mut dyn FnMut(&Kernel) -> bool) -> Kernel {
    let mut best = kernel.clone();
    loop {
        let before = size(&best);
        smaller_launch(&mut best, fails);
        delete_runs(&mut best, fails);
        unwrap_structures(&mut best, fails);
        drop_registers(&mut best, fails);
        if size(&best) == before {
            return best;
        }
    }
}

fn size(kernel: &Kernel) -> (usize, usize, usize) {
    let functions: usize = kernel.functions.iter().map(|function| count(&function.body)).sum();
    (count(&kernel.body) + functions, kernel.inits.len(), kernel.threads())
}

fn count(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| 1 + parts(node).iter().map(|part| count(part)).sum::<usize>()).sum()
}

fn parts(node: &Node) -> Vec<&Vec<Node>> {
    match node {
        Node::Line(_) => Vec::new(),
        Node::If { then, otherwise, .. } => vec![then, otherwise],
        Node::Loop { body, .. } | Node::Rolled { body, .. } => vec![body],
        Node::Irreducible { first, second, .. } => vec![first, second],
        Node::Forward { blocks, .. } => blocks.iter().map(|(code, _)| code).collect(),
        Node::Switch { cases, .. } => cases.iter().collect(),
    }
}

fn parts_mut(node: &mut Node) -> Vec<&mut Vec<Node>> {
    match node {
        Node::Line(_) => Vec::new(),
        Node::If { then, otherwise, .. } => vec![then, otherwise],
        Node::Loop { body, .. } | Node::Rolled { body, .. } => vec![body],
        Node::Irreducible { first, second, .. } => vec![first, second],
        Node::Forward { blocks, .. } => blocks.iter_mut().map(|(code, _)| code).collect(),
        Node::Switch { cases, .. } => cases.iter_mut().collect(),
    }
}

/// Rewrites the list of nodes numbered `wanted`, counting lists in the order of a walk; false if there is none.
fn with_list(nodes: &mut Vec<Node>, wanted: &mut usize, edit: &mut dyn FnMut(&mut Vec<Node>)) -> bool {
    if *wanted == 0 {
        edit(nodes);
        return true;
    }
    *wanted -= 1;
    nodes.iter_mut().any(|node| parts_mut(node).into_iter().any(|part| with_list(part, wanted, edit)))
}

/// The same for the lists of a kernel and of its functions.
fn with_list_of(kernel: &mut Kernel, mut wanted: usize, edit: &mut dyn FnMut(&mut Vec<Node>)) -> bool {
    let functions = kernel.functions.iter_mut().map(|function| &mut function.body);
    let mut bodies = [&mut kernel.body].into_iter().chain(functions);
    bodies.any(|body| with_list(body, &mut wanted, edit))
}

fn length_of(kernel: &mut Kernel, list: usize) -> Option<usize> {
    let mut length = 0;
    with_list_of(kernel, list, &mut |nodes| length = nodes.len()).then_some(length)
}

fn try_edit(
    best: &mut Kernel,
    fails: &mut dyn FnMut(&Kernel) -> bool,
    list: usize,
    edit: &mut dyn FnMut(&mut Vec<Node>),
) -> bool {
    let mut candidate = best.clone();
    if !with_list_of(&mut candidate, list, edit) || !fails(&candidate) {
        return false;
    }
    *best = candidate;
    true
}

fn delete_runs(best: &mut Kernel, fails: &mut dyn FnMut(&Kernel) -> bool) {
    let mut list = 0;
    while let Some(length) = length_of(best, list) {
        let mut run = length;
        while run > 0 {
            let mut at = 0;
            while let Some(length) = length_of(best, list).filter(|length| at < *length) {
                let end = (at + run).min(length);
                let deleted = try_edit(best, fails, list, &mut |nodes| {
                    nodes.drain(at..end);
                });
                if !deleted {
                    at += run;
                }
            }
            run /= 2;
        }
        list += 1;
    }
}

/// Replaces a structure by all its parts in a row, or by one of them.
fn unwrap_structures(best: &mut Kernel, fails: &mut dyn FnMut(&Kernel) -> bool) {
    let mut list = 0;
    while let Some(length) = length_of(best, list) {
        for at in (0..length).rev() {
            let mut how = 0;
            loop {
                let mut choices = 0;
                let done = try_edit(best, fails, list, &mut |nodes| {
                    let pieces: Vec<Vec<Node>> = parts(&nodes[at]).into_iter().cloned().collect();
                    choices = if pieces.is_empty() { 0 } else { pieces.len() + 1 };
                    if how < choices {
                        let inside = if how == 0 { pieces.concat() } else { pieces[how - 1].clone() };
                        nodes.splice(at..=at, inside);
                    }
                });
                how += 1;
                if done || how >= choices {
                    break;
                }
            }
            if length_of(best, list).is_none_or(|length| at > length) {
                break;
            }
        }
        list += 1;
    }
}

fn drop_registers(best: &mut Kernel, fails: &mut dyn FnMut(&Kernel) -> bool) {
    let mut run = best.inits.len();
    while run > 0 {
        let mut at = 0;
        while at < best.inits.len() {
            let end = (at + run).min(best.inits.len());
            let mut candidate = best.clone();
            let dropped: Vec<String> = candidate.inits.drain(at..end).map(|(name, _)| name).collect();
            let text = candidate.ptx();
            let used = dropped.iter().any(|name| mentions(&text, name));
            if !used && fails(&candidate) {
                *best = candidate;
            } else {
                at += run;
            }
        }
        run /= 2;
    }
}

/// Whether a text names a register.
fn mentions(text: &str, register: &str) -> bool {
    text.match_indices(register).any(|(at, _)| {
        !text[at + register.len()..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '<')
    })
}

fn smaller_launch(best: &mut Kernel, fails: &mut dyn FnMut(&Kernel) -> bool) {
    for (grid, block) in [([1, 1, 1], [1, 1, 1]), ([1, 1, 1], [32, 1, 1]), ([1, 1, 1], best.block)] {
        let candidate = Kernel { grid, block, directives: String::new(), ..best.clone() };
        if candidate.threads() < best.threads() && fails(&candidate) {
            *best = candidate;
            break;
        }
    }
    for candidate in [
        Kernel { uses_local: false, ..best.clone() },
        Kernel { uses_shared: false, ..best.clone() },
        Kernel { uses_local: false, uses_shared: false, ..best.clone() },
    ] {
        let smaller = (candidate.uses_local, candidate.uses_shared) < (best.uses_local, best.uses_shared);
        if smaller && fails(&candidate) {
            *best = candidate;
        }
    }
}
