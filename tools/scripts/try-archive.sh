#!/usr/bin/env bash
# Tries an archive as a computer sees it that has nothing else of Warplab: unpacked into a new folder, with an empty
# environment, and the archive's bin reached through a link from elsewhere.
#
#   try-archive.sh ARCHIVE.tar.gz
#
# Runs, records and replays a workload; a program with the libraries in front of it, whichever of nvcc and cc is there; and
# reports the command that fails.
set -euo pipefail

if [ $# -ne 1 ] || [ ! -f "$1" ]; then
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
archive=$(cd "$(dirname "$1")" && pwd)/${1##*/}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/unpacked" "$scratch/links" "$scratch/empty"
tar -xzf "$archive" -C "$scratch/unpacked"
folder=$(echo "$scratch"/unpacked/*)
ln -s "$folder/bin/emu" "$folder/bin/timing" "$folder/bin/trace" "$folder/bin/demo" "$scratch/links/"
(cd "$(dirname "$archive")" && [ ! -f "$archive.sha256" ] || sha256sum --quiet -c "$archive.sha256")

bare() {
    (cd "$scratch/empty" && env -i PATH="$scratch/links:/usr/bin:/bin" "$@") || {
        echo "try-archive.sh: failed: $*" >&2
        exit 1
    }
}
for file in README.md LICENSE-APACHE LICENSE-MIT CITATION.cff lib/warplab/libcuda.so.1 lib/warplab/libcuda.so; do
    [ -f "$folder/$file" ] || { echo "try-archive.sh: there is no $file in the archive" >&2; exit 1; }
done
for program in emu timing trace demo; do
    bare "$program" --version
done
ptx=$folder/tests/workloads/textbook/matmul_tiled/matmul_tiled.ptx
bare emu record "$ptx" -o matmul.wtrace
bare trace verify matmul.wtrace
bare timing replay matmul.wtrace --tech bow,corf >"$scratch/replayed"
grep -q 'bow: supplied %' "$scratch/replayed"
bare timing study redundancy matmul.wtrace >/dev/null
bare timing report matmul.wtrace --tech bow -o report >/dev/null
# A program that asks the driver for its devices; the same with nvcc and a kernel.
if command -v cc >/dev/null; then
    cat >"$scratch/ask.c" <<'C'
#include <stdio.h>
int cuInit(unsigned);
int cuDeviceGetCount(int *);
int cuDeviceGetName(char *, int, int);
int main(void) {
    int devices = 0;
    char name[100] = "";
    int wrong = cuInit(0) || cuDeviceGetCount(&devices) || cuDeviceGetName(name, sizeof name, 0);
    printf("%d device: %s\n", devices, name);
    return wrong || devices != 1;
}
C
    cc -o "$scratch/ask" "$scratch/ask.c" -L"$folder/lib/warplab" -lcuda
    bare emu run -- "$scratch/ask"
fi
nvcc=${CUDA_HOME:+$CUDA_HOME/bin/}nvcc
if command -v "$nvcc" >/dev/null; then
    "$nvcc" -arch=compute_75 -o "$scratch/saxpy" "$folder/examples/saxpy/saxpy.cu"
    bare emu record -o saxpy.wtrace -- "$scratch/saxpy"
    bare timing why saxpy.wtrace >/dev/null
fi
echo "the archive works"
