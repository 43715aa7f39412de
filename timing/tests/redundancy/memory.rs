//! Launches recorded in memory, for tests: each warp's path and its recorded rows.

use std::sync::Arc;
use timing::internals::{LaunchPaths, WarpPath};
use timing::internals::{MemAccess, SourceError, Step, Upcoming};
use trace_format::isa::space::Space;
use trace_format::isa::{Inst, Kind, MachineKernel, Pc, SourceLine};
use trace_format::semantics::{Banks, Code, Geometry, Row, Warp, addresses, execute};

/// One recorded instruction.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub pc: u32,
    pub active: u32,
    /// Destination rows that are recorded.
    pub rows: Vec<Row>,
}

/// A launch with the recorded instructions of every warp, block by block.
#[derive(Clone, Debug)]
pub(crate) struct MemoryLaunch {
    kernel: Arc<MachineKernel>,
    code: Arc<Code>,
    geometry: Geometry,
    warps: Vec<Arc<Vec<Recorded>>>,
}

/// A kernel of these instructions.
pub(crate) fn kernel(insts: &[Inst]) -> MachineKernel {
    MachineKernel {
        uniform_registers: insts.iter().flat_map(Inst::uniforms).max().map_or(0, |reg| reg.0 + 1),
        name: "test".into(),
        lines: vec![SourceLine::default(); insts.len()],
        insts: insts.to_vec(),
        regs_per_thread: 16,
        ..MachineKernel::default()
    }
}

impl MemoryLaunch {
    /// A launch whose warps run `path(block, warp)`.
    pub(crate) fn new(
        kernel: MachineKernel,
        geometry: Geometry,
        mut path: impl FnMut(u64, u32) -> Vec<Recorded>,
    ) -> MemoryLaunch {
        let mut warps = Vec::new();
        for block in 0..geometry.blocks() {
            for warp in 0..geometry.warps_per_block() {
                warps.push(Arc::new(path(block, warp)));
            }
        }
        let code = Arc::new(Code::prepare(&kernel, &Banks::default()));
        MemoryLaunch { kernel: Arc::new(kernel), code, geometry, warps }
    }
}

/// A warp being stepped.
#[derive(Debug)]
pub(crate) struct MemoryWarp {
    code: Arc<Code>,
    recorded: Arc<Vec<Recorded>>,
    at: usize,
    state: Warp,
    mem: Option<(Space, u8, u32)>,
    addresses: [u64; 32],
}

impl WarpPath for MemoryWarp {
    fn peek(&self) -> Option<Upcoming> {
        self.recorded.get(self.at).map(|r| Upcoming { pc: r.pc, active: r.active })
    }

    fn step(&mut self) -> Result<Option<Step>, SourceError> {
        let Some(recorded) = self.recorded.get(self.at) else { return Ok(None) };
        self.at += 1;
        let (pc, active) = (recorded.pc, recorded.active);
        let inst = *self.code.inst(Pc(pc));
        let exec = self.code.exec_mask(Pc(pc), &self.state, active);
        self.mem = inst.kind.space().map(|space| (space, inst.mem_bytes(), exec & inst.address_lanes()));
        if self.mem.is_some() {
            addresses(&inst, &self.state, &mut self.addresses);
        }
        if inst.kind == Kind::Pure {
            execute(&self.code, &inst, &mut self.state, exec);
        } else {
            for (i, row) in recorded.rows.iter().enumerate() {
                self.state.write_row(inst.dst + i as u16, row, exec);
            }
        }
        Ok(Some(Step { pc, active, exec }))
    }

    fn state(&self) -> &Warp {
        &self.state
    }

    fn mem(&self) -> Option<MemAccess<'_>> {
        self.mem.map(|(space, bytes, mask)| MemAccess::new(space, bytes, &self.addresses, mask))
    }
}

impl LaunchPaths for MemoryLaunch {
    type Warp = MemoryWarp;

    fn kernel(&self) -> &MachineKernel {
        &self.kernel
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn open(&self, block: u64, warp: u32) -> Result<MemoryWarp, SourceError> {
        let index = block as usize * self.geometry.warps_per_block() as usize + warp as usize;
        let mut state = Warp::new(&self.code);
        state.reset(&self.code, &self.geometry, self.geometry.block_index(block), warp);
        Ok(MemoryWarp {
            code: self.code.clone(),
            recorded: self.warps[index].clone(),
            at: 0,
            state,
            mem: None,
            addresses: [0; 32],
        })
    }
}
