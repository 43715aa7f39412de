//! Techniques that are Python classes: prototypes, for which a replay runs on one thread and calls Python for every
//! instruction.
//!
//! `package/warplab/technique.py` documents the class. [`declare`] reads its declarations, [`views`] has what its methods
//! get, [`hooks`] calls them as the timing model calls a technique in Rust. The model's rules hold as for any
//! technique: values are compared with the recorded ones, structures have ports, and accounts balance.

mod declare;
mod hooks;
mod views;

use crate::error::error;
use crate::object;
use crate::watch::Raised;
use declare::Declared;
use hooks::PythonTechnique;
use pyo3::prelude::*;
use pyo3::types::PyType;
use timing::techniques::Technique;
use warplab_technique::TechniqueInfo;

const _: () = {
    object::fits::<views::Context>();
    object::fits::<views::Warp>();
    object::fits::<views::Instruction>();
    object::fits::<views::Operand>();
    object::fits::<views::ResultView>();
    object::fits::<views::Kernel>();
};

/// Adds the classes that methods get.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<views::Context>()?;
    module.add_class::<views::Warp>()?;
    module.add_class::<views::Instruction>()?;
    module.add_class::<views::Operand>()?;
    module.add_class::<views::ResultView>()?;
    module.add_class::<views::Kernel>()?;
    Ok(())
}

/// The object of an argument that is a technique: an instance of a subclass of `warplab.Technique`, or the subclass, which
/// is then called without arguments. None if it is something else.
pub(crate) fn instance(tech: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    let base = tech.py().import("warplab.technique")?.getattr("Technique")?;
    if tech.is_instance(&base)? {
        return Ok(Some(tech.clone().unbind()));
    }
    match tech.cast::<PyType>() {
        Ok(class) if class.is_subclass(&base)? => Ok(Some(class.call0()?.unbind())),
        _ => Ok(None),
    }
}

/// The name of a technique.
pub(crate) fn name(object: &Bound<'_, PyAny>) -> PyResult<String> {
    declare::attribute(object, "name", "a text")
}

/// Adds techniques in Python after those of the catalogue.
///
/// # Errors
/// A declaration is wrong, a name is taken, or two techniques claim the same part of the machine.
pub(crate) fn add_to(
    techniques: &mut Vec<Box<dyn Technique>>,
    objects: &[Py<PyAny>],
    raised: &Raised,
    py: Python<'_>,
) -> PyResult<()> {
    for object in objects {
        let declared = Declared::read(object.bind(py))?;
        for other in techniques.iter().map(|technique| technique.info()) {
            check(other, declared.info)?;
        }
        techniques.push(Box::new(PythonTechnique::new(object.clone_ref(py), declared, raised.clone())));
    }
    Ok(())
}

fn check(earlier: &TechniqueInfo, later: &TechniqueInfo) -> PyResult<()> {
    if earlier.name == later.name {
        return Err(error(format!("there are two techniques called `{}`", later.name)));
    }
    match earlier.claims.iter().find(|claim| later.claims.contains(claim)) {
        Some(claim) => Err(error(format!(
            "techniques `{}` and `{}` contradict each other: both decide {claim}",
            earlier.name, later.name
        ))),
        None => Ok(()),
    }
}
