//! Every guest fault and the location in its message.

use crate::exec_kit;

use emulator::exec::fault::Access;
use emulator::exec::{self, FaultKind, Launch, LaunchError, Observer, Stats, Tolerated};
use emulator::record::Unrecorded;
use exec_kit::*;
use std::sync::Mutex;
use trace_format::isa::space::Space;
use trace_format::isa::*;
use trace_format::semantics::Geometry;

/// Stores the thread index at buffer 0 plus `bytes_per_thread` times the index.
fn striding(bytes_per_thread: u32, first: u32) -> MachineKernel {
    let mut a = Asm::new();
    a.thread(0).mov(1, imm(bytes_per_thread)).mad(1, 0, reg(1), 252).add(1, 1, imm(first)).mov(2, imm(1));
    a.push(Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(r(4)).srcs([reg(1), reg(2), param(0)]));
    a.stg(4, reg(0)).exit(PredSrc::TRUE);
    a.build()
}

#[test]
fn out_of_bounds_names_everything() {
    let kernel = striding(4, 0);
    let mut device = Device::new(&[&[0; 150], &[0; 8]]);
    let fault = device.fault(&kernel, 3, 64);
    let base = device.pointers()[0];
    let FaultKind::OutOfBounds { access, space, address, width, nearest, .. } = &fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((*access, *space, *address, *width), (Access::Store, Space::Global, base + 600, 4));
    let nearest = nearest.as_ref().unwrap();
    assert_eq!((nearest.name.as_str(), nearest.len, nearest.distance), ("buffer0", 600, 1));
    assert_eq!(
        (fault.block, fault.warp, fault.lane, fault.thread),
        ([2, 0, 0], 0, Some(22), Some([22, 0, 0]))
    );
    assert_eq!(kernel.insts[fault.pc.index()].op.info().mnemonic, "STG");
    assert_eq!(fault.ptx_line, 10 + fault.pc.0);
    let text = fault.to_string();
    for part in
        ["hand_built", "hand.ptx:", "ptx line of", "STG", "block (2,0,0), warp 0, lane 22", "`buffer0`"]
    {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn the_fault_is_the_same_for_every_number_of_threads() {
    let kernel = striding(4, 0);
    let faults: Vec<_> = [1, 2, 5]
        .map(|threads| {
            let mut device = Device::new(&[&vec![0; 64 * 91 + 13]]);
            device.options.threads = threads;
            device.fault(&kernel, 200, 64)
        })
        .into();
    assert_eq!(faults[0].block, [91, 0, 0]);
    assert_eq!(faults[0], faults[1]);
    assert_eq!(faults[0], faults[2]);
}

#[test]
fn misaligned_accesses_name_lane_and_address() {
    let mut device = Device::new(&[&[0; 64]]);
    let fault = device.fault(&striding(3, 4), 1, 32);
    let address = device.pointers()[0] + 7;
    assert!(
        matches!(fault.kind, FaultKind::Misaligned { address: a, width: 4, .. } if a == address),
        "{fault}"
    );
    assert_eq!(fault.lane, Some(1));
}

#[test]
fn null_and_wild_pointers() {
    let mut a = Asm::new();
    a.mov(4, imm(0)).mov(5, imm(0)).ldg(6, 4).exit(PredSrc::TRUE);
    let fault = Device::new(&[&[0; 4]]).fault(&a.build(), 1, 1);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { address: 0, .. }), "{fault}");
    let fault = Device::new(&[]).fault(&a.build(), 1, 1);
    assert!(fault.to_string().contains("nothing is allocated"), "{fault}");
    let mut a = Asm::new();
    a.mov(4, imm(u32::MAX)).mov(5, imm(u32::MAX)).ldg(6, 4).exit(PredSrc::TRUE);
    let fault = Device::new(&[&[0; 4]]).fault(&a.build(), 1, 32);
    assert!(matches!(fault.kind, FaultKind::Misaligned { .. }), "{fault}");
}

#[test]
fn shared_and_local_memory_have_ends() {
    let mut a = Asm::new();
    a.shared = 256;
    a.thread(0).add(1, 0, imm(40)).lds(2, 1, 0).exit(PredSrc::TRUE);
    let fault = Device::new(&[]).fault(&a.build(), 1, 32);
    assert!(
        matches!(
            fault.kind,
            FaultKind::OutOfBounds { space: Space::Shared, address: 256, size: Some(256), .. }
        ),
        "{fault}"
    );
    assert_eq!(fault.lane, Some(24));
    let mut a = Asm::new();
    a.local = 16;
    a.mov(1, imm(16))
        .push(Inst::new(Op::Stl { width: MemWidth::U8 }).srcs([reg(1), reg(1)]))
        .exit(PredSrc::TRUE);
    let fault = Device::new(&[]).fault(&a.build(), 1, 32);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { space: Space::Local, .. }), "{fault}");
    let mut a = Asm::new();
    a.mov(1, imm(400))
        .push(Inst::new(Op::Ldc { width: MemWidth::B32, bank: Bank(3) }).dst(r(2)).srcs([reg(1)]));
    a.exit(PredSrc::TRUE);
    let fault = Device::new(&[]).fault(&a.build(), 1, 32);
    assert!(fault.to_string().contains("the kernel has no constant memory"), "{fault}");
}

#[test]
fn different_barriers_of_the_halves_of_a_warp_deadlock() {
    let mut b = Asm::new();
    let skip = b.label();
    b.thread(0).setp(0, ICmp::Ge, 0, imm(16)).bra(skip, p(0)).sync();
    b.bind(skip).bar(BarMode::Sync, 1, 0, PredSrc::TRUE).exit(PredSrc::TRUE);
    let fault = Device::new(&[]).fault(&b.build(), 1, 32);
    let FaultKind::Deadlock { waiting, .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!(waiting.len(), 2, "{fault}");
    assert_eq!((waiting[0].lanes, waiting[1].lanes), (0xFFFF, 0xFFFF_0000));
    assert!(waiting[0].for_what.contains("16 of 32 threads have arrived"), "{fault}");
    assert!(waiting[1].for_what.contains("barrier 1 (16 of 32 threads have arrived)"), "{fault}");
    assert_eq!(b.build().insts[fault.pc.index()].op.info().mnemonic, "BAR");
}

#[test]
fn a_barrier_that_one_warp_never_reaches_deadlocks() {
    let mut a = Asm::new();
    let (other, end) = (a.label(), a.label());
    a.thread(0).setp(0, ICmp::Ge, 0, imm(32)).bra(other, p(0));
    a.bar(BarMode::Sync, 1, 0, PredSrc::TRUE).bra(end, PredSrc::TRUE);
    a.bind(other).bar(BarMode::Sync, 2, 0, PredSrc::TRUE).bind(end).exit(PredSrc::TRUE);
    let fault = Device::new(&[]).fault(&a.build(), 1, 64);
    let FaultKind::Deadlock { waiting, .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!(waiting.iter().map(|w| w.warp).collect::<Vec<_>>(), [0, 1]);
    assert!(waiting[1].for_what.contains("barrier 2 (32 of 64"), "{fault}");
}

#[test]
fn misused_barriers_are_told() {
    let cases = [(20, 0, "no barrier 20"), (1, 40, "multiple of 32"), (1, 96, "of the block")];
    for (id, threads, told) in cases {
        let mut a = Asm::new();
        a.bar(BarMode::Sync, id, threads, PredSrc::TRUE).exit(PredSrc::TRUE);
        let fault = Device::new(&[]).fault(&a.build(), 1, 64);
        assert!(fault.to_string().contains(told), "{fault}");
    }
}

#[test]
fn traps_and_endless_recursion_and_endless_loops() {
    let mut a = Asm::new();
    a.thread(0).setp(0, ICmp::Eq, 0, imm(37)).push(Inst::new(Op::Bpt {}).guarded(p(0))).exit(PredSrc::TRUE);
    let fault = Device::new(&[]).fault(&a.build(), 1, 64);
    assert_eq!((&fault.kind, fault.warp, fault.lane), (&FaultKind::Trap, 1, Some(5)));

    let mut a = Asm::new();
    let f = a.label();
    a.call(f, PredSrc::TRUE).exit(PredSrc::TRUE).function(f, "f").call(f, PredSrc::TRUE).ret(PredSrc::TRUE);
    let fault = Device::new(&[]).fault(&a.build(), 1, 1);
    assert!(matches!(fault.kind, FaultKind::CallDepth(_)), "{fault}");

    let mut a = Asm::new();
    let forever = a.label();
    a.thread(0).bind(forever).add(0, 0, imm(1)).bra(forever, PredSrc::TRUE).exit(PredSrc::TRUE);
    let mut device = Device::new(&[]);
    device.options.max_instructions = 100_000;
    let fault = device.fault(&a.build(), 4, 64);
    assert_eq!(fault.kind, FaultKind::InstructionLimit(100_000));
    assert!(fault.to_string().contains("--max-instructions"), "{fault}");
}

#[test]
fn the_limit_of_instructions_counts_all_blocks_and_faults_alike_on_every_number_of_threads() {
    let mut a = Asm::new();
    let again = a.label();
    a.thread(0).mov(1, imm(0)).bind(again).add(1, 1, imm(1)).setp(0, ICmp::Lt, 1, imm(1000)).bra(again, p(0));
    a.address(2, 0, 0).stg(2, reg(1)).exit(PredSrc::TRUE);
    let kernel = a.build();
    let run = |threads, limit| {
        let mut device = Device::new(&[&vec![0; 64 * 64]]);
        (device.options.threads, device.options.max_instructions) = (threads, limit);
        device.run(&kernel, 64, 64)
    };
    let total = run(1, u64::MAX).unwrap().warp_instructions;
    for threads in [1, 2, 4] {
        assert_eq!(run(threads, total).unwrap().warp_instructions, total);
    }
    let fault = |threads| match run(threads, total / 2) {
        Err(LaunchError::Fault(fault)) => *fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(1), fault(2));
    assert_eq!(fault(1), fault(4));
}

#[test]
fn impossible_launches_are_refused() {
    let mut a = Asm::new();
    a.exit(PredSrc::TRUE);
    let kernel = a.build();
    let refused = |grid, block, told: &str| {
        let error = Device::new(&[]).run(&kernel, grid, block).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    };
    refused(0, 32, "at least 1");
    refused(1, 0, "at least 1");
    refused(1, 1025, "1025 threads, the limit is 1024");
    let small = MachineKernel { max_threads_per_block: Some([32, 1, 1]), ..kernel.clone() };
    let error = Device::new(&[]).run(&small, 1, 33).unwrap_err().to_string();
    assert!(error.contains("at most 32"), "{error}");
    let empty = MachineKernel::default();
    assert!(Device::new(&[]).run(&empty, 1, 1).unwrap_err().to_string().contains("no instructions"));
}

/// An observer of loads out of bounds.
#[derive(Default)]
struct Heard(Mutex<Vec<Tolerated>>);

impl Observer for Heard {
    fn progress(&self, _: &Stats) {}

    fn tolerated(&self, loads: &[Tolerated]) {
        Tolerated::merge(&mut self.0.lock().unwrap(), loads);
    }
}

/// Copies word t + `first` of buffer 0 to word t of buffer 1.
fn shifted(first: i32) -> MachineKernel {
    let mut a = Asm::new();
    a.thread(0).mov(2, imm(4)).add(1, 0, imm(first as u32));
    a.push(Inst::new(Op::ImadWide { sign: Sign::S32 }).dst(r(4)).srcs([reg(1), reg(2), param(0)]));
    a.ldg(6, 4).address(8, 0, 1).stg(8, reg(6)).exit(PredSrc::TRUE);
    a.build()
}

#[test]
fn lenient_launches_read_zeros_beside_their_buffers() {
    let kernel = shifted(-128);
    let input: Vec<u32> = (1..=320).collect();
    let run = |threads| {
        let mut device = Device::new(&[&input, &[9; 320]]);
        device.options.lenient = true;
        device.options.threads = threads;
        let heard = Heard::default();
        let geometry = Geometry { grid: [5, 1, 1], block: [64, 1, 1] };
        let banks = banks(&kernel, &geometry, &device.pointers());
        let launch = Launch { kernel: &kernel, geometry, dynamic_shared_bytes: 0, banks, index: 0 };
        exec::launch(&mut device.memory, &launch, &device.options, &mut Unrecorded, &heard).unwrap();
        (device.words(1), heard.0.into_inner().unwrap())
    };
    let (words, heard) = run(1);
    assert_eq!(words, (0..320).map(|t: u32| t.saturating_sub(127)).collect::<Vec<u32>>());
    let [tolerated] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((tolerated.loads, tolerated.first.block, tolerated.first.lane), (128, [0; 3], Some(0)));
    let text = tolerated.to_string();
    for part in ["512 bytes before `buffer0`", "kernel hand_built", "PC 0x", "hand.ptx:", "128 such loads"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert_eq!(run(4), (words, heard), "threads change what is read or told");

    let mut device = Device::new(&[&input, &[9; 320]]);
    device.options.lenient = true;
    let (_, trace) = device.record(&kernel, 5, 64, 3);
    assert_eq!(verify(&trace).problems, []);
}

#[test]
fn lenient_launches_stop_where_hardware_does() {
    // Without the flag, in another page, and when something is written.
    for (first, lenient) in [(-128, false), (-(3 << 20), true), (3 << 20, true)] {
        let mut device = Device::new(&[&[1; 64], &[1; 64]]);
        device.options.lenient = lenient;
        let fault = device.fault(&shifted(first), 1, 32);
        assert!(matches!(fault.kind, FaultKind::OutOfBounds { access: Access::Load, .. }), "{fault}");
        assert_eq!(fault.to_string().contains("--lenient"), !lenient, "{fault}");
    }
    let mut device = Device::new(&[&[0; 8]]);
    device.options.lenient = true;
    let fault = device.fault(&striding(4, 0), 1, 32);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { access: Access::Store, .. }), "{fault}");
}
