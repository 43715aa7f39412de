//! Control bits of a kernel: a record of their own, which readers that do not know it skip.

use crate::common;

use common::{Builder, damaged_record_is_named, exit, ffma, r};
use trace_format::container::format;
use trace_format::isa::{ControlBits, MachineKernel, Reg};
use trace_format::reader::Trace;
use trace_format::writer::{TraceWriter, WriterOptions};

fn kernel(control: Vec<Option<ControlBits>>) -> MachineKernel {
    let mut code = Builder::default();
    code.emit(ffma(1, r(2), r(3), r(4)));
    code.emit(ffma(5, r(1), r(1), r(1)));
    code.emit(exit());
    MachineKernel { control, ..code.kernel("bits") }
}

fn bits() -> Vec<Option<ControlBits>> {
    let first = ControlBits {
        stall_cycles: 15,
        yields: true,
        waits_for: 0b10_0001,
        waits_until: Some((3, 2)),
        write_counter: Some(5),
        read_counter: Some(0),
        places: [Reg(2), Reg::RZ, Reg(4)],
        reuse: 0b101,
        partial: false,
    };
    vec![Some(first), None, Some(ControlBits { partial: true, ..ControlBits::default() })]
}

fn write(path: &std::path::Path, kernels: &[MachineKernel]) {
    let mut writer = TraceWriter::create(path, &WriterOptions::default()).unwrap();
    for kernel in kernels {
        writer.kernel(kernel).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn control_bits_come_back_with_their_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bits.wtrace");
    // The same code with and without bits is two kernels.
    let kernels = [kernel(Vec::new()), kernel(bits())];
    write(&path, &kernels);
    let trace = Trace::open(&path).unwrap();
    assert_eq!([0, 1].map(|index| trace.kernel(index).clone()), kernels);
    let records = trace.records();
    let at = records.iter().position(|record| record.0 == format::CONTROL).unwrap();
    assert_eq!(records[at - 1].0, format::KERNEL);
    assert_eq!(records.iter().filter(|record| record.0 == format::CONTROL).count(), 1);
    // Readers that do not know the tag skip it.
    assert!(format::CONTROL[0].is_ascii_lowercase());
}

#[test]
fn damaged_control_bits_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bits.wtrace");
    write(&path, &[kernel(bits())]);
    damaged_record_is_named(&path, format::CONTROL);
}

#[test]
fn impossible_control_bits_are_refused() {
    let refused = |control: Vec<Option<ControlBits>>| kernel(control).check().expect_err("refused");
    assert!(refused(vec![None; 2]).contains("control bits for 2 of 3 instructions"));
    let with = |bits: ControlBits| refused(vec![None, Some(bits), None]);
    for bits in [
        ControlBits { write_counter: Some(6), ..ControlBits::default() },
        ControlBits { read_counter: Some(7), ..ControlBits::default() },
        ControlBits { waits_until: Some((6, 0)), ..ControlBits::default() },
        ControlBits { waits_for: 0b100_0000, ..ControlBits::default() },
    ] {
        let why = with(bits);
        assert!(why.contains("PC 0x0008") && why.contains("dependence counter"), "{why}");
    }
    assert!(with(ControlBits { reuse: 8, ..ControlBits::default() }).contains("source"));
}
