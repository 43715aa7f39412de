//! The words of a form, and its types.

/// A form taken apart: its first word and the modifiers.
pub(super) struct Words<'f> {
    pub(super) family: &'f str,
    pub(super) modifiers: Vec<&'f str>,
}

impl<'f> Words<'f> {
    pub(super) fn of(form: &'f str) -> Self {
        let mut words = form.split('.');
        let family = words.next().unwrap_or_default();
        Self { family, modifiers: words.collect() }
    }

    pub(super) fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    pub(super) fn last(&self) -> &'f str {
        self.modifiers.last().copied().unwrap_or_default()
    }
}

/// The letter of a PTX type.
pub(super) fn kind(ty: &str) -> Option<char> {
    Some(match ty {
        "u8" | "s8" | "b8" | "u16" | "s16" | "b16" => 'h',
        "u32" | "s32" | "b32" | "tf32" => 'r',
        "u64" | "s64" | "b64" => 'd',
        "f16" | "bf16" => 'e',
        "f16x2" | "bf16x2" => 'x',
        "f32" => 'f',
        "f64" => 'g',
        "pred" => 'p',
        _ => return None,
    })
}

/// Bytes of a PTX type in memory.
pub(super) fn bytes(ty: &str) -> usize {
    let bits: String = ty.trim_start_matches(|c: char| !c.is_ascii_digit()).chars().take(2).collect();
    match bits.as_str() {
        "8" => 1,
        _ if ty.ends_with("x2") => 4,
        "16" => 2,
        "32" => 4,
        _ => 8,
    }
}
