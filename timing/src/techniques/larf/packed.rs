//! LARF with the register file of CORF or CORF++: a value that registers of several warps share lies in slices of a physical
//! register, beside others, and reads of it share bank accesses as any others (beyond the papers).
//!
//! One technique stands for the two, because both say where a register lies. A load that shares takes another one's place,
//! whatever pair or side the compiler wanted for its own register. How many slices a loaded value needs is known when it
//! arrives, and so is its place; loads that share it wait for it anyway. What both could decide, both have to want: registers
//! are released early with `technique.larf.release=last_read` and CORF's `virtualization`, and the renaming table, which is
//! one, has the lesser of the two numbers of ports.

use super::{Counts, INFO, Larf, Lost, Params, STORAGE};
use crate::config::GpuConfig;
use crate::techniques::corf::{self, coalescing::Coalescing, variants};
use crate::techniques::{
    CauseInfo, Claim, CounterInfo, ParamInfo, ParamValue, Params as _, Registration, TechniqueInfo, causes,
};
use warplab_technique::declare::Cause;

causes! {
    /// Reasons for which an operand does not share a bank access with another operand of its instruction.
    enum LostRead {
        /// No other operand of the instruction shares its access, and the compiler did not want one to.
        NoPartner = "no_partner";
        /// The compiler wanted another operand to share its access, and the two do not fit into one physical register.
        DoesNotFit = "pair_does_not_fit";
        /// Coalescing is switched off.
        Off = "reads_not_coalesced";
    }
}

/// A lost read among the losses of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfReads(LostRead);

impl Cause for OfReads {
    const DECLARED: &'static [CauseInfo] = &LOSSES;

    fn index(self) -> u8 {
        Lost::DECLARED.len() as u8 + self.0.index()
    }
}

impl From<corf::Lost> for OfReads {
    fn from(lost: corf::Lost) -> OfReads {
        OfReads(match lost {
            corf::Lost::NoPartner => LostRead::NoPartner,
            corf::Lost::DoesNotFit => LostRead::DoesNotFit,
            corf::Lost::Off => LostRead::Off,
        })
    }
}

const LOSSES: [CauseInfo; Lost::DECLARED.len() + LostRead::DECLARED.len()] =
    joined_causes(Lost::DECLARED, LostRead::DECLARED);

const fn joined_causes<const N: usize>(first: &[CauseInfo], second: &[CauseInfo]) -> [CauseInfo; N] {
    let mut all = [first[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}

/// CORF's counters but for the last three, which LARF has too.
const PACKED_COUNTERS: usize = corf::Counts::DECLARED.len() - 3;

const COUNTERS: [CounterInfo; Counts::DECLARED.len() + PACKED_COUNTERS] = {
    let first = Counts::DECLARED;
    let mut all = [first[0]; Counts::DECLARED.len() + PACKED_COUNTERS];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < first.len() { first[at] } else { corf::Counts::DECLARED[at - first.len()] };
        at += 1;
    }
    all
};

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
    let (info, partner) = match part {
        "corf" => (&CORF_INFO, variants::corf(section(part))?),
        _ => (&PLUS_INFO, variants::corf_plus(section(part))?),
    };
    let (settings, values) = partner.into_settings();
    let values = values.into_iter().map(|(name, value)| (named(part, name), value)).collect();
    let coalescing = settings.coalescing();
    let packed = Packed { settings, values, counts: corf::Counts::default(), coalescing };
    Ok(Larf { info, packed: Some(packed), ..larf })
}

/// What packed registers add to LARF.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub(super) settings: corf::Settings,
    /// CORF's parameters.
    pub(super) values: Vec<(&'static str, ParamValue)>,
    pub(super) counts: corf::Counts,
    pub(super) coalescing: Coalescing,
}

impl Packed {
    /// CORF's counters beside those of LARF.
    pub(super) fn counted(&self) -> Vec<u64> {
        let mut values = self.counts.values();
        values.truncate(PACKED_COUNTERS);
        values
    }
}
