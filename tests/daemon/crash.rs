//! SIGKILL at every step between an observation and "sent". After the next start each event was mailed, and
//! only a mail whose reply was lost may come twice, with the same bytes.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::collections::BTreeSet;
use std::path::Path;

use common::ledger::Ledger;
use common::smtp::SmtpServer;
use common::*;

/// The steps in their order; src/failpoint.rs explains them.
const POINTS: [&str; 11] = [
    "reading-applied",
    "decided",
    "committing",
    "committed",
    "claimed",
    "connected",
    "sender-taken",
    "recipient-taken",
    "before-dot",
    "dot-written",
    "replied",
];
/// The result is stored: the mail is out, and that is known.
const DONE: &str = "recorded";
/// A press of a chat's button is carried out; `telegram.rs` kills there.
const PRESSED: &str = "pressed";
/// From the dot to the stored result the server has the mail and the store does not know it.
const UNKNOWN: [&str; 2] = ["dot-written", "replied"];

const OPENED: &str = "main/vm_error/10001 opened";

/// An event, and the recipients that must be told by the end.
struct Story {
    name: &'static str,
    /// The number of envelopes before the point is armed.
    before: usize,
    happens: fn(&Provider),
    /// The event that is on its way when the daemon is killed, and its recipients.
    event: &'static str,
    to: &'static [&'static str],
    told: &'static [(&'static str, &'static [&'static str])],
}

static STORIES: [Story; 3] = [
    Story {
        name: "the first start",
        before: 0,
        happens: |_| {},
        event: STARTED,
        to: &[OPS],
        told: &[(OPS, &[STARTED])],
    },
    Story {
        name: "a VM in error, to two people",
        before: 1,
        happens: |provider| provider.set_vm(10001, "error"),
        event: OPENED,
        to: &["a@example.com", "b@example.com"],
        told: &[(OPS, &[STARTED]), ("a@example.com", &[OPENED]), ("b@example.com", &[OPENED])],
    },
    Story {
        name: "a disconnect",
        before: 1,
        happens: |provider| provider.lasts_days(2),
        event: "main/disconnect/account rung:3",
        to: &[OPS],
        told: &[(OPS, &["main/disconnect/account rung:3", STARTED])],
    },
];

const SETTINGS: &str = "
[alerts.rules.vm_error]
to = [\"a@example.com\", \"b@example.com\"]
";

fn killed_at(point: &str, story: &Story) {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, SETTINGS);
    daemon.arm(if story.before == 0 { point } else { "nowhere" });
    daemon.run();
    if story.before > 0 {
        wait_for(&smtp, STARTED);
        daemon.has_sent(story.before);
        daemon.arm(point);
        (story.happens)(&provider);
    }
    daemon.has_reached(point);
    // The next mail leaves once the result of the first is recorded.
    let unknown = usize::from(UNKNOWN.contains(&point));
    let out = unknown.max(usize::from(point == DONE));
    smtp.seen_when_blocking(|seen| seen.accepted().len() == story.before + out);
    daemon.kill();

    daemon.arm("nowhere");
    daemon.run();
    for to in story.to {
        until(&format!("{} to {to}", story.event), || Ledger::of(&smtp, to).events().contains(&story.event));
    }
    daemon.has_sent(story.told.iter().map(|(_, events)| events.len()).sum());
    provider.all_polled(2);
    let mut repeats = 0;
    for (to, events) in story.told {
        let ledger = Ledger::of(&smtp, to);
        assert_eq!(ledger.events(), *events, "{to}");
        repeats += ledger.repeats();
    }
    assert_eq!(repeats, unknown, "copies of mails that were sent before");
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn an_event_is_told_once_wherever_the_daemon_is_killed() {
    let points = || POINTS.into_iter().chain([DONE]);
    let cases: Vec<(&Story, &str)> =
        STORIES.iter().flat_map(|story| points().map(move |point| (story, point))).collect();
    let name = |(story, point): &(&Story, &str)| format!("{}, killed at {point}", story.name);
    each_at_once(12, &cases, name, |(story, point)| killed_at(point, story));
}

/// A point in the code is useless unless a test kills at it.
#[test]
fn every_failpoint_is_tried() {
    let mut found = BTreeSet::new();
    let mut todo = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(directory) = todo.pop() {
        for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                todo.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let calls = text.split("failpoint::reach(\"").skip(1);
            found.extend(calls.map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
    }
    let tried: BTreeSet<String> = POINTS.into_iter().chain([DONE, PRESSED]).map(str::to_owned).collect();
    assert_eq!(found, tried);
}
