//! CUDA programs whose machine code runs: because it is asked for, or because they have no PTX.

use crate::kit;

use kit::{Tool, nvcc, skipped};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program with variables in global and constant memory, shared memory and an attribute that says what was loaded: the
/// compute capability of its code.
const PROGRAM: &str = r#"
#include <cstdio>
__constant__ float factors[4];
__device__ int calls = 5;
__device__ float last[64];
__device__ float *to_last = last;
__global__ void scale(float *out, const float *in, int n) {
    __shared__ float row[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    row[threadIdx.x] = i < n ? in[i] * factors[i & 3] : 0;
    __syncthreads();
    if (i < n) out[i] = row[63 - threadIdx.x];
    if (threadIdx.x == 0) atomicAdd(&calls, 2);
    to_last[threadIdx.x] = row[threadIdx.x];
}
#define OK(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorName(e)); return 1; } } while (0)
int main() {
    const int n = 256;
    float in[n], out[n], *a, *b, f[4] = {1, 2, 3, 4}, last_row[64];
    for (int i = 0; i < n; i++) in[i] = i;
    OK(cudaMalloc(&a, sizeof in)); OK(cudaMalloc(&b, sizeof out));
    OK(cudaMemcpy(a, in, sizeof in, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToSymbol(factors, f, sizeof f));
    scale<<<4, 64>>>(b, a, n);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(out, b, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        int j = i / 64 * 64 + 63 - i % 64;
        if (out[i] != in[j] * f[j & 3]) { printf("out[%d] is %f\n", i, out[i]); return 1; }
    }
    int count; OK(cudaMemcpyFromSymbol(&count, calls, sizeof count));
    OK(cudaMemcpyFromSymbol(last_row, last, sizeof last_row));
    if (last_row[1] != 2 * (int)(last_row[1] / 2) || count != 13) { printf("%d calls\n", count); return 1; }
    cudaFuncAttributes attributes; OK(cudaFuncGetAttributes(&attributes, scale));
    printf("code of %d, %d shared, %d constant\n", attributes.ptxVersion, (int)attributes.sharedSizeBytes, (int)attributes.constSizeBytes);
    return 0;
}
"#;

const PTX_75: [&str; 2] = ["-gencode", "arch=compute_75,code=compute_75"];
const SASS_80: [&str; 2] = ["-gencode", "arch=compute_80,code=sm_80"];
const SASS_75: [&str; 2] = ["-gencode", "arch=compute_75,code=sm_75"];
const SASS_100: [&str; 2] = ["-gencode", "arch=compute_100,code=sm_100"];

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda-native");
    fs::create_dir_all(&folder).expect("the folder for tests can be written");
    folder
}

fn compile(nvcc: &Path, name: &str, text: &str, flags: &[[&str; 2]]) -> PathBuf {
    let source = folder().join(format!("{name}.cu"));
    fs::write(&source, text).expect("a source file can be written");
    compile_files(nvcc, name, &[source], &flags.concat())
}

fn compile_files(nvcc: &Path, name: &str, sources: &[PathBuf], flags: &[&str]) -> PathBuf {
    let program = folder().join(name);
    let mut command = Command::new(nvcc);
    command.args(flags).args(["-cudart", "shared", "-o"]).arg(&program).args(sources);
    let compiled = command.output().expect("nvcc starts");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

fn start(program: &Path, code: Option<&str>, device: &str) -> Output {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", kit::libraries("cuda-native-libraries")).env("WARPLAB_DEVICE", device);
    command.envs(code.map(|code| ("WARPLAB_CODE", code)));
    command.output().expect("the program starts")
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn programs_run_the_code_that_is_asked_for() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, "no nvcc; tools/scripts/cuda-toolkit.sh installs it");
    };
    let of = |arch: u32| format!("code of {arch}, 256 shared, 16 constant\n");
    let both = compile(&nvcc, "both", PROGRAM, &[PTX_75, SASS_80]);
    for (code, device, arch) in [
        (None, "sm_86", 75),
        (Some("ptx"), "sm_86", 75),
        (Some("sass"), "sm_86", 80),
        // No driver would load it, but the emulator runs the code of every known target.
        (Some("sass"), "sm_75", 80),
    ] {
        let (out, err) = said(&start(&both, code, device));
        assert_eq!((out, err.as_str()), (of(arch), ""), "{code:?} on {device}");
    }
    // Where there is no PTX, machine code runs: that of the GPU's major version.
    let alone = compile(&nvcc, "alone", PROGRAM, &[SASS_75, SASS_80]);
    for (device, arch) in [("sm_75", 75), ("sm_86", 80)] {
        assert_eq!(said(&start(&alone, None, device)).0, of(arch), "{device}");
    }
    // Where there is no machine code of a known target, PTX runs, and that is told.
    let newer = compile(&nvcc, "newer", PROGRAM, &[PTX_75, SASS_100]);
    let (out, err) = said(&start(&newer, Some("sass"), "sm_86"));
    assert_eq!(out, of(75));
    assert_eq!(
        err.matches("there is no machine code of a known target; PTX runs instead").count(),
        1,
        "{err}"
    );
    let (_, err) = said(&start(&both, Some("other"), "sm_86"));
    assert!(err.contains("WARPLAB_CODE=other is not understood and ignored"), "{err}");
}

#[test]
fn kernels_of_closed_libraries_are_refused() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, "no nvcc; tools/scripts/cuda-toolkit.sh installs it");
    };
    let text = "#include <cstdio>\nnamespace cublas { __global__ void gemm(int *p) { *p = 1; } }\n__global__ void own(int *p) { *p = 2; }\n\
        int main() { int *p, v = 0; cudaMalloc(&p, 4); cublas::gemm<<<1, 1>>>(p);\n\
        printf(\"%d \", cudaGetLastError() != cudaSuccess); own<<<1, 1>>>(p); cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost);\n\
        printf(\"%d\\n\", v); return 0; }\n";
    let program = compile(&nvcc, "closed", text, &[SASS_80]);
    let (out, err) = said(&start(&program, None, "sm_86"));
    assert_eq!(out, "1 2\n", "{err}");
    assert!(err.contains("6cublas") && err.contains("libcublas, one of NVIDIA's closed libraries"), "{err}");
}

/// Functions of other files are called by addresses in the code; those of the system are not in the program at all.
#[test]
fn linked_programs_print_allocate_and_assert() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, "no nvcc; tools/scripts/cuda-toolkit.sh installs it");
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linked");
    let sources = ["main.cu", "functions.cu"].map(|name| folder.join(name));
    // The three ways in which calls and their addresses are written.
    for target in [75, 86, 120] {
        let flags = ["-rdc=true", &format!("-arch=sm_{target}")];
        let program = compile_files(&nvcc, &format!("linked{target}"), &sources, &flags);
        let (out, err) = said(&start(&program, Some("sass"), "sm_86"));
        let (expected, _) = said(&start(&program, Some("ptx"), "sm_86"));
        // Lanes that have come apart print in any order.
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(sorted(&out), sorted(&expected), "sm_{target}: {err}");
        assert!(out.contains("thread 11 has") && out.contains("4 calls, no error"), "sm_{target}: {out}");
        assert!(out.contains("votes 1090785345 and 136348168"), "sm_{target}: {out}");
        assert!(out.contains("device-side assert"), "sm_{target}: {out}");
        assert!(err.contains("thread: [3,0,0] Assertion"), "sm_{target}: {err}");
    }
}
