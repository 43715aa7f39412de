//! `warplab.Launch`: a launch of a trace, with the registers and values of its warps as NumPy arrays.

use crate::error::error;
use crate::table::Table;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trace_format::isa::Pc;
use trace_format::isa::space::PARAM_BASE;
use trace_format::reader::{self, WarpCursor};

/// A launch of a kernel.
#[pyclass(frozen, module = "warplab")]
pub(crate) struct Launch {
    trace: reader::Trace,
    number: u32,
}

/// The values that a warp's instructions wrote, a row per register written, in order.
#[pyclass(frozen, get_all, module = "warplab")]
pub(crate) struct WarpValues {
    /// Number of the instruction among those that the warp executed.
    step: Py<PyArray1<u64>>,
    /// Its index in the kernel.
    pc: Py<PyArray1<u32>>,
    /// The register.
    register: Py<PyArray1<u8>>,
    /// Lanes in which it was written, a bit each.
    lanes: Py<PyArray1<u32>>,
    /// The whole register afterwards: a column per lane.
    values: Py<PyArray2<u32>>,
}

/// The addresses of a warp's memory accesses, a row per access, in order.
#[pyclass(frozen, get_all, module = "warplab")]
pub(crate) struct WarpAddresses {
    /// Number of the instruction among those that the warp executed.
    step: Py<PyArray1<u64>>,
    /// Its index in the kernel.
    pc: Py<PyArray1<u32>>,
    /// Space of each access: `global`, `shared`, …
    space: Vec<String>,
    /// Bytes that each lane accesses.
    bytes: Py<PyArray1<u8>>,
    /// Lanes that access memory, a bit each.
    lanes: Py<PyArray1<u32>>,
    /// Byte addresses: a column per lane; 0 in lanes that access nothing.
    addresses: Py<PyArray2<u64>>,
}

impl Launch {
    /// A launch that the trace holds.
    pub(crate) fn new(trace: reader::Trace, number: u32) -> Launch {
        Launch { trace, number }
    }

    fn launch(&self) -> &reader::Launch {
        &self.trace.launches()[self.number as usize]
    }

    /// A recorded block's number among the recorded ones.
    fn recorded(&self, block: u64) -> PyResult<u64> {
        let launch = self.launch();
        launch.recorded_block(block).ok_or_else(|| {
            let (recorded, all) = (launch.blocks_recorded(), launch.geometry.blocks());
            PyIndexError::new_err(format!(
                "block {block} is not in the trace, which holds {recorded} of {all} blocks"
            ))
        })
    }

    fn check(&self, warp: u32) -> PyResult<()> {
        let warps = self.launch().geometry.warps_per_block();
        match warp < warps {
            true => Ok(()),
            false => Err(PyIndexError::new_err(format!("there is no warp {warp}; a block has {warps}"))),
        }
    }

    fn cursor(&self, block: u64, warp: u32) -> PyResult<WarpCursor> {
        self.check(warp)?;
        self.trace.warp_cursor(self.number, self.recorded(block)?, warp).map_err(error)
    }
}

#[pymethods]
impl Launch {
    /// Number of the launch in the trace.
    #[getter]
    fn number(&self) -> u32 {
        self.number
    }

    /// Name of the kernel.
    #[getter]
    fn kernel(&self) -> &str {
        &self.trace.kernel_of(self.number).name
    }

    /// Blocks of the grid in x, y and z.
    #[getter]
    fn grid(&self) -> (u32, u32, u32) {
        self.launch().geometry.grid.into()
    }

    /// Threads of a block in x, y and z.
    #[getter]
    fn block(&self) -> (u32, u32, u32) {
        self.launch().geometry.block.into()
    }

    /// Warps of a block.
    #[getter]
    fn warps_per_block(&self) -> u32 {
        self.launch().geometry.warps_per_block()
    }

    /// The blocks that the trace holds, by their number in the grid, x fastest.
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        let launch = self.launch();
        (0..launch.blocks_recorded())
            .map(|block| launch.grid_block(block))
            .collect::<Vec<_>>()
            .into_pyarray(py)
    }

    /// Warp instructions in the trace.
    #[getter]
    fn warp_instructions(&self) -> u64 {
        self.launch().warp_instructions()
    }

    /// Registers per thread of the kernel.
    #[getter]
    fn registers_per_thread(&self) -> u16 {
        self.trace.kernel_of(self.number).regs_per_thread
    }

    /// Dynamic shared memory of a block in bytes.
    #[getter]
    fn dynamic_shared_bytes(&self) -> u32 {
        self.launch().dynamic_shared_bytes
    }

    /// Part of an SM's largest shared memory that the program prefers for the launch, in percent; `None` if it prefers none.
    #[getter]
    fn shared_carveout_percent(&self) -> Option<u8> {
        self.launch().shared_carveout_percent
    }

    /// The kernel's parameters: name, type, and bytes.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, String, Bound<'py, PyBytes>)>> {
        let banks = self.trace.launch_record(self.number).map_err(error)?.banks;
        let bank = banks.param.get(PARAM_BASE as usize..).unwrap_or(&[]);
        let one = |param: &trace_format::isa::Param| {
            let range = param.offset as usize..(param.offset + param.size) as usize;
            (param.name.clone(), param.ty.clone(), PyBytes::new(py, bank.get(range).unwrap_or(&[])))
        };
        Ok(self.trace.kernel_of(self.number).params.iter().map(one).collect())
    }

    /// The machine code, a row per instruction: `pc`, `instruction`, and the line that it comes from.
    #[getter]
    fn code(&self) -> PyResult<Table> {
        let kernel = self.trace.kernel_of(self.number);
        let columns = [
            report::Column::integer("pc"),
            report::Column::text("instruction"),
            report::Column::integer("line"),
            report::Column::text("text"),
        ];
        let mut table = report::Table::new(format!("{}: machine code", kernel.name), columns);
        for (pc, inst) in kernel.insts.iter().enumerate() {
            let line = kernel.lines.get(pc).map(|line| line.code.line).filter(|&line| line > 0);
            let text = kernel.code_text(Pc(pc as u32)).map(str::trim);
            table.push(report::cells![pc, inst.to_string(), line, text]);
        }
        Table::of_report(&table)
    }

    /// What a warp executed: arrays with the index, the active lanes and the lanes in which the guard held, an entry per
    /// instruction.
    #[pyo3(signature = (block=0, warp=0))]
    #[allow(clippy::type_complexity, reason = "it is a Python tuple")]
    fn path<'py>(
        &self,
        py: Python<'py>,
        block: u64,
        warp: u32,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>)> {
        self.check(warp)?;
        let mut cursor = self.trace.slice_cursor(self.number, self.recorded(block)?, warp).map_err(error)?;
        let (mut pcs, mut active, mut executed) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(step) = cursor.step().map_err(error)? {
            pcs.push(step.pc.0);
            active.push(step.active);
            executed.push(step.exec);
        }
        Ok((pcs.into_pyarray(py), active.into_pyarray(py), executed.into_pyarray(py)))
    }

    /// The values that a warp's instructions wrote.
    #[pyo3(signature = (block=0, warp=0))]
    fn values(&self, py: Python<'_>, block: u64, warp: u32) -> PyResult<WarpValues> {
        let mut cursor = self.cursor(block, warp)?;
        let kernel = self.trace.kernel_of(self.number);
        let (mut steps, mut pcs, mut registers, mut lanes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut values: Vec<u32> = Vec::new();
        let mut number = 0;
        while let Some(step) = cursor.step().map_err(error)? {
            for register in kernel.insts[step.pc.index()].dst_regs() {
                steps.push(number);
                pcs.push(step.pc.0);
                registers.push(register.0);
                lanes.push(step.exec);
                values.extend(cursor.warp().row(register.0.into()).0);
            }
            number += 1;
        }
        let rows = steps.len();
        Ok(WarpValues {
            step: steps.into_pyarray(py).unbind(),
            pc: pcs.into_pyarray(py).unbind(),
            register: registers.into_pyarray(py).unbind(),
            lanes: lanes.into_pyarray(py).unbind(),
            values: values.into_pyarray(py).reshape([rows, 32])?.unbind(),
        })
    }

    /// The registers of a warp before its step-th instruction, or at its end: a row per register, a column per lane.
    #[pyo3(signature = (block=0, warp=0, step=None))]
    fn registers<'py>(
        &self,
        py: Python<'py>,
        block: u64,
        warp: u32,
        step: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let mut cursor = self.cursor(block, warp)?;
        while step.is_none_or(|step| cursor.steps() < step) {
            if cursor.step().map_err(error)?.is_none() {
                match step.filter(|&step| step > cursor.steps()) {
                    None => break,
                    Some(step) => {
                        let steps = cursor.steps();
                        let why =
                            format!("step {step} is beyond the warp's end; it executes {steps} instructions");
                        return Err(PyIndexError::new_err(why));
                    }
                }
            }
        }
        let rows = cursor.warp().registers(cursor.code());
        let rows = &rows[..rows.len().min(self.registers_per_thread().into())];
        let values: Vec<u32> = rows.iter().flat_map(|row| row.0).collect();
        values.into_pyarray(py).reshape([rows.len(), 32])
    }

    /// The addresses of a warp's memory accesses.
    #[pyo3(signature = (block=0, warp=0))]
    fn addresses(&self, py: Python<'_>, block: u64, warp: u32) -> PyResult<WarpAddresses> {
        self.check(warp)?;
        let mut cursor = self.trace.slice_cursor(self.number, self.recorded(block)?, warp).map_err(error)?;
        let (mut steps, mut pcs, mut space, mut bytes, mut lanes) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut addresses: Vec<u64> = Vec::new();
        let mut number = 0;
        while let Some(step) = cursor.step().map_err(error)? {
            if let Some(access) = cursor.mem() {
                steps.push(number);
                pcs.push(step.pc.0);
                space.push(format!("{:?}", access.space).to_lowercase());
                bytes.push(access.bytes_per_lane);
                lanes.push(access.mask);
                let of = |lane: usize| if access.mask >> lane & 1 == 1 { access.addresses[lane] } else { 0 };
                addresses.extend((0..32).map(of));
            }
            number += 1;
        }
        let rows = steps.len();
        Ok(WarpAddresses {
            step: steps.into_pyarray(py).unbind(),
            pc: pcs.into_pyarray(py).unbind(),
            space,
            bytes: bytes.into_pyarray(py).unbind(),
            lanes: lanes.into_pyarray(py).unbind(),
            addresses: addresses.into_pyarray(py).reshape([rows, 32])?.unbind(),
        })
    }

    fn __repr__(&self) -> String {
        let (grid, block) = (self.grid(), self.block());
        format!("<warplab.Launch {}: {}, grid {grid:?}, block {block:?}>", self.number, self.kernel())
    }
}

#[pymethods]
impl WarpValues {
    fn __len__(&self, py: Python<'_>) -> usize {
        use numpy::PyUntypedArrayMethods;
        self.step.bind(py).len()
    }
}

#[pymethods]
impl WarpAddresses {
    fn __len__(&self) -> usize {
        self.space.len()
    }
}
