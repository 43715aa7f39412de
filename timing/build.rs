//! Puts the git revision into the program: that of the checkout in which it is built, or what `WARPLAB_REVISION` says where
//! there is none.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn main() {
    println!("cargo::rerun-if-env-changed=WARPLAB_REVISION");
    // A branch moves with each commit; its file is missing where git keeps all branches in one.
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in [Some("HEAD"), branch.as_deref(), Some("packed-refs")].into_iter().flatten() {
        let file = git(&["rev-parse", "--git-path", name]);
        if let Some(file) = file.filter(|file| Path::new(file).exists()) {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    let given = std::env::var("WARPLAB_REVISION").ok().filter(|given| !given.is_empty());
    // A checkout of another project, in which this one is unpacked, says nothing.
    let own = || {
        git(&["ls-files", "--error-unmatch", "build.rs"])
            .and_then(|_| git(&["rev-parse", "--short=12", "HEAD"]))
    };
    let version = env!("CARGO_PKG_VERSION");
    match given.or_else(own) {
        Some(revision) => {
            println!("cargo::rustc-env=WARPLAB_REVISION={revision}");
            println!("cargo::rustc-env=WARPLAB_VERSION={version} (revision {revision})");
        }
        None => println!("cargo::rustc-env=WARPLAB_VERSION={version}"),
    }
}
