//! Limits that the shell sets: a process that may have too few addresses is told so before an allocation fails.

use super::CliError;

/// Addresses that threads, traces and kernels' memory need at least.
const LEAST_BYTES: u64 = 64 << 20;

/// Bytes of address space that the process may still take; `None` without a limit.
fn room() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    let used = std::fs::read_to_string("/proc/self/status").ok()?;
    let used = used.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let used_kib: u64 = used.split_ascii_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(used_kib << 10))
}

/// Checks that there is room to work in.
///
/// # Errors
/// When there is not, with what to do about it.
pub fn check() -> Result<(), CliError> {
    match room() {
        Some(room) if room < LEAST_BYTES => Err(CliError::Usage(format!(
            "the limit on this process's address space leaves {} MiB, and {} are needed at least; raise it with \
             `ulimit -v unlimited`",
            room >> 20,
            LEAST_BYTES >> 20
        ))),
        _ => Ok(()),
    }
}
