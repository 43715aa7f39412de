//! Functions of the system that device code may call although its module only declares them.

use trace_format::isa::SysCall;

/// A function of the system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// Its name.
    pub name: &'static str,
    /// What it is here.
    pub call: SysCall,
    /// Where each argument begins, in bytes from the first.
    pub arguments: &'static [u32],
    /// Bytes of the result.
    pub result: u32,
}

const fn service(name: &'static str, call: SysCall, arguments: &'static [u32], result: u32) -> Service {
    Service { name, call, arguments, result }
}

const SERVICES: [Service; 8] = [
    service("vprintf", SysCall::Vprintf, &[0, 8], 4),
    service("malloc", SysCall::Malloc, &[0], 8),
    service("free", SysCall::Free, &[0], 0),
    service("__assertfail", SysCall::AssertFail, &[0, 8, 16, 24, 32], 0),
    // What the device runtime calls (`crate::device_runtime`).
    service("__warplab_launch", SysCall::Launch, &[0], 4),
    service("__warplab_transfer", SysCall::Transfer, &[0], 4),
    service("__warplab_query", SysCall::Query, &[0], 8),
    service("__warplab_error", SysCall::Error, &[0], 4),
];

impl Service {
    /// The function of a name.
    pub(crate) fn named(name: &str) -> Option<&'static Service> {
        SERVICES.iter().find(|service| service.name == name)
    }

    /// Bytes of the arguments, of which each has eight at most.
    pub(crate) fn argument_bytes(&self) -> u32 {
        self.arguments.last().map_or(0, |last| last + 8)
    }
}
