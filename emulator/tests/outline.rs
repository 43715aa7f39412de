//! Outlines of kernels that call much code through registers.

use emulator::lower::{LowerOptions, Lowered};
use emulator::session::LoadedModule;

/// Statements of addressed functions from which a kernel is outlined.
const LARGE: usize = 200_000;

/// A kernel that calls one of two functions of `lines` additions each through a register, and one that calls none.
fn module(lines: usize) -> LoadedModule {
    let sums = "    add.u32 %r0, %r0, %r0;\n".repeat(lines);
    let function = |name: &str| {
        format!(
            ".visible .func {name}()\n{{\n    .reg .b32 %r<1>;\n    .reg .b64 %rd<1>;\n    mov.u64 %rd0, words;\n    \
             ld.volatile.shared.u32 %r0, [words];\n{sums}    st.volatile.shared.u32 [words], %r0;\n    ret;\n}}\n"
        )
    };
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 words[400];\n.shared .align 4 .b8 own[24];\n{}{}\
         .visible .global .align 8 .u64 table[2] = {{one, two}};\n\
         .visible .entry k(.param .u32 n, .param .u64 to) .maxntid 640\n{{\n    .reg .b64 %rd<3>;\n    .reg .b32 %r<1>;\n    \
         ld.param.u32 %r0, [n];\n    mov.u64 %rd0, table;\n    mul.wide.u32 %rd1, %r0, 8;\n    add.s64 %rd0, %rd0, %rd1;\n    \
         ld.global.u64 %rd2, [%rd0];\n    st.shared.u32 [own], %r0;\n    \
         prototype: .callprototype ()_ ();\n    call %rd2, (), prototype;\n    ret;\n}}\n\
         .visible .entry plain()\n{{\n    ret;\n}}\n",
        function("one"),
        function("two"),
    );
    LoadedModule::parse(&text, "outline.ptx").unwrap_or_else(|e| panic!("{e}"))
}

fn outline(loaded: &LoadedModule, kernel: &str) -> Option<Lowered> {
    let options = LowerOptions::default();
    let id = loaded.kernel(kernel).expect("the kernel is there");
    loaded.outline(id, &options).map(|outline| outline.unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn only_kernels_with_much_addressed_code_are_outlined() {
    let (small, large) = (module(10), module(LARGE / 2));
    assert!(outline(&small, "k").is_none());
    assert!(outline(&large, "plain").is_none());
    assert!(outline(&large, "k").is_some());
}

#[test]
fn an_outline_has_the_parameters_and_memory_of_the_kernel_and_its_bounds() {
    let outline = outline(&module(LARGE / 2), "k").expect("an outline").kernel;
    let small = module(10);
    let id = small.kernel("k").expect("the kernel is there");
    let lowered = small.lower(id, &LowerOptions::default()).unwrap_or_else(|e| panic!("{e}")).kernel;
    assert_eq!(outline.static_shared_bytes, lowered.static_shared_bytes);
    assert_eq!((&outline.params, outline.param_bytes), (&lowered.params, lowered.param_bytes));
    assert_eq!(outline.max_threads_per_block, lowered.max_threads_per_block);
    assert!(outline.regs_per_thread >= lowered.regs_per_thread);
    assert!(outline.local_bytes >= lowered.local_bytes);
    // 640 threads share 65536 registers, and hardware takes two.
    assert_eq!(outline.regs_per_thread, 94);
}
