//! Writes the checksums that the references compute into the launch manifests of the bundled workloads, each as
//! the last line of its buffer's section, and names the manifests that changed. To be run after a reference,
//! a seed or a default size has changed; a test refuses manifests that are out of date.

use std::process::ExitCode;
use tests::{Manifest, Outputs, workloads};

fn main() -> ExitCode {
    match update() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("checksums: {error}");
            ExitCode::FAILURE
        }
    }
}

fn update() -> Result<(), Box<dyn std::error::Error>> {
    for workload in workloads() {
        for manifest in workload.load_manifests()? {
            let outputs = workload.expected(&manifest.inputs(&manifest.scalars)?, &manifest.scalars);
            let old = std::fs::read_to_string(&manifest.path)?;
            let new = with_checksums(&old, &outputs);
            if new != old {
                let fresh = manifest.path.with_extension("toml.new");
                std::fs::write(&fresh, new)?;
                std::fs::rename(&fresh, &manifest.path)?;
                Manifest::load(&manifest.path)?;
                println!("{}", manifest.path.display());
            }
        }
    }
    Ok(())
}

/// The manifest `text` with the checksums of `outputs` in place of those that it has.
fn with_checksums(text: &str, outputs: &Outputs) -> String {
    let mut lines = Vec::<String>::new();
    let mut pending = None;
    for line in text.lines().filter(|line| !line.starts_with("expect = { checksum")) {
        // A section ends at the blank line after it; the last one may end with the file.
        if line.is_empty() {
            lines.extend(pending.take());
        }
        if let Some(name) = line.strip_prefix("[buffers.").and_then(|rest| rest.strip_suffix(']')) {
            let checksum = outputs.get(name).and_then(tests::Expected::checksum);
            pending = checksum.map(|checksum| format!("expect = {{ checksum = \"{checksum}\" }}"));
        }
        lines.push(line.to_owned());
    }
    lines.extend(pending);
    lines.join("\n") + "\n"
}
