//! Operands that ptxas accepts: variables named by accesses without a state space, and registers plus a constant
//! as values.

use crate::lower_kit;

use lower_kit::*;

/// A kernel with a variable in each space, whose threads leave a word in `%out`; `%t` is the thread.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .shared .align 16 .b8 tile[1024];\n.const .align 16 .b8 table[64];\n\
         .visible .entry test(.param .u64 p0)\n{{\n.local .align 16 .b8 frame[64];\n\
         .reg .b32 %t, %out, %x<8>; .reg .b64 %a, %d<8>; .reg .pred %q<4>; .reg .b16 %h<8>; .reg .f32 %f<4>;\n\
         mov.u32 %t, %tid.x;\n{body}\n\
         ld.param.u64 %a, [p0];\nmad.wide.u32 %a, %t, 4, %a;\nst.global.b32 [%a], %out;\nret;\n}}\n"
    )
}

fn put(body: &str) -> Vec<u32> {
    let constants: Vec<u8> = (0..64).collect();
    run_with_constants(&lower(&kernel(body), 255), &[vec![0; 32]], &[], constants, [1, 32]).pop().unwrap()
}

fn expect(body: &str, want: impl Fn(u32) -> u32) {
    let got = put(body);
    for (t, got) in (0..).zip(got) {
        assert_eq!(got, want(t), "thread {t} of {body}");
    }
}

/// `ld.u32 r, [variable]`: the generic address of the variable, not its address in its own space.
#[test]
fn generic_accesses_may_name_variables() {
    // What one thread wrote, the whole block reads.
    let first = "setp.eq.u32 %q0, %t, 0;\n";
    for (qualifier, place) in
        [("", "tile"), (".volatile", "tile+8"), (".relaxed.gpu", "tile+12"), ("", "tile[20]")]
    {
        expect(
            &format!(
                "{first}@%q0 st{qualifier}.u32 [{place}], 77;\nbar.sync 0;\nld{qualifier}.u32 %out, [{place}];"
            ),
            |_| 77,
        );
        // The same word as through an access with its state space.
        expect(
            &format!(
                "{first}@%q0 st.shared.u32 [{place}], 78;\nbar.sync 0;\nld{qualifier}.u32 %out, [{place}];"
            ),
            |_| 78,
        );
        expect(
            &format!(
                "{first}@%q0 st{qualifier}.u32 [{place}], 79;\nbar.sync 0;\nld.shared.u32 %out, [{place}];"
            ),
            |_| 79,
        );
    }
    expect(
        "st.v4.u32 [frame+16], {%t, 1, 2, 3};\nld.v2.u32 {%x0, %x1}, [frame+16];\nld.local.u32 %x2, [frame+28];\n\
         mad.lo.u32 %out, %x0, 100, %x1;\nmad.lo.u32 %out, %out, 100, %x2;",
        |t| (t * 100 + 1) * 100 + 3,
    );
    // Constants have no generic address, but through `cvta`.
    let message = refusal(&kernel("ld.u8 %out, [table+9];"));
    assert!(message.contains("expected a generic address, and this one is in `.const`"), "{message}");
    // Mixed with an address in a register.
    expect(
        "mov.u64 %d0, frame;\ncvta.local.u64 %d0, %d0;\nst.u32 [%d0+4], %t;\nld.u32 %out, [frame+4];",
        |t| t,
    );
}

#[test]
fn generic_atomics_may_name_shared_variables() {
    let zero = "setp.eq.u32 %q0, %t, 0;\n@%q0 st.shared.v2.u32 [tile+16], {0, 5};\nbar.sync 0;\n";
    expect(
        &format!("{zero}atom.add.u32 %x0, [tile+16], 3;\nbar.sync 0;\nld.shared.u32 %out, [tile+16];"),
        |_| 96,
    );
    expect(&format!("{zero}red.add.u32 [tile+16], %t;\nbar.sync 0;\nld.shared.u32 %out, [tile+16];"), |_| {
        31 * 16
    });
    expect(&format!("{zero}atom.cas.b32 %x0, [tile+20], 5, 9;\nbar.sync 0;\nld.u32 %out, [tile+20];"), |_| 9);
    expect(
        &format!(
            "{zero}@%q0 atom.exch.b64 %d0, [tile+16], 11;\nbar.sync 0;\nld.u64 %d1, [tile+16];\ncvt.u32.u64 %out, %d1;"
        ),
        |_| 11,
    );
}

/// Hints on variables of any space do nothing, fragments may be named too.
#[test]
fn hints_and_fragments_may_name_variables() {
    expect("prefetch.L1 [tile];\nprefetchu.L1 [frame];\nmov.u32 %out, %t;", |t| t);
    let fill = "mul.lo.u32 %x0, %t, 16;\nmov.u32 %x1, tile;\nadd.u32 %x1, %x1, %x0;\nadd.u32 %x2, %t, 100;\n\
                st.shared.v4.u32 [%x1], {%t, %x2, %t, %x2};\nbar.warp.sync -1;\n";
    let registers = "{%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7}";
    let sum = "xor.b32 %out, %x0, %x3;\nxor.b32 %out, %out, %x7;";
    let load = |space: &str| {
        put(&format!("{fill}wmma.load.a.sync.aligned.row.m16n16k16{space}.f16 {registers}, [tile];\n{sum}"))
    };
    assert_eq!(load(""), load(".shared"));
    assert!(load("").iter().any(|&w| w != 0));
}

/// An access with a state space cannot name a variable of another one.
#[test]
fn accesses_may_not_name_variables_of_another_space() {
    for body in [
        "ld.global.u32 %out, [tile];",
        "ld.shared.u32 %out, [table];",
        "st.local.u32 [tile], %t;",
        "atom.global.add.u32 %out, [frame], 1;",
        "ld.const.u32 %out, [tile];",
    ] {
        let message = refusal(&kernel(body));
        assert!(
            message.contains("expected a variable in `.") && message.contains("this one is in"),
            "{body}: {message}"
        );
    }
}

#[test]
fn values_may_be_registers_plus_constants() {
    expect("add.u32 %out, %t+1, %t;", |t| 2 * t + 1);
    expect("sub.u32 %out, %t, %t+-3;", |_| 3);
    expect("mov.u32 %out, %t+7;", |t| t + 7);
    expect("mad.lo.u32 %out, %t+1, %t+2, 4+%t;", |t| (t + 1) * (t + 2) + t + 4);
    expect("shl.b32 %out, %t+1, 2;", |t| (t + 1) << 2);
    expect("not.b32 %out, %t+1;", |t| !(t + 1));
    expect("mov.u32 %x0, 1000;\nselp.u32 %out, %t+1, %x0+5, 1;", |t| t + 1);
    expect("setp.eq.u32 %q0, %t+1, 4;\nselp.u32 %out, 1, 0, %q0;", |t| u32::from(t == 3));
    expect("cvt.u64.u32 %d0, %t+-1;\nshr.u64 %d0, %d0, 4;\ncvt.u32.u64 %out, %d0;", |t| {
        t.wrapping_sub(1) >> 4
    });
    expect(
        "mov.u32 %x0, tile;\nmad.lo.u32 %x0, %t, 4, %x0;\nst.shared.u32 [%x0+4], %t+9;\nld.shared.u32 %out, [%x0+4];",
        |t| t + 9,
    );
    // 64 bits carry.
    expect(
        "cvt.u64.u32 %d0, %t;\nor.b64 %d0, %d0, 0xffffffe0;\nmov.u64 %d1, %d0+32;\nshr.u64 %d1, %d1, 5;\ncvt.u32.u64 %out, %d1;",
        |_| 1 << 27,
    );
    expect("cvt.u64.u32 %d0, %t;\nst.local.u64 [frame], %d0 + 1;\nld.local.u32 %out, [frame];", |t| t + 1);
    expect("cvt.u64.u32 %d0, %t;\nst.local.u64 [frame], %d0+-1;\nld.local.u32 %out, [frame+4];", |t| {
        if t == 0 { u32::MAX } else { 0 }
    });
    // Narrow registers wrap.
    expect("cvt.u16.u32 %h0, %t;\nor.b16 %h0, %h0, 0xfff0;\ncvt.u32.u16 %out, %h0+16;", |t| {
        ((t | 0xfff0) + 16) & 0xffff
    });
    expect("cvt.u16.u32 %h0, %t;\nst.local.u16 [frame], %h0+3;\nld.local.u16 %out, [frame];", |t| t + 3);
    expect(
        "mov.u64 %d0, frame;\ncvta.local.u64 %d1, %d0+8;\nst.u32 [%d1], %t;\nld.local.u32 %out, [frame+8];",
        |t| t,
    );
    expect(
        "mov.u32 %x0, 0;\nst.shared.u32 [tile], %x0;\nbar.sync 0;\natom.shared.add.u32 %x1, [tile], %x0+2;\nbar.sync 0;\nld.shared.u32 %out, [tile];",
        |_| 64,
    );
    expect("shfl.sync.idx.b32 %out, %t+1, 5, 31, -1;", |_| 6);
}

/// Only integer registers take a constant: sums of other types have no such form.
#[test]
fn floats_and_predicates_take_no_constant() {
    for body in [
        "mov.f32 %f0, 0f3F800000;\nadd.f32 %f1, %f0+1, %f0;",
        "setp.eq.u32 %q0, %t, 1;\nselp.u32 %out, 1, 2, %q0+1;",
    ] {
        let message = refusal(&kernel(body));
        assert!(message.contains("value of type"), "{body}: {message}");
    }
}
