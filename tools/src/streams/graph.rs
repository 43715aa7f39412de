//! Natural loops of a block graph, and how they are nested.

use trace_format::isa::Dominators;

/// A loop: back edges to one header are one loop.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub header: usize,
    /// Whether each block is in it.
    pub inside: Vec<bool>,
    /// Blocks with a back edge.
    pub latches: Vec<usize>,
    /// The smallest loop around it.
    pub parent: Option<usize>,
}

/// The loops of a graph whose first block is its entry.
pub(super) struct Loops {
    pub loops: Vec<Loop>,
    /// The innermost loop of each block.
    pub innermost: Vec<Option<usize>>,
    pub dominators: Dominators,
}

impl Loops {
    pub(super) fn of(successors: &[Vec<usize>], roots: &[usize]) -> Loops {
        let dominators = Dominators::of(successors, roots);
        let count = successors.len();
        let mut before = vec![Vec::new(); count];
        for (block, next) in successors.iter().enumerate() {
            next.iter().for_each(|s| before[*s].push(block));
        }
        let mut loops: Vec<Loop> = Vec::new();
        for (latch, next) in successors.iter().enumerate() {
            for &header in next.iter().filter(|header| dominators.dominates(**header, latch)) {
                let position = loops.iter().position(|found| found.header == header).unwrap_or_else(|| {
                    let mut inside = vec![false; count];
                    inside[header] = true;
                    loops.push(Loop { header, inside, latches: Vec::new(), parent: None });
                    loops.len() - 1
                });
                let found = &mut loops[position];
                found.latches.push(latch);
                let mut work = vec![latch];
                while let Some(block) = work.pop() {
                    if !std::mem::replace(&mut found.inside[block], true) {
                        work.extend(before[block].iter().filter(|b| dominators.reaches(**b)));
                    }
                }
            }
        }
        let sizes: Vec<usize> = loops.iter().map(|l| l.inside.iter().filter(|b| **b).count()).collect();
        let smallest = |block: usize, but: Option<usize>| {
            let around = (0..loops.len()).filter(|l| Some(*l) != but && loops[*l].inside[block]);
            around.min_by_key(|l| sizes[*l])
        };
        // Of two loops that share a block one holds the other, as their headers differ.
        let larger = |l: usize| {
            let around = (0..loops.len())
                .filter(|other| sizes[*other] > sizes[l] && loops[*other].inside[loops[l].header]);
            around.min_by_key(|other| sizes[*other])
        };
        let parents: Vec<Option<usize>> = (0..loops.len()).map(larger).collect();
        let innermost = (0..count).map(|block| smallest(block, None)).collect();
        loops.iter_mut().zip(parents).for_each(|(found, parent)| found.parent = parent);
        Loops { loops, innermost, dominators }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_nested_as_their_blocks_are() {
        // 0 -> 1 -> 2 -> 2 | 3 -> 1 | 4; 1 is the outer header, 2 a loop of one block.
        let found = Loops::of(&[vec![1], vec![2], vec![2, 3], vec![1, 4], vec![]], &[0]);
        let headers: Vec<_> = found.loops.iter().map(|l| (l.header, l.latches.clone(), l.parent)).collect();
        assert_eq!(headers, [(2, vec![2], Some(1)), (1, vec![3], None)]);
        assert_eq!(found.innermost, [None, Some(1), Some(0), Some(1), None]);
    }
}
