//! GPGPU-Sim's cache strings, such as `S:4:128:64,L:T:m:L:L,A:512:8,16:0,32`.
//!
//! `<N|S>:<sets>:<line bytes>:<ways>,<replacement>:<write>:<allocation>:<write allocation>:<set hash>,<MSHR kind>: <entries>:<merges>,<miss queue>:<result queue>,<port bytes>`.
//! Old files omit the first letter, and the groups from the result queue on may be missing.

/// A cache as a string describes it; letters are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheSpec {
    /// Whether lines have sectors.
    pub sectored: bool,
    /// Sets.
    pub sets: u32,
    /// Line in bytes.
    pub line_bytes: u32,
    /// Ways.
    pub ways: u32,
    /// L LRU, F FIFO.
    pub replacement: char,
    /// R read only, B write back, T write through, E write evict, L local write back and global write through.
    pub write: char,
    /// m on miss, f on fill, s streaming.
    pub allocate: char,
    /// N none, W naive, F fetch on write, L lazy fetch on read.
    pub write_allocate: char,
    /// L linear, X xor, P IPOLY, H Fermi's hash, C custom; absent in old files.
    pub set_hash: Option<char>,
    /// A associative, S sectors, F and T texture FIFO.
    pub mshr_kind: char,
    /// MSHRs.
    pub mshrs: u32,
    /// Requests that one of them merges.
    pub merges: u32,
    /// Miss queue.
    pub miss_queue: u32,
    /// Bytes of the data port, where given.
    pub port_bytes: Option<u32>,
}

/// Reads a cache string; `none` is no cache.
///
/// # Errors
/// The wrong part, and what is expected.
pub(super) fn parse(text: &str) -> Result<Option<CacheSpec>, String> {
    let text = text.trim();
    if text == "none" || text.is_empty() {
        return Ok(None);
    }
    let groups: Vec<&str> = text.split(',').collect();
    let [geometry, policies, mshrs, queue, rest @ ..] = groups.as_slice() else {
        return Err(format!(
            "`{text}` has {} groups between commas, a cache string has at least 4",
            groups.len()
        ));
    };
    if rest.len() > 1 {
        return Err(format!(
            "`{text}` has {} groups between commas, a cache string has at most 5",
            groups.len()
        ));
    }
    let mut parts: Vec<&str> = geometry.split(':').collect();
    let sectored = match parts.first() {
        Some(&"S") => true,
        Some(&"N") => false,
        _ => {
            parts.insert(0, "N");
            false
        }
    };
    let [_, sets, line, ways] = parts[..] else {
        return Err(format!("`{geometry}` is no geometry; expected [N|S:]sets:line bytes:ways"));
    };
    let letters: Vec<&str> = policies.split(':').collect();
    if !(4..=5).contains(&letters.len()) {
        return Err(format!("`{policies}` has {} policies, expected 4 or 5 letters", letters.len()));
    }
    let letter = |index: usize, known: &str, what: &str| one_of(letters[index], known, what);
    let set_hash = if letters.len() == 5 { Some(letter(4, "LXPHC", "set hash")?) } else { None };
    let mshr_parts: Vec<&str> = mshrs.split(':').collect();
    let [kind, entries, merges] = mshr_parts[..] else {
        return Err(format!("`{mshrs}` describes no MSHRs; expected kind:entries:merges"));
    };
    let queue = queue.split(':').next().unwrap_or(queue);
    Ok(Some(CacheSpec {
        sectored,
        sets: number(sets, "sets")?,
        line_bytes: number(line, "line bytes")?,
        ways: number(ways, "ways")?,
        replacement: letter(0, "LF", "replacement")?,
        write: letter(1, "RBTEL", "write policy")?,
        allocate: letter(2, "mfs", "allocation")?,
        write_allocate: letter(3, "NWFL", "write allocation")?,
        set_hash,
        mshr_kind: one_of(kind, "ASFT", "MSHR kind")?,
        mshrs: number(entries, "MSHR entries")?,
        merges: number(merges, "MSHR merges")?,
        miss_queue: number(queue, "miss queue")?,
        port_bytes: rest.first().map(|port| number(port, "port bytes")).transpose()?,
    }))
}

fn one_of(text: &str, known: &str, what: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if known.contains(letter) => Ok(letter),
        _ => {
            let list: Vec<String> = known.chars().map(String::from).collect();
            Err(format!("`{text}` is no {what}; known are {}", list.join(", ")))
        }
    }
}

fn number(text: &str, what: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is no number of {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_strings_are_read() {
        let spec = parse("S:4:128:64,L:T:m:L:L,A:512:8,16:0,32").expect("a cache").expect("not none");
        assert_eq!((spec.sectored, spec.sets, spec.line_bytes, spec.ways), (true, 4, 128, 64));
        assert_eq!((spec.write, spec.write_allocate, spec.set_hash), ('T', 'L', Some('L')));
        assert_eq!((spec.mshrs, spec.merges, spec.miss_queue, spec.port_bytes), (512, 8, 16, Some(32)));
        let old = parse("16:256:8,L:B:m:W:L,A:16:4,4").expect("a cache").expect("not none");
        assert_eq!((old.sectored, old.sets, old.line_bytes, old.ways), (false, 16, 256, 8));
        let texture = parse("N:4:128:24,L:R:m:N:L,T:128:4,128:2").expect("a cache").expect("not none");
        assert_eq!((texture.mshr_kind, texture.miss_queue, texture.port_bytes), ('T', 128, None));
        assert_eq!(parse("none"), Ok(None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("S:4:128", "1 groups"),
            ("4:128,L:T:m:L:L,A:1:1,4", "geometry"),
            ("S:4:128:x,L:T:m:L:L,A:1:1,4", "ways"),
            ("S:4:128:4,Q:T:m:L:L,A:1:1,4", "`Q` is no replacement"),
            ("S:4:128:4,L:T:m,A:1:1,4", "3 policies"),
            ("S:4:128:4,L:T:m:L:L,A:1,4", "MSHR"),
            ("S:4:128:4,L:T:m:L:L,A:1:1,4,5,6", "6 groups"),
        ] {
            assert!(parse(text).expect_err("wrong").contains(part), "{text}: {:?}", parse(text));
        }
    }
}
