#!/usr/bin/env bash
# sysroot.sh FOLDER PACKAGE...: AArch64 packages of this distribution with all that they depend on, unpacked in FOLDER
# (the packages themselves are kept in FOLDER/packages). Returns at once if FOLDER has just these. Without packages: those
# that all of Glint needs.
#
# Installs nothing, and leaves the machine's list of architectures as it is. On Ubuntu, GLINT_ARM64_MIRROR names the mirror
# that has AArch64; mirrors for x86 do not.
set -euo pipefail
folder=$(realpath -m -- "${1:?sysroot.sh FOLDER PACKAGE...}")
shift
[[ $# -gt 0 ]] || set -- libabsl-dev libgrpc++-dev libgrpc-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc \
  prometheus-cpp-dev libeigen3-dev libhwy-dev libopencv-dev libjpeg-dev libspng-dev libyaml-cpp-dev \
  libpugixml-dev liblz4-dev libzstd-dev libbz2-dev libsqlite3-dev libc6-dev
[[ ! -e $folder/owners || ! -e $folder/complete || $(<"$folder/complete") != "$*" ]] || exit 0

rm -rf "$folder"
mkdir -p "$folder/lists/partial" "$folder/packages/partial"
touch "$folder/status"
apt=(apt-get --quiet -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Debug::NoLocking=1
  -o Dir::State::status="$folder/status" -o Dir::State::Lists="$folder/lists" -o Dir::Cache::archives="$folder/packages"
  -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
# shellcheck source=/dev/null
if [[ $(. /etc/os-release && echo "$ID") == ubuntu ]]; then
  mirror=${GLINT_ARM64_MIRROR:?sysroot.sh: set GLINT_ARM64_MIRROR to the URL of an Ubuntu ports mirror}
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  for pocket in "$suite" "$suite-updates" "$suite-security"; do
    echo "deb [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] $mirror $pocket main universe"
  done >"$folder/sources.list"
  apt+=(-o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=-)
fi
"${apt[@]}" update
"${apt[@]}" install --yes --download-only --no-install-recommends "$@"
# Which package, of which version, each library is from: for deploy/package/carry.py.
for package in "$folder"/packages/*.deb; do
  # shellcheck disable=SC2016  # of dpkg-deb
  owner=$(dpkg-deb --show --showformat '${Package} ${Version}' "$package")
  dpkg-deb --vextract "$package" "$folder" | sed -n "s|^\./\([^ ]*\.so[.0-9]*\)$|/\1 $owner|p" >>"$folder/owners"
done

# Links to absolute names lead into FOLDER, too.
find "$folder" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfn -- "$folder$(readlink -- "$link")" "$link"
done
# What maintainer scripts would have chosen among alternatives.
for library in blas lapack; do
  libraries=$folder/usr/lib/aarch64-linux-gnu
  [[ ! -e $libraries/$library/lib$library.so.3 ]] || ln -sfn "$library/lib$library.so.3" "$libraries/lib$library.so.3"
done
echo "$*" >"$folder/complete"
