//! Samples of loads, stores, atomics, address conversions and copies in every state space.

use super::sample::{BLOCK, Sample};
use super::words::{Words, bytes, kind};

/// Code for a sample in one space: declarations, instructions that copy the thread's first sixteen input
/// bytes from `%in+16` there, the address operand, and instructions that copy the bytes back to `%t0` and
/// `%t1`.
struct SpaceText {
    module: String,
    setup: String,
    address: String,
    back: String,
}

fn place(space: Option<&str>) -> Option<SpaceText> {
    let fetch = "ld.global.v2.b64 {%t0, %t1}, [%in+16];\n";
    Some(match space {
        Some("global") => SpaceText {
            module: String::new(),
            setup: format!("{fetch}st.global.v2.b64 [%out], {{%t0, %t1}};\n"),
            address: "[%out]".into(),
            back: "ld.global.v2.b64 {%t0, %t1}, [%out];\n".into(),
        },
        None => SpaceText {
            module: String::new(),
            setup: format!(
                "{fetch}st.global.v2.b64 [%out], {{%t0, %t1}};\n.reg .b64 %generic;\ncvta.global.u64 %generic, %out;\n"
            ),
            address: "[%generic]".into(),
            back: "ld.global.v2.b64 {%t0, %t1}, [%out];\n".into(),
        },
        Some("shared") => SpaceText {
            module: ".shared .align 16 .b8 s_array[2048];\n".into(),
            setup: format!(
                "{fetch}.reg .b32 %sa;\nmov.u32 %sa, s_array;\nmad.lo.s32 %sa, %me, 16, %sa;\nst.shared.v2.b64 [%sa], {{%t0, %t1}};\n"
            ),
            address: "[%sa]".into(),
            back: "ld.shared.v2.b64 {%t0, %t1}, [%sa];\n".into(),
        },
        Some("local") => SpaceText {
            module: String::new(),
            setup: format!(
                ".local .align 16 .b8 l_array[64];\n{fetch}st.local.v2.b64 [l_array+16], {{%t0, %t1}};\n"
            ),
            address: "[l_array+16]".into(),
            back: "ld.local.v2.b64 {%t0, %t1}, [l_array+16];\n".into(),
        },
        Some("const") => {
            let list: Vec<String> = (0..256).map(|i| ((i * 37 + 11) % 256).to_string()).collect();
            SpaceText {
                module: format!(".const .align 16 .b8 c_array[256] = {{{}}};\n", list.join(", ")),
                setup: ".reg .b64 %ca, %cb;\n.reg .b32 %ci;\nand.b32 %ci, %me, 15;\nmul.wide.u32 %cb, %ci, 16;\nmov.u64 %ca, c_array;\nadd.s64 %ca, %ca, %cb;\n".into(),
                address: "[%ca]".into(),
                back: String::new(),
            }
        }
        Some("param") => SpaceText {
            module: String::new(),
            setup: String::new(),
            address: "[p_struct+16]".into(),
            back: String::new(),
        },
        _ => return None,
    })
}

const SPACES: [&str; 5] = ["global", "shared", "local", "const", "param"];

fn space<'f>(words: &Words<'f>) -> Option<&'f str> {
    words.modifiers.iter().copied().find(|m| SPACES.contains(m))
}

/// `{%d0, %d1}`, or `%d0` alone.
fn vector(side: char, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|at| format!("%{side}{at}")).collect();
    if count == 1 { names.concat() } else { format!("{{{}}}", names.join(", ")) }
}

fn count(words: &Words<'_>) -> usize {
    match () {
        () if words.has("v2") => 2,
        () if words.has("v4") => 4,
        () => 1,
    }
}

/// The sample of a form that touches memory.
pub(super) fn sample(form: &str, words: &Words<'_>) -> Option<Sample> {
    match words.family {
        "ld" => load(form, words),
        "st" if space(words) == Some("param") => argument(form, words),
        "st" => store(form, words),
        "atom" | "red" => atomic(form, words),
        "cvta" => conversion(form, words),
        "prefetch" => Some(Sample::new(format!("{form} [%in];"), "", "")),
        "cp" => copy(form, words),
        _ => None,
    }
}

fn load(form: &str, words: &Words<'_>) -> Option<Sample> {
    let (k, n, place) = (kind(words.last())?, count(words), place(space(words))?);
    // The read-only path is only valid for memory that no thread writes.
    let (setup, address) = match words.has("nc") {
        true => (String::new(), "[%in+16]".to_owned()),
        false => (place.setup, place.address),
    };
    let body = format!("{setup}{form} {}, {address};", vector('d', n));
    Some(Sample::new(body, &k.to_string().repeat(n), "").with(place.module))
}

fn store(form: &str, words: &Words<'_>) -> Option<Sample> {
    let (k, n, place) = (kind(words.last())?, count(words), place(space(words))?);
    let body = format!(
        "{}{form} {}, {};\n{}mov.b64 %d0, %t0;\nmov.b64 %d1, %t1;",
        place.setup,
        place.address,
        vector('s', n),
        place.back
    );
    Some(Sample::new(body, "dd", &k.to_string().repeat(n)).with(place.module))
}

/// A store into a call's argument: a function returns its bytes in reverse order.
fn argument(form: &str, words: &Words<'_>) -> Option<Sample> {
    let (k, n) = (kind(words.last())?, count(words));
    let size = bytes(words.last()) * n;
    let module = ".func (.param .align 16 .b8 f_result[16]) f_turn(.param .align 16 .b8 f_argument[16])\n{\n\
                  \t.reg .b64 %a, %b;\n\tld.param.b64 %a, [f_argument];\n\tld.param.b64 %b, [f_argument+8];\n\
                  \tst.param.b64 [f_result], %b;\n\tst.param.b64 [f_result+8], %a;\n\tret;\n}\n";
    let body = format!(
        "ld.global.v2.b64 {{%t0, %t1}}, [%in+16];\n{{\n.param .align 16 .b8 argument[16];\n\
         .param .align 16 .b8 result[16];\nst.param.b64 [argument], %t0;\nst.param.b64 [argument+8], %t1;\n\
         {form} [argument+{}], {};\ncall.uni (result), f_turn, (argument);\n\
         ld.param.b64 %d0, [result];\nld.param.b64 %d1, [result+8];\n}}",
        16 - size,
        vector('s', n)
    );
    Some(Sample::new(body, "dd", &k.to_string().repeat(n)).with(module))
}

fn atomic(form: &str, words: &Words<'_>) -> Option<Sample> {
    let (k, place) = (kind(words.last())?, place(space(words))?);
    let back = format!("{}mov.b64 %d0, %t0;\nmov.b64 %d1, %t1;", place.back);
    let (b, kinds) = match words.has("cas") {
        // For half of the threads the comparison succeeds.
        true => ("%s0, %s1", k.to_string().repeat(2)),
        false => ("%s0", k.to_string()),
    };
    let expect = match (words.has("cas"), k) {
        (false, _) => String::new(),
        (true, 'r') => {
            "cvt.u32.u64 %word, %t0;\nand.b32 %half, %me, 1;\nsetp.ne.s32 %no, %half, 0;\nselp.b32 %s0, %word, %s0, %no;\n".into()
        }
        (true, _) => "and.b32 %half, %me, 1;\nsetp.ne.s32 %no, %half, 0;\nselp.b64 %s0, %t0, %s0, %no;\n".to_owned(),
    };
    let setup = format!("{}{expect}", place.setup);
    if words.family == "red" {
        let body = format!("{setup}{form} {}, {b};\n{back}", place.address);
        return Some(Sample::new(body, "dd", &kinds).with(place.module));
    }
    // The result is read back into a register of its kind and is cleared in compared memory: NaNs have
    // several encodings.
    let reload = if matches!(k, 'd' | 'g') { "mov.b64 %d1, %t0;" } else { "mov.b64 {%d1, _}, %t0;" };
    let clear = if words.has("shared") { "" } else { "\nst.global.v2.b64 [%out], {0, 0};" };
    let body = format!("{setup}{form} %d0, {}, {b};\n{}{reload}{clear}", place.address, place.back);
    Some(Sample::new(body, &k.to_string().repeat(2), &kinds).with(place.module))
}

/// An address there and back.
fn conversion(form: &str, words: &Words<'_>) -> Option<Sample> {
    let place = place(space(words))?;
    let name = space(words)?;
    let own = match name {
        "global" => "mov.u64 %a, %out;",
        "shared" => "cvt.u64.u32 %a, %sa;",
        "local" => "mov.u64 %a, l_array;\nadd.s64 %a, %a, 16;",
        _ => return None,
    };
    let there = format!("cvta.{name}.u64 %b, %a;");
    let body = match words.has("to") {
        true => format!("{own}\n{there}\n{form} %c, %b;\nld.{name}.b64 %d0, [%c];"),
        false => format!("{own}\n{form} %b, %a;\nld.b64 %d0, [%b];"),
    };
    Some(Sample::new(format!("{}.reg .b64 %a, %b, %c;\n{body}", place.setup), "d", "").with(place.module))
}

/// Asynchronous copies of sixteen bytes: started, committed, awaited, read.
fn copy(form: &str, words: &Words<'_>) -> Option<Sample> {
    if !words.has("async") {
        return None;
    }
    let place = place(Some("shared"))?;
    let copy = if words.has("shared") && !words.has("mbarrier") { form } else { "cp.async.ca.shared.global" };
    let mut body = format!("{}{copy} [%sa], [%in+32], 16;\n", place.setup);
    let mut module = place.module;
    if words.has("mbarrier") {
        module += ".shared .align 8 .b64 s_barrier;\n";
        body = format!(
            "setp.ne.u32 %no, %me, 0;\n@%no bra $ready;\nmbarrier.init.shared.b64 [s_barrier], {};\n$ready:\nbar.sync 0;\n{body}",
            BLOCK
        );
        body += &format!(
            "{form} [s_barrier];\n.reg .b64 %state;\nmbarrier.arrive.shared.b64 %state, [s_barrier];\n\
             $again:\nmbarrier.test_wait.shared.b64 %no, [s_barrier], %state;\n@!%no bra $again;\n"
        );
        body = body.replace(&format!(", {};", BLOCK), &format!(", {};", 2 * BLOCK));
        // Without `.noinc` the pending arrival raises the count that it then meets.
        if !words.has("noinc") {
            body = body.replace(&format!(", {};", 2 * BLOCK), &format!(", {};", BLOCK));
        }
    } else {
        body += "cp.async.commit_group;\ncp.async.wait_group 0;\n";
    }
    body += &format!("bar.sync 0;\n{}mov.b64 %d0, %t0;\nmov.b64 %d1, %t1;", place.back);
    Some(Sample::new(body, "dd", "").with(module))
}
