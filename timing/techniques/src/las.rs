//! LAS, the locality-aware scheduling: warps whose next load would find its vector in LARF's table issue first, the
//! others in the order of the machine, which is round robin in the paper (LARF, sections 5.4 and 5.5.3).
//!
//! The hardware computes a load's address when the result that it depends on is written back, and looks it up. Here
//! the technique that holds the table is asked about the next instruction of every ready warp, whose address register
//! has been written. Without such a technique no warp would go first; it is refused.

use super::{
    Choice, Claim, Cx, IssueVerdict, Issuing, Launch, ParamValue, Params as _, Plan, Registration, Technique,
    TechniqueInfo, WarpView,
};
use trace_format::isa::Kind;
use trace_format::isa::space::Space;
use warplab_technique::{counts, params};

params! {
    /// `[technique.las]`.
    struct Params {
        /// Whether these warps go first; without it the order is the machine's.
        mechanism: bool = true;
        /// Accepted, so that `larf` may be replayed without limits; an order of warps has none of its own.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of LAS.
    struct Counts {
        /// Loads from global memory whose address was computed and looked up before they issued.
        addresses_checked in "technique_logic";
    }
}

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Las::new(section)?)));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "las",
    "warps whose next load would share a register issue first (with `larf`)",
    "LAS (H. Asghari Esfeden's dissertation, chapter 5), sections 5.4 and 5.5.3",
)
.with_uniform_registers()
.with_claims(&[Claim::WarpPriority])
.with_partners(&["larf"])
.without_values()
.with_params(Params::declared)
.with_counters(Counts::DECLARED);

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Las {
    params: Params,
    counts: Counts,
    warps: u64,
}

impl Las {
    /// Reads `[technique.las]`.
    fn new(section: &toml::Table) -> Result<Las, String> {
        Ok(Las { params: Params::read(section)?, counts: Counts::default(), warps: 0 })
    }
}

impl Technique for Las {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
    }

    fn further_bits(&self) -> u64 {
        // A priority bit for each warp.
        self.warps
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        self.warps = u64::from(launch.config.sm.max_warps);
        self.counts = Counts::default();
        if self.params.mechanism {
            plan.hooks.issue = true;
            plan.hooks.order = true;
            plan.hooks.served = true;
        }
        Ok(())
    }

    /// The scheduler's choice, or the next warp after it whose load would be served.
    fn order(&self, _now: u64, _scheduler: usize, choice: Choice) -> u8 {
        let from = choice.served >> choice.chosen;
        match (from, choice.served) {
            (_, 0) => choice.chosen,
            (0, served) => served.trailing_zeros() as u8,
            (from, _) => choice.chosen + from.trailing_zeros() as u8,
        }
    }

    fn issued(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        if let Issuing::Program(inst) = what
            && matches!(inst.inst.inst.kind(), Kind::Load(Space::Global | Space::Generic))
        {
            self.counts.addresses_checked += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Builder, Hand, by_hand, r, small};
    use trace_format::isa::{Inst, Lut, Op, Reg, SpecialReg, Src};
    use warplab_model::stats::Stats;

    #[test]
    fn the_next_served_warp_after_the_choice_goes_first() {
        let las = Las::new(&toml::Table::new()).expect("valid");
        let of = |served, chosen| las.order(0, 0, Choice::new(u64::MAX, served, chosen));
        assert_eq!([of(0, 5), of(0b10_0000, 5), of(0b1001, 1), of(0b1001, 4)], [5, 5, 3, 0]);
        assert_eq!(of(1 << 63, 63), 63);
    }

    /// LARF with a table of one entry.
    const ONE_ENTRY: [&str; 2] = ["technique.larf.entries=1", "technique.larf.release='overwrite'"];

    /// Warp 0 loads vector 0 and stays. When a barrier opens, warp 1 loads vector 1 and warp 2 vector 0.
    fn three_warps() -> Hand {
        let mut b = Builder::default();
        b.special(0, SpecialReg::LaneId).special(1, SpecialReg::WarpId).mov(5, 0).shl(4, 0, 2).mov(9, 0);
        let (first, others) = (16, 23);
        b.branch_below(1, 1, first).bar().shl(2, 1, 7).push(low_bit(2)).iadd(4, r(4), r(2), r(5));
        // When it is read, the address has been written: both warps are ready when the barrier opens.
        b.iadd(3, r(4), r(4), r(4)).bar();
        b.ldg(6, 4, 0).branch_below(5, 1, others);
        assert_eq!(b.here(), first);
        b.ldg(6, 4, 0).iadd(7, r(6), r(6), r(6)).bar().bar();
        let head = b.here();
        b.iadd(9, r(9), Src::imm(1), Src::RZ).branch_below(9, 40, head);
        assert_eq!(b.here(), others);
        b.iadd(8, r(6), r(6), r(6));
        by_hand(b.exit(), 1, 96)
    }

    fn low_bit(d: u8) -> Inst {
        Inst::new(Op::Lop3 { lut: Lut(0xC0) }).dst(Reg(d)).srcs([r(d), Src::imm(128), Src::RZ])
    }

    fn run(set: &[&str], techniques: &[&str]) -> Stats {
        three_warps().run("gtx480", &small(&[&ONE_ENTRY[..], set].concat()), techniques)
    }

    #[test]
    fn a_load_that_is_in_the_table_issues_before_one_that_replaces_its_entry() {
        let shared = |stats: &Stats| stats.of_techniques("whole_shares");
        assert_eq!((shared(&run(&[], &["larf"])), shared(&run(&[], &["larf", "las"]))), (0, 1));
        let off = run(&["technique.las.mechanism=false"], &["larf", "las"]);
        assert_eq!(off.counters.values(), run(&[], &["larf"]).counters.values());
        let config = warplab_model::config::load("gtx480", &[]).expect("built in").config;
        let catalogue = crate::testing::built_in();
        let select = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            catalogue.select(&names, &config).map(drop).map_err(|why| why.to_string())
        };
        let why = select(&["las"]).expect_err("it would change nothing");
        assert!(why.contains("`las`") && why.contains("--tech larf,las"), "{why}");
        assert!(select(&["las", "bow"]).is_err_and(|why| why.contains("--tech larf,las,bow")));
        // The technique that LARF and CORF are together holds the table as well.
        for with in [&["las", "larf"][..], &["larf", "corf", "las"], &["larf+corf", "las"]] {
            assert_eq!(select(with), Ok(()), "{with:?}");
        }
    }
}
