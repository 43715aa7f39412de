#!/bin/sh
# Prints the table that compares Warplab's lowering with NVIDIA's ptxas over all bundled workloads.
# Needs ptxas and cuobjdump in $CUDA_HOME/bin or $PATH. Arguments are passed on (see --help).
set -eu
cd "$(dirname "$0")/../.."
exec cargo run --release --quiet -p warplab-tools --bin compare_ptxas -- "$@"
