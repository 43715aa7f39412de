//! The type of a value, with the conditions under which it is one tuple or another.

/// How general a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The same in all threads of the grid.
    Scalar,
    /// The same in all threads of a block.
    Block,
    /// Affine in thread indices.
    Thread,
    /// Anything else.
    Data,
}

/// Why a value is other data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It depends on other data.
    Operand,
    /// Its operation does not keep tuples.
    Operation,
    /// More conditions than tuples are kept for.
    Conditions,
    /// Threads take part in a different number of turns of a loop, or a condition of one turn reaches the next.
    Carried,
}

/// Conditions that an analysis can be asked for at most.
pub(super) const MOST_CONDITIONS: usize = 4;

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// How general it is.
    pub level: Level,
    /// Whether it is the carry of an addition, which only the addition of upper words reads.
    pub carry: bool,
    /// The first reason for other data.
    pub why: Reason,
    pub(super) conditions: [u32; MOST_CONDITIONS],
    pub(super) count: u8,
}

impl PartialEq for Type {
    /// The reason does not count.
    fn eq(&self, other: &Type) -> bool {
        (self.level, self.carry, self.conditions()) == (other.level, other.carry, other.conditions())
    }
}

impl Type {
    /// A value without conditions.
    pub const fn of(level: Level) -> Type {
        Type { level, carry: false, why: Reason::Operand, conditions: [0; MOST_CONDITIONS], count: 0 }
    }

    /// Other data.
    pub const fn data(why: Reason) -> Type {
        Type { why, ..Type::of(Level::Data) }
    }

    /// Whether it is affine, with or without conditions.
    pub fn is_affine(&self) -> bool {
        self.level != Level::Data
    }

    /// Whether every thread of the grid holds the same.
    pub fn is_uniform(&self) -> bool {
        self.level == Level::Scalar && self.count == 0
    }

    /// Whether all threads of a block hold the same.
    pub fn is_of_block(&self) -> bool {
        self.level <= Level::Block && self.count == 0
    }

    /// The conditions, ascending.
    pub fn conditions(&self) -> &[u32] {
        &self.conditions[..usize::from(self.count)]
    }

    /// The more general of two types, with the conditions of both.
    pub fn and(self, other: Type, limit: usize) -> Type {
        let general = if other.level > self.level { other } else { self };
        let mut both =
            Type { level: general.level, why: general.why, carry: self.carry | other.carry, ..self };
        if both.level == Level::Data {
            return Type { carry: both.carry, ..Type::data(both.why) };
        }
        for condition in other.conditions() {
            both = both.with(*condition, limit);
        }
        both
    }

    /// The type under a further condition.
    pub fn with(mut self, condition: u32, limit: usize) -> Type {
        if self.level == Level::Data {
            return self;
        }
        let Err(at) = self.conditions().binary_search(&condition) else { return self };
        if usize::from(self.count) >= limit {
            return Type { carry: self.carry, ..Type::data(Reason::Conditions) };
        }
        self.conditions.copy_within(at..usize::from(self.count), at + 1);
        self.conditions[at] = condition;
        self.count += 1;
        self
    }
}

/// The number of a condition: of a selection at an instruction.
pub(super) fn condition_at(pc: u32) -> u32 {
    1 << 31 | pc
}
