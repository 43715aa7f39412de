//! Puts the git revision into a program, from its build script: that of the checkout in which it is built, or what
//! `WARPLAB_REVISION` says.
//!
//! The variables `WARPLAB_VERSION` (`0.1.0 (revision 0123456789ab)`) and `WARPLAB_REVISION`, which is absent without a
//! revision, are then there for `env!` and `option_env!`.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Sets the variables for the package whose build script calls it; `version` is the package's.
pub fn emit(version: &str) {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=WARPLAB_REVISION");
    let given = std::env::var("WARPLAB_REVISION").ok().filter(|given| !given.is_empty());
    match given.or_else(of_checkout) {
        Some(revision) => {
            println!("cargo::rustc-env=WARPLAB_REVISION={revision}");
            println!("cargo::rustc-env=WARPLAB_VERSION={version} (revision {revision})");
        }
        None => println!("cargo::rustc-env=WARPLAB_VERSION={version}"),
    }
}

/// The revision of the checkout, which is looked at again whenever it moves.
fn of_checkout() -> Option<String> {
    // A branch moves with each commit; its file is missing where git keeps all branches in one.
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in [Some("HEAD"), branch.as_deref(), Some("packed-refs")].into_iter().flatten() {
        let file = git(&["rev-parse", "--git-path", name]);
        if let Some(file) = file.filter(|file| Path::new(file).exists()) {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    // A checkout of another project, in which this one is unpacked, says nothing.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    git(&["rev-parse", "--short=12", "HEAD"])
}
