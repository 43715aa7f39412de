//! The words for `--tech`, and their parameters.

use super::{Counts, Design, Lost, Reuse, Settings, Stall, Uv};
use warplab_technique::declare::Cause;
use warplab_technique::{
    Claim, ParamInfo, Params as _, Price, Registration, StorageInfo, TechniqueInfo, params,
};

/// What all of them decide alone. A value in a scalar register file leaves nothing in the banks.
const CLAIMS: &[Claim] = &[Claim::ResultDestination, Claim::RegisterContents];
const CLAIMS_OF_SCALARS: &[Claim] = &[Claim::ResultDestination];
const CLAIMS_OF_REUSE: &[Claim] = &[Claim::ResultDestination, Claim::RegisterContents, Claim::ReuseOfResults];
const OPERANDS: &str = "a source register that would be read from a bank";
const OPERANDS_AND_RESULTS: &str =
    "a source register that would be read from a bank, or a result that a unit would compute";

const SCALAR_FILE: StorageInfo = StorageInfo::new("srf", "the scalar register file", "technique_storage")
    .with_price(Price::new(0.176, "UV table 2, SRF read (40 nm)"));
const REUSE_BUFFER: StorageInfo =
    StorageInfo::new("irb", "the instruction reuse buffer", "technique_storage");

const fn declared(name: &'static str, summary: &'static str, paper: &'static str) -> TechniqueInfo {
    TechniqueInfo::new(name, summary, paper)
        .with_uniform_registers()
        .with_claims(CLAIMS)
        .with_counters(Counts::DECLARED)
        .with_stalls(Stall::DECLARED)
        .with_losses(OPERANDS, Lost::DECLARED)
}

const fn declared_with_reuse(
    name: &'static str,
    summary: &'static str,
    paper: &'static str,
) -> TechniqueInfo {
    declared(name, summary, paper)
        .with_claims(CLAIMS_OF_REUSE)
        .with_losses(OPERANDS_AND_RESULTS, Lost::DECLARED)
}

params! {
    /// `[technique.uv-token]`.
    struct TokenParams {
        /// Whether a unit accepts the next instruction one cycle after a uniform one.
        fast_issue: bool = true;
        /// Whether uniform instructions are computed and their results stored twice, against errors (section 3.3).
        reliability: bool = false;
        /// Whether uniform vectors are used; if false, the hardware exists and nothing uses it.
        mechanism: bool = true;
        /// Whether uniform vectors are known by their recorded values, whatever computes them.
        ideal: bool = false;
    }
}

const TOKEN_INFO: TechniqueInfo = declared(
    "uv-token",
    "values that are the same in every lane are computed and kept in one lane, marked by token bits",
    "UV (Xiang et al., ICS 2013), section 3.1.1",
)
.with_params(TokenParams::declared);

/// The token-based design in the list of techniques.
pub const TOKEN: Registration = Registration::new(&TOKEN_INFO, |_, section| Ok(Box::new(token(section)?)));

/// Reads `[technique.uv-token]`.
pub(super) fn token(section: &toml::Table) -> Result<Uv, String> {
    let params = TokenParams::read(section)?;
    let settings = Settings {
        design: Design::Token,
        converts: true,
        fast_issue: params.fast_issue,
        reuse: None,
        reliability: params.reliability,
        mechanism: params.mechanism,
        ideal: params.ideal,
    };
    Ok(Uv::new(&TOKEN_INFO, params.values(), settings))
}

params! {
    /// `[technique.uv-scalar]`.
    struct ScalarParams {
        /// Scalar registers of an SM.
        registers: u32 = 128, 1..=65536;
        /// Scalar registers that are read per cycle; the paper does not say how many.
        read_ports: u32 = 4, 1..=32;
        /// Scalar registers that are written per cycle; the paper does not say how many.
        write_ports: u32 = 2, 1..=32;
        /// Cycles from the start of a read to the operand's arrival in the collector.
        latency_cycles: u32 = 1, 0..=16;
        /// Whether a unit accepts the next instruction one cycle after a uniform one.
        fast_issue: bool = true;
        /// Whether uniform instructions are computed and their results stored twice, against errors (section 3.3).
        reliability: bool = false;
        /// Whether uniform vectors are used; if false, the hardware exists and nothing uses it.
        mechanism: bool = true;
        /// Whether uniform vectors are known by their recorded values, whatever computes them, and there is a scalar
        /// register for every vector register, with as many ports as are asked for.
        ideal: bool = false;
    }
}

const SCALAR_INFO: TechniqueInfo = declared(
    "uv-scalar",
    "values that are the same in every lane are computed once and kept in a scalar register file",
    "UV (Xiang et al., ICS 2013), section 3.1.2",
)
.with_claims(CLAIMS_OF_SCALARS)
.with_params(ScalarParams::declared)
.with_storage(&[SCALAR_FILE]);

/// The design with a scalar register file in the list of techniques.
pub const SCALAR: Registration = Registration::new(&SCALAR_INFO, |_, section| Ok(Box::new(scalar(section)?)));

/// Reads `[technique.uv-scalar]`.
pub(super) fn scalar(section: &toml::Table) -> Result<Uv, String> {
    let params = ScalarParams::read(section)?;
    let settings = Settings {
        design: Design::Scalar {
            registers: params.registers,
            read_ports: params.read_ports,
            write_ports: params.write_ports,
            latency_cycles: params.latency_cycles,
        },
        converts: true,
        fast_issue: params.fast_issue,
        reuse: None,
        reliability: params.reliability,
        mechanism: params.mechanism,
        ideal: params.ideal,
    };
    Ok(Uv::new(&SCALAR_INFO, params.values(), settings))
}

params! {
    /// `[technique.uv-reuse]`.
    struct ReuseParams {
        /// Entries of the instruction reuse buffer of an SM.
        entries: u32 = 8, 1..=4096;
        /// Bits of an instruction's index by which its entry is found.
        partial_pc_bits: u32 = 10, 1..=32;
        /// 32-bit words of operands that an entry holds; instructions with more are not entered.
        source_words: u32 = 3, 1..=12;
        /// 32-bit words of results that an entry holds; instructions with more are not entered.
        result_words: u32 = 1, 1..=12;
        /// Cycles from a hit to the result bus.
        hit_cycles: u32 = 1, 1..=64;
        /// How uniform vectors are found where `uv-reuse` runs alone: by token bits, or by a scalar register file.
        detection: &'static str = "token", &["token", "scalar"];
        /// Scalar registers of an SM, if they are found by a scalar register file.
        registers: u32 = 128, 1..=65536;
        /// Whether uniform instructions are computed and their results stored twice, against errors (section 3.3).
        reliability: bool = false;
        /// Whether the buffer is used; if false, the hardware exists and nothing uses it.
        mechanism: bool = true;
        /// Whether uniform vectors are known by their recorded values, and the buffer remembers every instruction.
        ideal: bool = false;
    }
}

const REUSE_INFO: TechniqueInfo = declared_with_reuse(
    "uv-reuse",
    "uniform instructions that another warp has executed on the same values take their results from a buffer",
    "UV (Xiang et al., ICS 2013), section 3.2; alone the bars `Inter` of Figures 5 and 6",
)
.with_params(ReuseParams::declared)
.with_storage(&[SCALAR_FILE, REUSE_BUFFER]);

/// The reuse buffer in the list of techniques.
pub const REUSE: Registration = Registration::new(&REUSE_INFO, |_, section| Ok(Box::new(reuse(section)?)));

/// Reads `[technique.uv-reuse]`.
pub(super) fn reuse(section: &toml::Table) -> Result<Uv, String> {
    let params = ReuseParams::read(section)?;
    let ReuseParams { entries, partial_pc_bits, source_words, result_words, hit_cycles, .. } = params;
    let settings = Settings {
        design: match params.detection {
            "scalar" => Design::scalar(params.registers),
            _ => Design::Token,
        },
        converts: false,
        fast_issue: false,
        reuse: Some(Reuse { entries, partial_pc_bits, source_words, result_words, hit_cycles }),
        reliability: params.reliability,
        mechanism: params.mechanism,
        ideal: params.ideal,
    };
    Ok(Uv::new(&REUSE_INFO, params.values(), settings))
}

const TOKEN_REUSE_INFO: TechniqueInfo = declared_with_reuse(
    "uv-token+uv-reuse",
    "uniform values by token bits, and results of other warps from a buffer",
    "UV (Xiang et al., ICS 2013), the bars `Combined` of Figure 5",
)
.with_params(|| together(TokenParams::declared()))
.with_storage(&[REUSE_BUFFER]);

/// Token bits and the reuse buffer together, in the list of techniques.
pub const TOKEN_REUSE: Registration =
    Registration::new(&TOKEN_REUSE_INFO, |_, section| Ok(Box::new(token_and_reuse(section)?)))
        .joining(&["uv-token", "uv-reuse"]);

/// Reads `[technique.uv-token]` and `[technique.uv-reuse]`.
pub(super) fn token_and_reuse(section: &toml::Table) -> Result<Uv, String> {
    with_buffer(&TOKEN_REUSE_INFO, section, &TokenParams::declared(), token)
}

const SCALAR_REUSE_INFO: TechniqueInfo = declared_with_reuse(
    "uv-scalar+uv-reuse",
    "uniform values in a scalar register file, and results of other warps from a buffer",
    "UV (Xiang et al., ICS 2013), the bars `Combined` of Figure 6",
)
.with_params(|| together(ScalarParams::declared()))
.with_storage(&[SCALAR_FILE, REUSE_BUFFER]);

/// The scalar register file and the reuse buffer together, in the list of techniques.
pub const SCALAR_REUSE: Registration =
    Registration::new(&SCALAR_REUSE_INFO, |_, section| Ok(Box::new(scalar_and_reuse(section)?)))
        .joining(&["uv-scalar", "uv-reuse"]);

/// Reads `[technique.uv-scalar]` and `[technique.uv-reuse]`.
pub(super) fn scalar_and_reuse(section: &toml::Table) -> Result<Uv, String> {
    with_buffer(&SCALAR_REUSE_INFO, section, &ScalarParams::declared(), scalar)
}

/// The parameters of a design and those of the buffer that it does not have.
fn together(mut design: Vec<ParamInfo>) -> Vec<ParamInfo> {
    let own: Vec<&str> = design.iter().map(|param| param.name).collect();
    let further: Vec<ParamInfo> =
        ReuseParams::declared().into_iter().filter(|param| !own.contains(&param.name)).collect();
    design.extend(further);
    design
}

/// A design with the buffer, from the sections of both: what both have counts for both.
fn with_buffer(
    info: &'static TechniqueInfo,
    section: &toml::Table,
    declared: &[ParamInfo],
    design: fn(&toml::Table) -> Result<Uv, String>,
) -> Result<Uv, String> {
    let of_design = |key: &str| declared.iter().any(|param| param.name == key);
    let of_both = |key: &str| ReuseParams::declared().iter().any(|param| param.name == key);
    let part = |wanted: &dyn Fn(&str) -> bool| -> toml::Table {
        let found = section.iter().filter(|(key, _)| wanted(key));
        found.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let design = design(&part(&of_design))?;
    let buffer = reuse(&part(&|key| !of_design(key) || of_both(key)))?;
    let own: Vec<&str> = design.values.iter().map(|(name, _)| *name).collect();
    let further = buffer.values.into_iter().filter(|(name, _)| !own.contains(name));
    let values = design.values.iter().copied().chain(further).collect();
    Ok(Uv::new(info, values, Settings { reuse: buffer.settings.reuse, ..design.settings }))
}
