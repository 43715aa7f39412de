//! Unrolling of counted inner loops, by the rules of ptxas as they were found by compiling loops of many sizes.
//!
//! A loop whose counter moves by a constant towards an invariant bound is unrolled: `known` handles loops whose
//! number of iterations is known, `unknown` the others. Loops with fences or operations across lanes, and those
//! marked `.pragma "nounroll"`, are not unrolled.

mod copies;
mod counted;
mod known;
mod limit;
mod unknown;

use super::cfg::{self, Dominance};
use super::vir::Func;
use counted::find;
use unknown::Outside;

/// Unrolls all loops that qualify; whether there were any.
pub(super) fn run(f: &mut Func) -> bool {
    f.resolve_all();
    cfg::remove_dead(f);
    let dominance = Dominance::of(f);
    let loops = dominance.loops(f);
    let mut outside = Outside::default();
    let mut found = false;
    for (header, body) in loops {
        if body.len() == 1
            && let Some(counted) = find(f, header)
        {
            found |= match counted.iterations(f, header) {
                Some(iterations) => known::unroll(f, header, &counted, iterations),
                None => unknown::unroll(f, header, counted, &mut outside),
            };
        }
    }
    f.resolve_all();
    outside.rename(f);
    cfg::remove_dead(f);
    cfg::clean(f);
    found
}
