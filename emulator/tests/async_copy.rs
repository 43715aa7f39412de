//! Asynchronous copies and barrier objects: their effect on shared memory, with values derived by hand from the PTX
//! ISA's descriptions, and that warps which wait on a barrier object make progress.

use crate::lower_kit;

use lower_kit::*;

/// A kernel with 8 KiB of shared memory in `tile`, whose address is in `%s`; parameters are in `%p0`, `%p1`, the
/// third is a 32-bit word in `%n`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 tile[8192];\n\
         .visible .entry test(.param .u64 p0, .param .u64 p1, .param .u32 p2)\n{{\n\
         .reg .b32 %t, %s, %n, %out, %x<8>; .reg .b64 %p<2>, %g, %d<6>; .reg .pred %q<4>;\n\
         mov.u32 %t, %tid.x;\nmov.u32 %s, tile;\nld.param.u64 %p0, [p0];\nld.param.u64 %p1, [p1];\nld.param.u32 %n, [p2];\n\
         {body}\nret;\n}}\n"
    )
}

/// Stores `%out` at the thread's word of the second parameter.
const PUT: &str = "mad.wide.u32 %g, %t, 4, %p1;\nst.global.b32 [%g], %out;\n";

fn threads(body: &str, input: Vec<u32>, n: u32, count: u32) -> Vec<u32> {
    let text = kernel(&format!("{body}\n{PUT}"));
    run(&lower(&text, 255), &[input, vec![0; count as usize]], &[n], 1, count).pop().unwrap()
}

#[test]
fn copies_take_their_bytes_and_zero_the_rest() {
    // One thread copies; 32 read back 128 bytes of shared memory that were all ones.
    let copied = |instruction: &str, n: u32, source_bytes: usize| -> Vec<u32> {
        // The source ends where the copy's reads end.
        let words: Vec<u32> = (0..source_bytes.div_ceil(4) as u32).map(|i| 0x0101_0101 * (i + 1)).collect();
        let body = format!(
            "mad.lo.u32 %x0, %t, 4, %s;\nst.shared.b32 [%x0], -1;\nbar.sync 0;\nsetp.ne.u32 %q0, %t, 0;\n@%q0 bra DONE;\n\
             setp.ne.u32 %q1, %n, 0;\n{instruction}\ncp.async.commit_group;\ncp.async.wait_group 0;\ncp.async.wait_all;\nDONE:\nbar.sync 0;\nld.shared.b32 %out, [%x0];"
        );
        threads(&body, words, n, 32)
    };
    let expect = |bytes: usize, read: usize, at: usize| -> Vec<u32> {
        let mut memory = [0xFFu8; 128];
        for i in 0..bytes {
            memory[at + i] = if i < read { (i / 4 + 1) as u8 } else { 0 };
        }
        memory.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
    };
    for bytes in [4usize, 8, 16] {
        for cache in ["ca", "cg"].into_iter().filter(|c| *c == "ca" || bytes == 16) {
            let op = format!("cp.async.{cache}.shared.global");
            assert_eq!(copied(&format!("{op} [%s+16], [%p0], {bytes};"), 0, bytes), expect(bytes, bytes, 16));
            let hinted = format!("{op}.L2::128B [%s], [%p0], {bytes};");
            assert_eq!(copied(&hinted, 0, bytes), expect(bytes, bytes, 0), "{hinted}");
            for read in 0..=bytes {
                // The source has the bytes read, rounded up to words: byte loads do not read beyond.
                let name = format!("{op}, {read} of {bytes}");
                let register = format!("{op} [%s+32], [%p0], {bytes}, %n;");
                assert_eq!(copied(&register, read as u32, read.max(1)), expect(bytes, read, 32), "{name}");
                let literal = format!("{op} [%s+32], [%p0], {bytes}, {read};");
                assert_eq!(copied(&literal, 0, read.max(1)), expect(bytes, read, 32), "{name}");
            }
            for ignore in [0, 1] {
                let text = format!("{op} [%s], [%p0], {bytes}, %q1;");
                let read = if ignore == 1 { 0 } else { bytes };
                assert_eq!(copied(&text, ignore, bytes), expect(bytes, read, 0), "{text}");
            }
        }
    }
}

/// Phase parities, pending counts and tests of one barrier that one thread drives.
#[test]
fn a_phase_ends_with_the_last_arrival() {
    let body = "
        mbarrier.init.shared::cta.b64 [%s], 3;
        mov.u32 %out, 0;
        mbarrier.test_wait.parity.shared::cta.b64 %q0, [%s], 0;     // phase 0 is not over
        selp.u32 %x0, 1, 0, %q0; or.b32 %out, %out, %x0;
        mbarrier.test_wait.parity.shared::cta.b64 %q0, [%s], 1;     // the one before is
        selp.u32 %x0, 2, 0, %q0; or.b32 %out, %out, %x0;
        mbarrier.arrive.shared::cta.b64 %d0, [%s];                  // 3 pending before
        mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %d1, [%s], 1; // 2 pending before
        mbarrier.pending_count.b64 %x1, %d0; shl.b32 %x1, %x1, 8; or.b32 %out, %out, %x1;
        mbarrier.pending_count.b64 %x1, %d1; shl.b32 %x1, %x1, 12; or.b32 %out, %out, %x1;
        mbarrier.test_wait.shared::cta.b64 %q0, [%s], %d1;          // one is still missing
        selp.u32 %x0, 4, 0, %q0; or.b32 %out, %out, %x0;
        mbarrier.arrive_drop.shared.b64 %d2, [%s];                  // ends phase 0; 2 from now on
        mbarrier.test_wait.shared::cta.b64 %q0, [%s], %d2;
        selp.u32 %x0, 8, 0, %q0; or.b32 %out, %out, %x0;
        mbarrier.arrive.shared::cta.b64 %d3, [%s], 2;               // 2 pending before; ends phase 1
        mbarrier.pending_count.b64 %x1, %d3; shl.b32 %x1, %x1, 16; or.b32 %out, %out, %x1;
        mbarrier.try_wait.shared::cta.b64 %q0, [%s], %d3;
        selp.u32 %x0, 16, 0, %q0; or.b32 %out, %out, %x0;
        mbarrier.try_wait.parity.shared::cta.b64 %q0, [%s], 0, 100; // phase 2 has parity 0 and goes on
        selp.u32 %x0, 32, 0, %q0; or.b32 %out, %out, %x0;
        mbarrier.inval.shared::cta.b64 [%s];";
    let want = 2 | 8 | 16 | 3 << 8 | 2 << 12 | 2 << 16;
    assert_eq!(threads(body, vec![0], 0, 1), [want]);
}

#[test]
fn a_phase_awaits_its_transactions() {
    let test = |bit: u32| {
        format!(
            "mbarrier.test_wait.parity.shared.b64 %q0, [%s], 0;\nselp.u32 %x0, {bit}, 0, %q0; or.b32 %out, %out, %x0;\n"
        )
    };
    let body = [
        "mbarrier.init.shared.b64 [%s], 1;\nmov.u32 %out, 0;\n".to_owned(),
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%s], 4096;\n".into(),
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %d0, [%s], 100;\n".into(),
        test(1),
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s], 4100;\n".into(),
        test(2),
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s], 96;\n".into(),
        test(4),
    ]
    .concat();
    assert_eq!(threads(&body, vec![0], 0, 1), [4]);
}

#[test]
fn every_lane_of_a_warp_arrives() {
    // 32 lanes arrive in one instruction: each sees one pending arrival fewer than the one before.
    let body = "setp.eq.u32 %q0, %t, 0;\n@%q0 mbarrier.init.shared.b64 [%s+8], 40;\nbar.sync 0;\n\
                mbarrier.arrive.shared.b64 %d0, [%s+8];\nmbarrier.pending_count.b64 %out, %d0;";
    assert_eq!(threads(body, vec![0], 0, 32), (0..32).map(|l| 40 - l).collect::<Vec<u32>>());
}

#[test]
fn warps_that_wait_on_a_barrier_object_progress() {
    // Eight rounds in which thread i passes a value to thread n - 1 - i, with a barrier object between writing
    // and reading, and one between reading and writing.
    let round = |wait: &str| {
        format!(
            "setp.eq.u32 %q0, %t, 0;\n@%q0 mbarrier.init.shared.b64 [%s+4096], 256;\nbar.sync 0;\nmov.u32 %x0, 0;\nmov.u32 %x4, %t;\nmov.u32 %x5, 0;\n\
             ROUND:\nmad.lo.u32 %x1, %t, 4, %s;\nst.shared.b32 [%x1], %x4;\nmbarrier.arrive.shared.b64 %d0, [%s+4096];\nW1:\n{wait}\n@!%q1 bra W1;\nxor.b32 %x5, %x5, 1;\n\
             xor.b32 %x2, %t, 255;\nmad.lo.u32 %x2, %x2, 4, %s;\nld.shared.b32 %x3, [%x2];\nmad.lo.u32 %x4, %x3, 3, %x0;\n\
             mbarrier.arrive.shared.b64 %d0, [%s+4096];\nW2:\n{wait}\n@!%q1 bra W2;\nxor.b32 %x5, %x5, 1;\n\
             add.u32 %x0, %x0, 1;\nsetp.lt.u32 %q2, %x0, 8;\n@%q2 bra ROUND;\nmov.u32 %out, %x4;"
        )
    };
    let mut values: Vec<u32> = (0..256).collect();
    for r in 0..8 {
        values = (0..256usize).map(|t| values[t ^ 255].wrapping_mul(3) + r).collect();
    }
    for wait in [
        "mbarrier.test_wait.shared.b64 %q1, [%s+4096], %d0;",
        "mbarrier.try_wait.parity.shared.b64 %q1, [%s+4096], %x5;",
    ] {
        assert_eq!(threads(&round(wait), vec![0], 0, 256), values, "{wait}");
    }
}

#[test]
fn copies_arrive_on_barrier_objects() {
    // Each thread copies a word, and the copy arrives at the barrier; without .noinc the thread arrives as well.
    for (arrive, count) in [
        ("cp.async.mbarrier.arrive.shared.b64 [%s+4096];\nmbarrier.arrive.shared.b64 %d0, [%s+4096];", 64),
        (
            "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%s+4096];\nmbarrier.arrive.shared.b64 %d0, [%s+4096];",
            128,
        ),
    ] {
        let body = format!(
            "setp.eq.u32 %q0, %t, 0;\n@%q0 mbarrier.init.shared.b64 [%s+4096], {count};\nbar.sync 0;\n\
             mad.lo.u32 %x1, %t, 4, %s;\nmad.wide.u32 %d1, %t, 4, %p0;\ncp.async.ca.shared.global [%x1], [%d1], 4;\n{arrive}\n\
             W:\nmbarrier.test_wait.parity.shared.b64 %q1, [%s+4096], 0;\n@!%q1 bra W;\n\
             xor.b32 %x2, %t, 63;\nmad.lo.u32 %x2, %x2, 4, %s;\nld.shared.b32 %out, [%x2];"
        );
        let input: Vec<u32> = (0..64).map(|i| i * i).collect();
        let want: Vec<u32> = input.iter().rev().copied().collect();
        assert_eq!(threads(&body, input, 0, 64), want);
    }
}

#[test]
fn a_cluster_is_one_block() {
    let body = "mad.lo.u32 %x1, %t, 4, %s;\nst.shared.b32 [%x1], %t;\nbarrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n\
                xor.b32 %x2, %t, 127;\nmad.lo.u32 %x2, %x2, 4, %s;\nmapa.shared::cluster.u32 %x3, %x2, 0;\nld.shared::cluster.b32 %out, [%x3];\n\
                getctarank.shared::cluster.u32 %x4, %x3;\nadd.u32 %out, %out, %x4;\nmov.u32 %x5, %cluster_nctarank;\nadd.u32 %out, %out, %x5;";
    assert_eq!(threads(body, vec![0], 0, 128), (0..128).map(|t| (t ^ 127) + 1).collect::<Vec<u32>>());
}

#[test]
fn hints_change_nothing() {
    let body = "createpolicy.fractional.L2::evict_last.b64 %d0, 1.0;\nprefetch.global.L2 [%p0];\nprefetch.L1 [%p0];\nprefetchu.L1 [%p0];\n\
                applypriority.global.L2::evict_normal [%p0], 128;\nmad.wide.u32 %d1, %t, 4, %p0;\n\
                ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.b32 %out, [%d1], %d0;\n\
                ld.global.L1::evict_last.b32 %x0, [%d1];\nadd.u32 %out, %out, %x0;\n\
                ld.volatile.global.v2.b32 {%x1, %x2}, [%p0];\nadd.u32 %out, %out, %x2;\n\
                ld.relaxed.gpu.global.v4.b32 {%x1, %x2, %x3, %x4}, [%p0];\nadd.u32 %out, %out, %x4;\n\
                ld.acquire.sys.b32 %x1, [%p0];\nadd.u32 %out, %out, %x1;";
    let input: Vec<u32> = (0..32).map(|i| 10 * i + 1).collect();
    let want: Vec<u32> = input.iter().map(|v| 2 * v + 11 + 31 + 1).collect();
    assert_eq!(threads(body, input, 0, 32), want);
}
