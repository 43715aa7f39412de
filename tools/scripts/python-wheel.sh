#!/usr/bin/env bash
# Builds the wheel of the Python package warplab, installs it into a bare environment in a temporary folder, and runs its
# tests and notebooks there.
#
#   python-wheel.sh [--target TRIPLE] [--built] [--no-test] FOLDER      for instance: python-wheel.sh dist
#
# The wheel holds the extension module, the commands emu, timing and trace, and Warplab's CUDA libraries. For another
# processor (aarch64-unknown-linux-gnu) it is cross-compiled with zig; try-wheel-aarch64.sh tries it under qemu. Rust's target
# folder is shared with other builds; --built takes the commands and libraries that lie there, as after
# `cargo test --release --workspace`.
# maturin, and zig where it is needed, come from PyPI into a folder of the cache. The notebooks need the packages of
# python-clients.sh, which are taken from WARPLAB_PYTHON; without it the notebook that runs Triton is left out.
set -euo pipefail

usage() {
    sed -n '2,13s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
target= test=1 folder= built_before=
while [ $# -gt 0 ]; do
    case $1 in
        --target) [ $# -gt 1 ] || usage; target=$2; shift ;;
        --built) built_before=1 ;;
        --no-test) test= ;;
        -*) usage ;;
        *) [ -z "$folder" ] || usage; folder=$1 ;;
    esac
    shift
done
[ -n "$folder" ] || usage
mkdir -p "$folder"
folder=$(realpath "$folder")
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/warplab
built=${CARGO_TARGET_DIR:-target}
native=$(rustc -vV | sed -n 's/^host: //p')
[ "$target" != "$native" ] || target=
pip() { "$1" -m pip install --quiet --disable-pip-version-check --retries 2 --timeout 20 "${@:2}"; }

tools=$cache/python-wheel
[ -x "$tools/bin/python3" ] || python3 -m venv "$tools"
[ -x "$tools/bin/maturin" ] || pip "$tools/bin/python3" 'maturin>=1.9.4,<2'
export PATH=$tools/bin:$PATH

echo "== the commands and the CUDA libraries"
packages=(-p warplab-emulator -p warplab-timing -p warplab-tools -p warplab-cuda --lib --bin emu --bin timing --bin trace)
if [ -n "$target" ]; then
    # zig links for an old C library whatever this computer's is.
    command -v cargo-zigbuild >/dev/null || pip "$tools/bin/python3" cargo-zigbuild ziglang
    rustup target add "$target"
    cargo zigbuild --release --target "$target.2.28" "${packages[@]}"
    built=$built/$target
elif [ -z "$built_before" ]; then
    cargo build --release "${packages[@]}"
fi
built=$built/release

staged=python/package/warplab/bin
rm -rf "$staged"
mkdir -p "$staged/cuda/bin"
cp "$built/emu" "$built/timing" "$built/trace" "$staged/"
# The bundled programs, for `timing reproduce` and the notebooks.
rm -rf python/package/warplab/workloads
git ls-files -z tests/workloads | while IFS= read -r -d '' file; do
    mkdir -p "python/package/warplab/$(dirname "${file#tests/}")"
    cp "$file" "python/package/warplab/${file#tests/}"
done
cp "$built/libcuda.so" "$staged/cuda/libcuda.so.1"
cp "$built"/cuda/lib{cudart,nvidia-ml,cupti,cudnn}.so.* "$staged/cuda/"
cp "$built"/cuda/bin/* "$staged/cuda/bin/"
# A wheel holds no links, and a second copy of the library would be a second GPU: libcuda.so only needs libcuda.so.1.
linker=(cc)
[ -z "$target" ] || linker=("$tools/bin/python3" -m ziglang cc -target "${target%%-*}-linux-gnu")
"${linker[@]}" -shared -nostdlib -o "$staged/cuda/libcuda.so" -x c /dev/null -x none \
    -Wl,--no-as-needed "$staged/cuda/libcuda.so.1" -Wl,-rpath,'$ORIGIN'
if [ -z "$target" ]; then
    strip "$staged"/{emu,timing,trace} "$staged/cuda/libcuda.so.1"
fi

echo "== the wheel"
# The newest version of the C library that a file asks for is the one that the wheel needs.
newest() { strings -a "$@" | grep -oE '^GLIBC_2\.[0-9]+$' | sort -t. -k2 -nu | tail -1; }
libc=$(newest "$staged"/{emu,timing,trace} "$staged/cuda/libcuda.so.1")
minor=${libc#GLIBC_2.}
[ "$minor" -ge 28 ] || minor=28
options=(--release --manifest-path python/Cargo.toml --out "$folder" --compatibility "manylinux_2_$minor")
[ -z "$target" ] || options+=(--target "$target" --zig)
maturin build "${options[@]}"
wheel=$(ls -t "$folder"/warplab-*.whl | head -1)
echo "$wheel: $(stat -c %s "$wheel") bytes"
[ -n "$test" ] && [ -z "$target" ] || exit 0

echo "== tests in a bare environment"
bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT
python3 -m venv "$bare/environment"
python=$bare/environment/bin/python3
pip "$python" "$wheel"
root=$PWD
# Away from the checkout, so that the installed package is found, and nothing else.
mkdir "$bare/work" && cd "$bare/work"
env -u WARPLAB_LIBRARIES "$bare/environment/bin/emu" --version
"$bare/environment/bin/timing" list bow >/dev/null
"$bare/environment/bin/trace" --help >/dev/null
WARPLAB_ROOT=$root "$python" -m unittest discover -s "$root/python/tests" -t "$root/python/tests"

echo "== data frames and notebooks"
pip "$python" 'pandas>=2.2' 'polars>=1' 'pyarrow>=16' nbclient ipykernel
if [ -n "${WARPLAB_PYTHON:-}" ]; then
    "$WARPLAB_PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
        >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/clients.pth"
fi
WARPLAB_ROOT=$root WARPLAB_FRAMES=1 "$python" -m unittest discover -s "$root/python/tests" -t "$root/python/tests" -k Frames -k Clients
"$python" "$root/python/notebooks/execute.py"
