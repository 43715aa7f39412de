#!/usr/bin/env bash
# Installs the programs, the CUDA libraries where `emu` finds them, manual pages and completions.
#   tools/scripts/install.sh [PREFIX]      default: ~/.local
# PREFIX/bin has emu, timing, trace and demo; PREFIX/lib/warplab the libraries; PREFIX/share the rest. What cargo has
# built is used as it is; WARPLAB_BUILD names another folder of it than target/release.
set -euo pipefail
cd "$(dirname "$0")/../.."
prefix=${1:-$HOME/.local}
if [ -z "${WARPLAB_BUILD:-}" ]; then
    cargo build --release
    WARPLAB_BUILD=${CARGO_TARGET_DIR:-target}/release
fi
for part in emu timing trace demo cuda/libcuda.so.1; do
    [ -e "$WARPLAB_BUILD/$part" ] || { echo "error: $WARPLAB_BUILD/$part is missing; cargo build --release makes it" >&2; exit 1; }
done
mkdir -p "$prefix/bin" "$prefix/lib/warplab" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
    "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
for program in emu timing trace demo; do
    install -m 755 "$WARPLAB_BUILD/$program" "$prefix/bin/$program"
done
# The folder has links that name its other files.
cp -R --dereference "$WARPLAB_BUILD/cuda/." "$prefix/lib/warplab/"
for program in emu timing trace; do
    installed=$prefix/bin/$program
    "$installed" man -o "$prefix/share/man/man1" >/dev/null
    "$installed" completions bash >"$prefix/share/bash-completion/completions/$program"
    "$installed" completions zsh >"$prefix/share/zsh/site-functions/_$program"
    "$installed" completions fish >"$prefix/share/fish/vendor_completions.d/$program.fish"
done
echo "installed $("$prefix/bin/emu" --version) into $prefix"
case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "note: $prefix/bin is not in PATH" ;; esac
