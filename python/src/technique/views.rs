//! What the methods of a technique in Python get: copies of what the model shows techniques, and what they answer.
//!
//! Answers are kept in these objects and carried out when the method has returned, so that Python never holds a
//! reference into the model.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timing::program::Program;
use warplab_technique::{InstView, Launch, Row, WarpView};

/// A warp.
#[pyclass(frozen, get_all, module = "warplab")]
pub(crate) struct Warp {
    /// Warp slot of the SM.
    slot: usize,
    /// Block slot of the SM.
    block_slot: usize,
    /// Number of the block in the grid.
    block: u32,
    /// Number of the warp in its block.
    warp: u32,
    /// Lanes that hold threads, a bit each.
    threads: u32,
    /// Lanes whose threads have not exited.
    alive: u32,
    /// Index of the next instruction; none at the warp's end.
    next_pc: Option<u32>,
    /// Instructions that the warp has issued.
    issued: u64,
}

impl Warp {
    /// A copy.
    pub(super) fn of(view: &WarpView<'_>) -> Warp {
        Warp {
            slot: view.slot,
            block_slot: view.block_slot,
            block: view.block,
            warp: view.warp,
            threads: view.threads,
            alive: view.alive,
            next_pc: (view.next_pc != u32::MAX).then_some(view.next_pc),
            issued: view.issued,
        }
    }
}

/// An instruction of a warp.
#[pyclass(frozen, module = "warplab")]
pub(crate) struct Instruction {
    /// Its index in the kernel.
    #[pyo3(get)]
    pc: u32,
    /// Registers that it reads, in order.
    #[pyo3(get)]
    sources: Vec<u32>,
    /// Registers that it writes, in order.
    #[pyo3(get)]
    destinations: Vec<u32>,
    /// Lanes on the path, a bit each.
    #[pyo3(get)]
    active: u32,
    /// Lanes in which it takes effect; before it has executed those on the path.
    #[pyo3(get)]
    executed: u32,
    text: Arc<str>,
    rows: Vec<Row>,
}

impl Instruction {
    /// A copy; with values, the registers are as before the instruction.
    pub(super) fn of(view: &InstView<'_>, texts: &[Arc<str>], values: Option<&WarpView<'_>>) -> Instruction {
        let read = view.inst.sources();
        let row = |rows: &[Row], reg: u8| rows.get(usize::from(reg)).copied();
        let rows =
            values.map_or(Vec::new(), |warp| read.iter().filter_map(|reg| row(warp.rows, *reg)).collect());
        Instruction {
            pc: view.pc,
            sources: numbers(read),
            destinations: numbers(view.inst.destinations()),
            active: view.active,
            executed: view.exec,
            text: texts.get(view.pc as usize).cloned().unwrap_or_default(),
            rows,
        }
    }
}

#[pymethods]
impl Instruction {
    /// The instruction in the notation of `emu disasm`.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Its opcode with modifiers.
    #[getter]
    fn opcode(&self) -> &str {
        let words = self.text.split_whitespace();
        words.into_iter().find(|word| !word.starts_with('@')).unwrap_or_default().trim_end_matches(';')
    }

    /// Values of the source registers before the instruction, a row each; only in `issue`, `collect` and `reuse`.
    #[getter]
    fn source_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        if self.rows.len() < self.sources.len() {
            return Err(PyValueError::new_err(
                "the source registers have their values in issue, collect and reuse",
            ));
        }
        let values: Vec<u32> = self.rows.iter().flat_map(|row| row.0).collect();
        values.into_pyarray(py).reshape([self.rows.len(), 32])
    }

    fn __repr__(&self) -> String {
        format!("<warplab.Instruction {}: {}>", self.pc, self.text)
    }
}

/// Numbers of registers, which Python has as a list; bytes would be a text to it.
fn numbers(registers: &[u8]) -> Vec<u32> {
    registers.iter().copied().map(u32::from).collect()
}

/// What becomes of an operand.
#[derive(Clone)]
pub(super) enum Fate {
    /// Nothing has been said.
    Open,
    /// It is supplied from a structure.
    Supplied {
        /// The value in every lane.
        row: Box<Row>,
        /// Name of the structure; none if there is one.
        storage: Option<String>,
        /// Its bank; none for the warp's slot.
        bank: Option<usize>,
    },
    /// It is read from its bank, for a cause.
    Lost(String),
}

/// A source operand that would be read from its bank.
#[pyclass(frozen, module = "warplab")]
pub(crate) struct Operand {
    /// The register.
    #[pyo3(get)]
    register: u8,
    fate: Mutex<Fate>,
}

impl Operand {
    /// An operand about which nothing has been said.
    pub(super) fn new(register: u8) -> Operand {
        Operand { register, fate: Mutex::new(Fate::Open) }
    }

    /// What was said.
    pub(super) fn fate(&self) -> Fate {
        held(&self.fate).clone()
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The row of an array with a value per lane.
fn row(values: &Bound<'_, PyAny>) -> PyResult<Row> {
    let wrong =
        || PyValueError::new_err("a register's value is an array of 32 values of uint32, one per lane");
    let array: PyReadonlyArray1<'_, u32> = values.extract().map_err(|_| wrong())?;
    let array = array.as_array();
    if array.len() != 32 {
        return Err(wrong());
    }
    Ok(Row::from_fn(|lane| array[lane]))
}

#[pymethods]
impl Operand {
    /// Supplies the operand from a structure: an array of 32 values of uint32. The lanes on the path are compared with the
    /// recording when the method returns.
    #[pyo3(signature = (values, storage=None, bank=None))]
    fn supply(
        &self,
        values: &Bound<'_, PyAny>,
        storage: Option<String>,
        bank: Option<usize>,
    ) -> PyResult<()> {
        *held(&self.fate) = Fate::Supplied { row: Box::new(row(values)?), storage, bank };
        Ok(())
    }

    /// Leaves the operand to its bank, for a cause in `losses`.
    fn lost(&self, cause: String) {
        *held(&self.fate) = Fate::Lost(cause);
    }
}

/// A result: on its way to the register file in `write_back`, to be supplied in `answered`.
#[pyclass(frozen, name = "Result", module = "warplab")]
pub(crate) struct ResultView {
    /// The register.
    #[pyo3(get)]
    register: u8,
    // In boxes, because Python's memory is not aligned as a row is.
    recorded: Option<Box<Row>>,
    supplied: Mutex<Option<Box<Row>>>,
    nowhere: Mutex<bool>,
}

impl ResultView {
    /// A result that the pipeline has, or that the technique has to supply.
    pub(super) fn new(register: u8, recorded: Option<Row>) -> ResultView {
        let recorded = recorded.map(Box::new);
        ResultView { register, recorded, supplied: Mutex::new(None), nowhere: Mutex::new(false) }
    }

    /// The value that the technique supplies.
    pub(super) fn supplied(&self) -> Option<Row> {
        held(&self.supplied).as_deref().copied()
    }

    /// Whether the register file is not written.
    pub(super) fn is_nowhere(&self) -> bool {
        *held(&self.nowhere)
    }
}

#[pymethods]
impl ResultView {
    /// The result in the lanes in which the instruction executed, a value per lane, in `write_back`; other lanes hold noise.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let why = "a result that the technique has to supply has no values to look at";
        let recorded = self.recorded.as_ref().ok_or_else(|| PyValueError::new_err(why))?;
        Ok(recorded.0.to_vec().into_pyarray(py))
    }

    /// Supplies the result, in `answered`: an array of 32 values of uint32.
    fn supply(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        *held(&self.supplied) = Some(Box::new(row(values)?));
        Ok(())
    }

    /// Keeps the result out of the register file, in `write_back`; the technique must supply it to every later reader.
    fn keep_from_register_file(&self) {
        *held(&self.nowhere) = true;
    }
}

/// What a method does besides answering.
pub(super) enum Action {
    /// Counts events.
    Count(String, u64),
    /// Writes to a bank of a structure.
    Write(Option<String>, usize),
    /// Entries of a bank in use.
    Use(Option<String>, usize, u32),
    /// Cases in which a result could have been supplied.
    Opportunity(u64),
    /// Opportunities lost.
    Lost(String, u64),
}

/// The context of a call.
#[pyclass(frozen, module = "warplab")]
pub(crate) struct Context {
    /// Cycle of the SM.
    #[pyo3(get)]
    cycle: u64,
    actions: Mutex<Vec<Action>>,
}

impl Context {
    /// The context of a cycle.
    pub(super) fn at(cycle: u64) -> Context {
        Context { cycle, actions: Mutex::default() }
    }

    /// What was done.
    pub(super) fn take(&self) -> Vec<Action> {
        std::mem::take(&mut held(&self.actions))
    }

    fn add(&self, action: Action) {
        held(&self.actions).push(action);
    }
}

#[pymethods]
impl Context {
    /// Counts events under a name in `counters`.
    #[pyo3(signature = (counter, count=1))]
    fn count(&self, counter: String, count: u64) {
        self.add(Action::Count(counter, count));
    }

    /// Writes an entry of a bank of a structure: it takes a port, and is counted and priced.
    #[pyo3(signature = (bank, storage=None))]
    fn write(&self, bank: usize, storage: Option<String>) {
        self.add(Action::Write(storage, bank));
    }

    /// Sets the number of entries of a bank that are in use.
    #[pyo3(signature = (bank, entries, storage=None))]
    fn in_use(&self, bank: usize, entries: u32, storage: Option<String>) {
        self.add(Action::Use(storage, bank, entries));
    }

    /// Counts cases in which the technique could have supplied results. Operands of `collect` are counted by themselves.
    #[pyo3(signature = (count=1))]
    fn opportunity(&self, count: u64) {
        self.add(Action::Opportunity(count));
    }

    /// Counts such cases that were lost, for a cause in `losses`.
    #[pyo3(signature = (cause, count=1))]
    fn lost(&self, cause: String, count: u64) {
        self.add(Action::Lost(cause, count));
    }
}

/// The kernel and the launch that a technique prepares for.
#[pyclass(frozen, get_all, module = "warplab")]
pub(crate) struct Kernel {
    /// Name of the kernel.
    name: String,
    /// Blocks of the grid in x, y and z.
    grid: (u32, u32, u32),
    /// Threads of a block in x, y and z.
    block: (u32, u32, u32),
    /// The instructions, as `emu disasm` has them.
    instructions: Vec<String>,
    /// Registers that each instruction reads.
    sources: Vec<Vec<u32>>,
    /// Registers that each instruction writes.
    destinations: Vec<Vec<u32>>,
    /// Registers per thread.
    registers_per_thread: u32,
    /// Warp slots of an SM.
    max_warps: u32,
    /// SMs of the GPU.
    sms: u32,
}

impl Kernel {
    /// A copy.
    pub(super) fn of(launch: &Launch<'_>, texts: &[Arc<str>]) -> Kernel {
        let program: &Program = launch.program;
        Kernel {
            name: program.name.clone(),
            grid: launch.grid.into(),
            block: launch.block.into(),
            instructions: texts.iter().map(ToString::to_string).collect(),
            sources: program.insts.iter().map(|inst| numbers(inst.sources())).collect(),
            destinations: program.insts.iter().map(|inst| numbers(inst.destinations())).collect(),
            registers_per_thread: program.registers_per_thread,
            max_warps: launch.config.sm.max_warps,
            sms: launch.config.gpu.sms,
        }
    }
}
