//! What a launch of an empty kernel costs: through the runtime API, and in the executor alone. The difference is
//! what the API adds.

use cuda::internals::{Dim3, gpu, launch_handle};
use emulator::exec::{self, Launch, Options, Prepared, Unobserved};
use emulator::lower::LowerOptions;
use emulator::memory::GlobalMemory;
use emulator::record::Unrecorded;
use emulator::session::LoadedModule;
use trace_format::semantics::{Banks, Geometry};

const EMPTY: &str = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry empty()\n{\n\tret;\n}\n";

fn main() {
    divan::main();
}

#[divan::bench]
fn through_the_api(bencher: divan::Bencher<'_, '_>) {
    let kernel = {
        let mut gpu = gpu().expect("there is a GPU");
        let module = gpu.load(EMPTY.as_bytes(), "empty.ptx").expect("the PTX is good");
        gpu.kernel(module, "empty").expect("the kernel is there")
    };
    let one = |x| Dim3 { x, y: 1, z: 1 };
    bencher.bench_local(|| {
        // SAFETY: the kernel has no parameters.
        unsafe { launch_handle(kernel, one(1), one(32), std::ptr::null_mut(), 0, 0) }
    });
}

#[divan::bench]
fn in_the_executor(bencher: divan::Bencher<'_, '_>) {
    let module = LoadedModule::parse(EMPTY, "empty.ptx").expect("the PTX is good");
    let id = module.kernel("empty").expect("the kernel is there");
    let lowered = module.lower(id, &LowerOptions::default()).expect("the kernel can be lowered");
    let options = Options::default();
    let prepared = Prepared::new(&lowered.kernel, &options).expect("the kernel is well formed");
    let mut memory = GlobalMemory::new();
    let launch = Launch {
        kernel: &lowered.kernel,
        geometry: Geometry { grid: [1, 1, 1], block: [32, 1, 1] },
        dynamic_shared_bytes: 0,
        banks: Banks { param: vec![0; 0x180], ..Banks::default() },
        index: 0,
    };
    bencher.bench_local(|| {
        exec::launch_prepared(&mut memory, (&launch, &prepared), &options, &mut Unrecorded, &Unobserved)
    });
}
