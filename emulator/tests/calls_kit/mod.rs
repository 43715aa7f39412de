//! Tools of the tests of functions and system services: a PTX text with a manifest in a temporary folder, run
//! at several thread counts and recorded, with what its threads printed.

use emulator::exec::{Options, Unobserved};
use emulator::session::{Session, SessionError, Setup};

/// A program in a temporary folder.
pub(crate) struct TestProgram {
    folder: tempfile::TempDir,
    pub setup: Setup,
    pub options: Options,
}

impl TestProgram {
    /// A PTX text and its manifest, which names the text `k.ptx`.
    pub(crate) fn new(ptx: &str, manifest: &str) -> TestProgram {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("k.ptx"), ptx).unwrap();
        std::fs::write(folder.path().join("k.toml"), manifest).unwrap();
        TestProgram { folder, setup: Setup::default(), options: Options { threads: 1, ..Options::default() } }
    }

    pub(crate) fn open(&self) -> Result<Session, SessionError> {
        Session::open(&self.folder.path().join("k.ptx"), &self.setup)
    }

    /// Runs on one thread and on three, records on both and verifies the traces; the session after a run.
    pub(crate) fn run(&self) -> Session {
        let mut session = self.open().unwrap_or_else(|e| panic!("{e}"));
        session.run(&self.options, &Unobserved).unwrap_or_else(|e| panic!("{e}"));
        let buffers: Vec<Option<Vec<u8>>> = self.buffers(&session);
        let mut traces = Vec::new();
        for threads in [1, 3] {
            let options = Options { threads, ..self.options };
            let mut again = self.open().unwrap_or_else(|e| panic!("{e}"));
            let trace = self.folder.path().join("t.wtrace");
            again.record(&trace, &options, &Unobserved).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(self.buffers(&again), buffers, "{threads} threads");
            let report = trace_format::validate::validate(&trace, 1, &Default::default()).unwrap();
            assert!(report.is_sound(), "{:?}", report.problems);
            traces.push(std::fs::read(&trace).unwrap());
        }
        assert!(traces[0] == traces[1], "the trace depends on the number of threads");
        session
    }

    fn buffers(&self, session: &Session) -> Vec<Option<Vec<u8>>> {
        let names = session.manifest().buffers.iter().map(|b| b.name.clone()).collect::<Vec<_>>();
        names.iter().map(|n| session.buffer(n).map(<[u8]>::to_vec)).collect()
    }

    /// The text of the error with which the run ends.
    pub(crate) fn fails(&self) -> String {
        let mut session = self.open().unwrap_or_else(|e| panic!("{e}"));
        match session.run(&self.options, &Unobserved) {
            Ok(_) => panic!("it ran without a fault"),
            Err(error) => error.to_string(),
        }
    }
}

/// 32-bit words of a buffer.
pub(crate) fn words(session: &Session, name: &str) -> Vec<u32> {
    let bytes = session.buffer(name).unwrap();
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

/// A manifest that launches kernel `k` once with one buffer of words, `out`.
pub(crate) fn manifest(words: usize, grid: u32, block: u32) -> String {
    format!(
        "ptx = \"k.ptx\"\n[buffers.out]\ntype = \"u32\"\nlen = {words}\ninit = \"zeros\"\n[[launch]]\nkernel = \"k\"\n\
         grid = [{grid}, 1, 1]\nblock = [{block}, 1, 1]\nargs = [\"@out\"]\n"
    )
}

/// A module of functions and a kernel `k` with one pointer parameter; the kernel's body reads its thread's
/// number from `%t` and the address of its word from `%a`, and leaves its result in `%o`.
pub(crate) fn module(functions: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{functions}\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b64 %a; .reg .u32 %t; .reg .u32 %o; .reg .u32 %n<2>;\n\
         ld.param.u64 %a, [out];\ncvta.to.global.u64 %a, %a;\nmov.u32 %t, %tid.x;\n\
         mov.u32 %n0, %ctaid.x;\nmov.u32 %n1, %ntid.x;\nmad.lo.u32 %t, %n0, %n1, %t;\n\
         mad.wide.u32 %a, %t, 4, %a;\n{body}\nst.global.u32 [%a], %o;\nret;\n}}\n"
    )
}
