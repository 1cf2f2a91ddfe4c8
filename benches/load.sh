#!/usr/bin/env bash
# The table of docs/performance.md in one run: hostwatch beside nginx, with the simulated provider. On Debian, as root
# where something has to be installed; takes some ten minutes after the build.
# Arguments go to load.py: --growth, --vms N --containers N --sites N, --only size,refresh,nginx,idle.
set -euo pipefail

cd "$(dirname "$0")/.."
missing=()
for pair in nginx-light:nginx wrk:wrk python3:python3; do
  command -v "${pair#*:}" >/dev/null || missing+=("${pair%%:*}")
done
if [ "${#missing[@]}" -gt 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
cargo build --release
python3 benches/load.py "$@"
