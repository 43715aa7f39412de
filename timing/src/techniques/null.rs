//! The technique that asks for every hook and changes nothing: it shows that the hook machinery costs no cycle.
//!
//! A replay with it must equal the plain replay in every statistic; a test holds it to that. It is also the
//! smallest example of a technique.

use super::{Hooks, Plan, Technique, TechniqueInfo};
use crate::config::GpuConfig;
use crate::program::Program;

/// See the module.
#[derive(Clone, Debug)]
pub struct Null;

impl Technique for Null {
    const INFO: TechniqueInfo = TechniqueInfo {
        name: "null",
        summary: "asks for every hook and changes nothing (a check of the machinery)",
        paper: "none",
        claims: &[],
    };

    fn new(_config: &GpuConfig, section: &toml::Table) -> Result<Null, String> {
        match section.keys().next() {
            Some(key) => Err(format!("unknown key `{key}`; this technique has no parameters")),
            None => Ok(Null),
        }
    }

    fn prepare(&mut self, _program: &Program, _config: &GpuConfig, plan: &mut Plan) -> Result<(), String> {
        plan.hooks = Hooks { fetch: true, issue: true, collect: true, write_back: true };
        Ok(())
    }
}
