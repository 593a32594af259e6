#!/usr/bin/env bash
# deb_test.sh CMAKE SOURCE-FOLDER
# cmake/GlintPackage.cmake and cpack on small programs with a library of the distribution: the package glint installs nothing
# but two of them, their library, its license and the files of deploy/, and depends on the C and C++ runtime alone. The
# package glint-ros2 installs the third, and depends on the library's package.
set -euo pipefail
cmake=$1 source=$2

for tool in patchelf readelf python3 dpkg-deb dpkg-query dpkg-shlibdeps ninja; do
  command -v "$tool" >/dev/null || { echo "GLINT_SKIP_ALL: $tool is not installed" && exit 0; }
done
dpkg-query -W zlib1g-dev >/dev/null 2>&1 || { echo 'GLINT_SKIP_ALL: zlib1g-dev is not installed' && exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "deb_test.sh: $*" >&2 && exit 1; }

mkdir "$work/small"
cat >"$work/small/program.cc" <<'SOURCE'
#include <zlib.h>

#include <iostream>
int main() { std::cout << "zlib " << zlibVersion() << "\n"; }
SOURCE
cat >"$work/small/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(small VERSION 1.2.3 LANGUAGES CXX)
set(PROJECT_SOURCE_DIR "$source")
foreach(program glint-server glint glint-ros2)
  add_executable(\${program} program.cc)
  target_link_libraries(\${program} PRIVATE z)
endforeach()
include("$source/cmake/GlintPackage.cmake")
CMAKE
# Of the newest system, for what builds this may be newer than what the package is for.
{ "$cmake" -S "$work/small" -B "$work/build" -G Ninja -DGLINT_PACKAGE_SYSTEM=debian13 && "$cmake" --build "$work/build" &&
  (cd "$work/build" && cpack); } >"$work/log" 2>&1 || { tail -30 "$work/log" && fail 'no package is made'; }
deb=$work/build/glint_1.2.3_$(dpkg --print-architecture).deb

depends=$(dpkg-deb -f "$deb" Depends)
[[ $depends =~ ^libc6\ \(\>=\ [0-9.]+\),\ libgcc-s1\ \([^,]*\),\ libstdc\+\+6\ \([^,]*\),\ passwd$ ]] || fail "Depends: $depends"
[[ -z $(dpkg-deb -f "$deb" Pre-Depends) && -z $(dpkg-deb -f "$deb" Recommends) ]] || fail 'it wants more'
dpkg-deb --extract "$deb" "$work/root"
[[ $(cd "$work/root/usr/lib/glint" && find . -type f | sort | paste -sd ' ') =~ \
^\./copyright/zlib1g[a-z0-9]*\ \./libz\.so\.1\ \./packages$ ]] || fail "carried: $(find "$work/root/usr/lib/glint")"
"$source/deploy/package/carry.py" "$work/root/usr" --check --system debian13 >/dev/null || fail 'it is not complete'
for program in glint-server glint; do
  env -i ldd "$work/root/usr/bin/$program" >"$work/loaded"
  grep -qF "$work/root/usr/bin/../lib/glint/libz.so.1" "$work/loaded" || { cat "$work/loaded" && fail 'another zlib'; }
  [[ $(env -i "$work/root/usr/bin/$program") == 'zlib 1.'* ]] || fail "$program does not run"
done
[[ ! -e $work/root/usr/bin/glint-ros2 ]] || fail 'the server has glint-ros2 with it'

# The program in ROS 2, which is the distribution's.
ros2=$work/build/glint-ros2_1.2.3_$(dpkg --print-architecture).deb
depends=$(dpkg-deb -f "$ros2" Depends)
[[ $depends == *zlib1g* && $depends == *libc6* && $depends == *passwd* ]] || fail "glint-ros2 Depends: $depends"
dpkg-deb --extract "$ros2" "$work/ros2" && dpkg-deb --control "$ros2" "$work/ros2-control"
[[ $(cd "$work/ros2" && find . -type f | sort | paste -sd ' ') == './etc/glint/glint-ros2.env ./etc/glint/glint-ros2.yaml '\
'./usr/bin/glint-ros2 ./usr/lib/systemd/system/glint-ros2.service ./usr/share/doc/glint-ros2/copyright '\
'./usr/share/man/man1/glint-ros2.1.gz' ]] || fail "other files in glint-ros2: $(find "$work/ros2" -type f)"
! readelf --dynamic "$work/ros2/usr/bin/glint-ros2" | grep -E 'RPATH|RUNPATH' || fail 'it looks for libraries elsewhere'
[[ $(env -i "$work/ros2/usr/bin/glint-ros2") == 'zlib 1.'* ]] || fail 'glint-ros2 does not run'
for script in postinst prerm postrm; do
  [[ -x $work/ros2-control/$script ]] || fail "glint-ros2 has no $script"
done
! grep -vxFf <(cd "$work/ros2" && find etc -type f | sed 's|^|/|') "$work/ros2-control/conffiles" ||
  fail 'conffiles names what is not there'
[[ $(wc -l <"$work/ros2-control/conffiles") -eq 2 ]] || fail 'a file of /etc is no conffile'

# A library that belongs to no package stops cpack.
cp "$(realpath "$(g++ -print-file-name=libz.so)")" "$work/small/libodd.so.1"
patchelf --set-soname libodd.so.1 "$work/small/libodd.so.1"
sed -i "s|PRIVATE z|PRIVATE \"$work/small/libodd.so.1\"|" "$work/small/CMakeLists.txt"
"$cmake" --build "$work/build" >"$work/log" 2>&1 || { tail -30 "$work/log" && fail 'it does not compile'; }
rm "$deb"
! (cd "$work/build" && cpack) >"$work/log" 2>&1 || fail 'a package without one of its libraries is made'
grep -q 'wants libodd.so.1: not found' "$work/log" || { cat "$work/log" && fail 'the missing library is not named'; }
[[ ! -e $deb ]] || fail 'an incomplete package is there'
echo 'a package that wants the C and C++ runtime alone, and one that wants the distribution'
