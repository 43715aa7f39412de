//! LARF with the register file of CORF or CORF++: a value that registers of several warps share lies in slices of a physical
//! register, beside others, and reads of it share bank accesses as any others (beyond the papers).
//!
//! One technique stands for the two, because both say where a register lies. A load that shares takes another one's place,
//! whatever pair or side the compiler wanted for its own register. How many slices a loaded value needs is known when it
//! arrives, and so is its place; loads that share it wait for it anyway. What both could decide, both have to want: registers
//! are released early with `technique.larf.release=last_read` and CORF's `virtualization`, and the renaming table, which is
//! one, has the lesser of the two numbers of ports. Further blocks are not admitted: how much of a physical register a result
//! needs is not known when its instruction issues.

use super::packed::{COUNTERS, LOSSES, Packed};
use super::{INFO, Larf, Params, STORAGE};
use crate::corf::{self, variants};
use crate::{Claim, ParamInfo, Params as _, Registration, TechniqueInfo};
use warplab_technique::config::GpuConfig;

const OPPORTUNITY: &str = "a register that a load from global memory would write, or a source register beside another one \
                           that the same instruction reads from a bank";

const fn declared(
    name: &'static str,
    summary: &'static str,
    params: fn() -> Vec<ParamInfo>,
) -> TechniqueInfo {
    INFO.named(name, summary, "LARF and CORF (H. Asghari Esfeden's dissertation, chapters 5 and 2), together")
        .with_claims(&[
            Claim::RegisterMapping,
            Claim::RegisterContents,
            Claim::ResultDestination,
            Claim::MemoryAccesses,
        ])
        .with_params(params)
        .with_counters(&COUNTERS)
        .with_losses(OPPORTUNITY, &LOSSES)
        .with_storage(STORAGE)
}

const CORF_INFO: TechniqueInfo =
    declared("larf+corf", "loads share registers, which are packed in pairs and read together", || {
        together(variants::CorfParams::declared(), "corf")
    });

/// LARF and CORF together, in the list of techniques.
pub(crate) const CORF: Registration =
    Registration::new(&CORF_INFO, |config, _| Ok(Box::new(together_of("corf", config)?)))
        .joining(&["corf", "larf"]);

const PLUS_INFO: TechniqueInfo =
    declared("larf+corf++", "loads share registers, which are packed on two sides and read together", || {
        together(variants::PlusParams::declared(), "corf++")
    });

/// LARF and CORF++ together, in the list of techniques.
pub(crate) const CORF_PLUS: Registration =
    Registration::new(&PLUS_INFO, |config, _| Ok(Box::new(together_of("corf++", config)?)))
        .joining(&["corf++", "larf"]);

/// The name of a parameter of CORF or CORF++ beside those of LARF.
fn named(part: &str, name: &'static str) -> &'static str {
    match (part, name) {
        ("corf", "table_ports") => "corf.table_ports",
        ("corf", "mechanism") => "corf.mechanism",
        ("corf", "ideal") => "corf.ideal",
        (_, "table_ports") => "corf++.table_ports",
        (_, "mechanism") => "corf++.mechanism",
        (_, "ideal") => "corf++.ideal",
        (_, other) => other,
    }
}

/// The parameters of LARF and those of its partner.
fn together(partner: Vec<ParamInfo>, part: &str) -> Vec<ParamInfo> {
    let renamed = |mut info: ParamInfo| {
        info.name = named(part, info.name);
        info
    };
    Params::declared().into_iter().chain(partner.into_iter().map(renamed)).collect()
}

/// LARF with CORF or CORF++, from the sections of both.
pub(super) fn together_of(part: &str, config: &GpuConfig) -> Result<Larf, String> {
    let empty = toml::Table::new();
    let section = |name: &str| config.technique.get(name).unwrap_or(&empty);
    let larf = Larf::new(section("larf"))?;
    if larf.params.space > 100 {
        let space = larf.params.space;
        return Err(format!(
            "`technique.larf.space = {space}`: with `{part}` no further blocks are admitted; leave it at 100"
        ));
    }
    let (info, partner) = match part {
        "corf" => (&CORF_INFO, variants::corf(section(part))?),
        _ => (&PLUS_INFO, variants::corf_plus(section(part))?),
    };
    let (settings, values) = partner.into_settings();
    let values = values.into_iter().map(|(name, value)| (named(part, name), value)).collect();
    let coalescing = settings.coalescing();
    let packed = Packed { settings, values, counts: corf::account::Counts::default(), coalescing };
    Ok(Larf { info, packed: Some(packed), ..larf })
}
