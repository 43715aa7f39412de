//! A line of a warp: an executed instruction with its lanes, registers and addresses.

use crate::fields::{Fields, decimal, lossy};
use crate::header::Header;
use trace_format::isa::space::NO_ADDRESS;

/// Most registers that a line may list on one side; the newest tracers list every register of an operand.
pub(crate) const MAX_REGISTERS: usize = 16;

/// General registers in the order of a line; 255 is RZ. Predicates and uniform registers are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Registers {
    count: u8,
    numbers: [u8; MAX_REGISTERS],
}

impl Registers {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.numbers[..usize::from(self.count)]
    }

    fn push(&mut self, number: u8) {
        self.numbers[usize::from(self.count)] = number;
        self.count += 1;
    }
}

/// What does not change from one execution of an instruction to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Static<'a> {
    pub pc: u64,
    pub destinations: Registers,
    pub opcode: &'a [u8],
    pub sources: Registers,
    /// Whether the line has addresses.
    pub memory: bool,
    /// The barrier's number, where a tracer gives it.
    pub barrier: u32,
}

/// A line, read.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    pub what: Static<'a>,
    pub mask: u32,
    /// Byte address of every lane of the mask, [`NO_ADDRESS`] in others.
    pub addresses: [u64; 32],
    /// Operands that are neither general registers nor RZ.
    pub others: u32,
}

/// Opcodes of bulk copies, whose addresses have a notation of their own.
const BULK: &[&[u8]] = &[b"UTMA", b"UBLKCP", b"UBLKPF", b"UBLKRED"];

/// Reads a line of the warp `warp` of the block `block`.
pub(crate) fn read<'a>(
    line: &'a [u8],
    header: &Header,
    block: [u32; 3],
    warp: u32,
) -> Result<Line<'a>, String> {
    let mut fields = Fields::of(line);
    if header.tracer_version < 3 {
        let mut place = [0; 4];
        for (place, what) in place.iter_mut().zip(["block x", "block y", "block z", "the warp"]) {
            *place = fields.decimal(what)?;
        }
        let [x, y, z] = block.map(u64::from);
        if place != [x, y, z, u64::from(warp)] {
            return Err(format!("the line is of block {:?} and warp {}", &place[..3], place[3]));
        }
    }
    if header.line_info {
        fields.decimal("the source line")?;
    }
    let pc = fields.hex("the PC")?;
    let mask = fields.hex("the mask")?;
    let mask = u32::try_from(mask).map_err(|_| format!("the mask {mask:#x} has more than 32 lanes"))?;
    let mut others = 0;
    let destinations = registers(&mut fields, "destination", &mut others)?;
    let opcode = fields.next().ok_or("the opcode is missing")?;
    if !opcode.first().is_some_and(u8::is_ascii_alphabetic) || !opcode.iter().all(|b| (33..127).contains(b)) {
        return Err(format!("`{}` is no opcode", lossy(opcode)));
    }
    let sources = registers(&mut fields, "source", &mut others)?;
    let has_flag = contains(opcode, b"GMMA") && fields.clone().count() > 1;
    if has_flag {
        fields.decimal("the flag of the commit group")?;
    }
    let width = fields.decimal("the width")?;
    let mut addresses = [NO_ADDRESS; 32];
    let bulk = BULK.iter().any(|start| opcode.starts_with(start));
    let memory = width > 0 && !bulk;
    let mut barrier = 0;
    if memory {
        read_addresses(&mut fields, mask, &mut addresses)?;
    }
    if header.tracer_version >= 4 && !bulk {
        // The immediate; version 6 has a second one and values behind it.
        if opcode.starts_with(b"BAR.") {
            barrier = fields.peek().and_then(decimal).and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        }
    } else if !bulk && fields.clone().count() > 1 {
        let extra = fields.next().map(lossy).unwrap_or_default();
        return Err(format!("the line goes on with `{extra}` where its end was expected"));
    }
    let what = Static { pc, destinations, opcode, sources, memory, barrier: barrier % 16 };
    Ok(Line { what, mask, addresses, others })
}

fn registers(fields: &mut Fields<'_>, what: &str, others: &mut u32) -> Result<Registers, String> {
    let count = fields.decimal(&format!("the number of {what} registers"))?;
    if count > MAX_REGISTERS as u64 {
        return Err(format!("{count} {what} registers are more than {MAX_REGISTERS}"));
    }
    let mut found = Registers::default();
    for _ in 0..count {
        let field = fields.next().ok_or_else(|| format!("a {what} register is missing"))?;
        let number = |name: &[u8]| field.strip_prefix(name).and_then(decimal).filter(|number| *number < 256);
        if let Some(number) = number(b"R") {
            found.push(number as u8);
        } else if [&b"UR"[..], b"P", b"UP", b"B"].iter().any(|name| number(name).is_some()) {
            *others += 1;
        } else {
            return Err(format!("`{}` is no register", lossy(field)));
        }
    }
    Ok(found)
}

/// Reads the addresses of the lanes of a mask, in any of the three notations.
fn read_addresses(fields: &mut Fields<'_>, mask: u32, addresses: &mut [u64; 32]) -> Result<(), String> {
    let lanes = (0..32).filter(|lane| mask >> lane & 1 != 0);
    match fields.decimal("the notation of the addresses")? {
        0 => {
            for lane in lanes {
                addresses[lane] = fields.hex("an address")?;
            }
        }
        1 => {
            let mut address = fields.hex("the base address")?;
            let stride = fields.signed("the stride")?;
            for lane in lanes {
                addresses[lane] = address;
                address = address.wrapping_add_signed(stride);
            }
        }
        2 => {
            let mut address = fields.hex("the base address")?;
            for (i, lane) in lanes.enumerate() {
                if i > 0 {
                    address = address.wrapping_add_signed(fields.signed("the distance to the next address")?);
                }
                addresses[lane] = address;
            }
        }
        other => return Err(format!("addresses in notation {other}; 0, 1 and 2 are known")),
    }
    Ok(())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(tracer_version: u64, line_info: bool) -> Header {
        Header { tracer_version, line_info, ..Header::default() }
    }

    fn of(text: &str, version: u64) -> Result<Line<'_>, String> {
        read(text.as_bytes(), &header(version, false), [1, 2, 0], 3)
    }

    #[test]
    fn lines_of_every_version_are_read() {
        let line = of("00a0 0000000f 1 R4 LDG.E.SYS 1 R4 4 1 0x7f0008000000 -4 ", 3).expect("a line");
        assert_eq!((line.what.pc, line.mask, line.what.opcode), (0xa0, 0xf, &b"LDG.E.SYS"[..]));
        assert_eq!(
            line.addresses[..5],
            [0x7f00_0800_0000, 0x7f00_07ff_fffc, 0x7f00_07ff_fff8, 0x7f00_07ff_fff4, NO_ADDRESS]
        );
        let old = of("1 2 0 3 0010 00000000 0 EXIT 0 0", 2).expect("a line");
        assert_eq!((old.mask, old.what.memory, old.what.sources.as_slice()), (0, false, &[][..]));
        let new = of("0020 00000005 4 R20 R21 P0 UR4 ATOM.X 2 R8 R255 8 2 0x100 -16 7", 5).expect("a line");
        assert_eq!((new.what.destinations.as_slice(), new.others), (&[20, 21][..], 2));
        assert_eq!(
            (new.what.sources.as_slice(), new.addresses[0], new.addresses[2]),
            (&[8, 255][..], 0x100, 0xF0)
        );
        let barrier = of("0020 ffffffff 0 BAR.SYNC 0 0 5", 4).expect("a line");
        assert_eq!(barrier.what.barrier, 5);
        let text = b"17 0040 ffffffff 1 R6 IMAD 2 R6 R3 0 0";
        assert_eq!(read(text, &header(5, true), [0; 3], 0).expect("a line").what.pc, 0x40);
        let bulk = of("0020 00000001 0 UTMALDG.2D 0 16 0x0 0 1024 0 3 0x7f00 4 0", 5).expect("a line");
        assert!(!bulk.what.memory);
    }

    #[test]
    fn wrong_fields_are_named() {
        for (text, part) in [
            ("", "PC is missing"),
            ("00zz ffffffff 0 EXIT 0 0", "`00zz`, not a hexadecimal"),
            ("0010 1ffffffff 0 EXIT 0 0", "more than 32 lanes"),
            ("0010 ffffffff 99 R1", "99 destination registers"),
            ("0010 ffffffff 1 X7 MOV 0 0", "`X7` is no register"),
            ("0010 ffffffff 1 R256 MOV 0 0", "`R256` is no register"),
            ("0010 ffffffff 0 4 0 0", "`4` is no opcode"),
            ("0010 ffffffff 0 EXIT 0", "width is missing"),
            ("0010 ffffffff 1 R1 LDG 1 R2 4 3 0x0 0", "notation 3"),
            ("0010 00000003 1 R1 LDG 1 R2 4 0 0x0", "an address is missing"),
            ("0010 00000003 1 R1 LDG 1 R2 4 1 0x0 x", "the stride is `x`"),
            ("0010 00000003 1 R1 LDG 1 R2 4 1 0x0 4 4 4", "where its end was expected"),
        ] {
            let why = of(text, 3).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
        let why = of("1 2 1 3 0010 00000000 0 EXIT 0 0", 1).expect_err("another block");
        assert!(why.contains("[1, 2, 1]"), "{why}");
    }
}
