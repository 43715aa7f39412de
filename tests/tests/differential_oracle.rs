//! The oracle itself compared with the CPU references of the bundled workloads: two independent ways to the same
//! bytes, neither of which uses the machine. And the machine with too few registers, where compiled code
//! spills.

use emulator::ptx;
use rayon::prelude::*;
use tests::oracle::Fault;
use tests::oracle::launch::{run_manifest, run_manifest_in_emulator};
use tests::{Buffers, Manifest, Workload, tabled_workloads};

type Run = dyn Fn(&ptx::Module, &Manifest, &Buffers) -> Result<Buffers, Fault> + Sync;

#[test]
fn the_oracle_agrees_with_the_references() {
    on_all(&|module, manifest, inputs| run_manifest(module, manifest, inputs, &manifest.scalars));
}

#[test]
fn spilled_code_agrees_with_the_references() {
    on_all(&|module, manifest, inputs| {
        run_manifest_in_emulator(module, manifest, inputs, &manifest.scalars, 24)
    });
}

/// Compares a way of running with the reference of every workload.
fn on_all(run: &Run) {
    let list: Vec<(Workload, Manifest)> = tabled_workloads()
        .into_iter()
        .flat_map(|workload| workload.load_manifests().unwrap().into_iter().map(move |m| (workload, m)))
        .collect();
    let failures: Vec<String> = list
        .par_iter()
        .filter_map(|(workload, manifest)| {
            let what = compare(run, workload, manifest).err()?;
            Some(format!("{}: {what}", manifest.path.display()))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn compare(run: &Run, workload: &Workload, manifest: &Manifest) -> Result<(), String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(workload.ptx());
    let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
    let module = ptx::parse(&text, workload.name).map_err(|_| "it does not parse".to_owned())?;
    let inputs = manifest.inputs(&manifest.scalars).map_err(|e| e.to_string())?;
    let outputs = run(&module, manifest, &inputs).map_err(|fault| fault.to_string())?;
    for (name, expected) in workload.expected(&inputs, &manifest.scalars) {
        expected.compare(&outputs[&name]).map_err(|mismatch| format!("{name}: {mismatch}"))?;
    }
    Ok(())
}
