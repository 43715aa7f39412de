#!/usr/bin/env bash
# Tries the aarch64 wheel of the Python package on another computer: qemu runs Debian's Python for aarch64, which imports
# the package, opens a trace and replays it, and the wheel's commands, which record and replay a workload; with the commands
# of this computer in a folder the figures and the recorded values must be the same.
#
#   try-wheel-aarch64.sh WHEEL TRACE [FOLDER]      after python-wheel.sh --target aarch64-unknown-linux-gnu dist
#
# Needs a Debian system with apt-get, dpkg and qemu-user. Python and NumPy for aarch64 are downloaded into a folder of the
# cache and unpacked there; nothing of the system is changed.
set -euo pipefail

usage() {
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
[ $# -ge 2 ] && [ $# -le 3 ] || usage
wheel=$(realpath "$1")
trace=$(realpath "$2")
here=${3:+$(realpath "$3")}
workload=$(realpath "$(dirname "$0")/../../tests/workloads/textbook/reduction/reduction.ptx")
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
commands=$folder/package/warplab/bin
arm() {
    qemu-aarch64 -L "$root" "$commands/$1" "${@:2}" || {
        echo "try-wheel-aarch64.sh: failed: $*" >&2
        exit 1
    }
}
# Wheels hold no modes for zipfile.
chmod +x "$commands"/{emu,timing,trace}
mkdir "$folder/there" "$folder/here"
echo "== the commands on aarch64"
arm emu --version
arm emu record "$workload" -o "$folder/there/t.wtrace" >/dev/null
arm trace verify "$folder/there/t.wtrace"
arm timing replay "$folder/there/t.wtrace" --tech bow --json "$folder/there.json" >/dev/null
[ -n "$here" ] || exit 0
echo "== the same here"
"$here/emu" record "$workload" -o "$folder/here/t.wtrace" >/dev/null
dump() (cd "$folder/$1" && "$here/trace" dump t.wtrace --block 0 --warp 0)
cmp <(dump there) <(dump here)
"$here/trace" verify "$folder/there/t.wtrace"
"$here/timing" replay "$folder/here/t.wtrace" --tech bow --json "$folder/recorded.json" >/dev/null
"$here/timing" replay "$trace" --tech bow --json "$folder/here.json" >/dev/null
python3 - "$folder" <<'PYTHON'
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])


def first(name):
    return json.loads((folder / name).read_text())["traces"][0]


python = json.loads((folder / "said").read_text().splitlines()[-1])
pairs = [("Python", python, first("here.json")), ("timing", first("there.json"), first("recorded.json"))]
for what, there, here in pairs:
    keys = python.keys()
    different = {key: (there[key], here[key]) for key in keys if here[key] != there[key]}
    if different:
        sys.exit(f"{what}: figures differ: {different}")
print("the figures are the same")
PYTHON
