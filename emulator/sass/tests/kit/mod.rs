//! The tools of a CUDA toolkit.

#![allow(dead_code, reason = "the example `agree` uses a part")]

use sass::Target;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A NOP, which takes the place of words that nvdisasm refuses.
const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

/// The CUDA toolkit that `CUDA_HOME` or `CUDA_PATH` name, the one that is installed, or the one of the script, if it has
/// these tools.
pub(crate) fn toolkit(tools: &[&str]) -> Option<PathBuf> {
    let told = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let cache = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/warplab/cuda"));
    let mut places = told.chain([PathBuf::from("/usr/local/cuda")]).chain(cache);
    places.find(|place| tools.iter().all(|tool| place.join("bin").join(tool).is_file()))
}

/// The text of each word at address 16 times its index, without doubled spaces; none for a word that nvdisasm refuses.
///
/// # Panics
/// If nvdisasm cannot be started.
pub(crate) fn nvdisasm(program: &Path, target: Target, words: &[u128]) -> Vec<Option<String>> {
    let mut left = words.to_vec();
    loop {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("words.bin");
        let bytes: Vec<u8> = left.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, bytes).expect("the words can be written");
        let out = Command::new(program)
            .args(["-b", &format!("SM{}", target.number()), "-hex"])
            .arg(&file)
            .output()
            .expect("nvdisasm starts");
        let messages = String::from_utf8_lossy(&out.stderr);
        let refused = messages.lines().filter_map(|line| {
            let at = line.split_once("address 0x")?.1.trim();
            usize::from_str_radix(at, 16).ok()
        });
        let refused: Vec<usize> = refused.collect();
        if refused.is_empty() {
            let texts = lines(&String::from_utf8_lossy(&out.stdout));
            let text = |at: usize| (left[at] == words[at]).then(|| texts.get(&(at * 16)).cloned()).flatten();
            return (0..words.len()).map(text).collect();
        }
        refused.into_iter().for_each(|at| left[at / 16] = NOP);
    }
}

/// Texts of a listing by address.
fn lines(listing: &str) -> BTreeMap<usize, String> {
    let line = |line: &str| {
        let (address, rest) = line.trim().strip_prefix("/*")?.split_once("*/")?;
        let (text, _) = rest.split_once(';')?;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",");
        Some((usize::from_str_radix(address, 16).ok()?, text))
    };
    listing.lines().filter_map(line).collect()
}
