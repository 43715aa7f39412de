#!/usr/bin/env bash
# Makes a Python environment with packages that use CUDA, for the tests that run them on Warplab's libraries: tinygrad,
# Numba, CuPy and Triton, with NVIDIA's run-time compiler; and polars and matplotlib, which examples read reports with.
# Neither a GPU nor a driver is needed.
#
#   python-clients.sh FOLDER [PACKAGE...]      for instance: python-clients.sh ~/.cache/warplab/python
#
# Tests find the environment there, or where WARPLAB_PYTHON=FOLDER/bin/python3 says. Nothing outside FOLDER is written; a
# FOLDER that already holds the packages is left alone. Naming packages installs these only. Needs python3 with pip
# and venv, and about 1.7 GB, most of it for Triton.
set -euo pipefail

if [ $# -lt 1 ]; then
    sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
folder=$1
shift
if [ $# -gt 0 ]; then
    packages=("$@")
else
    # Versions that the tests have been seen to pass with; the compilers' are those of cuda-toolkit.sh.
    version=${CUDA_TOOLKIT_VERSION:-13.5.37}
    packages=(tinygrad==0.14.0 numba-cuda==0.30.4 cupy-cuda13x==14.2.0 triton==3.9.0 polars==2.1.0 matplotlib==3.11.2)
    for part in cuda-nvrtc nvvm cuda-runtime; do
        packages+=("nvidia-$part==$version")
    done
fi

if [ ! -x "$folder/bin/python3" ]; then
    if ! python3 -m venv "$folder" 2>/dev/null; then
        rm -rf "$folder"
        echo "python-clients.sh: needs python3 with venv and pip, which is not installed" >&2
        exit 1
    fi
fi
marker=$folder/.complete-$(printf '%s\n' "${packages[@]}" | cksum | cut -d ' ' -f 1)
if [ -f "$marker" ]; then
    echo "$folder holds ${packages[*]} already"
    exit 0
fi
echo "installing ${packages[*]}"
"$folder/bin/python3" -m pip install --quiet --disable-pip-version-check --retries 2 --timeout 20 \
    --only-binary=:all: "${packages[@]}"
touch "$marker"
echo "$folder is ready"
