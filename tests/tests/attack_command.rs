//! The command line of `attack`.

use assert_cmd::Command;

#[test]
fn the_folder_for_traces_is_made_and_what_was_never_drawn_is_listed() {
    let scratch = tempfile::tempdir().unwrap();
    let traces = scratch.path().join("not/there/yet");
    let run = Command::new(env!("CARGO_BIN_EXE_attack"))
        .args(["--seed", "5", "--count", "2", "--traces"])
        .arg(&traces)
        .assert();
    let output = run.success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(traces.is_dir(), "{text}");
    assert!(text.contains("2 kernels in") && text.contains("0 failures"), "{text}");
    assert!(text.contains("never drawn: ") && text.contains("forms that real programs use"), "{text}");
    // Random kernels use no textures; all of them load a parameter.
    assert!(text.lines().any(|line| line.trim_start().starts_with("tex: tex.")), "{text}");
    assert!(!text.contains("ld.param.u64 "), "{text}");
}

#[test]
fn a_folder_for_traces_that_cannot_be_made_is_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_attack"));
    let output = command.args(["--count", "1", "--traces"]).arg(file.join("folder")).assert().code(1);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(text.contains("cannot make the folder"), "{text}");
}
