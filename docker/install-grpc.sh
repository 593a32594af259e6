#!/bin/sh
# install-grpc.sh apt|source VERSION
# gRPC, protobuf and Abseil: the distribution's, or static ones of gRPC's own release into /usr/local.
set -eu

case $1 in
  apt)
    apt-get update
    apt-get install -y --no-install-recommends libabsl-dev libgrpc++-dev libprotobuf-dev protobuf-compiler \
      protobuf-compiler-grpc
    rm -rf /var/lib/apt/lists/*
    ;;
  source)
    git clone --quiet --depth 1 --branch "$2" --recurse-submodules --shallow-submodules https://github.com/grpc/grpc \
      /tmp/grpc
    cmake -S /tmp/grpc -B /tmp/grpc/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=17 \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DABSL_PROPAGATE_CXX_STD=ON -DgRPC_INSTALL=ON -DgRPC_BUILD_TESTS=OFF \
      -DgRPC_BUILD_CSHARP_EXT=OFF -DgRPC_BUILD_GRPC_CSHARP_PLUGIN=OFF -DgRPC_BUILD_GRPC_NODE_PLUGIN=OFF \
      -DgRPC_BUILD_GRPC_OBJECTIVE_C_PLUGIN=OFF -DgRPC_BUILD_GRPC_PHP_PLUGIN=OFF -DgRPC_BUILD_GRPC_PYTHON_PLUGIN=OFF \
      -DgRPC_BUILD_GRPC_RUBY_PLUGIN=OFF
    cmake --build /tmp/grpc/build
    cmake --install /tmp/grpc/build
    rm -rf /tmp/grpc
    ;;
  *)
    echo "install-grpc.sh: GRPC_FROM=$1: neither apt nor source" >&2
    exit 1
    ;;
esac
