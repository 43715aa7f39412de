//! Unrolling of counted inner loops, by the rules of ptxas as they were found by compiling loops of many sizes.
//!
//! A loop whose counter moves by a constant towards an invariant bound is unrolled: `known` handles loops whose
//! number of iterations is known, `unknown` the others, of which some are left alone if lanes of a warp may leave the
//! loop at different times (`divergence`). Loops with fences or operations across lanes, and those
//! marked `.pragma "nounroll"`, are not unrolled.

mod copies;
mod counted;
mod divergence;
mod known;
mod limit;
mod unknown;

use super::cfg::{self, Dominance};
use super::vir::Func;
use counted::find;
use divergence::Divergence;
use unknown::Outside;

/// Unrolls all loops that qualify; whether there were any.
pub(super) fn run(f: &mut Func) -> bool {
    f.resolve_all();
    cfg::remove_dead(f);
    let dominance = Dominance::of(f);
    let loops = dominance.loops(f);
    if loops.iter().all(|(_, body)| body.len() > 1) {
        return false;
    }
    let divergence = Divergence::of(f, &dominance);
    let mut outside = Outside::default();
    let mut found = false;
    for (header, body) in loops {
        if body.len() == 1
            && let Some(counted) = find(f, header)
        {
            found |= match counted.iterations(f, header) {
                Some(iterations) => known::unroll(f, header, &counted, iterations),
                None if counted.differs_by_lane(&divergence, f, header)
                    && unknown::has_to_wait(f, header, &counted) =>
                {
                    false
                }
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
