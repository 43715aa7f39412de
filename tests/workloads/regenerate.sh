#!/usr/bin/env bash
# Rebuilds the committed PTX of the workloads from their CUDA sources and says which files changed.
#
#   regenerate.sh [WORKLOAD...]       all of them by default
#
# nvcc is taken from $CUDA_HOME/bin, else from PATH, else from a toolkit that tools/scripts/cuda-toolkit.sh
# assembles in ${XDG_CACHE_HOME:-~/.cache}/warplab/cuda. A file is replaced only after ptxas has accepted it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
arch=sm_75

if [ -n "${CUDA_HOME:-}" ]; then
    if [ ! -x "$CUDA_HOME/bin/nvcc" ]; then
        echo "regenerate.sh: CUDA_HOME is $CUDA_HOME, which has no bin/nvcc: correct it or unset it" >&2
        exit 1
    fi
    PATH=$CUDA_HOME/bin:$PATH
elif ! command -v nvcc >/dev/null; then
    toolkit=${XDG_CACHE_HOME:-$HOME/.cache}/warplab/cuda
    "$here/../../tools/scripts/cuda-toolkit.sh" "$toolkit"
    PATH=$toolkit/bin:$PATH
fi
echo "$(command -v nvcc): $(nvcc --version | sed -n 's/^Cuda compilation tools, //p')"

cd "$here"
if [ $# -gt 0 ]; then
    names=("$@")
else
    names=()
    for source in */*/*.cu; do names+=("$(basename "$source" .cu)"); done
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed=0
for name in "${names[@]}"; do
    source=$(ls -d -- */"$name/$name.cu" 2>/dev/null || true)
    if [ ! -f "$source" ]; then
        echo "regenerate.sh: there is no workload $name (looked for $here/SUITE/$name/$name.cu)" >&2
        exit 1
    fi
    ptx=${source%.cu}.ptx
    fresh=$work/$name.ptx
    nvcc -arch=$arch -O3 -ptx -o "$fresh" "$source"
    ptxas -arch=$arch -O3 -o "$work/checked.cubin" "$fresh"
    if [ ! -f "$ptx" ]; then
        echo "new        $ptx"
    elif cmp -s "$fresh" "$ptx"; then
        echo "unchanged  $ptx"
        continue
    else
        added=$(diff "$ptx" "$fresh" | grep -c '^>' || true)
        removed=$(diff "$ptx" "$fresh" | grep -c '^<' || true)
        echo "changed    $ptx (+$added -$removed lines)"
    fi
    # Written beside the old one and renamed, so that an interruption leaves either the old or the new file.
    cp "$fresh" "$ptx.new"
    mv "$ptx.new" "$ptx"
    changed=$((changed + 1))
done
echo "${#names[@]} workloads compiled, $changed files written"
