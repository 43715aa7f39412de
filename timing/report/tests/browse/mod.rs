//! Chromium, for tests that look at a page as its readers do.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use test_kit::{Tool, skipped};

/// Names under which Chromium is installed.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The title of a page after its scripts have run in a window of a given width; none, with a message, without
/// Chromium. `profile` is a folder for its files.
pub(crate) fn title(page: &Path, profile: &Path, width: u32) -> Option<String> {
    for name in NAMES {
        let output = Command::new(name)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={}", profile.join("profile").display()))
            .arg(format!("--window-size={width},1000"))
            .args(["--virtual-time-budget=3000", "--dump-dom"])
            .arg(format!("file://{}", page.display()))
            .output();
        let output = match output {
            Err(why) if why.kind() == ErrorKind::NotFound => continue,
            output => output.expect("Chromium starts"),
        };
        let dom = String::from_utf8_lossy(&output.stdout);
        let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
        return Some(title.unwrap_or("no title").to_owned());
    }
    skipped(Tool::Chromium, "browser check skipped: no Chromium found (Debian: apt install chromium)");
    None
}
