//! Names of kernels: profilers print them mangled, demangled with parameters, or as base names.

/// The name without what profilers append: the correlation number of nvprof (`kernel(int) [112]`).
pub(super) fn trimmed(name: &str) -> &str {
    let name = name.trim();
    let Some((start, number)) = name.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [")) else {
        return name;
    };
    if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) { start } else { name }
}

/// The function's own name: without scopes, template arguments, parameters and result type.
///
/// Returns the whole name if it has no such form.
pub(super) fn base(name: &str) -> &str {
    let name = trimmed(name);
    let found = if name.starts_with("_Z") { of_mangled(name) } else { of_demangled(name) };
    found.filter(|base| !base.is_empty()).unwrap_or(name)
}

/// The last identifier of the name in Itanium's mangling (`_ZN2ns6kernelILi16EEEvPf`).
fn of_mangled(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("_Z")?;
    let rest = rest.strip_prefix('L').unwrap_or(rest);
    let (nested, mut rest) = rest.strip_prefix('N').map_or((false, rest), |rest| (true, rest));
    let mut last = None;
    loop {
        rest = rest.trim_start_matches(['L', 'K', 'V']);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest.get(..digits)?.parse().ok().or(None::<usize>).unwrap_or(0);
        if length == 0 {
            return last;
        }
        last = Some(rest.get(digits..digits.checked_add(length)?)?);
        rest = rest.get(digits + length..)?;
        if !nested {
            return last;
        }
        // Template arguments of an enclosing scope end with as many E as began; the function's own may stay.
        if rest.starts_with('I') {
            match after_arguments(rest) {
                Some(after) => rest = after,
                None => return last,
            }
        }
    }
}

/// The rest behind template arguments in Itanium's mangling; none if their form is not simple.
fn after_arguments(text: &str) -> Option<&str> {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let digits = text[at..].bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0
            && !text[..at]
                .ends_with(['i', 'j', 'b', 'l', 'm', 'c', 'h', 's', 't', 'n', 'x', 'y', 'S', 'T', '_'])
        {
            let length: usize = text[at..at + digits].parse().ok()?;
            at = at.checked_add(digits + length)?;
            text.get(at..)?;
            continue;
        }
        match c {
            'I' | 'L' | 'N' | 'J' => depth += 1,
            'E' => depth -= 1,
            _ => {}
        }
        at += c.len_utf8();
        if depth == 0 {
            return Some(&text[at..]);
        }
    }
    None
}

/// The name in `void ns::kernel<(int)16>(float *, int)`.
fn of_demangled(name: &str) -> Option<&str> {
    const ANONYMOUS: [&str; 2] = ["(anonymous namespace)::", "<unnamed>::"];
    // Scan at depth zero of brackets: a scope or a space begins a new name, a bracket ends it.
    let (mut start, mut end, mut depth) = (0, None, 0usize);
    let mut at = 0;
    while let Some(c) = name[at..].chars().next() {
        if depth == 0
            && let Some(skipped) = ANONYMOUS.iter().find(|scope| name[at..].starts_with(*scope))
        {
            at += skipped.len();
            (start, end) = (at, None);
            continue;
        }
        match c {
            '(' if depth == 0 => {
                end = end.or(Some(at));
                break;
            }
            '<' | '(' | '[' => {
                if depth == 0 {
                    end = end.or(Some(at));
                }
                depth += 1;
            }
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && name[at..].starts_with("::") => {
                at += 2;
                (start, end) = (at, None);
                continue;
            }
            ' ' if depth == 0 => (start, end) = (at + 1, None),
            _ => {}
        }
        at += c.len_utf8();
    }
    name.get(start..end.unwrap_or(at)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{base, trimmed};

    #[test]
    fn every_form_of_a_name_has_the_same_base() {
        for (name, expected) in [
            ("vecAdd", "vecAdd"),
            ("vecAdd(const float *, float *, int)", "vecAdd"),
            ("vecAdd(float const *, int) [112]", "vecAdd"),
            ("void kernel<float, (int)16>(T1 *, int)", "kernel"),
            ("void ns::inner::kernel<(bool)0, (bool)0>(ns::Params)", "kernel"),
            ("<unnamed>::transpose(const float *, float *, int)", "transpose"),
            ("void (anonymous namespace)::transpose<(int)4>(float *)", "transpose"),
            (
                "void cask__5x_cudnn::computeOffsetsKernel<(bool)0, (bool)0>(cask__5x_cudnn::P)",
                "computeOffsetsKernel",
            ),
            ("void at::native::k<at::F<float>, std::array<char *, 2ul> >(int, T2, T3)", "k"),
            ("_Z6vecAddPKfS0_Pfi", "vecAdd"),
            ("_Z6vecAddIfEvPT_S1_S1_i", "vecAdd"),
            ("_Z6kernelILi16EEvPf", "kernel"),
            ("_ZN2ns5inner6kernelILb0ELi4EEEvNS_6ParamsE", "kernel"),
            ("_ZN2ns1SILi3EE3runEPf", "run"),
            ("_ZN12_GLOBAL__N_19transposeEPKfPfi", "transpose"),
            ("_ZL9transposePKfPfi", "transpose"),
            ("[CUDA memcpy HtoD]", "[CUDA memcpy HtoD]"),
            ("", ""),
            ("_Z", "_Z"),
            ("_Z99short", "_Z99short"),
            ("_Z99999999999999999999999x", "_Z99999999999999999999999x"),
            ("k<<<(", "k"),
        ] {
            assert_eq!(base(name), expected, "{name}");
        }
        assert_eq!(trimmed("k(int) [7]"), "k(int)");
        assert_eq!(trimmed("k [x]"), "k [x]");
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_base(text in "\\PC*", mangled in "_Z[NLIE0-9a-zS_]{0,24}") {
            let _ = (base(&text), base(&mangled));
        }
    }
}
