#!/usr/bin/env bash
# Correlates the kernels of tests/silicon at their published sizes with the published figures of silicon.
#
#   correlate-silicon.sh [--write] [OPTIONS of timing correlate]
#
# With --write, tests/tables/silicon-ours.csv is written; the table that is there is shown as the earlier state.
# Where ptxas and nvdisasm are found ($CUDA_HOME/bin or PATH), the warp instructions of ptxas's code are estimated anew
# (tests/tables/silicon-streams.csv; STREAMS=show prints them loop by loop); they stand beside ours.
# Recordings are kept in ${TMPDIR:-/tmp}/warplab-silicon-$UID for the next time, and made again by another emulator.
# SET="key=value ..." adds overrides of the configuration, CONFIG names another one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
table=tests/tables/silicon-ours.csv
options=()
write=
if [ "${1:-}" = --write ]; then
    shift
    write=1
    options+=(--csv "$table.new")
fi
folder=${TMPDIR:-/tmp}/warplab-silicon-$UID
mkdir -p "$folder/results"
cargo build --release --quiet -p warplab-emulator --bin emu
cargo build --release --quiet -p warplab-timing --bin timing
target=${CARGO_TARGET_DIR:-target}/release

streams=tests/tables/silicon-streams.csv
native=
PATH=${CUDA_HOME:+$CUDA_HOME/bin:}$PATH
if command -v ptxas >/dev/null && command -v nvdisasm >/dev/null; then
    cargo build --release --quiet -p warplab-tools --bin compare_streams
    native=1
fi

emulator=$(cksum <"$target/emu")
if [ "$(cat "$folder/emulator" 2>/dev/null)" != "$emulator" ]; then
    rm -f "$folder"/*.wtrace
    echo "$emulator" >"$folder/emulator"
fi

record() {
    local name=$1
    shift
    [ -f "$folder/$name.wtrace" ] ||
        "$target/emu" record "tests/silicon/$name.ptx" "$@" --addresses-only -o "$folder/$name.wtrace" >/dev/null
    [ -z "$native" ] || [ -f "$folder/lines-$name.wtrace" ] ||
        "$target/emu" record "tests/silicon/$name.ptx" "$@" --addresses-only --keep-branches \
            -o "$folder/lines-$name.wtrace" >/dev/null
}
record hotspot --set side=1024
record backprop --set inputs=65536
record sgemm --set m=1024 --set n=1056 --set k=992
record walsh --launch tests/silicon/walsh_full.toml
record histogram64 --set bytes=67108864
record quasirandom --set n=1048576 --set blocks=128
record sobol --set vectors=100000 --set dimensions=100 --set width=512

# The profile is of kernels alone on cold caches. Its cycles include those of a launch before and after the blocks: the
# four kernels with the fewest of them have SMs without a warp for 2 193 to 2 354 cycles on average.
set=(--set launch.flush_l2=true --set launch.flush_code=true --set launch.copies_fill_l2=false)
for item in ${SET:-}; do set+=(--set "$item"); done
for name in hotspot backprop sgemm walsh histogram64 quasirandom sobol; do
    "$target/timing" replay "$folder/$name.wtrace" --config "${CONFIG:-qv100}" "${set[@]}" \
        --json "$folder/results/$name.json" >/dev/null
done
if [ -n "$native" ]; then
    {
        echo "# Warp instructions of the code that ptxas makes of tests/silicon, estimated by compare_streams at the published"
        echo "# sizes; written by tools/scripts/correlate-silicon.sh --write."
        echo "program,kernel,launch,warp_instructions"
        for name in hotspot backprop sgemm walsh histogram64 quasirandom sobol; do
            of=("$folder/$name.wtrace" "$folder/lines-$name.wtrace" "tests/silicon/$name.ptx")
            [ "${STREAMS:-}" != show ] || "$target/compare_streams" "${of[@]}" >&2
            "$target/compare_streams" "${of[@]}" --csv | tail -n +2
        done
    } >"$folder/streams.csv"
    [ -z "$write" ] || cp "$folder/streams.csv" "$streams"
    streams=$folder/streams.csv
fi
[ ! -f "$streams" ] || options+=(--instructions "$streams")
[ ! -f "$table" ] || options+=(--before "$table")
"$target/timing" correlate "$folder/results" tests/tables/silicon.csv "${options[@]}" "$@"
if [ -f "$table.new" ]; then
    mv "$table.new" "$table"
    rm -f "$table.new.provenance.json" # it names the folder of this computer's recordings
fi
