#!/bin/sh
# Prints the table that compares kernel cycles of Warplab with published ones of GPGPU-Sim 4.2 (PTX mode) and
# Accel-Sim (native traces): additions of vectors in blocks of 256 threads, and a product of 256 x 256 matrices in
# tiles of 32 x 32. Launch latency is 5 000 cycles, 0 on the GTX 480, as in the published runs. GPGPU-Sim's runs of
# the QV100 have a core clock of 1 132 MHz. The machines since Volta are those with operand collectors, as in the simulators.
#
#   compare-field.sh [FOLDER]       FOLDER keeps the traces (default: a temporary one)
#
# EMU and TIMING name programs that are built already; else they are built and run through cargo.
set -eu
cd "$(dirname "$0")/../.."
emu=${EMU:-cargo run --release --quiet -p warplab-emulator --bin emu --}
timing=${TIMING:-cargo run --release --quiet -p warplab-timing --bin timing --}
folder=${1:-}
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi

record() { # name, workload, n
    [ -f "$folder/$1.wtrace" ] ||
        $emu record tests/workloads/*/"$2/$2.ptx" --set "n=$3" -o "$folder/$1.wtrace" >/dev/null
}
record vectoradd_64Ki vectoradd 65536
record vectoradd_1Mi vectoradd 1048576
record matmul_256 matmul_tiled 256

slow="--set gpu.core_clock_khz=1132000 --set gpu.interconnect_clock_khz=1132000 --set gpu.l2_clock_khz=1132000"

against() { # ours, published
    if [ "$2" = - ]; then
        printf ' |'
    else
        awk -v ours="$1" -v theirs="$2" 'BEGIN { printf " %d (%+.1f %%) |", theirs, (ours / theirs - 1) * 100 }'
    fi
}

row() { # trace, configuration, latency, label, GPGPU-Sim, Accel-Sim, options
    trace=$1 config=$2 latency=$3 label=$4 ptx=$5 native=$6
    shift 6
    cycles=$($timing replay "$folder/$trace.wtrace" --config "$config" \
        --set "launch.latency_cycles=$latency" "$@" --csv - | grep -v '^#' | awk -F, 'NR == 2 { print $3 }')
    printf '| %s | %s | %s |' "$trace" "$label" "$cycles"
    against "$cycles" "$ptx"
    against "$cycles" "$native"
    printf '\n'
}

echo '| kernel | GPU | ours | GPGPU-Sim, PTX (ours against it) | Accel-Sim, native (ours against it) |'
echo '|---|---|---|---|---|'
# shellcheck disable=SC2086 # options are separate words
row vectoradd_64Ki qv100-collectors 5000 'QV100 at 1132 MHz' 6109 - $slow
row vectoradd_64Ki titanx-pascal 5000 'TITAN X' 7190 -
row vectoradd_64Ki rtx2060-collectors 5000 'RTX 2060' 8185 -
row vectoradd_64Ki rtx3070-collectors 5000 'RTX 3070' 6678 -
row vectoradd_64Ki gtx480 0 'GTX 480' 4870 -
# shellcheck disable=SC2086
row vectoradd_1Mi qv100-collectors 5000 'QV100 at 1132 MHz' 20761 - $slow
row vectoradd_1Mi qv100-collectors 5000 QV100 - 25694
row vectoradd_1Mi titanx-pascal 5000 'TITAN X' - -
row vectoradd_1Mi rtx2060-collectors 5000 'RTX 2060' - 53706
row vectoradd_1Mi rtx3070-collectors 5000 'RTX 3070' - -
row vectoradd_1Mi gtx480 0 'GTX 480' - -
# shellcheck disable=SC2086
row matmul_256 qv100-collectors 5000 'QV100 at 1132 MHz' 33662 - $slow
row matmul_256 qv100-collectors 5000 QV100 - 26542
row matmul_256 titanx-pascal 5000 'TITAN X' - -
row matmul_256 rtx2060-collectors 5000 'RTX 2060' - 63808
row matmul_256 rtx3070-collectors 5000 'RTX 3070' - -
