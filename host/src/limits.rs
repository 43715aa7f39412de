//! Limits on the process's address space: too small a limit is reported at the start, because a failed
//! allocation would abort without a useful message.

/// Minimum address space for threads, traces and kernels' memory.
const LEAST_BYTES: u64 = 64 << 20;

/// Bytes of address space that the process may still allocate; `None` without a limit.
fn room() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    let used = std::fs::read_to_string("/proc/self/status").ok()?;
    let used = used.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let used_kib: u64 = used.split_ascii_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(used_kib << 10))
}

/// Address space of a thread: its stack, its working memory, and the arena that the C library's allocator
/// reserves for it, aligned to its size of 64 MiB.
const THREAD_BYTES: u64 = 160 << 20;

/// As many of the wanted threads as the address space allows, at least one. Results do not depend on their
/// number.
#[must_use]
pub fn threads(wanted: usize) -> usize {
    room().map_or(wanted, |room| threads_in(room, wanted))
}

fn threads_in(room: u64, wanted: usize) -> usize {
    let most = room.saturating_sub(LEAST_BYTES) / THREAD_BYTES + 1;
    wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
}

/// Checks that the address space suffices.
///
/// # Errors
/// The address space is too small; the error names the remedy.
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
