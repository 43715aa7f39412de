//! The techniques that come with Warplab, and the selection of techniques by name.

pub use warplab_model::techniques::*;
pub use warplab_techniques::BUILT_IN;

/// The techniques that come with Warplab, in the order in which they act.
#[must_use]
pub fn built_in() -> Catalogue {
    Catalogue::of(BUILT_IN)
}

#[cfg(test)]
mod tests {
    use super::built_in;
    use warplab_model::stats::EnergyTable;

    #[test]
    fn energy_tables_only_price_what_costs_energy() {
        let table = |event: &str| {
            let text = format!(
                "name = \"x\"\ndescription = \"x\"\n[event]\n{event} = {{ pj = 1.0, source = \"x\" }}\n"
            );
            EnergyTable::parse(&text)
        };
        assert!(table("rf_reads").is_ok());
        let known = built_in();
        let unknown = table("rf_raeds").expect("a technique might count it");
        assert!(unknown.check(known.infos()).expect_err("nobody does").contains("rf_raeds"));
        for event in ["rf_reads", "boc_reads", "renaming_writes", "width_detections"] {
            assert_eq!(table(event).and_then(|table| table.check(known.infos())), Ok(()), "{event}");
        }
        let idle = table("boc_evictions").expect("a technique might count it");
        assert!(idle.check(known.infos()).is_err(), "it costs nothing");
        assert!(table("cycles").expect_err("costs nothing").contains("cycles"));
    }
}
