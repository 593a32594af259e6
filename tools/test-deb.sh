#!/usr/bin/env bash
# Installs the Debian package in an empty root of its architecture, with nothing but dpkg, runs what is in it, and removes it
# again.
#
#   tools/test-deb.sh [BUILD-FOLDER | GLINT.deb]
#
# default: build/dev, configured with -DGLINT_PACKAGE=ON and built.
# Needs root, mmdebstrap and a Debian mirror; for a package of another architecture QEMU as its interpreter
# (qemu-user-static). SUITE in the environment: bookworm (default) or trixie. BASE names an archive (tar) with the empty root,
# which is made if it is not there: with one of Ubuntu 24.04, that is tried. Takes a minute, under QEMU ten.
set -euo pipefail
missing=()
for tool in cpack:cmake dpkg-deb:dpkg mmdebstrap:mmdebstrap chroot:coreutils python3:python3; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
[[ ${#missing[@]} -eq 0 ]] || { echo "test-deb.sh: install ${missing[*]}" >&2 && exit 1; }
[[ $EUID -eq 0 ]] || { echo 'test-deb.sh: needs root' >&2 && exit 1; }
cd "$(dirname "$0")/.."
given=$(realpath "${1:-build/dev}")

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
  deb=$(echo "$work"/glint_*.deb)
fi
say "$(basename "$deb"): $(stat -c %s "$deb") bytes; $(dpkg-deb -f "$deb" Depends)"
dpkg-deb --fsys-tarfile "$deb" | tar -t >"$work/files"
for file in ./usr/bin/glint-server ./usr/bin/glint ./usr/lib/systemd/system/glint-server.service \
  ./usr/share/man/man1/glint.1.gz ./usr/share/man/man1/glint-server.1.gz ./etc/glint/glint-server.flags \
  ./usr/share/bash-completion/completions/glint; do
  grep -qxF "$file" "$work/files" || fail "$file is not in the package"
done

architecture=$(dpkg-deb -f "$deb" Architecture)
base=${BASE:-$work/base.tar}
[[ -e $base ]] || mmdebstrap --quiet --variant=minbase --architectures="$architecture" "${SUITE:-bookworm}" "$base"
mkdir "$root"
tar -C "$root" -xf "$base"
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/resolv.conf"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/test"  # a crash of the machine may lose this root
cp "$deb" "$root/tmp/glint.deb"
# No package comes with it.
before=$SECONDS
inside dpkg --install /tmp/glint.deb >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log" && fail 'it does not install'; }
say "installed in $((SECONDS - before)) s on $(sed -n 's/^PRETTY_NAME=//p' "$root/etc/os-release"), $architecture"
inside ldd /usr/bin/glint-server /usr/bin/glint >"$work/loaded"
! grep -E 'not found' "$work/loaded" || fail 'libraries are missing'
inside apt-get -q update >>"$work/apt.log"
inside apt-get -q install -y --no-install-recommends bash-completion man-db >>"$work/apt.log" 2>&1 ||
  { tail -20 "$work/apt.log" && fail 'bash-completion and man-db do not install'; }

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

# As systemd makes them.
inside install -d -o glint -g glint -m 750 /run/glint /var/lib/glint/maps
echo '--listen=unix:/run/glint/glint.sock' >>"$root/etc/glint/glint-server.flags"
sed -i 's/^--listen=127.0.0.1:50051$//; s/^--metrics-listen=.*/--metrics-listen=/' "$root/etc/glint/glint-server.flags"
# What the unit would start, as its user.
# shellcheck disable=SC2046  # words
chroot --userspec=glint:glint "$root" $(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/glint-server.service") \
  2>"$work/server.log" &
server=$!
inside glint health --server unix:/run/glint/glint.sock --wait 300 >/dev/null || { cat "$work/server.log" && fail 'it does not serve'; }
grep -oE 'backend=cuda|note=".*"' "$work/server.log" || { cat "$work/server.log" && fail 'it does not say what it runs on'; }
python3 - "$root/tmp" <<'PYTHON'
import sys
sys.path.insert(0, "tests/deploy")
sys.dont_write_bytecode = True
from stack import write_drive, write_png
write_png(f"{sys.argv[1]}/picture.png", 640, 480, 1)
write_drive(sys.argv[1], 6)
PYTHON
inside glint detect --server unix:/run/glint/glint.sock --format csv /tmp/picture.png >"$work/keypoints.csv" ||
  fail "glint detect: exit status $?"
[[ $(wc -l <"$work/keypoints.csv") -ge 100 ]] || fail 'no keypoints'
inside glint localize --server unix:/run/glint/glint.sock --calibration /tmp/calib.txt --format csv \
  --map test '/tmp/left*.png' '/tmp/right*.png' >"$work/path.csv" || fail "glint localize: exit status $?"
[[ $(grep -c ,TRACKING, "$work/path.csv") -eq 6 ]] || { cat "$work/path.csv" && fail 'the camera is not located'; }
inside test -s /var/lib/glint/maps/test.glintmap || fail 'the map is not where the unit has it'
kill -TERM "$server"
wait "$server" || fail "exit status $?"
server=
say 'served, and stopped with exit status 0'

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
