#!/usr/bin/env bash
# The table of docs/performance.md in one run: hostwatch beside nginx and beside what people would otherwise write, with
# the simulated provider. On Debian, as root where something has to be installed; takes some ten minutes after the build.
# Arguments go to load.py: --growth, --vms N --containers N --sites N, --only size,refresh,nginx,idle,others.
set -euo pipefail

cd "$(dirname "$0")/.."
missing=()
for pair in nginx-light:nginx wrk:wrk python3:python3; do
  command -v "${pair#*:}" >/dev/null || missing+=("${pair%%:*}")
done
# Debian keeps what a virtual environment needs in a package of its own.
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
if [ "${#missing[@]}" -gt 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
# First the benchmark: it builds the binary as well, with features that only tests need.
built=$(cargo bench --no-run --bench side_by_side --message-format=json |
  sed -n 's/.*"executable":"\([^"]*side_by_side[^"]*\)".*/\1/p' | tail -n 1)
cargo build --release
python3 benches/load.py --side-by-side "$built" "$@"
