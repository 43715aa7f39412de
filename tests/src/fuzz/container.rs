//! Damaged files that hold device code: fat binaries, cubins, libraries and archives with fields, bytes and lengths
//! changed, and containers made anew of random entries. Everything follows from a seed.

use crate::oracle::generate::Dice;
use std::path::Path;

/// Files that inputs are made from.
#[derive(Clone, Debug)]
pub struct Containers {
    files: Vec<Vec<u8>>,
}

/// Numbers at which something happens in a field.
const NUMBERS: [u64; 20] = [
    0,
    1,
    2,
    7,
    8,
    15,
    16,
    24,
    63,
    64,
    80,
    255,
    0xFFFF,
    0x10000,
    0x7FFF_FFFF,
    0xFFFF_FFF0,
    0xFFFF_FFFF,
    1 << 40,
    u64::MAX >> 1,
    u64::MAX,
];

/// What containers, wrappers, entries, archives and ELF files begin with, and names of sections that hold device code.
const WORDS: [&[u8]; 10] = [
    &[0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0],
    &[0xB1, 0x43, 0x62, 0x46, 1, 0, 0, 0],
    b"\x7fELF\x02\x01\x01",
    b"!<arch>\n",
    b".nv_fatbin\0",
    b"__nv_relfatbin\0",
    b".nvFatBinSegment\0",
    b"__cudaRegisterFatBinary\0",
    b"cuGetExportTable\0",
    b".version 8.0\n.target sm_75\n.visible .entry k() { ret; }\0",
];

/// No input is larger.
const MAX_BYTES: usize = 64 << 10;

impl Containers {
    /// The files of this repository that hold device code, and archives and joined containers made of them.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn bundled() -> std::io::Result<Containers> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/fatbin");
        let mut paths: Vec<_> =
            std::fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
        paths.retain(|path| path.extension().is_some_and(|e| e == "fatbin" || e == "so" || e == "ptx"));
        paths.sort();
        let mut files = paths.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
        let cubins: Vec<Vec<u8>> = files
            .iter()
            .filter_map(|file| emulator::fatbin::open(file).ok())
            .flatten()
            .map(|image| image.contents)
            .filter(|contents| contents.starts_with(b"\x7fELF"))
            .collect();
        let libraries: Vec<&[u8]> =
            files.iter().filter(|f| f.starts_with(b"\x7fELF")).chain(&cubins).map(Vec::as_slice).collect();
        let archive = archive(&libraries);
        let joined: Vec<u8> = files.iter().filter(|f| f.starts_with(WORDS[0])).flatten().copied().collect();
        files.extend(cubins);
        files.extend([archive, joined]);
        files.retain(|file| file.len() <= MAX_BYTES);
        Ok(Containers { files })
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The input of a seed.
    ///
    /// # Panics
    /// Panics when there are no files.
    #[must_use]
    pub fn input(&self, seed: u64) -> Vec<u8> {
        let mut dice = Dice::new(seed ^ 0x00FA_7B14);
        let mut bytes = match dice.below(4) {
            0 => container(&mut dice, &self.files),
            _ => self.files[dice.below(self.files.len())].clone(),
        };
        let donor = &self.files[dice.below(self.files.len())];
        for _ in 0..dice.between(0, 5) {
            change(&mut bytes, donor, &mut dice);
            bytes.truncate(MAX_BYTES);
        }
        bytes
    }
}

/// An archive with these members.
fn archive(members: &[&[u8]]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (at, member) in members.iter().enumerate() {
        let name = format!("m{at}.o/");
        bytes.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, member.len()).bytes(),
        );
        bytes.extend_from_slice(member);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// A container whose entries hold parts of other files, stored in any way; what it says of them is mostly right.
fn container(dice: &mut Dice, files: &[Vec<u8>]) -> Vec<u8> {
    let mut entries = Vec::new();
    for _ in 0..dice.between(0, 6) {
        let file = &files[dice.below(files.len())];
        let from = if dice.chance(50) { 0 } else { dice.below(file.len()) };
        let contents = &file[from..(from + dice.below(4096)).min(file.len())];
        let (flags, stored) = match dice.below(3) {
            0 => (0u64, contents.to_vec()),
            1 => (0x2000, literals(contents)),
            _ => (0x8000, raw_frame(contents)),
        };
        let header = dice.pick(&[64u32, 64, 72, 80, 96]);
        let padded = stored.len().next_multiple_of(8);
        let mut entry = vec![0; header as usize];
        let mut set = |at: usize, bytes: &[u8]| entry[at..at + bytes.len()].copy_from_slice(bytes);
        set(0, &dice.pick(&[1u16, 1, 2, 2, 3, 8]).to_le_bytes());
        set(4, &header.to_le_bytes());
        set(8, &(padded as u64).to_le_bytes());
        set(0x10, &(stored.len() as u32).to_le_bytes());
        set(0x14, &dice.pick(&[0u32, 0, 64, 72, 88]).to_le_bytes());
        set(0x1C, &75u32.to_le_bytes());
        set(0x20, &dice.pick(&[0u32, 64, 70]).to_le_bytes());
        set(0x24, &dice.pick(&[0u32, 1, 8, 32]).to_le_bytes());
        set(0x28, &flags.to_le_bytes());
        set(0x38, &(contents.len() as u64).to_le_bytes());
        entries.extend(entry);
        entries.extend(stored);
        entries.resize(entries.len().next_multiple_of(8), 0);
    }
    let mut bytes = WORDS[0].to_vec();
    bytes.extend((entries.len() as u64).to_le_bytes());
    bytes.extend(entries);
    bytes
}

/// An LZ4 block that repeats nothing.
fn literals(contents: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    if contents.len() < 15 {
        block.push((contents.len() as u8) << 4);
    } else {
        block.push(0xF0);
        let mut rest = contents.len() - 15;
        while rest >= 255 {
            block.push(255);
            rest -= 255;
        }
        block.push(rest as u8);
    }
    block.extend_from_slice(contents);
    block
}

/// A zstd frame of one block that is stored as it is.
fn raw_frame(contents: &[u8]) -> Vec<u8> {
    // One segment, its size in two bytes, less 256; the block's header has the length above "last" and "raw".
    let padded = contents.len().max(256);
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x60];
    frame.extend(((padded - 256) as u16).to_le_bytes());
    frame.extend(&((padded as u32) << 3 | 1).to_le_bytes()[..3]);
    frame.extend_from_slice(contents);
    frame.resize(frame.len() + padded - contents.len(), 0);
    frame
}

/// Changes a field, a byte, a length, or a stretch.
fn change(bytes: &mut Vec<u8>, donor: &[u8], dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    // Headers come first, and again in multiples of eight.
    let near = bytes.len().min(256);
    let at = if dice.chance(50) { dice.below(near) } else { dice.below(bytes.len()) };
    let field = at & !3;
    match dice.below(9) {
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => bytes[at] = dice.bits() as u8,
        2..=4 => {
            let width = dice.pick(&[2, 4, 8]).min(bytes.len() - field);
            let value = match dice.below(3) {
                0 => dice.pick(&NUMBERS),
                1 => bytes.len() as u64 - dice.below(80).min(bytes.len()) as u64,
                _ => {
                    let mut old = [0; 8];
                    old[..width].copy_from_slice(&bytes[field..field + width]);
                    u64::from_le_bytes(old).wrapping_add(dice.below(33) as u64).wrapping_sub(16)
                }
            };
            bytes[field..field + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        5 => bytes.truncate(at),
        6 => {
            let word = dice.pick(&WORDS);
            let at = at & !7;
            let end = (at + word.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&word[..end - at]);
        }
        7 => {
            let from = dice.below(donor.len());
            let part = &donor[from..(from + dice.below(512)).min(donor.len())];
            bytes.splice(at..at, part.iter().copied());
        }
        _ => {
            let end = (at + dice.below(512)).min(bytes.len());
            bytes.drain(at..end);
        }
    }
}
