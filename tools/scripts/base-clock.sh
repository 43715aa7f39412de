#!/usr/bin/env bash
# Records and replays the launches of tests/tables/silicon-base-clock.csv, ten public programs on a GV100 at base clock.
#
#   base-clock.sh build  FOLDER [own|hw]
#   base-clock.sh record FOLDER [own|hw]
#   base-clock.sh replay FOLDER [own|hw] OUT.csv [OPTIONS of timing replay]
#
# FOLDER/src holds checkouts of the programs: gpu-app-collection (github.com/accel-sim, commit 52c11fb; of src/cuda:
# polybench-gpu-1.0 and rodinia/3.1) and rodinia (github.com/Munksgaard; of data: huffman and nn). Nothing of them is part
# of this repository. Programs are compiled into FOLDER/build, traces are written to FOLDER/own or FOLDER/hw.
#
# own: the code of our compiler, from PTX for compute capability 7.5, on qv100. Needs nvcc ($CUDA_HOME/bin or PATH).
# hw:  the code of ptxas 11.8 for sm_70, with its control bits, on qv100. `build` downloads ptxas and NVRTC 11.8 with pip. The
#      cubins are relabelled as sm_75: the encoding is the same but for a few opcodes, and nvcc embeds no older one.
#
# replay writes the committed table with its column of own or hw replaced, and prints the errors of both columns. EMU and TIMING
# name programs that are built already (default: those in target/release). CONFIG names another configuration, PROGRAMS some of
# the programs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
table=${TABLE:-$root/tests/tables/silicon-base-clock.csv}
target=${CARGO_TARGET_DIR:-$root/target}/release
emu=${EMU:-$target/emu}
timing=${TIMING:-$target/timing}

usage() {
    sed -n '2,20s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}
[ $# -ge 2 ] || usage
action=$1
folder=$(cd "$2" && pwd)
kind=${3:-own}
case $kind in own | hw) ;; *) usage ;; esac
shift $(($# < 3 ? $# : 3))

rodinia=$folder/src/gpu-app-collection/src/cuda/rodinia/3.1/cuda
polybench=$folder/src/gpu-app-collection/src/cuda/polybench-gpu-1.0/CUDA
data=$folder/src/rodinia/data
build=$folder/build/$kind
programs=(${PROGRAMS:-backprop cfd hotspot3D huffman nn nw 2DConvolution 3mm atax gramschmidt})

# Names that CUDA 13 no longer has, and a header of the CUDA samples of which cfd calls four functions.
write_headers() {
    cat >"$build/include/removed.h" <<'END'
#include <cuda_runtime.h>
#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadExit cudaDeviceReset
#define deviceOverlap asyncEngineCount
END
    cat >"$build/include/helper_timer.h" <<'END'
struct StopWatchInterface {};
inline void sdkCreateTimer(StopWatchInterface **) {}
inline void sdkStartTimer(StopWatchInterface **) {}
inline void sdkStopTimer(StopWatchInterface **) {}
inline float sdkGetAverageTimerValue(StopWatchInterface **) { return 0; }
END
}

# The mesh fvcorr.domn.097K is not to be had. This one has its 97 046 elements of four neighbours, as many requests of
# cuda_compute_flux, and its sectors within a percent: neighbours lie in runs of two or three elements, some of them near.
write_mesh() {
    python3 - "$1" <<'END'
import random, sys
random.seed(1)
count, near, runs = 97046, 0.17, (2, 3, 3)
neighbours = [[], [], [], []]
for lists in neighbours:
    while len(lists) < count:
        i = len(lists)
        start = i + random.randrange(-96, 96) if random.random() < near else random.randrange(count)
        lists += [max(0, min(count - 1, start + k)) for k in range(random.choice(runs))]
# Five warps have no neighbour on one side.
for warp, side in ((7, 0), (500, 1), (1000, 2), (2000, 3), (3000, 0)):
    for i in range(32 * warp, 32 * warp + 32):
        neighbours[side][i] = -2
with open(sys.argv[1], "w") as mesh:
    print(count, file=mesh)
    for i in range(count):
        sides = (f"{neighbours[j][i] + 1} {0.1 + 0.01 * j} 0.2 0.3" for j in range(4))
        print("0.001", *sides, file=mesh)
END
}

# Temperatures and powers of hotspot3D: the values decide nothing about addresses.
write_grid() { # file, value
    python3 -c 'import sys; sys.stdout.write((sys.argv[1] + "\n") * (512 * 512 * 8))' "$2" >"$1"
}

# A toolkit whose ptxas is that of CUDA 11.8 for sm_70, so that nvcc embeds its code.
write_toolkit() {
    local cuda=${CUDA_HOME:-$(dirname "$(dirname "$(command -v nvcc)")")} old=$folder/cuda-11.8
    if [ ! -x "$old/nvidia/cuda_nvcc/bin/ptxas" ]; then
        python3 -m pip install --quiet --no-deps --target "$old" nvidia-cuda-nvcc-cu11==11.8.89 nvidia-cuda-nvrtc-cu11==11.8.89
        chmod +x "$old/nvidia/cuda_nvcc/bin/ptxas"
    fi
    rm -rf "$build/toolkit"
    mkdir -p "$build/toolkit/bin"
    for part in "$cuda"/*; do
        [ "${part##*/}" = bin ] || ln -s "$part" "$build/toolkit/"
    done
    cp -R "$cuda/bin/." "$build/toolkit/bin/"
    rm "$build/toolkit/bin/ptxas"
    cat >"$build/toolkit/bin/ptxas" <<END
#!/usr/bin/env python3
import re, subprocess, sys
arguments = sys.argv[1:]
source = next(i for i, one in enumerate(arguments) if one.endswith(".ptx"))
output = arguments[arguments.index("-o") + 1]
text = open(arguments[source]).read()
if "hotspotOpt1" in text: # Its PTX by NVRTC 11.8.
    text = open("$build/hotspot3D.ptx").read()
text = re.sub(r"(?m)^\.version .*", ".version 7.8", text)
text = re.sub(r"(?m)^\.target .*", ".target sm_70", text)
open("$build/now.ptx", "w").write(text)
subprocess.run(["$old/nvidia/cuda_nvcc/bin/ptxas", "-arch=sm_70", "$build/now.ptx", "-o", output], check=True)
cubin = bytearray(open(output, "rb").read())
# e_flags: the lowest byte and the third are the architecture.
assert cubin[48] == 70 and cubin[50] == 70, cubin[48:52]
cubin[48] = cubin[50] = 75
open(output, "wb").write(cubin)
END
    chmod +x "$build/toolkit/bin/ptxas"
    python3 - "$old" "$rodinia/hotspot3D/opt1.cu" "$build/hotspot3D.ptx" <<'END'
import ctypes, glob, sys
nvrtc = ctypes.CDLL(glob.glob(sys.argv[1] + "/nvidia/cuda_nvrtc/lib/libnvrtc.so.11*")[0])
source = open(sys.argv[2]).read()
source = source[source.index("__global__"):source.index("void hotspot_opt1")].encode()
program, size = ctypes.c_void_p(), ctypes.c_size_t()
assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"opt1.cu", 0, None, None) == 0
options = (ctypes.c_char_p * 1)(b"--gpu-architecture=compute_70")
assert nvrtc.nvrtcCompileProgram(program, 1, options) == 0
assert nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
text = ctypes.create_string_buffer(size.value)
assert nvrtc.nvrtcGetPTX(program, text) == 0
open(sys.argv[3], "wb").write(text.value)
END
}

compile() { # program, folder of sources, sources and options
    local name=$1 sources=$2
    shift 2
    # Few launches are needed of programs with thousands: a copy of the sources repeats its loop once.
    rm -rf "$build/source"
    cp -R "$sources" "$build/source"
    sed -i 's/#define iterations  *2000/#define iterations 1/' "$build"/source/*.cu
    [ "$name" != gramschmidt ] || sed -i 's/for (k = 0; k < N; k++)/for (k = 0; k < 1; k++)/' "$build/source/$name.cu"
    (cd "$build/source" && "${nvcc[@]}" -O3 -w -I"$build/include" -I"$sources" -include "$build/include/removed.h" -o "$build/$name" "$@")
}

build_programs() {
    mkdir -p "$build/include"
    write_headers
    if [ "$kind" = own ]; then
        nvcc=("${CUDA_HOME:+$CUDA_HOME/bin/}nvcc" -arch=compute_75)
    else
        write_toolkit
        nvcc=("$build/toolkit/bin/nvcc" -arch=sm_75)
    fi
    compile backprop "$rodinia/backprop" backprop.c facetrain.c imagenet.c backprop_cuda.cu
    compile cfd "$rodinia/cfd" euler3d.cu
    compile hotspot3D "$rodinia/hotspot3D" 3D.cu
    compile huffman "$rodinia/huffman" main_test_cu.cu vlc_kernel_sm64huff.cu scan.cu pack_kernels.cu stats_logger.cpp cpuencode.cpp
    compile nn "$rodinia/nn" -D__DEVICE_EMULATION__ nn_cuda.cu
    compile nw "$rodinia/nw" needle.cu
    compile 2DConvolution "$polybench/2DCONV" 2DConvolution.cu
    compile 3mm "$polybench/3MM" 3mm.cu
    compile atax "$polybench/ATAX" atax.cu
    compile gramschmidt "$polybench/GRAMSCHM" gramschmidt.cu
    rm -rf "$build/source"
}

arguments() { # program
    case $1 in
    backprop) echo 65536 ;;
    cfd) echo "$folder/build/mesh" ;;
    hotspot3D) echo 512 8 51 "$folder/build/power" "$folder/build/temp" output.out ;;
    huffman) echo "$data/huffman/test1024_H2.206587175259.in" ;;
    nn) echo filelist_4 -r 5 -lat 30 -lng 90 ;;
    nw) echo 2048 10 ;;
    esac
}

launches() { # program: numbers of its launches, with commas
    awk -F, -v program="$1" '$1 == program { printf "%s%s", comma, $2; comma = "," }' "$table"
}

record() { # program
    mkdir -p "$folder/$kind" "$folder/run/$1"
    cd "$folder/run/$1"
    printf '%s\n' "$data"/nn/cane4_{0,1,2,3}.db >filelist_4
    local code=(--code ptx --device qv100)
    [ "$kind" = own ] || code=(--code sass --device qv100)
    # shellcheck disable=SC2046 # arguments are words
    "$emu" record --addresses-only --launches "$(launches "$1")" "${code[@]}" \
        --summary "$folder/$kind/$1.json" -o "$folder/$kind/$1.wtrace" -- "$build/$1" $(arguments "$1") >"$folder/$kind/$1.out" 2>&1 || {
        tail -n 5 "$folder/$kind/$1.out" >&2
        echo "base-clock.sh: $1 was not recorded" >&2
        return 1
    }
    cd - >/dev/null
}

record_programs() {
    [ -f "$folder/build/mesh" ] || write_mesh "$folder/build/mesh"
    [ -f "$folder/build/power" ] || write_grid "$folder/build/power" 0.0001
    [ -f "$folder/build/temp" ] || write_grid "$folder/build/temp" 323.5
    for program in "${programs[@]}"; do record "$program"; done
}

replay_programs() { # OUT.csv, options
    [ $# -ge 1 ] || usage
    local out=$1 config=qv100 column=cycles_own found
    shift
    [ "$kind" = own ] || column=cycles_machine_code
    found=$(mktemp -d)
    # shellcheck disable=SC2064 # the folder is known now
    trap "rm -rf '$found'" EXIT
    for program in "${programs[@]}"; do
        [ -f "$folder/$kind/$program.wtrace" ] || continue
        "$timing" replay "$folder/$kind/$program.wtrace" --config "${CONFIG:-$config}" --clock core=1.132GHz --set launch.flush_l2=true \
            --set launch.flush_code=true --set launch.copies_fill_l2=false "$@" --csv "$found/$program.csv" --per-launch >/dev/null
    done
    PYTHONPATH=$root/tools/scripts PYTHONDONTWRITEBYTECODE=1 python3 - "$table" "$found" "$column" "$out" <<'END'
import os, sys
from silicon_table import Table, records
path, found, column, out = sys.argv[1:]
table, replayed = Table(path, column, "cycles_reference"), {}
for row in table.rows:
    path = os.path.join(found, row[0] + ".csv")
    if row[0] not in replayed and os.path.exists(path):
        replayed[row[0]] = records(path)
    if row[0] not in replayed:
        continue
    launch = next(replayed[row[0]])
    assert row[2] in launch["kernel"], (row[2], launch["kernel"])
    now = int(launch["cycles"])
    then, silicon = table.replace(row, now)
    if then != now:
        print(f"{row[0]} {row[1]} {row[2]}: {now}, in the table {then} ({now / then - 1:+.2%}); silicon {silicon}")
table.finish("launches", out)
END
}

case $action in
build) build_programs ;;
record) record_programs ;;
replay) replay_programs "$@" ;;
*) usage ;;
esac
