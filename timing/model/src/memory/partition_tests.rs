//! Tests of a partition between two mocks: requests enter with their arrival, replies and credits leave.

use super::partition::Partition;
use super::{Reply, Request, RequestKind, Served, Token};
use crate::config::{GpuConfig, load};
use proptest::prelude::*;

/// gtx480: L2 120 cycles, request and reply latency 24, DRAM 100 cycles outside the chips.
fn config(set: &[&str]) -> GpuConfig {
    let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
    load("gtx480", &set).expect("a valid configuration").config
}

fn request(arrival: u64, line: u64, kind: RequestKind, token: u16) -> Request {
    Request {
        arrival,
        sm: token % 15,
        line,
        sectors: 0b1,
        flits: 1,
        kind,
        token: Token::Instruction(token),
        served: Served::L2,
        sent_at: arrival,
        looked_up_after: 0,
        flight: super::NO_FLIGHT,
    }
}

/// A line of slice 0 of channel 0: consecutive chunks of 256 bytes go to consecutive slices of twelve.
fn line(n: u64) -> u64 {
    n * 12 * 256
}

fn drain(partition: &mut Partition, mut packets: Vec<Request>) -> Vec<Reply> {
    partition.deliver(0, &mut packets);
    partition.run(1_000_000);
    assert!(partition.is_idle(), "{}", partition.describe());
    std::mem::take(&mut partition.replies)
}

#[test]
fn a_hit_takes_the_lookup_and_a_miss_the_way_to_dram() {
    let mut partition = Partition::new(&config(&[]));
    let first = drain(&mut partition, vec![request(1000, line(0), RequestKind::Read, 1)]);
    // Lookup 120; the burst is queued a cycle later. The command clock runs at 924 MHz against 700: activate 12,
    // column 12, data 2 command cycles are 20 core cycles; then 100, the wake-up and the two flits of the reply.
    let miss = first[0].arrival - 1000 - 24;
    assert!((240..=248).contains(&miss), "a miss took {miss} cycles");
    let mut again = Partition::new(&config(&[]));
    let both =
        vec![request(1000, line(0), RequestKind::Read, 1), request(5000, line(0), RequestKind::Read, 2)];
    let replies = drain(&mut again, both);
    assert_eq!(replies[1].arrival, 5000 + 120 + 1 + 2 + 24);
    assert_eq!((again.stats.l2_hits, again.stats.l2_misses), (1, 1));
}

/// The sectors that DRAM reads for a request of one: alone, with its neighbour, with the line. One that L2 has is not read.
#[test]
fn a_miss_reads_the_bytes_that_l2_fetches_at_least() {
    for (bytes, sectors) in [(32, 1), (64, 2), (128, 4)] {
        let read = |arrival, sectors| Request { sectors, ..request(arrival, line(0), RequestKind::Read, 1) };
        let run = |packets: Vec<Request>| {
            let set = [&format!("l2.fetch_bytes={bytes}"), "dram.bus_bytes=4"];
            let mut partition = Partition::new(&config(&set));
            assert_eq!(drain(&mut partition, packets.clone()).len(), packets.len());
            partition.stats
        };
        let twice = run(vec![read(1000, 0b100), read(5000, 0b100)]);
        assert_eq!((twice.dram_bytes, twice.l2_hits, twice.l2_misses), (32 * sectors, 1, 1), "{bytes}");
        let rest = run(vec![read(1000, 0b100), read(5000, 0b1011)]);
        assert_eq!(rest.dram_bytes, 128, "{bytes}: what was there is not read again");
    }
}

/// A slice takes the data of stores, and the results of atomics, at the rate of its store port.
#[test]
fn stores_and_atomics_hold_a_slice_for_the_cycles_of_their_sectors() {
    let last = |set: &[&str], kind: RequestKind| {
        let set = [&["gpu.core_clock_khz=700000", "gpu.l2_clock_khz=700000"], set].concat();
        let mut partition = Partition::new(&config(&set));
        let packets =
            (0..40).map(|n| Request { sectors: 0b1111, ..request(1000, line(0), kind, n) }).collect();
        drain(&mut partition, packets).iter().map(|reply| reply.arrival).max().expect("replies")
    };
    for kind in [RequestKind::Write { words: u32::MAX }, RequestKind::Atomic { collisions: 1 }] {
        let free = last(&[], kind);
        let bound = last(&["l2.store_bytes_per_cycle=16"], kind);
        // 40 lines of 8 cycles each; before them the way there, and of an atomic the way to DRAM.
        assert!((40 * 8..=40 * 8 + 300).contains(&(bound - 1000)), "{kind:?}: {free} {bound}");
        assert!(bound > free + 100, "{kind:?}: {free} {bound}");
    }
}

/// The path to the channel moves its bytes and no more, whatever the DRAM could: of reads, of writes, of both.
#[test]
fn a_path_to_dram_bounds_reads_and_writes_together() {
    let run = |path: u32, kind: &dyn Fn(u64) -> RequestKind| {
        let path = format!("l2.dram_bytes_per_cycle={path}");
        let set = ["gpu.l2_clock_khz=700000", "l2.dirty_percent=1", &path];
        let mut partition = Partition::new(&config(&set));
        let packets = (0..600)
            .map(|n| Request { sectors: 0b1111, ..request(1000, line(n), kind(n), n as u16) })
            .collect();
        let replies = drain(&mut partition, packets);
        assert_eq!(replies.len(), 600);
        let end = replies.iter().map(|reply| reply.arrival).max().expect("replies");
        (partition.stats.dram_bytes, end - 1000)
    };
    let write = RequestKind::Write { words: u32::MAX };
    let mixed = |n: u64| if n.is_multiple_of(2) { RequestKind::Read } else { write };
    let kinds: [&dyn Fn(u64) -> RequestKind; 3] = [&|_| RequestKind::Read, &|_| write, &mixed];
    for kind in kinds {
        // A store whose set has too many dirty lines leaves them to the next one while the queue to DRAM is full.
        let ((_, free), (bytes, bound)) = (run(0, kind), run(4, kind));
        assert!(bytes > 40_000, "{bytes}");
        let least = bytes / 4;
        assert!(
            bound >= least - 2000 && bound > free,
            "{bytes} bytes in {bound} cycles, {free} without a bound"
        );
        assert!(bound <= least * 11 / 10 + 1000, "{bytes} bytes in {bound} cycles");
    }
}

/// Latency and throughput are independent: a short queue behind a long pipeline costs nothing.
#[test]
fn a_slice_serves_a_request_per_cycle_whatever_its_latency() {
    for set in [&["l2.queue_entries=4"][..], &["l2.queue_entries=4", "l2.latency_cycles=500"]] {
        let mut partition = Partition::new(&config(set));
        let write = |n: u16| request(1000 + u64::from(n), line(0), RequestKind::Write { words: 0xFF }, n);
        let replies = drain(&mut partition, (0..600).map(write).collect());
        assert_eq!(replies.len(), 600);
        // A store is answered with one flit, so that the reply port is no limit.
        assert!(replies.windows(2).all(|pair| pair[1].arrival - pair[0].arrival == 1), "{set:?}");
    }
}

#[test]
fn requests_for_a_line_on_its_way_merge() {
    let mut partition = Partition::new(&config(&[]));
    let packets = (0..4).map(|n| request(100 + u64::from(n), line(3), RequestKind::Read, n)).collect();
    let replies = drain(&mut partition, packets);
    assert_eq!(replies.len(), 4);
    assert_eq!((partition.stats.l2_misses, partition.stats.l2_merges), (1, 3));
    assert_eq!(partition.stats.dram_reads, 1);
    // 40 bytes are two flits of 32: one reply every other cycle.
    assert!(replies.windows(2).all(|pair| pair[1].arrival - pair[0].arrival == 2));
}

#[test]
fn stores_stay_in_l2_until_they_are_evicted() {
    let mut partition = Partition::new(&config(&["l2.sets=1", "l2.ways=2", "l2.size_bytes=256"]));
    let write = |n: u64| request(1000 * n, line(n), RequestKind::Write { words: 0xFF }, n as u16);
    let replies = drain(&mut partition, vec![write(1), write(2)]);
    assert_eq!(replies.len(), 2);
    assert_eq!(partition.stats.dram_writes, 0);
    let mut partition = Partition::new(&config(&["l2.sets=1", "l2.ways=2", "l2.size_bytes=256"]));
    drain(&mut partition, vec![write(1), write(2), write(3)]);
    assert_eq!((partition.stats.dram_writes, partition.stats.dram_reads), (1, 0));
    assert_eq!(partition.stats.l2_writeback_sectors, 1);
}

/// Writes words of line 1, one request after the other, then reads the line.
fn write_and_read(words: &[u32]) -> Partition {
    let mut partition = Partition::new(&config(&[]));
    let mut packets: Vec<Request> = words
        .iter()
        .enumerate()
        .map(|(n, words)| request(100 * n as u64, line(1), RequestKind::Write { words: *words }, n as u16))
        .collect();
    packets.push(request(2000, line(1), RequestKind::Read, 99));
    drain(&mut partition, packets);
    partition
}

#[test]
fn stores_that_together_write_a_sector_make_it_readable() {
    for words in [&[0xFF][..], &[0x0F, 0xF0], &[0x55, 0xAA], &[0x01, 0x3E, 0xC0]] {
        assert_eq!(write_and_read(words).stats.dram_reads, 0, "{words:x?}");
    }
    for words in [&[0x0F][..], &[0x0F, 0x70], &[0xFF00]] {
        assert_eq!(write_and_read(words).stats.dram_reads, 1, "{words:x?}");
    }
}

#[test]
fn dirty_lines_beyond_the_bound_are_written_and_stay() {
    let set = |percent: &str| {
        let percent = format!("l2.dirty_percent={percent}");
        let one = ["l2.sets=1", "l2.ways=4", "l2.size_bytes=512", percent.as_str()];
        let mut partition = Partition::new(&config(&one));
        let write = |n: u64| request(1000 * n, line(n), RequestKind::Write { words: 0xFF }, n as u16);
        let read = |n: u64| request(9000 + 1000 * n, line(n), RequestKind::Read, n as u16);
        drain(&mut partition, (1..=3).map(write).chain((1..=3).map(read)).collect());
        (partition.stats.dram_writes, partition.stats.l2_writeback_sectors, partition.stats.dram_reads)
    };
    assert_eq!(set("100"), (0, 0, 0));
    assert_eq!(set("75"), (0, 0, 0), "three of four may be dirty");
    assert_eq!(set("50"), (1, 1, 0), "the third store writes the oldest line, which can still be read");
    assert_eq!(set("25"), (2, 2, 0));
}

#[test]
fn atomics_on_one_address_are_served_one_after_another() {
    let time = |collisions| {
        let mut partition = Partition::new(&config(&["l2.atomic_cycles=3"]));
        let atomic = |at, token| request(at, line(0), RequestKind::Atomic { collisions }, token);
        let replies = drain(&mut partition, vec![atomic(100, 0), atomic(5000, 1), atomic(5001, 2)]);
        replies[2].arrival - replies[1].arrival
    };
    assert_eq!(time(1), 2);
    assert_eq!(time(11), 1 + 3 * 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any sizes of the queues, every request is answered once and every credit returns.
    #[test]
    fn every_request_is_answered_once(
        packets in prop::collection::vec((0u64..400, 0u64..12, 0u8..3), 1..120),
        tiny: bool,
    ) {
        let small = [
            "l2.mshrs=1", "l2.mshr_merges=1", "l2.queue_entries=1", "l2.dram_queue_entries=1",
            "dram.queue_entries=1", "interconnect.reply_queue_entries=1", "l2.sets=1", "l2.ways=2",
            "l2.size_bytes=256",
        ];
        let mut partition = Partition::new(&config(if tiny { &small } else { &[] }));
        let packets: Vec<Request> = packets.iter().enumerate().map(|(token, (arrival, n, kind))| {
            let kind = match kind {
                0 => RequestKind::Read,
                1 => RequestKind::Write { words: 0xFF },
                _ => RequestKind::Atomic { collisions: 2 },
            };
            request(*arrival, line(*n), kind, token as u16)
        }).collect();
        let count = packets.len();
        let replies = drain(&mut partition, packets);
        let mut tokens: Vec<u16> = replies.iter().map(|reply| match reply.token {
            Token::Instruction(token) => token,
            _ => u16::MAX,
        }).collect();
        tokens.sort_unstable();
        prop_assert_eq!(tokens, (0..count as u16).collect::<Vec<_>>());
        prop_assert_eq!(partition.credits.len(), count);
        prop_assert_eq!(partition.stats.l2_accesses as usize, count);
        let sorted = replies.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival);
        prop_assert!(sorted, "one port sends in order");
    }
}
