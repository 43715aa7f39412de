//! The hash of an opcode table, which traces carry: a reader with another table refuses them.

use super::facts::OpInfo;
use super::modifiers::Modifier;
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

/// Hasher of an opcode table, row by row.
#[derive(Default)]
pub struct TableHash(Xxh3);

impl TableHash {
    /// Number and names of a row; its modifiers follow.
    pub fn row(&mut self, number: u16, name: &str, mnemonic: &str) {
        self.0.update(&number.to_le_bytes());
        self.text(name);
        self.text(mnemonic);
    }

    /// A modifier of the row, with its values in the order in which they are numbered.
    pub fn modifier<M: Modifier>(&mut self, name: &str) {
        self.text(name);
        self.text(M::NAME);
        for value in M::VALUES {
            self.text(value.suffix());
        }
    }

    /// Adds an opcode's notation and the number of registers and predicates that its instructions read and
    /// write.
    pub fn opcode(&mut self, op: &impl Serialize, info: &OpInfo) {
        // Much longer than a number with its modifiers; longer data would count as empty.
        let mut bytes = [0; 64];
        let written = postcard::to_slice(&(op, info.kind), &mut bytes).map_or(0, |bytes| bytes.len());
        self.0.update(&bytes[..written]);
        let memory = info.memory.map_or(0, |memory| memory.bytes());
        let [a, b, c] = info.src_regs;
        self.0.update(&[info.dst_regs, a, b, c, info.pred_dsts, info.pred_srcs, memory]);
    }

    /// The hash.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.digest()
    }

    fn text(&mut self, text: &str) {
        self.0.update(text.as_bytes());
        self.0.update(&[0]);
    }
}
