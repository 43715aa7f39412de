//! Kernel parameters and `.const` variables as memory: structs indexed at addresses in registers, and their generic
//! addresses.

use crate::lower_kit;

use lower_kit::*;

/// Bytes of the struct parameter, every one different.
fn bytes() -> Vec<u8> {
    (0..64u8).map(|i| i.wrapping_mul(37) ^ 0x91).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

/// A kernel whose threads each store `%out`, which the body computes from the thread in `%t` and the address
/// of the struct parameter `s` (in parameter space) in `%s`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.const .align 8 .b8 table[64];\n\
         .func (.param .b32 r) follow(.param .b64 a)\n{{ .reg .b64 %p; .reg .b32 %v;\n ld.param.u64 %p, [a]; ld.u32 %v, [%p]; st.param.b32 [r], %v; ret; }}\n\
         .visible .entry test(.param .u64 p0, .param .align 8 .b8 s[64])\n{{\n\
         .reg .b32 %t, %out, %x<4>; .reg .b64 %a, %s, %d<4>; .reg .pred %q; .reg .b16 %h<4>;\n\
         mov.u32 %t, %tid.x;\nmov.b64 %s, s;\n{body}\n\
         ld.param.u64 %a, [p0];\nmad.wide.u32 %a, %t, 4, %a;\nst.global.b32 [%a], %out;\nret;\n}}\n"
    )
}

/// The words that 32 threads store.
fn put(body: &str) -> Vec<u32> {
    let lowered = lower(&kernel(body), 255);
    let reversed: Vec<u8> = bytes().into_iter().rev().collect();
    run_with_constants(&lowered, &[vec![0; 32]], &words(&bytes()), reversed, [1, 32]).pop().unwrap()
}

fn expect(body: &str, want: impl Fn(usize) -> u32) {
    let got = put(body);
    for (t, got) in got.into_iter().enumerate() {
        assert_eq!(got, want(t), "thread {t} of {body}");
    }
}

#[test]
fn parameters_are_indexed_at_addresses_in_registers() {
    let b = bytes();
    let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
    expect("mul.wide.u32 %d0, %t, 1;\nadd.s64 %d0, %d0, %s;\nld.param.u8 %out, [%d0+7];", |t| {
        b[t + 7].into()
    });
    expect("mul.wide.u32 %d0, %t, 1;\nadd.s64 %d0, %d0, %s;\nld.param.s8 %out, [%d0+7];", |t| {
        b[t + 7] as i8 as u32
    });
    expect(
        "and.b32 %x0, %t, 15;\nmul.wide.u32 %d0, %x0, 4;\nadd.s64 %d0, %d0, %s;\nld.param.u32 %out, [%d0];",
        |t| word(t % 16 * 4),
    );
    expect(
        "and.b32 %x0, %t, 7;\nmul.wide.u32 %d0, %x0, 8;\nadd.s64 %d0, %d0, %s;\nld.param.v2.u32 {%x1, %x2}, [%d0];\nxor.b32 %out, %x1, %x2;",
        |t| word(t % 8 * 8) ^ word(t % 8 * 8 + 4),
    );
    expect("ld.param.v4.u8 {%h0, %h1, %h2, %h3}, [s+12];\ncvt.u32.u16 %out, %h2;", |_| b[14].into());
}

#[test]
fn parameters_have_generic_addresses() {
    let b = bytes();
    let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
    let generic = "cvta.param.u64 %d0, %s;\nand.b32 %x0, %t, 15;\nmad.wide.u32 %d1, %x0, 4, %d0;\n";
    expect(&format!("{generic}ld.u32 %out, [%d1];"), |t| word(t % 16 * 4));
    expect(&format!("{generic}ld.u8 %out, [%d1+2];"), |t| b[t % 16 * 4 + 2].into());
    let call = "{ .param .b64 a0; .param .b32 r0; st.param.b64 [a0], %d1; call (r0), follow, (a0); ld.param.b32 %out, [r0]; }";
    expect(&format!("{generic}{call}"), |t| word(t % 16 * 4));
    expect(&format!("{generic}cvta.to.param.u64 %d2, %d1;\nld.param.u32 %out, [%d2];"), |t| word(t % 16 * 4));
    // Lanes may mix spaces: odd ones read the output buffer.
    let mixed = "ld.param.u64 %d2, [p0];\nand.b32 %x1, %t, 1;\nsetp.eq.u32 %q, %x1, 1;\nselp.b64 %d1, %d2, %d1, %q;\nld.u32 %out, [%d1];";
    expect(&format!("{generic}{mixed}"), |t| if t % 2 == 1 { 0 } else { word(t % 16 * 4) });
}

#[test]
fn const_variables_have_generic_addresses() {
    let b: Vec<u8> = bytes().into_iter().rev().collect();
    let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
    let generic = "mov.u64 %d0, table;\ncvta.const.u64 %d0, %d0;\nand.b32 %x0, %t, 15;\nmad.wide.u32 %d1, %x0, 4, %d0;\n";
    expect(&format!("{generic}ld.u32 %out, [%d1];"), |t| word(t % 16 * 4));
    expect(&format!("{generic}cvta.to.const.u64 %d1, %d1;\nld.const.u32 %out, [%d1];"), |t| word(t % 16 * 4));
}

#[test]
fn isspacep_tells_spaces_apart() {
    let addresses = [
        ("const", "mov.u64 %d0, table;\ncvta.const.u64 %d0, %d0;"),
        ("param", "cvta.param.u64 %d0, %s;"),
        ("global", "ld.param.u64 %d0, [p0];"),
        ("shared", "mov.u64 %d0, 16;\ncvta.shared.u64 %d0, %d0;"),
        ("local", "mov.u64 %d0, 16;\ncvta.local.u64 %d0, %d0;"),
    ];
    for (is, address) in addresses {
        for space in ["const", "param", "global", "shared", "shared::cluster", "local"] {
            let want = u32::from(is == space || (is == "shared" && space == "shared::cluster"));
            expect(&format!("{address}\nisspacep.{space} %q, %d0;\nselp.u32 %out, 1, 0, %q;"), |_| want);
        }
    }
}

#[test]
#[should_panic(expected = "constant store")]
fn constants_cannot_be_stored_to() {
    put("cvta.param.u64 %d0, %s;\nst.u32 [%d0], %t;\nmov.u32 %out, 0;");
}
