//! Samples of arithmetic: each form with the number and kinds of operands that its family takes.

use super::sample::{Sample, Verdict};
use super::words::{Words, kind};

/// Operands `%d0, %s0, …` of one destination and so many sources.
fn operands(sources: usize) -> String {
    (0..sources).fold("%d0".to_owned(), |text, at| format!("{text}, %s{at}"))
}

fn plain(form: &str, dst: char, srcs: &str) -> Sample {
    Sample::new(format!("{form} {};", operands(srcs.len())), &dst.to_string(), srcs)
}

/// The sample of an arithmetic form.
pub(super) fn sample(form: &str, words: &Words<'_>) -> Option<Sample> {
    if matches!(words.family, "vabsdiff2" | "vabsdiff4") {
        return Some(plain(form, 'r', "rrr"));
    }
    let k = kind(words.last())?;
    let same = |n: usize| plain(form, k, &k.to_string().repeat(n));
    if words.has("cc") || matches!(words.family, "addc" | "subc" | "madc") {
        return carry(form, words, k);
    }
    let made = match words.family {
        "add" | "sub" | "min" | "max" | "and" | "or" | "xor" | "copysign" => same(2),
        "div" | "rem" => match k {
            'f' | 'g' => same(2),
            // The result of a division by zero is undefined.
            k => {
                let bits = if k == 'd' {
                    64
                } else if k == 'h' {
                    16
                } else {
                    32
                };
                Sample::new(
                    format!("or.b{bits} %s1, %s1, 1;\n{form} {};", operands(2)),
                    &k.to_string(),
                    &k.to_string().repeat(2),
                )
            }
        },
        "mul" | "mad" if words.has("wide") => {
            let wide = if k == 'h' { 'r' } else { 'd' };
            let sources =
                format!("{k}{k}{}", if words.family == "mad" { wide.to_string() } else { String::new() });
            plain(form, wide, &sources)
        }
        "mul" => same(2),
        "mad" | "fma" => same(3),
        "abs" | "neg" | "not" | "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh"
        | "brev" => same(1),
        "mov" => same(1),
        "shl" | "shr" => plain(form, k, &format!("{k}r")),
        "popc" | "clz" | "bfind" => plain(form, 'r', &k.to_string()),
        "bfe" => plain(form, k, &format!("{k}rr")),
        "bfi" => plain(form, k, &format!("{k}{k}rr")),
        "prmt" | "shf" | "dp4a" => plain(form, 'r', "rrr"),
        "bmsk" => plain(form, 'r', "rr"),
        "lop3" => Sample::new(format!("{form} %d0, %s0, %s1, %s2, 0x96;"), "r", "rrr"),
        "selp" => plain(form, k, &format!("{k}{k}p")),
        "setp" => plain(form, 'p', &k.to_string().repeat(2)),
        "set" => {
            let dst = kind(words.modifiers[words.modifiers.len() - 2])?;
            plain(form, dst, &k.to_string().repeat(2))
        }
        "cvt" => {
            let dst = kind(words.modifiers[words.modifiers.len() - 2])?;
            plain(form, dst, &k.to_string())
        }
        _ => return None,
    };
    let close = words.has("approx") || words.has("full");
    Some(if close { made.judged(Verdict::Close) } else { made })
}

/// Forms that read or write the carry flag: between an addition or subtraction that sets it and one that
/// shows it.
fn carry(form: &str, words: &Words<'_>, k: char) -> Option<Sample> {
    let (set, show) = match words.family {
        "sub" | "subc" => ("sub.cc.u32", "subc.u32"),
        _ => ("add.cc.u32", "addc.u32"),
    };
    let product = matches!(words.family, "mad" | "madc");
    let own = if product { "%s2, %s3, %s0" } else { "%s2, %s3" };
    let body = format!("{set} %d0, %s0, %s1;\n{form} %d1, {own};\n{show} %d2, 0, 0;");
    (k == 'r').then(|| Sample::new(body, "rrr", "rrrr"))
}
