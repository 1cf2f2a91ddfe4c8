#!/usr/bin/env bash
# Mutation testing of what must not be wrong, by cargo-mutants: docs/reliability-mutants.md has the results.
#   benches/mutants.sh [AREA]... [-- ARGUMENTS OF CARGO-MUTANTS]
# Areas: forecast, engine, wire, outbox; all of them where none is named. `-- --list` only counts, `-- -F NAME` takes
# those whose description matches, `-- --shard 0/4` a part, `-- --iterate` what was not caught the last time. Results are
# left in target/mutants/AREA, or in $RESULTS/AREA.
#
# Built as a whole, one mutant would cost minutes. So each area is copied into a crate of its own, which has only the
# modules that the area imports, and its tests, all of them in one test binary: then a mutant costs seconds.
set -euo pipefail

cd "$(dirname "$0")/.."
root=$PWD
results=${RESULTS:-$root/target/mutants}
# Compiled dependencies are shared with ordinary builds.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
export CARGO_PROFILE_DEV_DEBUG=none CARGO_PROFILE_TEST_DEBUG=none
# Fewer cases of property tests, and the same for each mutant.
export PROPTEST_CASES=${PROPTEST_CASES:-24} PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}

command -v cargo-mutants >/dev/null || {
  echo 'cargo-mutants is missing: cargo install --locked cargo-mutants' >&2
  exit 1
}

# Sets `modules` (files and folders of src/ that are copied), `mutated` (globs), `tests` (their main files) and `filter`
# (which of the tests in src/ and tests/ are run).
area() {
  case $1 in
  forecast)
    modules=(model)
    mutated=('src/model/forecast.rs' 'src/model/changes.rs' 'src/model/billing.rs' 'src/model/moments.rs'
      'src/model/pay_by.rs' 'src/model/money.rs')
    tests=()
    filter=model
    ;;
  engine)
    modules=(model alert)
    mutated=('src/alert/**/*.rs')
    # The random histories of alert_histories would catch some more, at three times the price.
    tests=(alert_engine/main.rs alert_overlays.rs)
    filter=alert
    ;;
  wire)
    modules=(model clock.rs api)
    mutated=('src/api/wire/*.rs' 'src/api/report.rs')
    tests=(api_fixtures.rs)
    filter=api
    ;;
  outbox)
    modules=(model alert failpoint.rs store mail/settings.rs mail/transport.rs mail/transport app/attempt.rs)
    mutated=('src/store/outbox.rs' 'src/store/attention.rs' 'src/app/attempt.rs' 'src/mail/transport/reply.rs'
      'src/mail/transport/error.rs')
    tests=(store.rs smtp_transport/main.rs)
    filter=
    ;;
  *)
    echo "no area '$1': forecast, engine, wire, outbox" >&2
    exit 2
    ;;
  esac
}

# Puts the area's crate into the current folder.
crate() {
  mkdir src
  local module test name
  for module in "${modules[@]}"; do
    mkdir -p "src/$(dirname "$module")"
    cp -R "$root/src/$module" "src/$module"
  done
  cp -R "$root/tests" "$root/Cargo.lock" .
  # The package as it is, without its benches, its binary and itself as a dependency.
  sed -e '/^\[\[bench\]\]/,/^$/d' -e '/^default-run/d' -e '/^hostwatch = /d' -e 's/^failpoints = /default = ["failpoints"]\n&/' \
    -e 's/^edition = .*/&\nautotests = false/' "$root/Cargo.toml" >Cargo.toml
  {
    # Tests of tests/ name the crate from outside.
    echo 'extern crate self as hostwatch;'
    for module in "${modules[@]}"; do
      case $module in
      mail/settings.rs) echo 'pub mod mail { pub mod settings; pub mod transport; pub use settings::{Security, Server, Settings}; }' ;;
      mail/*) ;;
      app/attempt.rs) echo 'mod app { mod attempt; }' ;;
      *) echo "pub mod ${module%.rs};" ;;
      esac
    done
    for test in ${tests[@]+"${tests[@]}"}; do
      name=${test%.rs}
      echo "#[cfg(test)] #[path = \"../tests/$test\"] mod test_$(basename "${name%/main}");"
    done
  } >src/lib.rs
}

areas=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  areas+=("$1")
  shift
done
[ $# -eq 0 ] || shift
[ "${#areas[@]}" -gt 0 ] || areas=(forecast engine wire outbox)

missed=0
for name in "${areas[@]}"; do
  area "$name"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  cd "$scratch"
  crate
  files=()
  for glob in "${mutated[@]}"; do files+=(--file "$glob"); done
  mkdir -p "$results/$name"
  # `--in-place`: the crate is a copy already, and stays where incremental compilation knows it.
  cargo mutants --in-place --shuffle --colors never --timeout 90 --output "$results/$name" "${files[@]}" --cargo-arg=--lib "$@" \
    -- $filter ||
    missed=1
  cd "$root"
  rm -rf "$scratch"
done
exit "$missed"
