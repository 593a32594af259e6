# shellcheck shell=bash
# Run by tools/test-systemd.sh in the machine, after the guide: what systemd does for the server.
{ set +x; } 2>/dev/null
set -o pipefail
trap 'echo "== FAILED: $BASH_COMMAND"' ERR
passed() { echo "== $*"; }
property() { systemctl show --property="$1" --value glint-server; }
until_pid_is_not() {
  for _ in $(seq 600); do
    [[ $(property MainPID) != "$1" && $(property MainPID) != 0 ]] && glint health --wait 30 >/dev/null && return
    sleep 0.1
  done
  journalctl --no-pager -u glint-server | tail -30
  return 1
}
passed "guide done, $(awk '{ print int($1) }' /proc/uptime) s after boot"

[[ $(systemctl is-enabled glint-server) == enabled ]]
pid=$(property MainPID)
[[ $(stat -c %U "/proc/$pid") == glint ]]
[[ $(property ActiveState) == active && $(property Type) == notify ]]
systemd-analyze security glint-server | tail -1
passed 'it runs as user glint'

kill -KILL "$pid"
until_pid_is_not "$pid"
passed 'killed, and started again by systemd'

pid=$(property MainPID)
kill -STOP "$pid"
began=$SECONDS
until_pid_is_not "$pid"
journalctl --no-pager -u glint-server | grep -qi 'watchdog timeout'
passed "stood still, and replaced by the watchdog after $((SECONDS - began)) s"

restarts=$(property NRestarts)
sleep 40
[[ $(property NRestarts) == "$restarts" ]]
passed 'the canary keeps the watchdog quiet'

pid=$(property MainPID)
echo '--drain-timeout=7s' >>/etc/glint/glint-server.flags
systemctl reload glint-server
sleep 2
[[ $(property MainPID) == "$pid" ]]
journalctl --no-pager -u glint-server | grep -q 'reloaded drain_timeout=7s'
passed 'reloaded, without a restart'

sed -i 's/^# --listen=unix/--listen=unix/' /etc/glint/glint-server.flags
systemctl restart glint-server
[[ $(stat -c %U:%G:%a /run/glint/glint.sock) == glint:glint:770 ]]
[[ $(stat -c %U:%a /run/glint) == glint:750 ]]
glint health --server unix:/run/glint/glint.sock
if setpriv --reuid=65534 --regid=65534 --clear-groups glint health --server unix:/run/glint/glint.sock --timeout 2; then
  false
fi
setpriv --reuid=65534 --regid=65534 --groups="$(getent group glint | cut -d: -f3)" \
  glint health --server unix:/run/glint/glint.sock
passed 'the socket is for members of group glint alone'

systemctl stop glint-server
[[ $(property ExecMainStatus) == 0 && $(property Result) == success ]]
[[ ! -e /run/glint ]]
passed 'stopped with exit status 0'

systemctl start glint-server
dpkg --purge glint
[[ $(systemctl is-active glint-server) != active && ! -e /etc/glint && ! -e /var/lib/glint ]]
[[ ! -e /etc/systemd/system/multi-user.target.wants/glint-server.service && ! -e /etc/systemd/system/glint-server.service ]]
if getent passwd glint; then false; fi
passed 'purged, and nothing is left'
