//! Truth tables of three inputs: what LOP3 and PLOP3 compute.
//!
//! Reduction drops inputs that are constant, repeated, complemented or without influence, so that the
//! remaining inputs are distinct, uncomplemented and in front.

use super::vir::{PSrc, VPred, Val};

/// Rebuilds a table by evaluating `f(a, b, c)` for all inputs.
fn tabulate(f: impl Fn(bool, bool, bool) -> bool) -> u8 {
    (0..8u8).fold(0, |t, i| t | u8::from(f(i & 4 != 0, i & 2 != 0, i & 1 != 0)) << i)
}

const fn at(table: u8, a: bool, b: bool, c: bool) -> bool {
    table >> ((a as u8) << 2 | (b as u8) << 1 | c as u8) & 1 != 0
}

/// Applies a table to words, bit by bit.
pub(super) fn apply_words(table: u8, a: u32, b: u32, c: u32) -> u32 {
    (0..8u8).filter(|i| table >> i & 1 != 0).fold(0, |r, i| {
        let pick = |x: u32, on: u8| if on != 0 { x } else { !x };
        r | (pick(a, i & 4) & pick(b, i & 2) & pick(c, i & 1))
    })
}

/// How an input of the old table is found among the new inputs.
#[derive(Clone, Copy)]
enum Input {
    Known(bool),
    Var { index: usize, not: bool },
}

fn rebuild(table: u8, inputs: [Input; 3]) -> u8 {
    tabulate(|a, b, c| {
        let vars = [a, b, c];
        let [x, y, z] = inputs.map(|i| match i {
            Input::Known(v) => v,
            Input::Var { index, not } => vars[index] != not,
        });
        at(table, x, y, z)
    })
}

/// Whether the table depends on an input (0 is the first).
fn depends(table: u8, input: usize) -> bool {
    let flipped = rebuild(table, [0, 1, 2].map(|i| Input::Var { index: i, not: i == input }));
    flipped != table
}

fn compact<T: Copy + PartialEq>(mut table: u8, mut vars: [Option<T>; 3]) -> (u8, [Option<T>; 3]) {
    for (i, v) in vars.iter_mut().enumerate() {
        if !depends(table, i) {
            *v = None;
        }
    }
    // Bring the inputs that matter to the front; a table does not depend on the others.
    let order: Vec<usize> = (0..3).filter(|&i| vars[i].is_some()).collect();
    let mut inputs = [Input::Known(false); 3];
    let mut front = [None; 3];
    for (to, &from) in order.iter().enumerate() {
        inputs[from] = Input::Var { index: to, not: false };
        front[to] = vars[from];
    }
    table = rebuild(table, inputs);
    (table, front)
}

fn distinct<T: Copy + PartialEq>(table: u8, inputs: [Result<bool, (T, bool)>; 3]) -> (u8, [Option<T>; 3]) {
    let mut vars: [Option<T>; 3] = [None; 3];
    let mut used = 0;
    let mapped = inputs.map(|input| match input {
        Ok(known) => Input::Known(known),
        Err((v, not)) => {
            let index = vars[..used].iter().position(|&x| x == Some(v)).unwrap_or_else(|| {
                vars[used] = Some(v);
                used += 1;
                used - 1
            });
            Input::Var { index, not }
        }
    });
    compact(rebuild(table, mapped), vars)
}

/// Reduces a word function of (operand, complemented) inputs.
pub(super) fn reduce_words(table: u8, inputs: [(Val, bool); 3]) -> (u8, [Option<Val>; 3]) {
    let (table, mut vars) = distinct(
        table,
        inputs.map(|(v, not)| match v.imm() {
            Some(0) => Ok(not),
            Some(u32::MAX) => Ok(!not),
            _ => Err((v, not)),
        }),
    );
    // Canonical order: values before constants, so that equal functions look equal.
    let n = vars.iter().flatten().count();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| (vars[i].is_some_and(|v| v.reg().is_none()), vars[i]));
    let mut inputs = [Input::Known(false); 3];
    let mut sorted = [None; 3];
    for (to, &from) in order.iter().enumerate() {
        inputs[from] = Input::Var { index: to, not: false };
        sorted[to] = vars[from];
    }
    vars = sorted;
    (rebuild(table, inputs), vars)
}

/// Reduces a function of predicates.
pub(super) fn reduce_preds(table: u8, inputs: [PSrc; 3]) -> (u8, [Option<VPred>; 3]) {
    distinct(
        table,
        inputs.map(|p| match p.pred {
            None => Ok(!p.not),
            Some(v) => Err((v, p.not)),
        }),
    )
}

/// Substitutes the function `inner` for input `slot` of `outer`, if at most three distinct inputs remain.
pub(super) fn compose(
    outer: (u8, [Option<Val>; 3]),
    slot: usize,
    inner: (u8, [Option<Val>; 3]),
) -> Option<(u8, [Option<Val>; 3])> {
    let mut vars: Vec<Val> = Vec::with_capacity(5);
    let mut place = |v: Val| {
        vars.iter().position(|&x| x == v).unwrap_or_else(|| {
            vars.push(v);
            vars.len() - 1
        })
    };
    let outer_at: [Option<usize>; 3] =
        [0, 1, 2].map(|i| if i == slot { None } else { outer.1[i].map(&mut place) });
    let inner_at: [Option<usize>; 3] = inner.1.map(|v| v.map(&mut place));
    if vars.len() > 3 {
        return None;
    }
    let table = tabulate(|a, b, c| {
        let bits = [a, b, c];
        let get = |p: Option<usize>| p.is_some_and(|p| bits[p]);
        let sub = at(inner.0, get(inner_at[0]), get(inner_at[1]), get(inner_at[2]));
        let arg = |i: usize| if i == slot { sub } else { get(outer_at[i]) };
        at(outer.0, arg(0), arg(1), arg(2))
    });
    let mut out = [None; 3];
    for (o, v) in out.iter_mut().zip(vars) {
        *o = Some(v);
    }
    Some(compact(table, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::vir::VReg;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reduction_keeps_the_function(table: u8, picks in proptest::array::uniform3(0u32..6), nots: [bool; 3], words: [u32; 3]) {
            let operand = |p: u32| match p { 0..3 => Val::Reg(VReg(p)), 3 => Val::Imm(0), 4 => Val::Imm(u32::MAX), _ => Val::Imm(0x1234) };
            let value = |v: Val| match v { Val::Reg(r) => words[r.index()], Val::Imm(x) => x, _ => 0 };
            let inputs = [0, 1, 2].map(|i| (operand(picks[i]), nots[i]));
            let [a, b, c] = inputs.map(|(v, not)| if not { !value(v) } else { value(v) });
            let (reduced, vars) = reduce_words(table, inputs);
            let [x, y, z] = vars.map(|v| v.map_or(0, value));
            prop_assert_eq!(apply_words(table, a, b, c), apply_words(reduced, x, y, z));
        }

        #[test]
        fn composition_substitutes(outer: u8, inner: u8, slot in 0usize..3, picks in proptest::array::uniform6(0u32..3), words: [u32; 3]) {
            let var = |p: u32| Some(Val::Reg(VReg(p)));
            let value = |v: Option<Val>| match v { Some(Val::Reg(r)) => words[r.index()], _ => 0 };
            let o = [var(picks[0]), var(picks[1]), var(picks[2])];
            let i = [var(picks[3]), var(picks[4]), var(picks[5])];
            let inner_word = apply_words(inner, value(i[0]), value(i[1]), value(i[2]));
            let arg = |k: usize| if k == slot { inner_word } else { value(o[k]) };
            let want = apply_words(outer, arg(0), arg(1), arg(2));
            let (t, v) = compose((outer, o), slot, (inner, i)).expect("three inputs remain");
            prop_assert_eq!(apply_words(t, value(v[0]), value(v[1]), value(v[2])), want);
        }
    }
}
