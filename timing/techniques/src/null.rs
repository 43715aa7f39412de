//! A technique that requests every hook and changes nothing: it shows that calling hooks costs no cycle.
//!
//! A test asserts that a replay with it equals the plain replay in every statistic. It is also the smallest
//! example of a technique.

use super::{Hooks, Launch, Params, Plan, Registration, Technique, TechniqueInfo};
use warplab_technique::declare::NoParams;

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration = Registration::new(&INFO, |_, section| {
    NoParams::read(section).map(|_| Box::new(Null) as Box<dyn Technique>)
});

const INFO: TechniqueInfo =
    TechniqueInfo::new("null", "asks for every hook and changes nothing (a check of the machinery)", "none")
        .with_uniform_registers();

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Null;

impl Technique for Null {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn prepare(&mut self, _launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        plan.hooks = Hooks::all();
        Ok(())
    }
}
