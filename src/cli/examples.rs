//! The examples at the end of the help of commands whose usage line is not enough. A test tries every line.

pub(super) const INIT: &str = "Examples:
  hostwatch init
  hostwatch init --no-input --panel-url https://panel.example.com --vm-api-key-file key --test-mail

A question that no flag answers can be answered by the key's variable, such as HOSTWATCH_ACCOUNTS__MAIN__TIME_ZONE.";

pub(super) const WHY: &str = "Examples:
  hostwatch why main/vm_error/4711
  hostwatch why web-1
  hostwatch why main/disconnect/account --json";

pub(super) const ACK: &str = "Examples:
  hostwatch ack main/vm_error/4711 --comment \"Ann, ticket 88\"
  hostwatch ack web-1
  hostwatch ack web-1 --remove";

pub(super) const SILENCE: &str = "Examples:
  hostwatch silence 'main/vm_error/*' --for 2h --comment \"new kernel\"
  hostwatch silence web-1 --for 30m
  hostwatch silence 'main/disconnect/*' --for 1d
  hostwatch silence --list
  hostwatch silence --remove 3";

pub(super) const OUTBOX: &str = "Examples:
  hostwatch outbox
  hostwatch outbox list --json
  hostwatch outbox retry all
  hostwatch outbox drop ops@example.com main/vm_error/4711";
