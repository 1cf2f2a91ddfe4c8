//! Posts to webhooks: Alertmanager's format, one alert for each incident, with the words of the mail.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use crate::alert::{Event, Form, Item, Key, Kind, NotReached, Notice, Started};
use crate::mail::{Context, Rendered, render_webhook};
use account::*;
use chrono::{DateTime, Duration, Utc};
use mail_support::*;
use serde_json::Value;

fn posted(form: Form, items: Vec<Item>) -> (Rendered, Value) {
    let (from, snapshot) = (from(), snapshot([&full("main")]));
    let notice = Notice { to: "webhook:team".into(), ..notice(form, items) };
    let recipient = "ann@example.com".to_owned();
    let unreached = [NotReached { recipient, since: now(), error: "550".to_owned() }];
    let context = Context { unreached: &unreached, ..context(&from, &snapshot) };
    let rendered = render_webhook(&notice, ID, &context).unwrap();
    let json = serde_json::from_slice(&rendered.raw).unwrap();
    (rendered, json)
}

fn vm(id: u64, event: Event) -> Item {
    item(Kind::VmError, id, &format!("VM web-{id}"), event)
}

/// A receiver ignores a second post with the same key. After the loss of a store, or if a post was made again,
/// the same incident, episode and event come with other words, so the key has to differ.
#[test]
fn the_same_bytes_have_one_key_and_others_another() {
    let key = |since: &str| {
        let item = Item { began: t(since), ..vm(17, Event::Opened) };
        posted(Form::News, vec![item]).0.sender
    };
    assert_eq!(key("2026-03-01T11:00:00"), key("2026-03-01T11:00:00"));
    assert_ne!(key("2026-03-01T11:00:00"), key("2026-03-01T11:00:01"));
}

#[test]
fn one_incident_in_full() {
    let (rendered, json) = posted(Form::News, vec![vm(17, Event::Opened)]);
    assert_eq!(rendered.sender.len(), 32, "the Idempotency-Key");
    assert_eq!(rendered.message_id, ID);
    assert_eq!(rendered.subject, "[CRITICAL] VM web-17 in error (main)");
    let description = json["alerts"][0]["annotations"]["description"].as_str().unwrap().to_owned();
    assert!(description.contains("Mails to ann@example.com have not been delivered"), "{description}");
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
      "groupKey": "{}:{account=\"main\", alertname=\"HostwatchVmError\", incident=\"main/vm_error/17\"}",
      "groupLabels": {
        "account": "main",
        "alertname": "HostwatchVmError",
        "incident": "main/vm_error/17"
      },
      "receiver": "team",
      "status": "firing",
      "truncatedAlerts": 0,
      "version": "4"
    }
    "#);
}

/// The receiver refused the whole post, so the next one has its first line alone.
#[test]
fn a_post_that_was_refused_has_less_text() {
    let (from, snapshot) = (from(), snapshot([&full("main")]));
    let context = Context { is_light: true, ..context(&from, &snapshot) };
    let light = |form, event| {
        let notice = Notice { to: "webhook:team".into(), ..notice(form, vec![vm(17, event)]) };
        let rendered = render_webhook(&notice, ID, &context).unwrap();
        serde_json::from_slice::<Value>(&rendered.raw).unwrap()
    };
    assert_eq!(
        light(Form::News, Event::Opened)["alerts"][0]["annotations"]["description"],
        "VM web-17 in error since Sun 1 Mar 14:58 MSK (main)."
    );
    let first = light(Form::Started(Started::default()), Event::Started);
    assert_eq!((first["alerts"].as_array().unwrap().len(), &first["truncatedAlerts"]), (1, &1.into()));
}

#[test]
fn ends_resolve_alerts_and_the_end_of_watching_does_not() {
    let table = [
        (Form::News, Event::Resolved, "resolved", "critical"),
        (Form::News, Event::Removed, "resolved", "critical"),
        (Form::News, Event::WasDown, "resolved", "critical"),
        (Form::News, Event::Unwatched, "firing", "info"),
        (Form::News, Event::Reminder(1), "firing", "critical"),
        (Form::News, Event::Escalated, "firing", "critical"),
    ];
    for (form, event, status, severity) in table {
        let (_, json) = posted(form, vec![vm(17, event.clone())]);
        let alert = &json["alerts"][0];
        assert_eq!((&json["status"], &alert["status"]), (&status.into(), &status.into()), "{event}");
        assert_eq!(alert["labels"]["severity"], severity, "{event}");
        let ends = alert["endsAt"].as_str().unwrap();
        let goes_on = status == "firing" && event != Event::Unwatched;
        assert_eq!(ends == "0001-01-01T00:00:00Z", goes_on, "{event}: {ends}");
    }
    // No further message comes about these: a day later, a receiver drops them from its open alerts.
    let mut drop = vm(17, Event::Opened);
    drop.key = Key::account_wide(&"main".parse().unwrap(), Kind::BalanceDrop);
    for (form, item) in [(Form::News, drop), (Form::News, vm(17, Event::Unwatched))] {
        let at = item.at;
        let (_, json) = posted(form, vec![item]);
        let ends = json["alerts"][0]["endsAt"].as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
        assert_eq!((ends - at, &json["status"]), (Duration::days(1), &"firing".into()));
    }
}

#[test]
fn a_message_about_everything_is_one_alert() {
    let snapshot = snapshot([&full("main")]);
    let (_, json) = posted(Form::Started(Started::default()), vec![]);
    assert_eq!(json["alerts"].as_array().unwrap().len(), 1);
    assert_eq!(json["alerts"][0]["labels"]["alertname"], "HostwatchNotice");
    assert_eq!(json["alerts"][0]["labels"]["event"], "started");
    // A message without an end would stay open for ever.
    let lasts = |json: &Value| {
        let moment =
            |field: &str| json["alerts"][0][field].as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
        (json["alerts"][0]["status"].clone(), moment("endsAt") - moment("startsAt"))
    };
    assert_eq!(lasts(&json), ("firing".into(), Duration::days(1)));
    let from = from();
    let context = Context { page: Some("https://watch.example.com/"), ..context(&from, &snapshot) };
    let test = render_webhook(&notice(Form::Test, vec![]), ID, &context).unwrap();
    let json: Value = serde_json::from_slice(&test.raw).unwrap();
    assert_eq!(lasts(&json), ("firing".into(), Duration::days(1)));
    assert_eq!(json["alerts"][0]["generatorURL"], "https://watch.example.com/");
    assert_eq!(json["alerts"][0]["annotations"]["summary"], "Sample alert, nothing is wrong (main)");
}

/// Each problem of a first mail is an alert of its own, because its end needs a beginning.
#[test]
fn each_problem_of_a_first_mail_is_an_alert_behind_the_notice() {
    let items = vec![vm(17, Event::Started), vm(18, Event::Started)];
    let (_, json) = posted(Form::Started(Started::default()), items);
    let alerts = json["alerts"].as_array().unwrap();
    let names: Vec<&str> =
        alerts.iter().map(|alert| alert["labels"]["alertname"].as_str().unwrap()).collect();
    assert_eq!(names, ["HostwatchNotice", "HostwatchVmError", "HostwatchVmError"]);
    assert_eq!((&alerts[1]["status"], &json["truncatedAlerts"]), (&"firing".into(), &0.into()));
    let (_, over) = posted(Form::News, vec![vm(17, Event::Resolved)]);
    assert_eq!(over["alerts"][0]["fingerprint"], alerts[1]["fingerprint"]);
    assert_eq!(alerts[1]["annotations"]["summary"], "VM web-17 in error (main)");
    let notes: Vec<bool> = alerts
        .iter()
        .map(|alert| alert["annotations"]["description"].as_str().unwrap().contains("not been delivered"))
        .collect();
    assert_eq!(notes, [true, false, false], "what is about all of them is said once");
    assert_ne!(alerts[1]["fingerprint"], alerts[2]["fingerprint"]);
    let many = (1..=60).map(|id| vm(id, Event::Started)).collect();
    let (_, json) = posted(Form::Started(Started::default()), many);
    assert_eq!((json["alerts"].as_array().unwrap().len(), &json["truncatedAlerts"]), (50, &11.into()));
}

#[test]
fn the_page_of_a_resource_is_below_the_path_of_the_status_page() {
    let (from, snapshot) = (from(), snapshot([&full("main")]));
    for page in ["https://watch.example.com/hw", "https://watch.example.com/hw/"] {
        let notice = notice(Form::News, vec![vm(17, Event::Opened)]);
        let notice = Notice { to: "webhook:team".into(), ..notice };
        let context = Context { page: Some(page), ..context(&from, &snapshot) };
        let rendered = render_webhook(&notice, ID, &context).unwrap();
        let json: Value = serde_json::from_slice(&rendered.raw).unwrap();
        let link = "https://watch.example.com/hw/resource?account=main&kind=vm&id=17";
        assert_eq!(json["alerts"][0]["generatorURL"], link);
    }
}

/// ntfy fills templates from the post: a missing field would give an empty message, or no message.
#[test]
fn the_recipe_for_ntfy_names_posted_fields() {
    let page = super::tools::read("docs/webhooks.md");
    let (_, recipe) = page.split_once("url = 'https://ntfy.sh/TOPIC?template=yes").unwrap();
    let recipe = recipe.split('\'').next().unwrap();
    let (_, json) = posted(Form::News, vec![vm(17, Event::Opened)]);
    // `.status` and `.alerts` belong to the post; names after `$a` or `0)` belong to an alert.
    let words: Vec<&str> = recipe.split([' ', '}', '{', '(']).filter(|word| word.contains('.')).collect();
    assert!(words.len() >= 8, "{words:?}");
    for word in words {
        let (of, path) = word.split_once('.').unwrap();
        let place = if of.is_empty() { &json } else { &json["alerts"][0] };
        let path = format!("/{}", path.trim_end_matches(')').replace('.', "/"));
        assert!(place.pointer(&path).is_some(), "{word}");
    }
}
