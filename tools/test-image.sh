#!/usr/bin/env bash
# Builds the container image, without a Docker engine, and runs it the way an engine would: as the image's user, process 1
# of its own without capabilities, on a read-only root, in a network namespace. Frames come from outside.
#
#   tools/test-image.sh GLINT [PACKAGE.deb]      GLINT: a `glint` on this machine that can stream
#
# With PACKAGE the image is made of it, else of the sources, variant cpu. For a package of another architecture QEMU as its
# interpreter (qemu-user-static).
# JOBS in the environment: compilers at the same time. Needs root, buildah, mmdebstrap, iproute2, curl and a Debian
# mirror. The base image is kept as localhost/debian-ARCHITECTURE:bookworm-slim; buildah keeps the compiled layers.
set -euo pipefail
missing=()
for tool in buildah:buildah mmdebstrap:mmdebstrap ip:iproute2 unshare:util-linux pgrep:procps python3:python3 \
  curl:curl; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
[[ ${#missing[@]} -eq 0 ]] || { echo "test-image.sh: install ${missing[*]}" >&2 && exit 1; }
[[ $EUID -eq 0 ]] || { echo 'test-image.sh: needs root' >&2 && exit 1; }
glint=$(realpath "${1:?test-image.sh GLINT [PACKAGE.deb]}")
package=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."

architecture=$(dpkg --print-architecture)
[[ -z $package ]] || architecture=$(dpkg-deb -f "$package" Architecture)
base=localhost/debian-$architecture:bookworm-slim
image=localhost/glint:test
name=glint-image-test-$$
work=$(mktemp -d)
container='' server=''
finish() {
  set +e
  [[ -z $server ]] || kill -KILL "$server" 2>/dev/null
  ip netns delete "$name" 2>/dev/null
  [[ -z $container ]] || buildah rm "$container" >/dev/null
  rm -rf "$work"
}
trap finish EXIT
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() { echo "test-image.sh: $*" >&2 && exit 1; }

if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
  mmdebstrap --quiet --variant=minbase --architectures="$architecture" bookworm "$work/base.tar"
  from=$(buildah from --arch "$architecture" scratch)
  buildah config --arch "$architecture" "$from"
  buildah add --quiet "$from" "$work/base.tar" / >/dev/null
  buildah commit --quiet "$from" "$base" >/dev/null
  buildah rm "$from" >/dev/null
  rm "$work/base.tar"
  say "base image made"
fi

# Every variant is the same file with other arguments; each must define all arguments of the file.
for each in $(scripts/image-args.sh --list); do
  for argument in BASE_BUILD BASE_RUN CUDA_ARCHS GRPC_FROM; do
    grep -q -- "--build-arg=$argument=" <<<"$(scripts/image-args.sh "$each")" || fail "$each has no $argument"
    grep -q "^ARG $argument" docker/Dockerfile || fail "the Dockerfile has no argument $argument"
  done
done

read -ra arguments <<<"$(scripts/image-args.sh cpu)"
context=.
if [[ -n $package ]]; then
  arguments+=("--build-arg=PACKAGE=glint.deb")
  context=$work/context
  mkdir "$context"
  cp "$package" "$context/glint.deb"
fi
buildah bud --arch "$architecture" --isolation chroot --format docker --layers --quiet "${arguments[@]}" --build-arg "BASE_BUILD=$base" \
  --build-arg "BASE_RUN=$base" --build-arg "JOBS=${JOBS:-}" --tag "$image" --file docker/Dockerfile "$context" >"$work/build.log" 2>&1 ||
  { tail -50 "$work/build.log" && fail 'the image does not build'; }
say "image built: $(buildah images --format '{{.Size}}' "$image")"

buildah inspect --type image "$image" >"$work/image.json"
for wanted in '"User": "65532:65532"' '"StopSignal": "SIGTERM"' '"health"' '"org.opencontainers.image.licenses": "Apache-2.0"' \
  "\"org.opencontainers.image.revision\": \"$(git rev-parse HEAD)\""; do
  grep -qF "$wanted" "$work/image.json" || fail "the image's configuration lacks $wanted"
done
container=$(buildah from "$image")
root=$(buildah mount "$container")
[[ ! -e $root/src && ! -e $root/usr/bin/g++ ]] || fail 'sources or compilers are in the runtime stage'

ip netns add "$name"
ip link add "glint-$$" type veth peer name eth0 netns "$name"
ip addr add 10.209.77.1/30 dev "glint-$$"
ip link set "glint-$$" up
ip -n "$name" addr add 10.209.77.2/30 dev eth0
ip -n "$name" link set eth0 up
ip -n "$name" link set lo up

mapfile -t command < <(python3 - "$work/image.json" <<'PYTHON'
import json, sys
config = json.load(open(sys.argv[1]))["Docker"]["config"]
assert not config.get("Cmd"), "the image opens ports unasked"
print("\n".join(config["Entrypoint"]))
PYTHON
)
[[ ${#command[@]} -gt 0 ]] || fail "the image's command is not what it should be"
command+=(--listen=0.0.0.0:50051 --metrics-listen=0.0.0.0:9464)
# shellcheck disable=SC2016  # expanded by the inner shell
ip netns exec "$name" unshare --mount --pid --fork --kill-child sh -c '
  root=$1 && shift
  mount --bind "$root" "$root" && mount -o remount,bind,ro "$root" && mount -t proc proc "$root/proc" &&
    exec chroot --userspec=65532:65532 "$root" "$@"' sh "$root" "${command[@]}" 2>"$work/server.log" &
unshare=$!
"$glint" health --server 10.209.77.2:50051 --wait 300 >/dev/null || { cat "$work/server.log" && fail 'it does not serve'; }
server=$(pgrep -P "$unshare")
[[ $(awk '/^Uid:/ { print $2 }' "/proc/$server/status") == 65532 ]] || fail 'it does not run as 65532'
[[ $(awk '/^CapEff:/ { print $2 }' "/proc/$server/status") =~ ^0+$ ]] || fail 'it has capabilities'
[[ $(awk '/^NSpid:/ { print $3 }' "/proc/$server/status") == 1 ]] || fail 'it is not process 1'
ip netns exec "$name" chroot --userspec=65532:65532 "$root" /usr/bin/glint health --server 127.0.0.1:50051 >/dev/null ||
  fail 'the HEALTHCHECK command fails'
say 'serving'

python3 - "$work" <<'PYTHON'
import os
import sys
sys.path.insert(0, "tests/deploy")
sys.dont_write_bytecode = True
from stack import write_drive, write_png
os.mkdir(f"{sys.argv[1]}/drive")
write_drive(f"{sys.argv[1]}/drive", 6)
for i in range(4):
    write_png(f"{sys.argv[1]}/{i}.png", 640, 480, i)
PYTHON
"$glint" stream --server 10.209.77.2:50051 --loop --max-frames 200 "$work/*.png" || fail 'frames are not answered'
# Into a file: grep -q ends at the first match, and curl would fail for want of a reader.
curl -sS -o "$work/metrics" http://10.209.77.2:9464/metrics
grep -q '^glint_frames_total{operation="detect",result="OK"} 200$' "$work/metrics" ||
  fail 'the metrics do not count 200 frames'
say '200 frames answered and counted'
"$glint" localize --server 10.209.77.2:50051 --calibration "$work/drive/calib.txt" --format csv "$work/drive/left*.png" \
  "$work/drive/right*.png" >"$work/path.csv" || fail 'pairs are not answered'
[[ $(grep -c ,TRACKING, "$work/path.csv") -eq 6 ]] || { cat "$work/path.csv" && fail 'the camera is not located'; }
say '6 stereo pairs located'

kill -TERM "$server"
rc=0
wait "$unshare" || rc=$?
server=
[[ $rc -eq 0 ]] || { cat "$work/server.log" && fail "exit status $rc"; }
say 'stopped with exit status 0'
