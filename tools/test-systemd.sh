#!/usr/bin/env bash
# Runs the commands of docs/operations/quick-start.md on a new Debian 12 machine, then tests systemd's part: restarts,
# watchdog, reload, stop. The machine is virtual, with its own kernel and systemd.
#
#   tools/test-systemd.sh [BUILD-FOLDER]     default: build/dev, configured with -DGLINT_PACKAGE=ON and built
#
# Needs root, mmdebstrap, qemu-system-x86, e2fsprogs and a Debian mirror. The machine is emulated, which takes minutes; with
# ACCEL=kvm is fast where KVM can boot a kernel. The log of the machine is printed if it fails, or if VERBOSE is set;
# BASE names a folder where the empty Debian is kept for the next time.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/dev}")

work=$(mktemp -d)
machine=
finish() {
  set +e
  [[ -z $machine ]] || kill -KILL "$machine" 2>/dev/null
  rm -rf --one-file-system "$work"
}
trap finish EXIT
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() { echo "test-systemd.sh: $*" >&2 && exit 1; }

(cd "$work" && cpack --config "$build/CPackConfig.cmake" -B "$work" >cpack.log) || { cat "$work/cpack.log" && fail cpack; }
guide=docs/operations/quick-start.md
{
  echo 'set -ex; export DEBIAN_FRONTEND=noninteractive; cd /root'
  python3 tests/deploy/doc_commands.py "$guide" install
} >"$work/install.sh"
{
  echo 'set -ex; cd /root'
  python3 tests/deploy/doc_commands.py "$guide" machine
  cat tests/deploy/machine.sh
} >"$work/check.sh"
cat >"$work/check.service" <<'UNIT'
[Unit]
Description=Check of Glint
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
Environment=HOME=/root
ExecStart=/bin/bash /root/check.sh
ExecStartPost=/bin/echo GLINT-CHECK passed
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0
TimeoutStartSec=900
[Install]
WantedBy=graphical.target multi-user.target
UNIT

root=$work/root
if [[ -n ${BASE:-} && -d $BASE ]]; then
  cp -a "$BASE" "$root"
else
  mmdebstrap --quiet --variant=minbase --include=systemd-sysv,dbus,udev,linux-image-cloud-amd64,iproute2,procps \
    bookworm "$root" >"$work/root.log" 2>&1 || { tail -30 "$work/root.log" && fail 'the machine cannot be made'; }
  [[ -z ${BASE:-} ]] || cp -a "$root" "$BASE"
fi
say 'a minimal Debian 12'
cp "$work"/{install.sh,check.sh} "$work"/glint_*_amd64.deb "$root/root"
cp "$work/check.service" "$root/etc/systemd/system"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# Nothing is started before the machine is.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
chroot "$root" bash /root/install.sh >"$work/root.log" 2>&1 || { tail -30 "$work/root.log" && fail 'step 1 of the guide'; }
rm "$root/usr/sbin/policy-rc.d"
chroot "$root" systemctl --quiet enable check.service
# Whose start would cut off all that write to the console.
chroot "$root" systemctl --quiet mask serial-getty@ttyS0.service
say 'step 1 of the guide'

truncate -s 3G "$work/disk"
mke2fs -q -t ext4 -d "$root" "$work/disk"
cp "$root/boot/vmlinuz-"* "$work/kernel"
cp "$root/boot/initrd.img-"* "$work/initrd"
rm -rf --one-file-system "$root"
accelerator=${ACCEL:-tcg}
timeout 1800 qemu-system-x86_64 -accel "$accelerator" -cpu max -smp 2 -m 2048 -nographic -nic none -no-reboot \
  -kernel "$work/kernel" -initrd "$work/initrd" -append 'root=/dev/vda rw console=ttyS0 panic=-1 systemd.show_status=0 quiet' \
  -drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" >"$work/machine.log" 2>&1 </dev/null &
machine=$!
wait "$machine" || true
machine=
[[ -z ${VERBOSE:-} ]] || cat "$work/machine.log"
grep '^== ' "$work/machine.log" | tr -d '\r' || true
grep -q 'GLINT-CHECK passed' "$work/machine.log" || { tail -80 "$work/machine.log" && fail 'the machine says no'; }
say "the guide's other steps, and systemd's part, in a virtual machine ($accelerator)"
