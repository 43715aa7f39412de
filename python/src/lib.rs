//! The compiled half of the Python package `warplab`: traces, replays, studies, sweeps, and techniques that are Python
//! classes. The other half, `package/warplab`, has what needs no trace: recording, which starts `emu`, progress bars, and
//! the entry points of the commands.
//!
//! Long work runs on a thread of its own while Python's thread waits ([`watch`]), so that it can be interrupted and shows
//! its progress. Results are Arrow tables ([`table`]), which other packages read in place.

mod arguments;
mod convert;
mod error;
mod html;
mod launch;
mod metrics;
mod replay;
mod studies;
mod study;
mod sweep;
mod table;
mod technique;
mod trace;
mod watch;

use pyo3::prelude::*;

/// Alignment of the memory that Python has for objects.
const OBJECT_ALIGNMENT: usize = 16;

/// Fails to compile for a class whose fields need more: they would lie misaligned.
pub(crate) const fn fits_an_object<T>() {
    assert!(align_of::<T>() <= OBJECT_ALIGNMENT);
}

const _: () = {
    fits_an_object::<table::Table>();
    fits_an_object::<trace::Trace>();
    fits_an_object::<launch::Launch>();
    fits_an_object::<launch::WarpValues>();
    fits_an_object::<launch::WarpAddresses>();
    fits_an_object::<replay::Replay>();
    fits_an_object::<study::Study>();
};

/// The functions and classes of `warplab._core`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<table::Table>()?;
    module.add_class::<trace::Trace>()?;
    module.add_class::<launch::Launch>()?;
    module.add_class::<launch::WarpValues>()?;
    module.add_class::<launch::WarpAddresses>()?;
    module.add_class::<replay::Replay>()?;
    module.add_class::<study::Study>()?;
    technique::add(module)?;
    module.add_function(wrap_pyfunction!(studies::study, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::techniques, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::machines, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::studies, module)?)?;
    Ok(())
}
