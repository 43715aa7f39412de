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

/// The most bytes that arguments take.
pub(crate) const ARGUMENT_BYTES: u32 = {
    let (mut most, mut at) = (0, 0);
    while at < SERVICES.len() {
        let bytes = SERVICES[at].argument_bytes();
        most = if bytes > most { bytes } else { most };
        at += 1;
    }
    most
};

impl Service {
    /// The function of a name.
    pub(crate) fn named(name: &str) -> Option<&'static Service> {
        SERVICES.iter().find(|service| service.name == name)
    }

    /// Bytes of the arguments, of which each has eight at most.
    pub(crate) const fn argument_bytes(&self) -> u32 {
        match self.arguments {
            [.., last] => *last + 8,
            [] => 0,
        }
    }
}
