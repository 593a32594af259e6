#!/usr/bin/env bash
# cuda.sh FOLDER: a CUDA toolkit that compiles for AArch64 on x86-64, in FOLDER: this machine's nvcc, and CUDA's runtime of
# the same version for AArch64, which is NVIDIA's wheel of the hash below. Returns at once if FOLDER has it.
set -euo pipefail
folder=$(realpath -m -- "${1:?cuda.sh FOLDER}")
wheel='nvidia-cuda-runtime==13.0.96'
hash=sha256:ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55
fail() { echo "cuda.sh: $*" >&2 && exit 1; }

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[[ -x $nvcc ]] || fail 'no nvcc, neither in PATH nor in /usr/local/cuda; without CUDA: --no-cuda'
toolkit=$(realpath "$(dirname "$(realpath "$nvcc")")/..")
version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
[[ $version == 13.0 ]] || fail "nvcc of CUDA $version: $wheel needs that of 13.0"
made="$wheel $hash $toolkit"
[[ ! -e $folder/complete || $(<"$folder/complete") != "$made" ]] || exit 0

rm -rf "$folder"
mkdir -p "$folder/targets/aarch64-linux"
echo "$wheel --hash=$hash" >"$folder/requirements"
python3 -m pip download --quiet --no-deps --only-binary=:all: --platform manylinux2014_aarch64 --require-hashes \
  --dest "$folder" --requirement "$folder/requirements"
python3 -m zipfile -e "$folder"/*.whl "$folder/wheel"
mv "$folder"/wheel/nvidia/cu13/{include,lib} "$folder/targets/aarch64-linux"
ln -s libcudart.so.13 "$folder/targets/aarch64-linux/lib/libcudart.so"  # CMake looks for it; the static one is linked
mv "$folder"/wheel/*.dist-info/licenses/License.txt "$folder/License.txt"
rm -r "$folder/wheel"
# What belongs to the compiler: programs, and headers that no wheel of the runtime has.
# nvcc looks for the rest beside its own folder, which so must not be a link.
ln -s "$toolkit/nvvm" "$folder"
cp --recursive --symbolic-link "$toolkit/bin" "$folder"
cp --recursive --symbolic-link --no-clobber "$toolkit/include/." "$folder/targets/aarch64-linux/include"
echo "$made" >"$folder/complete"
