//! CUDA programs whose blocks and lanes wait for one another: they finish, with the results that they must have,
//! and their traces are equal at any number of threads. Those that can never finish are reported with what waits for
//! what.

use crate::launch_kit;

use emulator::exec::fault::Waiting;
use emulator::exec::{Fault, FaultKind, LaunchError, Options, Unobserved};
use emulator::session::{Session, SessionError};
use std::path::Path;
use trace_format::validate;

/// Buffers of one launch: names and initial contents.
type Buffers<'a> = &'a [(&'a str, Vec<u32>)];

struct RecordedProgram {
    folder: tempfile::TempDir,
    session: Session,
}

/// A kernel of `waiting.cu` with its launch; all buffers are its arguments in order, `scalars` follow them.
fn program(kernel: &str, grid: u32, block: u32, buffers: Buffers<'_>, scalars: &[u32]) -> RecordedProgram {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("waiting/waiting.ptx");
    let of = |(name, contents): &(&str, Vec<u32>)| {
        let bytes: Vec<u8> = contents.iter().flat_map(|w| w.to_le_bytes()).collect();
        std::fs::write(folder.path().join(name), bytes).expect("a file");
        ((*name).to_owned(), contents.len(), Some(format!("{{ file = \"{name}\" }}")))
    };
    let buffers: Vec<launch_kit::Buffer> = buffers.iter().map(of).collect();
    let session = launch_kit::open(folder.path(), &ptx, (kernel, grid, block), &buffers, scalars);
    RecordedProgram { folder, session }
}

impl RecordedProgram {
    fn words(&self, buffer: &str) -> Vec<u32> {
        let bytes = self.session.buffer(buffer).expect("a buffer");
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    /// Records at several numbers of threads, checks that the traces are the same and sound, and returns the warp
    /// instructions executed.
    fn record(&mut self) -> u64 {
        let mut all = Vec::new();
        let mut instructions = 0;
        for threads in [1, 3] {
            self.session.reset().expect("files are there");
            let path = self.folder.path().join(format!("{threads}.wtrace"));
            let options = Options { threads, max_instructions: 1 << 28, ..Options::default() };
            let recorded = self.session.record(&path, &options, &Unobserved);
            instructions = recorded.unwrap_or_else(|e| panic!("{e}")).0.warp_instructions();
            let report = validate::validate(&path, 2, &validate::Progress::default()).expect("a trace");
            assert!(report.is_sound() && report.warps > 0, "{:?}", report.problems);
            all.push(std::fs::read(&path).expect("a trace"));
        }
        assert!(all[0] == all[1], "threads change the trace");
        instructions
    }

    fn fault(&mut self) -> Fault {
        let options = Options { max_instructions: 1 << 26, ..Options::default() };
        match self.session.run(&options, &Unobserved) {
            Err(SessionError::Launch { error, .. }) => match *error {
                LaunchError::Fault(fault) => *fault,
                other => panic!("{other}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

fn random(len: u32) -> Vec<u32> {
    (0..len).map(|i| i.wrapping_mul(2_654_435_761) >> 20).collect()
}

#[test]
fn a_barrier_of_the_whole_grid() {
    for (grid, block, rounds) in [(4, 64, 7), (300, 32, 3), (800, 96, 2)] {
        let n = (grid * block) as usize;
        let mut expect = random(grid * block);
        let buffers = [("a", expect.clone()), ("b", vec![0; n])];
        let mut p = program("rounds", grid, block, &buffers, &[rounds]);
        let instructions = p.record();
        let b = block as usize;
        for r in 0..rounds {
            expect = (0..n)
                .map(|i| expect[(i + b) % n].wrapping_add(expect[(i + n - b) % n]).wrapping_add(r))
                .collect();
        }
        assert_eq!(p.words(if rounds % 2 == 1 { "b" } else { "a" }), expect, "{grid} x {block}");
        // Waiting is short: the work itself is some 100 instructions per warp and round.
        let work = u64::from(grid * block.div_ceil(32) * rounds);
        assert!(instructions < 1000 * work, "{instructions} warp instructions for {work}");
    }
}

#[test]
fn a_single_pass_scan_with_look_back() {
    for n in [256 * 3, 256 * 200 - 17] {
        let blocks = u32::div_ceil(n, 256);
        let input = random(n);
        let buffers = [
            ("input", input.clone()),
            ("output", vec![0; n as usize]),
            ("status", vec![0; blocks as usize]),
            ("partial", vec![0; 2 * blocks as usize]),
        ];
        let mut p = program("scan_look_back", blocks, 256, &buffers, &[n]);
        p.record();
        let mut sum = 0u32;
        let expect: Vec<u32> = input
            .iter()
            .map(|x| {
                sum = sum.wrapping_add(*x);
                sum
            })
            .collect();
        assert_eq!(p.words("output"), expect);
    }
}

#[test]
fn every_block_waits_for_a_later_one() {
    for grid in [2, 700, 2500] {
        let buffers = [("value", vec![0; grid as usize]), ("flag", vec![0; grid as usize])];
        let mut p = program("chain_from_the_end", grid, 32, &buffers, &[]);
        p.record();
        let expect: Vec<u32> = (0..grid).map(|b| 1 + (b..grid - 1).sum::<u32>()).collect();
        assert_eq!(p.words("value"), expect);
    }
}

#[test]
fn locks_in_divergent_code() {
    let (grid, block) = (4, 70);
    let n = grid * block;
    let buffers = [("lock", vec![0]), ("counter", vec![0]), ("order", vec![u32::MAX; n as usize])];
    let mut p = program("spin_lock", grid, block, &buffers, &[]);
    p.record();
    assert_eq!((p.words("lock"), p.words("counter")), (vec![0], vec![n]));
    let mut order = p.words("order");
    order.sort_unstable();
    assert_eq!(order, (0..n).collect::<Vec<_>>(), "every thread held the lock once, alone");
}

#[test]
fn lanes_that_left_a_lock_at_different_times_shuffle_together() {
    let (grid, block) = (3, 64);
    let n = grid * block;
    for kernel in ["lock_then_shuffle", "spin_lock_then_shuffle"] {
        let buffers = [("lock", vec![0]), ("counter", vec![0]), ("sums", vec![0; n as usize])];
        let mut p = program(kernel, grid, block, &buffers, &[]);
        p.record();
        assert_eq!(p.words("counter"), [n]);
        let sums = p.words("sums");
        assert!(sums.chunks(32).all(|warp| warp.iter().all(|s| *s == warp[0])), "{kernel}: {sums:?}");
        assert_eq!(sums.iter().step_by(32).sum::<u32>(), (0..n).sum::<u32>(), "{kernel}");
    }
}

#[test]
fn blocks_enter_in_the_order_of_their_tickets() {
    let grid = 500;
    let buffers = [("next", vec![0]), ("serving", vec![0]), ("log", vec![u32::MAX; grid as usize])];
    let mut p = program("ticket_lock", grid, 64, &buffers, &[]);
    p.record();
    let mut log = p.words("log");
    log.sort_unstable();
    assert_eq!((log, p.words("serving")), ((0..grid).collect(), vec![grid]));
}

#[test]
fn lanes_of_one_warp_produce_and_consume() {
    let mut p = program("lanes_of_a_warp", 2, 32, &[("out", vec![0; 16])], &[]);
    p.record();
    let expect = |l: u32| (1..=5).fold(0, |sum, round| sum * 3 + round * 10 + l);
    assert_eq!(p.words("out"), (0..16).map(expect).collect::<Vec<_>>());
    let mut p = program("different_warp_barriers", 1, 32, &[("out", vec![0; 32])], &[]);
    p.record();
    let expect = |l: u32| if l < 16 { 100 * (31 - l) } else { 32 - l };
    assert_eq!(p.words("out"), (0..32).map(expect).collect::<Vec<_>>());
}

#[test]
fn who_gives_up_after_a_while_is_not_taken_to_wait_for_ever() {
    let mut p = program("patience", 2, 32, &[("flag", vec![0]), ("out", vec![0; 32])], &[]);
    p.record();
    assert_eq!(p.words("out"), [5000; 32]);
}

fn deadlock(fault: &Fault) -> (&[Waiting], Option<(u64, u64)>) {
    let FaultKind::Deadlock { waiting, blocks } = &fault.kind else { panic!("{fault}") };
    (waiting, *blocks)
}

/// The line of the PTX file that holds a text, the `nth` of those.
fn ptx_line(kernel: &str, text: &str, nth: usize) -> u32 {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("waiting/waiting.ptx");
    let ptx = std::fs::read_to_string(path).expect("the PTX file");
    let start = ptx.lines().position(|l| l.contains(&format!(".entry {kernel}("))).expect("the kernel");
    let found = ptx.lines().enumerate().skip(start).filter(|(_, l)| l.contains(text)).nth(nth);
    found.expect("the text").0 as u32 + 1
}

#[test]
fn locks_taken_in_opposite_order() {
    let mut p = program("opposite_locks", 2, 32, &[("locks", vec![0; 3]), ("out", vec![0; 2])], &[]);
    let fault = p.fault();
    let (waiting, blocks) = deadlock(&fault);
    assert_eq!(blocks, Some((2, 0)), "{fault}");
    let spinning: Vec<_> = waiting.iter().filter(|w| w.for_what.contains("locks")).collect();
    assert_eq!(spinning.len(), 2, "{fault}");
    let line = ptx_line("opposite_locks", "cas", 1);
    for (b, w) in spinning.iter().enumerate() {
        assert_eq!((w.block, w.warp, w.lanes, w.ptx_line), ([b as u32, 0, 0], 0, 1, line), "{fault}");
        let place = format!("`locks` + {}", 4 * (1 - b));
        assert!(
            w.for_what.contains(&place) && w.for_what.ends_with(&format!("holds {:#x}", 2 - b)),
            "{fault}"
        );
    }
    let text = fault.to_string();
    assert!(text.contains("2 blocks wait for ever") && text.contains(&format!("(line {line})")), "{text}");
}

#[test]
fn a_flag_that_nobody_sets() {
    for threads in [32, 128] {
        let buffers = [("flag", vec![7; 8]), ("out", vec![0; 128])];
        let fault = program("forgotten_flag", 3, threads, &buffers, &[]).fault();
        let (waiting, blocks) = deadlock(&fault);
        assert_eq!(blocks, Some((3, 0)), "{fault}");
        assert!(waiting.iter().any(|w| w.lanes == 1 << 5 && w.for_what.contains("`flag` + 12")), "{fault}");
        assert!(waiting.iter().any(|w| w.for_what.contains("barrier 0")), "{fault}");
    }
}

#[test]
fn more_blocks_than_a_device_holds_cannot_wait_for_one_another() {
    let grid = 9000;
    let buffers = [("a", vec![0; 32 * grid as usize]), ("b", vec![0; 32 * grid as usize])];
    let fault = program("rounds", grid, 32, &buffers, &[1]).fault();
    let (_, blocks) = deadlock(&fault);
    let (resident, left) = blocks.expect("blocks wait for one another");
    assert!(resident >= 5000 && resident + left == u64::from(grid), "{fault}");
    assert!(fault.to_string().contains("no room for"), "{fault}");
}
