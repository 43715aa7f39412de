//! Sizes of a launch: the blocks of its grid and the threads of a block. Launches of other sizes are other work, and are not
//! compared.

use serde_json::Value;
use std::fmt;

/// A size along x, y and z, or only its product where results do not have more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    sides: Option<[u64; 3]>,
    total: u64,
}

impl Size {
    /// A size by its sides.
    #[must_use]
    pub fn of(sides: [u64; 3]) -> Size {
        Size { sides: Some(sides), total: sides.iter().fold(1, |total, side| total.saturating_mul(*side)) }
    }

    /// A size of which only the product is known.
    #[must_use]
    pub fn total(total: u64) -> Size {
        Size { sides: None, total }
    }

    /// Reads `(64, 64, 1)`, `64x64x1`, `64,64` or `4096`; missing sides are 1.
    #[must_use]
    pub fn parse(text: &str) -> Option<Size> {
        let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
        let mut sides = [1; 3];
        let mut parts = inner.split([',', 'x', 'X', '×']);
        for side in &mut sides {
            match parts.next() {
                Some(part) => *side = part.trim().parse().ok().filter(|side| *side > 0)?,
                None => break,
            }
        }
        parts.next().is_none().then(|| Size::of(sides))
    }

    fn agrees(&self, other: &Size) -> bool {
        match (self.sides, other.sides) {
            (Some(own), Some(theirs)) => own == theirs,
            _ => self.total == other.total,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sides {
            Some([x, y, z]) => write!(f, "{x}x{y}x{z}"),
            None => write!(f, "{}", self.total),
        }
    }
}

/// The sizes of a launch, where they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// Blocks of the grid.
    pub grid: Option<Size>,
    /// Threads of a block.
    pub block: Option<Size>,
}

impl Shape {
    /// The sizes of a launch of a result; those of earlier versions have only the products.
    #[must_use]
    pub fn of_launch(launch: &Value) -> Shape {
        let size = |sides: &str, total: &str| {
            let all = launch[sides].as_array().map(|sides| sides.iter().filter_map(Value::as_u64).collect());
            let sides: Option<[u64; 3]> = all.and_then(|sides: Vec<u64>| sides.try_into().ok());
            sides.map(Size::of).or_else(|| launch[total].as_u64().map(Size::total))
        };
        Shape { grid: size("grid", "grid_blocks"), block: size("block", "threads_per_block") }
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.grid.is_none() && self.block.is_none()
    }

    /// Whether two launches have the same sizes, as far as both are known.
    #[must_use]
    pub fn agrees(&self, other: &Shape) -> bool {
        let same = |a: &Option<Size>, b: &Option<Size>| match (a, b) {
            (Some(a), Some(b)) => a.agrees(b),
            _ => true,
        };
        same(&self.grid, &other.grid) && same(&self.block, &other.block)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.grid, &self.block) {
            (Some(grid), Some(block)) => write!(f, "a grid of {grid} blocks of {block} threads"),
            (Some(grid), None) => write!(f, "a grid of {grid} blocks"),
            (None, Some(block)) => write!(f, "blocks of {block} threads"),
            (None, None) => f.write_str("an unknown size"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_all_writers_are_read() {
        for text in ["(64, 64, 1)", "64x64x1", "64,64", "64 x 64"] {
            assert_eq!(Size::parse(text), Some(Size::of([64, 64, 1])), "{text}");
        }
        for text in ["", "(64, a, 1)", "0", "1,2,3,4", "64;64"] {
            assert_eq!(Size::parse(text), None, "{text}");
        }
        let shape = |grid, block| Shape { grid, block };
        let (ours, theirs) = (Some(Size::total(4096)), Size::parse("(64,64,1)"));
        assert!(shape(ours, None).agrees(&shape(theirs, Size::parse("256"))));
        assert!(!shape(Size::parse("4096"), None).agrees(&shape(theirs, None)), "other sides");
        assert!(!shape(Some(Size::total(64)), None).agrees(&shape(theirs, None)));
    }
}
