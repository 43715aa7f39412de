//! What the examples about machine code share: the functions of the cubins that the command line names.

use sass::cubin::{Cubin, Function};

/// Calls a function with every function of the cubins; a file that is none is named, and left out.
pub(crate) fn each_function(mut what: impl FnMut(&str, &Cubin<'_>, &Function<'_>)) {
    for path in std::env::args().skip(1) {
        let read = std::fs::read(&path).map_err(|error| error.to_string());
        let each = read.and_then(|bytes| {
            let cubin = Cubin::parse(&bytes).map_err(|error| error.to_string())?;
            cubin.functions.iter().for_each(|function| what(&path, &cubin, function));
            Ok(())
        });
        if let Err(error) = each {
            eprintln!("{path}: {error}");
        }
    }
}
