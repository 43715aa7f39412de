//! The header of a kernel's trace: lines of `-key = value` up to the first that begins with `#`.

use crate::error::AccelsimError;
use crate::fields;
use crate::lines::Lines;
use trace_format::container::LaunchRecord;
use trace_format::semantics::Geometry;

/// Newest tracer whose lines are known.
pub(crate) const NEWEST_VERSION: u64 = 6;

/// Facts about a kernel launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub name: String,
    pub geometry: Geometry,
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes: u32,
    /// Registers per thread that hardware allocates.
    pub registers: u32,
    /// Compute capability of the code, e.g. 75.
    pub binary_version: u32,
    pub stream: u64,
    /// First generic address of shared memory; 0 if it is not known.
    pub shared_base: u64,
    /// First generic address of local memory; 0 if it is not known.
    pub local_base: u64,
    pub tracer_version: u64,
    /// Whether lines begin with a source line.
    pub line_info: bool,
}

/// Reads the header, up to the line that ends it.
pub(crate) fn read(lines: &mut Lines) -> Result<Header, AccelsimError> {
    let mut header = Header { tracer_version: 1, ..Header::default() };
    let mut any = false;
    loop {
        if !lines.advance()? {
            return Err(lines.error("the header does not end; expected a line that begins with `#`"));
        }
        match lines.text.first() {
            None => {}
            Some(b'#') => break,
            Some(b'-') => {
                any = true;
                header.take(&String::from_utf8_lossy(&lines.text)).map_err(|why| lines.error(why))?;
            }
            Some(_) if any => return Err(lines.error(format!("`{}` is no line of a header", lines.shown()))),
            Some(_) => {
                let what = format!(
                    "`{}` is no header of a trace; expected `-kernel name = …` as Accel-Sim's tracer writes it",
                    lines.shown()
                );
                return Err(lines.error(what));
            }
        }
    }
    header.check().map_err(|why| lines.error(why))?;
    Ok(header)
}

impl Header {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let (key, value) = line[1..].split_once('=').ok_or("expected `-key = value`")?;
        let (key, value) = (key.trim(), value.trim());
        let number = || value.parse::<u64>().map_err(|_| format!("{key} is `{value}`, not a number"));
        let word = || u32::try_from(number()?).map_err(|_| format!("{key} {value} is too large"));
        let address = || {
            let address = fields::hex(value.as_bytes());
            address.ok_or_else(|| format!("{key} is `{value}`, not a hexadecimal address"))
        };
        match key {
            "kernel name" => self.name = value.to_owned(),
            "grid dim" => self.geometry.grid = triple(key, value)?,
            "block dim" => self.geometry.block = triple(key, value)?,
            "shmem" => self.shared_bytes = word()?,
            "nregs" => self.registers = word()?,
            "binary version" => self.binary_version = word()?,
            "cuda stream id" => self.stream = number()?,
            "shmem base_addr" => self.shared_base = address()?,
            "local mem base_addr" => self.local_base = address()?,
            "accelsim tracer version" => self.tracer_version = number()?,
            "enable lineinfo" => self.line_info = number()? != 0,
            _ => {}
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.geometry.grid == [0; 3] || self.geometry.block == [0; 3] {
            return Err("the header has no `-grid dim = (x,y,z)` or no `-block dim = (x,y,z)`".into());
        }
        LaunchRecord { geometry: self.geometry, ..LaunchRecord::default() }.check()?;
        if self.tracer_version > NEWEST_VERSION {
            return Err(format!(
                "tracer version {} is not known; versions up to {NEWEST_VERSION} are",
                self.tracer_version
            ));
        }
        if self.registers > 255 {
            return Err(format!("{} registers per thread are more than 255", self.registers));
        }
        Ok(())
    }

    /// Bytes between two instructions.
    pub(crate) fn code_bytes(&self) -> u64 {
        if self.binary_version >= 70 || self.binary_version == 0 { 16 } else { 8 }
    }
}

/// `(x,y,z)` or `x,y,z`.
pub(crate) fn triple(key: &str, value: &str) -> Result<[u32; 3], String> {
    let inner = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(value);
    let parts: Option<Vec<u32>> = inner.split(',').map(|part| part.trim().parse().ok()).collect();
    let triple = parts.and_then(|parts| <[u32; 3]>::try_from(parts).ok());
    triple.ok_or_else(|| format!("{key} is `{value}`, not three numbers"))
}
