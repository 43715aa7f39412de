#!/usr/bin/env bash
# Makes an archive of the programs, the CUDA libraries, the bundled workloads and the examples, for computers
# without a Rust toolchain.
#
#   archive.sh [FOLDER]               for instance: archive.sh dist
#
# FOLDER (the current one unless it is given) gets warplab-VERSION-MACHINE-linux.tar.gz and its checksum. It contains one
# folder of that name, which may lie anywhere; the programs are in its bin. The same checkout and toolchain give the same
# archive. BUILT=FOLDER takes programs that are built already.
set -euo pipefail

case ${1:-} in
-*)
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
mkdir -p "${1:-.}"
out=$(cd "${1:-.}" && pwd)
checkout=$(cd "$(dirname "$0")/../.." && pwd)
cd "$checkout"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=warplab-$version-$(uname -m)-linux

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools/scripts/install.sh "$scratch/$name" >/dev/null
strip --strip-unneeded "$scratch/$name"/bin/* "$scratch/$name"/lib/warplab/*.so.*
cp README.md CHANGELOG.md DEVIATIONS.md LICENSE-APACHE LICENSE-MIT CITATION.cff "$scratch/$name"
# The commands of README and of the tutorial name these paths.
git ls-files -z tests/workloads examples/saxpy examples/tinygrad_train.py examples/redraw.py tests/tables/silicon*.csv \
    tools/scripts/cuda-toolkit.sh tools/scripts/python-clients.sh |
    while IFS= read -r -d '' file; do
        mkdir -p "$scratch/$name/$(dirname "$file")"
        cp "$file" "$scratch/$name/$file"
    done
date=$(git log -1 --format=%cI 2>/dev/null || date -Iseconds)
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="$date" -C "$scratch" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$out/$name.tar.gz"
