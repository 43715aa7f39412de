#!/usr/bin/env bash
# Tries the aarch64 wheel of the Python package on another computer: qemu runs Debian's Python for aarch64, which imports
# the package, opens a trace and replays it; with a `timing` of this computer the figures must be the same.
#
#   try-wheel-aarch64.sh WHEEL TRACE [TIMING]      after python-wheel.sh --target aarch64-unknown-linux-gnu dist
#
# Needs a Debian system with apt-get, dpkg and qemu-user. Python and NumPy for aarch64 are downloaded into a folder of the
# cache and unpacked there; nothing of the system is changed.
set -euo pipefail

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
[ $# -ge 2 ] && [ $# -le 3 ] || usage
wheel=$(realpath "$1")
trace=$(realpath "$2")
timing=${3:-}
for tool in qemu-aarch64 apt-get dpkg python3; do
    command -v "$tool" >/dev/null || {
        echo "$tool is missing; on Debian: apt-get install qemu-user" >&2
        exit 1
    }
done

cache=${XDG_CACHE_HOME:-$HOME/.cache}/warplab/aarch64
root=$cache/root
if [ ! -x "$root/usr/bin/python3" ]; then
    echo "== Python for aarch64"
    mkdir -p "$cache/lists/partial" "$cache/packages/archives/partial" "$root"
    : >"$cache/status"
    cat >"$cache/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State::lists "$cache/lists";
Dir::State::status "$cache/status";
Dir::Cache "$cache/packages";
CONF
    export APT_CONFIG=$cache/apt.conf
    apt-get update -qq
    apt-get install -y -qq --download-only --no-install-recommends python3 python3-numpy
    for package in "$cache"/packages/archives/*.deb; do
        dpkg -x "$package" "$root"
    done
    unset APT_CONFIG
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m zipfile -e "$wheel" "$folder/package"
lib=$root/usr/lib/aarch64-linux-gnu
# Debian's alternatives, which no package script has set here.
libraries=$lib:$lib/blas:$lib/lapack
cat >"$folder/try.py" <<'PYTHON'
import json
import platform
import sys

import warplab

assert platform.machine() == "aarch64", platform.machine()
trace = warplab.Trace(sys.argv[1])
values = trace[0].registers(block=0, warp=0)
replay = trace.replay(tech="bow", progress=False)
figures = {key: replay[key] for key in ("cycles", "rf_reads", "rf_writes", "checked_values")}
print(f"warplab {warplab.__version__}: {len(warplab.techniques())} techniques, {values.shape[0]} registers")
print(json.dumps(figures))
PYTHON
echo "== the package on aarch64"
PYTHONPATH=$folder/package:$root/usr/lib/python3/dist-packages \
    qemu-aarch64 -L "$root" -E "LD_LIBRARY_PATH=$libraries" "$root/usr/bin/python3" "$folder/try.py" "$trace" |
    tee "$folder/said"
if [ -n "$timing" ]; then
    echo "== the same replay here"
    "$timing" replay "$trace" --tech bow --json "$folder/here.json" >/dev/null
    python3 - "$folder" <<'PYTHON'
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
there = json.loads((folder / "said").read_text().splitlines()[-1])
here = json.loads((folder / "here.json").read_text())["traces"][0]
different = {key: (value, here[key]) for key, value in there.items() if here[key] != value}
sys.exit(f"figures differ: {different}" if different else print("the figures are the same"))
PYTHON
fi
