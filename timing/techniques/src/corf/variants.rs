//! The techniques with a renaming table, and their parameters.

use super::account::{Counts, Lost};
use super::allocator::Packing;
use super::coalescing::Sharing;
use super::physical::Allocation;
use super::{Corf, Settings, Wanted, Weights};
use crate::{Claim, ParamInfo, Params as _, Profiled, Registration, StorageInfo, TechniqueInfo, params};
use warplab_technique::declare::Cause;

/// More lookups than a bank of the table is ever asked for in a cycle.
const UNLIMITED: u32 = 1024;
/// Where weights of register pairs come from.
const WEIGHTS: &[&str] = &["static", "profile", "first_launch"];
/// The weight of a loop without a constant trip count where there is no parameter for it: section 2.4.2 gives a fixed one.
const UNKNOWN_TRIPS: u32 = 10;
/// What all of them decide alone.
const CLAIMS: &[Claim] = &[Claim::RegisterMapping, Claim::RegisterContents];
/// What those that combine reads could gain.
const OPPORTUNITY: &str = "a source register beside another one that the same instruction reads from a bank";

/// The structure that all of them add.
const STORAGE: &[StorageInfo] = &[StorageInfo::new("renaming", "the renaming table", "technique_storage")];

const fn declared(
    name: &'static str,
    summary: &'static str,
    paper: &'static str,
    params: fn() -> Vec<ParamInfo>,
) -> TechniqueInfo {
    TechniqueInfo::new(name, summary, paper)
        .with_uniform_registers()
        .with_claims(CLAIMS)
        .with_params(params)
        .with_counters(Counts::DECLARED)
        .with_storage(STORAGE)
}

params! {
    /// `[technique.corf]`.
    pub(crate) struct CorfParams {
        /// Whether compiler-chosen pairs are allocated together; false is packing with first fit alone.
        pairs: bool = true;
        /// Whether registers are released when they are no longer live, which section 2.6 counts as part of
        /// CORF.
        virtualization: bool = true;
        /// Where a register is allocated: the first entry of the whole file, of the bank that it has without CORF, or of
        /// the bank that holds the fewest registers which are read with it (beyond the paper).
        allocation: &'static str = "first_fit", &["first_fit", "home_bank", "bank_aware"];
        /// Whether a value that needs fewer bytes frees its upper slices; section 2.6 keeps them.
        shrink: bool = false;
        /// Cycles that the table lookup adds before the first register read; 0 because it overlaps with the cycle in
        /// which the instruction moves to its collector (section 2.6, "Impact on pipeline").
        renaming_cycles: u32 = 0, 0..=16;
        /// Lookups that a bank of the renaming table serves per cycle; results update it through a port of their own.
        table_ports: u32 = 2, 1..=64;
        /// Where the weights of register pairs come from: loops in the code, or how often values fitted when this launch was
        /// recorded (an upper bound), or the first launch of its kernel (beyond the paper).
        weights: &'static str = "static", WEIGHTS;
        /// Weight of a loop without a constant trip count.
        unknown_trips: u32 = 10, 1..=1_000_000;
        /// Pairs that one metadata instruction carries (section 2.4.2).
        pairs_per_instruction: u32 = 4, 1..=64;
        /// Whether physical registers without contents are switched off, as for Figure 2.18.
        power_gating: bool = true;
        /// Whether two operands of one physical register share an access; if false, registers are only
        /// packed.
        mechanism: bool = true;
        /// Whether any two operands share an access whose values fit one register, wherever they lie, and the renaming table
        /// has as many ports as are asked for.
        ideal: bool = false;
    }
}

pub(crate) const CORF_INFO: TechniqueInfo = declared(
    "corf",
    "register packing with compiler-chosen pairs and coalesced operand reads",
    "CORF: Coalescing Operand Register File, sections 2.4 and 2.6",
    CorfParams::declared,
)
.with_losses(OPPORTUNITY, Lost::DECLARED);

/// CORF in the list of techniques.
pub(crate) const CORF: Registration =
    Registration::new(&CORF_INFO, |_, section| Ok(Box::new(corf(section)?)));

/// Reads `[technique.corf]`.
pub(crate) fn corf(section: &toml::Table) -> Result<Corf, String> {
    let params = CorfParams::read(section)?;
    let settings = Settings {
        wanted: if params.pairs { Wanted::Pairs } else { Wanted::Nothing },
        registers_per_instruction: 2 * params.pairs_per_instruction,
        weights: weights(params.weights, params.unknown_trips),
        packing: Packing { packs: true, shrinks: params.shrink },
        allocation: allocation(params.allocation),
        releases: params.virtualization,
        sharing: if params.ideal { Sharing::WhatFits } else { Sharing::OneEntry },
        shares: params.mechanism,
        gates: params.power_gating,
        renaming_cycles: params.renaming_cycles,
        table_ports: if params.ideal { UNLIMITED } else { params.table_ports },
    };
    Ok(Corf::new(&CORF_INFO, params.values(), settings))
}

fn allocation(word: &str) -> Allocation {
    match word {
        "home_bank" => Allocation::HomeBank,
        "bank_aware" => Allocation::BankAware,
        _ => Allocation::FirstFit,
    }
}

fn weights(word: &str, unknown_trips: u32) -> Weights {
    match word {
        "profile" => Weights::Recorded(Profiled::ThisLaunch),
        "first_launch" => Weights::Recorded(Profiled::FirstLaunch),
        _ => Weights::Static { unknown_trips },
    }
}

params! {
    /// `[technique."corf++"]`.
    pub(crate) struct PlusParams {
        /// Whether registers take the side that the compiler chose; if false, the first run of slices.
        alignment: bool = true;
        /// Where a register is allocated: in one bank for each warp (section 2.5.2), in the bank that it has without CORF++,
        /// or in the bank that holds the most registers which share its reads (beyond the paper).
        allocation: &'static str = "warp_bank", &["warp_bank", "home_bank", "bank_aware"];
        /// Whether registers are released when they are no longer live, which section 2.6 counts as part of
        /// CORF++.
        virtualization: bool = true;
        /// Whether a value that needs fewer bytes frees its upper slices; section 2.6 keeps them.
        shrink: bool = false;
        /// Cycles that the table lookup adds before the first register read; 0 as for CORF.
        renaming_cycles: u32 = 0, 0..=16;
        /// Lookups that a bank of the renaming table serves per cycle; results update it through a port of their own.
        table_ports: u32 = 2, 1..=64;
        /// Where the weights of register pairs come from: loops in the code, or how often values fitted when this launch was
        /// recorded (an upper bound), or the first launch of its kernel (beyond the paper).
        weights: &'static str = "static", WEIGHTS;
        /// Weight of a loop without a constant trip count.
        unknown_trips: u32 = 10, 1..=1_000_000;
        /// Registers whose sides one metadata instruction carries: 2 bits each (section 2.5.1), in as many bits as the four
        /// pairs of CORF's instruction take.
        registers_per_instruction: u32 = 24, 1..=64;
        /// Whether physical registers without contents are switched off, as for Figure 2.18.
        power_gating: bool = true;
        /// Whether operands in slices that do not overlap share an access; if false, registers are only packed.
        mechanism: bool = true;
        /// Whether any two operands share an access whose values fit one register, wherever they lie, and the renaming table
        /// has as many ports as are asked for.
        ideal: bool = false;
    }
}

const PLUS_INFO: TechniqueInfo = declared(
    "corf++",
    "packing on two sides of dual-addressed banks, so that any narrow operands share a read",
    "CORF: Coalescing Operand Register File, section 2.5",
    PlusParams::declared,
)
.with_losses(OPPORTUNITY, Lost::DECLARED);

/// CORF++ in the list of techniques.
pub(crate) const CORF_PLUS: Registration =
    Registration::new(&PLUS_INFO, |_, section| Ok(Box::new(corf_plus(section)?)));

/// Reads `[technique."corf++"]`.
pub(crate) fn corf_plus(section: &toml::Table) -> Result<Corf, String> {
    let params = PlusParams::read(section)?;
    let settings = Settings {
        wanted: if params.alignment { Wanted::Sides } else { Wanted::Nothing },
        registers_per_instruction: params.registers_per_instruction,
        weights: weights(params.weights, params.unknown_trips),
        packing: Packing { packs: true, shrinks: params.shrink },
        allocation: match params.allocation {
            "home_bank" => Allocation::SideAtHome,
            "bank_aware" => Allocation::SideBankAware,
            _ => Allocation::WarpBank,
        },
        releases: params.virtualization,
        sharing: if params.ideal { Sharing::WhatFits } else { Sharing::OneBank },
        shares: params.mechanism,
        gates: params.power_gating,
        renaming_cycles: params.renaming_cycles,
        table_ports: if params.ideal { UNLIMITED } else { params.table_ports },
    };
    Ok(Corf::new(&PLUS_INFO, params.values(), settings))
}

params! {
    /// `[technique.packing]`.
    struct PackingParams {
        /// Where a register is allocated: the first entry of the whole file, of the bank that it has without packing, or of
        /// the bank that holds the fewest registers which are read with it (beyond the paper).
        allocation: &'static str = "first_fit", &["first_fit", "home_bank", "bank_aware"];
        /// Whether a value that needs fewer bytes frees its upper slices.
        shrink: bool = false;
        /// Cycles that the table lookup adds before the first register read; 0 as for CORF.
        renaming_cycles: u32 = 0, 0..=16;
        /// Lookups that a bank of the renaming table serves per cycle; results update it through a port of their own.
        table_ports: u32 = 2, 1..=64;
        /// Whether physical registers without contents are switched off, as for Figure 2.18.
        power_gating: bool = true;
        /// Whether a value takes only the slices that it needs; if false, a whole physical register.
        mechanism: bool = true;
        /// Whether values always have exactly the slices that they need, and the renaming table as many ports as are asked
        /// for.
        ideal: bool = false;
    }
}

const PACKING_INFO: TechniqueInfo = declared(
    "packing",
    "narrow registers share physical registers, and none of their reads",
    "Wang and Zhang, GPU register packing, as compared in CORF, section 2.7",
    PackingParams::declared,
);

/// Register packing in the list of techniques.
pub(crate) const PACKING: Registration =
    Registration::new(&PACKING_INFO, |_, section| Ok(Box::new(packing(section, false)?)));

/// Reads `[technique.packing]`; with or without release of registers.
pub(super) fn packing(section: &toml::Table, releases: bool) -> Result<Corf, String> {
    let params = PackingParams::read(section)?;
    let settings = Settings {
        wanted: Wanted::Nothing,
        registers_per_instruction: 1,
        weights: Weights::Static { unknown_trips: UNKNOWN_TRIPS },
        packing: Packing { packs: params.mechanism, shrinks: params.shrink || params.ideal },
        allocation: allocation(params.allocation),
        releases: releases && params.mechanism,
        sharing: Sharing::Never,
        shares: false,
        gates: params.power_gating,
        renaming_cycles: params.renaming_cycles,
        table_ports: if params.ideal { UNLIMITED } else { params.table_ports },
    };
    let info = if releases { &BOTH_INFO } else { &PACKING_INFO };
    Ok(Corf::new(info, params.values(), settings))
}

const BOTH_INFO: TechniqueInfo = PACKING_INFO.named(
    "packing+rf-virtualization",
    "narrow registers share physical registers, which are released after the last use",
    "register packing and virtualization together, as compared in CORF, Figure 2.16 and Table 2.1",
);

/// Packing and virtualization together, in the list of techniques.
pub(crate) const BOTH: Registration =
    Registration::new(&BOTH_INFO, |_, section| Ok(Box::new(packing(section, true)?)))
        .joining(&["packing", "rf-virtualization"]);

params! {
    /// `[technique.rf-virtualization]`.
    struct VirtualizationParams {
        /// Where a register is allocated: the first entry of the whole file, or of the bank that it has
        /// without virtualization.
        allocation: &'static str = "first_fit", &["first_fit", "home_bank"];
        /// Cycles that the table lookup adds before the first register read; 0 as for CORF.
        renaming_cycles: u32 = 0, 0..=16;
        /// Lookups that a bank of the renaming table serves per cycle; results update it through a port of their own.
        table_ports: u32 = 2, 1..=64;
        /// Whether physical registers without contents are switched off, as for Figure 2.18.
        power_gating: bool = true;
        /// Whether registers are released when they are no longer live.
        mechanism: bool = true;
        /// Whether the renaming table has as many ports as are asked for.
        ideal: bool = false;
    }
}

const VIRTUALIZATION_INFO: TechniqueInfo = declared(
    "rf-virtualization",
    "registers are allocated when they are written and released after their last use",
    "Jeon et al., GPU register file virtualization, as used in CORF, section 2.6",
    VirtualizationParams::declared,
);

/// Register file virtualization in the list of techniques.
pub(crate) const VIRTUALIZATION: Registration =
    Registration::new(&VIRTUALIZATION_INFO, |_, section| Ok(Box::new(virtualization(section)?)));

/// Reads `[technique.rf-virtualization]`.
pub(super) fn virtualization(section: &toml::Table) -> Result<Corf, String> {
    let params = VirtualizationParams::read(section)?;
    let settings = Settings {
        wanted: Wanted::Nothing,
        registers_per_instruction: 1,
        weights: Weights::Static { unknown_trips: UNKNOWN_TRIPS },
        packing: Packing { packs: false, shrinks: false },
        allocation: allocation(params.allocation),
        releases: params.mechanism,
        sharing: Sharing::Never,
        shares: false,
        gates: params.power_gating,
        renaming_cycles: params.renaming_cycles,
        table_ports: if params.ideal { UNLIMITED } else { params.table_ports },
    };
    Ok(Corf::new(&VIRTUALIZATION_INFO, params.values(), settings))
}
