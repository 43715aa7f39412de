//! Tests that every bundled workload is consistent with itself: its manifests launch kernels that its PTX has,
//! with the parameters that they take, and carry the checksums that the references compute.

use crate::element::ElementType;
use crate::expression::evaluate;
use crate::manifest::Argument;
use crate::{Manifest, Workload, workloads};
use std::path::Path;
use timing::reproduce::PAPERS;

/// All workloads with all their manifests.
fn manifests() -> Vec<(Workload, Manifest)> {
    let with_manifests = |workload: Workload| {
        let manifests = workload.load_manifests().unwrap_or_else(|error| panic!("{error}"));
        manifests.into_iter().map(move |manifest| (workload, manifest))
    };
    workloads().into_iter().flat_map(with_manifests).collect()
}

#[test]
fn every_folder_is_a_workload_with_all_its_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(root.join("workloads")).unwrap().map(|entry| entry.unwrap().path());
    let suites = entries.filter(|path| path.is_dir());
    let mut folders: Vec<_> = suites
        .flat_map(|suite| std::fs::read_dir(suite).unwrap().map(|entry| entry.unwrap().path()))
        .map(|path| path.strip_prefix(root).unwrap().to_owned())
        .collect();
    folders.sort();
    let mut listed: Vec<_> = workloads().iter().map(Workload::folder).collect();
    listed.sort();
    assert_eq!(folders, listed);
    let mut names: Vec<_> = workloads().iter().map(|workload| workload.name).collect();
    names.dedup();
    assert_eq!(names.len(), listed.len(), "a name is found without its suite, so it occurs once");

    for workload in workloads() {
        let mut manifests: Vec<_> = std::fs::read_dir(root.join(workload.folder()))
            .unwrap()
            .map(|entry| workload.folder().join(entry.unwrap().file_name()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .collect();
        manifests.sort();
        assert_eq!(manifests, workload.manifests());
        assert!(root.join(workload.source()).is_file() && root.join(workload.ptx()).is_file());
    }
}

#[test]
fn manifests_carry_the_checksums_of_the_references() {
    for (workload, manifest) in manifests() {
        let inputs = manifest.inputs(&manifest.scalars).unwrap_or_else(|error| panic!("{error}"));
        let outputs = workload.expected(&inputs, &manifest.scalars);
        let place = manifest.path.display();
        for buffer in &manifest.buffers {
            let expected = outputs.get(&buffer.name);
            let checksum = expected.and_then(crate::Expected::checksum);
            assert_eq!(
                buffer.checksum, checksum,
                "{place}: buffer {} (bin `checksums` writes them)",
                buffer.name
            );
            if let Some(expected) = expected {
                assert_eq!(expected.element, buffer.element, "{place}: type of {}", buffer.name);
                assert_eq!(
                    expected.bytes.len(),
                    inputs[&buffer.name].len(),
                    "{place}: size of {}",
                    buffer.name
                );
            }
        }
        for name in outputs.keys() {
            assert!(inputs.contains_key(name), "{place}: no buffer {name}");
        }
    }
}

#[test]
fn every_output_differs_from_its_input() {
    // A workload whose kernels did nothing must not pass; buffers that end as they began are named here.
    let unchanged = [("bfs", "frontier"), ("bfs", "next")];
    for (workload, manifest) in manifests() {
        let inputs = manifest.inputs(&manifest.scalars).unwrap();
        for (name, expected) in workload.expected(&inputs, &manifest.scalars) {
            let same = expected.bytes == inputs[&name];
            assert_eq!(
                same,
                unchanged.contains(&(workload.name, name.as_str())),
                "{}: {name}",
                workload.name
            );
        }
    }
}

/// Parameter types of the entry `kernel`, as the PTX declares them.
fn parameters(ptx: &str, kernel: &str) -> Option<Vec<String>> {
    let start = ptx.find(&format!(".visible .entry {kernel}("))?;
    let list = &ptx[start..start + ptx[start..].find(')')?];
    Some(list.split(".param .").skip(1).map(|rest| rest[..rest.find(' ').unwrap()].to_owned()).collect())
}

#[test]
fn launches_fit_the_kernels_that_they_name() {
    for (_, manifest) in manifests() {
        let ptx = std::fs::read_to_string(&manifest.ptx).unwrap();
        for size in ["test", "paper"] {
            check_launches(&manifest, &ptx, size);
        }
    }
}

fn check_launches(manifest: &Manifest, ptx: &str, size: &str) {
    let place = manifest.path.display();
    let scalars = manifest.scalars_at(size).unwrap_or_else(|| panic!("{place}: there is no size {size}"));
    let launches = manifest.launches(&scalars).unwrap_or_else(|what| panic!("{place}: {what}"));
    assert!(!launches.is_empty(), "{place}");
    for (number, placed) in launches.iter().enumerate() {
        let (launch, scalars) = (placed.launch, &placed.scalars);
        let place = format!("{place}, size {size}, launch {number}");
        let parameters = parameters(ptx, &launch.kernel).unwrap_or_else(|| panic!("{place}: no such kernel"));
        assert_eq!(parameters.len(), launch.args.len(), "{place}: arguments");
        for (parameter, argument) in parameters.iter().zip(&launch.args) {
            check_argument(manifest, scalars, parameter, argument, &place);
        }
        let size = |text: &String| evaluate(text, scalars).unwrap();
        let threads: i64 = launch.block.iter().map(size).product();
        assert!((1..=1024).contains(&threads), "{place}: {threads} threads");
        assert!(launch.grid.iter().map(size).all(|blocks| blocks > 0), "{place}: empty grid");
        assert!((0..=48 * 1024).contains(&size(&launch.shared)), "{place}: shared memory");
    }
}

fn check_argument(
    manifest: &Manifest,
    scalars: &crate::Scalars,
    parameter: &str,
    argument: &Argument,
    place: &str,
) {
    match argument {
        Argument::Texture(_) => assert_eq!(parameter, "u64", "{place}: {argument:?}"),
        Argument::Pointer { buffer, element } => {
            assert_eq!(parameter, "u64", "{place}: {argument:?}");
            let buffer = manifest.buffers.iter().find(|b| b.name == *buffer);
            let buffer = buffer.unwrap_or_else(|| panic!("{place}: no buffer for {argument:?}"));
            let len = evaluate(&buffer.len, scalars).unwrap();
            assert!((0..len).contains(&evaluate(element, scalars).unwrap()), "{place}: {argument:?}");
        }
        Argument::Scalar { element, value } => {
            let declared = match element {
                ElementType::F32 => "f32",
                ElementType::F64 => "f64",
                // nvcc declares integer parameters as unsigned, whatever they are.
                other => ["u8", "u16", "u32", "u64"][other.bytes().trailing_zeros() as usize],
            };
            assert_eq!(parameter, declared, "{place}: {argument:?}");
            if !declared.starts_with('f') {
                evaluate(value, scalars).unwrap_or_else(|what| panic!("{place}: {what}"));
            }
        }
    }
}

#[test]
fn manifests_say_where_a_workload_comes_from() {
    for (workload, manifest) in manifests() {
        let (place, about) = (manifest.path.display(), &manifest.about);
        assert_eq!(about.suite, workload.suite, "{place}: its suite is its folder's");
        for (paper, name) in &about.papers {
            let known = PAPERS.iter().any(|(known, _)| known == paper);
            assert!(known && !name.is_empty(), "{place}: {paper} = {name}");
        }
    }
}
