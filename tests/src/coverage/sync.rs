//! Samples of control flow, barriers, warp-wide operations, fences.

use super::sample::{Sample, Verdict};
use super::words::Words;

/// The sample of a form that is about more than one thread's data.
pub(super) fn sample(form: &str, words: &Words<'_>) -> Option<Sample> {
    match words.family {
        "ret" | "exit" => Some(Sample::new(
            format!(
                "setp.lt.s32 %no, %s0, %s1;\nst.global.b32 [%out], %s0;\n@%no {form};\nst.global.b32 [%out], %s1;"
            ),
            "",
            "rr",
        )),
        "bra" if words.has("uni") => Some(Sample::new(
            format!(
                "mov.b32 %d0, %s0;\nsetp.ne.s32 %no, %cta, 1;\n@%no {form} $over;\nmov.b32 %d0, %s1;\n$over:"
            ),
            "r",
            "rr",
        )),
        "bra" => Some(Sample::new(
            format!(
                "mov.b32 %d0, %s0;\nsetp.lt.s32 %no, %s0, %s1;\n@%no {form} $over;\nmov.b32 %d0, %s1;\n$over:"
            ),
            "r",
            "rr",
        )),
        "call" => Some(call(form)),
        "trap" => Some(Sample::new("trap;", "", "").judged(Verdict::Faults)),
        "bar" | "barrier" => barrier(form, words),
        "membar" | "fence" => Some(Sample::new(
            format!("st.global.b32 [%out], %s0;\n{form};\nld.global.b32 %d0, [%out];"),
            "r",
            "r",
        )),
        "nanosleep" => Some(Sample::new(format!("{form} 100;\nmov.b32 %d0, %s0;"), "r", "r")),
        "activemask" => Some(Sample::new(format!("{form} %d0;"), "r", "").judged(Verdict::Is(0xFFFF_FFFF))),
        "shfl" => Some(shuffle(form, words)),
        "vote" => Some(vote(form, words)),
        "match" => {
            let (body, srcs) = match words.last() {
                "b64" => ("and.b64 %s0, %s0, 0x100000001;", "d"),
                _ => ("and.b32 %s0, %s0, 3;", "r"),
            };
            Some(Sample::new(format!("{body}\n{form} %d0, %s0, -1;"), "r", srcs))
        }
        "mbarrier" => Some(mbarrier(form, words)),
        _ => None,
    }
}

fn call(form: &str) -> Sample {
    let module = ".func (.param .b32 f_result) f_mix(.param .b32 f_a, .param .b32 f_b)\n{\n\t.reg .b32 %a, %b;\n\
                  \tld.param.b32 %a, [f_a];\n\tld.param.b32 %b, [f_b];\n\tmad.lo.s32 %a, %a, 31, %b;\n\
                  \tst.param.b32 [f_result], %a;\n\tret;\n}\n";
    let guard = if form.contains("uni") { "" } else { "setp.lt.s32 %no, %s0, %s1;\n@%no bra $over;\n" };
    let body = format!(
        "mov.b32 %d0, %s0;\n{guard}{{\n.param .b32 first;\nst.param.b32 [first], %s0;\n.param .b32 second;\n\
         st.param.b32 [second], %s1;\n.param .b32 result;\n{form} (result), f_mix, (first, second);\n\
         ld.param.b32 %d0, [result];\n}}\n$over:"
    );
    Sample::new(body, "r", "rr").with(module)
}

fn barrier(form: &str, words: &Words<'_>) -> Option<Sample> {
    if words.has("warp") {
        let body = format!(
            "st.global.b32 [%out], %s0;\n{form} -1;\nxor.b32 %half, %me, 1;\nmul.wide.u32 %t0, %half, 64;\nadd.s64 %t0, %bout, %t0;\nld.volatile.global.b32 %d0, [%t0];"
        );
        return Some(Sample::new(body, "r", "r"));
    }
    if words.has("red") {
        let (dst, tail) = if words.has("popc") { ("r", "%s0") } else { ("p", "!%s0") };
        return Some(Sample::new(format!("{form} %d0, 0, {tail};"), dst, "p"));
    }
    let operands = if words.family == "barrier" { "1, 128" } else { "0" };
    let body = format!(
        ".shared .align 4 .b32 s_words[128];\n.reg .b32 %sa;\nmov.u32 %sa, s_words;\nmad.lo.s32 %word, %me, 4, %sa;\n\
         st.shared.b32 [%word], %s0;\n{form} {operands};\nxor.b32 %half, %me, 127;\nmad.lo.s32 %word, %half, 4, %sa;\n\
         ld.shared.b32 %d0, [%word];"
    );
    Some(Sample::new(body, "r", "r"))
}

fn shuffle(form: &str, words: &Words<'_>) -> Sample {
    let clamp = if words.has("up") { "0" } else { "31" };
    Sample::new(
        format!(
            "and.b32 %s1, %s1, 7;\n{form} %d0|%d1, %s0, %s1, {clamp}, -1;\n{form} %d2, %s0, 3, {clamp}, 0xffffffff;"
        ),
        "rpr",
        "rr",
    )
}

fn vote(form: &str, words: &Words<'_>) -> Sample {
    if words.has("ballot") {
        return Sample::new(format!("{form} %d0, %s0, -1;"), "r", "p");
    }
    // One warp of four agrees.
    let some = "setp.lt.u32 %no, %me, 32;\nor.pred %s0, %s0, %no;";
    Sample::new(format!("{some}\n{form} %d0, %s0, -1;\n{form} %d1, !%s0, -1;"), "pp", "p")
}

/// A phase of a shared-memory barrier that all threads of the block complete; a word of shared memory that one
/// thread writes before shows that the others waited.
fn mbarrier(form: &str, words: &Words<'_>) -> Sample {
    let module = ".shared .align 8 .b64 s_barrier;\n.shared .align 4 .b32 s_word;\n";
    let init = "setp.ne.u32 %no, %me, 0;\n@%no bra $ready;\nmbarrier.init.shared.b64 [s_barrier], 128;\n$ready:\nbar.sync 0;\n";
    let wait = match words.has("parity") {
        true => format!("{form} %no, [s_barrier], 0;"),
        false => "mbarrier.test_wait.shared.b64 %no, [s_barrier], %state;".into(),
    };
    let inval = match words.has("inval") {
        true => {
            "bar.sync 0;\nsetp.ne.u32 %no, %me, 0;\n@%no bra $done;\nmbarrier.inval.shared.b64 [s_barrier];\n$done:"
        }
        false => "",
    };
    let body = format!(
        ".reg .b64 %state;\n{init}setp.ne.u32 %no, %me, 77;\n@%no bra $written;\nst.shared.b32 [s_word], 4711;\n$written:\n\
         mbarrier.arrive.shared.b64 %state, [s_barrier];\n$again:\n{wait}\n@!%no bra $again;\nld.shared.b32 %d0, [s_word];\n{inval}"
    );
    Sample::new(body, "r", "").with(module).judged(Verdict::Is(4711))
}
