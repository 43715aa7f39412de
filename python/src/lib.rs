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
mod object;
mod replay;
mod studies;
mod study;
mod sweep;
mod table;
mod technique;
mod trace;
mod watch;

use pyo3::prelude::*;

const _: () = {
    object::fits::<table::Table>();
    object::fits::<trace::Trace>();
    object::fits::<launch::Launch>();
    object::fits::<launch::WarpValues>();
    object::fits::<launch::WarpAddresses>();
    object::fits::<replay::Replay>();
    object::fits::<study::Study>();
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
