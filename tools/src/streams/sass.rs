//! ptxas's code of a PTX file, as `nvdisasm` lists it with lines.

use super::code::{Code, Ending, Instruction, Weight};
use super::marked::with_lines;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

/// Why there is no code of ptxas.
#[derive(Debug, thiserror::Error)]
pub enum SassError {
    /// A tool that did not start.
    #[error("{tool}: {why}")]
    Start {
        /// The tool's path.
        tool: String,
        /// The system's reason.
        why: std::io::Error,
    },
    /// A tool that ended with an error.
    #[error("{tool} refuses {file}:\n{output}")]
    Refused {
        /// The tool's path.
        tool: String,
        /// The PTX file.
        file: String,
        /// What it printed.
        output: String,
    },
    /// A temporary file.
    #[error("temporary file: {0}")]
    File(#[from] std::io::Error),
}

/// Compiles PTX with `ptxas -O3` for a target (`sm_75`); its kernels by name.
///
/// # Errors
/// A tool does not start, or refuses the file.
pub fn native(
    ptxas: &Path,
    nvdisasm: &Path,
    name: &Path,
    ptx: &str,
    target: &str,
) -> Result<BTreeMap<String, Code>, SassError> {
    let folder = tempfile::tempdir()?;
    let (source, cubin) = (folder.path().join("lines.ptx"), folder.path().join("lines.cubin"));
    let made = (|| {
        std::fs::write(&source, with_lines(ptx))?;
        let arch = format!("-arch={target}");
        let args = ["-lineinfo", "-O3", arch.as_str(), "-o"];
        run(Command::new(ptxas).args(args).arg(&cubin).arg(&source), ptxas, name)?;
        run(Command::new(nvdisasm).args(["-g", "-c"]).arg(&cubin), nvdisasm, name)
    })();
    Ok(parse(&String::from_utf8_lossy(&made?.stdout)))
}

fn run(command: &mut Command, tool: &Path, name: &Path) -> Result<Output, SassError> {
    let tool = tool.display().to_string();
    match command.output() {
        Ok(output) if output.status.success() => Ok(output),
        Ok(output) => {
            let output = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(SassError::Refused { tool, file: name.display().to_string(), output })
        }
        Err(why) => Err(SassError::Start { tool, why }),
    }
}

/// A line of the listing that is an instruction.
struct Listed {
    line: u32,
    /// Text without guard.
    text: String,
    guarded: bool,
}

impl Listed {
    fn mnemonic(&self) -> &str {
        self.text.split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or_default()
    }

    fn stem(&self) -> &str {
        self.mnemonic().split('.').next().unwrap_or_default()
    }

    /// The label that the instruction names: `` `(.L_x_3) ``.
    fn label(&self) -> Option<&str> {
        self.text.split_once("`(")?.1.split(')').next()
    }

    /// Whether lanes may go on behind it, of a branch: a guard, or a predicate before the label (`BRA.DIV`, `BRA.U`).
    fn is_conditional(&self) -> bool {
        let before = self.text.split("`(").next().unwrap_or_default();
        self.guarded || before.split_whitespace().nth(1).is_some()
    }
}

#[derive(Default)]
struct Listing {
    instructions: Vec<Listed>,
    labels: BTreeMap<String, usize>,
}

/// Kernels of a listing of `nvdisasm -g -c`, by name.
#[must_use]
pub fn parse(listing: &str) -> BTreeMap<String, Code> {
    let mut kernels: BTreeMap<String, Listing> = BTreeMap::new();
    let mut kernel: Option<&mut Listing> = None;
    let mut line = 0;
    for text in listing.lines().map(str::trim) {
        if let Some(rest) = text.strip_prefix(".section").filter(|rest| rest.starts_with(char::is_whitespace))
        {
            let name = rest.trim().split(',').next().unwrap_or_default().trim_matches('"');
            kernel = name.strip_prefix(".text.").map(|name| kernels.entry(name.to_owned()).or_default());
            line = 0;
            continue;
        }
        let Some(kernel) = kernel.as_deref_mut() else { continue };
        if let Some(place) = text.strip_prefix("//## File ") {
            line = place.split("line ").nth(1).and_then(number).unwrap_or(0);
        } else if let Some(label) = text.strip_suffix(':') {
            kernel.labels.insert(label.to_owned(), kernel.instructions.len());
        } else if let Some(listed) = instruction(text, line) {
            kernel.instructions.push(listed);
        }
    }
    kernels.retain(|_, listing| !listing.instructions.is_empty());
    kernels.into_iter().map(|(name, listing)| (name, listing.code())).collect()
}

fn number(text: &str) -> Option<u32> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// `/*0180*/   @!P0 BRA `(.L_x_0) ;`
fn instruction(text: &str, line: u32) -> Option<Listed> {
    let (address, rest) = text.strip_prefix("/*")?.split_once("*/")?;
    if address.is_empty() || !address.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let rest = rest.trim();
    let (guarded, text) = match rest.strip_prefix('@') {
        Some(guard) => {
            guard.split_once(char::is_whitespace).map(|(guard, text)| (guard != "PT", text.trim()))?
        }
        None => (false, rest),
    };
    (!text.is_empty()).then(|| Listed { line, text: text.to_owned(), guarded })
}

/// Whether a mnemonic ends a block.
fn ends_block(stem: &str) -> bool {
    matches!(
        stem,
        "BRA"
            | "BRX"
            | "JMP"
            | "JMX"
            | "EXIT"
            | "RET"
            | "CALL"
            | "BSYNC"
            | "BPT"
            | "KILL"
            | "BAR"
            | "WARPSYNC"
    )
}

impl Listing {
    fn code(mut self) -> Code {
        self.drop_padding();
        let list = &self.instructions;
        let mut leaders: BTreeSet<usize> = self.labels.values().copied().chain([0]).collect();
        leaders.extend(list.iter().enumerate().filter(|(_, i)| ends_block(i.stem())).map(|(at, _)| at + 1));
        let mut leaders: Vec<usize> = leaders.into_iter().filter(|at| *at < list.len()).collect();
        leaders.push(list.len());
        let blocks: Vec<_> = leaders.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let block_of = |at: usize| leaders[..blocks.len()].partition_point(|first| *first <= at) - 1;
        let target =
            |label: &str| self.labels.get(label).filter(|at| **at < list.len()).map(|at| block_of(*at));
        let mut successors = Vec::with_capacity(blocks.len());
        let mut endings = Vec::with_capacity(blocks.len());
        // Where the convergence barrier of each register was last said to end.
        let mut converges: BTreeMap<&str, &str> = BTreeMap::new();
        for (number, block) in blocks.iter().enumerate() {
            for inst in list[block.clone()].iter().filter(|i| i.stem() == "BSSY") {
                let register =
                    inst.text.split([' ', ',']).find(|word| word.starts_with('B') && *word != "BSSY");
                converges.extend(register.zip(inst.label()));
            }
            let last = &list[block.end - 1];
            let next = (number + 1 < blocks.len()).then_some(number + 1);
            let mut to = Vec::new();
            let mut ending = Ending::Flows;
            match last.stem() {
                // Warps whose lanes are together do not take the code for diverged ones.
                "BRA" | "JMP" if last.mnemonic().contains(".DIV") => to.extend(next),
                "BRA" | "JMP" => {
                    to.extend(last.label().and_then(target));
                    to.extend(next.filter(|_| last.is_conditional()));
                }
                "BRX" | "JMX" => {
                    to.extend(self.labels.values().filter(|at| **at < list.len()).map(|at| block_of(*at)));
                }
                "EXIT" | "RET" | "KILL" => to.extend(next.filter(|_| last.guarded)),
                "BPT" => {}
                "BSYNC" => {
                    let register = last.text.split_whitespace().nth(1).unwrap_or_default();
                    let after = converges.get(register).copied().and_then(target);
                    to.extend(after.or(next));
                    to.extend(next.filter(|_| last.guarded));
                }
                "CALL" => {
                    ending = Ending::Calls;
                    to.extend(next);
                }
                _ => to.extend(next),
            }
            to.sort_unstable();
            to.dedup();
            successors.push(to);
            endings.push(ending);
        }
        let instructions =
            list.iter().map(|i| Instruction { line: i.line, weight: Weight::of(i.mnemonic()) }).collect();
        Code { instructions, blocks, successors, endings }
    }

    /// The branch to itself and the NOPs behind it fill the end.
    fn drop_padding(&mut self) {
        while self.instructions.last().is_some_and(|i| i.stem() == "NOP") {
            self.instructions.pop();
        }
        let last = self.instructions.len().saturating_sub(1);
        let to_itself =
            |i: &Listed| i.stem() == "BRA" && i.label().is_some_and(|l| self.labels.get(l) == Some(&last));
        if self.instructions.last().is_some_and(to_itself) {
            self.instructions.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_becomes_blocks_with_lines() {
        let listing = "\t.section\t.text.k,\"ax\",@progbits\n\t.sectioninfo\t@\"SHI_REGISTERS=8\"\nk:\n.text.k:\n\
            \t//## File \"lines.ptx\", line 5\n        /*0000*/                   MOV R1, c[0x0][0x28] ;\n\
            .L_x_0:\n        /*0010*/                   STG.E.SYS [R2], R1 ;\n\
            \t//## File \"lines.ptx\", line 7\n        /*0020*/              @!P0 BRA `(.L_x_0) ;\n\
            \x20       /*0030*/                   BRA.DIV ~URZ, `(.L_x_2) ;\n\
            \x20       /*0040*/                   EXIT ;\n\
            .L_x_2:\n        /*0050*/                   WARPSYNC R4 ;\n        /*0060*/                   EXIT ;\n\
            .L_x_3:\n        /*0070*/                   BRA `(.L_x_3);\n        /*0080*/                   NOP;\n";
        let kernels = parse(listing);
        let code = &kernels["k"];
        assert_eq!(code.instructions.iter().map(|i| i.line).collect::<Vec<_>>(), [5, 5, 7, 7, 7, 7, 7]);
        assert_eq!(code.instructions[1].weight, Weight::Pinned);
        assert_eq!(code.blocks, [0..1, 1..3, 3..4, 4..5, 5..6, 6..7]);
        // The code for diverged warps is not reached.
        assert_eq!(code.successors, [vec![1], vec![1, 2], vec![3], vec![], vec![5], vec![]]);
    }

    #[test]
    fn a_convergence_barrier_goes_on_where_it_was_set() {
        let at = |pc: u32, text: &str| format!("        /*{pc:04x}*/                   {text} ;\n");
        let listing = format!(
            "\t.section\t.text.k,\"ax\"\n{}{}{}{}.L_x_1:\n{}{}.L_x_2:\n{}",
            at(0, "BSSY B0, `(.L_x_2)"),
            at(16, "@P0 BRA `(.L_x_1)"),
            at(32, "STG [R2], R3"),
            at(48, "BSYNC B0"),
            at(64, "STG [R4], R3"),
            at(80, "BSYNC B0"),
            at(96, "EXIT"),
        );
        let code = &parse(&listing)["k"];
        assert_eq!(code.successors, [vec![1, 2], vec![3], vec![3], vec![]]);
    }
}
