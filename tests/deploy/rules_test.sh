#!/usr/bin/env bash
# The Prometheus rules and configurations are well-formed, every alert fires when it should and not when it should not,
# every metric named is one that the server has, and every alert has its section in the runbook.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=/dev/null
. tests/deploy/skip.sh
need promtool

rules=deploy/prometheus/glint.rules.yml
promtool check rules "$rules"
(cd tests/deploy && promtool test rules rules.yml)
# The rule file lies elsewhere once it is mounted.
promtool check config --syntax-only deploy/prometheus/prometheus.yml

rc=0
known=$(grep -oE '"(glint|grpc_server|process)_[a-z0-9_]+"' server/base/names.h | tr -d '"')
while read -r metric; do
  base=${metric%_bucket} base=${base%_sum} base=${base%_count}
  grep -qxE "$metric|$base" <<<"$known" || { echo "$metric: the server has no such metric" && rc=1; }
done < <(grep -ohE '\b(glint|grpc_server|process)_[a-z0-9_]+' "$rules" deploy/grafana/*.json | sort -u)
while read -r alert; do
  grep -q "^## $alert\$" docs/operations/runbook.md || { echo "$alert has no section in the runbook" && rc=1; }
  grep -q "#${alert,,}\$" "$rules" || { echo "$alert does not name its section of the runbook" && rc=1; }
done < <(sed -n 's/^ *- alert: //p' "$rules")
exit "$rc"
