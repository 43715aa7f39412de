//! Traces to measure with: kernels recorded by a simple loop, with memory contents derived from addresses.

use std::path::Path;
use trace_format::container::LaunchRecord;
use trace_format::isa::{Flow, Kind, MachineKernel, Pc};
use trace_format::reader::Trace;
use trace_format::semantics::{Banks, Code, Geometry, Row, Warp, addresses, execute};
use trace_format::writer::{BlockRecorder, TraceWriter, WriterOptions};

struct Recording<'a> {
    flow: Flow,
    code: &'a Code,
    geometry: Geometry,
}

impl Recording<'_> {
    fn warp(&self, recorder: &mut BlockRecorder, block: u64, warp: u32) {
        let (flow, code) = (&self.flow, self.code);
        let mut state = Warp::new(code);
        state.reset(code, &self.geometry, self.geometry.block_index(block), warp);
        let mut pc = Pc(0);
        loop {
            let inst = code.inst(pc);
            if flow.block(flow.block_of(pc)).first == pc {
                recorder.enter(warp, flow.block_of(pc), u32::MAX);
            }
            let exec = code.exec_mask(pc, &state, u32::MAX);
            let mut at = [0; 32];
            addresses(inst, &state, &mut at);
            match inst.kind {
                Kind::Pure => execute(code, inst, &mut state, exec),
                Kind::Load(_) => {
                    state.write_row(inst.dst, &Row::from_fn(|l| noise(at[l])), exec);
                }
                _ => {}
            }
            match inst.kind.is_memory() {
                true => recorder.access(warp, pc, inst, &state, exec, &at),
                false => recorder.externals(warp, pc, inst, &state, exec),
            }
            recorder.retire(warp, pc, inst, &state, exec);
            match inst.kind {
                Kind::Exit => return,
                Kind::Branch if exec != 0 => pc = inst.target,
                _ => pc = pc.next(),
            }
        }
    }
}

/// Records one launch of a kernel.
pub(crate) fn record(kernel: &MachineKernel, geometry: Geometry, banks: Banks, path: &Path) -> Trace {
    let code = Code::prepare(kernel, &banks);
    let mut writer = TraceWriter::create(path, &WriterOptions::default()).unwrap();
    let number = writer.kernel(kernel).unwrap();
    let record = LaunchRecord {
        kernel: number,
        geometry,
        dynamic_shared_bytes: 0,
        banks,
        buffers: Vec::new(),
        ..LaunchRecord::default()
    };
    let launch = writer.launch(record).unwrap();
    let mut recorder = launch.recorder();
    let recording = Recording { flow: kernel.flow(), code: &code, geometry };
    for block in 0..geometry.blocks() {
        recorder.begin(block);
        (0..geometry.warps_per_block()).for_each(|warp| recording.warp(&mut recorder, block, warp));
        launch.submit(&mut recorder).unwrap();
    }
    launch.finish().unwrap();
    writer.finish().unwrap();
    Trace::open(path).unwrap()
}

fn noise(address: u64) -> u32 {
    let z = address.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (z ^ z >> 29) as u32
}
