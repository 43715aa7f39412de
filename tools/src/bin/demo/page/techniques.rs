//! Section: the techniques against the baseline.

use report::Section;
use timing::reports::techniques::{charts, counters, mechanisms};
use timing::reports::{Lab, Workload};

/// What the page calls a trace.
const KIND: &str = "Workload";

pub(super) fn section(lab: &Lab, workloads: &[Workload]) -> Section {
    let [speedup, accesses, energy] = charts(lab, workloads, KIND, Some(2));
    Section::new("Techniques against the baseline")
        .text(
            "**BOW** gives each warp its own operand collector, which keeps the registers of its last instructions \
             and forwards them; results are also written through to the banks. **CORF** packs two narrow values into \
             one physical register, and reads registers that are used together in one access. **BOW+CORF** \
             forwards first and coalesces what is left.",
        )
        .chart(speedup.caption(
            "Instructions per cycle relative to the same machine without the technique: bars above the line are \
             faster.",
        ))
        .chart(accesses.caption(
            "Bank reads and writes that remain. BOW supplies operands from its collectors, CORF reads two packed \
             registers at once.",
        ))
        .chart(energy.caption(
            "Energy of the banks plus that of what the technique adds: buffers, tables, width detection.",
        ))
        .table(counters(lab, workloads, KIND))
        .details("How the savings come about", |d| d.table(mechanisms(lab, workloads, KIND)))
}
