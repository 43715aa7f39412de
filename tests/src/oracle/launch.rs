//! Running a bundled workload's manifest on the oracle, and in the emulator with as many registers as one likes.

use super::emulated::{self, EmulatedModule, How};
use super::{Device, Fault, Launch};
use crate::element::{Element, ElementType};
use crate::expression::evaluate;
use crate::manifest::{Argument, Manifest};
use crate::{Buffers, Scalars};
use emulator::lower::LowerOptions;
use emulator::ptx::Module;
use trace_format::semantics::Geometry;

/// Contents of all buffers after all launches of a manifest.
///
/// # Errors
/// If an expression of the manifest has no value, or the oracle stops.
pub fn run_manifest(
    module: &Module,
    manifest: &Manifest,
    inputs: &Buffers,
    scalars: &Scalars,
) -> Result<Buffers, Fault> {
    let mut device = Device::new(module)?;
    let mut addresses = std::collections::BTreeMap::new();
    for (name, bytes) in inputs {
        addresses.insert(name.clone(), device.global.add(bytes.clone()));
    }
    for placed in manifest.launches(scalars).map_err(Fault::new)? {
        let (launch, scalars) = (placed.launch, &placed.scalars);
        let value = |text: &str| evaluate(text, scalars).map_err(Fault::new);
        let dims = |texts: &[String; 3]| -> Result<[u32; 3], Fault> {
            Ok([value(&texts[0])? as u32, value(&texts[1])? as u32, value(&texts[2])? as u32])
        };
        let mut args = Vec::new();
        for arg in &launch.args {
            args.push(match arg {
                Argument::Pointer { buffer, element } => {
                    let found = manifest.buffers.iter().find(|b| &b.name == buffer);
                    let size = found.map_or(1, |b| b.element.bytes()) as u64;
                    let base = addresses
                        .get(buffer)
                        .ok_or_else(|| Fault::new(format!("there is no buffer `{buffer}`")))?;
                    (base + value(element)? as u64 * size).to_le_bytes().to_vec()
                }
                Argument::Scalar { element, value: text } => scalar(*element, text, scalars)?,
                Argument::Texture(name) => return Err(no_texture(name)),
            });
        }
        device.run(&Launch {
            kernel: launch.kernel.clone(),
            grid: dims(&launch.grid)?,
            block: dims(&launch.block)?,
            dynamic_shared_bytes: value(&launch.shared)? as usize,
            args,
            max_instructions: 10_000_000,
        })?;
    }
    let contents = |(name, base): (&String, &u64)| {
        (name.clone(), device.global.contents(*base).unwrap_or_default().to_vec())
    };
    Ok(addresses.iter().map(contents).collect())
}

/// Contents of all buffers after all launches of a manifest in the emulator, lowered to at most
/// `max_registers` registers.
///
/// # Errors
/// If an expression of the manifest has no value, a kernel cannot be lowered, or the emulator stops.
pub fn run_manifest_in_emulator(
    module: &Module,
    manifest: &Manifest,
    inputs: &Buffers,
    scalars: &Scalars,
    max_registers: u16,
) -> Result<Buffers, Fault> {
    let mut emulated = EmulatedModule::new(module)?;
    let mut ids = std::collections::BTreeMap::new();
    for (name, bytes) in inputs {
        ids.insert(name.clone(), emulated.memory.allocate(name.clone(), bytes.clone()));
    }
    let mut lowered = std::collections::BTreeMap::new();
    for placed in manifest.launches(scalars).map_err(Fault::new)? {
        let (launch, scalars) = (placed.launch, &placed.scalars);
        let value = |text: &str| evaluate(text, scalars).map_err(Fault::new);
        let dims = |texts: &[String; 3]| -> Result<[u32; 3], Fault> {
            Ok([value(&texts[0])? as u32, value(&texts[1])? as u32, value(&texts[2])? as u32])
        };
        if !lowered.contains_key(&launch.kernel) {
            let options = LowerOptions { max_registers, check: true, ..LowerOptions::default() };
            lowered.insert(launch.kernel.clone(), emulated.lower(&launch.kernel, &options)?);
        }
        let mut args = Vec::new();
        for arg in &launch.args {
            args.push(match arg {
                Argument::Pointer { buffer, element } => {
                    let found = manifest.buffers.iter().find(|b| &b.name == buffer);
                    let size = found.map_or(1, |b| b.element.bytes()) as u64;
                    let id = ids.get(buffer).ok_or_else(|| Fault::new(format!("no buffer `{buffer}`")))?;
                    emulated::Argument::Pointer(*id, value(element)? as u64 * size)
                }
                Argument::Scalar { element, value: text } => {
                    emulated::Argument::Bytes(scalar(*element, text, scalars)?)
                }
                Argument::Texture(name) => return Err(no_texture(name)),
            });
        }
        let geometry = Geometry { grid: dims(&launch.grid)?, block: dims(&launch.block)? };
        let how = How { threads: 1, max_instructions: 1 << 32, trace: None };
        emulated.run(&lowered[&launch.kernel], geometry, value(&launch.shared)? as u32, &args, how)?;
    }
    Ok(ids.iter().map(|(name, id)| (name.clone(), emulated.memory.allocation(*id).bytes.to_vec())).collect())
}

fn no_texture(name: &str) -> Fault {
    Fault::new(format!("texture `{name}`: only a session of the emulator makes textures"))
}

/// Bytes of a scalar argument.
fn scalar(element: ElementType, text: &str, scalars: &Scalars) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    match element {
        ElementType::F32 | ElementType::F64 => {
            let value: f64 = match text.parse() {
                Ok(value) => value,
                Err(_) => evaluate(text, scalars).map_err(Fault::new)? as f64,
            };
            match element {
                ElementType::F32 => (value as f32).append_to(&mut bytes),
                _ => value.append_to(&mut bytes),
            }
        }
        _ => {
            let value = evaluate(text, scalars).map_err(Fault::new)?;
            bytes.extend_from_slice(&value.to_le_bytes()[..element.bytes()]);
        }
    }
    Ok(bytes)
}
