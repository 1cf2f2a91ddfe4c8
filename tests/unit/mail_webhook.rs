//! What webhooks are posted: Alertmanager's format, one alert an incident, with the words of the mail.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use crate::alert::{Event, Form, Item, Key, Kind, Notice, Overflow, Started};
use crate::mail::{Rendered, WebhookTarget, render_webhook, render_webhook_test};
use crate::model::Snapshot;
use account::*;
use chrono::{DateTime, Duration, Utc};
use mail_support::*;
use serde_json::Value;

fn target(url: Option<&str>) -> WebhookTarget<'_> {
    WebhookTarget { name: "team", external_url: url }
}

fn posted(notice: &Notice, snapshot: &Snapshot) -> (Rendered, Value) {
    let from = from();
    let notice = Notice { to: vec!["webhook:team".into()], ..notice.clone() };
    let notes = ["A mail to ann@example.com had to be given up: lost (550)".to_owned()];
    let context = crate::mail::Context { notes: &notes, ..context(&from, snapshot) };
    let rendered = render_webhook(&notice, target(None), &context).unwrap();
    let json = serde_json::from_slice(&rendered.raw).unwrap();
    (rendered, json)
}

fn vm(id: u64, event: Event) -> Item {
    item(Kind::VmError, id, &format!("VM web-{id}"), event)
}

/// A receiver that knows a key takes nothing more under it: where a store was lost, or a post was made anew, the same
/// incident, episode and event come in other words.
#[test]
fn the_same_bytes_have_one_key_and_others_another() {
    let snapshot = snapshot([&full("main")]);
    let key = |since: &str| {
        let item = Item { since: t(since), ..vm(17, Event::Opened) };
        posted(&notice(Form::Opened, vec![item]), &snapshot).0.sender
    };
    assert_eq!(key("2026-03-01T11:00:00"), key("2026-03-01T11:00:00"));
    assert_ne!(key("2026-03-01T11:00:00"), key("2026-03-01T11:00:01"));
}

#[test]
fn one_incident_in_full() {
    let snapshot = snapshot([&full("main")]);
    let (rendered, json) = posted(&notice(Form::Opened, vec![vm(17, Event::Opened)]), &snapshot);
    let (name, hash) = rendered.sender.rsplit_once('#').unwrap();
    assert_eq!((name, hash.len()), ("main/vm_error/17#1#opened", 32), "the Idempotency-Key");
    assert_eq!(rendered.recipients, ["webhook:team"]);
    assert_eq!(rendered.subject, "[CRITICAL] VM web-17 in error (main)");
    let description = json["alerts"][0]["annotations"]["description"].as_str().unwrap().to_owned();
    assert!(description.contains("had to be given up"), "{description}");
    assert!(!description.contains("Sent by hostwatch"), "{description}");
    let mut shown = json.clone();
    for annotations in ["/alerts/0/annotations/description", "/commonAnnotations/description"] {
        *shown.pointer_mut(annotations).unwrap() = "…".into();
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap(), @r#"
    {
      "alerts": [
        {
          "annotations": {
            "description": "…",
            "event": "opened",
            "summary": "VM web-17 in error (main)"
          },
          "endsAt": "0001-01-01T00:00:00Z",
          "fingerprint": "589190b7ff4d1d3e",
          "generatorURL": "",
          "labels": {
            "account": "main",
            "alertname": "HostwatchVmError",
            "incident": "main/vm_error/17",
            "kind": "vm_error",
            "name": "web-17",
            "resource": "17",
            "severity": "critical"
          },
          "startsAt": "2026-03-01T11:58:00Z",
          "status": "firing"
        }
      ],
      "commonAnnotations": {
        "description": "…",
        "event": "opened",
        "summary": "VM web-17 in error (main)"
      },
      "commonLabels": {
        "account": "main",
        "alertname": "HostwatchVmError",
        "incident": "main/vm_error/17",
        "kind": "vm_error",
        "name": "web-17",
        "resource": "17",
        "severity": "critical"
      },
      "externalURL": "",
      "groupKey": "{}:{account=\"main\", alertname=\"HostwatchVmError\"}",
      "groupLabels": {
        "account": "main",
        "alertname": "HostwatchVmError"
      },
      "receiver": "team",
      "status": "firing",
      "truncatedAlerts": 0,
      "version": "4"
    }
    "#);
}

#[test]
fn several_have_words_of_their_own_and_what_they_share_once() {
    let snapshot = snapshot([&full("main")]);
    let items = vec![vm(1, Event::Opened), vm(2, Event::Opened)];
    let (rendered, json) = posted(&notice(Form::Opened, items), &snapshot);
    assert_eq!(rendered.sender.len(), 65, "several events as a hash: {}", rendered.sender);
    let alerts = json["alerts"].as_array().unwrap();
    let summaries: Vec<&str> =
        alerts.iter().map(|alert| alert["annotations"]["summary"].as_str().unwrap()).collect();
    assert_eq!(summaries, ["VM web-1 in error (main)", "VM web-2 in error (main)"]);
    let notes: Vec<bool> = alerts
        .iter()
        .map(|alert| alert["annotations"]["description"].as_str().unwrap().contains("given up"))
        .collect();
    assert_eq!(notes, [true, false], "what is about all of them is said once");
    assert_eq!(json["groupKey"], "{}:{account=\"main\", alertname=\"HostwatchVmError\"}");
    assert_eq!(json["commonLabels"].get("incident"), None);
    assert_ne!(alerts[0]["fingerprint"], alerts[1]["fingerprint"]);
    assert_eq!((&json["status"], &json["truncatedAlerts"]), (&"firing".into(), &0.into()));
}

#[test]
fn more_than_fifty_begin_with_what_is_said_of_all() {
    let snapshot = snapshot([&full("main")]);
    let items = (1..=60).map(|id| vm(id, Event::Opened)).collect();
    let (_, json) = posted(&notice(Form::Opened, items), &snapshot);
    let alerts = json["alerts"].as_array().unwrap();
    assert_eq!((alerts.len(), &json["truncatedAlerts"]), (50, &11.into()));
    assert_eq!(alerts[0]["labels"]["alertname"], "HostwatchNotice");
    assert!(alerts[0]["annotations"]["summary"].as_str().unwrap().starts_with("60 VMs in error"), "{json:#}");
}

#[test]
fn of_many_ends_none_is_left_out_and_what_is_said_of_all_is_resolved() {
    let snapshot = snapshot([&full("main")]);
    let ends = || (1..=60).map(|id| vm(id, Event::Resolved));
    let resolved = |json: &Value| -> Vec<String> {
        let over = json["alerts"].as_array().unwrap().iter().filter(|alert| alert["status"] == "resolved");
        over.map(|alert| alert["labels"]["incident"].as_str().unwrap_or("all").to_owned()).collect()
    };
    let each: Vec<String> = (1..=60).map(|id| format!("main/vm_error/{id}")).collect();
    let with_notice: Vec<String> = std::iter::once("all".to_owned()).chain(each.clone()).collect();
    let overflow = || Form::Overflow(Overflow { max_per_hour: 10, since: read_at() });
    for form in [Form::Closed, overflow()] {
        let (_, json) = posted(&notice(form.clone(), ends().collect()), &snapshot);
        assert_eq!(resolved(&json), with_notice, "{form:?}");
        assert_eq!((&json["status"], &json["truncatedAlerts"]), (&"resolved".into(), &0.into()), "{form:?}");
        let alerts = json["alerts"].as_array().unwrap();
        let described = alerts.iter().filter(|alert| !alert["annotations"]["description"].is_null());
        assert_eq!(described.count(), 50, "{form:?}");
    }
    // Among what is not over, and behind it.
    let mixed = (101..=160).map(|id| vm(id, Event::Opened)).chain(ends()).collect();
    let (_, json) = posted(&notice(overflow(), mixed), &snapshot);
    assert_eq!(resolved(&json), each);
    assert_eq!((&json["status"], &json["truncatedAlerts"]), (&"firing".into(), &11.into()));
}

#[test]
fn a_summary_of_what_was_held_back_has_each_in_its_own_words() {
    let snapshot = snapshot([&full("main")]);
    let items = vec![
        vm(1, Event::Opened),
        vm(2, Event::Resolved),
        vm(3, Event::Reminder(1)),
        vm(4, Event::Unwatched),
    ];
    let form = Form::Overflow(Overflow { max_per_hour: 10, since: read_at() });
    let (_, json) = posted(&notice(form, items.clone()), &snapshot);
    let alerts = json["alerts"].as_array().unwrap();
    assert_eq!(alerts[0]["labels"]["alertname"], "HostwatchNotice");
    assert_eq!(alerts[0]["status"], "firing");
    for (alert, (item, form)) in alerts[1..].iter().zip(items.into_iter().zip([
        Form::Opened,
        Form::Closed,
        Form::Reminder,
        Form::Unwatched,
    ])) {
        let (_, alone) = posted(&notice(form, vec![item]), &snapshot);
        let alone = &alone["alerts"][0];
        for field in ["status", "labels", "fingerprint", "startsAt", "endsAt"] {
            assert_eq!(alert[field], alone[field], "{field}");
        }
        assert_eq!(alert["annotations"]["summary"], alone["annotations"]["summary"]);
    }
    assert_eq!((alerts.len(), &json["truncatedAlerts"]), (5, &0.into()));
}

#[test]
fn ends_resolve_and_what_is_no_longer_watched_does_not() {
    let snapshot = snapshot([&full("main")]);
    let table = [
        (Form::Closed, Event::Resolved, "resolved", "critical"),
        (Form::Closed, Event::Removed, "resolved", "critical"),
        (Form::Closed, Event::WasDown, "resolved", "critical"),
        (Form::Unwatched, Event::Unwatched, "firing", "info"),
        (Form::Reminder, Event::Reminder(1), "firing", "critical"),
        (Form::Reminder, Event::Escalated, "firing", "critical"),
    ];
    for (form, event, status, severity) in table {
        let (_, json) = posted(&notice(form, vec![vm(17, event.clone())]), &snapshot);
        let alert = &json["alerts"][0];
        assert_eq!((&json["status"], &alert["status"]), (&status.into(), &status.into()), "{event}");
        assert_eq!(alert["labels"]["severity"], severity, "{event}");
        let ends = alert["endsAt"].as_str().unwrap();
        let goes_on = status == "firing" && event != Event::Unwatched;
        assert_eq!(ends == "0001-01-01T00:00:00Z", goes_on, "{event}: {ends}");
    }
    // Nothing more is told of these: a day later whoever keeps what is open lets go.
    let mut drop = vm(17, Event::Opened);
    drop.key = Key::account_wide(&"main".parse().unwrap(), Kind::BalanceDrop);
    for (form, item) in [(Form::Opened, drop), (Form::Unwatched, vm(17, Event::Unwatched))] {
        let at = item.at;
        let (_, json) = posted(&notice(form, vec![item]), &snapshot);
        let ends = json["alerts"][0]["endsAt"].as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
        assert_eq!((ends - at, &json["status"]), (Duration::days(1), &"firing".into()));
    }
}

#[test]
fn what_is_about_everything_is_one_notice() {
    let snapshot = snapshot([&full("main")]);
    let started = notice(Form::Started(Started::default()), vec![vm(17, Event::Started)]);
    let (_, json) = posted(&started, &snapshot);
    assert_eq!(json["alerts"].as_array().unwrap().len(), 1);
    assert_eq!(json["alerts"][0]["labels"]["alertname"], "HostwatchNotice");
    assert_eq!(json["alerts"][0]["labels"]["event"], "started");
    // A message that nothing ends would be open for ever.
    let lasts = |json: &Value| {
        let moment =
            |field: &str| json["alerts"][0][field].as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
        (json["alerts"][0]["status"].clone(), moment("endsAt") - moment("startsAt"))
    };
    assert_eq!(lasts(&json), ("firing".into(), Duration::days(1)));
    let from = from();
    let test =
        render_webhook_test(target(Some("https://watch.example.com/")), &context(&from, &snapshot)).unwrap();
    let json: Value = serde_json::from_slice(&test.raw).unwrap();
    assert_eq!(lasts(&json), ("firing".into(), Duration::days(1)));
    assert_eq!(json["alerts"][0]["generatorURL"], "https://watch.example.com/");
    assert_eq!(json["alerts"][0]["annotations"]["summary"], "Sample alert, nothing is wrong (main)");
}

#[test]
fn the_page_of_a_resource_is_below_the_path_of_the_status_page() {
    let (from, snapshot) = (from(), snapshot([&full("main")]));
    for page in ["https://watch.example.com/hw", "https://watch.example.com/hw/"] {
        let notice = notice(Form::Opened, vec![vm(17, Event::Opened)]);
        let notice = Notice { to: vec!["webhook:team".into()], ..notice };
        let rendered = render_webhook(&notice, target(Some(page)), &context(&from, &snapshot)).unwrap();
        let json: Value = serde_json::from_slice(&rendered.raw).unwrap();
        let link = "https://watch.example.com/hw/resource?account=main&kind=vm&id=17";
        assert_eq!(json["alerts"][0]["generatorURL"], link);
    }
}

/// ntfy fills templates from what is posted: a field that is not there would be an empty message, or none.
#[test]
fn the_recipe_for_ntfy_names_what_is_posted() {
    let page = super::tools::read("docs/webhooks.md");
    let (_, recipe) = page.split_once("url = 'https://ntfy.sh/TOPIC?template=yes").unwrap();
    let recipe = recipe.split('\'').next().unwrap();
    let snapshot = snapshot([&full("main")]);
    let (_, json) = posted(&notice(Form::Opened, vec![vm(17, Event::Opened)]), &snapshot);
    // `.status` and `.alerts` are the post's, what follows `$a` or `0)` an alert's.
    let words: Vec<&str> = recipe.split([' ', '}', '{', '(']).filter(|word| word.contains('.')).collect();
    assert!(words.len() >= 8, "{words:?}");
    for word in words {
        let (of, path) = word.split_once('.').unwrap();
        let place = if of.is_empty() { &json } else { &json["alerts"][0] };
        let path = format!("/{}", path.trim_end_matches(')').replace('.', "/"));
        assert!(place.pointer(&path).is_some(), "{word}");
    }
}
