#!/usr/bin/env bash
# Rebuilds the committed PTX from the CUDA sources beside it. nvcc is taken from $CUDA_HOME/bin, else from PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
[ -z "${CUDA_HOME:-}" ] || PATH=$CUDA_HOME/bin:$PATH
command -v nvcc >/dev/null || { echo "regenerate.sh: no nvcc: set CUDA_HOME, as for ../workloads/regenerate.sh" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in *.cu; do
    name=${source%.cu}
    nvcc -arch=sm_75 -O3 -ptx -o "$work/$name.ptx" "$source"
    ptxas -arch=sm_75 -O3 -o "$work/checked.cubin" "$work/$name.ptx"
    mv "$work/$name.ptx" "$name.ptx"
done
