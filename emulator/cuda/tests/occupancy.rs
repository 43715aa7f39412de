//! Occupancy as NVIDIA's `cuda_occupancy.h` computes it, for every GPU that programs can be shown: the function of
//! timing and the API over a grid of registers, block sizes and shared memory; and the API's results for kernels.
//!
//! Needs the header, from `tools/scripts/cuda-toolkit.sh`, and a C++ compiler.

use crate::kit;

use cuda::device::{Attributes, Device};
use kit::{Tool, libraries, skipped, toolkit};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use warplab_gpus::occupancy::{Demand, occupancy};

/// The compiled calculator, or the reason for which there is none.
fn calculator() -> Result<PathBuf, String> {
    static PROGRAM: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let toolkit = toolkit().ok_or("no CUDA toolkit; tools/scripts/cuda-toolkit.sh installs one")?;
        let folder = libraries("occupancy");
        let (source, program) = (
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/occupancy/calculator.cpp"),
            folder.join("calculator"),
        );
        let mut compile = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
        compile.args(["-std=c++17", "-O1", "-w", "-I"]).arg(toolkit.join("include")).arg(source);
        compile.arg("-o").arg(&program).arg("-L").arg(&folder).arg("-l:libcuda.so.1");
        let compiled = compile.output().map_err(|e| format!("no C++ compiler: {e}"))?;
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Ok(program)
    });
    PROGRAM.clone()
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", program.parent().expect("it is in a folder"));
    command
}

const SIZES: [u32; 18] =
    [1, 31, 32, 33, 64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 640, 768, 1000, 1024];
const SHARED: [u32; 24] = [
    0, 1, 127, 128, 129, 255, 256, 257, 1000, 1024, 3072, 8192, 12_288, 16_384, 24_576, 32_768, 49_151,
    49_152, 49_153, 65_536, 98_304, 101_376, 166_912, 232_448,
];

/// Numbers of the attributes that NVIDIA's calculator takes, in its order, after the compute capability.
const ATTRIBUTES: [u32; 10] = [1, 39, 12, 82, 10, 8, 81, 16, 97, 111];

fn list(values: impl IntoIterator<Item = u32>) -> String {
    let values: Vec<u32> = values.into_iter().collect();
    values.iter().fold(values.len().to_string(), |text, v| text + " " + &v.to_string()) + "\n"
}

#[test]
fn occupancy_is_that_of_cuda_occupancy_h() {
    let program = match calculator() {
        Ok(program) => program,
        Err(why) => return skipped(Tool::Nvcc, &why),
    };
    for device in Device::all() {
        let (major, minor) = device.compute_capability;
        let attributes = ATTRIBUTES.map(|n| device.attribute(n).expect("the device has it") as u32);
        let input = list([major, minor].into_iter().chain(attributes)) + &list(SIZES) + &list(SHARED);
        let mut child = command(&program)
            .arg("grid")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", output.status);
        let mut theirs = output.stdout.into_iter();
        for opted_in in [false, true] {
            let resources = device.resources(opted_in);
            for registers in 1..256u32 {
                // The calculator takes ptxas's count, which has the registers that no instruction names.
                let registers_per_thread = registers.saturating_sub(resources.hidden_registers_per_thread);
                for threads_per_block in SIZES {
                    for shared_bytes in SHARED {
                        let demand = Demand { threads_per_block, registers_per_thread, shared_bytes };
                        let ours = occupancy(&resources, &demand).map_or(0, |o| o.blocks);
                        let theirs = theirs.next().map(u32::from);
                        assert_eq!(Some(ours), theirs, "{} {demand:?}, opted in: {opted_in}", device.name);
                    }
                }
            }
        }
        assert_eq!(theirs.next(), None);
    }
}

/// Kernels that need more and more registers, some with shared memory of their own and some with limits.
fn kernels(count: usize) -> String {
    let mut text = String::from(".version 7.0\n.target sm_60\n.address_size 64\n");
    for i in 0..count {
        let values = 1 + i * 22;
        let limit = if i % 3 == 2 { ".maxntid 256, 1, 1\n" } else { "" };
        let _ = write!(
            text,
            ".visible .entry k{i}(.param .u64 p)\n{limit}{{\n.reg .b64 %a;\n.reg .b32 %r<{values}>;\n"
        );
        if i % 2 == 1 {
            let _ =
                write!(text, ".shared .align 16 .b8 own[{}];\n.reg .b32 %s;\nmov.u32 %s, own;\n", i * 3001);
            text += "st.shared.u32 [%s], 1;\n";
        }
        text += "ld.param.u64 %a, [p];\n";
        for v in 0..values {
            let _ = writeln!(text, "ld.global.u32 %r{v}, [%a+{}];", 4 * v);
        }
        text += "bar.sync 0;\n";
        for v in 0..values {
            let _ = writeln!(text, "st.global.u32 [%a+{}], %r{v};", 4 * (values - 1 - v));
        }
        text += "ret;\n}\n";
    }
    text
}

#[test]
fn the_api_answers_as_nvidias_calculator() {
    let program = match calculator() {
        Ok(program) => program,
        Err(why) => return skipped(Tool::Nvcc, &why),
    };
    let (count, module) = (10, program.with_file_name("kernels.ptx"));
    std::fs::write(&module, kernels(count)).expect("the module can be written");
    for device in Device::all() {
        let mut ask = command(&program);
        ask.arg("driver").arg(&module).arg(count.to_string()).env("WARPLAB_DEVICE", &device.name);
        let output = ask.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.ends_with("passed\n"), "{}: {said}{told}", device.name);
    }
}
