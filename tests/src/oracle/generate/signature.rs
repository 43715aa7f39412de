//! Parameters and results of functions: registers, vectors, predicates and variables.

use super::Dice;

/// A class of registers: its letter, bytes (0 for predicates), and the types of its declarations and of `mov`, `ld` and
/// `st`.
pub(super) struct Class {
    pub(super) letter: char,
    pub(super) bytes: usize,
    pub(super) untyped: &'static str,
    pub(super) typed: &'static str,
}

pub(super) const CLASSES: [Class; 6] = [
    Class { letter: 'h', bytes: 2, untyped: "b16", typed: "u16" },
    Class { letter: 'r', bytes: 4, untyped: "b32", typed: "u32" },
    Class { letter: 'd', bytes: 8, untyped: "b64", typed: "s64" },
    Class { letter: 'f', bytes: 4, untyped: "b32", typed: "f32" },
    Class { letter: 'g', bytes: 8, untyped: "b64", typed: "f64" },
    Class { letter: 'p', bytes: 0, untyped: "pred", typed: "pred" },
];

/// Where a parameter or result lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// In registers.
    Register,
    /// In a variable of its type.
    Variable,
    /// In an array of bytes.
    Bytes,
}

/// A parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Formal {
    /// Index of its class.
    pub(super) class: usize,
    /// Elements: 1, 2 or 4.
    pub(super) lanes: usize,
    pub(super) storage: Storage,
}

/// What a function takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) params: Vec<Formal>,
    pub(super) results: Vec<Formal>,
    /// Declared by what it holds.
    pub(super) typed: bool,
}

impl Formal {
    /// If `strict`, of the forms that ptxas takes: no vectors of registers or of variables, and no predicates and halves.
    pub(super) fn random(dice: &mut Dice, strict: bool) -> Self {
        let class = match dice.pick(&[0, 1, 1, 1, 2, 3, 3, 4, 5, 5]) {
            0 | 5 if strict => 1,
            class => class,
        };
        let most = match CLASSES[class].bytes {
            0 => 1,
            8 => 2,
            _ => 4,
        };
        let lanes = dice.pick(&[1, 1, 2, 2, 4]).min(most);
        let storage = match (CLASSES[class].bytes, dice.below(4)) {
            (0, _) | (_, 0 | 1) => Storage::Register,
            (_, 2) => Storage::Variable,
            _ => Storage::Bytes,
        };
        let (lanes, storage) = match storage {
            Storage::Register if strict => (1, storage),
            Storage::Variable if strict && lanes > 1 => (lanes, Storage::Bytes),
            _ => (lanes, storage),
        };
        Self { class, lanes, storage }
    }

    pub(super) fn class(self) -> &'static Class {
        &CLASSES[self.class]
    }

    pub(super) fn bytes(self) -> usize {
        self.class().bytes * self.lanes
    }

    /// The type of its elements.
    pub(super) fn element(self, typed: bool) -> &'static str {
        if typed { self.class().typed } else { self.class().untyped }
    }

    /// `.v2` or nothing.
    pub(super) fn vector(self) -> &'static str {
        ["", "", ".v2", "", ".v4"][self.lanes]
    }

    /// Its declaration, without the semicolon.
    pub(super) fn declaration(self, name: &str, typed: bool) -> String {
        let (vector, element) = (self.vector(), self.element(typed));
        match self.storage {
            Storage::Register if self.lanes == 1 => format!(".reg .{element} {name}"),
            Storage::Register => format!(".reg {vector} .{element} {name}"),
            Storage::Variable if self.lanes == 1 => format!(".param .{element} {name}"),
            Storage::Variable => format!(".param {vector} .{element} {name}"),
            Storage::Bytes => format!(".param .align {} .b8 {name}[{}]", self.bytes(), self.bytes()),
        }
    }

    /// Its name within its function, or in a call.
    pub(super) fn name(self, prefix: &str, at: usize) -> String {
        if self.storage == Storage::Register { format!("%{prefix}{at}") } else { format!("{prefix}{at}") }
    }

    /// The registers that its declaration makes.
    pub(super) fn elements(self, name: &str) -> Vec<String> {
        if self.lanes == 1 {
            return vec![name.to_owned()];
        }
        ["x", "y", "z", "w"][..self.lanes].iter().map(|part| format!("{name}.{part}")).collect()
    }

    /// Instructions that move it to or from registers: `st.param`, `ld.param`, as a vector or one by one.
    pub(super) fn access(
        self,
        dice: &mut Dice,
        op: &str,
        name: &str,
        registers: &[String],
        typed: bool,
    ) -> Vec<String> {
        let (element, bytes) = (self.element(typed), self.class().bytes);
        let line = |vector: &str, at: usize, list: &str| match op {
            "ld" => format!("ld.param{vector}.{element} {list}, [{name}+{at}];"),
            _ => format!("st.param{vector}.{element} [{name}+{at}], {list};"),
        };
        if self.lanes > 1 && dice.chance(60) {
            return vec![line(self.vector(), 0, &format!("{{{}}}", registers.join(", ")))];
        }
        registers.iter().enumerate().map(|(at, register)| line("", at * bytes, register)).collect()
    }
}

impl Signature {
    /// If `strict`, of the forms that ptxas takes: with several results, functions can neither be recursive nor called through
    /// a register.
    pub(super) fn random(dice: &mut Dice, strict: bool) -> Self {
        let params = (0..dice.between(0, 4)).map(|_| Formal::random(dice, strict)).collect();
        let most = if strict { 1 } else { 3 };
        let results = (0..dice.between(0, most)).map(|_| Formal::random(dice, strict)).collect();
        Self { params, results, typed: dice.chance(50) }
    }

    /// The two lists around the name, with names or `_` for those in registers.
    pub(super) fn list(&self, formals: &[Formal], prefix: Option<&str>) -> String {
        let one = |(at, formal): (usize, &Formal)| match (prefix, formal.storage) {
            (None, Storage::Bytes) => {
                let bytes = formal.bytes();
                format!(".param .align {bytes} .b8 _[{bytes}]")
            }
            (None, _) => formal.declaration("_", self.typed),
            (Some(prefix), _) => formal.declaration(&formal.name(prefix, at), self.typed),
        };
        let list: Vec<String> = formals.iter().enumerate().map(one).collect();
        list.join(", ")
    }

    pub(super) fn result_list(&self, prefix: Option<&str>) -> String {
        let list = self.list(&self.results, prefix);
        if list.is_empty() { list } else { format!("({list}) ") }
    }

    pub(super) fn in_registers(&self) -> bool {
        self.results.iter().all(|formal| formal.storage == Storage::Register)
    }
}
