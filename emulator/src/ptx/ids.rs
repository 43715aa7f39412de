//! Index newtypes of the PTX front end.
//!
//! After resolution nothing is found by name any more: registers, labels, variables and functions are
//! dense indices into the tables of [`Module`](super::Module) and [`Function`](super::Function). One
//! newtype per table keeps an index from being used on the wrong one.

/// Defines `pub struct $name(u32)` with conversions to and from `usize`.
macro_rules! define_index {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// Wraps a table position.
            ///
            /// # Panics
            /// Panics when `index` does not fit 32 bits; the front end bounds its tables far below that.
            #[must_use]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("table index fits 32 bits"))
            }

            /// The position in the table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

define_index! {
    /// A scalar virtual register of one function: index into [`Function::registers`](super::Function).
    RegId;
    /// A branch target of one function: index into [`Body::labels`](super::Body).
    LabelId;
    /// A variable (any state space, module or function scope): index into [`Module::vars`](super::Module).
    VarId;
    /// A kernel or device function: index into [`Module::functions`](super::Module).
    FuncId;
    /// A `.callprototype`, local to a function: index into [`Body::prototypes`](super::Body).
    PrototypeId;
    /// A `.branchtargets` list, local to a function: index into [`Body::branch_tables`](super::Body).
    BranchTableId;
    /// A `.calltargets` list, local to a function: index into [`Body::call_tables`](super::Body).
    CallTableId;
    /// A `.loc` position, local to a function: index into [`Body::locs`](super::Body).
    LocId;
}
