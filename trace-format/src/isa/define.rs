//! The macro that turns the rows of an opcode table into an enum and every query on it.

/// Makes an opcode enum `Op` from rows:
///
/// ```text
/// NUMBER Name { modifiers } = "MNEMONIC", UNIT, COLLECTOR, LATENCY, dst REGISTERS, src [REGISTERS; 3], FORMAT,
///     pred WRITTEN <- READ, LANES => SEMANTICS;
/// ```
///
/// The semantics are `pure(function)`, where the function gets the [`Execution`](crate::semantics::Execution)
/// and the modifiers, or `outside(kind)` for effects outside of registers, followed by `, memory MEM_OP` for
/// memory instructions. `pure(function) unless(condition, kind)` is outside under a condition on its
/// modifiers. Numbers count from 0 without a gap, so that a row can only be added at the end. The same rows
/// make the function that executes them ([`isa_semantics!`](crate::isa_semantics)).
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use trace_format::isa::*;
/// use trace_format::semantics::{Execution, Row};
///
/// fn mov(x: Execution<'_>) {
///     let value: Row = *x.warp.row(x.inst.src[0].row);
///     x.warp.write_row(x.inst.dst, &value, x.exec);
/// }
///
/// macro_rules! rows {
///     ($then:ident) => {
///         trace_format::$then! {
///             /// d = a.
///             0 Mov {} = "MOV", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(mov);
///             /// Ends.
///             1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
///         }
///     };
/// }
/// rows!(isa_table);
/// rows!(isa_semantics);
///
/// assert_eq!(Op::Exit {}.number(), 1);
/// ```
///
/// A row without semantics does not compile:
///
/// ```compile_fail
/// use serde::{Deserialize, Serialize};
/// use trace_format::isa::*;
/// use trace_format::semantics::{Execution, Row};
///
/// fn mov(x: Execution<'_>) {
///     let value: Row = *x.warp.row(x.inst.src[0].row);
///     x.warp.write_row(x.inst.dst, &value, x.exec);
/// }
///
/// macro_rules! rows {
///     ($then:ident) => {
///         trace_format::$then! {
///             /// d = a.
///             0 Mov {} = "MOV", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own;
///             /// Ends.
///             1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
///         }
///     };
/// }
/// rows!(isa_table);
/// rows!(isa_semantics);
///
/// assert_eq!(Op::Exit {}.number(), 1);
/// ```
///
/// Neither does one whose function does not exist:
///
/// ```compile_fail,E0425
/// use serde::{Deserialize, Serialize};
/// use trace_format::isa::*;
/// use trace_format::semantics::{Execution, Row};
///
/// macro_rules! rows {
///     ($then:ident) => {
///         trace_format::$then! {
///             /// d = a.
///             0 Mov {} = "MOV", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(mov);
///             /// Ends.
///             1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
///         }
///     };
/// }
/// rows!(isa_table);
/// rows!(isa_semantics);
///
/// assert_eq!(Op::Exit {}.number(), 1);
/// ```
///
/// One whose function takes other modifiers:
///
/// ```compile_fail,E0061
/// use serde::{Deserialize, Serialize};
/// use trace_format::isa::*;
/// use trace_format::semantics::{Execution, Row};
///
/// fn mov(x: Execution<'_>, sign: Sign) {
///     let value: Row = *x.warp.row(x.inst.src[0].row);
///     x.warp.write_row(x.inst.dst, &value, x.exec);
/// }
///
/// macro_rules! rows {
///     ($then:ident) => {
///         trace_format::$then! {
///             /// d = a.
///             0 Mov {} = "MOV", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(mov);
///             /// Ends.
///             1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
///         }
///     };
/// }
/// rows!(isa_table);
/// rows!(isa_semantics);
///
/// assert_eq!(Op::Exit {}.number(), 1);
/// ```
///
/// Nor one between others, which would give those after it other numbers:
///
/// ```compile_fail,E0080
/// use serde::{Deserialize, Serialize};
/// use trace_format::isa::*;
/// use trace_format::semantics::{Execution, Row};
///
/// fn mov(x: Execution<'_>) {
///     let value: Row = *x.warp.row(x.inst.src[0].row);
///     x.warp.write_row(x.inst.dst, &value, x.exec);
/// }
///
/// macro_rules! rows {
///     ($then:ident) => {
///         trace_format::$then! {
///             /// d = a.
///             1 Mov {} = "MOV", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(mov);
///             /// Ends.
///             0 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
///         }
///     };
/// }
/// rows!(isa_table);
/// rows!(isa_semantics);
///
/// assert_eq!(Op::Exit {}.number(), 0);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! isa_table {
    (@kind pure($function:path)) => { $crate::isa::Kind::Pure };
    (@kind pure($function:path) unless($condition:expr, $kind:expr)) => {
        if $condition { $kind } else { $crate::isa::Kind::Pure }
    };
    (@kind outside($kind:expr)) => { $kind };
    (@memory) => { None };
    (@memory $memory:expr) => { Some($memory) };
    (@first $visit:ident, $name:ident, [$($field:ident : $ty:ty,)*]) => {
        $visit(Op::$name { $($field: <$ty as $crate::isa::Modifier>::VALUES[0]),* })
    };
    (@vary $visit:ident, $name:ident, $all:tt;) => {};
    (@vary $visit:ident, $name:ident, $all:tt; $field:ident : $ty:ty, $($rest:tt)*) => {
        for value in &<$ty as $crate::isa::Modifier>::VALUES[1..] {
            $crate::isa_table!(@varied $visit, $name, $field, value, $all);
        }
        $crate::isa_table!(@vary $visit, $name, $all; $($rest)*);
    };
    (@varied $visit:ident, $name:ident, $varied:ident, $value:ident, [$($field:ident : $ty:ty,)*]) => {{
        #[allow(unused_variables, reason = "the varied one is shadowed")]
        let ($($field,)*) = ($(<$ty as $crate::isa::Modifier>::VALUES[0],)*);
        let $varied = *$value;
        $visit(Op::$name { $($field),* });
    }};
    (@each $visit:ident, $op:expr;) => { $visit($op) };
    (@each $visit:ident, $op:expr; $field:ident : $ty:ty, $($rest:tt)*) => {
        for &$field in <$ty as $crate::isa::Modifier>::VALUES {
            $crate::isa_table!(@each $visit, $op; $($rest)*);
        }
    };
    ($(
        $(#[$doc:meta])*
        $number:literal $name:ident { $($field:ident : $ty:ty),* } = $mnemonic:literal,
        $unit:expr, $collector:expr, $latency:ident,
        dst $dst:expr, src $src:expr, $format:expr, pred $pdst:literal <- $psrc:literal,
        $lanes:ident => $how:ident ( $($what:tt)* ) $(unless ( $($unless:tt)* ))? $(, memory $memory:expr)?;
    )+) => {
        /// An opcode with its modifiers: the operation of an instruction without its operands.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum Op {
            $(
                $(#[$doc])*
                #[allow(missing_docs, reason = "fields are modifiers, documented by their types")]
                $name { $($field: $ty),* },
            )+
        }

        const _: () = {
            let numbers: &[usize] = &[$($number),+];
            let mut row = 0;
            while row < numbers.len() {
                assert!(numbers[row] == row, "rows are numbered from 0 without a gap; add a row at the end");
                row += 1;
            }
        };

        impl Op {
            /// Number and mnemonic of every row.
            pub const ROWS: &'static [(u16, &'static str)] = &[$(($number, $mnemonic)),+];

            /// The row of this opcode.
            #[allow(unused_variables, reason = "most rows do not depend on their modifiers")]
            #[must_use]
            #[inline]
            pub const fn info(&self) -> $crate::isa::OpInfo {
                match *self {
                    $(Op::$name { $($field),* } => $crate::isa::OpInfo {
                        mnemonic: $mnemonic,
                        unit: { use $crate::isa::Unit::*; $unit },
                        collector: { use $crate::isa::Collector::*; $collector },
                        latency: $crate::isa::LatencyClass::$latency,
                        kind: $crate::isa_table!(@kind $how($($what)*) $(unless($($unless)*))?),
                        dst_regs: $dst,
                        src_regs: $src,
                        format: { use $crate::isa::SourceFormat::*; $format },
                        pred_dsts: $pdst,
                        pred_srcs: $psrc,
                        lanes: $crate::isa::Lanes::$lanes,
                        memory: $crate::isa_table!(@memory $($memory)?),
                    },)+
                }
            }

            /// Number of the row, which traces keep; independent of modifiers.
            #[must_use]
            pub const fn number(&self) -> u16 {
                match self { $(Op::$name { .. } => $number),+ }
            }

            /// Mnemonic with the suffixes of its modifiers, as the listing shows it.
            #[must_use]
            pub fn mnemonic(&self) -> String {
                #[allow(unused_imports, reason = "a table may have no modifiers")]
                use $crate::isa::Modifier as _;
                #[allow(unused_mut, reason = "rows without modifiers add nothing")]
                let mut text = String::from(self.info().mnemonic);
                match self {
                    $(Op::$name { $($field),* } => { $(text.push_str($field.suffix());)* })+
                }
                text
            }

            /// The same opcode with a modifier replaced; `None` when it has none of this type.
            #[allow(unused_mut, unused_variables, reason = "rows without modifiers have nothing to replace")]
            #[must_use]
            pub fn with<M: $crate::isa::Modifier>(mut self, modifier: M) -> Option<Op> {
                let mut places: Vec<&mut dyn std::any::Any> = match &mut self {
                    $(Op::$name { $($field),* } => vec![$($field),*],)+
                };
                let place = places.iter_mut().find_map(|place| place.downcast_mut::<M>());
                place.map(|place| *place = modifier)?;
                Some(self)
            }

            /// Calls `visit` with every opcode: each row with every combination of modifiers, where numbers that are
            /// modifiers stand for one another.
            pub fn every(mut visit: impl FnMut(Op)) {
                $($crate::isa_table!(@each visit, Op::$name { $($field),* }; $($field: $ty,)*);)+
            }

            /// Calls `visit` with some opcodes of every row: each value of each modifier, the others at their first.
            pub fn samples(mut visit: impl FnMut(Op)) {
                $(
                    $crate::isa_table!(@first visit, $name, [$($field: $ty,)*]);
                    $crate::isa_table!(@vary visit, $name, [$($field: $ty,)*]; $($field: $ty,)*);
                )+
            }

            /// A hash of the numbers, names and modifiers of the rows, and of all facts on which decoding a
            /// trace depends.
            #[must_use]
            pub fn table_hash() -> u64 {
                let mut hash = $crate::isa::TableHash::default();
                $(
                    hash.row($number, stringify!($name), $mnemonic);
                    $(hash.modifier::<$ty>(stringify!($field));)*
                )+
                Op::samples(|op| hash.opcode(&op, &op.info()));
                hash.value()
            }
        }
    };
    ($($rows:tt)*) => {
        compile_error!(
            "a row of the opcode table is incomplete: it needs its number, name, mnemonic, unit, collector, latency class, \
             operands, lanes and its semantics, `=> pure(function)` or `=> outside(kind)`"
        );
    };
}
