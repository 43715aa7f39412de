//! The command that records a trace, as the trace keeps it: without folders and without what changes no value.

use warplab_host::shell::{quoted, without, without_folder};

/// Options with a value that change nothing of a recording.
const VALUED: [&str; 7] =
    ["-o", "--output", "--threads", "--dump", "--summary", "--max-instructions", "--max-print-bytes"];
/// Those without a value.
const FLAGS: [&str; 1] = ["--json"];

/// The text of a command: its first word is the program.
pub(super) fn of(command: &[String]) -> String {
    let words = without(command.iter().map(String::as_str), &VALUED, &FLAGS);
    words.into_iter().map(|word| quoted(without_folder(word))).collect::<Vec<_>>().join(" ")
}

/// That of this process.
pub(super) fn of_this_process() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    of(&std::iter::once("emu".to_owned()).chain(words).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    #[test]
    fn folders_outputs_and_threads_are_left_out() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let of = |words: &[&str]| super::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            of(&["emu", "record", here, "-o", "/tmp/x", "--set", "n=4", "--threads=2"]),
            "emu record Cargo.toml --set n=4"
        );
        assert_eq!(
            of(&["emu", "record", "-o", "x", "--", here, "a b", "-o", "y"]),
            "emu record -- Cargo.toml 'a b' -o y"
        );
    }
}
