#!/usr/bin/env bash
# Records and replays the kernels of tests/tables/silicon-programs.csv, public programs on a GV100 at boost clock.
#
#   boost-clock.sh build  FOLDER
#   boost-clock.sh record FOLDER
#   boost-clock.sh replay FOLDER OUT.csv [OPTIONS of timing replay]
#
# FOLDER/src holds checkouts of the programs: gpu-app-collection (github.com/accel-sim, commit 52c11fb; of src/cuda: parboil,
# rodinia/3.1 and cutlass-bench) and cuda-samples (github.com/NVIDIA, commit c94ff366). Nothing of them is part of this
# repository. `build` compiles them into FOLDER/build for compute capability 7.5 with nvcc ($CUDA_HOME/bin or PATH) and writes
# their inputs; traces are written to FOLDER/traces.
#
# The sizes are those of the profile; inputs that are not published are made here: numbers at random or zero, which decide
# few addresses. Textures are objects, because CUDA 12 has no references to them.
#
# replay writes the committed table with its column `cycles` replaced, and prints the errors. Of a kernel that the program
# launches more often than is recorded, the first launch counts once and the mean of the others for the rest. EMU and TIMING
# name programs that are built already (default: those in target/release). CONFIG names another configuration, PROGRAMS
# some of the programs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
table=${TABLE:-$root/tests/tables/silicon-programs.csv}
target=${CARGO_TARGET_DIR:-$root/target}/release
emu=${EMU:-$target/emu}
timing=${TIMING:-$target/timing}

usage() {
    sed -n '2,21s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}
[ $# -ge 2 ] || usage
action=$1
folder=$(cd "$2" && pwd)
shift 2

apps=$folder/src/gpu-app-collection/src/cuda
rodinia=$apps/rodinia/3.1/cuda
parboil=$apps/parboil
samples=$folder/src/cuda-samples
build=$folder/build
inputs=$folder/inputs
programs=(${PROGRAMS:-b+tree backprop hotspot k-means srad_v1 sgemm mri-q dct8x8 binomialOptions fastWalshTransform histogram
    mergeSort quasirandomGenerator sobolQRNG cudaTensorCoreGemm cutlass-16 cutlass-128 cutlass-512 sad})

# What CUDA 13 no longer has: two names, and references to textures, which become objects in constant memory.
write_headers() {
    cat >"$build/include/removed.h" <<'END'
#ifdef __CUDACC__
#include <cuda_runtime.h>
#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadExit cudaDeviceReset
template <class T, int dimensions, cudaTextureReadMode mode> struct texture {
    cudaTextureObject_t object;
    static inline cudaChannelFormatDesc channelDesc = cudaCreateChannelDesc<T>();
    cudaTextureFilterMode filterMode;
    int normalized;
};
template <class T, int dimensions, cudaTextureReadMode mode>
cudaError_t bind_texture(texture<T, dimensions, mode> &reference, cudaResourceDesc &resource) {
    cudaTextureDesc description = {};
    description.readMode = mode;
    texture<T, dimensions, mode> bound = reference;
    cudaError_t error = cudaCreateTextureObject(&bound.object, &resource, &description, 0);
    return error ? error : cudaMemcpyToSymbol(reference, &bound, sizeof bound);
}
template <class T, int dimensions, cudaTextureReadMode mode>
cudaError_t cudaBindTexture(size_t *, texture<T, dimensions, mode> *reference, void *start, cudaChannelFormatDesc *, size_t bytes) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = start;
    resource.res.linear.desc = cudaCreateChannelDesc<T>();
    resource.res.linear.sizeInBytes = bytes;
    return bind_texture(*reference, resource);
}
template <class T, int dimensions, cudaTextureReadMode mode>
cudaError_t cudaBindTextureToArray(texture<T, dimensions, mode> &reference, cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return bind_texture(reference, resource);
}
template <class T, int dimensions, cudaTextureReadMode mode>
cudaError_t cudaUnbindTexture(texture<T, dimensions, mode> &) {
    return cudaSuccess;
}
template <class T, cudaTextureReadMode mode> __device__ T tex1Dfetch(const texture<T, 1, mode> &reference, int x) {
    return tex1Dfetch<T>(reference.object, x);
}
template <class T, cudaTextureReadMode mode> __device__ T tex2D(const texture<T, 2, mode> &reference, float x, float y) {
    return tex2D<T>(reference.object, x, y);
}
#endif
END
}

# A product as the benchmark of CUTLASS 1.3 launches it: columns of halves by columns of halves to singles, zeros.
write_product() {
    cat >"$build/cutlass.cu" <<'END'
#include "cutlass/wmma_matrix.h"
#include "cutlass/gemm/gemm.h"
#include "cutlass/gemm/wmma_gemm_traits.h"
#include <cstdio>
#include <cstdlib>
using namespace cutlass;
typedef gemm::Gemm<gemm::WmmaGemmTraits<MatrixLayout::kColumnMajor, MatrixLayout::kColumnMajor>> Gemm;
int main(int, char **arguments) {
    int m = atoi(arguments[1]), n = atoi(arguments[2]), k = atoi(arguments[3]);
    half *a, *b;
    float *c;
    cudaMalloc(&a, sizeof(half) * m * k);
    cudaMalloc(&b, sizeof(half) * k * n);
    cudaMalloc(&c, sizeof(float) * m * n);
    cudaMemset(a, 0, sizeof(half) * m * k);
    cudaMemset(b, 0, sizeof(half) * k * n);
    cudaMemset(c, 0, sizeof(float) * m * n);
    Gemm::Params params;
    params.initialize(m, n, k, 1.0f, a, m, b, k, 0.0f, c, m, c, m);
    Gemm::launch(params);
    cudaError_t error = cudaDeviceSynchronize();
    puts(cudaGetErrorString(error));
    return error != cudaSuccess;
}
END
}

write_inputs() {
    mkdir -p "$inputs"
    python3 - "$inputs" <<'END'
import array, os, random, sys
os.chdir(sys.argv[1])
random.seed(1)
def floats(file, count):
    array.array("f", (random.random() for _ in range(count))).tofile(file)
with open("keys", "w") as out:
    out.write("1000000\n" + "\n".join(map(str, range(1000000))) + "\n")
# The program reads on until a zero byte.
with open("commands", "w") as out:
    out.write("j 6000 3000\nk 10000\n\0")
for name, low, high in ("temperatures", 323, 341), ("powers", 0.0001, 0.01):
    with open(name, "w") as out:
        out.writelines(f"{random.uniform(low, high):.6f}\n" for _ in range(1024 * 1024))
with open("points", "wb") as out:
    array.array("i", (819200, 34)).tofile(out)
    floats(out, 819200 * 34)
with open("image.pgm", "w") as out:
    out.write("P2\n458 502\n255\n" + "\n".join(str(random.randrange(256)) for _ in range(458 * 502)) + "\n")
for name, rows, columns in ("a", 1024, 992), ("b", 1056, 992):
    with open(name, "w") as out:
        out.write(f"{rows} {columns} " + "1 " * (rows * columns))
with open("mri", "wb") as out:
    array.array("i", (2048, 262144)).tofile(out)
    floats(out, 5 * 2048 + 3 * 262144)
for name in "frame", "reference":
    with open(name, "wb") as out:
        array.array("H", (1920, 1072)).tofile(out)
        array.array("H", (random.randrange(256) for _ in range(1920 * 1072))).tofile(out)
END
}

compile() { # program, folder of sources, sources and options
    local name=$1 sources=$2
    shift 2
    rm -rf "$build/source"
    cp -R "$sources" "$build/source"
    # Loops that repeat launches are shortened. Device 1 and symbols by name are of older toolkits, a missing return of older
    # compilers.
    find "$build/source" -name '*.c*' -exec sed -i -e 's/^texture</__constant__ texture</' -e 's/cudaSetDevice(1)/cudaSetDevice(0)/' \
        -e 's/cudaMemcpyToSymbol("\([a-z_]*\)"/cudaMemcpyToSymbol(\1/' -e 's/numIterations *= [0-9]*;/numIterations = 1;/' \
        -e 's/\(numRuns *\)= 16/\1= 0/' -e 's/v.pop_back();/& return true;/' -e 's|../../../data/srad/||' {} +
    (cd "$build/source" && "${nvcc[@]}" -O3 -w -I"$build/include" -I"$sources" -I"$samples/Common" -I"$parboil/common/include" \
        -include "$build/include/removed.h" -o "$build/$name" "$@")
}

build_programs() {
    mkdir -p "$build/include"
    write_headers
    write_product
    write_inputs
    nvcc=("${CUDA_HOME:+$CUDA_HOME/bin/}nvcc" -arch=compute_75)
    local benchmarks=$parboil/benchmarks timers=$parboil/common/src/parboil.c part=$samples/Samples
    compile b+tree "$rodinia/b+tree" main.c kernel/kernel_gpu_cuda_wrapper.cu kernel/kernel_gpu_cuda_wrapper_2.cu \
        util/cuda/cuda.cu util/num/num.c util/timer/timer.c
    compile backprop "$rodinia/backprop" backprop.c facetrain.c imagenet.c backprop_cuda.cu
    compile hotspot "$rodinia/hotspot" hotspot.cu
    compile k-means "$rodinia/kmeans" cluster.c getopt.c kmeans.c kmeans_clustering.c kmeans_cuda.cu rmse.c
    compile srad_v1 "$rodinia/srad/srad_v1" main.cu
    compile sgemm "$benchmarks/sgemm/src/cuda" main.cu io.cc "$timers"
    compile mri-q "$benchmarks/mri-q/src/cuda" --use_fast_math main.cu file.cc "$timers"
    compile sad "$benchmarks/sad/src/cuda" main.cu sad4.cu largerBlocks.cu file.c image.c "$timers"
    compile mergeSort "$part/0_Introduction/mergeSort" main.cpp bitonic.cu mergeSort.cu mergeSort_host.cpp mergeSort_validate.cpp
    compile dct8x8 "$part/2_Concepts_and_Techniques/dct8x8" BmpUtil.cpp DCT8x8_Gold.cpp dct8x8.cu
    compile histogram "$part/2_Concepts_and_Techniques/histogram" main.cpp histogram64.cu histogram256.cu histogram_gold.cpp
    compile cudaTensorCoreGemm "$part/3_CUDA_Features/cudaTensorCoreGemm" cudaTensorCoreGemm.cu
    compile sobolQRNG "$part/5_Domain_Specific/SobolQRNG" sobol.cpp sobol_gold.cpp sobol_gpu.cu sobol_primitives.cpp
    compile binomialOptions "$part/5_Domain_Specific/binomialOptions" binomialOptions.cpp binomialOptions_gold.cpp \
        binomialOptions_kernel.cu
    compile fastWalshTransform "$part/5_Domain_Specific/fastWalshTransform" fastWalshTransform.cu fastWalshTransform_gold.cpp
    compile quasirandomGenerator "$part/5_Domain_Specific/quasirandomGenerator" quasirandomGenerator.cpp \
        quasirandomGenerator_gold.cpp quasirandomGenerator_kernel.cu
    compile cutlass "$apps/cutlass-bench/cutlass" -I"$apps/cutlass-bench" "$build/cutlass.cu"
    rm -rf "$build/source"
}

arguments() { # program
    case $1 in
    b+tree) echo file "$inputs/keys" command "$inputs/commands" ;;
    backprop) echo 65536 ;;
    hotspot) echo 1024 2 2 "$inputs/temperatures" "$inputs/powers" output.out ;;
    k-means) echo -b -i "$inputs/points" -t 1e9 ;;
    srad_v1) echo 4 0.5 502 458 ;;
    sgemm) echo -i "$inputs/a,$inputs/a,$inputs/b" ;;
    mri-q) echo -i "$inputs/mri" ;;
    sad) echo -i "$inputs/reference,$inputs/frame" ;;
    cutlass-16) echo 2560 16 2560 ;;
    cutlass-128) echo 4096 128 4096 ;;
    cutlass-512) echo 2560 512 2560 ;;
    esac
}

kernels() { # program: an expression for its kernels of the table
    case $1 in
    b+tree) echo '^find' ;;
    backprop) echo 'bpnn_' ;;
    hotspot) echo 'calculate_temp' ;;
    k-means) echo 'kmeansPoint' ;;
    srad_v1) echo '^_Z4srad' ;;
    mri-q) echo 'ComputeQ_GPU' ;;
    dct8x8) echo 'CUDAkernel[12]DCT' ;;
    fastWalshTransform) echo 'fwtBatch' ;;
    histogram) echo 'histogram64Kernel' ;;
    mergeSort) echo 'mergeSortShared|mergeElementaryIntervals' ;;
    sad) echo 'mb_sad_calc' ;;
    *) echo '.' ;;
    esac
}

record() { # program
    mkdir -p "$folder/traces" "$folder/run/$1"
    cd "$folder/run/$1"
    cp "$inputs/image.pgm" "$samples"/Samples/2_Concepts_and_Techniques/dct8x8/data/* .
    # shellcheck disable=SC2046 # arguments are words
    "$emu" record --addresses-only --code ptx --device qv100 --kernels "$(kernels "$1")" -o "$folder/traces/$1.wtrace" \
        -- "$build/${1%%-[0-9]*}" $(arguments "$1") >"$folder/traces/$1.out" 2>&1 || {
        tail -n 5 "$folder/traces/$1.out" >&2
        echo "boost-clock.sh: $1 was not recorded" >&2
        return 1
    }
    cd - >/dev/null
}

replay_programs() { # OUT.csv, options
    [ $# -ge 1 ] || usage
    local out=$1 found
    shift
    found=$(mktemp -d)
    # shellcheck disable=SC2064 # the folder is known now
    trap "rm -rf '$found'" EXIT
    for program in "${programs[@]}"; do
        [ -f "$folder/traces/$program.wtrace" ] || continue
        "$timing" replay "$folder/traces/$program.wtrace" --config "${CONFIG:-qv100}" --set launch.flush_l2=true \
            --set launch.flush_code=true --set launch.copies_fill_l2=false "$@" --csv "$found/$program.csv" --per-launch >/dev/null
    done
    PYTHONPATH=$root/tools/scripts PYTHONDONTWRITEBYTECODE=1 python3 - "$table" "$found" "$out" <<'END'
import os, sys
from silicon_table import Table, records
path, found, out = sys.argv[1:]
# Launches of the program, where fewer are recorded.
RUNS = {"srad": 100, "CUDAkernel1DCT": 10, "CUDAkernel2DCT": 101}
TRACES = {"CUTLASS 2560x16x2560": "cutlass-16", "CUTLASS 4096x128x4096": "cutlass-128", "CUTLASS 2560x512x2560": "cutlass-512"}
table = Table(path, "cycles", "cycles_reference")
for row in table.rows:
    path = os.path.join(found, TRACES.get(row[0], row[0]) + ".csv")
    if not os.path.exists(path):
        continue
    cycles = [int(launch["cycles"]) for launch in records(path) if row[1] in launch["kernel"]][:int(row[2])]
    assert len(cycles) == int(row[2]), (row, cycles)
    runs, others = RUNS.get(row[1], len(cycles)), cycles[1:]
    now = cycles[0] if not others else (cycles[0] + (runs - 1) * sum(others) / len(others)) / runs
    then, silicon = table.replace(row, now)
    print(f"{row[0]} {row[1]}: {now:.0f}, in the table {then}; silicon {silicon} ({now / silicon:.2f})")
table.finish("kernels", out)
END
}

case $action in
build) build_programs ;;
record) for program in "${programs[@]}"; do record "$program"; done ;;
replay) replay_programs "$@" ;;
*) usage ;;
esac
