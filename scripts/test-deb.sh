#!/usr/bin/env bash
# Installs the Debian packages in a clean Debian 12 root, runs what is in them, and removes them again.
#
#   scripts/test-deb.sh [BUILD-FOLDER | GLINT.deb [GLINT-SERVER-SLAM.deb]]
#
# default: build/dev, configured with -DGLINT_PACKAGE=ON and built. Of a release, both packages (scripts/release.sh).
# Needs root, mmdebstrap and a Debian mirror. BASE names an archive (tar) with the empty root, which is made if it is not
# there. Takes 4 minutes on a busy 2-core machine, most of it to install the dependencies of the client's OpenCV.
set -euo pipefail
missing=()
for tool in cpack:cmake dpkg-deb:dpkg mmdebstrap:mmdebstrap chroot:coreutils python3:python3; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
[[ ${#missing[@]} -eq 0 ]] || { echo "test-deb.sh: install ${missing[*]}" >&2 && exit 1; }
[[ $EUID -eq 0 ]] || { echo 'test-deb.sh: needs root' >&2 && exit 1; }
cd "$(dirname "$0")/.."
given=$(realpath "${1:-build/dev}")
slam=${2:+$(realpath "$2")}

work=$(mktemp -d)
root=$work/root
server=
finish() {
  set +e
  [[ -z $server ]] || kill -KILL "$server" 2>/dev/null
  umount "$root/proc" 2>/dev/null
  rm -rf --one-file-system "$work"
}
trap finish EXIT
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() { echo "test-deb.sh: $*" >&2 && exit 1; }
inside() { DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
# expect TEXT WHAT COMMAND...: the command inside prints TEXT. Into a file, for grep -q ends at the first match, and the
# command would fail for want of a reader.
expect() {
  local text=$1 what=$2
  shift 2
  inside "$@" >"$work/printed" || fail "$what: exit status $?"
  grep -qF -- "$text" "$work/printed" || fail "$what"
}

deb=$given
if [[ -d $given ]]; then
  (cd "$work" && cpack --config "$given/CPackConfig.cmake" -B "$work" >cpack.log) ||
    { cat "$work/cpack.log" && fail cpack; }
  deb=$(echo "$work"/*.deb)
fi
say "$(basename "$deb"): $(stat -c %s "$deb") bytes; $(dpkg-deb -f "$deb" Depends)"
dpkg-deb --fsys-tarfile "$deb" | tar -t >"$work/files"
for file in ./usr/bin/glint-server ./usr/bin/glint ./usr/lib/systemd/system/glint-server.service \
  ./usr/share/man/man1/glint.1.gz ./usr/share/man/man1/glint-server.1.gz ./etc/glint/glint-server.flags \
  ./usr/share/bash-completion/completions/glint; do
  grep -qxF "$file" "$work/files" || fail "$file is not in the package"
done

# What localization needs stays out of the bare detector.
! dpkg-deb -f "$deb" Depends | grep -E 'libceres|cholmod|libspqr|libcxsparse' || fail 'the bare package depends on Ceres'

base=${BASE:-$work/base.tar}
[[ -e $base ]] || mmdebstrap --quiet --variant=minbase bookworm "$base"
mkdir "$root"
tar -C "$root" -xf "$base"
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/resolv.conf"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/test"  # a crash of the machine may lose this root
cp "$deb" "$root/tmp/glint.deb"
inside apt-get -q update >"$work/apt.log"
inside apt-get -q install -y --no-install-recommends /tmp/glint.deb bash-completion man-db >>"$work/apt.log" 2>&1 ||
  { tail -20 "$work/apt.log" && fail 'it does not install'; }
say 'installed'

wants=/etc/systemd/system/multi-user.target.wants/glint-server.service
inside test -L "$wants" || fail 'the unit is not enabled'
expect /usr/sbin/nologin 'user glint' getent passwd glint
expect --drain-timeout 'the manual page of glint-server' man --pager=cat glint-server
expect 'GLINT STREAM' 'the manual page of glint' man --pager=cat glint
# shellcheck disable=SC2016  # expanded inside
complete='. /usr/share/bash-completion/bash_completion; . /usr/share/bash-completion/completions/glint
  COMP_WORDS=($1 "") COMP_CWORD=$2; [[ $1 != *-- ]] || { COMP_WORDS=($1); COMP_CWORD=$(($2 - 1)); }
  _glint; echo " ${COMPREPLY[*]} "'
expect ' stream ' 'completion of commands' bash -c "$complete" - glint 1
expect ' --max-sessions ' 'completion of flags' bash -c "$complete" - 'glint-server --' 2
expect ' cuda ' 'completion of values' bash -c "$complete" - 'glint-server --backend' 2

# A short stereo sequence is refused with the reason, or located.
python3 - "$root/tmp" <<'PYTHON'
import sys
sys.path.insert(0, "tests/deploy")
sys.dont_write_bytecode = True
from stack import write_png
for i in range(3):
    for eye in ("left", "right"):
        write_png(f"{sys.argv[1]}/{eye}{i}.png", 640, 480, i)
with open(f"{sys.argv[1]}/calib.txt", "w") as f:
    f.write("P0: 500 0 320 0 0 500 240 0 0 0 1 0\nP1: 500 0 320 -50 0 500 240 0 0 0 1 0\n")
PYTHON
localize() { inside glint localize '/tmp/left*.png' '/tmp/right*.png' --calibration /tmp/calib.txt "$@" 2>&1; }

inside install -d -o glint -g glint -m 750 /run/glint
echo '--listen=unix:/run/glint/glint.sock' >>"$root/etc/glint/glint-server.flags"
sed -i 's/^--listen=127.0.0.1:50051$//; s/^--metrics-listen=.*/--metrics-listen=/' "$root/etc/glint/glint-server.flags"
# What the unit would start, as its user.
# shellcheck disable=SC2046  # words
chroot --userspec=glint:glint "$root" $(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/glint-server.service") \
  2>"$work/server.log" &
server=$!
inside glint health --server unix:/run/glint/glint.sock --wait 60 >/dev/null || { cat "$work/server.log" && fail 'it does not serve'; }
python3 - "$root/tmp" <<'PYTHON'
import sys
sys.path.insert(0, "tests/deploy")
sys.dont_write_bytecode = True
from stack import write_png
write_png(f"{sys.argv[1]}/picture.png", 640, 480, 1)
PYTHON
inside glint detect --server unix:/run/glint/glint.sock --format csv /tmp/picture.png >"$work/keypoints.csv" ||
  fail "glint detect: exit status $?"
[[ $(wc -l <"$work/keypoints.csv") -ge 100 ]] || fail 'no keypoints'
localize --server unix:/run/glint/glint.sock >"$work/refused" && fail 'the bare server locates cameras'
grep -q 'built without SLAM' "$work/refused" || { cat "$work/refused" && fail 'it does not say why it locates no camera'; }
kill -TERM "$server"
wait "$server" || fail "exit status $?"
server=
say 'served, and stopped with exit status 0'

if [[ -n $slam ]]; then
  say "$(basename "$slam"): $(stat -c %s "$slam") bytes; $(dpkg-deb -f "$slam" Depends)"
  cp "$slam" "$root/tmp/slam.deb"
  inside apt-get -q install -y --no-install-recommends /tmp/slam.deb >>"$work/apt.log" 2>&1 ||
    { tail -20 "$work/apt.log" && fail 'the package with SLAM does not install'; }
  expect SuiteSparse 'the licenses' cat /usr/share/doc/glint-server-slam/copyright
  expect --drain-timeout 'the manual page of glint-server-slam' man --pager=cat glint-server-slam
  expect "$(inside glint-server --version)" "glint-server-slam --version" glint-server-slam --version
  # What the drop-in has the unit start, with the folder that systemd would make.
  inside install -d -o glint -g glint -m 750 /var/lib/glint/maps
  # shellcheck disable=SC2046  # words
  chroot --userspec=glint:glint "$root" $(sed -n 's/^ExecStart=\(.\)/\1/p' \
    "$root/usr/lib/systemd/system/glint-server.service.d/slam.conf") 2>"$work/server.log" &
  server=$!
  inside glint health --server unix:/run/glint/glint.sock --wait 60 >/dev/null ||
    { cat "$work/server.log" && fail 'the server with SLAM does not serve'; }
  localize --server unix:/run/glint/glint.sock >"$work/located" || { cat "$work/located" && fail 'it does not locate'; }
  kill -TERM "$server"
  wait "$server" || fail "exit status $?"
  server=
  say 'with SLAM: pairs answered'
  inside apt-get -q purge -y glint-server-slam >>"$work/apt.log" 2>&1 ||
    { tail -20 "$work/apt.log" && fail 'the package with SLAM does not go away'; }
  [[ ! -e $root/usr/lib/systemd/system/glint-server.service.d ]] || fail 'the drop-in is left'
fi

# The administrator's choice outlives another installation of the package.
rm "$root$wants"  # systemctl disable
inside apt-get -q install -y --reinstall /tmp/glint.deb >>"$work/apt.log" 2>&1 ||
  { tail -20 "$work/apt.log" && fail 'it does not install again'; }
inside test ! -L "$wants" || fail 'installing it again enables the unit that was disabled'
uid=$(inside id -u glint)

inside apt-get -q purge -y glint >>"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log" && fail 'it does not go away'; }
# But for what this script put there, and man's own cache of pages that were read.
left=$(find "$root" -xdev \( -name '*glint*' -o -uid "$uid" \) ! -path "$root/proc/*" ! -path "$root/tmp/*" \
  ! -path "$root/run/*" ! -path "$root/var/cache/man/*")
[[ -z $left ]] || fail "left after purge: $left"
for kind in passwd group; do
  ! inside getent "$kind" glint || fail "left after purge, in $kind"
done
say 'purged, nothing left'
