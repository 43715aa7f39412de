//! The macro that turns the rows of an opcode table into the function that executes them.

/// Makes `perform(op, execution)` from the rows of [`isa_table!`](crate::isa_table): the effect of each row
/// on the registers of a warp. The caller handles effects outside of registers.
#[doc(hidden)]
#[macro_export]
macro_rules! isa_semantics {
    (@run pure($function:path); $execution:ident $(, $field:ident)*) => { $function($execution $(, $field)*) };
    (@run outside($kind:expr); $execution:ident $(, $field:ident)*) => { () };
    ($(
        $(#[$doc:meta])*
        $number:literal $name:ident { $($field:ident : $ty:ty),* } = $mnemonic:literal,
        $unit:expr, $collector:expr, $latency:ident,
        dst $dst:expr, src $src:expr, $format:expr, pred $pdst:literal <- $psrc:literal,
        $lanes:ident => $how:ident ( $($what:tt)* ) $(unless ( $($unless:tt)* ))? $(, memory $memory:expr)?;
    )+) => {
        /// Applies the row of an opcode to the registers of a warp.
        #[allow(unused_variables, reason = "what happens outside of registers needs no modifiers")]
        #[inline(always)]
        pub(crate) fn perform(op: Op, execution: $crate::semantics::Execution<'_>) {
            match op {
                $(Op::$name { $($field),* } => $crate::isa_semantics!(@run $how($($what)*); execution $(, $field)*),)+
            }
        }
    };
}
