//! Limits that the shell sets: a process that may have too few addresses is told so before an allocation fails, which
//! would end it without a word.

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

/// Addresses that a thread needs: for its stack, what it works with, and the arena that the C library's allocator sets
/// aside for it, which is aligned to its 64 MiB.
const THREAD_BYTES: u64 = 160 << 20;

/// As many of these threads as there is room for, and one at least. Results do not depend on their number.
#[must_use]
pub fn threads(wanted: usize) -> usize {
    room().map_or(wanted, |room| threads_in(room, wanted))
}

fn threads_in(room: u64, wanted: usize) -> usize {
    let most = room.saturating_sub(LEAST_BYTES) / THREAD_BYTES + 1;
    wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
}

/// Checks that there is room to work in.
///
/// # Errors
/// When there is not, with what to do about it.
pub fn check() -> Result<(), String> {
    match room() {
        Some(room) if room < LEAST_BYTES => Err(format!(
            "the limit on this process's address space leaves {} MiB, and {} are needed at least; raise it with \
             `ulimit -v unlimited`",
            room >> 20,
            LEAST_BYTES >> 20
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_as_many_as_have_room() {
        assert_eq!([0, LEAST_BYTES, LEAST_BYTES + THREAD_BYTES].map(|room| threads_in(room, 8)), [1, 1, 2]);
        assert_eq!([threads_in(1 << 40, 8), threads_in(u64::MAX, 1)], [8, 1]);
    }
}
