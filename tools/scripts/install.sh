#!/usr/bin/env bash
# Builds Warplab and installs its programs with the CUDA libraries, so that unmodified CUDA programs run on them, and with
# manual pages and completions for shells.
#
#   install.sh [PREFIX]               for instance: install.sh ~/.local
#
# Programs are in PREFIX/bin, the libraries in PREFIX/lib/warplab, where `emu` finds them, the rest in PREFIX/share; the
# folder may be moved as a whole. PREFIX is ~/.local unless it is given. BUILT=FOLDER takes programs that are built already.
# Needs cargo and a C compiler.
set -euo pipefail

case ${1:-} in
-*)
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
prefix=${1:-$HOME/.local}
checkout=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${BUILT:-}" ]; then
    # Without a choice of crates, so that nothing is compiled again after `cargo build --release`.
    (cd "$checkout" && cargo build --release --locked)
    BUILT=${CARGO_TARGET_DIR:-$checkout/target}/release
fi

# `cargo test` leaves the CUDA library among the crates; `cargo build` links it to where the programs find it.
[ -e "$BUILT/libcuda.so" ] || ln "$BUILT/deps/libcuda.so" "$BUILT/libcuda.so"

mkdir -p "$prefix/bin" "$prefix/lib/warplab/bin"
# Each file under a temporary name first: a program that runs keeps its file.
put() {
    cp "$1" "$2.part" && chmod "$3" "$2.part" && mv "$2.part" "$2"
}
for program in emu timing trace demo; do
    put "$BUILT/$program" "$prefix/bin/$program" 755
done
for library in "$BUILT"/cuda/lib*.so.*; do
    put "$library" "$prefix/lib/warplab/${library##*/}" 755
done
ln -sfn libcuda.so.1 "$prefix/lib/warplab/libcuda.so"
for compiler in "$BUILT"/cuda/bin/*; do
    put "$compiler" "$prefix/lib/warplab/bin/${compiler##*/}" 755
done
share=$prefix/share
# The bundled programs, which `timing reproduce` records.
rm -rf "$share/warplab/workloads"
mkdir -p "$share/warplab"
cp -r "$checkout/tests/workloads" "$share/warplab/workloads"
find "$share/warplab/workloads" -name '*.wtrace*' -delete
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
for program in emu timing trace demo; do
    installed=$prefix/bin/$program
    "$installed" man -o "$share/man/man1" >/dev/null
    "$installed" completions bash >"$share/bash-completion/completions/$program"
    "$installed" completions zsh >"$share/zsh/site-functions/_$program"
    "$installed" completions fish >"$share/fish/vendor_completions.d/$program.fish"
done
echo "installed emu, timing, trace and demo in $prefix/bin, the CUDA libraries in $prefix/lib/warplab"
case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "note: $prefix/bin is not in PATH" ;; esac
