#!/usr/bin/env bash
# image-args.sh VARIANT: the build arguments of a variant of docker/variants, for `docker build` and `buildah bud`.
# image-args.sh --list: the variants.
set -euo pipefail
cd "$(dirname "$0")/.."

rows=$(grep -v '^#' docker/variants)
if [[ ${1:-} == --list ]]; then
  awk '{ print $1 }' <<<"$rows"
  exit
fi
row=$(awk -v variant="${1:?image-args.sh VARIANT}" '$1 == variant' <<<"$rows")
if [[ -z $row ]]; then
  echo "image-args.sh: $1: not one of $(awk '{ print $1 }' <<<"$rows" | paste -sd " ")" >&2
  exit 1
fi
read -r _ build run archs grpc <<<"$row"
[[ $archs != - ]] || archs=
version=$(sed -n 's/^project(glint VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
echo "--build-arg=BASE_BUILD=$build --build-arg=BASE_RUN=$run --build-arg=CUDA_ARCHS=$archs" \
  "--build-arg=GRPC_FROM=$grpc --build-arg=VERSION=$version --build-arg=REVISION=$revision"
