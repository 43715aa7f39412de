//! Address maps: from a line to its memory partition, and from a channel's address to bank, row and column.

use super::hash::Ipoly;
use crate::config::{BankHash, Dram, GpuConfig, PartitionHash};

/// Spreads lines over channels and slices.
#[derive(Clone, Debug)]
pub(crate) struct PartitionMap {
    chunk_shift: u32,
    slices: u64,
    slices_per_channel: u64,
    hash: PartitionHash,
    ipoly: Option<Ipoly>,
    /// Places of the polynomial: the slices, rounded up to a power of two.
    places: u64,
}

/// Location of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    /// DRAM channel, which is the memory partition.
    pub channel: u32,
    /// Slice within the partition.
    pub slice: u32,
    /// Address within the slice, without the bits that select the slice.
    pub slice_address: u64,
    /// Address within the channel.
    pub channel_address: u64,
}

impl PartitionMap {
    /// The map of a configuration.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig) -> PartitionMap {
        let slices = config.dram.channels * config.l2.slices_per_channel;
        let ipoly = config.l2.partition_hash == PartitionHash::Ipoly && slices > 1;
        let places = slices.next_power_of_two();
        PartitionMap {
            chunk_shift: config.l2.interleave_bytes.trailing_zeros(),
            slices: u64::from(slices),
            ipoly: ipoly.then(|| Ipoly::new(places)),
            places: u64::from(places),
            slices_per_channel: u64::from(config.l2.slices_per_channel),
            hash: config.l2.partition_hash,
        }
    }

    /// Home of an address.
    #[must_use]
    #[inline]
    pub(crate) fn home(&self, address: u64) -> Home {
        let chunk = address >> self.chunk_shift;
        let offset = address & ((1 << self.chunk_shift) - 1);
        let (mut row, column) = (chunk / self.slices, chunk % self.slices);
        let slice = match self.hash {
            PartitionHash::Linear => column,
            // Places beyond the slices fold back on the first ones, which then have two chunks of a row.
            PartitionHash::Ipoly => {
                let place = self.ipoly.as_ref().map_or(0, |ipoly| ipoly.of(chunk));
                let folds = self.places.div_ceil(self.slices);
                row = chunk / self.places * folds + place / self.slices;
                place % self.slices
            }
            // Rotating each row by its upper bits keeps the map one-to-one for any number of slices.
            PartitionHash::Xor => (column + (row ^ row >> 5 ^ row >> 11)) % self.slices,
        };
        let slice_in_channel = slice % self.slices_per_channel;
        Home {
            channel: (slice / self.slices_per_channel) as u32,
            slice: slice_in_channel as u32,
            slice_address: row << self.chunk_shift | offset,
            channel_address: (row * self.slices_per_channel + slice_in_channel) << self.chunk_shift | offset,
        }
    }
}

impl PartitionMap {
    /// Address within the channel of an address within one of its slices.
    #[must_use]
    pub(crate) fn channel_address(&self, slice_address: u64, slice: u32) -> u64 {
        let (row, offset) =
            (slice_address >> self.chunk_shift, slice_address & ((1 << self.chunk_shift) - 1));
        (row * self.slices_per_channel + u64::from(slice)) << self.chunk_shift | offset
    }
}

/// Bank, row and column of an address within a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DramAddress {
    /// Bank.
    pub bank: u32,
    /// Row.
    pub row: u64,
}

/// The bit map of `dram.address_map`.
#[derive(Clone, Debug)]
pub(crate) struct DramMap {
    banks: u64,
    hash: BankHash,
    ipoly: Option<Ipoly>,
    bank_bits: Vec<u32>,
    row_bits: Vec<u32>,
    letters: u32,
}

impl DramMap {
    /// Reads the map of a checked configuration.
    #[must_use]
    pub(crate) fn new(dram: &Dram) -> DramMap {
        let letters: Vec<char> = dram.address_map.chars().filter(|c| !matches!(c, '.' | ' ')).collect();
        let count = letters.len() as u32;
        let bits = |wanted: char| {
            let mut bits: Vec<u32> =
                (0..count).filter(|bit| letters[(count - 1 - bit) as usize] == wanted).collect();
            bits.sort_unstable();
            bits
        };
        let ipoly = dram.bank_hash == BankHash::Ipoly && dram.banks > 1;
        DramMap {
            banks: u64::from(dram.banks),
            hash: dram.bank_hash,
            ipoly: ipoly.then(|| Ipoly::new(dram.banks)),
            bank_bits: bits('B'),
            row_bits: bits('R'),
            letters: count,
        }
    }

    /// Splits an address; bits above the map belong to the row.
    #[must_use]
    pub(crate) fn split(&self, address: u64) -> DramAddress {
        let gather =
            |bits: &[u32]| bits.iter().enumerate().fold(0, |acc, (i, bit)| acc | (address >> bit & 1) << i);
        let above = address.checked_shr(self.letters).unwrap_or(0);
        let row = gather(&self.row_bits) | above << self.row_bits.len();
        let bank = gather(&self.bank_bits);
        let bank = match (self.hash, &self.ipoly) {
            (BankHash::Xor, _) => bank ^ row & (self.banks - 1),
            (BankHash::Ipoly, Some(ipoly)) => ipoly.of(row << self.bank_bits.len() | bank),
            _ => bank,
        };
        DramAddress { bank: bank as u32, row }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn partitions_are_filled_evenly_and_one_to_one() {
        for name in ["gtx480", "titanx-pascal", "qv100", "rtx3070"] {
            let config = crate::config::load(name, &[]).expect("built-in configuration").config;
            let map = PartitionMap::new(&config);
            let slices = config.dram.channels * config.l2.slices_per_channel;
            let mut seen = HashSet::new();
            let mut load = vec![0u32; slices as usize];
            for chunk in 0..u64::from(slices) * 64 {
                let home = map.home(chunk * 256);
                assert_eq!(home.channel_address, map.channel_address(home.slice_address, home.slice));
                assert!(seen.insert((home.channel, home.channel_address)), "{name}: two chunks in one place");
                load[(home.channel * config.l2.slices_per_channel + home.slice) as usize] += 1;
            }
            assert!(load.iter().all(|n| *n == 64), "{name}: {load:?}");
        }
    }

    /// 48 slices take the hash of 64 places, of which the last 16 fold back.
    #[test]
    fn slices_that_are_no_power_of_two_have_every_chunk_once() {
        let set = ["dram.channels=24", "l2.slices_per_channel=2"].map(str::to_owned);
        let config = crate::config::load("qv100", &set).expect("accepted").config;
        let map = PartitionMap::new(&config);
        let (mut seen, mut load) = (HashSet::new(), [0u32; 48]);
        for chunk in 0..64 * 64 {
            let home = map.home(chunk * 256);
            assert_eq!(home.channel_address, map.channel_address(home.slice_address, home.slice));
            assert!(seen.insert((home.channel, home.channel_address)), "two chunks in one place");
            load[(home.channel * 2 + home.slice) as usize] += 1;
        }
        assert!(load[..16].iter().all(|n| *n == 128) && load[16..].iter().all(|n| *n == 64), "{load:?}");
    }

    /// Rows of one bank under the plain map: hashes spread them over all banks, one row each.
    #[test]
    fn bank_hashes_spread_the_rows_of_a_bank() {
        let mut dram = crate::config::load("qv100", &[]).expect("built-in configuration").config.dram;
        let rows = |dram: &Dram| -> HashSet<u32> {
            let map = DramMap::new(dram);
            (0..u64::from(dram.banks)).map(|row| map.split(row << 14).bank).collect()
        };
        assert_eq!(rows(&dram).len(), 1);
        for hash in [BankHash::Xor, BankHash::Ipoly] {
            dram.bank_hash = hash;
            assert_eq!(rows(&dram).len(), dram.banks as usize, "{hash:?}");
        }
    }

    #[test]
    fn the_bit_map_is_read_from_the_highest_bit() {
        let mut dram = crate::config::load("gtx480", &[]).expect("built-in configuration").config.dram;
        dram.address_map = "RRBB.CCSS".into();
        dram.banks = 4;
        let map = DramMap::new(&dram);
        assert_eq!(map.split(0b1001_0000), DramAddress { bank: 1, row: 2 });
        assert_eq!(map.split(0b1_0111_1111), DramAddress { bank: 3, row: 0b101 });
    }
}
