//! The experiments of papers and the bundled workloads agree: every program has its workload, and every workload that a
//! paper knows is a program of that paper's experiments under the same name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use timing::reproduce::{Experiment, PAPERS, Workloads};

#[test]
fn programs_of_papers_are_the_workloads_that_name_the_paper() -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
    let found = Workloads::in_folder(&folder)?;
    let mut of_experiments = BTreeMap::new();
    let mut shared = BTreeSet::new();
    for (paper, text) in PAPERS {
        let experiment = Experiment::parse(text, paper, &timing::techniques::built_in())?;
        for program in &experiment.programs {
            found.find(&program.workload).map_err(|why| format!("{paper}, {}: {why}", program.name))?;
            of_experiments.insert(((*paper).to_owned(), program.name.clone()), program.workload.clone());
            shared.insert(program.workload.clone());
        }
    }
    assert!(shared.len() > 50, "{} workloads stand for programs", shared.len());
    // By paper and name there; several manifests of a workload may stand for one program.
    let mut of_manifests: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for workload in tests::workloads() {
        for manifest in workload.load_manifests().map_err(|why| why.to_string())? {
            let name = manifest.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            for (paper, program) in &manifest.about.papers {
                of_manifests.entry((paper.clone(), program.clone())).or_default().insert(name.clone());
            }
        }
    }
    for ((paper, program), workload) in &of_experiments {
        // CORF's text names six of its twenty programs; the others of its list are ours to choose.
        let named = paper != "corf"
            || ["Gaussian", "SAD", "bfs", "blackscholes", "btree", "sgemm"].contains(&program.as_str());
        let known =
            of_manifests.get(&(paper.clone(), program.clone())).is_some_and(|all| all.contains(workload));
        assert!(known || !named, "the manifest of {workload} does not say that it is {program} of {paper}");
    }
    for ((paper, program), workloads) in &of_manifests {
        let known = of_experiments.contains_key(&(paper.clone(), program.clone()));
        assert!(known, "{workloads:?} say that they are {program} of {paper}, which its experiments lack");
    }
    Ok(())
}
