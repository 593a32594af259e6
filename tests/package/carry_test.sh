#!/usr/bin/env bash
# carry_test.sh CARRY.py COMPILER
# deploy/package/carry.py on a small program, with two libraries from a sysroot: the program runs from another folder
# without the sysroot, and each thing that a package must not want is refused by its name.
set -euo pipefail
carry=$1 compiler=$2

for tool in patchelf readelf python3; do
  command -v "$tool" >/dev/null || { echo "GLINT_SKIP_ALL: $tool is not installed" && exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "carry_test.sh: $*" >&2 && exit 1; }
cd "$work"
library() {  # NAME SOURCE OPTION...: the shared library NAME of the sysroot
  echo "$2" >source.cc
  "$compiler" -shared -fPIC -Wl,-soname,"$1" -o "$libraries/$1" source.cc "${@:3}"
}
refused() {  # TEXT COMMAND...
  ! "${@:2}" >said 2>&1 || fail "is not refused: ${*:2}"
  grep -qF -- "$1" said || { cat said && fail "it does not say: $1"; }
}

case $(uname -m) in aarch64) triplet=aarch64-linux-gnu ;; *) triplet=x86_64-linux-gnu ;; esac
libraries=$work/sysroot/usr/lib/$triplet
mkdir -p "$libraries/deep" root/usr/bin sysroot/usr/share/doc/lib{near,far}
# libfar is in a folder that libnear names, as some libraries of distributions have it; the program knows libnear alone.
library libfar.so.2 'int Far() { return 40; }'
mv "$libraries/libfar.so.2" "$libraries/deep"
library libnear.so.1 'int Far(); int Near() { return Far() + 2; }' "$libraries/deep/libfar.so.2" \
  -Wl,-rpath,"/usr/lib/$triplet/deep"
echo 'int Near(); int main() { return Near(); }' >program.cc
"$compiler" -o program program.cc "$libraries/libnear.so.1" -Wl,--allow-shlib-undefined -Wl,-rpath,"$libraries"
{
  echo "/usr/lib/$triplet/libnear.so.1 libnear 1.0-3"
  echo "/usr/lib/$triplet/deep/libfar.so.2 libfar 2:2.5"
} >sysroot/owners
echo 'license of libnear' >sysroot/usr/share/doc/libnear/copyright
echo 'license of libfar' >sysroot/usr/share/doc/libfar/copyright
echo 'license of what is static' >static.txt

package() { rm -rf root/usr/lib && cp program root/usr/bin && "$carry" root/usr --sysroot sysroot "$@"; }
package --license static=static.txt >depends || fail 'it carries nothing'
grep -qE '^libc6 \(>= 2\.[0-9]+\), libgcc-s1 \(>= 3\.0\), libstdc\+\+6 \(>= [0-9]+\)$' depends ||
  { cat depends && fail 'other dependencies'; }
[[ $(cd root/usr/lib/glint && find . -type f | sort | paste -sd ' ') == './copyright/libfar ./copyright/libnear '\
'./copyright/static ./libfar.so.2 ./libnear.so.1 ./packages' ]] || fail "carried: $(find root/usr/lib)"
[[ $(paste -sd ' ' root/usr/lib/glint/packages) == 'libfar 2:2.5 libnear 1.0-3' ]] || fail 'other versions of packages'
grep -q static root/usr/lib/glint/copyright/static || fail 'not the license of what is static'
mkdir elsewhere && mv sysroot away && cp -r root elsewhere
status=0
env -i elsewhere/root/usr/bin/program || status=$?
[[ $status -eq 42 ]] || fail "the program does not find its libraries elsewhere: status $status"
"$carry" root/usr --check >/dev/null || fail 'what was carried is not complete'

rm root/usr/lib/glint/libfar.so.2
refused 'libnear.so.1 wants libfar.so.2, which the package lacks' "$carry" root/usr --check
patchelf --set-rpath "$PWD/away" root/usr/bin/program
refused "program looks for libraries in $PWD/away" "$carry" root/usr --check
mv away sysroot
mv sysroot/usr/share/doc/libfar .
refused 'libnear.so.1 wants libfar.so.2: no license in /usr/share/doc/libfar/copyright' package
mv libfar sysroot/usr/share/doc
sed -i /libfar/d sysroot/owners
refused 'deep/libfar.so.2 belongs to no package' package
rm "$libraries/deep/libfar.so.2"
refused 'libnear.so.1 wants libfar.so.2: not found' package

# Symbols that the oldest system lacks, and those that are glibc's own affair.
for version in GLIBC_2.37 GLIBC_PRIVATE; do
  echo "$version { global: Newest; };" >versions
  library libanl.so.1 'extern "C" int Newest() { return 1; }' -Wl,--version-script=versions
  echo 'extern "C" int Newest(); int main() { return Newest(); }' >program.cc
  "$compiler" -o program program.cc "$libraries/libanl.so.1"
  refused "program wants Newest of $version; debian12 has GLIBC_2.36" package
done
sed -i 's/.*/GLIBC_2.37 { global: Newest; };/' versions
library libanl.so.1 'extern "C" int Newest() { return 1; }' -Wl,--version-script=versions
"$compiler" -o program program.cc "$libraries/libanl.so.1"
[[ $(package --system ubuntu24.04) == 'libc6 (>= 2.37), '* ]] || fail 'not the newest symbol in what it depends on'
echo 'carried, complete, and refused by name'
