//! `emu inspect`: shows the contents and requirements of a PTX file, without running it.
//!
//! Kernels with their resources, functions, variables, the opcode forms in use with their counts, and the
//! instructions that have no lowering: a thread that reaches one of those faults.

use super::args::Inspect;
use super::error::CliError;
use crate::lower::LowerOptions;
use crate::ptx::{Diagnostic, Function, Module, Span, Statement, VarSpace};
use crate::session::LoadedModule;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use warplab_host::console;

/// Shows a file's contents.
///
/// # Errors
/// The file cannot be read or parsed, or a kernel cannot be lowered.
pub(super) fn inspect(args: &Inspect) -> Result<(), CliError> {
    let module = LoadedModule::read(&args.ptx)?;
    let options = LowerOptions { fmad: args.fmad, ..LowerOptions::default() };
    let contents = contents(&module, &options)?;
    let mut out = console::out(args.json);
    if args.json {
        writeln!(out, "{contents:#}")?;
    } else {
        out.write_all(shown(&contents, &args.ptx.display().to_string()).as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// The first word of an instruction after its guard: opcode with modifiers.
fn form(text: &str) -> &str {
    let text = text.trim_start();
    let text = match text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start()),
        None => text,
    };
    text.split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or("")
}

/// The statement that contains a position.
fn statement(module: &Module, span: Span) -> &str {
    let text = module.source.text();
    let at = (span.start as usize).min(text.len());
    let before = text.get(..at).unwrap_or("");
    let start = before.rfind([';', '{', '}', '\n']).map_or(0, |i| i + 1);
    text.get(start..).unwrap_or("")
}

/// Opcode forms with the number of their uses.
fn forms(module: &Module) -> BTreeMap<String, u64> {
    let mut forms = BTreeMap::new();
    let bodies = module.functions.iter().filter_map(|f| f.body.as_ref());
    for statement_ in bodies.flat_map(|b| &b.statements) {
        let span = match statement_ {
            Statement::Inst(inst) => inst.span,
            Statement::Unsupported(diagnostic) => diagnostic.span,
            Statement::Label(_) | Statement::Pragma(_) => continue,
        };
        let text = match statement_ {
            Statement::Inst(_) => module.source.snippet(span),
            _ => statement(module, span),
        };
        *forms.entry(form(text).to_owned()).or_insert(0) += 1;
    }
    forms
}

fn unsupported(module: &Module, diagnostic: &Diagnostic) -> Value {
    json!({
        "line": module.line(diagnostic.span),
        "form": form(statement(module, diagnostic.span)),
        "why": diagnostic.message,
    })
}

fn contents(module: &LoadedModule, options: &LowerOptions) -> Result<Value, CliError> {
    let m = &module.module;
    let mut refused: Vec<Diagnostic> = Vec::new();
    let mut kernels = Vec::new();
    for (id, function) in m.kernels() {
        let lowered = module.lower(id, options)?;
        let kernel = &lowered.kernel;
        kernels.push(json!({
            "name": function.name,
            "readable": warplab_host::symbols::signature(&function.name),
            "parameters": kernel.params.iter().map(|p| format!("{} {}", p.ty, p.name)).collect::<Vec<_>>(),
            "instructions": kernel.insts.len(),
            "registers": kernel.regs_per_thread,
            "shared_bytes": kernel.static_shared_bytes,
            "local_bytes": kernel.local_bytes,
            "spill_bytes": kernel.spill_bytes,
            "barriers": kernel.barriers,
            "unsupported": lowered.unsupported.iter().map(|d| unsupported(m, d)).collect::<Vec<_>>(),
        }));
        refused.extend(lowered.unsupported);
    }
    // Functions that no kernel reaches are not lowered; the decoder's errors in them are reported too.
    refused.extend(m.unsupported().map(|(_, diagnostic)| diagnostic.clone()));
    refused.sort_by_key(|d| (d.span.start, d.message.clone()));
    refused.dedup_by_key(|d| (d.span.start, d.message.clone()));
    let functions: Vec<Value> = m.functions.iter().filter(|f| !f.is_kernel).map(function).collect();
    let variables: Vec<Value> = (m.vars.iter())
        .filter(|v| v.space != VarSpace::Param && v.space != VarSpace::Local)
        .map(|v| json!({ "name": v.name, "space": format!("{:?}", v.space).to_lowercase(), "bytes": v.size_bytes }))
        .collect();
    Ok(json!({
        "version": format!("{}.{}", m.version.0, m.version.1),
        "target": m.target.names,
        "kernels": kernels,
        "functions": functions,
        "variables": variables,
        "forms": forms(m),
        "unsupported": refused.iter().map(|d| unsupported(m, d)).collect::<Vec<_>>(),
    }))
}

fn function(function: &Function) -> Value {
    let instructions = function.body.as_ref().map(|b| {
        b.statements.iter().filter(|s| matches!(s, Statement::Inst(_) | Statement::Unsupported(_))).count()
    });
    json!({ "name": function.name, "instructions": instructions })
}

/// The contents as text.
fn shown(contents: &Value, file: &str) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let targets: Vec<String> = list(&contents["target"]).iter().map(&text).collect();
    let mut out = format!("{file}: PTX {}, {}\n", text(&contents["version"]), targets.join(", "));
    for k in list(&contents["kernels"]) {
        let parameters: Vec<String> = list(&k["parameters"]).iter().map(&text).collect();
        let _ = writeln!(out, "kernel {}({})", text(&k["name"]), parameters.join(", "));
        if k["readable"] != k["name"] {
            let _ = writeln!(out, "  {}", text(&k["readable"]));
        }
        let _ = writeln!(
            out,
            "  {} machine instructions, {} registers, {} bytes of shared and {} of local memory",
            k["instructions"], k["registers"], k["shared_bytes"], k["local_bytes"]
        );
    }
    for f in list(&contents["functions"]) {
        let body = match f["instructions"].as_u64() {
            Some(n) => format!("{n} PTX instructions"),
            None => "declared only".into(),
        };
        let _ = writeln!(out, "function {}: {body}", text(&f["name"]));
    }
    for v in list(&contents["variables"]) {
        let _ = writeln!(out, "variable {}: {}, {} bytes", text(&v["name"]), text(&v["space"]), v["bytes"]);
    }
    out.push_str("opcode forms:\n");
    for (form, count) in contents["forms"].as_object().into_iter().flatten() {
        let _ = writeln!(out, "  {:>6} {form}", count.as_u64().unwrap_or(0));
    }
    let refused = list(&contents["unsupported"]);
    if refused.is_empty() {
        out.push_str("everything in it is supported\n");
        return out;
    }
    out.push_str("not supported (a thread that reaches it faults):\n");
    for entry in refused {
        let _ = writeln!(out, "  line {}: {}: {}", entry["line"], text(&entry["form"]), text(&entry["why"]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_the_word_behind_the_guard() {
        assert_eq!(form("add.s32 %r1, %r2, 1;"), "add.s32");
        assert_eq!(form("\t@!%p1  bra $L;"), "bra");
        assert_eq!(form("ret;"), "ret");
        assert_eq!(form("@%p1"), "");
    }
}
