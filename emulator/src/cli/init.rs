//! `emu init`: a launch manifest from the kernels of a PTX file, to be filled in.
//!
//! Parameters through which a kernel loads or stores become buffers, of the type of these accesses; other parameters
//! become numbers. Sizes, grids and data are guesses, and the manifest says so.

use super::args::Init;
use super::error::CliError;
use crate::manifest::ElementType;
use crate::ptx::{
    AddressBase, Formal, FuncId, Function, Inst, Module, Op, Operand, RegId, ScalarType, StateSpace,
    Statement, VarId, VarSpace,
};
use crate::session::LoadedModule;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use warplab_host::console;
use warplab_host::destination::Destination;

/// Times that the code is gone through, for addresses that are computed in loops.
const PASSES: usize = 3;

/// Writes a manifest.
///
/// # Errors
/// The file cannot be read, has no such kernel, or the manifest is there already or cannot be written.
pub(super) fn init(args: &Init) -> Result<(), CliError> {
    let module = LoadedModule::read(&args.ptx)?;
    let kernels = chosen(&module, args)?;
    let name = args.ptx.file_name().unwrap_or_default().to_string_lossy();
    let (text, buffers) = manifest(&module.module, &kernels, &name);
    let output = args.output.clone().unwrap_or_else(|| args.ptx.with_extension("toml"));
    let destination = Destination::of(&output);
    if output.as_os_str() == "-" || destination.is_stdout() {
        return Ok(console::print(&text)?);
    }
    let shown = output.display();
    if output.exists() && !args.force {
        return Err(CliError::Usage(format!(
            "{shown} is there already\n  help: --force replaces it, -o names another file"
        )));
    }
    destination
        .write(|out| out.write_all(text.as_bytes()))
        .map_err(|why| CliError::Usage(format!("cannot write {shown}: {why}")))?;
    let launches = if kernels.len() == 1 { "1 launch".into() } else { format!("{} launches", kernels.len()) };
    let buffers = if buffers == 1 { "1 buffer".into() } else { format!("{buffers} buffers") };
    let run = if args.output.is_none() { args.ptx.display() } else { output.display() };
    console::print(&format!(
        "{shown}: {launches}, {buffers}; sizes, grids and data are guesses\n  next: look at it, then `emu run {run}`\n"
    ))?;
    Ok(())
}

/// The kernels of the command; all without a choice.
fn chosen(module: &LoadedModule, args: &Init) -> Result<Vec<FuncId>, CliError> {
    let known = module.kernels();
    let path = args.ptx.display();
    if known.is_empty() {
        return Err(CliError::Usage(format!("{path} has no kernel: no `.entry` with a body")));
    }
    let names: Vec<&str> =
        if args.kernel.is_empty() { known.clone() } else { args.kernel.iter().map(String::as_str).collect() };
    let find = |name: &str| {
        let unknown =
            || CliError::Usage(format!("{path}: {}", warplab_host::names::unknown("kernel", name, &known)));
        module.kernel(name).ok_or_else(unknown)
    };
    names.into_iter().map(find).collect()
}

/// How a kernel uses what a parameter points to.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    element: Option<ScalarType>,
    /// Elements of its widest access.
    vec: u8,
    read: bool,
    written: bool,
}

/// The parameters through which a kernel accesses memory.
fn pointers(module: &Module, kernel: &Function) -> BTreeMap<VarId, Use> {
    let mut found: BTreeMap<VarId, Use> = BTreeMap::new();
    // Parameters from which the address in a register may come.
    let mut from: BTreeMap<RegId, BTreeSet<VarId>> = BTreeMap::new();
    let Some(body) = &kernel.body else { return found };
    for _ in 0..PASSES {
        for statement in &body.statements {
            let Statement::Inst(inst) = statement else { continue };
            follow(module, kernel, inst, &mut from);
            let (element, vec, read, written) = match &inst.op {
                Op::Ld(op) if !is_param(op.space) => (op.ty, op.vec, true, false),
                Op::St(op) if !is_param(op.space) => (op.ty, op.vec, false, true),
                Op::Atom(op) | Op::Red(op) => (op.ty, op.vec, true, true),
                _ => continue,
            };
            let Some(Operand::Mem(address)) = inst.srcs().first() else { continue };
            let AddressBase::Reg(base) = address.base else { continue };
            let element = of_value(kernel, inst, element);
            for param in from.get(&base).into_iter().flatten() {
                let known = found.entry(*param).or_default();
                known.element.get_or_insert(element);
                known.vec = known.vec.max(vec);
                known.read |= read;
                known.written |= written;
            }
        }
    }
    found
}

fn is_param(space: StateSpace) -> bool {
    matches!(space, StateSpace::Param | StateSpace::ParamEntry | StateSpace::ParamFunc)
}

/// The type of an access: that of its register where the instruction names only a width.
fn of_value(kernel: &Function, inst: &Inst, ty: ScalarType) -> ScalarType {
    let value = inst.dsts().first().or_else(|| inst.srcs().get(1));
    let register = match value {
        Some(Operand::Vector(all)) => all.first(),
        other => other,
    };
    match register {
        Some(Operand::Reg(register)) => {
            let declared = kernel.registers[register.index()].ty;
            let is_float = matches!(declared, ScalarType::F32 | ScalarType::F64);
            if is_float && declared.bytes() == ty.bytes() { declared } else { ty }
        }
        _ => ty,
    }
}

/// Follows parameters through the instructions that addresses are computed with.
fn follow(module: &Module, kernel: &Function, inst: &Inst, from: &mut BTreeMap<RegId, BTreeSet<VarId>>) {
    let Some(Operand::Reg(to)) = inst.dsts().first() else { return };
    if kernel.registers[to.index()].ty.bytes() != 8 {
        return;
    }
    let sources: Vec<&Operand> = match &inst.op {
        Op::Ld(op) if is_param(op.space) => {
            if let Some(Operand::Mem(address)) = inst.srcs().first()
                && let AddressBase::Var(var) = address.base
                && module.vars[var.index()].dims.is_empty()
            {
                from.entry(*to).or_default().insert(var);
            }
            return;
        }
        Op::Mov { .. } | Op::Cvta { .. } | Op::Add(_) | Op::Sub(_) | Op::Selp(_) => {
            inst.srcs().iter().collect()
        }
        // The sum's part that is no product.
        Op::Mad(_) => inst.srcs().iter().skip(2).take(1).collect(),
        _ => return,
    };
    let mut all = BTreeSet::new();
    for source in sources {
        if let Operand::Reg(register) | Operand::RegOffset(register, _) = source {
            all.extend(from.get(register).into_iter().flatten().copied());
        }
    }
    from.entry(*to).or_default().extend(all);
}

/// The element of a buffer for an access of this type.
fn element(ty: ScalarType) -> ElementType {
    match ty {
        ScalarType::F64 => ElementType::F64,
        ScalarType::F32 => ElementType::F32,
        ScalarType::F16 => ElementType::F16,
        ScalarType::S8 => ElementType::S8,
        ScalarType::S16 => ElementType::S16,
        ScalarType::S32 => ElementType::S32,
        ScalarType::S64 => ElementType::S64,
        other => match other.bytes() {
            0 | 1 => ElementType::U8,
            2 => ElementType::U16,
            4 => ElementType::U32,
            _ => ElementType::U64,
        },
    }
}

/// The name of a type in a manifest.
fn type_name(element: ElementType) -> &'static str {
    ElementType::ALL.iter().find(|(_, known)| *known == element).map_or("u32", |(name, _)| name)
}

/// The name of a kernel in its source, as far as the mangled one begins with it.
fn short(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("_Z") else { return name };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let length = rest[..digits].parse::<usize>().ok();
    length.and_then(|length| rest.get(digits..digits + length)).unwrap_or(name)
}

/// The name of a parameter as the name of a buffer: its own, or its number where the compiler gave it none.
fn buffer_name(kernel: &Function, param: &str, number: usize, several: bool) -> String {
    let own = param.strip_prefix(&kernel.name).map_or(param, |_| "");
    let base = if own.is_empty() { format!("p{number}") } else { own.trim_start_matches('%').to_owned() };
    let clean = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
    };
    if several { clean(&format!("{}_{base}", short(&kernel.name))) } else { clean(&base) }
}

/// Text of a function, up to the next one.
fn text_of<'a>(module: &'a Module, kernel: &Function) -> &'a str {
    let text = module.source.text();
    let start = kernel.span.start as usize;
    let next = module.functions.iter().map(|other| other.span.start as usize).filter(|at| *at > start).min();
    text.get(start..next.unwrap_or(text.len())).unwrap_or("")
}

/// The manifest of some kernels, and the number of its buffers.
fn manifest(module: &Module, kernels: &[FuncId], ptx: &str) -> (String, usize) {
    let functions: Vec<&Function> = kernels.iter().map(|id| &module.functions[id.index()]).collect();
    let (mut buffers, mut launches, mut count) = (String::new(), String::new(), 0);
    let flat = |kernel: &Function| {
        ![".y", ".z"].iter().any(|axis| text_of(module, kernel).contains(&format!("%tid{axis}")))
    };
    let all_flat = functions.iter().all(|kernel| flat(kernel));
    let len = if all_flat { "n" } else { "n*n" };
    for kernel in &functions {
        let uses = pointers(module, kernel);
        let mut arguments = Vec::new();
        for (number, formal) in kernel.params.iter().enumerate() {
            let Formal::Var(var) = formal else { continue };
            let param = &module.vars[var.index()];
            let is_pointer = uses.contains_key(var) || param.pointer.is_some();
            if is_pointer && param.dims.is_empty() {
                let name = buffer_name(kernel, &param.name, number, functions.len() > 1);
                let seed = count + 1;
                buffer(&mut buffers, &name, uses.get(var).copied().unwrap_or_default(), len, seed);
                arguments.push(format!("\"@{name}\""));
                count += 1;
            } else {
                arguments.push(argument(param.ty, param.size_bytes, param.dims.is_empty()));
            }
        }
        launch(&mut launches, module, kernel, flat(kernel), &arguments);
    }
    let n = if all_flat { 1024 } else { 64 };
    let mut text = format!(
        "# Launches of {ptx}, written by `emu init`. Sizes, grids and data are guesses: set them to what the kernels expect.\n\
         # `emu run` takes --set n=4096; README.md, \"Launch manifests\", describes the format.\n\
         ptx = \"{}\"\n\n[scalars]\nn = {n}\n",
        ptx.escape_default()
    );
    text += &buffers;
    text += &launches;
    (text, count)
}

fn buffer(out: &mut String, name: &str, used: Use, len: &str, seed: usize) {
    let element = used.element.map(element);
    let shown = type_name(element.unwrap_or(ElementType::U32));
    let len = if used.vec > 1 { format!("{}*{len}", used.vec) } else { len.to_owned() };
    let unknown = if element.is_none() { "   # no access of the kernel tells its type" } else { "" };
    let init = match element {
        _ if !used.read => "\"zeros\"".to_owned(),
        Some(ElementType::F16 | ElementType::F32 | ElementType::F64) => {
            format!("{{ random = {{ seed = {seed}, min = -1.0, max = 1.0 }} }}")
        }
        // Counting numbers are valid as indices, too.
        _ => "\"iota\"".to_owned(),
    };
    let _ = write!(out, "\n[buffers.{name}]\ntype = \"{shown}\"{unknown}\nlen = \"{len}\"\ninit = {init}\n");
}

/// A parameter that is no pointer.
fn argument(ty: ScalarType, bytes: u64, is_scalar: bool) -> String {
    if !is_scalar {
        let zeros = "00".repeat(usize::try_from(bytes).unwrap_or(0));
        return format!("{{ bytes = \"{zeros}\" }}");
    }
    let name = type_name(element(ty));
    let value =
        if matches!(ty, ScalarType::F16 | ScalarType::F32 | ScalarType::F64) { "1.0" } else { "\"n\"" };
    format!("{{ {name} = {value} }}")
}

fn launch(out: &mut String, module: &Module, kernel: &Function, flat: bool, arguments: &[String]) {
    let limit = kernel.limits.required_threads.or(kernel.limits.max_threads);
    let block = match limit {
        Some(block) => block,
        None if flat => [256, 1, 1],
        None => [16, 16, 1],
    };
    let blocks = |threads: u32| if threads > 1 { format!("\"ceil_div(n,{threads})\"") } else { "1".into() };
    let grid: Vec<String> = block.iter().map(|threads| blocks(*threads)).collect();
    let _ = write!(
        out,
        "\n[[launch]]\nkernel = \"{}\"\ngrid = [{}]\nblock = [{}, {}, {}]\n",
        kernel.name.escape_default(),
        grid.join(", "),
        block[0],
        block[1],
        block[2]
    );
    let dynamic = |var: &&crate::ptx::Variable| var.space == VarSpace::Shared && var.size_bytes == 0;
    if let Some(var) =
        module.vars.iter().find(dynamic).filter(|var| text_of(module, kernel).contains(&var.name))
    {
        let bytes = 8 * block.iter().product::<u32>();
        let _ = writeln!(out, "shared = {bytes}   # bytes of `{}`, whose size the launch gives", var.name);
    }
    let _ = writeln!(out, "args = [{}]", arguments.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(short("_Z5saxpyifPKfPf"), "saxpy");
        assert_eq!(short("plain"), "plain");
        assert_eq!(short("_ZN2ns3addEv"), "_ZN2ns3addEv");
    }

    #[test]
    fn a_kernel_s_parameters_become_buffers_and_numbers() {
        let text = "\
.version 8.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 add_param_0, .param .u64 out, .param .u32 count, .param .f32 by)
{
    .reg .f32 %f<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [add_param_0];
    ld.param.u64 %rd2, [out];
    cvta.to.global.u64 %rd3, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.s32 %rd4, %r1, 4;
    add.s64 %rd5, %rd3, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    ld.global.b32 %f1, [%rd5];
    ld.param.f32 %f2, [by];
    add.f32 %f1, %f1, %f2;
    st.global.f32 [%rd6], %f1;
    ret;
}
";
        let loaded = LoadedModule::parse(text, "add.ptx").expect("a module");
        let kernels: Vec<FuncId> = loaded.module.kernels().map(|(id, _)| id).collect();
        let (manifest, buffers) = manifest(&loaded.module, &kernels, "add.ptx");
        assert_eq!(buffers, 2, "{manifest}");
        for part in [
            "[buffers.p0]\ntype = \"f32\"\nlen = \"n\"\ninit = { random",
            "[buffers.out]\ntype = \"f32\"\nlen = \"n\"\ninit = \"zeros\"",
            "grid = [\"ceil_div(n,256)\", 1, 1]\nblock = [256, 1, 1]",
            "args = [\"@p0\", \"@out\", { u32 = \"n\" }, { f32 = 1.0 }]",
        ] {
            assert!(manifest.contains(part), "{part}\n{manifest}");
        }
    }
}
