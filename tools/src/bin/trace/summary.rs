//! Rows and address lists in a few words: uniform, affine, or their first lanes.

use trace_format::isa::space::Space;
use trace_format::reader::MemAccess;
use trace_format::semantics::Row;

/// Lanes shown of a row without a pattern.
const SHOWN: usize = 4;

/// What is shown of the lanes of a list.
fn pattern(lanes: &[usize], value: impl Fn(usize) -> u64, show: impl Fn(u64) -> String, bits: u32) -> String {
    let Some(&first) = lanes.first() else { return "-".into() };
    let base = value(first);
    if lanes.iter().all(|&l| value(l) == base) {
        return show(base);
    }
    let mask = u64::MAX >> (64 - bits);
    let step = value(lanes[1]).wrapping_sub(base) & mask;
    let signed = ((step << (64 - bits)) as i64) >> (64 - bits);
    let run = (lanes[1] - first) as i64;
    let stride = signed / run;
    let on_line = |&l: &usize| {
        let expected = base.wrapping_add((stride.wrapping_mul((l - first) as i64)) as u64) & mask;
        value(l) == expected
    };
    if lanes.len() > 2 && signed % run == 0 && lanes.iter().all(on_line) {
        let (sign, size) = if stride < 0 { ('-', stride.unsigned_abs()) } else { ('+', stride as u64) };
        let from = if first == 0 { "lane".to_string() } else { format!("(lane-{first})") };
        return format!("{base:#x} {sign} {size}*{from}");
    }
    let mut text = lanes.iter().take(SHOWN).map(|&l| show(value(l))).collect::<Vec<_>>().join(" ");
    if lanes.len() > SHOWN {
        text.push_str(" ..");
    }
    text
}

fn lanes_of(mask: u32) -> Vec<usize> {
    (0..32).filter(|l| mask >> l & 1 != 0).collect()
}

/// A row in the lanes of a mask; `float` shows words without a pattern as single-precision numbers.
pub(crate) fn row(row: &Row, mask: u32, float: bool) -> String {
    let lanes = lanes_of(mask);
    let show = |v: u64| if float { format!("{:?}", f32::from_bits(v as u32)) } else { format!("{v:#x}") };
    pattern(&lanes, |l| u64::from(row.0[l]), show, 32)
}

/// Where a memory instruction went.
pub(crate) fn access(mem: &MemAccess) -> String {
    let space = match mem.space {
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Generic => "generic",
        Space::Const => "constant",
        Space::Texture => "texture",
        Space::Surface => "surface",
    };
    let lanes = lanes_of(mem.mask);
    let places = pattern(&lanes, |l| mem.addresses[l], |v| format!("{v:#x}"), 64);
    format!("{space}[{places}] x{}", mem.bytes_per_lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_described_by_their_pattern() {
        let affine = Row::from_fn(|l| 16u32.wrapping_sub(4 * l as u32));
        assert_eq!(row(&affine, u32::MAX, false), "0x10 - 4*lane");
        assert_eq!(row(&affine, 0xFFFF_FFF0, false), "0x0 - 4*(lane-4)");
        assert_eq!(row(&Row::splat(7), u32::MAX, false), "0x7");
        assert_eq!(row(&Row::splat(0x3F80_0000), 1, true), "1.0");
        let squares = Row::from_fn(|l| (l * l) as u32);
        assert_eq!(row(&squares, u32::MAX, false), "0x0 0x1 0x4 0x9 ..");
        assert_eq!(row(&squares, 0b110, false), "0x1 0x4");
        assert_eq!(row(&squares, 0, false), "-");
    }
}
