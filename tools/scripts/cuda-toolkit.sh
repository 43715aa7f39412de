#!/usr/bin/env bash
# Puts NVIDIA's CUDA compilers (nvcc, ptxas, cuobjdump, nvdisasm, ...) and headers into a folder of your choice,
# from the Python wheels that NVIDIA publishes. Neither a GPU nor a driver is needed.
#
#   cuda-toolkit.sh FOLDER            for instance: cuda-toolkit.sh ~/.cache/warplab/cuda
#
# Afterwards set CUDA_HOME=FOLDER, or put FOLDER/bin on PATH. Nothing outside FOLDER is written; a FOLDER that
# already holds the wanted version is left alone. Needs python3 with pip. CUDA_TOOLKIT_VERSION picks the
# version of the compilers (13.5.37 by default).
set -euo pipefail

if [ $# -ne 1 ]; then
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
folder=$1
version=${CUDA_TOOLKIT_VERSION:-13.5.37}

# Packages that share the compilers' version number, and some that count by themselves.
packages=(nvidia-cuda-cccl nvidia-cuda-profiler-api nvidia-curand)
for part in cuda-nvcc cuda-crt nvvm cuda-runtime cuda-cuobjdump cuda-nvdisasm cuda-nvrtc; do
    packages+=("nvidia-$part==$version")
done
# The last compilers that know sm_70, of which ptxas is kept, as ptxas-12.9.
packages+=(nvidia-cuda-nvcc-cu12==12.9.86)
# A folder that an older list has filled is filled again.
marker=$folder/.complete-$(printf '%s\n' "${packages[@]}" | cksum | cut -d ' ' -f 1)

if [ -f "$marker" ] && [ -x "$folder/bin/nvcc" ]; then
    echo "$folder holds CUDA $version already"
    exit 0
fi
if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "cuda-toolkit.sh: needs python3 with pip, which is not installed" >&2
    exit 1
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo "downloading CUDA $version"
python3 -m pip download --quiet --retries 2 --timeout 20 --no-deps --only-binary=:all: --dest "$scratch" "${packages[@]}"

# A wheel is a zip archive; its files for CUDA 13 lie below nvidia/cu13. Of cuRAND, whose library is closed and runs
# nothing here, the headers are taken: kernels draw random numbers with them, and PyCUDA is compiled with them.
python3 - "$scratch" <<'PYTHON'
import glob, sys, zipfile
for wheel in glob.glob(sys.argv[1] + "/*.whl"):
    archive = zipfile.ZipFile(wheel)
    if "nvcc_cu12" in wheel:
        member = archive.getinfo("nvidia/cuda_nvcc/bin/ptxas")
        member.filename = "nvidia/cu13/bin/ptxas-12.9"
        archive.extract(member, sys.argv[1] + "/unpacked")
        continue
    only_headers = "nvidia_curand" in wheel
    names = [name for name in archive.namelist() if "/include/" in name or not only_headers]
    archive.extractall(sys.argv[1] + "/unpacked", names)
PYTHON
mkdir -p "$folder"
cp -R "$scratch/unpacked/nvidia/cu13/." "$folder/"

# Zip archives carry no permissions here, and the wheels leave out the links that linkers ask for.
chmod +x "$folder"/bin/* "$folder"/nvvm/bin/*
ln -sfn lib "$folder/lib64"
for library in cudart nvrtc; do
    ln -sfn "lib$library.so.13" "$folder/lib/lib$library.so"
done

"$folder/bin/nvcc" --version >/dev/null
for header in cuda.h nvrtc.h nv/target cccl/cuda/std/type_traits cudaProfiler.h curand_kernel.h; do
    if [ ! -f "$folder/include/$header" ]; then
        echo "cuda-toolkit.sh: $header is in none of the packages ${packages[*]}" >&2
        exit 1
    fi
done
touch "$marker"
echo "CUDA $version is in $folder"
