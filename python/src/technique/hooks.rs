//! The technique that calls the methods of a Python object. Each SM has a copy of the object (`copy.deepcopy`).
//!
//! An exception of a method ends the replay: the model has no place for it, so that the call unwinds to the watch, which
//! raises it ([`Raised::stop`]).

use super::declare::Declared;
use super::views::{Action, Context, Fate, Instruction, Kernel, Operand, ResultView, Warp};
use crate::error::error;
use crate::watch::Raised;
use pyo3::IntoPyObjectExt;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use std::sync::Arc;
use warplab_technique::declare::Cause;
use warplab_technique::{
    Answered, CauseInfo, Choice, Cx, FetchVerdict, Fork, InstView, IssueVerdict, Issuing, Launch,
    OperandRead, Plan, ReadFrom, RegisterWrite, Storage, Technique, TechniqueInfo, ValueMismatch, WarpView,
    WriteTo,
};

/// A technique in Python, in one SM.
pub(super) struct PythonTechnique {
    object: Py<PyAny>,
    declared: Declared,
    raised: Raised,
    storage: Vec<Storage>,
    counts: Vec<u64>,
    /// The kernel's instructions as text.
    texts: Arc<[Arc<str>]>,
}

/// A cause by its position in the declarations.
#[derive(Clone, Copy)]
struct Position(u8);

impl Cause for Position {
    const DECLARED: &'static [CauseInfo] = &[];

    fn index(self) -> u8 {
        self.0
    }
}

impl PythonTechnique {
    pub(super) fn new(object: Py<PyAny>, declared: Declared, raised: Raised) -> PythonTechnique {
        let storage = declared.shapes.iter().map(|shape| Storage::new(*shape)).collect();
        let counts = vec![0; declared.info.counters.len()];
        PythonTechnique { object, declared, raised, storage, counts, texts: Arc::new([]) }
    }

    /// Does something with the interpreter; an exception ends the replay.
    fn with<T>(&self, work: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        Python::attach(work).unwrap_or_else(|why| self.raised.stop(why))
    }

    /// Calls a method of the object.
    fn call<'py, A: PyCallArgs<'py>>(
        &self,
        py: Python<'py>,
        method: &str,
        arguments: A,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.object.bind(py).call_method1(method, arguments)
    }

    fn wrong(&self, method: &str, what: impl std::fmt::Display) -> PyErr {
        error(format!("technique {}: {method}: {what}", self.declared.info.name))
    }

    /// Position of a name among declared ones.
    fn position<'n>(
        &self,
        method: &str,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'n str>,
    ) -> PyResult<usize> {
        let known: Vec<&str> = known.collect();
        let found = known.iter().position(|known| *known == name);
        found.ok_or_else(|| self.wrong(method, warplab_host::names::unknown(what, name, &known)))
    }

    fn loss(&self, method: &str, cause: &str) -> PyResult<Position> {
        let known = self.declared.info.losses.iter().map(|loss| loss.name);
        Ok(Position(self.position(method, "cause in `losses`", cause, known)? as u8))
    }

    fn stall(&self, method: &str, cause: &str) -> PyResult<u8> {
        let known = self.declared.info.stalls.iter().map(|stall| stall.name);
        Ok(self.position(method, "cause in `stalls`", cause, known)? as u8)
    }

    /// Position of a structure, which has such a bank.
    fn structure(&self, method: &str, name: Option<&str>, bank: usize) -> PyResult<usize> {
        let known = self.declared.info.storage.iter().map(|storage| storage.name);
        let position = match (name, self.storage.len()) {
            (Some(name), _) => self.position(method, "structure in `storage`", name, known)?,
            (None, 1) => 0,
            (None, 0) => {
                return Err(self.wrong(method, "values come from structures, and `storage` declares none"));
            }
            (None, _) => return Err(self.wrong(method, "`storage` declares several structures; name one")),
        };
        let banks = self.storage[position].shape().banks as usize;
        match bank < banks {
            true => Ok(position),
            false => Err(self.wrong(method, format!("there is no bank {bank}; the structure has {banks}"))),
        }
    }

    /// Carries out what a method did besides answering.
    fn act(&mut self, method: &str, cx: &mut Cx<'_>, actions: Vec<Action>) -> PyResult<()> {
        for action in actions {
            match action {
                Action::Count(name, count) => {
                    let known = self.declared.info.counters.iter().map(|counter| counter.name);
                    let position = self.position(method, "counter", &name, known)?;
                    self.counts[position] += count;
                }
                Action::Write(name, bank) => {
                    let position = self.structure(method, name.as_deref(), bank)?;
                    self.storage[position].write(cx.cycle, bank);
                }
                Action::Use(name, bank, entries) => {
                    let position = self.structure(method, name.as_deref(), bank)?;
                    self.storage[position].set_used(cx.cycle, bank, entries);
                }
                Action::Opportunity(count) => cx.opportunity(count),
                Action::Lost(cause, count) => cx.lost(self.loss(method, &cause)?, count),
            }
        }
        Ok(())
    }

    /// Tells the object of an event.
    fn tell(
        &mut self,
        method: &'static str,
        cx: &mut Cx<'_>,
        arguments: impl FnOnce(Python<'_>) -> PyResult<Vec<Py<PyAny>>>,
    ) {
        if !self.declared.has(method) {
            return;
        }
        let actions = self.with(|py| {
            let context = Bound::new(py, Context::at(cx.cycle))?;
            let mut all = vec![context.clone().into_any().unbind()];
            all.extend(arguments(py)?);
            self.call(py, method, pyo3::types::PyTuple::new(py, all)?)?;
            Ok(context.get().take())
        });
        let done = self.act(method, cx, actions);
        done.unwrap_or_else(|why| self.raised.stop(why));
    }

    /// Supplies the operands of which the object has said so, and accounts for all.
    fn decide(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operand: &mut OperandRead,
        fate: Fate,
    ) -> PyResult<Result<(), Box<ValueMismatch>>> {
        cx.opportunity(1);
        match fate {
            Fate::Open => Err(self.wrong(
                "collect",
                format!(
                    "it says nothing about R{}: every operand is supplied or lost for a cause",
                    operand.reg
                ),
            )),
            Fate::Lost(cause) => {
                cx.lost(self.loss("collect", &cause)?, 1);
                Ok(Ok(()))
            }
            Fate::Supplied { row, storage, bank } => {
                let bank = bank.unwrap_or(warp.slot);
                let position = self.structure("collect", storage.as_deref(), bank)?;
                Ok(cx.supply(warp, inst, operand.reg, &row).map(|supplied| {
                    operand.from = ReadFrom::Storage(self.storage[position].read(cx.cycle, bank), supplied);
                }))
            }
        }
    }
}

impl Fork for PythonTechnique {
    fn fork(&self) -> Box<dyn Technique> {
        let object =
            self.with(|py| Ok(py.import("copy")?.call_method1("deepcopy", (&self.object,))?.unbind()));
        Box::new(PythonTechnique {
            object,
            declared: self.declared.clone(),
            raised: self.raised.clone(),
            storage: self.storage.clone(),
            counts: self.counts.clone(),
            texts: self.texts.clone(),
        })
    }
}

/// A Python object of a value.
fn object<'py>(py: Python<'py>, value: impl IntoPyObjectExt<'py>) -> PyResult<Py<PyAny>> {
    value.into_py_any(py)
}

impl Technique for PythonTechnique {
    fn info(&self) -> &'static TechniqueInfo {
        self.declared.info
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.clone()
    }

    fn storage(&self) -> Vec<&Storage> {
        self.storage.iter().collect()
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        self.texts = launch.program.kernel.insts.iter().map(|inst| inst.to_string().into()).collect();
        let warps = launch.config.sm.max_warps;
        let shape = |shape: &warplab_technique::Shape| {
            if shape.banks == 0 { shape.with_banks(warps) } else { *shape }
        };
        self.storage = self.declared.shapes.iter().map(|one| Storage::new(shape(one))).collect();
        plan.hooks = self.declared.hooks;
        self.with(|py| {
            let kernel = Kernel::of(launch, &self.texts);
            let answer = self.call(py, "prepare", (kernel,))?;
            if answer.is_none() {
                return Ok(());
            }
            for item in answer.call_method0("items")?.try_iter()? {
                let (key, value): (String, u32) = item?.extract()?;
                match key.as_str() {
                    "registers_per_thread" => plan.registers_per_thread = value,
                    "reserved_registers" => plan.reserved_registers = value,
                    "register_blocks" => plan.register_blocks = Some(value),
                    "extra_collect_cycles" => plan.extra_collect_cycles += value,
                    _ => {
                        let known = [
                            "registers_per_thread",
                            "reserved_registers",
                            "register_blocks",
                            "extra_collect_cycles",
                        ];
                        return Err(
                            self.wrong("prepare", warplab_host::names::unknown("demand", &key, &known))
                        );
                    }
                }
            }
            Ok(())
        });
        Ok(())
    }

    fn admits_block(&self, now: u64, block: u32) -> bool {
        !self.declared.has("admits_block")
            || self.with(|py| self.call(py, "admits_block", (now, block))?.is_truthy())
    }

    fn admits_warp(&self, now: u64, warp: &WarpView<'_>) -> bool {
        !self.declared.has("admits_warp")
            || self.with(|py| self.call(py, "admits_warp", (now, Warp::of(warp)))?.is_truthy())
    }

    fn start_block(&mut self, cx: &mut Cx<'_>, block_slot: usize, block: u32) {
        self.tell("start_block", cx, |py| Ok(vec![object(py, block_slot)?, object(py, block)?]));
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.tell("start_warp", cx, |py| Ok(vec![object(py, Warp::of(warp))?]));
    }

    fn fetch(&self, now: u64, warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
        if !self.declared.has("fetch") {
            return FetchVerdict::Fetch;
        }
        self.with(|py| {
            let answer = self.call(py, "fetch", (now, Warp::of(warp), pc))?;
            if answer.is_none() {
                return Ok(FetchVerdict::Fetch);
            }
            if let Ok(skip) = answer.cast::<PyBool>() {
                return Ok(if skip.is_true() { FetchVerdict::Skip } else { FetchVerdict::Fetch });
            }
            let cause: String = answer.extract()?;
            Ok(FetchVerdict::Stall(self.stall("fetch", &cause)?))
        })
    }

    fn fetched(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, pc: u32, skipped: bool) {
        self.tell("fetched", cx, |py| {
            Ok(vec![object(py, Warp::of(warp))?, object(py, pc)?, object(py, skipped)?])
        });
    }

    fn order(&self, now: u64, scheduler: usize, choice: Choice) -> u8 {
        if !self.declared.has("order") {
            return choice.chosen;
        }
        self.with(|py| {
            let answer: u8 =
                self.call(py, "order", (now, scheduler, choice.ready, choice.chosen))?.extract()?;
            match answer < 64 && choice.ready >> answer & 1 == 1 {
                true => Ok(answer),
                false => Err(self.wrong("order", format!("the warp in slot {answer} is not ready"))),
            }
        })
    }

    fn issue(&self, now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        let Issuing::Program(inst) = what else { return IssueVerdict::Issue };
        if !self.declared.has("issue") {
            return IssueVerdict::Issue;
        }
        self.with(|py| {
            let inst = Instruction::of(inst, &self.texts, Some(warp));
            let answer = self.call(py, "issue", (now, Warp::of(warp), inst))?;
            if answer.is_none() {
                return Ok(IssueVerdict::Issue);
            }
            if answer.is_instance_of::<PyString>() {
                let cause: String = answer.extract()?;
                return Ok(IssueVerdict::Stall(self.stall("issue", &cause)?));
            }
            match answer.extract()? {
                0 => Err(self.wrong("issue", "results take at least one cycle")),
                after_cycles => Ok(IssueVerdict::Reuse { after_cycles }),
            }
        })
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, verdict: IssueVerdict) {
        let Issuing::Program(inst) = what else { return };
        let texts = self.texts.clone();
        let reused = matches!(verdict, IssueVerdict::Reuse { .. } | IssueVerdict::Aside { .. });
        self.tell("issued", cx, |py| {
            let inst = Instruction::of(inst, &texts, None);
            Ok(vec![object(py, Warp::of(warp))?, object(py, inst)?, object(py, reused)?])
        });
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        if !self.declared.has("collect") {
            return Ok(());
        }
        let asked: Vec<usize> = (0..operands.len()).filter(|&i| operands[i].is_from_bank()).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let (fates, actions) = self.with(|py| {
            let context = Bound::new(py, Context::at(cx.cycle))?;
            let views = asked.iter().map(|&i| Bound::new(py, Operand::new(operands[i].reg)));
            let views = views.collect::<PyResult<Vec<_>>>()?;
            let inst = Instruction::of(inst, &self.texts, Some(warp));
            self.call(py, "collect", (&context, Warp::of(warp), inst, views.clone()))?;
            let fates: Vec<Fate> = views.iter().map(|view| view.get().fate()).collect();
            Ok((fates, context.get().take()))
        });
        for (&position, fate) in asked.iter().zip(fates) {
            let decided = self.decide(cx, warp, inst, &mut operands[position], fate);
            decided.unwrap_or_else(|why| self.raised.stop(why))?;
        }
        self.act("collect", cx, actions).unwrap_or_else(|why| self.raised.stop(why));
        Ok(())
    }

    fn initiation(&self, now: u64, warp: &WarpView<'_>, inst: &InstView<'_>, cycles: u32) -> u32 {
        if !self.declared.has("initiation") {
            return cycles;
        }
        let inst = Instruction::of(inst, &self.texts, None);
        self.with(|py| self.call(py, "initiation", (now, Warp::of(warp), inst, cycles))?.extract())
    }

    fn lanes(&self, now: u64, warp: &WarpView<'_>, inst: &InstView<'_>, lanes: u32) -> u32 {
        if !self.declared.has("lanes") {
            return lanes;
        }
        let inst = Instruction::of(inst, &self.texts, None);
        self.with(|py| self.call(py, "lanes", (now, Warp::of(warp), inst, lanes))?.extract())
    }

    fn reuse(&self, now: u64, warp: &WarpView<'_>, inst: &InstView<'_>) -> Option<u32> {
        if !self.declared.has("reuse") {
            return None;
        }
        let inst = Instruction::of(inst, &self.texts, Some(warp));
        self.with(|py| match self.call(py, "reuse", (now, Warp::of(warp), inst))?.extract()? {
            Some(0) => Err(self.wrong("reuse", "results take at least one cycle")),
            cycles => Ok(cycles),
        })
    }

    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let how = match how {
            Answered::Skipped => "skipped",
            Answered::Reused => "reused",
            _ => "memory",
        };
        let (supplied, actions) = self.with(|py| {
            let context = Bound::new(py, Context::at(cx.cycle))?;
            let views = results.iter().map(|result| Bound::new(py, ResultView::new(result.reg, None)));
            let views = views.collect::<PyResult<Vec<_>>>()?;
            let inst = Instruction::of(inst, &self.texts, None);
            self.call(py, "answered", (&context, Warp::of(warp), inst, how, views.clone()))?;
            let supplied: Vec<_> = views.iter().map(|view| view.get().supplied()).collect();
            Ok((supplied, context.get().take()))
        });
        for (result, row) in results.iter().zip(supplied) {
            if let Some(row) = row {
                cx.supply_result(warp, inst, result, &row)?;
            }
        }
        self.act("answered", cx, actions).unwrap_or_else(|why| self.raised.stop(why));
        Ok(())
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        if !self.declared.has("write_back") {
            return Ok(());
        }
        let (nowhere, actions) = self.with(|py| {
            let context = Bound::new(py, Context::at(cx.cycle))?;
            let views =
                writes.iter().map(|write| Bound::new(py, ResultView::new(write.reg, Some(*write.row()))));
            let views = views.collect::<PyResult<Vec<_>>>()?;
            let inst = Instruction::of(inst, &self.texts, None);
            self.call(py, "write_back", (&context, Warp::of(warp), inst, views.clone()))?;
            let nowhere: Vec<bool> = views.iter().map(|view| view.get().is_nowhere()).collect();
            Ok((nowhere, context.get().take()))
        });
        for (write, nowhere) in writes.iter_mut().zip(nowhere) {
            if nowhere {
                write.to = WriteTo::Nowhere;
            }
        }
        self.act("write_back", cx, actions).unwrap_or_else(|why| self.raised.stop(why));
        Ok(())
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        self.tell("tick", cx, |_| Ok(Vec::new()));
    }

    fn next_event(&self, now: u64) -> Option<u64> {
        if !self.declared.has("next_event") {
            return self.declared.has("tick").then_some(now);
        }
        self.with(|py| self.call(py, "next_event", (now,))?.extract())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.tell("end_warp", cx, |py| Ok(vec![object(py, warp_slot)?]));
    }

    fn end_block(&mut self, cx: &mut Cx<'_>, block_slot: usize) {
        self.tell("end_block", cx, |py| Ok(vec![object(py, block_slot)?]));
    }
}
